"""Signals, a terminal that goes away, a kill: nothing typed or generated is lost, the terminal is as it was."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.place import Place, ctrl, edit_block, escape, until
from tests.tui.pty.harness import PtyApp

RESTORED = (b"\x1b[?1049l", b"\x1b[?1003l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[<u")


def type_words(app: PtyApp, *words: str) -> None:
    """Type words, each seen on the screen before the next."""
    for word in words:
        app.write(f" {word}".encode())
        app.wait_for(word)


def hang_up(app: PtyApp) -> None:
    """Close the terminal, as a dropped connection does."""
    os.close(app.fd)
    app.fd, app._open = -1, False


def begin_generating(app: PtyApp) -> None:
    app.write(b"g")
    app.wait_for("what should happen next")
    app.write(ctrl("g"))
    app.wait_for("writing")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_restores(place: Place, number: int) -> None:
    before = place.custom("House style")
    with place.open() as app:
        edit_block(app, "House style")
        type_words(app, "quoin")
        app.write(b" forme")
        app.wait_for("forme")
        mark = len(app.output)
        app.signal(number)
        assert app.wait() == 128 + number
        end = bytes(app.output[mark:])
        assert all(sequence in end for sequence in RESTORED)
        assert b"Traceback" not in end
    assert place.custom("House style") == before + " quoin forme", "it is in the file already"


def test_the_terminal_goes_away(place: Place) -> None:
    before = place.custom("House style")
    with place.open() as app:
        edit_block(app, "House style")
        type_words(app, "quoin", "forme")
        hang_up(app)
        assert app.wait() == 128 + signal.SIGHUP
    assert place.custom("House style") == before + " quoin forme"


def test_a_terminal_that_sends_no_signal_goes_away(place: Place) -> None:
    """As when the editor was started by a program that gave it a terminal which is not its own."""
    before = place.custom("House style")
    with place.open(controlled=False) as app:
        edit_block(app, "House style")
        type_words(app, "quoin", "forme")
        hang_up(app)
        assert app.wait() == 128 + signal.SIGHUP
    assert place.custom("House style") == before + " quoin forme"


@pytest.mark.parametrize("seed", range(2))
def test_killed_while_typing(place: Place, seed: int) -> None:
    chance = random.Random(seed)
    words = [f"w{seed}x{number}" for number in range(chance.randint(1, 9))]
    before = place.custom("House style")
    with place.open() as app:
        edit_block(app, "House style")
        type_words(app, *words)
        app.drain(0.1)
        app.write(b" and more that is cut"[: chance.randint(0, 21)])
        app.read(chance.random() * 0.1)
        app.signal(signal.SIGKILL)
        assert app.wait() == -signal.SIGKILL
    with place.open() as app:
        app.write(b"q")
        assert app.wait() == 0
    typed = place.custom("House style").removeprefix(before)
    full = "".join(f" {word}" for word in words)
    assert typed.startswith(full), "what is shown reaches the journal within a moment"
    assert (full + " and more that is cut").startswith(typed)


def test_edits_come_back_and_can_be_undone(place: Place) -> None:
    before = place.config
    with place.open() as app:
        app.write(b" ")
        app.wait_for("✗ instructions")
        app.drain(0.1)
        app.signal(signal.SIGKILL)
        app.wait()
    if place.config == before:
        with place.open() as app:
            app.wait_for("✗ instructions")
            app.write(b"u")
            app.wait_for("✓ instructions")
            app.write(b"q")
            assert app.wait() == 0
        assert place.config == before
    else:
        assert place.config["overrides"]["instructions"]["enabled"] is False


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_a_passage_that_is_not_kept(place: Place, number: int) -> None:
    chain = (place.content / "prose-chain.json").read_bytes()
    with place.open() as app:
        begin_generating(app)
        until(lambda: [part for part in place.passages(".part") if part.stat().st_size > 40], "a passage on disk")
        app.signal(number)
        assert app.wait() == (-number if number == signal.SIGKILL else 128 + number)
    (part,) = place.passages(".part")
    text = part.read_text("utf-8")
    assert (place.content / "prose-chain.json").read_bytes() == chain, "nothing was kept by itself"
    with place.start() as app:
        app.wait_for("A passage is left over")
        (left,) = place.passages(".txt")
        assert left.read_text("utf-8") == text and left.stem == part.stem
        app.write(b"q")
        assert app.wait() == 0
    with place.open() as app:
        assert "left over" not in app.drain(0.5).data.decode("utf-8", "replace") + app.screen()
    assert place.passages("") == [left], "told of once, and still there"


def test_a_passage_of_a_running_program_is_its_own(place: Place) -> None:
    with place.open() as app:
        begin_generating(app)
        until(lambda: place.passages(".part"), "a passage on disk")
        with place.open() as other:
            other.drain(0.5)
            assert "left over" not in other.screen()
            other.write(b"q")
            assert other.wait() == 0
        assert place.passages(".part")
        app.write(ctrl("d"))
        until(lambda: not place.passages(""), "the discarded passage is gone")


def test_a_fault_that_ends_the_editor_is_one_line_and_loses_nothing(place: Place, tmp_path: Path) -> None:
    faulty = tmp_path / "faulty.py"
    faulty.write_text(
        "from tui import language\n"
        "from tui.app import StonehandApp\n"
        "from tui.widgets.block_list import BlockList\n"
        "def fail(*_): raise ZeroDivisionError('a fault in the program')\n"
        "def draw(self):\n"
        "    language.use('zh')\n"
        "    BlockList.render_line = fail\n"
        "    self.desk.blocks.refresh()\n"
        "StonehandApp.action_keys = draw\n"
        "from tui.__main__ import main\n"
        "main()\n"
    )
    before = place.custom("House style")
    with place.open(program=[sys.executable, str(faulty)]) as app:
        edit_block(app, "House style")
        type_words(app, "quoin")
        app.write(b"\x1bOP")
        assert app.wait() == 1
        assert b"Traceback" not in app.output
        end = bytes(app.output).rpartition(b"\x1b[?1049l")[2].decode()
        assert "a fault in the program —— 这是程序的缺陷；详情见" in end
    assert "ZeroDivisionError" in (place.state / "crash.log").read_text()
    with place.open() as app:
        app.write(b"q")
        assert app.wait() == 0
    assert place.custom("House style") == before + " quoin"


def test_quitting_asks_about_a_passage(place: Place) -> None:
    with place.open() as app:
        begin_generating(app)
        app.write(ctrl("q"))
        app.wait_for("Still writing")
        escape(app)
        app.wait_for(lambda screen: "Still writing" not in screen)
        app.write(ctrl("q"))
        app.wait_for("Still writing")
        app.write(b"d")
        assert app.wait() == 0
    assert not place.passages("")
