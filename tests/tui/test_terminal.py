"""The terminal profile and the settings made from it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tui.settings import Values
from tui.terminal import prepare_environ, profile

TRUECOLOR = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


def test_a_modern_local_terminal() -> None:
    found = profile(TRUECOLOR)
    assert (found.remote, found.fps, found.mouse, found.kitty_keys) == (False, 60, True, True)
    assert found.colors == 2**24 and found.theme == "stonehand-dark" and not found.screen_reader


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SSH_TTY"])
def test_ssh_is_slower(name: str) -> None:
    local, remote = profile(TRUECOLOR), profile({**TRUECOLOR, name: "10.0.0.1 1 10.0.0.2 22"})
    assert remote.remote
    assert remote.fps < local.fps
    assert remote.stream_rate < local.stream_rate
    assert remote.preview_delay > local.preview_delay


@pytest.mark.parametrize(
    ("environ", "colors"),
    [
        ({"TERM": "xterm-256color"}, 256),
        ({"TERM": "tmux-256color", "TMUX": "x"}, 256),
        ({"TERM": "xterm"}, 16),
        ({"TERM": "linux"}, 16),
        ({"TERM": "vt100"}, 8),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, 0),
        ({**TRUECOLOR, "NO_COLOR": "1"}, 0),
        ({**TRUECOLOR, "NO_COLOR": ""}, 2**24),
    ],
)
def test_colors(environ: dict[str, str], colors: int) -> None:
    found = profile(environ)
    assert found.colors == colors
    assert found.theme == ("ansi-dark" if colors <= 16 else "stonehand-dark")


def test_a_light_background() -> None:
    assert profile({"TERM": "xterm", "COLORFGBG": "0;15"}).theme == "ansi-light"
    assert profile({"TERM": "xterm", "COLORFGBG": "15;0"}).theme == "ansi-dark"
    assert profile({**TRUECOLOR, "COLORFGBG": "0;15"}).theme == "stonehand-light"


def test_special_terminals() -> None:
    assert not profile({**TRUECOLOR, "LC_TERMINAL": "iTerm2"}).kitty_keys
    assert not profile({"TERM": "linux"}).mouse
    assert profile({**TRUECOLOR, "TMUX": "/tmp/x"}).multiplexer == "tmux"
    assert profile({"TERM": "screen", "STY": "1.x"}).multiplexer == "screen"


def test_the_user_decides() -> None:
    environ = {"TERM": "linux", "LC_TERMINAL": "iTerm2", "NO_COLOR": "1"}
    chosen = Values(fps=15, mouse=True, kitty_keys=True, theme="nord", diff=False, screen_reader=True)
    found = profile(environ, chosen)
    assert (found.fps, found.mouse, found.kitty_keys, found.theme) == (15, True, True, "nord")
    assert profile({**TRUECOLOR, "TEXTUAL_THEME": "gruvbox"}).theme == "gruvbox"
    assert (found.diff, found.screen_reader) == (False, True)
    assert (profile(environ).diff, profile(environ).screen_reader) == (True, False)
    assert not profile(TRUECOLOR, Values(mouse=False)).mouse


def test_prepare_environ() -> None:
    environ = {**TRUECOLOR, "SSH_TTY": "/dev/pts/1", "NO_COLOR": "1"}
    prepare_environ(environ, Values(kitty_keys=False))
    assert environ["TEXTUAL_FPS"] == "30"
    assert environ["TEXTUAL_ANIMATIONS"] == "none"
    assert environ["TEXTUAL_SMOOTH_SCROLL"] == "0"
    assert environ["TEXTUAL_DISABLE_KITTY_KEY"] == "1"
    assert environ["TEXTUAL_THEME"] == "ansi-dark"
    assert environ["NO_COLOR"] == "1"


def test_settings_of_the_user_stay() -> None:
    environ = {**TRUECOLOR, "TEXTUAL_FPS": "7", "TEXTUAL_ANIMATIONS": "full", "TEXTUAL_THEME": "nord", "NO_COLOR": ""}
    prepare_environ(environ)
    assert (environ["TEXTUAL_FPS"], environ["TEXTUAL_ANIMATIONS"]) == ("7", "full")
    assert "TEXTUAL_THEME" not in environ, "the app sets the theme: Textual fails at one it does not know"
    assert "TEXTUAL_DISABLE_KITTY_KEY" not in environ
    assert "NO_COLOR" not in environ, "an empty one does not count"


def test_a_dumb_terminal_gets_few_colours() -> None:
    environ = {"TERM": "dumb"}
    prepare_environ(environ)
    assert environ["TEXTUAL_COLOR_SYSTEM"] == "standard"


def test_imports_no_textual_and_textual_obeys() -> None:
    code = (
        "import os, sys; from tui.settings import read_settings; from tui.terminal import prepare_environ;"
        "prepare_environ(chosen=read_settings(os.environ).values);"
        "assert not any(name.split('.')[0] in ('textual', 'rich') for name in sys.modules);"
        "from textual import constants; print(constants.MAX_FPS, constants.DISABLE_KITTY_KEY, constants.SMOOTH_SCROLL)"
    )
    environ = {**TRUECOLOR, "STONEHAND_FPS": "12", "LC_TERMINAL": "iTerm2", "PYTHONPATH": ":".join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["12", "True", "False"], result.stderr


def test_what_is_erased_gets_the_background_where_the_terminal_does_so() -> None:
    for environ in ({"TERM": "xterm-256color"}, {"TERM": "screen-256color", "TMUX": "/tmp/tmux"}, {"TERM": "linux"}):
        assert profile(environ).erases
    for environ in ({"TERM": "screen"}, {"TERM": "xterm", "STY": "1.tty"}, {"TERM": "vt100"}, {"TERM": "dumb"}):
        assert not profile(environ).erases
