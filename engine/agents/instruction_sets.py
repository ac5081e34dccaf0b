"""Instructions for particular models: `instruction-sets/*.json` in the data folder.

A set names a model, or a pattern of models, and has texts for some keys. The sets that match a model are tried in the
order of their priority, the lowest number first, key by key; what none of them has is our own text.

A pattern is JavaScript's, and may be one that takes for ever. So it is not matched here: whoever reads the sets passes
a `Matcher` that can be stopped, which in a workspace is the script sandbox with its limits.

Source: spec, section 11.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.agents.instructions import DEFAULTS, Instructions, instruction_keys, stray_marker
from engine.disk import FolderCache, json_line, parse_json
from engine.errors import InvalidFile, Problem

FOLDER: Final = "instruction-sets"
DEFAULT_PRIORITY: Final = 100

Matcher = Callable[[str, str, str], bool]
"""(pattern, flags, model) to whether it matches. Raises `ValueError` saying why it can't be told."""

_PATTERN: Final = re.compile(r"/(.+)/([a-z]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """One file. `model` is an exact id, or `/pattern/flags`; `texts` the texts by key."""

    file: Path
    name: str
    model: str
    priority: int
    texts: Mapping[str, str]

    def matches(self, model: str, matcher: Matcher) -> bool:
        """Whether the set is for this model. Raises what `matcher` raises."""
        pattern = _PATTERN.fullmatch(self.model)
        return self.model == model if pattern is None else matcher(pattern[1], pattern[2], model)


def parse_set(file: Path, data: bytes) -> tuple[InstructionSet, tuple[Problem, ...]]:
    """The set in a file, and keys in it that there is no use for. Raises `InvalidFile` when it is none."""
    raw = parse_json(data, file)

    def line(path: tuple[str, ...]) -> int | None:
        return json_line(data.decode("utf-8-sig", "replace"), path)

    def wrong(message: str, *path: str) -> InvalidFile:
        repair = "the set was skipped; mend the file"
        return InvalidFile(message, file=file, field=".".join(path), line=line(path) if path else 1, repair=repair)

    if not isinstance(raw, dict):
        raise wrong("is not an instruction set: a JSON object was expected")
    for key in ("name", "modelMatch"):
        if not isinstance(raw.get(key), str) or not raw[key]:
            raise wrong("is missing" if raw.get(key) in (None, "") else "is not a text", key)
    priority: Any = raw.get("priority", DEFAULT_PRIORITY)
    if isinstance(priority, bool) or not isinstance(priority, int | float) or priority % 1:
        raise wrong("is not a whole number", "priority")
    texts = raw.get("instructions")
    if not isinstance(texts, dict):
        raise wrong("is not an object of keys and texts", "instructions")
    for key, text in texts.items():
        if not isinstance(text, str):
            raise wrong("is not a text", "instructions", key)
    unknown = (key for key in texts if key not in instruction_keys())
    problems = tuple(
        Problem(
            f"there is no instruction {key}, so this text is not used",
            file,
            f"instructions.{key}",
            line(("instructions", key)),
            "use one of the keys there are",
        )
        for key in unknown
    ) + tuple(
        Problem(
            f"{marker} belongs to no whole condition, so it is sent as it stands",
            file,
            f"instructions.{key}",
            line(("instructions", key)),
            "write <!-- if: TOOL -->…<!-- else -->…<!-- end -->",
        )
        for key, text in texts.items()
        if (marker := stray_marker(text)) is not None
    )
    return InstructionSet(file, raw["name"], raw["modelMatch"], int(priority), texts), problems


def resolve(sets: Iterable[InstructionSet], model: str, matcher: Matcher) -> Instructions:
    """The texts for a model; a set whose pattern can't be matched is left out and reported."""
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    for found in sorted(sets, key=lambda item: item.priority):
        try:
            if not found.matches(model, matcher):
                continue
        except ValueError as error:
            message = f"the pattern can't be matched, so the set was skipped: {error}"
            problems.append(Problem(message, found.file, "modelMatch", repair="write a simpler one, or an exact id"))
            continue
        for key, text in found.texts.items():
            texts.setdefault(key, text)
    return Instructions(texts, tuple(problems)) if texts or problems else DEFAULTS


class InstructionSets:
    """The sets of a data folder, read again only when a file changes; for several threads."""

    def __init__(self, folder: Path, matcher: Matcher) -> None:
        self._folder = folder
        self._files = FolderCache(folder, parse_set)
        self._matcher = matcher
        self._lock = threading.Lock()
        self._known: dict[str, Instructions] = {}

    def are_there(self) -> bool:
        """Whether there is a folder that may hold sets."""
        return self._folder.is_dir()

    def for_model(self, model: str | None) -> Instructions:
        """The instructions for a model, the same object while nothing changes.

        Without a model they are our own, and no file is looked at.
        """
        if model is None:
            return DEFAULTS
        with self._lock:
            if self._files.scan():
                self._known.clear()
            if model not in self._known:
                found = resolve(self._files.entries.values(), model, self._matcher)
                problems = (*self._files.problems, *found.problems)
                self._known[model] = Instructions(found.texts, problems) if problems else found
            return self._known[model]

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the sets, patterns that can't be matched among it."""
        return self.for_model("").problems
