"""Copying text to the user's clipboard through the terminal, wherever that is.

OSC 52 asks the terminal to set the clipboard; it works over SSH, says nothing back, and has a limit of its own in
most terminals. What can't go that way is written to a file, and the user is told which.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_state_path
from textual.app import App

from tui.language import t

OSC52_LIMIT = 74_000
"""The longest base64 text to send: the smallest limit among common terminals, rounded down."""

_FILE_NAME = "clipboard.txt"
# GNU screen drops a control string that is longer than its buffer.
_SCREEN_CHUNK = 240


@dataclass(frozen=True, slots=True)
class CopyResult:
    """What became of a copy: `message` for the user, `path` when it is in a file, `copied` False when it is nowhere."""

    message: str
    path: Path | None = None
    copied: bool = True


def copy(app: App[Any], text: str, environ: Mapping[str, str] | None = None) -> CopyResult:
    """Put `text` on the clipboard, or into a file in the user's state folder; tell what happened.

    The app's own clipboard, from which ctrl+v pastes, always has it. `environ` is the process's by default.
    """
    environ = os.environ if environ is None else environ
    # A lone surrogate can't be encoded; everything else goes through untouched, as base64.
    text = text.encode("utf-8", "replace").decode()
    data = base64.b64encode(text.encode()).decode("ascii")
    if environ.get("TERM_PROGRAM") == "Apple_Terminal" and not environ.get("TMUX"):
        return _to_file(app, text, t("copy.no-clipboard"))
    if len(data) > OSC52_LIMIT:
        return _to_file(app, text, t("copy.too-long"))
    app.copy_to_clipboard(text)
    wrapped = wrap(data, environ)
    if wrapped and app._driver is not None:
        app._driver.write(wrapped)
    return CopyResult(t("copy.copied", count=len(text)))


def wrap(data: str, environ: Mapping[str, str]) -> str:
    """OSC 52 with base64 `data` in the envelope that takes it through a terminal multiplexer; empty outside of one.

    tmux sets the clipboard itself when `set-clipboard` is on, and passes the envelope on when `allow-passthrough`
    is: the plain sequence and the envelope are both needed, for either may be off.
    """
    sequence = f"\x1b]52;c;{data}\x07"
    if environ.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environ.get("STY"):
        chunks = (sequence[start : start + _SCREEN_CHUNK] for start in range(0, len(sequence), _SCREEN_CHUNK))
        return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)
    return ""


def _to_file(app: App[Any], text: str, reason: str) -> CopyResult:
    app._clipboard = text
    path = user_state_path("stonehand", appauthor=False) / _FILE_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Only the owner may read it: it may hold anything the user wrote.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o600)
            file.write(text)
    except OSError as error:
        return CopyResult(t("copy.not-copied", reason=reason, file=path, error=error.strerror), copied=False)
    return CopyResult(t("copy.to-file", reason=reason, count=len(text), file=path), path)
