"""A terminal whose size changes faster than the screen can follow, and behind an open dialog."""

from __future__ import annotations

import time
from itertools import cycle, islice

from tests.e2e.place import DOWN, UP, Place, ctrl, under_cursor

SIZES = ((120, 40), (80, 24), (100, 31), (40, 12), (121, 40))


def test_a_storm_of_resizes_while_keys_come(place: Place) -> None:
    with place.open() as app:
        before = under_cursor(app.screen())
        for (columns, rows), key in zip(islice(cycle(SIZES), 50), cycle((DOWN, UP)), strict=False):
            app.resize(columns, rows)
            app.write(key)
            end = time.monotonic() + 0.02
            while time.monotonic() < end:
                app.read(0.005)
        app.resize(120, 40)
        app.wait_for(lambda screen: "J/K move" in screen and under_cursor(screen) == before)
        app.drain(1.5, first=3)
        shown = app.screen()
        assert len(app.press(ctrl("l"), quiet=0.4).data) > 4_000, "everything is sent anew"
        assert app.screen() == shown


def test_what_is_behind_a_dialog_follows(place: Place) -> None:
    with place.open(columns=80, rows=24) as app:
        app.write(b"R")
        app.wait_for("Reset to default")
        for columns, rows, panes in ((120, 40, 3), (80, 24, 1)):
            app.resize(columns, rows)
            app.wait_for(
                lambda screen, panes=panes: (  # type: ignore[misc]
                    "Reset to default" in screen
                    and "J/K move" in screen.split("\n")[-1]
                    and screen.split("\n")[1].count("╮") == panes
                    and "House style" in screen
                )
            )
