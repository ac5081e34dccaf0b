"""Pasted text is text: no part of it ever arrives as key presses.

Textual's parser looks for escape sequences inside a bracketed paste too, and issues one it does not know as keys: an
ESC in a pasted log would run the commands that happen to stand behind it (spec terminal, section 5, case 17).
`PasteParser` takes a paste out of the input before Textual's parser sees it, which is also much faster. It replaces the
parser of exactly the version it was written for, and no other.

It also reads an arrow or another such key with ESC before it, as macOS Terminal, PuTTY and rxvt send it with alt, as
that one key: Textual's parser makes an escape of it, which leaves a text, and an arrow (case 7). Both must have come
in one read, as one key does; an escape that is pressed by itself is none of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.app import App, ReturnType
from textual.driver import Driver
from textual.message import Message

from tui.textual_version import is_textual

TEXTUAL_VERSION = "8.2.8"
"""The version of Textual whose parser this module can replace."""

_DRIVERS = ("linux_driver", "linux_inline_driver", "win32")
_ALT_KEY = re.compile(r"\x1b\x1b(?:[\[O]([ABCDFH])|\[(\d\d?)~)")
_HELD = len(BRACKETED_PASTE_START) - 1
"""Characters that can be the beginning of a mark whose end has not arrived."""


class PasteParser(XTermParser):
    """Textual's parser, but for bracketed pastes: each is one `Paste` with the text as it came, without NUL."""

    def __init__(self, debug: bool = False) -> None:
        self._pasted: list[str] | None = None
        self._last = ""
        super().__init__(debug)

    def feed(self, data: str) -> Iterable[Message]:
        """The messages in `data`, which may begin and end anywhere in a sequence or a paste."""
        if not data:
            yield from super().feed(data)
        while data:
            if self._pasted is None:
                before, data, found = self._split(data, BRACKETED_PASTE_START)
                if not found:
                    yield from super().feed(_one_alt_key(before))
                    continue
                # Textual's parser is told of an empty paste, so that it stands where it would stand behind one.
                for message in super().feed(_one_alt_key(before) + BRACKETED_PASTE_END):
                    if not isinstance(message, events.Paste):
                        yield message
                self._pasted = []
            else:
                before, data, found = self._split(data, BRACKETED_PASTE_END)
                self._pasted.append(before)
                if found:
                    text = "".join(self._pasted).removesuffix(BRACKETED_PASTE_END)
                    self._pasted = None
                    yield events.Paste(text.replace("\x00", ""))

    def _split(self, data: str, mark: str) -> tuple[str, str, bool]:
        """`data` up to the end of `mark`, what follows, and whether the mark is there; it may begin in earlier data."""
        seen = self._last + data
        start = seen.find(mark)
        if start < 0:
            self._last = seen[-_HELD:]
            return data, "", False
        end = start + len(mark) - len(self._last)
        self._last = ""
        return data[:end], data[end:], True


def _one_alt_key(data: str) -> str:
    """`data` with keys that have ESC before them as xterm sends them with alt: `ESC ESC [ A` as `ESC [ 1 ; 3 A`."""
    return _ALT_KEY.sub(lambda key: f"\x1b[1;3{key[1]}" if key[1] else f"\x1b[{key[2]};3~", data)


class SafePasteApp(App[ReturnType]):
    """An app to which a paste can't be key presses. Put it before `App` in the bases."""

    def get_driver_class(self) -> type[Driver]:
        """The platform's driver, reading its input with `PasteParser`."""
        driver = super().get_driver_class()
        if is_textual(TEXTUAL_VERSION):
            for name in _DRIVERS:
                module = sys.modules.get(f"textual.drivers.{name}")
                if getattr(module, "XTermParser", None) is XTermParser:
                    module.XTermParser = PasteParser  # type: ignore[union-attr]
        return driver
