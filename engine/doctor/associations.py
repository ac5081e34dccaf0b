"""`associations.json`: ids in it that no file has, and tags that disagree with the fragments' own (spec, section 1.8).

Scripts find a fragment by its own tags; what the librarian's agents are told of the story goes by the index alone. The
reference changes both together, save that a new fragment's tags are only in the fragment: so the fragment's are taken
for the ones that were meant, and the index is brought in step with them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from engine.agents.sections import LIBRARIAN_TAG
from engine.disk import parse_json
from engine.doctor.finding import Finding, JsonSource, Kind, Repair, listed, mapped
from engine.errors import StonehandError
from engine.story import StorySnapshot

_BACK: Final = "__backref:"
_NAMED: Final = 3
"""Ids that a message names before it counts the rest."""


def association_findings(root: Path, snapshot: StorySnapshot, files: frozenset[str]) -> Iterator[Finding]:
    """Ids in the two indexes that no fragment has, and tags that the fragments themselves have otherwise.

    `files` are the names of all fragment files, readable or not. What can't be read of the file, the snapshot reports.
    """
    source = JsonSource(root / "associations.json")
    try:
        value = parse_json(source.data, source.file) if source.data is not None else None
    except StonehandError:
        return
    yield from _lost(source, value, files)
    if isinstance(value, dict) or (source.data is None and not os.path.lexists(source.file)):
        yield from _out_of_step(source, mapped(value).get("tagIndex", {}), snapshot)


def _lost(source: JsonSource, value: Any, files: frozenset[str]) -> Iterator[Finding]:
    for key in ("tagIndex", "refIndex"):
        for name, ids in mapped(mapped(value).get(key)).items():
            owner = name.removeprefix(_BACK)
            if key == "refIndex" and owner not in files:
                yield source.found(
                    f"the references of {owner} are listed, which is not there",
                    (key, name),
                    "take them out",
                    source.repair(Kind.ASSOCIATIONS, f"take the references of {owner} out", _drop_list(key, name)),
                )
                continue
            for place, item in enumerate(listed(ids)):
                if isinstance(item, str) and item not in files:
                    label = f"the tag {name}" if key == "tagIndex" else f"the references of {owner}"
                    yield source.found(
                        f"{label} names {item}, which is not there", (key, name, place), "take it out",
                        _forget(source, key, name, item),
                    )  # fmt: skip


def _forget(source: JsonSource, key: str, name: str, lost: str) -> Repair:
    def change(value: Any) -> None:
        _keep(value[key], name, lambda item: item != lost)

    return source.repair(Kind.ASSOCIATIONS, f"take {lost} out of {name}", change)


def _out_of_step(source: JsonSource, index: Any, snapshot: StorySnapshot) -> Iterator[Finding]:
    """Tags that fragments carry and the index does not have for them, and the reverse."""
    if not isinstance(index, dict):
        return
    carried: dict[str, list[str]] = {}
    unclear: set[str] = set()
    for fragment in snapshot.fragments.values():
        if not _are_texts(fragment.raw.get("tags") or []):
            unclear.add(fragment.id)
        for tag in dict.fromkeys(fragment.tags):
            carried.setdefault(tag, []).append(fragment.id)
    for tag in dict.fromkeys((*index, *carried)):
        ids = index.get(tag, [])
        if not _are_texts(ids):
            continue
        own, known = carried.get(tag, []), frozenset(ids)
        missing = [item for item in own if item not in known]
        surplus = known - frozenset(own) - unclear
        # Those that are not there are told as such.
        places = [place for place, item in enumerate(ids) if item in surplus and snapshot.get(item) is not None]
        if missing:
            yield _unlisted(source, tag, missing)
        if places:
            yield _untagged(source, tag, places[0], list(dict.fromkeys(ids[place] for place in places)))


def _unlisted(source: JsonSource, tag: str, ids: list[str]) -> Finding:
    def change(value: Any) -> None:
        kept = value.setdefault("tagIndex", {}).setdefault(tag, [])
        kept += [item for item in ids if item not in kept]

    told, does = _some(ids), "does" if len(ids) == 1 else "do"
    then = "scripts find it, the index does not" if len(ids) == 1 else "scripts find them, the index does not"
    if tag == LIBRARIAN_TAG:
        then = f"only the index counts for this one, so {told} {does} not reach the librarian's agents"
    return source.found(
        f"the tag {tag} of {told} is not in the index: {then}",
        ("tagIndex", tag),
        "list it here as well, or take the tag off the fragment",
        source.repair(Kind.ASSOCIATIONS, f"list {told} under {tag}", change, new={"tagIndex": {}, "refIndex": {}}),
    )


def _untagged(source: JsonSource, tag: str, place: int, ids: list[str]) -> Finding:
    def change(value: Any) -> None:
        _keep(value["tagIndex"], tag, lambda item: item not in ids)

    told, does = _some(ids), "does" if len(ids) == 1 else "do"
    then, effect = "so scripts do not find it by this tag", ""
    if tag == LIBRARIAN_TAG:
        then = "but only the index counts for this one: it reaches the librarian's agents"
        effect = ", so that the librarian's agents are no longer given it"
    return source.found(
        f"the index has the tag {tag} for {told}, which {does} not carry it, {then}",
        ("tagIndex", tag, place),
        "give the fragment the tag, or take it out here",
        source.repair(Kind.ASSOCIATIONS, f"take {told} out of {tag}{effect}", change),
    )


def _some(ids: list[str]) -> str:
    rest = len(ids) - _NAMED
    return ", ".join(ids[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _drop_list(key: str, name: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        value[key].pop(name, None)

    return change


def _keep(index: dict[str, Any], name: str, wanted: Callable[[Any], bool]) -> None:
    """Leave only the wanted ids of a list; the reference removes lists that have become empty (spec, section 1.8)."""
    kept = [item for item in index.get(name, ()) if wanted(item)]
    if kept:
        index[name] = kept
    else:
        index.pop(name, None)
