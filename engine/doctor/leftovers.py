"""Files that should not be there: temporary ones that a crash left, and links that lead out of the story."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.doctor.finding import Finding, Kind, Repair

_TEMPORARY: Final = re.compile(r".+\.tmp-[0-9a-z]+(-[0-9a-z]+)?")
YOUNG: Final = 60.0
"""Seconds in which a temporary file may still be another program's write under way."""


def is_leftover(name: str) -> bool:
    """Whether a name is one that a write or a copy gives its file until it is whole (spec, section 1.2)."""
    return _TEMPORARY.fullmatch(name) is not None


def leftover_findings(story: Path) -> Iterator[Finding]:
    """Temporary files and folders that are no write under way, and links that lead out of the story or nowhere."""
    real = Path(os.path.realpath(story))
    for folder, folders, files in os.walk(story):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(folder) / name
            if path.is_symlink():
                yield from _link(path, real)
            elif is_leftover(name):
                yield from _temporary(path)
        folders[:] = [name for name in folders if not is_leftover(name)]


def _temporary(path: Path) -> Iterator[Finding]:
    try:
        age = time.time() - path.stat().st_mtime
    except OSError:
        return
    if age < YOUNG:
        return
    if path.is_dir():
        yield Finding(
            "a copy that was not finished, or a branch that was being deleted", path, repair="remove the folder"
        )
        return
    yield Finding(
        "a temporary file that a write left behind when it was interrupted; it is not read",
        path,
        repair="remove it",
        offered=Repair(Kind.LEFTOVER, "remove it", path, lambda data: None),
    )


def _link(path: Path, real: Path) -> Iterator[Finding]:
    try:
        target = Path(os.path.realpath(path))
        missing = not target.exists()
    except OSError:
        return
    if missing:
        yield Finding("is a link that leads nowhere", path, repair="remove the link, or restore what it led to")
    elif target != real and real not in target.parents:
        yield Finding(
            "is a link that leads out of the story",
            path,
            repair="put a copy of what it leads to in its place; fragments and configs are not read through it",
        )
