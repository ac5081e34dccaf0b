"""Finding and replacing in a text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.tui.widgets.test_text_editor import screen_text
from tui.widgets.find_bar import FindBar, find
from tui.widgets.text_editor import TextEditor

TEXT = "The tide turns.\r\nAt low tide the Tide tables\u2028lie; TIDE.\rNo more."


class FindApp(App[None]):
    closed = 0

    def compose(self) -> ComposeResult:
        yield FindBar()
        yield TextEditor()

    def on_mount(self) -> None:
        self.query_one(FindBar).display = False

    def on_find_bar_closed(self) -> None:
        self.closed += 1


@asynccontextmanager
async def finding(text: str = TEXT) -> AsyncIterator[tuple[TextEditor, FindBar, FindApp, Pilot[None]]]:
    app = FindApp()
    async with app.run_test(size=(60, 12)) as pilot:
        editor, bar = app.query_one(TextEditor), app.query_one(FindBar)
        editor.load(text)
        editor.focus()
        await pilot.pause()
        bar.open(editor)
        await pilot.pause()
        yield editor, bar, app, pilot


def count(app: FindApp) -> str:
    return " ".join(screen_text(app)[0].split()[-6:-3])


async def test_typing_finds_and_keys_go_around() -> None:
    async with finding() as (editor, _bar, app, pilot):
        await pilot.press(*"tide")
        assert count(app) == "1 of 4"
        assert editor.selected_text == "tide" and min(editor.selection) == (0, 4)
        await pilot.press("enter")
        assert (count(app), min(editor.selection)) == ("2 of 4", (1, 7))
        await pilot.press("down", "down", "enter")
        assert (count(app), min(editor.selection)) == ("1 of 4", (0, 4))
        await pilot.press("up")
        assert (count(app), min(editor.selection)) == ("4 of 4", (1, 33))
        await pilot.press("escape")
        assert editor.cursor_location == (1, 33) and editor.selection.is_empty
        assert app.closed == 1 and editor.value == TEXT and not editor.matches


async def test_a_capital_makes_case_count() -> None:
    async with finding() as (_editor, bar, app, pilot):
        await pilot.press(*"Tide")
        assert [match[:2] for match in bar.matches] == [(1, 16)]
        await pilot.press(*"x")
        assert "not found" in screen_text(app)[0]


async def test_it_begins_at_the_cursor_and_with_what_is_selected() -> None:
    async with finding() as (editor, bar, app, pilot):
        bar.close()
        editor.focus()
        editor.selection = type(editor.selection)((1, 7), (1, 11))
        bar.open(editor)
        await pilot.pause()
        assert bar.pattern == "tide" and count(app) == "2 of 4"


async def test_replacing_one_and_all() -> None:
    async with finding() as (editor, _bar, app, pilot):
        await pilot.press(*"tide", "tab", *"sea", "enter")
        assert editor.value == TEXT.replace("tide", "sea", 1)
        assert min(editor.selection) == (1, 7)
        await pilot.press("f8")
        expected = "The sea turns.\r\nAt low sea the sea tables\u2028lie; sea.\rNo more."
        assert editor.value == expected
        assert "3 replaced" in screen_text(app)[0]
        editor.undo()
        assert editor.value == TEXT.replace("tide", "sea", 1), "all of them are one step"
        editor.undo()
        assert editor.value == TEXT


async def test_replacing_by_what_holds_the_pattern_ends() -> None:
    async with finding("a a a") as (editor, _bar, _app, pilot):
        await pilot.press("a", "tab", *"aa", "enter")
        assert editor.value == "aa a a" and min(editor.selection) == (0, 3)
        await pilot.press("f8")
        assert editor.value == "aaaa aa aa"


async def test_a_text_that_cannot_be_changed_is_only_searched() -> None:
    async with finding() as (editor, bar, _app, pilot):
        editor.load(TEXT, read_only=True)
        bar.look()
        await pilot.press(*"tide", "tab", "f8")
        assert editor.value == TEXT and len(bar.matches) == 4


async def test_the_mouse_does_it_too() -> None:
    async with finding() as (editor, bar, app, pilot):
        await pilot.press(*"tide")
        width = app.size.width
        await pilot.click(bar, offset=(width - 5, 0))
        assert count(app) == "2 of 4"
        await pilot.click(bar, offset=(width - 8, 0))
        assert count(app) == "1 of 4"
        await pilot.press("tab", *"sea")
        second = screen_text(app)[1]
        await pilot.click(bar, offset=(second.index("one"), 1))
        assert editor.value == TEXT.replace("tide", "sea", 1)
        await pilot.click(bar, offset=(second.index("all"), 1))
        assert "tide" not in editor.value.lower()
        await pilot.click(bar, offset=(width - 2, 0))
        assert app.closed == 1


@given(
    st.text(st.sampled_from("aAbéÉß漢\u0301 "), max_size=20),
    st.text(st.sampled_from("aAbéß漢"), min_size=1, max_size=3),
)
def test_every_match_is_there(line: str, pattern: str) -> None:
    for row, start, end in find([line], pattern):
        assert row == 0
        assert line[start:end] == pattern or (pattern == pattern.lower() and line[start:end].lower() == pattern)
    if pattern in line:
        assert find([line], pattern)


@pytest.mark.parametrize("pattern", ["", "zzz"])
def test_nothing_is_found(pattern: str) -> None:
    assert find(["a line"], pattern) == []
