"""The program inside tmux, with tmux's own escape-time, as most people meet it behind SSH."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.place import COMMAND, Place, ready, until
from tests.tui.pty.harness import ROOT

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Tmux:
    """One tmux server of its own, with the program in its only pane."""

    def __init__(self, place: Place) -> None:
        self._server = ["tmux", "-S", str(place.home / "tmux"), "-f", os.devnull]
        environ = {
            key: value for key, value in os.environ.items() if not key.startswith(("TMUX", "STONEHAND", "COLOR"))
        }
        environ |= {"HOME": str(place.home), "TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        environ |= {"STONEHAND_STATE": str(place.state), "PYTHONPATH": str(ROOT), "SHELL": "/bin/sh"}
        command = [*COMMAND, str(place.data)]
        self._run("set", "-g", "default-terminal", "screen-256color", ";", "new-session", "-d", "-x", "110", "-y", "30",
                  "-s", "s", *command, env=environ)  # fmt: skip

    def _run(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run([*self._server, *arguments], capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def keys(self, *names: str) -> None:
        """Press keys, by tmux's names."""
        self._run("send-keys", "-t", "s", *names)

    def screen(self) -> str:
        return self._run("capture-pane", "-p", "-t", "s")

    def wait_for(self, what: str | Callable[[str], object]) -> str:
        end = time.monotonic() + 30
        while True:
            screen = self.screen()
            if what in screen if isinstance(what, str) else what(screen):
                return screen
            assert time.monotonic() < end, f"{what!r} never appeared:\n{screen}"
            time.sleep(0.05)

    @property
    def gone(self) -> bool:
        return subprocess.run([*self._server, "has-session"], capture_output=True, check=False).returncode != 0

    def end(self) -> None:
        subprocess.run([*self._server, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def tmux(place: Place) -> Iterator[Tmux]:
    found = Tmux(place)
    yield found
    found.end()


def test_a_session_in_tmux(place: Place, tmux: Tmux) -> None:
    tmux.wait_for(ready)
    order: list[str] = place.config["blockOrder"]
    tmux.keys("J")
    until(lambda: place.config["blockOrder"] != order, "the block is moved")
    assert place.config["blockOrder"].index("instructions") == order.index("instructions") + 1
    tmux.keys("M-Up")
    until(lambda: place.config["blockOrder"].index("instructions") == order.index("instructions"), "and moved back")
    tmux.keys("Space")
    until(lambda: not place.config["overrides"].get("instructions", {}).get("enabled", True), "the block is off")
    tmux.keys("u")
    until(lambda: place.config["overrides"].get("instructions", {}).get("enabled", True), "the block is on")
    tmux.keys("p")
    tmux.wait_for("[@block=instructions]")
    tmux.keys("Escape")
    tmux.wait_for(lambda screen: "[@block=" not in screen and "J/K" in screen)
    tmux.keys("q")
    until(lambda: tmux.gone, "the program has ended")
