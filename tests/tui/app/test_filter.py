"""Filtering the list: what is shown, where the cursor goes, and that the order of the blocks means the same."""

from __future__ import annotations

from tests.tui.app.test_editing import DEFAULT_ORDER
from tests.tui.conftest import Open
from tests.tui.editor import Editor


def shown(ed: Editor) -> list[str]:
    return [row.key for row in ed.blocks.shown]


def underlined(ed: Editor) -> list[str]:
    strips = [ed.blocks.render_line(y) for y in range(ed.blocks.size.height)]
    return [segment.text for strip in strips for segment in strip if segment.style and segment.style.underline]


async def test_the_cursor_goes_to_the_best_match_and_the_order_stays(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("slash", "f", "r", "c")
        assert shown(ed) == ["fragment-recent", "fragment-catalog"] and ed.blocks.key == "fragment-catalog"
        assert "".join(underlined(ed)) == "frcfrc" and ed.shows("2 shown")
        await ed.press("n")
        assert shown(ed) == ["fragment-recent"] and ed.blocks.key == "fragment-recent"
        await ed.press("enter")
        assert ed.focus == "blocks" and ed.blocks.filter == "frcn" and underlined(ed)
        await ed.press("escape")
        assert shown(ed) == DEFAULT_ORDER and ed.blocks.key == "fragment-recent" and not underlined(ed)


async def test_states_and_texts(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("slash")
        await ed.type("is:custom role:user")
        assert shown(ed) == ["cb-counta"]
        await ed.press("escape", "slash")
        await ed.type("=short sent")
        assert shown(ed) == ["cb-stylea"], "in texts"
        await ed.press("escape", "slash")
        await ed.type("=ctx.prose")
        assert shown(ed) == ["cb-counta"], "in scripts"
        await ed.press("escape", "slash")
        await ed.type("=tide tables")
        assert "instructions" in shown(ed), "in overrides"
