"""What a screen reader gets: words, one line for each movement, and the terminal's cursor where the work is."""

from __future__ import annotations

import re

from tests.e2e.place import Place, ctrl, escape

READER = {"STONEHAND_SCREEN_READER": "1"}
DRAWN = re.compile("[\u2500-\u259f]")
"""Box drawing and block elements."""


def test_no_screen_sends_frames_or_bars(place: Place) -> None:
    with place.start(env=READER, columns=100, rows=30) as app:
        app.wait_for(lambda screen: "block 1 of" in screen.split("\n")[-1], 40)
        screens = {b"?": "Help", b"p": "message:", b"a": "field: Name", b"g": "text: direction", ctrl("p"): "field:"}
        for key, text in screens.items():
            app.write(key)
            app.wait_for(text)
            escape(app)
            app.wait_for(lambda screen: "Foot Passengers, Main" in screen and "block 1 of" in screen.split("\n")[-1])
        app.write(b"q")
        assert app.wait() == 0
        assert DRAWN.findall(app.output.decode()) == []


def test_a_movement_sends_one_line_and_the_cursor(place: Place) -> None:
    with place.start(env=READER, columns=80, rows=24) as app:
        app.wait_for(lambda screen: "block 1 of" in screen.split("\n")[-1], 40)
        app.drain(0.5)
        assert b"\x1b[?25h" in app.output, "the cursor is shown"
        sent = app.press(b"j", quiet=0.3).data
        moves = re.findall(rb"\x1b\[(\d+);(\d+)H", sent)
        assert {int(row) for row, _ in moves[:-1]} == {24}, "the last line alone is written"
        assert b"block 2 of" in sent, "whole"
        row = int(moves[-1][0]) - 1
        name = re.search(r"block 2 of \d+: ([^,]+),", app.screen())
        assert name is not None and name[1] in app.screen().split("\n")[row]
        assert app.press(b"K", quiet=0.3).size < 1000
        assert app.drain(1.0).size == 0
