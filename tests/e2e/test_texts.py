"""Writing in a real terminal: the terminal's cursor is where the text is, and what is typed arrives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.place import CTRL_END, CTRL_HOME, DOWN, F7, TAB, Place, ctrl, edit_block, escape, go_to, pasted
from tests.tui.pty.harness import PtyApp


def cursor_is(app: PtyApp, at: Callable[[], tuple[int, int] | None]) -> None:
    """Wait until the terminal's cursor is somewhere."""
    app.wait_for(lambda _: (app.terminal.cursor.x, app.terminal.cursor.y) == at())


def cell(app: PtyApp, char: str, right: int = 0) -> tuple[int, int] | None:
    """Where a character is, the lowest of them, or so many cells to the right of it."""
    rows, columns = range(app.terminal.lines), range(app.terminal.columns)
    found = [(x + right, y) for y in rows for x in columns if app.terminal.buffer[y][x].data == char]
    return found[-1] if found else None


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_the_terminals_cursor_is_where_the_text_is(place: Place, size: tuple[int, int]) -> None:
    with place.start(columns=size[0], rows=size[1]) as app:
        app.wait_for("author-input", 40)
        app.drain(0.3)
        app.write(b"/")
        app.wait_for("=text")
        app.write(b"House style\r")
        app.wait_for(lambda screen: "House style" in screen and "space on/off" in screen)
        app.write(b"e")
        app.wait_for(lambda screen: "$EDITOR" in screen.split("\n")[-1])
        app.write(F7 + b"\x7f")
        # Wide characters, an inert control character, a tab, and so much that rows are wrapped.
        app.write(pasted("\x1b\t" + "潮が満ちる。" * 20 + "Ω"))
        cursor_is(app, lambda: cell(app, "Ω", 1))
        app.write(b"\x1b[D")
        cursor_is(app, lambda: cell(app, "Ω"))
        app.write("Ψ")
        cursor_is(app, lambda: cell(app, "Ω") if cell(app, "Ψ", 1) == cell(app, "Ω") else None)
        app.write(CTRL_HOME)
        cursor_is(app, lambda: cell(app, "␛"))
        app.write(b"\x1b[C\x1b[C\x1b[C")
        cursor_is(app, lambda: cell(app, "␛", 6))  # behind the tab and a wide character
        app.write(b"\r" * 60)
        app.write("Φ")
        cursor_is(app, lambda: cell(app, "Φ", 1))
        app.resize(size[0] - 7, size[1])
        app.drain(0.6, first=2.0)
        app.write("Ξ")
        cursor_is(app, lambda: cell(app, "Ξ", 1))
        assert cell(app, "Φ", 1) == cell(app, "Ξ")
        app.write(ctrl("f"))
        app.wait_for("find")
        app.write("ξ")
        app.wait_for("1 of 1")
        cursor_is(app, lambda: cell(app, "ξ", 1))
        escape(app)
        cursor_is(app, lambda: cell(app, "Ξ"))
        app.write(ctrl("q"))
        assert app.wait() == 0


def test_the_cursor_of_a_field(place: Place) -> None:
    with place.open() as app:
        app.write(b"/")
        app.wait_for("enter keeps")
        app.write("漢字é")
        cursor_is(app, lambda: cell(app, "é", 1) if cell(app, "漢", 4) == cell(app, "é") else None)
        app.write(ctrl("q"))
        assert app.wait() == 0


def test_every_character_that_is_typed_arrives(place: Place) -> None:
    typed = "a\u200db\u200cc\u00add\u00a0e\u0301👩\u200d👧🇩🇪\u3000漢\ue000"
    before = place.custom("House style")
    with place.open() as app:
        edit_block(app, "House style")
        app.press(CTRL_END)
        app.write(typed.encode() + b"!")
        app.wait_for("!")
        app.write(ctrl("q"))
        assert app.wait() == 0
    assert place.custom("House style") == before + typed + "!"


def test_a_name_keeps_its_joiners(place: Place) -> None:
    name = "می\u200cخواهم"
    with place.open() as app:
        go_to(app, "House style")
        app.press(b"r")
        app.drain(0.3)
        app.press(ctrl("u"))
        app.write(ctrl("e") + ctrl("u") + name.encode() + b"\r")
        app.drain(0.5)
        app.write(ctrl("q"))
        assert app.wait() == 0
    assert name in [block["name"] for block in place.config["customBlocks"]]


def test_two_megabytes_of_paste(place: Place) -> None:
    before = place.custom("House style")
    text = "The quoins are locked.\r\n" * 90_000
    with place.open() as app:
        edit_block(app, "House style")
        app.press(CTRL_END)
        app.write(pasted(text))
        app.wait_for("larger than 256 KB", 60)
        app.write(ctrl("q"))
        assert app.wait(30) == 0
    assert place.custom("House style") == before + text


def test_what_completing_and_finding_send(place: Place) -> None:
    """Over a slow link: with the span diff, a letter that narrows the list down is about a letter that is typed."""
    with place.open() as app:
        edit_block(app, "House style")
        app.press(CTRL_END + b"\r")
        opened = app.press(b"<").size + app.press(b"@").size
        narrowed = [app.press(key).size for key in (b"c", b"h", b"-")]
        chosen = [app.press(DOWN).size for _ in range(3)]
        assert "›" in app.screen()
        closed = app.press(TAB).size
        assert 0 < opened <= 4000 and max(narrowed) <= 2500 and max(chosen) <= 1200 and closed <= 2500
        assert app.drain(1.0, limit=1.0).size <= 2500  # the list and the tokens follow
        app.press(ctrl("f"))
        typed = [app.press(key).size for key in (b"t", b"h", b"e")]
        assert min(typed) > 0 and max(typed) <= 4000
        escape(app)
        app.write(ctrl("q"))
        assert app.wait() == 0
