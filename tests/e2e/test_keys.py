"""Raw keys as terminals send them, whole and in pieces; pastes."""

from __future__ import annotations

import time

import pytest

from tests.e2e.place import (
    ALT_DOWN,
    ALT_UP,
    ESCAPE,
    Place,
    ctrl,
    edit_block,
    escape,
    go_to,
    pasted,
    row_order,
    under_cursor,
    until,
)

NAMES = ("instructions", "system-fragments", "House style", "tools")


def test_alt_arrows_move_the_block(place: Place) -> None:
    with place.open() as app:
        app.write(ALT_DOWN)
        app.wait_for(lambda screen: row_order(screen, *NAMES)[0] == "system-fragments")
        app.write(ALT_UP)
        app.wait_for(lambda screen: row_order(screen, *NAMES) == list(NAMES))
        app.write(b"\x1b[1;3")  # split by the network
        app.drain(0.03, first=0.03)
        app.write(b"B")
        app.wait_for(lambda screen: row_order(screen, *NAMES)[0] == "system-fragments")
        app.write(b"q")
        assert app.wait() == 0
    assert place.config["blockOrder"][0] == "system-fragments"


@pytest.mark.parametrize(
    "keys",
    [
        [b"\x1b\x1b[A"],  # option and arrow, where option is meta
        [b"\x1bf", b"\x1bb"],  # option and arrow in macOS's own terminal
        [ESCAPE, b"", b"[A"],  # an arrow torn apart
        [b"\x1bO", b"", b"A"],
    ],
)
def test_keys_that_begin_with_escape_destroy_nothing(place: Place, keys: list[bytes]) -> None:
    before = place.config
    with place.open() as app:
        for key in keys:
            app.write(key) if key else app.drain(0.2, first=0.2)
        app.drain(0.3)
        assert [name for name in NAMES if name in app.screen()] == list(NAMES)
        edit_block(app, "House style")
        app.write(b" quoin")
        app.wait_for("quoin")
        for key in keys:
            app.write(key) if key else app.drain(0.2, first=0.2)
        app.drain(0.3)
        assert "quoin" in app.screen()
        escape(app)
        app.wait_for("J/K move")
        app.write(b"q")
        assert app.wait() == 0
    after = place.config
    assert place.custom("House style").count(" quoin") == 1
    for block in (*before["customBlocks"], *after["customBlocks"]):
        if block["name"] == "House style":
            block["content"] = ""
    assert after == before, "nothing else has changed"


def test_control_letters_that_are_other_keys(place: Place) -> None:
    """ctrl+h, ctrl+i and ctrl+m arrive as backspace, tab and enter, which is what they have to do."""
    before = place.custom("House style")
    with place.open() as app:
        go_to(app, "House style")
        app.write(ctrl("i"))
        app.wait_for(lambda screen: "$EDITOR" in screen.split("\n")[-1])
        app.write(b"\x1b[1;5F xy" + ctrl("h") + ctrl("m") + b"zz")
        app.wait_for("zz")
        escape(app)
        app.wait_for("J/K move")
        app.write(ctrl("h"))
        app.drain(0.2)
        app.write(ctrl("m"))
        app.wait_for(lambda screen: "$EDITOR" in screen.split("\n")[-1])
        app.write(ctrl("q"))
        assert app.wait() == 0
    assert place.custom("House style") == before + " x\nzz"
    assert len(place.config["customBlocks"]) == 4


def test_keys_in_one_piece_keep_their_order(place: Place) -> None:
    before = place.custom("House style")
    with place.open() as app:
        go_to(app, "House style")
        # Behind the e, an X would delete the block if it were taken for a command.
        app.write(b"e" + b"\x1b[1;5F" + b" abc\x7f\x7fXde\x1b[D\x1b[DX\rz" + pasted("PASTED") + b"\x7f!")
        app.wait_for("PASTE!")
        app.write(ctrl("q"))
        assert app.wait() == 0
    assert place.custom("House style") == before + " aXX\nzPASTE!de"
    assert len(place.config["customBlocks"]) == 4


def test_pasted_text_is_never_keys(place: Place) -> None:
    before = place.files()
    with place.open() as app:
        go_to(app, "House style")
        cursor = under_cursor(app.screen())
        app.write(pasted("a\x1b[31mXDdd \x1bX\x1b\x1b q\x1b[3~\r\x1bOB jJ "))
        app.write(b"\x1b[200")  # and with its marks torn apart
        app.drain(0.05, first=0.05)
        app.write(b"~X\x1b[9")
        app.drain(0.2, first=0.2)
        app.write(b"X q \x1b[20")
        app.drain(0.05, first=0.05)
        app.write(b"1~")
        app.drain(0.6)
        assert under_cursor(app.screen()) == cursor
        app.write(b"?")
        app.wait_for("Block list")
        escape(app)
        app.wait_for("J/K move")
        app.write(b"q")
        assert app.wait() == 0
    assert place.files() == before


def test_pasted_escapes_are_text_in_a_text(place: Place) -> None:
    before = place.custom("House style")
    with place.open() as app:
        edit_block(app, "House style")
        app.write(pasted("red \x1b[31mDELETE\x1b[0m\rnext"))
        app.wait_for("next")
        app.write(ctrl("q"))
        assert app.wait() == 0
    assert place.custom("House style") == before + "red \x1b[31mDELETE\x1b[0m\nnext"


def test_a_large_paste_is_one_step(place: Place) -> None:
    before = place.custom("House style")
    line = "The quoins are locked and the forme lifts.\n"
    text = line * (200_000 // len(line)) + "END OF PASTE"
    with place.open() as app:
        edit_block(app, "House style")
        start = time.perf_counter()
        app.write(pasted(text))
        app.wait_for("END OF PASTE")
        print(f"200 kB pasted in {time.perf_counter() - start:.2f} s")
        until(lambda: place.custom("House style") == before + text, "the paste is in the file")
        app.write(ctrl("z"))
        app.wait_for(lambda screen: "END OF PASTE" not in screen)
        until(lambda: place.custom("House style") == before, "the paste is taken back")
