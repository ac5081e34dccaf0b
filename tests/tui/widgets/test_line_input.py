"""A field of one line loses nothing of what is typed and pasted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tui.widgets.line_input import LineInput


class FieldApp(App[None]):
    def compose(self) -> ComposeResult:
        yield LineInput()


@asynccontextmanager
async def field(value: str = "") -> AsyncIterator[tuple[LineInput, App[None], Pilot[None]]]:
    app = FieldApp()
    async with app.run_test(size=(40, 5)) as pilot:
        box = app.query_one(LineInput)
        box.value = value
        box.cursor_position = len(value)
        await pilot.pause()
        yield box, app, pilot


@pytest.mark.parametrize("character", ["\u200d", "\u200c", "\u00a0", "\u202f", "\u00ad", "\u3000", "\ue000"])
async def test_characters_textual_drops_are_typed(character: str) -> None:
    async with field("ab") as (box, app, pilot):
        await pilot.press("left")
        app.post_message(events.Key(f"key_{ord(character):x}", character))
        await pilot.pause()
        await pilot.press("x")
        assert box.value == f"a{character}xb"


async def test_a_paste_keeps_its_lines_apart_and_its_characters() -> None:
    async with field("ab") as (box, app, pilot):
        app.post_message(events.Paste("\none\r\n  two\u2028\x1b[31m\t3\u200d\n"))
        await pilot.pause()
        assert box.value == "abone two\u2028\x1b[31m\t3\u200d"
        shown = app.screen._compositor.render_strips()[1].text
        assert "abone two␤␛[31m␉3" in shown


FAMILY = "👩\u200d👧\u200d👦"


@pytest.mark.parametrize("char", [FAMILY, "🇩🇪", "e\u0301", "❤\ufe0f", "漢"])
async def test_whole_characters(char: str) -> None:
    async with field(f"a{char}{char}b") as (box, _app, pilot):
        await pilot.press("left", "backspace")
        assert box.value == f"a{char}b"
        await pilot.press("left", "delete")
        assert box.value == "ab"
        await pilot.press("backspace", "end", "shift+left", "backspace")
        assert box.value == ""


async def test_the_cursor_is_where_it_is_drawn() -> None:
    async with field("漢字\x1ba") as (box, _app, pilot):
        left = box.content_region.x
        assert box.cursor_screen_offset.x == left + 6
        await pilot.press("left", "left", "left")
        assert box.cursor_screen_offset.x == left + 2


async def test_clicks() -> None:
    async with field("the tide turns") as (box, _app, pilot):
        left = box.content_region.x
        await pilot.click(box, offset=(left + 5, 1), times=2)
        assert box.selected_text == "tide"
        await pilot.press("ctrl+x")
        assert box.value == "the  turns"
