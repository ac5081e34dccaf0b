from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from tui.widgets.text_editor import MAX_BYTES, TextEditor


class EditorApp(App[None]):
    def __init__(self, editor: TextEditor) -> None:
        super().__init__()
        self.editor = editor
        self.seen: list[str] = []
        self.left: list[str | None] = []
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.editor
        yield Input()

    def on_mount(self) -> None:
        self.editor.focus()

    def on_text_editor_edited(self, event: TextEditor.Edited) -> None:
        self.seen.append(event.text)

    def on_text_editor_left(self, event: TextEditor.Left) -> None:
        self.left.append(event.text)

    def on_text_editor_told(self, event: TextEditor.Told) -> None:
        self.told.append(event.text)


@asynccontextmanager
async def editing(text: str) -> AsyncIterator[tuple[TextEditor, EditorApp, Pilot[None]]]:
    app = EditorApp(TextEditor())
    async with app.run_test(size=(60, 12)) as pilot:
        app.editor.load(text)
        await pilot.pause()
        yield app.editor, app, pilot


EXOTIC = "first\r\nsecond\u2028third\x0cfourth\rfifth\nsixth\x85\x0b\x1c\u2029\u200d\u00ad\x7f\x01\ud800"


async def test_loading_edits_nothing() -> None:
    async with editing(EXOTIC) as (editor, app, pilot):
        await pilot.press("down", "end")
        await pilot.press("escape")
        assert app.seen == []
        assert app.left == [None]
        assert editor.text_if_edited() is None
        assert editor.value == EXOTIC
        assert editor.warning == "lines end in CRLF, CR, LF: each keeps its own"


async def test_an_edit_touches_what_it_changes_only_and_undo_is_exact() -> None:
    async with editing(EXOTIC) as (editor, app, pilot):
        await pilot.press("down", "home", "delete", "x", "down", "home", "delete", "end", "enter")
        edited = EXOTIC.replace("second", "xecond").replace("fifth", "ifth\r\n")
        assert editor.text_if_edited() == edited
        assert app.seen[-1] == edited
        while editor.history.undo_stack:
            await pilot.press("ctrl+z")
        assert editor.text_if_edited() == EXOTIC
        await pilot.press("ctrl+z")
        for _ in range(5):
            await pilot.press("ctrl+y")
        assert editor.text_if_edited() == edited
        assert app.seen[-1] == edited


@pytest.mark.parametrize("text", ["plain\ntext\n", "all\r\ncrlf\r\n", "cr\ronly\r", "", "one line"])
async def test_a_typed_line_break_is_the_one_the_text_has(text: str) -> None:
    async with editing(text) as (editor, _app, pilot):
        assert editor.warning == ""
        await pilot.press("ctrl+end", "a", "enter")
        newline = next((item for item in ("\r\n", "\r", "\n") if item in text), "\n")
        assert editor.value == text + "a" + newline


async def test_breaks_that_an_edit_brings_together_stay_two() -> None:
    async with editing("a\rb\nc") as (editor, _app, pilot):
        await pilot.press("down", "delete")
        assert editor.value == "a\r\n\nc"
        await pilot.press("ctrl+z")
        assert editor.value == "a\rb\nc"


PASTED = [
    "".join(f"line {n}\r\n" for n in range(2000)),
    "a\r\nb\rc\nd\x0ce\u2028f\x85g\tü\u200d\u00a0\u00ad\U0001f469\u200d\U0001f467e\u0301\x1b[31m\x07",
    "word " * 40_000,
]


@pytest.mark.parametrize("pasted", PASTED, ids=["many lines", "every kind", "200 KB"])
async def test_a_paste_is_one_step_and_comes_out_as_it_was(pasted: str) -> None:
    async with editing("start ") as (editor, app, pilot):
        await pilot.press("end")
        app.post_message(events.Paste(pasted))
        await pilot.pause()
        assert editor.text_if_edited() == "start " + pasted
        assert len(app.seen) == 1
        await pilot.press("x", "ctrl+z", "ctrl+z")
        assert editor.value == "start "
        await pilot.press("ctrl+y")
        assert editor.value == "start " + pasted


async def test_line_breaks_that_the_terminal_sends_as_enter_are_those_of_the_text() -> None:
    async with editing("one\r\n") as (editor, app, pilot):
        app.post_message(events.Paste("two\rthree\r"))
        await pilot.pause()
        assert editor.value == "two\r\nthree\r\none\r\n"


async def test_a_paste_too_large_to_edit_here_is_kept_and_can_be_taken_back() -> None:
    async with editing("start end") as (editor, app, pilot):
        await pilot.press("x")
        editor.move_cursor((0, 7))
        pasted = "é\r\n" * 600_000
        app.post_message(events.Paste(pasted))
        await pilot.pause()
        assert editor.too_large and editor.read_only
        assert editor.value == editor.text_if_edited() == f"xstart {pasted}end"
        assert len(app.seen) == 2 and app.told[-1] == editor.warning
        app.post_message(events.Paste("more"))
        await pilot.press("y", "enter", "backspace")
        assert editor.value == f"xstart {pasted}end"
        await pilot.press("ctrl+z")
        assert (editor.value, editor.too_large, editor.read_only) == ("xstart end", False, False)
        assert editor.cursor_location == (0, 7)
        await pilot.press("ctrl+y")
        assert editor.value == f"xstart {pasted}end"
        await pilot.press("ctrl+z", "y")
        await pilot.press("ctrl+y")
        assert editor.value == "xstart yend"
        await pilot.press("ctrl+z", "ctrl+z")
        assert editor.value == "start end"


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


FAMILY = "👩\u200d👧\u200d👦"


@pytest.mark.parametrize("char", [FAMILY, "🇩🇪", "e\u0301\u0323", "❤\ufe0f", "각", "漢", "\x1b", "\u2028"])
async def test_backspace_delete_and_arrows_take_a_whole_character(char: str) -> None:
    async with editing(f"a{char}{char}b") as (editor, _app, pilot):
        await pilot.press("right", "right", "backspace")
        assert editor.value == f"a{char}b"
        await pilot.press("delete")
        assert editor.value == "ab"
        await pilot.press("ctrl+z", "ctrl+z")
        assert editor.value == f"a{char}{char}b"
        await pilot.press("end", "left", "left", "backspace", "left", "delete")
        assert editor.value == f"{char}b"


async def test_a_joiner_just_typed_is_taken_back_alone() -> None:
    async with editing("می") as (editor, app, pilot):
        await pilot.press("end")
        app.post_message(events.Key("zwnj", "\u200c"))
        await pilot.pause()
        await pilot.press("backspace")
        assert editor.value == "می"


async def test_the_cursor_moves_to_no_place_inside_a_character() -> None:
    async with editing(f"ab\n{FAMILY}x\nab\na") as (editor, _app, pilot):
        for column in range(3):
            for keys in (("down",), ("down", "down", "down", "up", "up")):
                editor.move_cursor((0, column))
                await pilot.press(*keys)
                assert editor.cursor_location in ((1, 0), (1, len(FAMILY)))
        await pilot.click(editor, offset=(1, 1))
        assert editor.cursor_location == (1, 0)


async def test_a_family_is_typed_in_front_of_a_letter() -> None:
    async with editing("ab") as (editor, app, pilot):
        await pilot.press("right")
        for char in FAMILY:
            app.post_message(events.Key(f"key_{ord(char):x}", char))
            await pilot.pause()
            assert editor.render_line(0).cell_length == editor.size.width
        assert editor.value == f"a{FAMILY}b"
        await pilot.press("backspace")
        assert editor.value == "ab"


async def test_home_and_end_are_those_of_the_row() -> None:
    async with editing("word " * 30 + "\n" + "漢字" * 40) as (editor, _app, pilot):
        width = editor.wrap_width
        await pilot.press("end")
        assert editor.cursor_location[1] <= width and editor.cursor_screen_offset.y == 0
        await pilot.press("down", "end")
        assert editor.cursor_screen_offset.y == 1
        await pilot.press("home")
        assert editor.cursor_screen_offset == (0, 1)
        assert editor.cursor_location[1] > 0
        await pilot.press("ctrl+end", "up", "end")
        before = editor.cursor_location
        await pilot.press("end")
        assert editor.cursor_location == before, "it stays on its row"
        await pilot.press("home", "ctrl+k")
        assert len(editor.document[1]) < 80
        await pilot.press("ctrl+z")
        assert editor.value == "word " * 30 + "\n" + "漢字" * 40


async def test_pages() -> None:
    async with editing("\n".join(map(str, range(100)))) as (editor, _app, pilot):
        height = editor.size.height
        await pilot.press("pagedown", "pagedown")
        assert editor.cursor_location[0] == 2 * height
        await pilot.press("pageup")
        assert editor.cursor_location[0] == height


async def test_words_of_chinese() -> None:
    async with editing("夜，她走进花园。end here") as (editor, _app, pilot):
        await pilot.press("ctrl+right", "ctrl+right", "ctrl+right")
        assert editor.cursor_location == (0, 7)
        await pilot.press("ctrl+w")
        assert editor.value == "夜，。end here"
        await pilot.press("ctrl+left", "ctrl+left")
        assert editor.cursor_location == (0, 0)


async def test_clicks_select_a_word_and_a_line_and_dragging_a_part() -> None:
    async with editing("the tide turns\nnext") as (editor, _app, pilot):
        await pilot.click(editor, offset=(5, 0), times=2)
        assert editor.selected_text == "tide"
        await pilot.click(editor, offset=(5, 0), times=3)
        assert editor.selected_text == "the tide turns"
        await pilot.mouse_down(editor, offset=(4, 0))
        await pilot.hover(editor, offset=(2, 1))
        await pilot.mouse_up(editor, offset=(2, 1))
        assert editor.selected_text == "tide turns\nne"


async def test_copy_cut_and_paste_keep_every_character() -> None:
    async with editing(EXOTIC.removesuffix("\ud800")) as (editor, app, pilot):
        text = editor.value
        await pilot.press("f7", "ctrl+c")
        assert app.clipboard == text
        assert "copied" in app.told[-1]
        await pilot.press("ctrl+x")
        assert editor.value == ""
        await pilot.press("ctrl+v", "ctrl+v")
        assert editor.value == text * 2
        await pilot.press("ctrl+z", "ctrl+z", "ctrl+z")
        assert editor.value == text


async def test_control_characters_take_the_cells_they_are_drawn_in() -> None:
    async with editing("\x1b\u2028\x07" * 40) as (editor, app, pilot):
        await pilot.press("end")
        shown = screen_text(app)
        assert len(shown[0].rstrip()) == editor.wrap_width and shown[1].startswith(("␛", "␤", "␇"))
        assert editor.cursor_screen_offset.x == editor.wrap_width - 1


async def test_alt_and_an_arrow_go_by_paragraphs_and_words() -> None:
    async with editing("one two\n\nthree\nfour\n\n\nfive") as (editor, _, pilot):
        places = []
        for key in ("alt+down", "alt+down", "alt+down", "alt+up", "alt+up", "alt+up", "alt+right", "alt+left"):
            await pilot.press(key)
            places.append(editor.cursor_location)
        assert places == [(1, 0), (4, 0), (6, 4), (5, 0), (1, 0), (0, 0), (0, 3), (0, 0)]
        assert editor.text_if_edited() is None
