"""What the user has set: `settings.toml` in the config folder, each value overridden by a variable of the environment.

    language       STONEHAND_LANGUAGE        "en" or "zh"; left out, that of the locale
    theme          STONEHAND_THEME           the name of a theme
    mouse          STONEHAND_MOUSE           use the mouse
    fps            STONEHAND_FPS             frames a second, 1 to 120
    kitty_keys     STONEHAND_KITTY_KEYS      ask for the Kitty keyboard protocol
    diff           STONEHAND_DIFF            send only what changed
    screen_reader  STONEHAND_SCREEN_READER   suit a screen reader

Switches are true or false in the file, 1 or 0 in the environment, where an empty value counts as none. Imports no
Textual: what is set here decides how Textual is set up before it is imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from engine.folders import config_folder
from tui.language import LANGUAGES, LazyText

FILE = "settings.toml"
_MAX_FPS = 120


@dataclass(frozen=True, slots=True)
class Values:
    """The settings; None for what was not set, or not to anything that can be used."""

    language: str | None = None
    theme: str | None = None
    mouse: bool | None = None
    fps: int | None = None
    kitty_keys: bool | None = None
    diff: bool | None = None
    screen_reader: bool | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What `read_settings` found: `problems` holds a line for each value that is ignored, `file` is the user's,
    `theme_place` says where the theme was set.
    """

    values: Values = Values()
    problems: tuple[LazyText, ...] = ()
    file: Path | None = None
    theme_place: str = ""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a setting may be: `accepts` a value of the file, `parse` makes one of the environment's text."""

    expected: LazyText
    accepts: Callable[[Any], bool]
    parse: Callable[[str], object] = str


_SWITCH = _Kind(
    LazyText("settings.switch"),
    lambda value: isinstance(value, bool),
    lambda text: {"1": True, "0": False}.get(text),
)
_KINDS: dict[str, _Kind] = {
    "language": _Kind(
        LazyText("settings.language", languages=", ".join(LANGUAGES)),
        lambda value: isinstance(value, str) and value in LANGUAGES,
    ),
    # Which themes there are is known when Textual is loaded.
    "theme": _Kind(LazyText("settings.theme"), lambda value: isinstance(value, str) and bool(value)),
    "mouse": _SWITCH,
    "fps": _Kind(
        LazyText("settings.fps", maximum=_MAX_FPS),
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_FPS,
        lambda text: int(text) if text.isascii() and text.isdigit() else None,
    ),
    "kitty_keys": _SWITCH,
    "diff": _SWITCH,
    "screen_reader": _SWITCH,
}
NAMES = tuple(field.name for field in fields(Values))


def variable(name: str) -> str:
    """The variable of the environment that overrides a setting."""
    return f"STONEHAND_{name.upper()}"


def read_settings(environ: Mapping[str, str], folder: Path | None = None) -> Settings:
    """The settings in force. `folder` is the config folder, by default the user's own; nothing is raised."""
    file = (folder or config_folder(environ)) / FILE
    values: dict[str, Any] = {}
    problems: list[LazyText] = []
    document = read_toml(file)
    if isinstance(document, LazyText):
        problems.append(document)
        document = {}
    for name, value in document.items():
        kind = _KINDS.get(name)
        if kind is None:
            problems.append(_unknown(file, name))
        elif kind.accepts(value):
            values[name] = value
        else:
            problems.append(_wrong(place_in(file, name), name, value, kind))
    for name, kind in _KINDS.items():
        text = environ.get(variable(name), "")
        if not text:
            continue
        value = kind.parse(text)
        if kind.accepts(value):
            values[name] = value
        else:
            problems.append(_wrong("", variable(name), text, kind))
    from_environ = bool(environ.get(variable("theme")))
    place = variable("theme") if from_environ else place_in(file, "theme") if "theme" in values else ""
    return Settings(Values(**values), tuple(problems), file, place)


def _wrong(place: str, name: str, value: object, kind: _Kind) -> LazyText:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return LazyText("settings.wrong", place=place and f"{place}: ", name=name, value=shown, expected=kind.expected)


def _unknown(file: Path, name: str) -> LazyText:
    from difflib import get_close_matches

    close = get_close_matches(name, NAMES, 1)
    if close:
        return LazyText("settings.unknown-close", place=place_in(file, name), name=name, close=close[0])
    return LazyText("settings.unknown", place=place_in(file, name), name=name, names=", ".join(NAMES))


def read_toml(file: Path) -> dict[str, Any] | LazyText:
    """What a file of the user's says, or why it can't be read; nothing when there is none."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        return LazyText("settings.unreadable", file=file, reason=error.strerror or error)
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return LazyText("settings.no-toml", file=file, reason=error)


def place_in(file: Path, name: str) -> str:
    """`file:line` of a key at the top of a file that was read as TOML; the file alone where the line can't be told."""
    begins = re.compile(rf"""\s*\[?\s*(["']?){re.escape(name)}\1\s*[\].=]""")
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    number = next((number for number, line in enumerate(lines, 1) if begins.match(line)), None)
    return str(file) if number is None else f"{file}:{number}"


def save_setting(file: Path, name: str, value: object) -> bool:
    """Set a value in the user's file, making it if need be; False when the file's comments could not be kept.

    Everything else in it stays. Raises StonehandError when the file is no TOML, can't be written, or another program
    changed it at this moment.
    """
    import tomllib

    from engine.errors import InvalidFile
    from engine.library import write_config

    try:
        before = file.read_bytes()
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise InvalidFile(str(error.strerror), file=file) from None
    try:
        text, kept = with_value((before or b"").decode("utf-8-sig"), name, value)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidFile(str(error), file=file) from None
    write_config(file, text.encode(), expected=before)
    return kept


def with_value(text: str, name: str, value: object) -> tuple[str, bool]:
    """TOML with the top-level key `name` set to `value`, and whether its comments are still there.

    The key's own line is changed, or one put in: TOML writers keep no comments. Where that does not come out right, as
    with a value of several lines, all is written anew. Raises TOMLDecodeError for a text that is no TOML.
    """
    import tomllib

    import tomli_w

    wanted = {**tomllib.loads(text), name: value}
    setting = tomli_w.dumps({name: value}).rstrip("\n")
    one_line = r"""(?:"[^"\n]*"|'[^'\n]*'|[^#"'\n]*?)([ \t]*(?:#.*)?)$"""
    own = re.compile(rf"""^[ \t]*(["']?){re.escape(name)}\1[ \t]*=[ \t]*{one_line}""", re.MULTILINE)
    changed, count = own.subn(lambda match: setting + match[2], text, count=1)
    if not count:
        table = re.search(r"^[ \t]*\[", text, re.MULTILINE)
        at = table.start() if table is not None else len(text)
        head = text[:at] + ("\n" if at and text[at - 1] != "\n" else "")
        changed = f"{head}{setting}\n{text[at:]}"
    try:
        if tomllib.loads(changed) == wanted:
            return changed, True
    except tomllib.TOMLDecodeError:
        pass
    return tomli_w.dumps(wanted), "#" not in text
