"""The editor read out by a screen reader: words, one pane, one line that says what happens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tests.tui.walk import every_screen
from tui.screen_reader import SpokenLine
from tui.terminal import profile

READER = replace(profile({"TERM": "xterm-256color"}), screen_reader=True)
SIGNS = set("✓✗◆◇›●≡▌·−→↕~±") | {chr(code) for code in range(0x2500, 0x2600)}
"""Box drawing, block elements, geometric shapes and the marks of the lists."""


def spoken(ed: Editor) -> str:
    return str(ed.app.screen.query_one(SpokenLine).visual).strip()


def at_cursor(ed: Editor) -> str:
    """What the terminal's cursor stands on, to the end of the line."""
    return ed.lines()[ed.app.cursor_position.y][ed.app.cursor_position.x :]


async def says(ed: Editor, text: str) -> None:
    await ed.until(lambda: ed.app.screen.query(SpokenLine) and text in spoken(ed), text)


@pytest.mark.parametrize("size", [(80, 24)])
async def test_no_screen_has_frames_bars_or_signs(editor: Open, size: tuple[int, int]) -> None:
    async with editor(size=size, profile=READER) as ed:
        faults = {}
        async for name in every_screen(ed):
            await ed.pilot.pause()
            drawn = "".join(ed.lines())
            if found := SIGNS & set(drawn):
                faults[name] = "".join(sorted(found))
            assert ed.lines()[-1].strip(), f"{name}: the last line says nothing"
        assert not faults, faults


async def test_one_pane_at_a_time(editor: Open) -> None:
    async with editor(size=(200, 60), profile=READER) as ed:
        for key, pane in (("1", "agents"), ("2", "blocks"), ("3", "inspector")):
            await ed.press("escape", key)
            await ed.pilot.pause()
            shown = {name for name in ("agents", "blocks", "inspector") if ed.desk.query_one(f"#{name}").region}
            assert shown == {pane}


async def test_the_list_is_said_and_the_cursor_stands_on_its_row(editor: Open) -> None:
    async with editor(size=(80, 24), profile=READER) as ed:
        await ed.goto("cb-stylea")
        await says(ed, "House style, your text, system,")
        number = [row.key for row in ed.blocks.rows].index("cb-stylea") + 1
        assert spoken(ed).startswith(f"block {number} of {len(ed.blocks.rows)}: House style")
        await ed.until(lambda: "House style, your text, system" in ed.lines()[ed.app.cursor_position.y], "the cursor")
        await ed.press("space")
        await says(ed, "House style, off, ")
        await ed.press("space", "m")
        await says(ed, "carrying House style")
        await ed.press("escape", "slash")
        await says(ed, "field: name")
        await ed.type("zzz")
        await ed.press("enter")
        await says(ed, "nothing matches")


async def test_moving_draws_no_row(editor: Open) -> None:
    async with editor(size=(80, 24), profile=READER) as ed:
        before = [ed.blocks.render_line(y) for y in range(ed.blocks.size.height)]
        await ed.press("j", "j")
        assert [ed.blocks.render_line(y) for y in range(ed.blocks.size.height)] == before


async def test_messages_are_said_and_nothing_pops_up(editor: Open) -> None:
    async with editor(size=(80, 24), profile=READER) as ed:
        await ed.press("ctrl+s")
        await says(ed, "saved")
        ed.app.notify("the disk is full", title="Careful", severity="error")
        await says(ed, "Careful: the disk is full")
        assert not ed.toasts and not ed.app.screen.query("Toast")
        await ed.press("j")
        await says(ed, "block 2 of")


async def test_what_an_action_did_is_said_before_the_row_it_leads_to(editor: Open) -> None:
    async with editor(size=(80, 24), profile=READER) as ed:
        await ed.goto("cb-stylea")
        for key, result in (("D", "duplicated House style"), ("u", "undone: duplicated House style")):
            await ed.press(key)
            await says(ed, f"{result}. block ")
            await ed.listed()
            assert spoken(ed).startswith(f"{result}. block "), "also once the scripts have run"
        await ed.press("j")
        await ed.until(lambda: spoken(ed).startswith("block "), "the row alone")


async def test_dialogs_and_fields_are_said_with_their_labels(editor: Open) -> None:
    async with editor(size=(80, 24), profile=READER) as ed:
        await ed.press("a")
        await says(ed, "field: Name")
        await ed.press("tab")
        await says(ed, "Role: the message it becomes part of: system, choice 1 of 2")
        await ed.until(lambda: at_cursor(ed).startswith("[system]"), "the cursor on the choice")
        await ed.press("escape", "s")
        await says(ed, "Story and branch. 2 of")
        await ed.until(lambda: "main" in ed.lines()[ed.app.cursor_position.y], "the cursor on the branch")
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.goto("cb-stylea")
        await ed.press("e")
        await ed.until(lambda: ed.inspector.typing)
        await ed.press("less_than_sign", "at", "i")
        await says(ed, "tab takes")
        assert "1 of " in spoken(ed) and not SIGNS & set("".join(ed.lines())), "no signs in the list"
        await ed.press("escape")
        await ed.until(lambda: "tab takes" not in spoken(ed))


async def test_the_prompt_is_read_line_by_line_and_turned_by_pages(editor: Open) -> None:
    async with editor(size=(80, 12), profile=READER) as ed:
        await ed.press("p")
        await ed.until(lambda: ed.focus == "prompt")
        await says(ed, "block 1 of")
        view = ed.app.screen.view
        tops = []
        for _ in range(2 * view.size.height):
            before = view.scroll_offset.y + view.caret.y
            await ed.press("j")
            assert view.scroll_offset.y + view.caret.y == before + 1
            tops.append(view.scroll_offset.y)
        assert len(set(tops)) == 3, "it scrolls by pages"
        await ed.press("k", "k")
        assert view.scroll_offset.y + view.caret.y == len(tops) - 2


async def test_a_setting_and_a_tool_are_said(editor: Open) -> None:
    async with editor(size=(80, 24), profile=READER) as ed:
        await ed.press("M")
        await says(ed, "Provider: rehearsal")
        await ed.press("down", "down")
        await says(ed, "Temperature: not set")
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.press("t")
        await says(ed, "1 of 6: readFragments, on.")
        await ed.press("space")
        await says(ed, "readFragments, off.")


async def test_an_effect_and_a_reason_are_said(editor: Open) -> None:
    async with editor(size=(80, 24), profile=READER) as ed:
        await ed.goto("story-info")
        await ed.press("space", "d")
        await says(ed, "blocks as they were")
        await ed.press("J")
        await says(ed, "removed: story-info, user, 19 tokens")
        assert ed.shows("removed: # The Quay")
        await ed.press("z")
        await says(ed, "story-info, user, 19 tokens, folded")
        await ed.press("escape", "p")
        await says(ed, "block 1 of")
        await ed.press("w")
        await says(ed, "the line that names its block")
        await ed.press("j")
        await says(ed, "the fixed text generation.system")
        await ed.until(lambda: ed.lines()[ed.app.cursor_position.y].startswith("You are the writer"), "the cursor")
