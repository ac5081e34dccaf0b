"""Fragments: what reading reports about them with what can be done, and tags in them that name nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from engine.doctor.finding import Finding, JsonSource, Kind, Repair
from engine.doctor.tags import lost_tags
from engine.errors import Problem
from engine.story import StorySnapshot

FOLDER: Final = "fragments"


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
        given = fragment.raw.get("id")
        other = isinstance(given, str) and given != fragment.id and snapshot.get(given) is not None
        message = f"has the id {given}, as {given}.json has; its file's name counts: {fragment.id}" if other else ""
        return Finding.of(problem, _set(file, Kind.FRAGMENT_ID, "id", fragment.id), message)
    if problem.field == "placement":
        return Finding.of(problem, _set(file, Kind.PLACEMENT, "placement", "user"), advice="make it system or user")
    return Finding.of(problem)


def tag_findings(snapshot: StorySnapshot, root: Path) -> Iterator[Finding]:
    """Tags in fragments in use that name no fragment of the branch."""
    for fragment in snapshot.fragments.values():
        if fragment.archived:
            continue
        for field, text in (("content", fragment.content), ("description", fragment.description)):
            for tag in lost_tags(text, snapshot):
                source = JsonSource(root / FOLDER / f"{fragment.id}.json")
                yield source.found(f"the tag {tag} names no fragment", (field,), "correct the id, or take the tag out")


def _set(file: Path, kind: Kind, key: str, text: str) -> Repair:
    def change(value: Any) -> None:
        value[key] = text

    return JsonSource(file).repair(kind, f"set its {key} to {text}", change)
