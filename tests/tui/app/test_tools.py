"""The tools dialog: what is on and off, what switching writes, and what it changes in the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import OptionList

from tests.stories import make_story
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.tools import ToolsDialog

WRITER = "generation.writer"
ANALYZE = "librarian.analyze"
NO_TOOLS = "librarian.prose-transform"


async def opened(ed: Editor) -> None:
    await ed.press("t")
    await ed.until(lambda: isinstance(ed.app.screen, ToolsDialog) and ed.shows("Tools ·"), "the dialog")
    await ed.pilot.pause()  # a click is where things are once they are laid out


def lines(ed: Editor) -> list[str]:
    options = ed.app.screen.query_one(OptionList)
    return [str(options.get_option_at_index(i).prompt).split("\n")[0] for i in range(options.option_count)]


async def go(ed: Editor, agent: str) -> None:
    ed.desk.begin(lambda: ed.desk.open_story("the-quay", None, agent), "open", exclusive=True)
    await ed.until(lambda: ed.session.agent == agent, agent)
    await ed.listed()


async def test_tools_are_listed_with_what_they_are_for(editor: Open) -> None:
    async with editor() as ed:
        tools = ed.workspace.agent(WRITER).tools
        await opened(ed)
        assert ed.shows("change with it."), "the first line is whole"
        assert ed.shows(f"{len(tools)} of {len(tools)} on")
        assert lines(ed) == [f"✓ {tool}" for tool in tools]
        for tool, text in ed.workspace.tool_descriptions(tools).items():
            assert text and tool in ed.grid() and text[:30] in ed.grid()


async def test_switching_saves_and_changes_the_list(editor: Open) -> None:
    async with editor() as ed:
        tools = ed.workspace.agent(WRITER).tools
        before = next(row for row in ed.blocks.rows if row.id == "tools")
        await opened(ed)
        await ed.press("j", "space")
        await ed.until(lambda: ed.shows(f"{len(tools) - 1} of {len(tools)} on"))
        assert lines(ed)[1] == f"✗ {tools[1]} off"
        await ed.until(lambda: ed.config().get("disabledTools") == [tools[1]], "the file")
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.until(lambda: tools[1] not in (ed.session.row("tools").content or tools[1]), "the block")
        assert (ed.session.row("tools").tokens or 0) < (before.tokens or 0)
        assert ed.workspace.prompt("the-quay").tools == tuple(tool for tool in tools if tool != tools[1])


async def test_undo_here_and_in_the_editor(editor: Open) -> None:
    async with editor() as ed:
        tools = ed.workspace.agent(WRITER).tools
        await opened(ed)
        await ed.press("enter", "j", "enter")
        assert lines(ed)[:2] == [f"✗ {tools[0]} off", f"✗ {tools[1]} off"]
        await ed.press("u")
        assert lines(ed)[:2] == [f"✗ {tools[0]} off", f"✓ {tools[1]}"]
        await ed.press("ctrl+r")
        assert lines(ed)[1] == f"✗ {tools[1]} off"
        await ed.press("escape", "u", "u")
        await ed.saved()
        assert ed.config()["disabledTools"] == []
        await opened(ed)
        assert lines(ed)[:2] == [f"✓ {tools[0]}", f"✓ {tools[1]}"]


async def test_older_names_are_shown_as_what_they_are_now(editor: Open, data: Path) -> None:
    file = data / "stories" / "the-quay" / "branches" / "main" / "agent-blocks" / f"{WRITER}.json"
    document = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(document | {"disabledTools": ["getFragment", "castSpell"]}), "utf-8")
    async with editor() as ed:
        await opened(ed)
        assert "✗ readFragments off" in lines(ed) and "✗ castSpell off" in lines(ed)
        text = "".join(str(option.prompt) for option in ed.app.screen.query_one(OptionList).options)
        assert "The config calls it getFragment" in text and "not a tool of this agent" in text
        await ed.press("home", "space")
        await ed.until(lambda: "✓ readFragments" in lines(ed))
        await ed.saved()
        assert ed.config()["disabledTools"] == ["castSpell"]


async def test_the_analysis_after_a_save(editor: Open) -> None:
    async with editor() as ed:
        await go(ed, ANALYZE)
        await opened(ed)
        assert lines(ed)[0] == "✓ Analysis after every save"
        await ed.press("space")
        assert lines(ed)[0] == "✗ Analysis after every save off"
        await ed.until(lambda: ed.config(ANALYZE).get("disableAutoAnalysis") is True)
        await ed.press("space")
        await ed.until(lambda: ed.config(ANALYZE).get("disableAutoAnalysis") is False)
        await ed.press("escape")
        await go(ed, WRITER)
        await opened(ed)
        assert not ed.shows("Analysis after every save")


async def test_an_agent_without_tools_says_so(editor: Open) -> None:
    async with editor() as ed:
        agent = next((item.name for item in ed.workspace.definitions() if not item.tools), NO_TOOLS)
        await go(ed, agent)
        await opened(ed)
        assert ed.shows("has no tools") and lines(ed) == []
        await ed.press("space", "enter", "j", "escape")
        await ed.until(lambda: ed.app.screen is ed.desk)


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_the_mouse_switches(editor: Open, size: tuple[int, int]) -> None:
    async with editor(size=size) as ed:
        tools = ed.workspace.agent(WRITER).tools
        await opened(ed)
        await ed.pilot.click("#tools", offset=(4, 0))
        await ed.until(lambda: lines(ed)[0] == f"✗ {tools[0]} off")


async def test_a_config_that_is_invalid_is_left_alone(editor: Open, data: Path) -> None:
    story = make_story(data, "broken", name="Broken", configs={WRITER: {"customBlocks": 7}})
    file = story / "branches" / "main" / "agent-blocks" / f"{WRITER}.json"
    before = file.read_bytes()
    async with editor() as ed:
        ed.desk.begin(lambda: ed.desk.open_story("broken", None, WRITER), "open", exclusive=True)
        await ed.until(lambda: ed.session.story == "broken")
        await ed.listed()
        await opened(ed)
        await ed.press("space")
        assert lines(ed)[0].startswith("✓")
        assert file.read_bytes() == before
