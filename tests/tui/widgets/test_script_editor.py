from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib import metadata

import pytest
from rich.style import Style
from textual import events
from textual.app import App, ComposeResult
from textual.document._document import Selection
from textual.pilot import Pilot
from textual.widgets import Input

from tests.thorough import times
from tui.widgets import script_editor
from tui.widgets.script_editor import MAX_HIGHLIGHTED, ScriptEditor

SCRIPT = """\
// say hello
const name = ctx.story.name;
function greet(n) {
  return `Hello ${n}, ${42}`;
}
return greet(name);
"""


class ScriptApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.editor = ScriptEditor()
        self.left = 0

    def compose(self) -> ComposeResult:
        yield Input()
        yield self.editor
        yield Input()

    def on_mount(self) -> None:
        self.editor.focus()

    def on_text_editor_left(self) -> None:
        self.left += 1


@asynccontextmanager
async def editing(text: str) -> AsyncIterator[tuple[ScriptEditor, ScriptApp, Pilot[None]]]:
    app = ScriptApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.editor.load(text)
        await pilot.pause()
        yield app.editor, app, pilot


def styles_of(editor: ScriptEditor, word: str) -> Style:
    """The style `word` is drawn in, wherever it is first seen."""
    for y in range(editor.size.height):
        for segment in editor.render_line(y):
            if word in segment.text and segment.style is not None:
                return segment.style
    raise AssertionError(f"{word!r} is not drawn")


@pytest.fixture
def grammar() -> Iterator[None]:
    script_editor._javascript.cache_clear()
    yield
    script_editor._javascript.cache_clear()


async def test_tokens_have_colours() -> None:
    async with editing(SCRIPT) as (editor, _app, pilot):
        assert editor.highlighting is None
        plain = styles_of(editor, "name").color
        words = ("say hello", "const", "greet", "Hello", "42")
        colours = [styles_of(editor, word).color for word in words]
        assert plain not in colours
        assert len(set(colours)) == len(colours)
        editor.load("a = `in ${side} b`; MAX_SIZE; Thing(); ctx.call()")
        await pilot.pause()
        styles = {word: styles_of(editor, word).color for word in ("`in", "side", "MAX_SIZE", "Thing", "call")}
        assert styles["side"] == plain != styles["`in"]
        assert styles["MAX_SIZE"] != styles["Thing"] == styles["call"]


async def test_colours_follow_the_theme() -> None:
    async with editing(SCRIPT) as (editor, app, pilot):
        dark = styles_of(editor, "const").color
        app.theme = "textual-light"
        await pilot.pause()
        await pilot.pause()
        assert styles_of(editor, "const").color != dark


async def test_an_open_comment_recolours_the_lines_below() -> None:
    async with editing("let a = 1\nlet b = 2\nlet c = 3\n*/") as (editor, _app, pilot):
        before = styles_of(editor, "let")
        await pilot.press("slash", "asterisk")
        await pilot.pause()
        rows = [list(editor.render_line(y)) for y in range(3)]
        editor.notify_style_update()
        assert rows == [list(editor.render_line(y)) for y in range(3)]
        assert styles_of(editor, "let b").color != before.color


async def test_only_lines_near_the_view_are_highlighted() -> None:
    async with editing("\n".join(f"const v{n} = {n};" for n in range(2000))) as (editor, _app, pilot):
        assert 1 in editor._highlights
        assert max(editor._highlights) < 3 * editor.size.height
        await pilot.press("ctrl+end")
        editor.move_cursor((1999, 0))
        await pilot.pause()
        assert min(editor._highlights) > 1900
        assert styles_of(editor, "const").color != styles_of(editor, "v1998").color


async def test_typing_repaints_its_line_only() -> None:
    async with editing(SCRIPT + "\n" * 5) as (editor, app, pilot):
        await pilot.press("down", "end")
        await pilot.pause()
        drawn: list[int] = []
        render_line = ScriptEditor.render_line

        def spy(self: ScriptEditor, y: int) -> object:
            drawn.append(y)
            return render_line(self, y)

        ScriptEditor.render_line = spy  # type: ignore[method-assign,assignment]
        try:
            await pilot.press("x")
            await pilot.pause()
        finally:
            ScriptEditor.render_line = render_line  # type: ignore[method-assign]
        assert set(drawn) == {1}
        assert app.editor is editor


async def test_what_the_screen_shows_is_what_a_full_repaint_shows() -> None:
    async with editing(SCRIPT) as (editor, app, pilot):
        keys = ["down", "end", "enter", "slash", "asterisk", "backspace", "left", "right_parenthesis", "left"]
        keys += ["left_curly_bracket", "enter", "tab", "up", "up", "ctrl+z", "shift+tab", "grave_accent", "ctrl+z"]
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
            shown = [list(strip) for strip in app.screen._compositor.render_strips()]
            editor.notify_style_update()
            editor.refresh()
            await pilot.pause()
            assert shown == [list(strip) for strip in app.screen._compositor.render_strips()], key


async def test_a_long_script_is_plain() -> None:
    async with editing("let a = 1;\n" * (MAX_HIGHLIGHTED // 11 + 1)) as (editor, _app, pilot):
        assert "100 KB" in (editor.highlighting or "")
        editor.load("let a = 1;")
        await pilot.pause()
        assert editor.highlighting is None


async def test_a_script_that_grows_too_long_becomes_plain() -> None:
    async with editing("let a = 1;\n") as (editor, app, pilot):
        app.post_message(events.Paste("x" * MAX_HIGHLIGHTED))
        await pilot.pause()
        assert "100 KB" in (editor.highlighting or "")
        assert not editor._highlights
        assert editor.value == "x" * MAX_HIGHLIGHTED + "let a = 1;\n"


@pytest.mark.usefixtures("grammar")
async def test_a_tree_sitter_that_crashes_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _name: "0.26.1")
    async with editing(SCRIPT) as (editor, _app, pilot):
        assert "0.26.1" in (editor.highlighting or "")
        await pilot.press("x")
        assert editor.value == "x" + SCRIPT


@pytest.mark.usefixtures("grammar")
async def test_without_a_grammar_the_script_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> str:
        raise metadata.PackageNotFoundError("tree-sitter")

    monkeypatch.setattr(metadata, "version", missing)
    async with editing(SCRIPT) as (editor, _app, _pilot):
        assert "not installed" in (editor.highlighting or "")


async def test_a_lone_surrogate_can_be_edited() -> None:
    async with editing("let a = '\ud800'") as (editor, _app, pilot):
        assert "surrogate" in (editor.highlighting or "")
        await pilot.press("x")
        assert editor.text_if_edited() == "xlet a = '\ud800'"


@pytest.mark.parametrize(
    ("text", "cursor", "keys", "expected"),
    [
        ("  a", (0, 3), ["enter", "b"], "  a\n  b"),
        ("if (x) {", (0, 8), ["enter", "b"], "if (x) {\n  b"),
        ("f({})", (0, 3), ["enter", "b"], "f({\n  b\n})"),
        ("  f(]", (0, 4), ["enter", "b"], "  f(\n    b]"),
        ("a {\n    ", (1, 4), ["right_curly_bracket"], "a {\n  }"),
        ("a\n    b", (1, 5), ["right_curly_bracket"], "a\n    b}"),
        ("abc", (0, 1), ["tab"], "a bc"),
        ("abc", (0, 0), ["tab"], "  abc"),
        ("   abc", (0, 6), ["shift+tab", "shift+tab", "x"], "abcx"),
        ("\tabc", (0, 4), ["shift+tab"], "abc"),
        ("a\r\n  b", (1, 3), ["enter", "c"], "a\r\n  b\r\n  c"),
    ],
)
async def test_indentation(text: str, cursor: tuple[int, int], keys: list[str], expected: str) -> None:
    async with editing(text) as (editor, _app, pilot):
        editor.move_cursor(cursor)
        await pilot.press(*keys)
        assert editor.value == expected
        for _ in range(len(keys) + 1):
            await pilot.press("ctrl+z")
        assert editor.value == text


async def test_selected_lines_are_indented_in_one_step() -> None:
    async with editing("one\n\ntwo\nthree") as (editor, _app, pilot):
        editor.selection = Selection((0, 1), (3, 0))
        await pilot.press("tab")
        assert editor.value == "  one\n\n  two\nthree"
        assert editor.selection == Selection((0, 3), (3, 0))
        await pilot.press("tab", "shift+tab", "shift+tab")
        assert editor.value == "one\n\ntwo\nthree"
        await pilot.press("ctrl+z")
        assert editor.value == "  one\n\n  two\nthree"


async def test_shift_tab_moves_the_focus_when_nothing_is_indented() -> None:
    async with editing("one") as (editor, _app, pilot):
        await pilot.press("shift+tab")
        assert not editor.has_focus


async def test_escape_is_left_to_the_owner() -> None:
    async with editing("one") as (editor, app, pilot):
        await pilot.press("escape")
        assert app.left == 1
        assert editor.has_focus


async def test_insert_at_the_cursor() -> None:
    async with editing("get('')") as (editor, _app, pilot):
        editor.move_cursor((0, 5))
        editor.insert("ch-bafego")
        await pilot.press("x")
        assert editor.value == "get('ch-bafegox')"


async def test_the_line_of_an_error_is_marked() -> None:
    async with editing("one\ntwo\nthree") as (editor, _app, pilot):
        plain = styles_of(editor, "two")
        editor.mark_error(2)
        await pilot.pause()
        marked = styles_of(editor, "two")
        assert marked.bgcolor != plain.bgcolor
        assert marked.underline
        assert not styles_of(editor, "three").underline
        editor.mark_error(99)
        assert not styles_of(editor, "two").underline
        editor.mark_error(1)
        editor.load("\none")
        assert not styles_of(editor, "one").underline


async def test_a_script_that_is_read_only_stays_as_it_is() -> None:
    async with editing("a {\n  b") as (editor, _app, pilot):
        editor.load("a {\n  b", read_only=True)
        editor.move_cursor((1, 3))
        await pilot.press("enter", "right_curly_bracket", "x", "tab")
        assert editor.value == "a {\n  b"


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light", "textual-light", "dracula"])
async def test_it_draws_in_every_theme(theme: str) -> None:
    async with editing(SCRIPT) as (editor, app, pilot):
        app.theme = theme
        editor.mark_error(2)
        await pilot.pause()
        assert "".join(segment.text for segment in editor.render_line(1)).rstrip().endswith("ctx.story.name;")


@pytest.mark.skipif(sys.platform == "win32", reason="the exit status tells of a crash only on Unix")
def test_opening_editing_and_closing_many_times_ends_well() -> None:
    """A grammar that does not fit its library ends the process without a word (spec terminal, section 5, case 28)."""
    turns = str(times(50, 200))
    command = [sys.executable, "-c", OPENINGS, turns]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, turns), done.stderr


OPENINGS = """
import asyncio, gc, sys
from textual.app import App
from tui.widgets.script_editor import ScriptEditor

SCRIPT = "// hello\\nconst n = `a ${1} b`;\\nfunction f(x) { return x }\\n" * 20

async def main():
    done = 0
    app = App()
    async with app.run_test(size=(60, 20)) as pilot:
        for turn in range(int(sys.argv[1])):
            editor = ScriptEditor(SCRIPT)
            await app.screen.mount(editor)
            assert editor.highlighting is None, editor.highlighting
            editor.insert("let x = {", (turn % 50, 0))
            editor.undo()
            editor.load(SCRIPT[turn:])
            editor.insert("}", (0, 0))
            editor.render_line(0)
            await editor.remove()
            done += 1
            if turn % 20 == 0:
                gc.collect()
    print(done)

asyncio.run(main())
"""
