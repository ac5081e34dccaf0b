"""What agents have cost a story in tokens: the story's `token-usage.json`, written some seconds after a run.

Source: spec, section 1.11. Unlike the reference, a file that can't be used is put aside and reported, and what another
program has counted meanwhile stays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine import disk
from engine.errors import Conflict, InvalidFile, Problem, StonehandError
from engine.story.branches import now_iso
from engine.text import Phrase

FILE: Final = "token-usage.json"
FLUSH_SECONDS: Final = 2.0
"""Seconds from the first count that is not written to the write."""
UNKNOWN: Final = "unknown"
_ATTEMPTS: Final = 5


@dataclass(slots=True)
class _Count:
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0


Key = tuple[str, str]
"""An agent and a model."""


class TokenUsage:
    """Counts that are not written yet, by the folder of their story. Thread-safe.

    `later` is called with the first of them, to have `flush` called after `FLUSH_SECONDS`; `report` with what could
    not be written as it should.
    """

    def __init__(self, later: Callable[[float, Callable[[], None]], None], report: Callable[[Problem], None]) -> None:
        self._later, self._report = later, report
        self._lock = threading.Lock()
        self._pending: dict[Path, dict[Key, _Count]] = {}
        self._writing = threading.Lock()
        self._due = False

    def add(self, story: Path, agent: str, model: str, input_tokens: int, output_tokens: int) -> None:
        """Count a run of an agent; one without any tokens is none."""
        if input_tokens <= 0 and output_tokens <= 0:
            return
        with self._lock:
            first, self._due = not self._due, True
            count = self._pending.setdefault(story, {}).setdefault((agent, model or UNKNOWN), _Count())
            count.input_tokens += max(0, input_tokens)
            count.output_tokens += max(0, output_tokens)
            count.calls += 1
        if first:
            self._later(FLUSH_SECONDS, self.flush)

    def flush(self) -> None:
        """Write what is not written yet. Waits; what can't be written is reported and counted with the next."""
        with self._writing:
            with self._lock:
                pending, self._pending = self._pending, {}
                self._due = False
            for story, counts in pending.items():
                try:
                    aside = write_usage(story, counts)
                except StonehandError as error:
                    self._report(error.problem)
                    with self._lock:
                        kept = self._pending.setdefault(story, {})
                        for key, count in counts.items():
                            _add(kept.setdefault(key, _Count()), count)
                else:
                    if aside is not None:
                        self._report(aside)


def _add(to: _Count, count: _Count) -> None:
    to.input_tokens += count.input_tokens
    to.output_tokens += count.output_tokens
    to.calls += count.calls


def write_usage(story: Path, counts: Mapping[Key, _Count]) -> Problem | None:
    """Add counts to a story's file; a problem when one that was of no use had to be put aside for it.

    Raises `StonehandError` when it can't be written; nothing is counted then.
    """
    file = story / FILE
    if not (story / "meta.json").is_file():
        raise StonehandError("the story is gone, so what its run cost is not counted", file=story)
    problem: Problem | None = None
    with disk.lock(file):
        for attempt in range(1, _ATTEMPTS + 1):
            found = disk.read_bytes(file)
            try:
                document = _document(file, found)
            except InvalidFile as error:
                problem = _put_aside(file, found or b"", error)
                continue
            disk.refuse_loss(file, found)
            for (agent, model), count in counts.items():
                _count(document, agent, model, count)
            document["updatedAt"] = now_iso()
            try:
                disk.write_atomic(file, disk.dump_json(document), expected=found)
            except Conflict:
                if attempt == _ATTEMPTS:
                    raise
            else:
                return problem
    raise StonehandError("can't be written: it changes as fast as it is read", file=file)


def _document(file: Path, found: bytes | None) -> dict[str, Any]:
    document = {} if found is None else disk.parse_json(found, file)
    if not isinstance(document, dict):
        raise InvalidFile("is no account of tokens: an object was expected", file=file, line=1)
    for key in ("sources", "total", "byModel"):
        if not isinstance(document.get(key, {}), dict):
            raise InvalidFile("is no account of tokens: an object was expected", file=file, field=key)
    return {"sources": {}, "total": {}, "byModel": {}, **document}


def _put_aside(file: Path, found: bytes, error: InvalidFile) -> Problem:
    """Move a file of no use to a name of its own, as it is; what to tell of it."""
    number = 1
    while (aside := file.with_name(f"token-usage.unreadable-{number}.json")).exists():
        number += 1
    disk.write_atomic(aside, found, expected=None)
    disk.remove_file(file, expected=found)
    told = error.problem.message
    return Problem(
        Phrase("{told}; a new one was begun, and the old one is {name} now", told=Phrase.of(told), name=aside.name),
        file,
        error.problem.field,
    )


def _count(document: dict[str, Any], agent: str, model: str, count: _Count) -> None:
    source = _object(document["sources"], agent)
    for place in (
        source,
        _object(_object(source, "byModel"), model),
        document["total"],
        _object(document["byModel"], model),
    ):
        for key, value in (
            ("inputTokens", count.input_tokens),
            ("outputTokens", count.output_tokens),
            ("calls", count.calls),
        ):
            before = place.get(key)
            known = before if isinstance(before, int | float) and not isinstance(before, bool) else 0
            place[key] = known + value


def _object(document: dict[str, Any], key: str) -> dict[str, Any]:
    found = document.get(key)
    if not isinstance(found, dict):
        found = document[key] = {}
    return found
