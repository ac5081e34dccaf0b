"""Branches in the story dialog: made, named, chosen, deleted, found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.document import SaveState
from engine.story import StoryFolder
from engine.workspace import Workspace
from tests.stories import config_file, make_story
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.branch_name import BranchNameDialog
from tui.screens.choice import ChoiceDialog
from tui.screens.report import ReportDialog
from tui.screens.story import StoryScreen
from tui.screens.target import TargetDialog

STORY = "the-quay"


async def on(ed: Editor, screen: type) -> None:
    await ed.until(lambda: isinstance(ed.app.screen, screen), screen.__name__)
    await ed.pilot.pause()


async def opened(ed: Editor, branch: str) -> None:
    await ed.until(lambda: ed.app.screen is ed.desk and ed.session.branch == branch, branch)
    await ed.listed()


def index(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((data / "stories" / STORY / "branches.json").read_bytes())
    return found


def folder(data: Path, branch: str) -> Path:
    return data / "stories" / STORY / "branches" / branch


async def test_a_branch_is_made_from_the_one_under_the_cursor_with_what_was_just_edited(
    editor: Open, data: Path
) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.press("space", "s")
        await on(ed, StoryScreen)
        await ed.press("n")
        await on(ed, BranchNameDialog)
        await ed.press("enter")
        await ed.until(lambda: ed.shows("a branch needs a name"))
        await ed.type("If she stays 如果")
        await ed.press("enter")
        await ed.until(lambda: len(index(data)["branches"]) == 3)
        made = index(data)["branches"][-1]
        assert made["name"] == "If she stays 如果" and made["parentBranchId"] == "main"
        await opened(ed, made["id"])
        assert index(data)["activeBranchId"] == made["id"]
        assert ed.config()["overrides"]["story-info"] == {"enabled": False}
        assert len(json.loads((folder(data, made["id"]) / "prose-chain.json").read_bytes())["entries"]) == 2


async def test_a_branch_ends_after_the_section_that_is_picked_by_its_words(editor: Open, data: Path) -> None:
    async with editor((80, 24)) as ed:
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.pilot.click("#new")
        await on(ed, BranchNameDialog)
        await ed.type("Short")
        await ed.press("tab", "right", "enter")
        await on(ed, TargetDialog)
        assert ed.shows("The lamp on the quay") and ed.shows("Ines counted")
        await ed.press("escape")
        await on(ed, BranchNameDialog)
        assert ed.field("#name") == "Short", "nothing typed is lost"
        await ed.press("tab", "right", "enter")
        await on(ed, TargetDialog)
        await ed.type("lamp")
        await ed.until(lambda: not ed.shows("Ines counted"))
        await ed.press("enter")
        await ed.until(lambda: len(index(data)["branches"]) == 3)
        made = index(data)["branches"][-1]["id"]
        await opened(ed, made)
        assert len(json.loads((folder(data, made) / "prose-chain.json").read_bytes())["entries"]) == 1


async def test_a_branch_is_renamed_and_made_active_and_the_dialog_stays(editor: Open, data: Path) -> None:
    async with editor() as ed:
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.press("j", "r")
        await on(ed, BranchNameDialog)
        await ed.press("ctrl+u")
        await ed.type("Squall")
        await ed.press("enter")
        await on(ed, StoryScreen)
        await ed.until(lambda: ed.shows("Squall · stormy"))
        assert index(data)["branches"][1]["name"] == "Squall"
        await ed.press("a")
        await ed.until(lambda: isinstance(ed.app.screen, StoryScreen) and ed.shows("● Squall · stormy"))
        assert index(data)["activeBranchId"] == "stormy"
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        assert ed.session.branch == "main", "choosing the active one opens nothing"
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.press("r")
        await on(ed, BranchNameDialog)
        await ed.press("ctrl+u")
        await ed.type("Calm")
        await ed.press("enter")
        await on(ed, StoryScreen)
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk and "The Quay › Calm" in ed.lines()[0])
        await ed.press("p")
        await ed.until(lambda: ed.app.screen is not ed.desk and "› Calm" in ed.lines()[0], "the name on other screens")


async def test_opening_a_branch_makes_nothing_active(editor: Open, data: Path) -> None:
    async with editor() as ed:
        before = index(data)
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.press("j", "enter")
        await opened(ed, "stormy")
        assert index(data) == before


async def test_the_open_branch_is_deleted_when_it_is_meant(editor: Open, data: Path) -> None:
    async with editor() as ed:
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.press("j", "enter")
        await opened(ed, "stormy")
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.press("X")
        await on(ed, ReportDialog)
        assert ed.shows("2 sections of the story") and ed.shows("5 fragments") and ed.shows("one block config")
        await ed.press("escape")
        await on(ed, StoryScreen)
        assert folder(data, "stormy").is_dir() and len(index(data)["branches"]) == 2
        await ed.press("X")
        await on(ed, ReportDialog)
        await ed.press("d")
        await opened(ed, "main")
        assert not folder(data, "stormy").exists() and len(index(data)["branches"]) == 1
        assert [session.branch for session in ed.desk.open_sessions()] == ["main"]
        assert not ed.shows("was deleted.")


async def test_main_cannot_be_deleted(editor: Open, data: Path) -> None:
    async with editor() as ed:
        await ed.press("s")
        await on(ed, StoryScreen)
        first = ed.app.screen
        await ed.press("X")
        await ed.until(lambda: ed.app.screen is not first and ed.shows("main can't be deleted"))
        await on(ed, StoryScreen)
        await ed.press("j", "enter")
        await opened(ed, "stormy")


async def test_edits_that_cannot_be_saved_are_brought_out_of_a_branch_that_is_deleted(editor: Open, data: Path) -> None:
    async with editor() as ed:
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.press("j", "enter")
        await opened(ed, "stormy")
        await ed.goto("story-info")
        config_file(data / "stories" / STORY, branch="stormy").write_text('{"disabledTools": []}')
        await ed.press("space", "ctrl+s")
        await ed.until(lambda: ed.session.document.state is SaveState.CONFLICT)
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.press("X")
        await on(ed, ReportDialog)
        await ed.press("d")
        await opened(ed, "main")
        (file,) = (ed.workspace.state / "rescued").iterdir()
        assert json.loads(file.read_bytes())["config"]["overrides"]["story-info"] == {"enabled": False}
        await ed.until(lambda: any(str(file) in toast for toast in ed.toasts), "where they are")


async def test_stories_and_branches_are_filtered(editor: Open, data: Path) -> None:
    make_story(data, "zz-mill", name="The Mill 磨坊", prose=())
    async with editor((80, 24)) as ed:
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.press("slash")
        await ed.type("quay stor")
        await ed.until(lambda: ed.shows("stormy") and not ed.shows("The Mill"))
        await ed.press("escape")
        await ed.until(lambda: ed.shows("The Mill 磨坊"))
        await on(ed, StoryScreen)
        await ed.press("slash")
        await ed.type("nothing like it")
        await ed.until(lambda: ed.shows("no story or branch has this"))
        await ed.press("enter")
        await on(ed, StoryScreen)
        await ed.press("ctrl+u")
        await ed.type("磨坊")
        await ed.until(lambda: not ed.shows("stormy"))
        await ed.press("enter")
        await ed.until(lambda: ed.session.story == "zz-mill")


@pytest.mark.parametrize("act", ["n", "r", "a", "X"])
async def test_a_broken_index_is_told_with_its_line_and_the_dialog_stays_usable(
    editor: Open, data: Path, act: str
) -> None:
    file = data / "stories" / STORY / "branches.json"
    file.write_text(file.read_text("utf-8").replace('"main",', '"main",,', 1), "utf-8")
    before = file.read_bytes()
    line = next(n for n, text in enumerate(before.decode().splitlines(), 1) if ",," in text)
    async with editor() as ed:
        await ed.press("s")
        await on(ed, StoryScreen)
        await ed.until(lambda: ed.shows(f"branches.json:{line}"))
        await ed.press("j", act)
        if act in "nr":
            await on(ed, BranchNameDialog)
            await ed.type("x")
            await ed.press("enter")
            await ed.until(lambda: isinstance(ed.app.screen, BranchNameDialog) and ed.shows(f"branches.json:{line}"))
            await ed.press("escape")
        elif act == "X":
            await on(ed, ReportDialog)
            await ed.press("d")
        await on(ed, StoryScreen)
        assert file.read_bytes() == before and folder(data, "stormy").is_dir()
        await ed.press("enter")
        await opened(ed, "stormy")


@pytest.mark.parametrize("key", ["w", "d", "escape"])
async def test_unsaved_edits_of_a_branch_deleted_meanwhile_are_offered_at_start(
    editor: Open, data: Path, workspaces: Any, key: str
) -> None:
    first: Workspace = workspaces(data)
    session = first.session(STORY, "generation.writer", "stormy")
    session.install(session.load())
    session.toggle("story-info")
    first.close()
    StoryFolder(data / "stories" / STORY).delete_branch("stormy")
    async with editor() as ed:
        await on(ed, ChoiceDialog)
        assert ed.shows("The branch stormy of the-quay is gone")
        await ed.press(key)
        await ed.until(lambda: ed.app.screen is ed.desk)
        if key == "w":
            await ed.until(lambda: any("can be imported" in toast for toast in ed.toasts))
            (file,) = (ed.workspace.state / "rescued").iterdir()
            assert json.loads(file.read_bytes())["config"]["overrides"]["story-info"] == {"enabled": False}
        await ed.until(lambda: len(ed.workspace.rescue.left()) == (1 if key == "escape" else 0))
