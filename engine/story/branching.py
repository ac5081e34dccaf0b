"""Making, choosing, naming and removing branches (spec, section 1.5).

Each change of the index keeps what it does not know, compares the file before replacing it, and happens under the
index's lock. A branch is a full copy of its parent: it is complete under its name before the index names it, and gone
from the index before it is removed.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine import disk
from engine.errors import InvalidFile, NotFound, StonehandError, WrongInput
from engine.story.branches import FOLDER, INDEX, MAIN, Branch, content_root, is_entry, now_iso, parse_branches
from engine.story.ids import new_branch_id
from engine.text import Phrase, collapse_space, utf16_length

NAME_LIMIT = 100
"""UTF-16 units of a branch's name."""


def create(story: Path, name: str, parent: str, fork_after: int | None = None) -> Branch:
    """Copy a branch, make the copy the active one, and return it.

    `fork_after` is the index (from 0) of the last section the copy keeps; left out, or past the end, it keeps them all.
    What is cut from the chain stays as a fragment. Raises `NotFound`, `WrongInput`, `InvalidFile` for an index or chain
    that can't be used, and `StonehandError` when it can't be written; nothing has changed then.
    """
    name = checked_name(name)
    if fork_after is not None and fork_after < 0:
        raise WrongInput("a branch keeps at least one section", repair="give the number of the last one it keeps")
    source = content_root(story, parent)
    made: list[Branch] = []

    def add(raw: dict[str, Any]) -> None:
        _entry(raw, parent, story)
        listed = raw["branches"]
        taken = {str(item.get("id")) for item in listed if isinstance(item, dict)}
        taken |= {path.name for path in (story / FOLDER).iterdir()}
        branch = Branch(new_branch_id(taken), name, len(listed), parent, now_iso())
        _copy(source, story / FOLDER / branch.id, fork_after)
        made.append(branch)
        entry: dict[str, Any] = {"id": branch.id, "name": name, "order": branch.order, "parentBranchId": parent}
        if fork_after is not None:
            entry["forkAfterIndex"] = fork_after
        listed.append({**entry, "createdAt": branch.created_at})
        raw["activeBranchId"] = branch.id

    try:
        _change_index(story, add)
    except BaseException:
        for branch in made:
            shutil.rmtree(story / FOLDER / branch.id, ignore_errors=True)
        raise
    return made[0]


def switch(story: Path, branch_id: str) -> None:
    """Make a branch the active one. Raises as `create`."""

    def change(raw: dict[str, Any]) -> None:
        _entry(raw, branch_id, story)
        raw["activeBranchId"] = branch_id

    _change_index(story, change)


def rename(story: Path, branch_id: str, name: str) -> None:
    """Give a branch another name; its id stays. Raises as `create`."""
    name = checked_name(name)

    def change(raw: dict[str, Any]) -> None:
        _entry(raw, branch_id, story)["name"] = name

    _change_index(story, change)


def delete(story: Path, branch_id: str) -> None:
    """Remove a branch with all that is in it; of the active one, `main` takes the place. `main` can't be removed.

    Raises as `create`.
    """
    if branch_id == MAIN:
        raise WrongInput("the branch main can't be deleted")
    folder = content_root(story, branch_id)

    def change(raw: dict[str, Any]) -> None:
        listed = raw["branches"]
        listed.remove(_entry(raw, branch_id, story))
        if not any(is_entry(item, story) for item in listed):
            raise WrongInput(
                Phrase("{branch_id} is the only branch that is listed", branch_id=branch_id),
                repair=Phrase("list {main} in {index} first", main=MAIN, index=INDEX),
            )
        if raw.get("activeBranchId") == branch_id:
            raw["activeBranchId"] = MAIN

    _change_index(story, change)
    # Out of the way in one step, so that what can't be removed now is no branch any more.
    gone = folder.with_name(f"{branch_id}.tmp-{disk.base36(time.time_ns())}")
    with suppress(OSError):
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def checked_name(name: str) -> str:
    """A branch's name as it is stored: on one line, without control characters. Raises `WrongInput`."""
    name = "".join(char for char in collapse_space(name) if char.isprintable() or char == " ")
    if not name:
        raise WrongInput(
            "a branch needs a name", repair=Phrase("give it one of 1 to {name_limit} characters", name_limit=NAME_LIMIT)
        )
    if (length := utf16_length(name)) > NAME_LIMIT:
        raise WrongInput(
            Phrase("the name is {length} characters long", length=length),
            repair=Phrase("give it at most {name_limit}", name_limit=NAME_LIMIT),
        )
    return name


def _change_index(story: Path, change: Callable[[dict[str, Any]], None]) -> None:
    file = story / INDEX
    with disk.lock(file):
        data = disk.read_bytes(file)
        raw: Any
        if data is None:
            main = {"id": MAIN, "name": "Main", "order": 0, "createdAt": now_iso()}
            raw = {"branches": [main], "activeBranchId": MAIN}
        else:
            raw = disk.parse_json(data, file)
            # An index that the branches were not taken from names none of those that are shown.
            if (shown := parse_branches(file, data)).made_up:
                found = shown.problems[0]
                raise InvalidFile(
                    found.message, file=file, field=found.field, line=found.line, repair="repair it first"
                )
        change(raw)
        disk.refuse_loss(file, data)
        disk.write_atomic(file, disk.dump_json(raw), expected=data)


def _entry(raw: dict[str, Any], branch_id: str, story: Path) -> dict[str, Any]:
    for item in raw["branches"]:
        if isinstance(item, dict) and item.get("id") == branch_id:
            return item
    known = ", ".join(item["id"] for item in raw["branches"] if is_entry(item, story))
    raise NotFound(
        Phrase("there is no branch {branch_id!r}", branch_id=branch_id), repair=Phrase("branches: {known}", known=known)
    )


def _copy(source: Path, target: Path, fork_after: int | None) -> None:
    staging = target.with_name(f"{target.name}.tmp-{disk.base36(time.time_ns())}")
    try:
        if source.is_dir():
            shutil.copytree(source, staging, symlinks=True, ignore=shutil.ignore_patterns("*.tmp-*"))
        else:
            staging.mkdir(parents=True)
        if fork_after is not None:
            _truncate(staging / "prose-chain.json", source / "prose-chain.json", fork_after)
        staging.rename(target)
    except OSError as error:
        shutil.rmtree(staging, ignore_errors=True)
        reason = (error.strerror or str(error)).lower()
        raise StonehandError(Phrase("the branch can't be copied: {reason}", reason=reason), file=source) from None
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def _truncate(chain: Path, original: Path, last: int) -> None:
    data = disk.read_bytes(chain)
    if data is None:
        return
    raw = disk.parse_json(data, original)
    if not isinstance(raw, dict) or not isinstance(raw.get("entries"), list):
        raise InvalidFile("has no list of entries, so it can't be cut", file=original, field="entries", line=1)
    raw["entries"] = raw["entries"][: last + 1]
    disk.refuse_loss(original, data)
    disk.write_atomic(chain, disk.dump_json(raw))
