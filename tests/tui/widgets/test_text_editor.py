from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from tui.widgets.text_editor import MAX_BYTES, TextEditor, editor_text, merge_edit

BREAKS = ["\n", "\r\n", "\r", "\f", "\v", "\x1c", "\x85", "\u2028", "\u2029"]
lines = st.text(st.sampled_from("ab é"), max_size=3)
texts = st.lists(st.tuples(lines, st.sampled_from([*BREAKS, ""])), max_size=8).map(
    lambda parts: "".join(line + end for line, end in parts)
)
numbered = st.lists(st.sampled_from(BREAKS), max_size=8).map(
    lambda ends: "".join(f"{n}{end}" for n, end in enumerate([*ends, ""]))
)


@given(texts)
def test_an_unchanged_text_is_the_original(original: str) -> None:
    assert merge_edit(original, editor_text(original)) == original


@given(texts, st.lists(st.tuples(lines, st.just("\n")), max_size=8).map(lambda p: "".join(map("".join, p))))
def test_the_merge_reads_as_what_was_edited(original: str, edited: str) -> None:
    assert editor_text(merge_edit(original, edited)) == edited


@given(texts, texts)
def test_text_without_unusual_breaks_is_taken_as_it_is(one: str, two: str) -> None:
    assert merge_edit(editor_text(one), editor_text(two)) == editor_text(two)


@given(numbered, st.data())
def test_one_edit_keeps_the_lines_around_it(original: str, data: st.DataObject) -> None:
    loaded = editor_text(original)
    start = data.draw(st.integers(0, len(loaded)))
    end = data.draw(st.integers(start, len(loaded)))
    new = data.draw(st.text(st.sampled_from("ab\n"), max_size=6))
    merged = merge_edit(original, loaded[:start] + new + loaded[end:])
    units = split_units(original)
    if "\n" not in loaded[start:end] + new:
        assert merged == "".join([*units[:start], new, *units[end:]])
    first_line = loaded.rfind("\n", 0, start) + 1
    next_line = loaded.find("\n", end) + 1 or len(loaded)
    assert merged.startswith("".join(units[:first_line]).removesuffix("\r"))
    assert merged.endswith("".join(units[next_line:]))


def split_units(text: str) -> list[str]:
    """Characters, with CRLF as one."""
    units: list[str] = []
    for char in text:
        if char == "\n" and units and units[-1] == "\r":
            units[-1] = "\r\n"
        else:
            units.append(char)
    return units


@pytest.mark.parametrize(
    ("original", "edited", "expected"),
    [
        ("a\r\nb\r\nc", "a\nx\nc", "a\r\nx\r\nc"),
        ("a\u2028b\fc\nd", "a\nb\nc\nD", "a\u2028b\fc\nD"),
        ("a\u2028b\fc\nd", "A\nb\nc\nD", "A\u2028b\fc\nD"),
        ("a\r\nb", "a\nnew\nb", "a\r\nnew\r\nb"),
        ("a\u2028b", "a\nnew\nb", "a\u2028new\nb"),
        ("a\u2028b\r\nc", "ab\nc", "ab\r\nc"),
        ("one\ftwo", "o\nne\ntwo", "o\nne\ftwo"),
        ("a\u2028", "a\n", "a\u2028"),
        ("a\u2028", "b\n", "b\u2028"),
        ("a\r\n", "", ""),
        ("a\rb\nc", "a\n\nc", "a\r\n\nc"),
        ("", "a\nb", "a\nb"),
        ("a\r\nb\r\n\fc\r\nd", "a\nb\n\nc\nd\n", "a\r\nb\r\n\fc\r\nd\r\n"),
        ("x\fy\u2028z\n" * 50, "x\ny\nz\n" * 24 + "HERE\n" + "x\ny\nz\n" * 26, None),
    ],
)
def test_line_breaks_survive(original: str, edited: str, expected: str | None) -> None:
    merged = merge_edit(original, edited)
    if expected is not None:
        assert merged == expected
    else:
        assert merged.replace("HERE\n", "") == original


class EditorApp(App[None]):
    def __init__(self, editor: TextEditor) -> None:
        super().__init__()
        self.editor = editor
        self.seen: list[str] = []
        self.left: list[str | None] = []

    def compose(self) -> ComposeResult:
        yield self.editor
        yield Input()

    def on_mount(self) -> None:
        self.editor.focus()

    def on_text_editor_edited(self, event: TextEditor.Edited) -> None:
        self.seen.append(event.text)

    def on_text_editor_left(self, event: TextEditor.Left) -> None:
        self.left.append(event.text)


@asynccontextmanager
async def editing(text: str) -> AsyncIterator[tuple[TextEditor, EditorApp, Pilot[None]]]:
    app = EditorApp(TextEditor())
    async with app.run_test(size=(60, 12)) as pilot:
        app.editor.load(text)
        await pilot.pause()
        yield app.editor, app, pilot


EXOTIC = "first\r\nsecond\u2028third\x0cfourth\nfifth"


async def test_loading_edits_nothing() -> None:
    async with editing(EXOTIC) as (editor, app, pilot):
        await pilot.press("down", "end")
        await pilot.press("escape")
        assert app.seen == []
        assert app.left == [None]
        assert editor.text_if_edited() is None
        assert editor.value == EXOTIC
        assert editor.lossy
        assert "U+2028" in editor.warning
        assert "form feed" in editor.warning


async def test_an_edit_touches_its_line_only_and_undo_is_exact() -> None:
    async with editing(EXOTIC) as (editor, app, pilot):
        await pilot.press("down", "end", "x", "down", "down", "home", "delete")
        edited = "first\r\nsecondx\u2028third\x0courth\nfifth"
        assert editor.text_if_edited() == edited
        assert app.seen[-1] == edited
        while editor.history.undo_stack:
            await pilot.press("ctrl+z")
        assert editor.text_if_edited() == EXOTIC
        await pilot.press("ctrl+z")
        await pilot.press("ctrl+y", "ctrl+y", "ctrl+y")
        assert editor.text_if_edited() == edited
        assert app.seen[-1] == edited


@pytest.mark.parametrize("text", ["plain\ntext\n", "all\r\ncrlf\r\n", "", "one line"])
async def test_uniform_breaks_need_no_warning(text: str) -> None:
    async with editing(text) as (editor, _app, pilot):
        assert not editor.lossy
        assert editor.warning == ""
        await pilot.press("ctrl+end", "a", "enter")
        newline = "\r\n" if "\r\n" in text else "\n"
        assert editor.value == "a" + newline + text if not text else "a" + newline in editor.value


async def test_a_paste_is_one_step() -> None:
    async with editing("start ") as (editor, app, pilot):
        await pilot.press("end")
        pasted = "".join(f"line {n}\r\n" for n in range(2000))
        app.post_message(events.Paste(pasted))
        await pilot.pause()
        assert editor.text_if_edited() == "start " + pasted.replace("\r\n", "\n")
        assert len(app.seen) == 1
        await pilot.press("ctrl+z")
        assert editor.value == "start "


async def test_a_paste_that_is_too_large_is_refused() -> None:
    async with editing("start ") as (editor, app, pilot):
        app.post_message(events.Paste("x" * MAX_BYTES))
        await pilot.pause()
        assert editor.value == "start "
        app.post_message(events.Paste("small"))
        await pilot.pause()
        assert editor.value == "smallstart "


async def test_escape_hands_over_the_text_and_keeps_it() -> None:
    async with editing("abc") as (editor, app, pilot):
        await pilot.press("x", "escape")
        assert app.left == ["xabc"]
        assert editor.value == "xabc"


async def test_tab_moves_the_focus() -> None:
    async with editing("abc") as (editor, _app, pilot):
        await pilot.press("tab")
        assert not editor.has_focus
        assert editor.value == "abc"


@pytest.mark.parametrize("character", ["\u200d", "\u200c", "\u00a0", "\u202f", "\u00ad", "\u3000"])
async def test_characters_textual_drops_are_typed(character: str) -> None:
    async with editing("ab") as (editor, app, pilot):
        await pilot.press("right")
        app.post_message(events.Key(f"key_{ord(character):x}", character))
        await pilot.pause()
        assert editor.value == f"a{character}b"


async def test_control_keys_type_nothing() -> None:
    async with editing("ab") as (editor, _app, pilot):
        await pilot.press("f3", "ctrl+g", "escape")
        assert editor.text_if_edited() is None


async def test_a_text_that_is_too_large_is_shown_in_part_and_never_saved() -> None:
    text = "é" * (MAX_BYTES // 2) + "!"
    async with editing(text) as (editor, app, pilot):
        assert editor.too_large
        assert editor.read_only
        assert "$EDITOR" in editor.warning
        editor.read_only = False
        assert editor.read_only
        await pilot.press("x", "escape")
        app.post_message(events.Paste("pasted"))
        await pilot.pause()
        assert editor.value == text
        assert editor.text_if_edited() is None
        assert app.left == [None]
        editor.load("small")
        assert (editor.too_large, editor.read_only) == (False, False)


async def test_the_largest_text_can_be_edited() -> None:
    text = "é" * (MAX_BYTES // 2)
    async with editing(text) as (editor, _app, pilot):
        assert not editor.too_large
        await pilot.press("x")
        assert editor.text_if_edited() == "x" + text


async def test_loading_again_starts_anew() -> None:
    async with editing("one") as (editor, app, pilot):
        await pilot.press("x")
        editor.load("two")
        await pilot.press("ctrl+z")
        assert editor.text_if_edited() is None
        assert editor.value == "two"
        assert app.seen == ["xone"]


def screen_text(app: App[None]) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


async def test_control_characters_are_drawn_inert() -> None:
    async with editing("a\x1b]0;title\x07b\tc\ud800") as (editor, app, _pilot):
        assert "a␛]0;title␇b" in screen_text(app)[0]
        assert "\x1b" not in screen_text(app)[0]
        assert editor.value == "a\x1b]0;title\x07b\tc\ud800"


async def painted_rows(editor: TextEditor, pilot: Pilot[None], *keys: str) -> list[int]:
    """The rows of the editor drawn because of `keys`."""
    drawn: list[int] = []
    render_line = type(editor).render_line

    def spy(self: TextEditor, y: int) -> object:
        drawn.append(y)
        return render_line(self, y)

    type(editor).render_line = spy  # type: ignore[method-assign,assignment]
    try:
        await pilot.press(*keys)
        await pilot.pause()
    finally:
        type(editor).render_line = render_line  # type: ignore[method-assign]
    return sorted(set(drawn))


async def test_typing_repaints_its_line() -> None:
    async with editing("\n".join("word " * 3 for _ in range(30))) as (editor, app, pilot):
        await pilot.press("down", "down")
        assert await painted_rows(editor, pilot, "x") == [2]
        assert await painted_rows(editor, pilot, "down") == [2, 3]
        assert screen_text(app)[2].startswith("xword word word")


async def test_repainting_less_shows_the_same() -> None:
    text = "\n".join(f"{n} " + "wrapped words go on " * (n % 5) for n in range(12))
    async with editing(text) as (editor, app, pilot):
        keys = [
            "down", "down", "a", "b", "shift+down", "shift+right", "right", "enter", "backspace", "backspace",
            "end", "space", "l", "o", "n", "g", "e", "r", "pagedown", "x", "ctrl+z", "ctrl+z", "ctrl+y", "up",
            "shift+up", "shift+up", "delete", "f7", "left", "ctrl+k", "pageup", "enter", "ctrl+z",
        ]  # fmt: skip
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
            shown = [list(strip) for strip in app.screen._compositor.render_strips()]
            editor.notify_style_update()
            editor.refresh()
            await pilot.pause()
            assert shown == [list(strip) for strip in app.screen._compositor.render_strips()], key


async def test_the_cursor_is_drawn_where_the_focus_is() -> None:
    async with editing("abc") as (_editor, app, pilot):
        focused = list(app.screen._compositor.render_strips()[0])
        await pilot.press("tab")
        await pilot.pause()
        blurred = list(app.screen._compositor.render_strips()[0])
        assert focused[0].text == "a"
        assert focused[0].style != blurred[0].style


async def test_no_blinking_by_default() -> None:
    async with editing("abc") as (editor, _app, _pilot):
        assert editor.cursor_blink is False
        assert isinstance(editor, TextArea)
