"""A field for the path of a file, which tab completes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from textual import events
from textual.message import Message

from engine.text import common_prefix
from tui.widgets.line_input import LineInput

SHOWN = 8
"""Names that are told of at most when several would do."""


class PathInput(LineInput):
    """A path: `~` is the user's own folder, tab completes what is typed. Tab leaves a field that it can't complete."""

    class Completions(Message):
        """Several names begin like this: those, as far as they are shown."""

        def __init__(self, names: tuple[str, ...]) -> None:
            super().__init__()
            self.names = names

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "tab" and self.cursor_position == len(self.value):
            # Prevented at once: what is done with a key is decided before the folder has been read.
            event.stop()
            event.prevent_default()
            typed = self.value
            completed, names = await asyncio.to_thread(complete, typed)
            if self.value != typed:
                return
            if completed == typed and len(names) < 2:
                self.screen.focus_next()
                return
            self.value = completed
            self.cursor_position = len(completed)
            shown = names[:SHOWN]
            self.post_message(self.Completions((*shown, "…") if len(names) > SHOWN else shown))
            return
        await super()._on_key(event)


def complete(typed: str) -> tuple[str, tuple[str, ...]]:
    """What is typed of a path, with as much more as is certain, and the names it may still become, sorted.

    A folder that is the only one possible ends with a separator. Hidden names are offered to who types a dot. A folder
    that can't be read completes nothing. Waits for the disk.
    """
    head, name = os.path.split(typed)
    folder = _expanded(head or os.curdir)
    try:
        with os.scandir(folder) as entries:
            found = {
                entry.name: entry.is_dir()
                for entry in entries
                if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith("."))
            }
    except (OSError, ValueError):
        return typed, ()
    names = tuple(sorted(f"{item}{os.sep}" if is_folder else item for item, is_folder in found.items()))
    if not names:
        return typed, ()
    common = names[0][: common_prefix(names[0], names[-1])]  # of sorted names, the outer ones share the least
    return (typed if common == name else os.path.join(head, common)), names


def full_path(typed: str) -> Path:
    """The path that is meant, `~` and all; from the folder the program was started in. Never raises."""
    return Path(os.path.abspath(_expanded(typed.strip())))


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)  # there is no such user


def short_path(path: Path) -> str:
    """A path as its user would write it: with `~` where it begins with their own folder."""
    home = Path.home()
    if path.is_relative_to(home) and path != home:
        return str(Path("~") / path.relative_to(home))
    return str(path)
