"""Fragments: what reading reports about them with what can be done, and tags in them that name nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final

from engine import disk
from engine.doctor.finding import Finding, JsonSource, Kind, Repair, mapped
from engine.doctor.tags import lost_tags
from engine.errors import Conflict, Problem
from engine.story import Fragment, StorySnapshot
from engine.story.ids import FRAGMENT_ID, new_fragment_id
from engine.story.meta import NO_META
from engine.text import is_blank

FOLDER: Final = "fragments"
_WRITERS: Final = ("meta", "writerContextIds")
_MENTIONS: Final = ("meta", "annotations")


def fragment_files(root: Path) -> frozenset[str]:
    """The ids all fragment files of a branch stand for, readable or not."""
    try:
        with os.scandir(root / FOLDER) as entries:
            return frozenset(entry.name[:-5] for entry in entries if entry.name.endswith(".json"))
    except OSError:
        return frozenset()


def with_repair(problem: Problem, snapshot: StorySnapshot, root: Path) -> Finding:
    """A problem of the snapshot, with a repair where it is one of a fragment that has one."""
    file = problem.file
    fragment = snapshot.get(file.stem) if file is not None and file.parent == root / FOLDER else None
    if file is None or fragment is None:
        return Finding.of(problem)
    if problem.field == "id":
        return _other_id(problem, fragment, snapshot, file)
    if problem.field == "placement":
        return Finding.of(problem, _set(file, Kind.PLACEMENT, "placement", "user"), advice="make it system or user")
    return Finding.of(problem)


def _other_id(problem: Problem, fragment: Fragment, snapshot: StorySnapshot, file: Path) -> Finding:
    """A file whose name says another id than it does: the file is addressed by its name (spec, section 1.2)."""
    given, stem = fragment.raw.get("id"), fragment.id
    copied = isinstance(given, str) and given != stem and snapshot.get(given) is not None
    message = f"has the id {given}, as {given}.json has; its file's name counts: {stem}" if copied else ""
    if FRAGMENT_ID.fullmatch(stem):
        return Finding.of(problem, _set(file, Kind.FRAGMENT_ID, "id", stem), message)
    # No tag can name it. A name that others use can't be changed by itself.
    advice = "rename the file to an id such as kn-bafego, and give it that id"
    used = snapshot.chain.find_section(stem) >= 0 or stem in snapshot.meta.settings.fragment_order
    if not copied or used or snapshot.meta is NO_META:  # without it nobody knows what the order names
        return Finding.of(problem, None, message, advice)
    new = new_fragment_id(fragment.type, snapshot.fragments)
    return Finding.of(problem, _renamed(file, new), message, advice)


def _renamed(file: Path, new: str) -> Repair:
    """Give a copied file an id of its own and the name that goes with it."""
    seen, target = JsonSource(file).data, file.with_name(f"{new}.json")

    def act() -> None:
        with disk.lock(file):
            data = disk.read_bytes(file)
            if data is None or data != seen:
                raise Conflict("has changed since it was examined, so it is left alone", file=file, repair="look again")
            value = disk.parse_json(data, file)
            value["id"] = new
            disk.write_atomic(target, disk.dump_json(value), expected=None)
            disk.remove_file(file, expected=data)

    return Repair(Kind.FRAGMENT_ID, f"give it the new id {new} and the name {new}.json", file, act=act)


def name_findings(snapshot: StorySnapshot, root: Path) -> Iterator[Finding]:
    """Fragments in use without a name, which headings and catalogs give the model."""
    for fragment in snapshot.fragments.values():
        if is_blank(fragment.name) and not fragment.archived and fragment.type != "prose":
            source = JsonSource(root / FOLDER / f"{fragment.id}.json")
            yield source.found("has no name, so a model sees a heading without one", ("name",), "give it a name")


def reference_findings(snapshot: StorySnapshot, root: Path, files: frozenset[str]) -> Iterator[Finding]:
    """Ids in `refs` and in what is recorded with a passage that no file has, and such lists that are none.

    `files` are the names of all fragment files, readable or not.
    """
    for fragment in snapshot.fragments.values():
        source: JsonSource | None = None
        for path, given, none in (
            (("refs",), fragment.raw.get("refs"), "the fragment refers to nothing"),
            (_WRITERS, fragment.meta.get("writerContextIds"), "nothing counts as used by the writer"),
            (_MENTIONS, fragment.meta.get("annotations"), "no mention in this passage counts"),
        ):
            label = ".".join(path)
            if given is not None and not isinstance(given, list):
                source = source or JsonSource(root / FOLDER / f"{fragment.id}.json")
                yield source.found(f"is not a list, so {none}", path, "make it a list")
                continue
            named = (_named(path, item) for item in given or ())
            lost = list(dict.fromkeys(item for item in named if item is not None and item not in files))
            if not lost:
                continue
            source = source or JsonSource(root / FOLDER / f"{fragment.id}.json")
            yield source.found(
                f"{label} names {', '.join(lost)}, which {'is' if len(lost) == 1 else 'are'} not there",
                path,
                "it does no harm; restore the fragment, or take the id out",
                source.repair(Kind.REFERENCES, f"take what is not there out of {label}", _without(path, files)),
            )


def _named(path: tuple[str, ...], item: Any) -> str | None:
    """The fragment that an item of the list at `path` names: a mention, or elsewhere an id (spec, section 1.6)."""
    if path == _MENTIONS:
        item = mapped(item).get("fragmentId") if mapped(item).get("type") == "mention" else None
    return item if isinstance(item, str) else None


def _without(path: tuple[str, ...], files: frozenset[str]) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        items = holder[path[-1]]
        holder[path[-1]] = [item for item in items if (named := _named(path, item)) is None or named in files]

    return change


def tag_findings(snapshot: StorySnapshot, root: Path, files: Collection[str]) -> Iterator[Finding]:
    """Tags in fragments in use that no fragment of the branch can be put in for."""
    for fragment in snapshot.fragments.values():
        if fragment.archived or not ("<@" in fragment.content or "<@" in fragment.description):
            continue
        source = JsonSource(root / FOLDER / f"{fragment.id}.json")
        yield from lost_tags(source, ("content",), fragment.content, snapshot, files)
        yield from lost_tags(source, ("description",), fragment.description, snapshot, files)


def _set(file: Path, kind: Kind, key: str, text: str) -> Repair:
    def change(value: Any) -> None:
        value[key] = text

    return JsonSource(file).repair(kind, f"set its {key} to {text}", change)
