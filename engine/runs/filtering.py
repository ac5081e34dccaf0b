"""Which runs a filter lets through: words with spaces between, all of which a run must meet.

`is:failed`, `agent:writer`, `since:2026-01` and the like ask for what the list says of a run; `=` and all that follows
it is looked for in what was asked and answered, whole, for which logs are read; any other word is looked for in the
beginning of the input and in the names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from engine.errors import StonehandError, WrongInput
from engine.runs.records import RunRecord, text_in
from engine.text import Phrase

_STATES: Final[Mapping[str, Callable[[RunRecord], bool]]] = {
    "is:failed": lambda run: run.failed,
    "is:stopped": lambda run: run.stopped,
    "is:cut": lambda run: run.finish == "length",
    "is:exceeded": lambda run: run.steps_exceeded,
    "is:kept": lambda run: bool(run.fragment_id),
    "is:tools": lambda run: run.calls > 0,
    "is:retried": lambda run: run.retries > 0,
}

_FIELDS: Final[Mapping[str, Callable[[RunRecord, str], bool]]] = {
    "agent:": lambda run, wanted: wanted in run.agent.casefold(),
    "model:": lambda run, wanted: wanted in f"{run.model}\n{run.answered_by}".casefold(),
    "provider:": lambda run, wanted: wanted in run.provider.casefold(),
    "finish:": lambda run, wanted: run.finish.casefold().startswith(wanted),
    "fragment:": lambda run, wanted: run.fragment_id.casefold().startswith(wanted),
    "id:": lambda run, wanted: run.id.casefold().startswith(wanted),
    "on:": lambda run, wanted: run.at.startswith(wanted),
    "since:": lambda run, wanted: run.at >= wanted,
    "until:": lambda run, wanted: run.at[: len(wanted)] <= wanted,
}
"""Dates are beginnings of `2026-01-31 18:30`, in this place's time; a `T` may stand for the space."""
_DATES: Final = ("on:", "since:", "until:")

FILTER_WORDS: Final = (*_STATES, *_FIELDS)
"""The words that ask for something the list says of a run."""
_READ: Final = ("input", "generatedText", "reasoning", "prewriterBrief")


class RunFilter:
    """A filter as it was typed. It is falsy when it lets everything through."""

    def __init__(self, text: str) -> None:
        plain, equals, wanted = text.partition("=")
        self.wanted = wanted.strip().casefold() if equals else ""
        """What is looked for in whole texts."""
        self._tests: list[Callable[[RunRecord], bool]] = []
        self.words: list[str] = []
        """What is looked for in inputs and names, in lower case."""
        self.unknown: list[str] = []
        """Words that look like those that ask for something, and are none."""
        for word in plain.casefold().split():
            self._add(word)

    def _add(self, word: str) -> None:
        name, colon, value = word.partition(":")
        name += colon
        if word in _STATES:
            self._tests.append(_STATES[word])
        elif colon and name in _FIELDS:
            if value:  # without one it is on its way to become such a word
                test, value = _FIELDS[name], value.replace("t", " ") if name in _DATES else value
                self._tests.append(lambda run: test(run, value))
        elif colon and any(state.startswith(word) for state in _STATES):
            pass  # likewise
        elif name == "is:":
            self.unknown.append(word)
        else:
            self.words.append(word)

    def __bool__(self) -> bool:
        return bool(self._tests or self.words or self.wanted or self.unknown)

    def check(self) -> None:
        """Raises `WrongInput` for a word that asks for a state there is not."""
        if self.unknown:
            raise WrongInput(
                Phrase("there is no filter {unknown!r}", unknown=self.unknown[0]),
                repair=Phrase("use one of {known}", known=", ".join(_STATES)),
            )

    def meets(self, run: RunRecord) -> bool:
        """Whether a run meets the filter, as far as the list tells."""
        if self.unknown or not all(test(run) for test in self._tests):
            return False
        if not self.words:
            return True
        names = (run.agent, run.model, run.answered_by, run.provider, run.id, run.fragment_id)
        text = " ".join((run.input, *names)).casefold()
        return all(word in text for word in self.words)

    def through(self, runs: Iterable[RunRecord], read: Callable[[str], Mapping[str, Any]]) -> Iterator[RunRecord]:
        """The runs that meet the filter. `read` gives a whole log and is called, which waits, only where texts are
        looked for; a log it can't give is passed over.
        """
        for run in runs:
            if self.meets(run) and (not self.wanted or self._is_in(run, read)):
                yield run

    def _is_in(self, run: RunRecord, read: Callable[[str], Mapping[str, Any]]) -> bool:
        try:
            log = read(run.id)
        except StonehandError:
            return False
        return any(self.wanted in text_in(log, key).casefold() for key in _READ)
