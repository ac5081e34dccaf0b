"""A home of its own for the program: a data folder, a state folder, nothing inherited."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.library import sample_library
from tests.tui.pty.harness import PtyApp

SCRIPT = Path(sys.executable).with_name("stonehand")
COMMAND = [str(SCRIPT)] if SCRIPT.is_file() else [sys.executable, "-m", "tui"]

ENTER, ESCAPE, TAB = b"\r", b"\x1b", b"\t"
UP, DOWN, ALT_UP, ALT_DOWN = b"\x1b[A", b"\x1b[B", b"\x1b[1;3A", b"\x1b[1;3B"
CTRL_END, CTRL_HOME, F7 = b"\x1b[1;5F", b"\x1b[1;5H", b"\x1b[18~"


def ctrl(letter: str) -> bytes:
    return bytes([ord(letter) & 31])


def pasted(text: str | bytes) -> bytes:
    """What a terminal sends for a paste."""
    return b"\x1b[200~" + (text.encode() if isinstance(text, str) else text) + b"\x1b[201~"


class Place:
    """Folders of one user, and the program started in them."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.home.mkdir()
        self.data = root / "data"
        self.state = root / "state"

    def with_sample(self) -> Place:
        shutil.copytree(sample_library(), self.data / "stories")
        return self

    @property
    def content(self) -> Path:
        """The active branch of the one story."""
        (story,) = (self.data / "stories").iterdir()
        return story / "branches" / "main"

    @property
    def config_file(self) -> Path:
        return self.content / "agent-blocks" / "generation.writer.json"

    @property
    def config(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.config_file.read_bytes())
        return found

    def custom(self, name: str) -> str:
        """The text of the custom block of this name, as the file has it."""
        (block,) = (block for block in self.config["customBlocks"] if block["name"] == name)
        return str(block["content"])

    def files(self) -> dict[str, bytes]:
        """Every file of the data folder."""
        return {str(file.relative_to(self.data)): file.read_bytes() for file in self.data.rglob("*") if file.is_file()}

    def passages(self, suffix: str) -> list[Path]:
        """Recorded passages: `.part` while they are open, `.txt` when they were left over."""
        return sorted((self.state / "passages").glob(f"*{suffix}"))

    def start(
        self,
        *,
        data: bool = True,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] = COMMAND,
        prefix: Sequence[str] = (),
        cwd: Path | None = None,
        **terminal: Any,
    ) -> PtyApp:
        """The program, not waited for. `prefix` is a command that runs it; without `data` no folder is named."""
        environ = {
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "share"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "STONEHAND_STATE": str(self.state),
            **(env or {}),
        }
        command = [*prefix, *program, *([str(self.data)] if data else [])]
        if cwd is not None:
            command = ["sh", "-c", 'cd "$0" && exec "$@"', str(cwd), *command]
        return PtyApp(command, env=environ, **terminal)

    def open(self, **how: Any) -> PtyApp:
        """The program, its block list on the screen and at rest."""
        app = self.start(**how)
        try:
            app.wait_for(ready, 40)
            app.drain(0.3)
        except BaseException:
            app.close()
            raise
        return app


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path).with_sample()


def ready(screen: str) -> bool:
    """Whether the writer's blocks are listed and the scripts among them have run."""
    return "instructions" in screen and re.search(r"~\d[\d.]*k?/\d", screen) is not None


def row_order(screen: str, *names: str) -> list[str]:
    """Those of `names` that stand in the block list, from top to bottom."""
    lines = [line.split("││")[1] for line in screen.split("\n") if line.count("││") > 1]
    return [name for line in lines for name in names if f" {name} " in line]


def under_cursor(screen: str) -> str:
    """The row of the block list on which the cursor stands."""
    marked = [line.split("││")[1] for line in screen.split("\n") if line.count("││") > 1 and "││›" in line]
    return marked[0] if marked else ""


def escape(app: PtyApp) -> None:
    """Press escape, and wait so long that the next key is one of its own and not one with alt."""
    app.write(ESCAPE)
    app.drain(0.25, first=0.25, limit=0.25)


def listed(screen: str) -> int:
    """How many blocks the list shows."""
    return sum(line.count(" sys ") + line.count(" usr ") for line in screen.split("\n"))


def go_to(app: PtyApp, name: str) -> None:
    """Put the cursor of the list on a block, by the filter, and clear the filter again."""
    app.write(b"/")
    app.wait_for("enter keeps")
    app.write(name.encode() + ENTER)
    app.wait_for(lambda screen: name in under_cursor(screen) and listed(screen) < 5)
    app.write(ESCAPE)
    app.wait_for(lambda screen: name in under_cursor(screen) and listed(screen) > 5)


def edit_block(app: PtyApp, name: str) -> None:
    """Go to a block and into its text, to the end of it."""
    go_to(app, name)
    app.write(b"e")
    app.wait_for(lambda screen: "$EDITOR" in screen.split("\n")[-1])
    app.write(CTRL_END)
    app.drain(0.15)


def has_ended(app: PtyApp) -> bool:
    """Whether the program has ended, which is found out without reading what it wrote."""
    if app.exit_status is None:
        pid, status = os.waitpid(app.pid, os.WNOHANG)
        if pid:
            app.exit_status = os.waitstatus_to_exitcode(status)
    return app.exit_status is not None


def until(condition: Callable[[], object], what: str, seconds: float = 20) -> None:
    """Wait for something that does not show on the screen."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: it did not come about in time"
        time.sleep(0.03)
