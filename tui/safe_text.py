"""Text from stories, models and scripts is data: nothing in it may act on the terminal.

Textual writes ESC, the C1 range and other control characters of a widget's text straight to the terminal,
where they can retitle the window, write the clipboard or hide what follows (spec terminal, sections 0.2
and 5, case 30). Two guards stand against that: `visible` shows what a text holds, for the widgets that draw
foreign text on one line, and `SafeTextFilter` sits on the app, behind every widget, and lets nothing through
that is not text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.segment import Segment
from textual.app import App, ReturnType
from textual.color import Color
from textual.filter import LineFilter

REPLACEMENT = "�"

# C0, DEL and C1, the Unicode line separators, and what reorders the text around it.
_CONTROLS = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
# No terminal encoding can carry a lone surrogate: writing one ends the thread that writes to the terminal.
_SURROGATES = "\ud800-\udfff"
_UNSAFE = re.compile(f"[{_CONTROLS}{_SURROGATES}]")
_CONTROL = re.compile(f"[{_CONTROLS}]")
_SURROGATE = re.compile(f"[{_SURROGATES}]")
# A joiner goes with the control character it stands before, or it would join what comes behind.
_REMOVED = re.compile(f"\u200d*[{_CONTROLS}]")

_STAND_INS = {"\t": "    ", "\x7f": "␡", "\x85": "␤", "\u2028": "␤", "\u2029": "␤"}


def visible(text: str) -> str:
    """`text` on one line: a one-cell stand-in for each control character (`␛` for ESC), spaces for a tab.

    Line breaks become `␊` or `␤`; what reorders its surroundings, C1 controls and lone surrogates become `�`.
    """
    if not _UNSAFE.search(text):
        return text
    return _SURROGATE.sub(REPLACEMENT, _CONTROL.sub(_stand_in, text))


def _stand_in(match: re.Match[str]) -> str:
    char = match[0]
    if char in _STAND_INS:
        return _STAND_INS[char]
    return chr(0x2400 + ord(char)) if char < " " else REPLACEMENT


def inert(text: str) -> str:
    """`text` without control characters, as many cells wide as Rich says `text` is.

    Rich counts a control character as no cell and a surrogate as one, so the ones are dropped, the others
    replaced.
    """
    if not _UNSAFE.search(text):
        return text
    return _SURROGATE.sub(REPLACEMENT, _REMOVED.sub("", text))


class SafeTextFilter(LineFilter):
    """Makes every line of every widget inert before it reaches the terminal, links included."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments, each as wide as before; the same list when there is nothing to do."""
        search = _UNSAFE.search
        if not any(search(text) or (style is not None and style.link) for text, style, _ in segments):
            return segments
        return [
            Segment(inert(text), style.update_link(None) if style and style.link else style, control)
            for text, style, control in segments
        ]


class SafeTextApp(App[ReturnType]):
    """An app whose widgets can show any text without harm. Put it before `App` in the bases."""

    _safe_text = SafeTextFilter()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The app's filters with the safe-text filter behind them."""
        return [*super().get_line_filters(), self._safe_text]
