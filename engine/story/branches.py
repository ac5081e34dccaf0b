"""The branches of a story, and where the content of each lies (spec, section 1.5)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from engine.disk import base36, child, dump_json, json_line, parse_json, write_atomic
from engine.errors import InvalidFile, NotFound, Problem, StonehandError
from engine.text import Phrase, did_you_mean

MAIN: Final = "main"
FOLDER: Final = "branches"
INDEX: Final = "branches.json"

_LEGACY_ITEMS: Final = ("prose-chain.json", "fragments", "associations.json", "generation-logs", "librarian")
# The reference leaves block configs of a story without branches behind when it moves the rest; we take them along.
_OWN_ITEMS: Final = ("agent-blocks", "character-chat")


@dataclass(frozen=True, slots=True)
class Branch:
    """One timeline of a story: a full copy of its content."""

    id: str
    name: str
    order: int | float = 0
    parent: str | None = None
    created_at: str = ""

    @property
    def deletable(self) -> bool:
        """Whether it can be deleted: `main` can't."""
        return self.id != MAIN


@dataclass(frozen=True, slots=True)
class Branches:
    """A story's branches in the order of its index. `legacy`: the story's own folder holds the only
    content. `made_up`: the index is of no use, so they are the folders there are. `doubt`: why `active` may not be the
    branch that is meant; it is shown, and nothing is written to it unless it is named.
    """

    all: tuple[Branch, ...]
    active: str
    legacy: bool = False
    problems: tuple[Problem, ...] = ()
    doubt: Problem | None = None
    made_up: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The branches' ids."""
        return tuple(branch.id for branch in self.all)

    def get(self, branch_id: str | None = None) -> Branch:
        """The branch of this id, or the active one. Raises `NotFound` naming those there are."""
        wanted = self.active if branch_id is None else branch_id
        for branch in self.all:
            if branch.id == wanted:
                return branch
        close = did_you_mean(wanted, {branch.id: (branch.name,) for branch in self.all})
        raise NotFound(
            Phrase("there is no branch {wanted!r}", wanted=wanted),
            repair=Phrase("{close}branches: {known}", close=close, known=", ".join(self.ids)),
        )

    def to_write(self, branch_id: str | None = None) -> Branch:
        """The branch to write to: the one of this id, or the active one.

        Raises `InvalidFile` when none is named and it is in doubt which is the active one, `NotFound` as `get`.
        """
        if branch_id is None and self.doubt is not None:
            raise InvalidFile.of(self.doubt, f"repair it, or say which branch with --branch: {', '.join(self.ids)}")
        return self.get(branch_id)


_ONLY_MAIN: Final = (Branch(MAIN, "Main"),)


def is_legacy(story: Path) -> bool:
    """Whether a story was made before there were branches, so that its own folder holds the content."""
    return not (story / FOLDER).is_dir()


def legacy_items(story: Path) -> list[Path]:
    """The content of the old layout that lies in a story's own folder."""
    return [story / name for name in (*_LEGACY_ITEMS, *_OWN_ITEMS) if (story / name).exists()]


def content_root(story: Path, branch_id: str) -> Path:
    """The folder that holds a branch's content; it need not exist. Raises `WrongInput` for an id that is no
    name.
    """
    if branch_id == MAIN and is_legacy(story):
        return story
    return child(story, FOLDER, branch_id)


def parse_branches(file: Path, data: bytes | None) -> Branches:
    """The branches an index names. A faulty index is reported and made up for by the folders there are."""
    story = file.parent
    if is_legacy(story):
        return Branches(_ONLY_MAIN, MAIN, legacy=True)
    if data is None:
        return Branches(_ONLY_MAIN, MAIN)
    try:
        raw = parse_json(data, file)
    except StonehandError as error:
        return _from_folders(story, (error.problem,))
    listed = raw.get("branches") if isinstance(raw, dict) else None
    if not isinstance(listed, list):
        return _from_folders(story, (Problem("names no list of branches", file, "branches", 1),))
    text = data.decode("utf-8-sig")
    problems: list[Problem] = []
    doubt: Problem | None = None
    branches: dict[str, Branch] = {}
    for index, item in enumerate(listed):
        branch = _branch(item, story)
        if branch is None:
            line = json_line(text, ("branches", index))
            message = "has no usable id, so the branch was left out"
            problems.append(Problem(message, file, f"branches[{index}]", line))
        else:
            branches.setdefault(branch.id, branch)
    if not branches:
        return _from_folders(story, (*problems, Problem("names no branch", file, "branches", 1)))
    active = raw.get("activeBranchId")
    if not isinstance(active, str) or active not in branches:
        shown = MAIN if MAIN in branches else next(iter(branches))
        line = json_line(text, ("activeBranchId",))
        problem = Problem(
            Phrase("names no branch of the list; {shown} was used", shown=shown), file, "activeBranchId", line
        )
        problems.append(problem)
        if problems[:-1] or len(branches) > 1:
            doubt = replace(problem, message="names no branch of the list")
        active = shown
    if not (story / FOLDER / active).is_dir():
        problems.append(Problem("the active branch has no folder, so it is empty", story / FOLDER / active))
    return Branches(tuple(branches.values()), active, problems=tuple(problems), doubt=doubt)


def _branch(item: Any, story: Path) -> Branch | None:
    branch_id = item.get("id") if isinstance(item, dict) else None
    if not isinstance(branch_id, str):
        return None
    try:
        child(story, FOLDER, branch_id)
    except StonehandError:
        return None
    name, order, parent = item.get("name"), item.get("order"), item.get("parentBranchId")
    created = item.get("createdAt")
    return Branch(
        branch_id,
        name if isinstance(name, str) and name else branch_id,
        order if isinstance(order, int | float) and not isinstance(order, bool) else 0,
        parent if isinstance(parent, str) else None,
        created if isinstance(created, str) else "",
    )


def is_entry(item: Any, story: Path) -> bool:
    """Whether an entry of the index names a branch that can be one of this story."""
    return _branch(item, story) is not None


def _from_folders(story: Path, problems: tuple[Problem, ...]) -> Branches:
    try:
        names = sorted(entry.name for entry in os.scandir(story / FOLDER) if entry.is_dir())
    except OSError:
        names = []
    branches = tuple(Branch(name, name) for name in names if "." not in name) or _ONLY_MAIN
    active = MAIN if any(branch.id == MAIN for branch in branches) else branches[0].id
    note = Problem(
        Phrase("the branches were taken from the folders there are; {active} was used", active=active), story / INDEX
    )
    return Branches(branches, active, problems=(*problems, note), doubt=problems[0], made_up=True)


def adopt_branches(story: Path) -> None:
    """Give a story of the old layout its `branches/main`, as the reference does when it first opens one.

    Called before the first write, never for reading: a file written to `branches/` beside the old content
    would hide it. The content is copied, put in place in one step, and only then removed from where it was.
    Raises `StonehandError` when that is impossible; nothing has changed then.
    """
    import shutil  # slow to import, and hardly ever needed

    items = legacy_items(story)
    staging = story / f"{FOLDER}.tmp-{base36(time.time_ns())}"
    try:
        main = staging / MAIN
        main.mkdir(parents=True)
        for item in items:
            if item.is_dir():
                shutil.copytree(item, main / item.name, symlinks=True)
            else:
                shutil.copy2(item, main / item.name)
        if hasattr(os, "sync"):
            os.sync()
        write_atomic(story / INDEX, dump_json(default_index()))
        staging.rename(story / FOLDER)
    except OSError as error:
        shutil.rmtree(staging, ignore_errors=True)
        reason = (error.strerror or str(error)).lower()
        raise StonehandError(Phrase("the story can't be given branches: {reason}", reason=reason), file=story) from None
    except StonehandError:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    for item in items:
        with suppress(OSError):
            shutil.rmtree(item) if item.is_dir() else item.unlink()


def default_index() -> Mapping[str, Any]:
    """The index of a story whose only branch is `main`."""
    created = now_iso()
    main = {"id": MAIN, "name": "Main", "order": 0, "createdAt": created}
    return {"branches": [main], "activeBranchId": MAIN}


def now_iso() -> str:
    """The time as every file of a story has it: ISO 8601, UTC, milliseconds, Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
