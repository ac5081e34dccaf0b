"""The editor under test: opened on a data folder, driven by keys, looked at as the terminal would show it."""

from __future__ import annotations

import asyncio
import json
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual._context import visible_screen_stack
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input

from engine.document import SaveState
from engine.session import Session
from engine.workspace import WRITER, Workspace
from tests.stories import config_file
from tui.app import StonehandApp
from tui.screens.desk import DeskScreen
from tui.widgets.bars import KeyBar
from tui.widgets.block_list import BlockList
from tui.widgets.inspector import Inspector
from tui.widgets.text_editor import TextEditor

BIDI = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""What turns the direction of text around."""
PATIENCE = 15.0
"""Seconds to wait for something that has to happen."""


class Editor:
    """A running app. Waiting is always for something that can be seen, never for a time."""

    def __init__(self, app: StonehandApp, pilot: Pilot[int], workspace: Workspace) -> None:
        self.app = app
        self.pilot = pilot
        self.workspace = workspace

    # -- its parts

    @property
    def desk(self) -> DeskScreen:
        assert self.app.desk is not None
        return self.app.desk

    @property
    def session(self) -> Session:
        assert self.desk.session is not None
        return self.desk.session

    @property
    def blocks(self) -> BlockList:
        return self.desk.blocks

    @property
    def inspector(self) -> Inspector:
        return self.desk.inspector

    @property
    def text(self) -> TextEditor:
        editor = self.inspector.editor
        assert editor is not None
        return editor

    @property
    def said(self) -> str:
        """The message in the key bar of the screen in front."""
        return self.app.screen.query_one(KeyBar).message

    @property
    def toasts(self) -> list[str]:
        return [notification.message for notification in self.app._notifications]

    @property
    def focus(self) -> str:
        """The id of the focused widget, or its class."""
        focused = self.app.focused
        return "" if focused is None else focused.id or type(focused).__name__

    # -- keys and mouse

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        """Type characters, each as a key of its own."""
        names = {" ": "space", "\n": "enter"}
        await self.pilot.press(*(names.get(char, char) for char in text))

    async def goto(self, key: str) -> None:
        """Move the cursor of the list to a block, by keys."""
        keys = [row.key for row in self.blocks.rows]
        await self.press("home", *["j"] * (keys.index(key) if key in keys else 0))
        for _ in range(200):
            if self.blocks.key == key:
                break
            await self.press("j")
        assert self.blocks.key == key, f"{key} is not in the list:\n{self.grid()}"
        await self.until(lambda: self.inspector.row is not None and self.inspector.row.key == key)

    async def until(self, predicate: Callable[[], object], what: str = "") -> None:
        """Wait until something holds."""
        end = time.monotonic() + PATIENCE
        while not predicate():
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain {f'for {what} ' if what else ''}in front of\n{self.grid()}")
            # Not the pilot's pause, which waits until the process is idle: a script may be running.
            await asyncio.sleep(0.01)

    async def saved(self) -> None:
        """Wait until every edit is in its file."""
        await self.until(
            lambda: self.session.document.state is SaveState.SAVED and not self.session.document.saving, "the save"
        )

    async def listed(self) -> None:
        """Wait until the list shows everything evaluated."""
        await self.until(lambda: self.session.rows and not self.session.waiting, "the list")

    # -- what the screen shows

    def strips(self) -> list[Strip]:
        """The screen in front, with what is behind a dialog."""
        # As Textual before it draws a frame; without, what is behind is blank unless it was drawn just before.
        visible_screen_stack.set(self.app._background_screens)
        return self.app.screen._compositor.render_strips()

    def lines(self) -> list[str]:
        """The screen in front, as text."""
        return [strip.text for strip in self.strips()]

    def grid(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines()) + "\n"

    def shows(self, text: str) -> bool:
        """Whether a text is on the screen, in one line."""
        return any(text in line for line in self.lines())

    def list_lines(self) -> list[str]:
        """The lines of the block list, words one space apart."""
        return [" ".join(self.blocks.render_line(y).text.split()) for y in range(self.blocks.size.height)]

    def line_of(self, name: str) -> str:
        """The line of the list that shows a block."""
        found = [line for line in self.list_lines() if name in line]
        assert len(found) == 1, (name, self.list_lines())
        return found[0]

    def listed_names(self) -> list[str]:
        """Names of the blocks that are sent, in the order the list draws them, read off its rows."""
        rows = {row.name: row for row in self.blocks.rows}
        return [row.name for row in rows.values() if row.state == "compiled"]

    def field(self, selector: str) -> str:
        return self.app.screen.query_one(selector, Input).value

    # -- what is on disk

    def file(self, agent: str = WRITER, branch: str | None = None) -> Path:
        folder = self.workspace.data / "stories" / self.session.story
        return config_file(folder, agent, branch or self.session.branch)

    def config(self, agent: str = WRITER, branch: str | None = None) -> dict[str, Any]:
        """A block config as its file holds it; empty when there is no file."""
        file = self.file(agent, branch)
        return json.loads(file.read_text("utf-8")) if file.exists() else {}

    def custom(self, name: str) -> dict[str, Any]:
        """The custom block of a name, from the file."""
        return next(block for block in self.config()["customBlocks"] if block["name"] == name)


def control_characters(lines: list[str]) -> list[str]:
    """What a terminal would obey in some lines."""
    return [char for char in "".join(lines) if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in BIDI]
