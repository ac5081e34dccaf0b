"""The list of what can be put in: where it is, what its keys do, and what it leaves alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from tests.tui.widgets.test_text_editor import EditorApp, screen_text
from tui import language
from tui.completion import Sources, complete_script, complete_text
from tui.widgets.completing import ROWS
from tui.widgets.script_editor import ScriptEditor
from tui.widgets.text_editor import TextEditor

SOURCES = Sources(
    ["story", "proseFragments", "getFragment"],
    [(f"ch-{n:06d}", "character", f"Person {n}") for n in range(20)] + [("ch-ines00", "character", "Ines 漢字")],
    ["night"],
    lambda name: f"about {name}",
)


@asynccontextmanager
async def typing(
    text: str, *, script: bool = False, size: tuple[int, int] = (60, 12)
) -> AsyncIterator[tuple[TextEditor, EditorApp, Pilot[None]]]:
    app = EditorApp(ScriptEditor() if script else TextEditor())
    async with app.run_test(size=size) as pilot:
        app.editor.load(text)
        complete = (lambda line, text: complete_script(line, text, SOURCES)) if script else None
        app.editor.completer = complete or (lambda line, text: complete_text(line, SOURCES))
        app.editor.move_cursor(app.editor.document.end)
        await pilot.pause()
        yield app.editor, app, pilot


async def press(pilot: Pilot[None], text: str) -> None:
    names = {"<": "less_than_sign", "@": "at", ".": "full_stop", "(": "left_parenthesis", "'": "apostrophe"}
    await pilot.press(*(names.get(char, char) for char in text))


async def test_a_reference_is_put_in() -> None:
    async with typing("Ask ") as (editor, app, pilot):
        await press(pilot, "<@ines")
        assert any("›Ines 漢字" in line and "ch-ines00" in line for line in screen_text(app))
        await pilot.press("tab")
        assert editor.value == "Ask <@ch-ines00>"
        assert editor.completion is None and editor.has_focus
        await pilot.press("x", "ctrl+z", "ctrl+z")
        assert editor.value == "Ask <@ines"
        assert not any("ch-ines00" in line for line in screen_text(app))


async def test_a_closing_mark_that_is_there_is_not_doubled() -> None:
    async with typing("a <@>") as (editor, _app, pilot):
        await pilot.press("left")
        await press(pilot, "ines")
        await pilot.press("tab")
        assert editor.value == "a <@ch-ines00>"


async def test_choosing_goes_around_and_scrolls_the_list() -> None:
    async with typing("") as (editor, app, pilot):
        await press(pilot, "<@person")
        await pilot.press("down", "down")
        assert any("›Person 2" in line for line in screen_text(app))
        await pilot.press("up", "up", "up")
        assert any("›Person 19" in line for line in screen_text(app))
        await pilot.press("tab")
        assert editor.value == "<@ch-000019>"


async def test_enter_and_arrows_and_escape() -> None:
    async with typing("") as (editor, app, pilot):
        await press(pilot, "<@ines")
        await pilot.press("enter")
        assert editor.value == "<@ines\n" and editor.completion is None
        await press(pilot, "<@ines")
        await pilot.press("escape")
        assert editor.completion is None and app.left == []
        await pilot.press("s")
        assert editor.completion is None, "nothing is named so"
        await pilot.press("backspace")
        assert editor.completion is None, "deleting opens no list"
        await pilot.press("escape")
        assert app.left == ["<@ines\n<@ines"]
        await press(pilot, "<@i")
        await pilot.press("left")
        assert editor.completion is None


async def test_tab_without_a_list_does_what_it_does() -> None:
    async with typing("let a") as (_editor, app, pilot):
        await pilot.press("tab")
        assert not app.editor.has_focus


async def test_fast_typing_is_not_held_up() -> None:
    async with typing("", script=True) as (editor, _app, pilot):
        await press(pilot, "ctx.story.name")
        await pilot.press("enter")
        await press(pilot, "ctx.pro")
        await pilot.press("tab", "full_stop", "x")
        assert editor.value == "ctx.story.name\nctx.proseFragments.x"


async def test_members_are_described_and_a_function_is_opened() -> None:
    async with typing("", script=True) as (editor, app, pilot):
        await press(pilot, "ctx.g")
        assert any("›getFragment(id)" in line and "about getFragment" in line for line in screen_text(app))
        await pilot.press("tab")
        await press(pilot, "'ch-in")
        await pilot.press("tab")
        assert editor.value == "ctx.getFragment('ch-ines00"


@pytest.mark.parametrize("size", [(60, 12), (24, 4), (10, 3), (12, 2)])
@pytest.mark.parametrize("lines", [0, 3, 40])
async def test_the_list_is_beside_the_cursor_and_inside_the_editor(size: tuple[int, int], lines: int) -> None:
    async with typing("word\n" * lines, size=size) as (editor, app, pilot):
        await press(pilot, "a <@per")
        region = editor.popup_region
        inside = Region(0, 0, *editor.scrollable_content_region.size)
        cursor = editor.cursor_screen_offset - editor.content_region.offset
        if region:
            assert inside.contains_region(region)
            assert not region.y <= cursor.y < region.bottom
            assert region.y == cursor.y + 1 or region.bottom == cursor.y
        await pilot.pause()
        shown = [strip.text for strip in app.screen._compositor.render_strips()]
        editor._line_cache.clear()
        editor.refresh()
        await pilot.pause()
        assert shown == [strip.text for strip in app.screen._compositor.render_strips()]
        await pilot.press("escape")
        await pilot.pause()
        if region:
            assert editor.completion is None and editor.has_focus


async def test_a_click_takes_what_it_is_on() -> None:
    async with typing("") as (editor, _app, pilot):
        await press(pilot, "<@person")
        region = editor.popup_region
        await pilot.click(editor, offset=(region.x + 2, region.y + 3))
        assert editor.value == "<@ch-000003>"
        assert editor.has_focus


@pytest.mark.parametrize(("code", "keys"), [("en", "tab takes"), ("zh", "Tab 采用")])
async def test_the_list_says_how_it_is_used(code: str, keys: str) -> None:
    language.use(code)
    try:
        async with typing("", size=(30, 12)) as (editor, app, pilot):
            await press(pilot, "<@person")
            await pilot.pause()
            region = editor.popup_region
            rows = screen_text(app)[editor.content_region.y + region.y :][: region.height]
            assert len(rows) == ROWS + 1 and keys in rows[-1]
            assert all("Person" in row for row in rows[:-1])
            await pilot.press("up")
            assert any("›Person 19" in row for row in screen_text(app)), "the row with the keys hides no candidate"
            spoken = editor.offered()
            assert "Person 19" in spoken and "20" in spoken and keys in spoken
            await pilot.click(editor, offset=(region.x + 2, region.bottom - 1))
            assert editor.value == "<@person" and editor.has_focus, "it is no candidate"
            await pilot.press("escape")
            assert editor.offered() == ""
    finally:
        language.use("en")


async def test_leaving_the_text_closes_the_list() -> None:
    async with typing("") as (editor, _app, pilot):
        await press(pilot, "<@person")
        editor.screen.focus_next()
        await pilot.pause()
        assert editor.completion is None
