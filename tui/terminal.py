"""What kind of terminal this is and how to treat it. Imports no Textual: it has to run before Textual is imported.

Textual reads its settings from the environment once, when it is imported. `prepare_environ` sets them from the
profile; a `TEXTUAL_…` variable the user has set stays as it is. What the user has set (`tui.settings`) goes before what
suits the terminal; `NO_COLOR`, when it is not empty, means no colour at all (no-color.org).

The figures behind the defaults are in the spec, terminal, section 2.8.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

from tui.settings import Values

DARK_THEME, LIGHT_THEME = "stonehand-dark", "stonehand-light"
ANSI_DARK_THEME, ANSI_LIGHT_THEME = "ansi-dark", "ansi-light"


@dataclass(frozen=True, slots=True)
class TerminalProfile:
    """How to treat a terminal.

    `remote`: behind a network link. `colors`: how many it can show (0, 8, 16, 256 or 2**24). `fps`: paints a second
    at most. `theme`: the theme to begin with. `stream_rate`: updates a second while text streams in. `preview_delay`:
    seconds without typing before a preview is made. `diff`: send only what changed. `erases`: it can erase characters,
    and gives them the background that is set. `screen_reader`: a screen reader speaks what is on the screen.
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
    diff: bool = True
    erases: bool = True
    screen_reader: bool = False


def profile(environ: Mapping[str, str], chosen: Values | None = None) -> TerminalProfile:
    """The profile of the terminal that `environ` describes, with what the user has `chosen`."""
    chosen = chosen or Values()
    term = environ.get("TERM", "")
    remote = any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT", "MOSH_CONNECTION"))
    colors = _colors(environ)
    iterm = "iTerm2" in environ.get("LC_TERMINAL", "") or environ.get("TERM_PROGRAM") == "iTerm.app"
    return TerminalProfile(
        remote=remote,
        multiplexer=_multiplexer(environ),
        colors=colors,
        fps=chosen.fps or (30 if remote else 60),
        mouse=term not in ("linux", "dumb") if chosen.mouse is None else chosen.mouse,
        # With every key reported, iTerm2 can fail on the input of an input method.
        kitty_keys=not iterm if chosen.kitty_keys is None else chosen.kitty_keys,
        theme=chosen.theme or environ.get("TEXTUAL_THEME") or own_theme(environ, colors),
        stream_rate=4 if remote else 10,
        preview_delay=0.6 if remote else 0.25,
        diff=chosen.diff is not False,
        erases=_erases(environ),
        screen_reader=chosen.screen_reader is True,
    )


def prepare_environ(environ: MutableMapping[str, str] | None = None, chosen: Values | None = None) -> TerminalProfile:
    """Set Textual's settings in `environ` (the process's own by default) and return the profile they follow from.

    Has to be called before anything of Textual is imported.
    """
    if environ is None:
        environ = os.environ
    found = profile(environ, chosen)
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


def _erases(environ: Mapping[str, str]) -> bool:
    """Whether a terminal has ECH and erases to the background that is set (terminfo: `ech`, `bce`), as nearly all do.

    GNU screen erases to the default background; tmux calls itself `screen` in places, and can.
    """
    term = environ.get("TERM", "")
    if environ.get("STY") or (term.startswith("screen") and not environ.get("TMUX")):
        return False
    return term not in ("dumb", "ansi", "cons25", "sun") and not term.startswith("vt1")


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


def own_theme(environ: Mapping[str, str], colors: int) -> str:
    """The theme for a terminal: one made of 24-bit colours says nothing on 16, and NO_COLOR only turns one grey."""
    dark, light = (ANSI_DARK_THEME, ANSI_LIGHT_THEME) if colors <= 16 else (DARK_THEME, LIGHT_THEME)
    return light if _light_background(environ) else dark


def _light_background(environ: Mapping[str, str]) -> bool:
    """Whether the terminal says that it has a light background: COLORFGBG is `text;background`, two ANSI colours."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
