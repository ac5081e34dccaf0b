"""Everything the mouse can do has a key, and does the same."""

from __future__ import annotations

from textual.events import MouseScrollDown
from textual.geometry import Offset

from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.widgets.agent_list import AgentList


def line_of(ed: Editor, key: str) -> int:
    """The line of the list's content on which a block is drawn."""
    return next(y for y in range(ed.blocks.size.height) if (row := ed.blocks.row_at(y)) and row.key == key)


def place(ed: Editor, key: str, x: int = 8) -> Offset:
    """Where a block is on the screen: `x` cells into its line."""
    region = ed.blocks.content_region
    return Offset(region.x + x, region.y + line_of(ed, key))


async def click(ed: Editor, at: Offset, times: int = 1) -> None:
    await ed.pilot.click(offset=(at.x, at.y), times=times)


async def test_a_click_selects_and_a_double_click_edits(editor: Open) -> None:
    async with editor() as ed:
        await click(ed, place(ed, "cb-stylea"))
        assert ed.blocks.key == "cb-stylea" and ed.focus == "blocks"
        await ed.until(lambda: ed.inspector.row and ed.inspector.row.key == "cb-stylea")
        await click(ed, place(ed, "cb-stylea"), times=2)
        await ed.until(lambda: ed.inspector.typing)


async def test_a_click_on_the_mark_switches(editor: Open) -> None:
    async with editor() as ed:
        await click(ed, place(ed, "story-info", 2))
        await ed.until(lambda: "✗ story-info" in ed.line_of("story-info"))
        assert ed.blocks.key == "story-info"
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.config()["overrides"]["story-info"] == {"enabled": False}


async def test_dragging_moves(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        start, end = place(ed, "story-info"), place(ed, "fragment-catalog")
        await ed.pilot.mouse_down(offset=(start.x, start.y))
        for y in range(start.y, end.y + 1):
            await ed.pilot.hover(offset=(start.x, y))
        assert ed.session.document.undo_label is None, "nothing is edited before the button is let go"
        await ed.pilot.mouse_up(offset=(end.x, end.y))
        await ed.until(lambda: [row.key for row in ed.blocks.rows][7] == "story-info")
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.config()["blockOrder"][7] == "story-info"
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.file().read_bytes() == before


async def test_the_wheel_scrolls(editor: Open) -> None:
    async with editor(size=(80, 12)) as ed:
        region = ed.blocks.content_region
        top = ed.blocks.scroll_offset.y
        await ed.pilot._post_mouse_events([MouseScrollDown], offset=(region.x + 5, region.y + 2))
        await ed.until(lambda: ed.blocks.scroll_offset.y > top)
        assert ed.blocks.key == "instructions"


async def test_the_key_bar_can_be_clicked(editor: Open) -> None:
    async with editor() as ed:
        bar = ed.lines()[-1]
        await ed.pilot.click(offset=(bar.index("/ filter") + 3, 39))
        await ed.until(lambda: ed.focus == "filter")
        await ed.press("escape")
        await ed.pilot.click(offset=(bar.index("? help"), 39))
        await ed.until(lambda: ed.shows("Block list") and ed.shows("escape closes"))


async def test_agents_and_modes_can_be_clicked(editor: Open) -> None:
    async with editor() as ed:
        region = ed.desk.query_one("#agents", AgentList).content_region
        at = next(y for y, line in enumerate(ed.lines()) if "Prewriter" in line)
        await ed.pilot.click(offset=(region.x + 5, at))
        await ed.until(lambda: ed.session.agent == "generation.prewriter" and ed.session.rows)
        at = next(y for y, line in enumerate(ed.lines()) if "Writer" in line)
        await ed.pilot.click(offset=(region.x + 5, at))
        await ed.until(lambda: ed.session.agent == "generation.writer" and ed.shows("[after]"))
        at = next(y for y, line in enumerate(ed.lines()) if "[after]" in line)
        await ed.pilot.click(offset=(ed.lines()[at].index("before"), at))
        await ed.until(lambda: "+pre" in ed.line_of("instructions"))
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.config()["overrides"]["instructions"]["contentMode"] == "prepend"
