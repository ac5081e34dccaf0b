"""Instructions for particular models: `instruction-sets/*.json` in the data folder.

A set names a model, or a pattern of models, and has texts for some keys. The sets that match a model are tried in the
order of their priority, the lowest number first, key by key; what none of them has is our own text.

A pattern is JavaScript's, and may be one that takes for ever. So it is not matched here: whoever reads the sets passes
a `Matcher` that can be stopped, which in a workspace is the script sandbox with its limits. All patterns of one model
share `MATCHING_SECONDS`.

Source: spec, section 11.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.addresses import UNUSED, address_keys
from engine.agents.instructions import DEFAULTS, Instructions, instruction_keys, stray_marker
from engine.disk import FolderCache, json_line, parse_json
from engine.errors import InvalidFile, Problem
from engine.json_text import dotted

FOLDER: Final = "instruction-sets"
DEFAULT_PRIORITY: Final = 100

MATCHING_SECONDS: Final = 1.0
"""The time that the patterns of all sets have together for one model; the sets left then are skipped."""


@dataclass(frozen=True, slots=True)
class Match:
    """Whether a pattern fits, the seconds it took to tell, and why it can't be told (empty when it can)."""

    fits: bool
    seconds: float = 0.0
    fault: str = ""


Matcher = Callable[[str, str, str], Match]
"""(pattern, flags, model) to what came of matching them."""

_PATTERN: Final = re.compile(r"/(.+)/([A-Za-z]*)", re.DOTALL)
_FLAGS: Final = "dgimsuvy"


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """One file. `model` is an exact id, or `/pattern/flags`, at `model_line` of it; `texts` the texts by key; `pattern`
    the pattern and its flags, None where there is none or its flags are no flags.
    """

    file: Path
    name: str
    model: str
    priority: int
    texts: Mapping[str, str]
    pattern: tuple[str, str] | None = None
    model_line: int | None = None


def parse_set(file: Path, data: bytes) -> tuple[InstructionSet, tuple[Problem, ...]]:
    """The set in a file, and keys in it that there is no use for. Raises `InvalidFile` when it is none."""
    raw = parse_json(data, file)

    document = data.decode("utf-8-sig", "replace")

    def line(path: tuple[str, ...]) -> int | None:
        return json_line(document, path)

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
    others = {key: value for key, value in raw.items() if key != "instructions"}
    problems += tuple(Problem(UNUSED, file, dotted(path), json_line(document, path)) for path in address_keys(others))
    pattern: tuple[str, str] | None = None
    if (found := _PATTERN.fullmatch(raw["modelMatch"])) is not None:
        if _are_flags(found[2]):
            pattern = (found[1], found[2])
        else:
            # A model may be called /models/Llama: it still is by its exact id.
            wrong_flags = Problem(
                f"{found[2]} are no flags of a pattern, so the set is only for a model of exactly this name",
                file,
                "modelMatch",
                line(("modelMatch",)),
                f"use flags out of {', '.join(_FLAGS)}, each once",
            )
            problems = (wrong_flags, *problems)
    match_line = line(("modelMatch",)) if pattern is not None else None  # only a pattern can turn out to be at fault
    return InstructionSet(file, raw["name"], raw["modelMatch"], int(priority), texts, pattern, match_line), problems


def _are_flags(flags: str) -> bool:
    """Whether JavaScript takes these as the flags of a regular expression."""
    return set(flags) <= set(_FLAGS) and len(set(flags)) == len(flags) and not {"u", "v"} <= set(flags)


def resolve(sets: Iterable[InstructionSet], model: str, matcher: Matcher) -> Instructions:
    """The texts for a model; a set whose pattern can't be matched, or not in time, is left out and reported."""
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    left = MATCHING_SECONDS

    def skip(found: InstructionSet, why: str, repair: str) -> None:
        problems.append(
            Problem(f"{why}, so the set {found.name!r} was skipped", found.file, "modelMatch", found.model_line, repair)
        )

    for found in sorted(sets, key=lambda item: item.priority):
        if found.model != model:
            if found.pattern is None:
                continue
            if left <= 0:
                why = f"the pattern was not tried: those before it took {MATCHING_SECONDS:g} s together"
                skip(found, why, "write simpler patterns, or exact ids")
                continue
            match = matcher(*found.pattern, model)
            left -= match.seconds
            if match.fault:
                skip(found, f"the pattern can't be matched ({match.fault})", "write a simpler one, or an exact id")
            if match.fault or not match.fits:
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

    def problems(self, models: Iterable[str] = ()) -> tuple[Problem, ...]:
        """What is wrong with the sets, patterns that can't be matched with any of these models among it."""
        found = (problem for model in ("", *sorted(models)) for problem in self.for_model(model).problems)
        return tuple(dict.fromkeys(found))
