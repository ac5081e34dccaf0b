"""The branch index against the folders there are, and the layout from before branches (spec, section 1.5)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from engine.disk import dump_json, parse_json
from engine.doctor.finding import Finding, JsonSource, Kind, Repair, listed, mapped
from engine.doctor.leftovers import is_leftover
from engine.errors import Problem, StonehandError
from engine.story import Branches
from engine.story.branches import FOLDER, INDEX, MAIN, adopt_branches, default_index, legacy_items, now_iso

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
    for problem in branches.problems:
        yield Finding.of(problem, _active_repair(source, problem, branches))
    if branches.legacy or any(problem.field == "branches" for problem in branches.problems):
        return
    if any(problem.file == source.file and not problem.field for problem in branches.problems):
        return  # the index is no use: the branches were made up from the folders
    yield from _entries(story, source, branches)
    yield from _folders(story, source, branches)


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
        seen.add(branch_id)


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
    what = f"list it under the name {name}"
    if source.data is not None:
        return source.repair(Kind.BRANCHES, what, _listing(name))

    def edit(data: bytes | None) -> bytes | None:
        index = dict(default_index()) if data is None else parse_json(data, source.file)
        _listing(name)(index)
        return dump_json(index)

    return Repair(Kind.BRANCHES, what, source.file, edit, None)


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
