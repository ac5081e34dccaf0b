"""Copying: what the terminal is sent, and where what it can't take goes."""

from __future__ import annotations

import base64
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from tui import clipboard
from tui.clipboard import OSC52_LIMIT, copy, wrap

PLAIN = {"TERM": "xterm-256color"}
HOSTILE = "a\x1b]0;PWNED\x07\x9b31m\x00漢字👩‍👩‍👧\r\n\u202e"


class Recorder:
    """A driver that keeps what is written to the terminal."""

    def __init__(self) -> None:
        self.written = ""

    def write(self, data: str) -> None:
        self.written += data


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App[None]:
    app: App[None] = App()
    app._driver = Recorder()  # type: ignore[assignment]
    monkeypatch.setattr(clipboard, "user_state_path", lambda *_, **__: tmp_path / "state")
    return app


def written(app: App[None]) -> str:
    driver: Any = app._driver
    return str(driver.written)


def decoded(sequence: str) -> str:
    match = re.fullmatch(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", sequence)
    assert match is not None, sequence
    return base64.b64decode(match[1]).decode()


@pytest.mark.parametrize("text", ["", "x", HOSTILE, "long " * 10_000])
def test_plain_terminal(app: App[None], text: str) -> None:
    result = copy(app, text, PLAIN)
    assert result.copied and result.path is None
    assert decoded(written(app)) == text == app.clipboard


def test_tmux_gets_both_forms(app: App[None]) -> None:
    copy(app, HOSTILE, {**PLAIN, "TMUX": "/tmp/tmux"})
    plain, envelope = written(app).split("\x1bPtmux;")
    assert decoded(plain) == HOSTILE
    assert envelope.endswith("\x1b\\")
    assert decoded(envelope.removesuffix("\x1b\\").replace("\x1b\x1b", "\x1b")) == HOSTILE


def test_screen_gets_short_strings(app: App[None]) -> None:
    copy(app, "word " * 400, {"TERM": "screen", "STY": "1.pts"})
    chunks = re.findall(r"\x1bP(.*?)\x1b\\", written(app), re.DOTALL)
    assert decoded("".join(chunks)) == "word " * 400
    assert len(chunks) > 1 and max(map(len, chunks)) < 256


def test_no_envelope_outside(app: App[None]) -> None:
    assert wrap("eA==", PLAIN) == ""


@pytest.mark.parametrize("environ", [PLAIN, {**PLAIN, "TMUX": "x"}])
def test_too_long_goes_to_a_file(app: App[None], tmp_path: Path, environ: dict[str, str]) -> None:
    text = HOSTILE + "x" * OSC52_LIMIT
    result = copy(app, text, environ)
    assert written(app) == ""
    assert result.path == tmp_path / "state" / "clipboard.txt" and str(result.path) in result.message
    assert result.path.read_bytes().decode() == text == app.clipboard
    if sys.platform != "win32":
        assert stat.S_IMODE(result.path.stat().st_mode) == 0o600


def test_the_file_is_replaced_and_stays_private(app: App[None], tmp_path: Path) -> None:
    path = tmp_path / "state" / "clipboard.txt"
    path.parent.mkdir()
    path.write_text("y" * 2 * OSC52_LIMIT)
    path.chmod(0o644)
    copy(app, "x" * OSC52_LIMIT, PLAIN)
    assert path.read_text() == "x" * OSC52_LIMIT
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_limit_is_what_is_sent(app: App[None]) -> None:
    assert copy(app, "x" * (OSC52_LIMIT // 4 * 3), PLAIN).path is None
    assert copy(app, "x" * (OSC52_LIMIT // 4 * 3 + 1), PLAIN).path is not None


def test_a_terminal_without_a_clipboard(app: App[None]) -> None:
    result = copy(app, "text", {**PLAIN, "TERM_PROGRAM": "Apple_Terminal"})
    assert result.path is not None and result.path.read_text() == "text" and written(app) == ""


def test_nowhere_to_write(app: App[None], tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the way")
    result = copy(app, "x" * OSC52_LIMIT, PLAIN)
    assert not result.copied and "not copied" in result.message and "\n" not in result.message
    assert app.clipboard == "x" * OSC52_LIMIT


def test_surrogates(app: App[None]) -> None:
    copy(app, "a\ud800b", PLAIN)
    assert decoded(written(app)) == "a?b"
