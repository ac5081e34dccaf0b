"""Terminals, locales and sizes in which the program has to start, show the list and leave."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.place import COMMAND, Place, ctrl, escape, go_to, row_order, until


@pytest.mark.parametrize(
    ("env", "terminal"),
    [
        ({}, {"term": "dumb", "truecolor": False, "sync": False}),
        ({}, {"term": "linux", "truecolor": False, "sync": False}),
        ({}, {"term": "xterm", "truecolor": False}),
        ({"NO_COLOR": "1"}, {}),
        ({"TMUX": "/tmp/tmux-0/default,1,0"}, {"term": "tmux-256color", "truecolor": False}),
        ({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, {"truecolor": False}),
        ({"LANG": "C", "LC_ALL": "C"}, {}),
        ({"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {}),
        ({"LC_ALL": "xx_XX.nothing"}, {"columns": 80, "rows": 24}),
    ],
    ids=["dumb", "linux", "xterm", "no-color", "tmux", "ssh", "c-locale", "ascii", "unknown-locale"],
)
def test_it_starts_and_leaves(place: Place, env: Mapping[str, str], terminal: dict[str, Any]) -> None:
    with place.open(env=env, **terminal) as app:
        assert "House style" in app.screen()
        if "NO_COLOR" in env or terminal.get("term") in ("dumb", "linux", "xterm"):
            assert b"38;2;" not in app.output and b"48;2;" not in app.output
        app.write(b"j ")
        app.wait_for("off")
        app.write(b"q")
        assert app.wait() == 0
        assert b"Traceback" not in app.output
    assert place.config["overrides"]["system-fragments"] == {"enabled": False}


def test_copying_in_tmux_is_wrapped(place: Place) -> None:
    with place.open(env={"TMUX": "/tmp/tmux-0/default,1,0"}) as app:
        go_to(app, "House style")
        start = len(app.output)
        app.write(b"y")
        app.wait_for("copied")
        data = base64.b64encode(place.custom("House style").encode())
        sent = bytes(app.output[start:])
        assert b"\x1bPtmux;\x1b\x1b]52;c;" + data + b"\x07\x1b\\" in sent
        assert b"\x1b]52;c;" + data + b"\x07" in sent


def test_starting_and_quitting_at_once(place: Place) -> None:
    before = place.files()
    for _ in range(2):
        with place.start() as app:
            until(lambda: app.read(0.05) and b"\x1b[?2004h" in app.output, "it reads the keys")
            app.write(ctrl("q"))
            assert app.wait(30) == 0
            assert b"Traceback" not in app.output
    assert place.files() == before


def test_without_a_terminal(place: Place) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "STONEHAND_STATE": str(place.state)}
    done = subprocess.run(
        [*COMMAND, str(place.data)], input="", capture_output=True, text=True, env=env, timeout=60, check=False
    )
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "needs a terminal" in done.stderr


@pytest.mark.parametrize("what", ["no stories", "an empty library"])
def test_a_folder_without_a_story(place: Place, tmp_path: Path, what: str) -> None:
    shutil.rmtree(place.data / "stories")
    if what == "no stories":
        with place.start() as app:
            assert app.wait() == 1
            told = app.screen().replace("\n", "")
            assert "there is no stories folder here" in told and "give the folder that holds" in told
            assert b"\x1b[?1049h" not in app.output
    else:
        (place.data / "stories").mkdir()
        with place.start() as app:
            app.wait_for("there is no story")
            app.write(b"s")
            escape(app)
            app.write(ctrl("q"))
            assert app.wait() == 0


def test_resizing_while_in_use(place: Place) -> None:
    with place.open() as app:
        for columns, rows in ((200, 60), (80, 24), (20, 5), (1, 1), (60, 20), (300, 8), (2, 40), (120, 40)):
            app.resize(columns, rows)
            app.write(b"j")
            app.drain(0.05, first=0.1)
        names = ("instructions", "House style", "story-info", "Pacing")
        app.wait_for(lambda screen: row_order(screen, *names) == list(names) and "J/K move" in screen)
        app.write(b"q")
        assert app.wait() == 0
        assert b"Traceback" not in app.output


def test_drawing_again_over_a_garbled_screen(place: Place) -> None:
    with place.open() as app:
        screen = app.screen()
        app._stream.feed(b"\x1b[H\x1b[2Jwall: the system goes down")
        assert "Pacing" not in app.screen()
        app.write(ctrl("l"))
        app.wait_for(lambda now: now == screen)


def test_waiting_sends_nothing(place: Place) -> None:
    with place.open() as app:
        app.drain(1.0)
        assert app.drain(5.0, first=5.0, limit=5.0).data == b""


def test_being_stopped_and_going_on(place: Place) -> None:
    def state(pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc")
    with place.open() as app:
        screen = app.screen()
        start = len(app.output)
        app.signal(signal.SIGTSTP)
        until(lambda: state(app.pid) == "T", "the program is stopped")
        app.drain(0.2)
        assert b"\x1b[?1049l" in app.output[start:] and b"\x1b[?1003l" in app.output[start:]
        app._stream.feed(b"\x1b[H\x1b[2J$ ")
        app.signal(signal.SIGCONT)
        app.wait_for(lambda now: now == screen)
        app.write(b" ")
        app.wait_for("✗ instructions")
        app.write(b"q")
        assert app.wait() == 0
