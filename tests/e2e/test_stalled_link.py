"""A terminal that takes no output: the program goes on, saves and finishes; later the screen catches up."""

from __future__ import annotations

import json
import signal
import sys
import time

from tests.e2e.place import Place, ctrl, edit_block, has_ended, until
from tests.tui.pty.harness import PtyApp


def stall(app: PtyApp) -> None:
    """Have the program write far more than the unread terminal takes, so that it is stuck if it can be."""
    for _ in range(30):
        app.write(ctrl("l"))
        time.sleep(0.03)


def test_typing(place: Place) -> None:
    before = place.custom("House style")
    words = "".join(f" word{number}" for number in range(30))
    with place.open() as app:
        edit_block(app, "House style")
        stall(app)
        for letter in words:
            app.write(letter.encode())
            time.sleep(0.004)
        until(lambda: place.custom("House style") == before + words, "the typed text is in the file")
        app.wait_for("word29")
        app.write(b"!")
        app.wait_for("word29!")


def test_generating(place: Place) -> None:
    fragments = set((place.content / "fragments").iterdir())
    with place.open() as app:
        app.write(b"g")
        app.wait_for("what should happen next")
        app.write(ctrl("g"))
        app.wait_for("writing")
        stall(app)
        until(lambda: place.passages(".part"), "the passage is on disk")
        (part,) = place.passages(".part")
        size = part.stat().st_size
        until(lambda: part.stat().st_size > size, "the passage grows")
        app.write(ctrl("x"))
        time.sleep(0.3)
        app.write(ctrl("s"))
        until(lambda: set((place.content / "fragments").iterdir()) - fragments, "the passage is kept")
        until(lambda: not place.passages(""), "it is no longer open")
        app.wait_for("stopped")


QUICK = """
import engine.workspace.wires
engine.workspace.wires.WORDS_PER_SECOND = 400.0
from tui.launch import main
main()
"""
"""The program, its rehearsal quicker than any link."""


def test_a_passage_is_completed(place: Place) -> None:
    """However much is shown meanwhile: what nobody takes is left out, and neither kept nor sent late."""
    fragments = set((place.content / "fragments").iterdir())
    with place.open(program=[sys.executable, "-c", QUICK]) as app:
        app.write(b"g")
        app.wait_for("what should happen next")
        app.write(ctrl("g"))
        app.wait_for("writing")
        stall(app)
        part = place.passages(".part")[0]
        size = -1
        while size != (size := part.stat().st_size):
            time.sleep(1.0)
        app.write(ctrl("s"))
        until(lambda: set((place.content / "fragments").iterdir()) - fragments, "the passage is kept")
        before = len(app.output)
        app.wait_for("kept as pr-")
        assert len(app.output) - before < 100_000
        app.drain(0.5)
        shown = app.screen()
        app.press(ctrl("l"), quiet=0.4)
        assert app.screen() == shown
    (kept,) = set((place.content / "fragments").iterdir()) - fragments
    assert len(json.loads(kept.read_bytes())["content"]) > 500


def test_being_ended(place: Place) -> None:
    before = place.custom("House style")
    with place.open() as app:
        edit_block(app, "House style")
        stall(app)
        app.write(b" quoin")
        time.sleep(0.2)
        app.signal(signal.SIGTERM)
        until(lambda: has_ended(app), "the program has ended")
        assert app.exit_status == 128 + signal.SIGTERM
    assert place.custom("House style") == before + " quoin"
