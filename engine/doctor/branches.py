"""The branch index against the folders there are, and the layout from before branches (spec, section 1.5)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final

from engine.disk import dump_json, json_value, parse_json
from engine.doctor.finding import Finding, JsonSource, Kind, Repair, listed, mapped, one_line
from engine.doctor.leftovers import is_leftover
from engine.errors import Problem, StonehandError
from engine.story import Branches
from engine.story.branches import FOLDER, INDEX, MAIN, adopt_branches, default_index, legacy_items, now_iso
from engine.text import is_blank, utf16_length

Change = Callable[[Any], None]


def layout_findings(story: Path, branches: Branches) -> Iterator[Finding]:
    """Content in the story's own folder, where it lay before there were branches."""
    items = legacy_items(story)
    if not items:
        return
    if branches.legacy:
        repair = Repair(
            Kind.LAYOUT, "move the content to branches/main, as the first save does", story, act=_adopt(story)
        )
        yield Finding(
            "the story has the layout from before there were branches",
            story,
            repair="it can be used as it is; the first save gives it branches",
            offered=repair,
        )
        return
    for item in items:
        yield Finding(
            f"lies beside {FOLDER}/, which hides it: it is not read",
            item,
            repair=f"move it into the branch it belongs to, or remove it; the branches lie in {story / FOLDER}",
        )


def _adopt(story: Path) -> Callable[[], None]:
    def act() -> None:
        if (story / FOLDER).exists():
            raise StonehandError("has been given branches meanwhile", file=story, repair="look again")
        adopt_branches(story)

    return act


def index_findings(story: Path, branches: Branches) -> Iterator[Finding]:
    """The problems of reading the index with their repairs, and where index and folders disagree."""
    source = JsonSource(story / INDEX)
    if branches.made_up:
        *problems, why, note = branches.problems
        yield from map(Finding.of, problems)
        yield Finding.of(why, _new_index(source, branches))
        yield Finding.of(note)
        return
    for problem in branches.problems:
        yield Finding.of(problem, _active_repair(source, problem, branches))
    if branches.legacy:
        return
    yield from _entries(story, source, branches)
    yield from _folders(story, source, branches)


def _new_index(source: JsonSource, branches: Branches) -> Repair | None:
    """The repair that writes the index the story is shown by, with what can still be read of the old one's entries."""
    if source.data is None:
        return None
    ids, shown = branches.ids, branches.active

    def edit(data: bytes | None) -> bytes | None:
        entries, rest = _salvaged(data or b"", source.file, ids)
        listed_ids = [*entries, *(branch_id for branch_id in ids if branch_id not in entries)]
        index = [
            {"id": branch_id, "name": branch_id[:_NAME_LIMIT], "order": order, "createdAt": now_iso()}
            | entries.get(branch_id, {})
            for order, branch_id in enumerate(listed_ids)
        ]
        return dump_json({**rest, "branches": index, "activeBranchId": shown})

    what = f"write an index of the folders there are, {', '.join(ids)}, with {shown} as the active branch"
    return Repair(Kind.BRANCHES, one_line(what), source.file, edit, source.data)


_FORMS: Final[dict[str, Callable[[Any], bool]]] = {
    "name": lambda value: isinstance(value, str) and not is_blank(value) and utf16_length(value) <= _NAME_LIMIT,
    "order": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value >= 0,
    "createdAt": lambda value: isinstance(value, str),
    "parentBranchId": lambda value: isinstance(value, str),
    "forkAfterIndex": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
}
"""What the fields of an entry may hold (spec, section 1.5)."""


def _salvaged(data: bytes, file: Path, ids: Collection[str]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The entries of these branches in a broken index, each as far as it is whole and without what is not valid in it,
    and the other keys of the index if it can be read as an object.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return {}, {}
    found: dict[str, dict[str, Any]] = {}
    at = text.find("{")
    while at >= 0:
        value, end = _whole_members(text, at)
        branch_id = value.get("id")
        if isinstance(branch_id, str) and branch_id in ids:
            kept = {key: item for key, item in value.items() if key not in _FORMS or _FORMS[key](item)}
            found.setdefault(branch_id, kept)
            at = text.find("{", end)
        else:
            at = text.find("{", at + 1)
    try:
        return found, mapped(parse_json(data, file))
    except StonehandError:
        return found, {}


_KEY: Final = re.compile(r'[{,]\s*(?=")')
_COLON: Final = re.compile(r"\s*:\s*")
_AFTER: Final = re.compile(r"\s*(?=[,}])")


_NEXT: Final = re.compile(r'[^{}]*?(?=,\s*"(?:id|' + "|".join(_FORMS) + r')"\s*:)')


def _whole_members(text: str, at: int) -> tuple[dict[str, Any], int]:
    """The members that are whole of an object that begins at `at`, and where they end. Behind one that is not, the
    next that has a known name counts again.
    """
    found, at = _members(text, at)
    while (rest := _NEXT.match(text, at + 1)) is not None:
        more, at = _members(text, rest.end())
        found = {**more, **found}
    return found, at


def _members(text: str, at: int) -> tuple[dict[str, Any], int]:
    """The members from `at` on, up to the first that is not whole, and where they end."""
    found: dict[str, Any] = {}
    while (start := _KEY.match(text, at)) is not None:
        key, end = json_value(text, start.end())
        colon = _COLON.match(text, end)
        if not isinstance(key, str) or colon is None:
            break
        value, end = json_value(text, colon.end())
        after = _AFTER.match(text, end)
        # Only a text says itself where it ends: a number may have been cut.
        if end == colon.end() or (after is None and not isinstance(value, str)):
            break
        found[key] = value
        at = end if after is None else after.end()
    return found, at


def _active_repair(source: JsonSource, problem: Problem, branches: Branches) -> Repair | None:
    if problem.field != "activeBranchId" or problem.file != source.file:
        return None
    shown = branches.active

    def change(value: Any) -> None:
        value["activeBranchId"] = shown

    return source.repair(Kind.BRANCHES, f"make {shown} the active branch", change)


def _entries(story: Path, source: JsonSource, branches: Branches) -> Iterator[Finding]:
    if source.data is None:
        return
    seen: set[str] = set()
    for index, item in enumerate(listed(mapped(parse_json(source.data, source.file)).get("branches"))):
        branch_id = mapped(item).get("id")
        if not isinstance(branch_id, str) or branch_id not in branches.ids:
            continue
        if branch_id in seen:
            yield source.found(
                f"the branch {branch_id} is listed twice; the first entry counts",
                ("branches", index, "id"),
                "take the second one out",
                source.repair(Kind.BRANCHES, f"leave only the first entry of {branch_id}", _first_of(branch_id)),
            )
        elif not (story / FOLDER / branch_id).is_dir():
            lost = branch_id != MAIN
            repair = source.repair(Kind.BRANCHES, f"take {branch_id} out of the list", _without(branch_id))
            yield source.found(
                f"the branch {branch_id} has no folder, so it is empty",
                ("branches", index),
                "restore its folder from a backup" + (", or delete the branch" if lost else ""),
                repair if lost else None,
            )
        else:
            yield from _incomplete(source, index, item, branch_id)
        seen.add(branch_id)


def _incomplete(source: JsonSource, index: int, entry: dict[str, Any], branch_id: str) -> Iterator[Finding]:
    """What an entry has to have besides its id and has not, or not as it has to be."""
    safe: dict[str, Any] = {"name": branch_id[:_NAME_LIMIT], "order": index}
    for key, value in safe.items():
        if key in entry and _FORMS[key](entry[key]):
            continue
        what = "is not valid" if key in entry else "is missing"
        yield source.found(
            f"the {key} of the branch {branch_id} {what}",
            ("branches", index, key),
            "give it one",
            source.repair(Kind.BRANCHES, f"make its {key} {value}", _giving(branch_id, key, value)),
        )


def _giving(branch_id: str, key: str, given: Any) -> Change:
    def change(value: Any) -> None:
        entry = next((item for item in value["branches"] if mapped(item).get("id") == branch_id), None)
        if entry is not None:
            entry[key] = given

    return change


def _folders(story: Path, source: JsonSource, branches: Branches) -> Iterator[Finding]:
    try:
        with os.scandir(story / FOLDER) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names:
        if name in branches.ids or is_leftover(name) or name.startswith("."):
            continue
        yield Finding(
            "a branch that branches.json does not list, so it is not shown",
            story / FOLDER / name,
            repair="list it there, or remove the folder",
            offered=_list_repair(source, name),
        )


_NAME_LIMIT: Final = 100


def _list_repair(source: JsonSource, name: str) -> Repair:
    return source.repair(Kind.BRANCHES, f"list it under the name {name}", _listing(name), new=dict(default_index()))


def _listing(name: str) -> Change:
    def change(value: Any) -> None:
        listed_ids = value["branches"]
        if not any(mapped(item).get("id") == name for item in listed_ids):
            entry = {"id": name, "name": name[:_NAME_LIMIT], "order": len(listed_ids), "createdAt": now_iso()}
            listed_ids.append(entry)

    return change


def _without(branch_id: str) -> Change:
    def change(value: Any) -> None:
        value["branches"] = [item for item in value["branches"] if mapped(item).get("id") != branch_id]
        if value.get("activeBranchId") == branch_id:
            value["activeBranchId"] = MAIN

    return change


def _first_of(branch_id: str) -> Change:
    def change(value: Any) -> None:
        kept, seen = [], False
        for item in value["branches"]:
            same = mapped(item).get("id") == branch_id
            if not (same and seen):
                kept.append(item)
            seen = seen or same
        value["branches"] = kept

    return change
