"""What kind of terminal this is and how to treat it. Imports no Textual: it has to run before Textual is imported.

Textual reads its settings from the environment once, when it is imported. `prepare_environ` sets them from the
profile; a `TEXTUAL_…` variable the user has set stays as it is. The user decides with:

    STONEHAND_FPS            frames a second, 1 to 120 (default 60, over SSH 30)
    STONEHAND_MOUSE          1 or 0 (default 1, on a Linux console and a dumb terminal 0)
    STONEHAND_KITTY_KEYS     1 or 0: ask for the Kitty keyboard protocol (default 1, in iTerm2 0)
    STONEHAND_THEME          the name of a theme
    STONEHAND_SCREEN_READER  1 or 0: words in place of signs, one pane at a time, a line that says what happens
    STONEHAND_DIFF           1 or 0: send only what changed (default 1; read by `tui.diff_display`)
    NO_COLOR                 not empty: no colour at all (no-color.org)

The figures behind the defaults are in the spec, terminal, section 2.8.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

from engine.errors import WrongInput

DARK_THEME, LIGHT_THEME = "stonehand-dark", "stonehand-light"
ANSI_DARK_THEME, ANSI_LIGHT_THEME = "ansi-dark", "ansi-light"

_MAX_FPS = 120


@dataclass(frozen=True, slots=True)
class TerminalProfile:
    """How to treat a terminal.

    `remote`: behind a network link. `colors`: how many it can show (0, 8, 16, 256 or 2**24). `fps`: paints a second
    at most. `theme`: the theme to begin with. `stream_rate`: updates a second while text streams in. `preview_delay`:
    seconds without typing before a preview is made. `screen_reader`: a screen reader speaks what is on the screen.
    """

    remote: bool
    multiplexer: str | None
    colors: int
    fps: int
    mouse: bool
    kitty_keys: bool
    theme: str
    stream_rate: int
    preview_delay: float
    screen_reader: bool = False


def profile(environ: Mapping[str, str]) -> TerminalProfile:
    """The profile of the terminal that `environ` describes.

    Raises WrongInput when a STONEHAND_ variable holds no acceptable value.
    """
    term = environ.get("TERM", "")
    remote = any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT", "MOSH_CONNECTION"))
    colors = _colors(environ)
    iterm = "iTerm2" in environ.get("LC_TERMINAL", "") or environ.get("TERM_PROGRAM") == "iTerm.app"
    return TerminalProfile(
        remote=remote,
        multiplexer=_multiplexer(environ),
        colors=colors,
        fps=_number(environ, "STONEHAND_FPS", 30 if remote else 60, _MAX_FPS),
        mouse=_switch(environ, "STONEHAND_MOUSE", term not in ("linux", "dumb")),
        # With every key reported, iTerm2 can fail on the input of an input method.
        kitty_keys=_switch(environ, "STONEHAND_KITTY_KEYS", not iterm),
        theme=environ.get("STONEHAND_THEME") or environ.get("TEXTUAL_THEME") or _theme(environ, colors),
        stream_rate=4 if remote else 10,
        preview_delay=0.6 if remote else 0.25,
        screen_reader=_switch(environ, "STONEHAND_SCREEN_READER", False),
    )


def prepare_environ(environ: MutableMapping[str, str] | None = None) -> TerminalProfile:
    """Set Textual's settings in `environ` (the process's own by default) and return the profile they follow from.

    Has to be called before anything of Textual is imported. Raises WrongInput as `profile` does.
    """
    if environ is None:
        environ = os.environ
    found = profile(environ)
    settings = {
        "TEXTUAL_FPS": str(found.fps),
        "TEXTUAL_ANIMATIONS": "none",
        # Smooth scrolling brings mouse reports in pixels and another way to report resizes, and is of no use here.
        "TEXTUAL_SMOOTH_SCROLL": "0",
    }
    if not found.kitty_keys:
        settings["TEXTUAL_DISABLE_KITTY_KEY"] = "1"
    # The app sets the theme; Textual has to know before only whether colours are the terminal's own, and dies of a name
    # that it does not know.
    environ.pop("TEXTUAL_THEME", None)
    if found.theme in (ANSI_DARK_THEME, ANSI_LIGHT_THEME):
        settings["TEXTUAL_THEME"] = found.theme
    if environ.get("TERM") == "dumb":
        # Taken for a terminal with 24-bit colours otherwise.
        settings["TEXTUAL_COLOR_SYSTEM"] = "standard"
    for name, value in settings.items():
        environ.setdefault(name, value)
    if environ.get("NO_COLOR") == "":
        # Set but empty does not count (no-color.org); Textual only asks whether it is there.
        del environ["NO_COLOR"]
    return found


def _multiplexer(environ: Mapping[str, str]) -> str | None:
    """`tmux`, `screen` or None."""
    if environ.get("TMUX"):
        return "tmux"
    if environ.get("STY"):
        return "screen"
    return None


def _colors(environ: Mapping[str, str]) -> int:
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR") or term == "dumb":
        return 0
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return 1 << 24
    if "256color" in term or term in ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm"):
        return 256
    if not term and os.name == "nt":
        return 1 << 24
    return 8 if term.startswith("vt") else 16


def _theme(environ: Mapping[str, str], colors: int) -> str:
    """The theme for a terminal: one made of 24-bit colours says nothing on 16, and NO_COLOR only turns one grey."""
    dark, light = (ANSI_DARK_THEME, ANSI_LIGHT_THEME) if colors <= 16 else (DARK_THEME, LIGHT_THEME)
    return light if _light_background(environ) else dark


def _light_background(environ: Mapping[str, str]) -> bool:
    """Whether the terminal says that it has a light background: COLORFGBG is `text;background`, two ANSI colours."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _switch(environ: Mapping[str, str], name: str, default: bool) -> bool:
    value = environ.get(name, "")
    if value not in ("", "0", "1"):
        raise WrongInput(f"{name} is {value!r}", repair="set it to 1 or 0")
    return default if not value else value == "1"


def _number(environ: Mapping[str, str], name: str, default: int, maximum: int) -> int:
    value = environ.get(name, "")
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= maximum):
        raise WrongInput(f"{name} is {value!r}", repair=f"set it to a whole number from 1 to {maximum}")
    return int(value)
