"""Every screen of every sort of story, looked at: not one byte or time of a file changes (spec, case 54)."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

from textual.screen import Screen

import tui.screens
from engine.workspace import WRITER
from tests.libraries import GENERATED, make_library, state_of
from tests.tui.app.providers import write_providers
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tests.tui.walk import open_agent
from tui.screens.agent_run import AgentRunScreen
from tui.screens.branch_name import BranchNameDialog
from tui.screens.chat import ChatScreen
from tui.screens.conflict import ConflictScreen
from tui.screens.conversations import ConversationsDialog, TitleDialog
from tui.screens.directions import DirectionsDialog
from tui.screens.passage import PassageScreen
from tui.screens.pick import PickDialog
from tui.screens.pin import PinDialog
from tui.screens.plan import PlanDialog
from tui.screens.preview import PreviewDialog, SubjectDialog
from tui.screens.prompt import PromptScreen
from tui.screens.question import QuestionDialog
from tui.screens.replay import ReplayScreen
from tui.screens.report import ReportDialog
from tui.screens.request import RequestScreen
from tui.screens.run_diff import RunDiffScreen
from tui.screens.runs import RunsScreen
from tui.screens.story import StoryScreen
from tui.screens.target import TargetDialog
from tui.screens.usage import UsageDialog

# What opens and leaves a screen from the main one, without changing anything.
VISITS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("question_mark",), ("pagedown", "escape")),
    (("ctrl+p",), ("escape",)),
    (("r",), ("escape",)),
    (("a",), ("escape",)),
    (("R",), ("escape",)),
    (("s",), ("j", "k", "escape")),
    (("x",), ("escape",)),
    (("i",), ("escape",)),
    (("M",), ("j", "enter")),
    (("t",), ("j", "k", "escape")),
    (("B",), ("j", "k", "escape")),
    (("w",), ("escape",)),
    (("O",), ("j", "k", "escape")),
    (("d",), ("n", "J", "escape")),
)
LOOKED_UP = (("M",), ("B",))
"""What is looked up first, so that its screen takes a moment."""

OF_RUNS = {RunDiffScreen, ReplayScreen}
"""Of a single run, which these stories have none of; the command line's test reads some."""
OF_ANSWERS = {TitleDialog, PlanDialog, DirectionsDialog, QuestionDialog}
"""For what was said, planned, proposed or asked, which is written down."""


def screens() -> set[type[Screen[Any]]]:
    """Every screen the program can show, found in its package."""
    modules = [import_module(f"tui.screens.{found.name}") for found in pkgutil.iter_modules(tui.screens.__path__)]
    classes = {item for module in modules for item in vars(module).values() if isinstance(item, type)}
    shown = {item for item in classes if issubclass(item, Screen) and item.__module__.startswith("tui.screens.")}
    return {item for item in shown if not any(item is not other and issubclass(other, item) for other in shown)}


async def go(ed: Editor, story: str, branch: str) -> None:
    ed.desk.begin(lambda: ed.desk.open_story(story, branch, WRITER), "open", exclusive=True)
    await ed.until(lambda: (ed.session.story, ed.session.branch) == (story, branch), f"{story} › {branch}")
    await ed.listed()
    await ed.press("2")


async def glance(ed: Editor) -> None:
    """Look at the blocks of the open agent, the texts of some, and the prompt they make."""
    await ed.press("end", "home", "j")
    for row in ("instructions", next((row.key for row in ed.session.rows if row.custom), "tools")):
        await ed.goto(row)
        await ed.press("3", "f3", "escape", "escape", "2")
        await ed.until(lambda: ed.app.screen is ed.desk)
    for key, screen in (("p", PromptScreen), ("L", RunsScreen), ("g", PassageScreen)):
        await ed.press(key)
        await ed.until(lambda screen=screen: isinstance(ed.app.screen, screen), screen.__name__)
        while ed.app.screen is not ed.desk:
            await ed.press("escape")


async def look_around(ed: Editor, seen: set[type]) -> None:
    """Go through everything there is to see of the open agent."""

    def note() -> None:
        seen.add(type(ed.app.screen))

    await ed.press("end", "home", "j", "j", "m", "j", "escape", "slash", "s", "escape", "escape", "2")
    for row in ("instructions", next((row.key for row in ed.session.rows if row.custom), "tools")):
        await ed.goto(row)
        await ed.press("3", "f3", "escape", "escape", "2")
        await ed.until(lambda: ed.app.screen is ed.desk)
    await ed.goto("instructions")
    await ed.press("r")
    await ed.until(lambda: isinstance(ed.app.screen, PinDialog), "the order of a built-in block")
    note()
    await ed.press("escape")
    await ed.until(lambda: ed.app.screen is ed.desk)
    for there, back in VISITS:
        await ed.press(*there)
        if there in LOOKED_UP:
            await ed.until(lambda: ed.app.screen is not ed.desk, f"what {there} opens")
        note()
        await ed.press(*back)
        while ed.app.screen is not ed.desk:
            note()
            await ed.press("escape")
    await ed.press("s")
    await ed.until(lambda: isinstance(ed.app.screen, StoryScreen), "the stories")
    await ed.press("n")
    await ed.until(lambda: isinstance(ed.app.screen, BranchNameDialog), "the name of a branch")
    note()
    await ed.press("escape")
    await ed.until(lambda: isinstance(ed.app.screen, StoryScreen), "the stories again")
    await ed.press("escape")
    await ed.until(lambda: ed.app.screen is ed.desk)
    ed.app.push_screen(ConflictScreen((), {}))  # a conflict comes of edits, which are not made here
    await ed.until(lambda: isinstance(ed.app.screen, ConflictScreen))
    note()
    await ed.press("space", "escape")
    await ed.until(lambda: ed.app.screen is ed.desk)
    await ed.press("C")
    await ed.until(lambda: isinstance(ed.app.screen, TargetDialog), "the targets")
    note()
    await ed.press("enter")
    await ed.until(lambda: isinstance(ed.app.screen, ReportDialog), "what would change")
    note()
    await ed.press("escape")
    await ed.press("p")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen), "the prompt")
    note()
    await ed.press("r")
    await ed.until(lambda: isinstance(ed.app.screen, RequestScreen), "the request")
    note()
    await ed.press("escape", "w", "j", "w", "i")
    await ed.until(lambda: isinstance(ed.app.screen, PreviewDialog), "the inputs of a preview")
    note()
    await ed.press("ctrl+s")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen), "the prompt again")
    ed.app.push_screen(SubjectDialog(()))  # the writer's prompt is about no fragment
    await ed.until(lambda: isinstance(ed.app.screen, SubjectDialog))
    note()
    await ed.press("escape")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen), "the prompt again")
    await ed.press("J", "K", "Y", "y", "slash", *"the", "enter", "n", "N", "b")
    note()
    while ed.app.screen is not ed.desk:
        await ed.press("escape")
    await ed.press("L")
    await ed.until(lambda: isinstance(ed.app.screen, RunsScreen), "the past runs")
    note()
    await ed.press("u")
    await ed.until(lambda: isinstance(ed.app.screen, UsageDialog), "the usage")
    note()
    while ed.app.screen is not ed.desk:
        await ed.press("escape")
    await ed.press("g")
    await ed.until(lambda: isinstance(ed.app.screen, PassageScreen), "the generate screen")
    note()
    await ed.press("ctrl+o")
    await ed.until(lambda: not isinstance(ed.app.screen, PassageScreen), "the providers")
    note()
    while ed.app.screen is not ed.desk:
        await ed.press("escape")
    note()
    await open_agent(ed, "librarian.chat")
    await ed.until(lambda: isinstance(ed.app.screen, ChatScreen) and ed.app.screen._model, "the conversation")
    note()
    await ed.press("ctrl+o")
    await ed.until(lambda: isinstance(ed.app.screen, ConversationsDialog), "the conversations")
    note()
    while ed.app.screen is not ed.desk:
        await ed.press("escape")
    for agent in ("librarian.analyze", "librarian.prose-transform"):
        await open_agent(ed, agent)
        await ed.until(lambda: isinstance(ed.app.screen, AgentRunScreen) and ed.app.screen._with, agent)
        note()
        await ed.press("f6", "f8", "f6", "ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog), "the providers")
        while ed.app.screen is not ed.desk:
            await ed.press("escape")


async def test_looking_changes_nothing(editor: Open, tmp_path: Path) -> None:
    data = tmp_path / "library"
    stories = make_library(data)
    write_providers(tmp_path / "config")
    before = state_of(data)
    seen: set[type] = set()
    async with editor(folder=data, watch=True, ready=False) as ed:
        await ed.until(lambda: ed.app.desk is not None and ed.desk.session is not None, "a session")
        for story in stories:
            for branch in ed.workspace.story(story).branches().ids:
                await go(ed, story, branch)
            if story == GENERATED:
                await look_around(ed, seen)
            else:
                await glance(ed)
    unseen = screens() - seen - OF_RUNS - OF_ANSWERS
    assert not unseen, f"not looked at: {unseen}"
    assert state_of(data) == before
