"""Several blocks marked and edited together: what is on the screen and in the file, by keys and by mouse."""

from __future__ import annotations

import json

from textual.geometry import Offset

from tests.stories import custom_block
from tests.tui.app.test_editing import DEFAULT_ORDER, keys_of, save
from tests.tui.app.test_mouse import place
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.choice import ChoiceDialog


def marks(ed: Editor) -> list[str]:
    """The names of the lines that show a mark."""
    lines = [ed.blocks.render_line(y).text for y in range(ed.blocks.size.height)]
    return [line[5:].split("  ")[0].strip() for line in lines if line[1:2] == "*"]


async def mark(ed: Editor, *keys: str) -> None:
    for key in keys:
        await ed.goto(key)
        await ed.press("v")


async def test_marks_are_shown_counted_and_taken_away(editor: Open) -> None:
    async with editor() as ed:
        await mark(ed, "tools", "story-info")
        assert marks(ed) == ["tools", "story-info"] and ed.shows("2 marked")
        await ed.press("v")
        assert marks(ed) == ["tools"] and ed.shows("1 marked")
        await ed.press("escape")
        assert marks(ed) == [] and not ed.shows("marked") and ed.focus == "blocks"
        assert ed.session.document.undo_label is None


async def test_a_range_goes_from_the_last_mark_to_the_cursor_and_back(editor: Open) -> None:
    async with editor() as ed:
        await mark(ed, "instructions", "system-fragments")
        await ed.press("j", "j", "V")
        assert marks(ed) == ["instructions", "system-fragments", "House style", "story-info"]
        await ed.press("k", "V")
        assert marks(ed) == ["instructions", "system-fragments", "House style"], "it ends at the cursor"
        await ed.press("shift+down", "shift+down")
        assert marks(ed)[-1] == "user-fragments" and ed.blocks.key == "user-fragments"
        await ed.press("shift+up", "shift+up", "shift+up", "shift+up")
        assert marks(ed) == ["instructions", "tools", "system-fragments"]
        await ed.press("escape", "end", "shift+up")
        assert marks(ed) == ["Section count", "author-input"], "without a mark it begins at the cursor"


async def test_all_that_are_shown_are_marked(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("slash", *"fragment", "enter", "asterisk")
        assert {row.key for row in ed.desk.marked} == {row.key for row in ed.blocks.shown}
        assert ed.shows(f"{len(ed.desk.marked)} shown") and ed.shows(f"{len(ed.desk.marked)} marked")
        await ed.press("escape")
        assert ed.blocks.marked == frozenset() and ed.blocks.filter == "fragment", "marks first"
        await ed.press("escape")
        assert ed.blocks.filter == ""
        await ed.press("asterisk")
        assert len(ed.blocks.marked) == len(DEFAULT_ORDER)
        await ed.press("asterisk")
        assert not ed.blocks.marked


async def test_switching_is_one_step(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("tools")
        await ed.press("space")
        await mark(ed, "tools", "story-info", "cb-counta")
        await ed.press("space")
        assert all("✗" in ed.line_of(name) for name in ("tools", "story-info", "Section count")), "off if any is on"
        await ed.press("space")
        assert all("✓" in ed.line_of(name) for name in ("tools", "story-info", "Section count"))
        await ed.press("space")
        await save(ed)
        assert ed.config()["overrides"]["story-info"] == ed.config()["overrides"]["cb-counta"] == {"enabled": False}
        await ed.press("u", "u", "u", "u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_moving_keeps_their_order_in_each_role(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await mark(ed, "tools", "story-info", "fragment-recent")
        await ed.press("J")
        order = ["instructions", "system-fragments", "tools", "cb-stylea",
                 "user-fragments", "story-info", "fragment-catalog", "fragment-recent"]  # fmt: skip
        assert keys_of(ed)[:8] == order
        await save(ed)
        assert [key for key in ed.config()["blockOrder"] if key in order] == order
        await ed.press("K", "K", "K")
        assert keys_of(ed)[:6] == ["tools", "instructions", *DEFAULT_ORDER[2:4], "story-info", "fragment-recent"]
        await ed.press("K")
        assert "end of their roles" in ed.said
        await ed.press("u", "u", "u", "u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_carrying_all_that_are_marked(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await mark(ed, "story-info", "user-fragments")
        await ed.press("m", "j", "j")
        assert keys_of(ed)[4:8] == ["fragment-recent", "fragment-catalog", "story-info", "user-fragments"]
        assert ed.session.document.undo_label is None and marks(ed) == ["story-info", "user-fragments"]
        await ed.press("escape")
        assert keys_of(ed) == DEFAULT_ORDER and len(ed.blocks.marked) == 2, "put back, and still marked"
        await ed.press("m", "j", "enter")
        await save(ed)
        assert ed.config()["blockOrder"][4:7] == ["fragment-recent", "story-info", "user-fragments"]
        await ed.press("u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_blocks_that_the_filter_hides_are_told_to_be_in_the_way(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("slash")
        await ed.type("is:custom")
        await ed.press("enter", "asterisk", "J")
        assert "hidden blocks stand in the way" in ed.said and keys_of(ed) == DEFAULT_ORDER
        await ed.press("escape", "escape")
        await mark(ed, DEFAULT_ORDER[-1])
        await ed.press("J")
        assert "end of their roles" in ed.said


async def test_carrying_that_moves_nothing_is_over(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("end", "m", "j", "j", "enter")
        assert "stands where it stood" in ed.said and ed.desk.carry is None
        await ed.press("home", "m", "j", "j", "enter")
        assert ed.said and "carrying" not in ed.said


async def test_deleting_names_what_can_not_be_deleted(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await mark(ed, "tools", "cb-stylea", "cb-counta")
        await ed.press("X")
        assert "deleted 2 blocks" in ed.said and "tools" in ed.said
        assert keys_of(ed) == [key for key in DEFAULT_ORDER if not key.startswith("cb-")]
        assert ed.blocks.marked == {"tools"}, "marks go with their blocks"
        await ed.press("X")
        assert "can't be deleted" in ed.said and "tools" in ed.said
        await ed.press("u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_duplicating_and_resetting(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await mark(ed, "instructions", "cb-stylea")
        await ed.press("D")
        names = [row.name for row in ed.blocks.rows]
        assert names[:2] == ["instructions", "instructions copy"] and names[4:6] == ["House style", "House style copy"]
        assert ed.blocks.current is not None and ed.blocks.current.name == "instructions copy"
        await ed.press("R")
        assert isinstance(ed.app.screen, ChoiceDialog) and ed.shows("the 2 marked blocks")
        await ed.press("b")
        assert ed.session.row("instructions").mode is None
        await ed.press("u", "u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_modes(editor: Open) -> None:
    async with editor() as ed:
        await mark(ed, "instructions", "tools")
        await ed.press("b")
        assert "for one block" in ed.said and ed.session.row("tools").mode is None
        await ed.press("n")
        assert ed.session.row("instructions").mode is None
        assert ed.session.text("instructions") == "Keep the tide tables right."
        await ed.press("n")
        assert "no marked block has a content mode" in ed.said


async def test_the_mouse_marks_and_drags_all_that_are_marked(editor: Open) -> None:
    async with editor() as ed:
        for key, x, control in (("user-fragments", 1, False), ("fragment-recent", 8, True)):
            at = place(ed, key, x)
            await ed.pilot.click(offset=(at.x, at.y), control=control)
        assert ed.blocks.marked == {"user-fragments", "fragment-recent"} and ed.blocks.key == "fragment-recent"
        start, end = place(ed, "user-fragments"), place(ed, "summary")
        await ed.pilot.mouse_down(offset=(start.x, start.y))
        for y in range(start.y, end.y + 1):
            await ed.pilot.hover(offset=Offset(start.x, y))
        await ed.pilot.mouse_up(offset=(end.x, end.y))
        await ed.until(
            lambda: (
                keys_of(ed)[4:9] == ["story-info", "fragment-catalog", "summary", "user-fragments", "fragment-recent"]
            )
        )
        at = place(ed, "user-fragments", 0)
        await ed.pilot.click(offset=(at.x, at.y))
        assert ed.blocks.marked == {"fragment-recent"}
        await ed.press("u")
        assert keys_of(ed) == DEFAULT_ORDER


async def test_marks_stay_with_their_blocks_when_another_program_writes(editor: Open) -> None:
    async with editor(watch=True) as ed:
        await mark(ed, "cb-stylea", "cb-counta")
        config = ed.config()
        config["customBlocks"] = [
            custom_block("cb-newaaa", "x", role="system", name="New", order=1),
            config["customBlocks"][1],
        ]
        ed.file().write_text(json.dumps(config), "utf-8")
        await ed.until(lambda: "cb-newaaa" in keys_of(ed))
        await ed.until(lambda: ed.blocks.marked == {"cb-counta"} and ed.shows("1 marked"))


async def test_another_agent_has_no_marks(editor: Open) -> None:
    async with editor() as ed:
        await mark(ed, "instructions")
        await ed.press("1", "j", "enter")
        await ed.until(lambda: ed.session.agent != "generation.writer" and ed.session.rows)
        assert not ed.blocks.marked and not ed.shows("marked")
