from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from engine.blocks.block import ContextBlock
from engine.blocks.compile import Message, compile_blocks
from tui.themes import ThemedApp
from tui.widgets import text_view
from tui.widgets.prompt_view import PromptView
from tui.widgets.text_view import TAB_WIDTH, draw_row, wrap_rows

CORPUS = "ab Z9.,—é你好한👩‍👩‍👧⚗️🇫🇷👍🏽é\t\x1b\x07\x9b\u202e\u2028\u200b\xad\r\ud800"


def rows_of(text: str, width: int) -> list[str]:
    starts = [*wrap_rows(text, 0, len(text), width), len(text)]
    return [text[a:b] for a, b in pairwise(starts)]


@given(st.text(st.sampled_from(CORPUS + "    \n"), max_size=80), st.integers(TAB_WIDTH, 20))
def test_rows_are_the_text_and_fit(text: str, width: int) -> None:
    rows = rows_of(text, width)
    assert "".join(rows) == text
    for row in rows:
        assert "\n" not in row[:-1]
        drawn = draw_row(row)
        assert cell_len(drawn.rstrip(" ")) <= width
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in drawn)


@given(st.text(st.sampled_from(CORPUS + "   \n"), min_size=1, max_size=60), st.integers(1, 60), st.integers(2, 12))
def test_rows_before_the_last_stay_when_text_is_appended(text: str, cut: int, width: int) -> None:
    before = list(wrap_rows(text[:cut], 0, len(text[:cut]), width))
    assert list(wrap_rows(text, 0, len(text), width))[: len(before)] == before


@given(st.text(st.sampled_from(CORPUS + "   \n"), max_size=60), st.integers(2, 12))
def test_plain_and_measured_rows_break_alike(text: str, width: int) -> None:
    plain = "".join(char for char in text if char.isascii() and char.isprintable())
    at, rows = 0, []
    while at < len(plain):
        start, at = at, text_view._cell_break(plain, at, len(plain), width)
        rows.append(plain[start:at])
    assert rows_of(plain, width) == (rows or [""])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("the quick brown fox", ["the quick ", "brown fox"]),
        ("0123456789", ["0123456789"]),
        ("0123456789 a", ["0123456789 ", "a"]),
        ("0123456789ab", ["0123456789", "ab"]),
        ("a 0123456789ab", ["a ", "0123456789", "ab"]),
        ("    0123456789", ["    012345", "6789"]),
        ("one\n\ntwo\n", ["one\n", "\n", "two\n"]),
        ("你好世界你好世界", ["你好世界你", "好世界"]),
        ("a你好世界你好", ["a你好世界", "你好"]),
        ("\tab\tcdefgh", ["\tab\t", "cdefgh"]),
        ("", [""]),
    ],
)
def test_where_rows_break(text: str, rows: list[str]) -> None:
    assert rows_of(text, 10) == rows


BLOCKS = [
    ContextBlock("instructions", "system", "You write.\nCarefully.", 1),
    ContextBlock("tools", "system", "call(tool) " * 30, 2),
    ContextBlock("style", "system", "Short \x1b[31mwords.", 3, "custom", "My [/] style"),
    ContextBlock("prose", "user", "\n".join(f"paragraph {n} of the story" for n in range(60)), 1),
    ContextBlock("style", "user", "again", 2),
    ContextBlock("last", "user", "The End", 3),
]
MESSAGES = compile_blocks(BLOCKS)


class PromptApp(ThemedApp[None]):
    def __init__(self) -> None:
        super().__init__()
        self.view = PromptView()
        self.at: list[str | None] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_prompt_view_block_changed(self, event: PromptView.BlockChanged) -> None:
        self.at.append(None if event.block is None else event.block.id)


@asynccontextmanager
async def viewing(
    messages: tuple[Message, ...] = MESSAGES, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[PromptView, PromptApp, Pilot[None]]]:
    app = PromptApp()
    async with app.run_test(size=size) as pilot:
        app.view.focus()
        app.view.show(messages, len)
        await pilot.pause()
        yield app.view, app, pilot


def screen_rows(app: App[None]) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


async def all_rows(view: PromptView, pilot: Pilot[None]) -> list[str]:
    """Every row of the view from top to bottom, without the scroll bar."""
    view.action_scroll_bottom()
    await pilot.pause()
    view.action_scroll_top()
    rows = []
    for y in range(view.virtual_size.height):
        view.set_scroll(0, y)
        rows.append(view.render_line(0).text)
    view.set_scroll(0, 0)
    return rows


async def test_the_rows_are_exactly_the_messages() -> None:
    async with viewing() as (view, _app, pilot):
        rows = await all_rows(view, pilot)
        headings = [index for index, row in enumerate(rows) if row.startswith("── ")]
        assert len(headings) == 2
        gutter = rows[headings[0] + 1].index("▌") + 2
        texts = [rows[headings[0] + 1 : headings[1]], rows[headings[1] + 1 :]]
        for message, drawn in zip(MESSAGES, texts, strict=True):
            # Spaces may hang over the edge of a row; all else is there, in order.
            shown = "".join(row[gutter:] for row in drawn).replace(" ", "")
            assert shown == draw_row(message.content.replace("\n", "")).replace(" ", "")
        assert view.text == "\n\n".join(message.content for message in MESSAGES)


async def test_blocks_stand_in_the_gutter() -> None:
    async with viewing() as (_view, app, _pilot):
        rows = screen_rows(app)
        assert rows[0].startswith("── SYSTEM · ")
        assert rows[1].startswith("instructions")
        assert "▌ [@block=instructions]" in rows[1]
        assert rows[2].split("▌ ")[1].startswith("You write.")
        styled = next(row for row in rows if row.startswith("My [/] style"))
        assert "[@block=my-style src=style]" in styled
        assert any("▌ Short ␛[31mwords." in row for row in rows)


async def test_blocks_for_a_jump_list() -> None:
    async with viewing() as (view, _app, _pilot):
        assert [(block.id, block.name, block.role) for block in view.blocks] == [
            ("instructions", "instructions", "system"),
            ("tools", "tools", "system"),
            ("style", "My [/] style", "system"),
            ("prose", "prose", "user"),
            ("style#2", "style", "user"),
            ("last", "last", "user"),
        ]
        lines = "\n".join(message.content for message in MESSAGES).split("\n")
        for block in view.blocks:
            assert lines[block.line - 1].startswith("[@block=")
        assert view.blocks[0].tokens == len("[@block=instructions]\nYou write.\nCarefully.")
        assert view.text_of("prose") == BLOCKS[3].content
        assert view.text_of("style#2") == "again"
        assert view.text_of("none") == ""


async def test_tokens_from_a_mapping() -> None:
    async with viewing() as (view, app, pilot):
        view.show(MESSAGES, {"instructions": 1234, "style": 7, "style#2": 8})
        await pilot.pause()
        assert [block.tokens for block in view.blocks] == [1234, 0, 7, 0, 8, 0]
        assert " 1.2k ▌" in screen_rows(app)[1]
        assert "1,241 tokens" in screen_rows(app)[0]


async def test_going_from_block_to_block() -> None:
    async with viewing() as (view, app, pilot):
        visited = [view.current_block.id if view.current_block else None]
        while view.next_block():
            await pilot.pause()
            assert view.current_block is not None
            visited.append(view.current_block.id)
        assert visited == [block.id for block in view.blocks]
        assert app.at[-1] == "last"
        back = []
        while block := view.previous_block():
            await pilot.pause()
            back.append(block.id)
        assert back == visited[-2::-1]
        assert view.goto_block("prose")
        await pilot.pause()
        assert screen_rows(app)[0].startswith("── USER")
        assert screen_rows(app)[1].startswith("prose")
        await pilot.press("down", "down", "down", "down")
        assert view.current_block is not None and view.current_block.id == "prose"
        view.previous_block()
        await pilot.pause()
        assert screen_rows(app)[1].startswith("prose")
        assert not view.goto_block("none")


async def test_scrolling_tells_which_block_is_on_top() -> None:
    async with viewing() as (view, app, pilot):
        await pilot.press("end")
        await pilot.pause()
        assert "The End" in screen_rows(app)[-1]
        assert app.at[0] == "instructions"
        assert app.at[-1] == "prose"
        await pilot.press("home")
        await pilot.pause()
        assert app.at[-1] == "instructions"
        assert view.scroll_offset.y == 0


async def test_search_wraps_round_and_shows_each_match() -> None:
    async with viewing() as (view, app, pilot):
        assert view.search("PARAGRAPH 5") == 11
        assert view.match_number == 0
        for number in [*range(1, 12), 1]:
            assert view.next_match() == number
            await pilot.pause()
            assert any("paragraph 5" in row for row in screen_rows(app))
        assert view.previous_match() == 11
        await pilot.pause()
        assert any("paragraph 59" in row for row in screen_rows(app))
        assert view.search("nowhere") == 0
        assert view.next_match() == 0
        assert view.search("") == 0


async def test_search_starts_from_what_is_in_sight() -> None:
    async with viewing() as (view, _app, pilot):
        view.goto_block("last")
        await pilot.pause()
        view.search("block=")
        top = view.previous_match()
        assert top < view.match_count
        view.search("the end")
        assert view.next_match() == 1


async def test_matches_are_highlighted_across_rows() -> None:
    text = "word " * 40 + "needle in\ta hay stack " + "word " * 40
    async with viewing((Message("user", text, ()),), (60, 20)) as (view, app, pilot):
        needle = "needle in\ta hay stack"
        assert view.search(needle) == 1
        await pilot.pause()
        found = view.get_component_rich_style("prompt-view--match").bgcolor
        lit = "".join(
            segment.text
            for strip in app.screen._compositor.render_strips()
            for segment in strip
            if segment.style is not None and segment.style.bgcolor == found
        )
        assert lit.replace(" ", "") == needle.replace(" ", "").replace("\t", "")
        view.next_match()
        await pilot.pause()
        assert any(
            segment.style is not None and segment.style.reverse
            for strip in app.screen._compositor.render_strips()
            for segment in strip
        )


async def test_the_place_is_kept_when_the_prompt_changes_or_the_width() -> None:
    async with viewing() as (view, app, pilot):
        view.search("paragraph 30")
        view.next_match()
        await pilot.pause()
        top = screen_rows(app)[0]
        longer = [ContextBlock("new", "user", "new\n" * 30, 0), *BLOCKS]
        view.show(compile_blocks(longer), len)
        await pilot.pause()
        assert screen_rows(app)[0] == top
        await pilot.resize_terminal(50, 24)
        await pilot.pause()
        assert screen_rows(app)[0].strip(" ▌▁▂▃▄▅▆▇█").endswith(top.split("▌ ")[1].strip(" ▌▁▂▃▄▅▆▇█"))


@pytest.mark.parametrize("size", [(200, 60), (80, 24), (40, 10), (12, 4), (3, 2), (1, 1)])
async def test_every_row_is_as_wide_as_the_view(size: tuple[int, int]) -> None:
    blocks = [*BLOCKS, ContextBlock("corpus", "user", (CORPUS + " ") * 20, 0)]
    async with viewing(compile_blocks(blocks), size) as (view, _app, pilot):
        await pilot.press("end", "pageup", "home", "j", "k", "G", "g")
        for y in range(view.size.height):
            strip = view.render_line(y)
            assert strip.cell_length == view.size.width
            assert sum(segment.cell_length for segment in strip) == view.size.width


async def test_a_long_prompt_is_wrapped_bit_by_bit() -> None:
    blocks = [
        ContextBlock(f"b{n}", "user", "\n".join("some words of a story " * 20 for _ in range(40)), n) for n in range(60)
    ]
    messages = compile_blocks(blocks)
    app = PromptApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        app.view.show(messages, len)
        assert len(app.view._rows.starts) < 200
        estimate = app.view._rows.height
        for _ in range(200):
            await pilot.pause(0.01)
            if app.view._rows.complete:
                break
        assert app.view._rows.complete
        assert app.view.virtual_size.height == len(app.view._rows.starts)
        assert 0.7 < estimate / len(app.view._rows.starts) < 1.4
        app.view.show(messages, len)
        app.view.goto_block("b59")
        await pilot.pause()
        assert any("b59" in row for row in screen_rows(app))


async def test_a_prompt_that_came_before_the_widget_was_shown() -> None:
    app = PromptApp()
    app.view.show(MESSAGES, len)
    assert app.view.search("paragraph") == 60
    assert app.view.goto_block("prose")
    assert app.view.current_block == app.view.blocks[3]
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert screen_rows(app)[1].startswith("prose")
        assert app.at == ["instructions", "prose"]
        assert app.view.next_match() == 1


async def test_nothing_to_show() -> None:
    async with viewing(()) as (view, app, pilot):
        assert view.blocks == []
        assert view.current_block is None
        assert view.next_block() is None
        assert view.previous_block() is None
        assert view.search("a") == 0
        assert view.text == ""
        await pilot.press("end", "pagedown")
        view.show((Message("system", "", ()), Message("user", "ends with a break\n", ())), len)
        await pilot.pause()
        assert [row.split("▌ ")[-1].strip() for row in screen_rows(app)[1:5:2]] == ["", "ends with a break"]
