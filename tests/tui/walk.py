"""Every screen and dialog of the editor, one after the other, for tests of what holds on all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from textual.screen import ModalScreen

from engine.document.by_block import Difference
from engine.tools import Direction, Question
from engine.tools.collected import Option
from engine.workspace import RequestBody
from tests.engine.runs.test_history import write_log
from tests.tui.editor import Editor
from tui.screens.agent_run import AgentRunScreen
from tui.screens.branch_name import BranchNameDialog
from tui.screens.bundle_file import BundleFileDialog
from tui.screens.chat import ChatScreen
from tui.screens.choice import ChoiceDialog
from tui.screens.conflict import ConflictScreen
from tui.screens.conversations import ConversationsDialog, TitleDialog
from tui.screens.directions import DirectionsDialog
from tui.screens.jump import JumpDialog
from tui.screens.name import NameDialog
from tui.screens.passage import PassageScreen
from tui.screens.pick import PickDialog
from tui.screens.pin import PinDialog
from tui.screens.plan import PlanDialog
from tui.screens.preview import PreviewDialog, SubjectDialog
from tui.screens.prompt import PromptScreen
from tui.screens.properties import PropertiesDialog
from tui.screens.question import Answer, QuestionDialog
from tui.screens.report import ReportDialog
from tui.screens.request import RequestScreen
from tui.screens.target import TargetDialog


async def every_screen(ed: Editor) -> AsyncIterator[str]:
    """Brings each to the front, with a name for it; the editor is on `tests.tui.conftest.WRITER_CONFIG`."""

    async def leave() -> None:
        before = ed.app.screen
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is not before, "the way back")

    async def dialog(key: str) -> None:
        before = ed.app.screen
        await ed.press(key)
        await ed.until(lambda: ed.app.screen is not before, f"what {key} opens")
        await ed.pilot.pause()

    yield "list"
    await ed.goto("new-story")
    yield "list: absent block"
    await ed.goto("story-info")
    await ed.press("space")
    await ed.until(lambda: not ed.desk.inspector.row or not ed.desk.inspector.row.enabled)
    await ed.saved()
    yield "list: switched off"
    await ed.press("m", "j")
    yield "list: carrying"
    await ed.press("escape", "slash")
    await ed.type("story")
    yield "list: filter"
    await ed.press("escape", "1")
    yield "agents"
    await ed.press("escape")
    await ed.goto("instructions")
    await ed.press("e")
    yield "inspector: appended text"
    await ed.press("escape")
    await ed.goto("cb-counta")
    await ed.press("e")
    await ed.until(lambda: "Sections so far: 2" in ed.inspector.parts.preview.text, "the preview")
    yield "inspector: script"
    await ed.press("f3")
    await ed.until(lambda: ed.focus != "script")
    yield "inspector: fragments"
    await ed.press("f3", "escape")
    for key, name in (("a", "add"), ("R", "reset"), ("s", "story"), ("question_mark", "help"), ("ctrl+p", "palette")):
        await dialog(key)
        if key == "ctrl+p":
            await ed.until(lambda: ed.app.screen.query("CommandList.--visible"), "the entries of the palette")
        yield name
        await leave()
    for key, name in (("M", "model"), ("t", "tools"), ("B", "budget"), ("w", "why"), ("O", "order"), ("d", "compare")):
        await dialog(key)
        if key == "d":
            await ed.until(lambda: ed.app.screen.view.change_count, "the comparison")
        if key == "O":
            await ed.until(lambda: ed.app.screen.fragments.rows, "the fragments")
        yield name
        await leave()
    write_log(ed.workspace.data / "stories" / ed.session.story, "gen-walk")
    await dialog("L")
    await ed.until(lambda: ed.app.screen.run_view.sections, "a run")
    yield "runs"
    await ed.press("enter", "Z")
    yield "runs: one of them"
    await ed.press("p")
    await ed.pilot.pause()
    yield "runs: prompt"
    await ed.press("escape", "slash")
    await ed.type("storm")
    yield "runs: filter"
    await ed.press("escape")
    for key, name in (("d", "runs: compared"), ("r", "replay"), ("u", "usage")):
        await dialog(key)
        if key == "d":
            await ed.until(lambda: ed.app.screen.view.change_count, "the comparison")
        if key == "r":
            await ed.press("e")
        yield name
        await leave()
    await leave()
    await ed.press("p")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen) and ed.app.screen.view.blocks, "the prompt")
    yield "prompt"
    await ed.press("w")
    await ed.until(lambda: ed.app.screen.view.pointing, "the pointer")
    yield "prompt: why"
    await ed.press("w", "slash")
    await ed.type("quay")
    yield "prompt: search"
    await ed.press("enter", "n")
    yield "prompt: match"
    await ed.press("b")
    await ed.until(lambda: isinstance(ed.app.screen, JumpDialog))
    yield "jump"
    await leave()
    await leave()
    await ed.press("g")
    await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
    yield "generate"
    await ed.type("Rain.")
    await ed.press("ctrl+g")
    await ed.until(lambda: ed.app.screen._kept is False and not ed.app.screen.running, "the passage")
    await ed.pilot.pause(0.2)
    yield "generate: written"
    await ed.press("escape")
    await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
    yield "generate: leaving"
    await leave()
    await ed.press("ctrl+o")
    await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
    yield "provider"
    await leave()
    await ed.press("ctrl+d", "escape")
    await ed.until(lambda: ed.app.screen is ed.desk)
    await open_agent(ed, "librarian.chat")
    await ed.until(lambda: isinstance(ed.app.screen, ChatScreen) and ed.app.screen._model, "the conversation")
    yield "chat"
    await ed.type("Who?")
    await ed.press("enter")
    await ed.until(lambda: ed.app.screen._known is not None and ed.app.screen._turn is None, "the answer")
    yield "chat: answered"
    await ed.press("ctrl+o")
    await ed.until(lambda: isinstance(ed.app.screen, ConversationsDialog))
    yield "conversations"
    await leave()
    await ed.press("escape", "escape")
    await ed.until(lambda: ed.app.screen is ed.desk)
    await open_agent(ed, "librarian.prose-transform")
    await ed.until(lambda: isinstance(ed.app.screen, AgentRunScreen) and ed.app.screen._fragment, "the passage")
    yield "agent"
    await ed.press("ctrl+t")
    await ed.until(lambda: isinstance(ed.app.screen, TargetDialog))
    yield "agent: fragments"
    await leave()
    await ed.press("ctrl+g")
    await ed.until(lambda: isinstance(ed.app.screen, PlanDialog), "the change")
    await ed.pilot.pause()
    yield "agent: changes"
    await ed.press("d")
    await ed.until(lambda: isinstance(ed.app.screen, AgentRunScreen))
    yield "agent: done"


async def open_agent(ed: Editor, agent: str) -> None:
    """Open an agent of the story, and what `g` opens of it."""
    await ed.desk.open_story(ed.session.story, ed.session.branch, agent)
    await ed.until(lambda: ed.session.agent == agent and ed.session.rows, agent)
    await ed.press("g")


async def every_dialog(ed: Editor) -> AsyncIterator[str]:
    """Brings the dialogs to the front that `every_screen` passes by; the editor is on the same config.

    What they ask comes of a conflict, of models or of other programs, and is made up here.
    """
    await ed.goto("cb-stylea")
    for keys, kind in (("r", PropertiesDialog), ("x", BundleFileDialog), ("i", BundleFileDialog), ("C", TargetDialog)):
        await ed.press(keys)
        await ed.until(lambda kind=kind: isinstance(ed.app.screen, kind), kind.__name__)
        yield f"{kind.__name__} {keys}"
        await _left(ed)
    await ed.goto("story-info")
    await ed.press("r")
    await ed.until(lambda: isinstance(ed.app.screen, PinDialog), "the order of a built-in block")
    yield "PinDialog"
    await _left(ed)
    await ed.press("p")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen) and ed.app.screen.view.blocks, "the prompt")
    await ed.press("i")
    await ed.until(lambda: isinstance(ed.app.screen, PreviewDialog), "the inputs of a preview")
    yield "PreviewDialog"
    await _left(ed)
    said = [{"role": "user", "content": [{"type": "text", "text": "Go on."}]}]
    body = {"model": "m", "messages": said, "tools": [{"name": "editProse"}], "top_k": 20}
    ed.app.push_screen(RequestScreen(RequestBody("https://api.example.com/v1/chat/completions", body, "ab12", ("x",))))
    await ed.until(lambda: isinstance(ed.app.screen, RequestScreen) and ed.app.screen.focused, "the request")
    yield "RequestScreen"
    await _left(ed)
    await _left(ed)
    for dialog in _made_up():
        ed.app.push_screen(dialog)
        await ed.until(lambda dialog=dialog: ed.app.screen is dialog, type(dialog).__name__)
        yield type(dialog).__name__
        await _left(ed)


def _made_up() -> Iterator[ModalScreen[Any]]:
    texts = {"mine": "Short sentences.", "theirs": "Long ones.", "both": None}
    sides = ("both", "mine", "theirs")
    yield ConflictScreen(
        (
            Difference(("block", "cb-stylea"), "House style", ("edits its text",), ("edits its text",), sides, texts),
            Difference(("setting", "blockOrder"), "blockOrder", (), ("moves blocks",), ("mine", "theirs"), {}),
        ),
        {"cb-stylea": "House style"},
    )
    directions = (
        Direction("The berth", "Ines asks.", "Ines asks about it.", "linger"),
        Direction("Fog", "It comes.", ""),
    )
    yield DirectionsDialog(directions)
    options = (Option("Ines", "She counts."), Option("Nobody"))
    yield QuestionDialog(Question("Who sees it?", "Witness", options=options), Answer(), 1, 3, _forgotten)
    yield QuestionDialog(
        Question("Which omens?", "Omens", several=True, options=options), Answer((1,), "gulls"), 2, 3, _forgotten
    )
    yield QuestionDialog(Question("How does it end?", "End"), Answer(), 3, 3, _forgotten)
    yield BranchNameDialog("A new branch", fork=True)
    lines = [f"generation.writer: switches {name} off" for name in ("summary", "tools", "fog")] * 9
    yield ReportDialog("Import", lines, [("y", "Take over"), ("escape", "Cancel")])
    yield NameDialog("A model of Nova", ["nova-1", "nova-2"], ("nova-1", "its default"))
    yield TitleDialog("The title", "Who took it?")
    yield SubjectDialog((("pr-aaaaaa", "The lamp", "prose"), ("ch-bafego", "Ines", "character")))


def _forgotten(*_: object) -> None:
    """What is answered here is kept nowhere."""


async def _left(ed: Editor) -> None:
    """Leave the screen in front; a text or a list in it may be left first."""
    before = ed.app.screen
    while ed.app.screen is before:
        await ed.press("escape")
        await ed.pilot.pause()
