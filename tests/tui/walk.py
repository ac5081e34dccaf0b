"""Every screen and dialog of the editor, one after the other, for tests of what holds on all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tests.engine.runs.test_history import write_log
from tests.tui.editor import Editor
from tui.screens.agent_run import AgentRunScreen
from tui.screens.chat import ChatScreen
from tui.screens.choice import ChoiceDialog
from tui.screens.conversations import ConversationsDialog
from tui.screens.jump import JumpDialog
from tui.screens.passage import PassageScreen
from tui.screens.pick import PickDialog
from tui.screens.plan import PlanDialog
from tui.screens.prompt import PromptScreen
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
    yield "agent: changes"
    await ed.press("d")
    await ed.until(lambda: isinstance(ed.app.screen, AgentRunScreen))
    yield "agent: done"


async def open_agent(ed: Editor, agent: str) -> None:
    """Open an agent of the story, and what `g` opens of it."""
    await ed.desk.open_story(ed.session.story, ed.session.branch, agent)
    await ed.until(lambda: ed.session.agent == agent and ed.session.rows, agent)
    await ed.press("g")
