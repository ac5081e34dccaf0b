"""What a passage waits for: the prewriter's questions with the answers so far, or the brief it is to be written from.

It is kept on disk as the author works on it, so that no end of the program loses it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.runs.direction import Directions
from engine.story.branches import now_iso
from engine.tools.collected import Option, Question

if TYPE_CHECKING:
    from engine.runs.run import Mode

_NONE_SINCE: Final = "noneSince"
_MODES: Final[Mapping[str, Mode]] = {"generate": "generate", "regenerate": "regenerate", "refine": "refine"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the author said to a question: `chosen` of its options, by their place, and `words` of their own."""

    chosen: tuple[int, ...] = ()
    words: str = ""

    def text(self, question: Question) -> str:
        """The answer as it is given to the prewriter; empty when there is none."""
        labels = [question.options[at].label for at in self.chosen]
        return "; ".join(filter(None, (*labels, self.words.strip())))


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A passage that was begun and waits for its author.

    `mode` and `target`, the id of a fragment, say what is written, and `name` what that is called. `said` are earlier
    questions with their answers, `round` how often there were any; `answers` are those to `questions`, as many as
    those. `brief` is what the writer is to write from, empty while there is none.
    """

    mode: Mode = "generate"
    target: str | None = None
    name: str = ""
    said: tuple[tuple[str, str], ...] = ()
    round: int = 0
    questions: tuple[Question, ...] = ()
    answers: tuple[Answer, ...] = ()
    brief: str = ""


class UnfinishedPassages:
    """One unfinished passage for each branch of a story, in `folder`. Blocking; for an engine thread."""

    def __init__(self, folder: Path) -> None:
        self._texts = Directions(folder)

    def read(self, content_root: Path) -> Unfinished | None:
        """What waits in this branch; None when nothing does, or it can't be read."""
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            return _read(json.loads(self._texts.read(content_root)))
        return None

    def none_since(self, content_root: Path) -> str:
        """When it was last said that nothing waits in this branch, ISO 8601; empty when it never was, or since then
        something does.
        """
        with suppress(ValueError, KeyError, TypeError):
            return str(json.loads(self._texts.read(content_root))[_NONE_SINCE])
        return ""

    def write(self, content_root: Path, unfinished: Unfinished | None) -> None:
        """Remember it; None forgets what was remembered. Raises `StonehandError` when it can't be written."""
        self._texts.write(
            content_root, json.dumps({_NONE_SINCE: now_iso()} if unfinished is None else _dump(unfinished))
        )


def _dump(unfinished: Unfinished) -> dict[str, Any]:
    return {
        "mode": unfinished.mode,
        "target": unfinished.target,
        "name": unfinished.name,
        "said": unfinished.said,
        "round": unfinished.round,
        "questions": [question.document() for question in unfinished.questions],
        "answers": [{"chosen": answer.chosen, "words": answer.words} for answer in unfinished.answers],
        "brief": unfinished.brief,
    }


def _read(document: Any) -> Unfinished:
    """The reverse of `_dump`; raises one of several errors for what is none."""
    questions = tuple(map(_question, document["questions"]))
    answers = tuple(
        Answer(tuple(at for at in map(int, item["chosen"]) if 0 <= at < len(question.options)), str(item["words"]))
        for question, item in zip(questions, document["answers"], strict=True)
    )
    target = document["target"]
    return Unfinished(
        _MODES[document["mode"]],
        None if target is None else str(target),
        str(document["name"]),
        tuple((str(question), str(answer)) for question, answer in document["said"]),
        int(document["round"]),
        questions,
        answers,
        str(document["brief"]),
    )


def _question(document: Mapping[str, Any]) -> Question:
    options = tuple(
        Option(str(item["label"]), str(item.get("description", ""))) for item in document.get("options", ())
    )
    return Question(str(document["question"]), str(document["header"]), bool(document["multiSelect"]), options)
