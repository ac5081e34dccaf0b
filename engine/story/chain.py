"""The prose chain: the story's sections in order, each with its variants (spec, section 1.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.disk import json_line, parse_json
from engine.errors import InvalidFile, Problem


@dataclass(frozen=True, slots=True)
class ChainEntry:
    """One section: the fragments that are its variants, and the one that is shown. A chapter marker is one
    too.
    """

    prose_fragments: tuple[str, ...]
    active: str


@dataclass(frozen=True)
class ProseChain:
    """The sections in order. `raw` is the whole document with its unknown keys, not to be changed."""

    entries: tuple[ChainEntry, ...]
    raw: Mapping[str, Any]

    @cached_property
    def active_ids(self) -> tuple[str, ...]:
        """The shown fragment of every section."""
        return tuple(entry.active for entry in self.entries)

    def find_section(self, fragment_id: str) -> int:
        """The index of the section that has this fragment among its variants, -1 when none has."""
        for index, entry in enumerate(self.entries):
            if fragment_id == entry.active or fragment_id in entry.prose_fragments:
                return index
        return -1

    def append(self, entry: ChainEntry) -> ProseChain:
        """A chain with one more section at the end; everything else in the document is kept."""
        given = self.raw.get("entries")
        written = {"proseFragments": list(entry.prose_fragments), "active": entry.active}
        entries = [*(given if isinstance(given, list) else ()), written]
        return ProseChain((*self.entries, entry), {**self.raw, "entries": entries})

    def with_variant(self, of: str, fragment_id: str) -> ProseChain:
        """A chain with one more variant in the section that has `of`, which is the shown one; without such a section,
        a chain with a new one at the end.
        """
        index = self.find_section(of)
        given = self.raw.get("entries")
        if index < 0 or not isinstance(given, list):
            return self.append(ChainEntry((fragment_id,), fragment_id))
        variants = (*self.entries[index].prose_fragments, fragment_id)
        written = list(given)
        at = next(i for i, item in enumerate(given) if _holds(item, of))
        ids = given[at].get("proseFragments")
        listed = [*(ids if isinstance(ids, list) else (given[at]["active"],)), fragment_id]
        written[at] = {**given[at], "proseFragments": listed, "active": fragment_id}
        entries = (*self.entries[:index], ChainEntry(variants, fragment_id), *self.entries[index + 1 :])
        return ProseChain(entries, {**self.raw, "entries": written})

    def without(self, fragment_id: str, former: str | None = None) -> ProseChain:
        """A chain without this variant. Where it was the shown one, `former` is shown if its section has it, else the
        last one left; a section that has no other is gone.
        """
        given = self.raw.get("entries")
        written = []
        for item in given if isinstance(given, list) else ():
            left = _without(item, fragment_id, former) if _holds(item, fragment_id) else item
            if left is not None:
                written.append(left)
        entries = tuple(entry for entry in map(_entry, written) if entry is not None)
        return ProseChain(entries, {**self.raw, "entries": written})


def _without(item: Mapping[str, Any], fragment_id: str, former: str | None) -> Mapping[str, Any] | None:
    """An entry of a document without one of its variants, None when no other is left."""
    listed = item.get("proseFragments")
    ids = [other for other in listed if other != fragment_id] if isinstance(listed, list) else []
    others = [other for other in ids if isinstance(other, str)]
    active = item["active"]
    if active == fragment_id:
        if not others:
            return None
        active = former if former in others else others[-1]
    return {**item, "proseFragments": ids, "active": active}


def _holds(item: object, fragment_id: str) -> bool:
    """Whether an entry of a document is a section with this fragment among its variants."""
    if not isinstance(item, Mapping) or not isinstance(item.get("active"), str) or not item["active"]:
        return False
    ids = item.get("proseFragments")
    return fragment_id == item["active"] or (isinstance(ids, list) and fragment_id in ids)


NO_CHAIN = ProseChain((), {})


def parse_chain(file: Path, data: bytes | None) -> tuple[ProseChain, tuple[Problem, ...]]:
    """The chain in a file, `NO_CHAIN` when there is none, and the entries that could not be read.

    Raises `InvalidFile` when it holds no object with a list of entries.
    """
    if data is None:
        return NO_CHAIN, ()
    raw = parse_json(data, file)
    if not isinstance(raw, dict) or not isinstance(raw.get("entries", []), list):
        raise InvalidFile("is not a prose chain: an object with a list of entries was expected", file=file, line=1)
    entries: list[ChainEntry] = []
    problems: list[Problem] = []
    for index, item in enumerate(raw.get("entries", [])):
        entry = _entry(item)
        if entry is None:
            line = json_line(data.decode("utf-8-sig"), ("entries", index))
            message = "has no active fragment, so the section was skipped"
            problems.append(Problem(message, file, f"entries[{index}]", line))
            continue
        entries.append(entry)
    return ProseChain(tuple(entries), raw), tuple(problems)


def _entry(item: object) -> ChainEntry | None:
    """The section that an entry of a document stands for; None without an active fragment."""
    active = item.get("active") if isinstance(item, Mapping) else None
    if not isinstance(item, Mapping) or not isinstance(active, str) or not active:
        return None
    variants = item.get("proseFragments")
    ids = tuple(v for v in variants if isinstance(v, str)) if isinstance(variants, list) else ()
    return ChainEntry(ids or (active,), active)
