"""Soft-wrapped rows of foreign text, for the widgets that draw text instead of composing it.

A row is a range of the text. Where it ends depends on nothing but the characters from its start to just behind
the available width, so a text that grows at its end keeps every row but the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len, split_graphemes

from tui.safe_text import visible

TAB_WIDTH = 4
"""Cells between tab stops, counted from the start of the row."""

# Characters that are one cell wide in every terminal, need no replacement and join nothing: Latin, Greek,
# Cyrillic and typographic punctuation. Text made of these only is wrapped by counting characters.
_PLAIN = re.compile(r"[ -~\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0482\u2010-\u2022\u2026]*")
_LOOSE_JOINER = re.compile("(?<![^\u200d])\u200d|\u200d(?=\t)")


def is_plain(text: str, start: int = 0, end: int | None = None) -> bool:
    """True when every character of the range takes exactly one cell and is drawn as it is."""
    match = _PLAIN.match(text, start, len(text) if end is None else end)
    return match is not None and match.end() == (len(text) if end is None else end)


def wrap_rows(text: str, start: int, end: int, width: int) -> Iterator[int]:
    """The offset at which each row of `text[start:end]` begins; the first is `start`.

    The range holds one paragraph or several: a row ends at each newline, which belongs to the row it ends. A
    newline at `end` opens no further row. Rows hold at most `width` cells, apart from spaces before a break, which
    hang over its edge; a break falls behind spaces, beside wide characters, or, inside a word that is longer than
    a row, anywhere between two graphemes. A `width` below 1 counts as 1; a tab or wide character in a row narrower
    than itself sticks out.
    """
    width = max(1, width)
    at = start
    if at >= end:
        yield at
        return
    while at < end:
        newline = text.find("\n", at, end)
        stop = end if newline < 0 else newline
        while True:
            yield at
            plain = is_plain(text, at, min(stop, at + width + 1))
            at = _plain_break(text, at, stop, width) if plain else _cell_break(text, at, stop, width)
            if at >= stop:
                break
        at = stop + 1


def draw_row(text: str, column: int = 0) -> str:
    """Part of a row as it is drawn from `column` on: no newline, control characters inert, tabs as spaces."""
    text = text.removesuffix("\n")
    if is_plain(text):
        return text
    text = _unjoined(text)
    if "\t" not in text:
        return visible(text)
    drawn = ""
    for index, part in enumerate(text.split("\t")):
        if index:
            drawn += " " * (TAB_WIDTH - (column + cell_len(drawn)) % TAB_WIDTH)
        drawn += visible(part)
    return drawn


def _plain_break(text: str, start: int, end: int, width: int) -> int:
    """Where the row behind the one at `start` begins, for one cell a character; `end` when there is none."""
    limit = start + width
    if limit >= end:
        return end
    if text[limit] == " ":
        return _skip_spaces(text, limit, end)
    cut = text.rfind(" ", start, limit) + 1
    return cut if cut and text[start:cut].strip(" ") else limit


def _cell_break(text: str, start: int, end: int, width: int) -> int:
    """As `_plain_break`, measured in cells and cut between graphemes."""
    length = width + 8
    while True:
        window_end = min(end, start + length)
        at = _cell_break_in(text[start:window_end], width)
        if at is not None:
            # A grapheme that reaches the end of the window may go on behind it.
            if start + at < window_end or window_end == end:
                return _skip_spaces(text, start + at, end)
        elif window_end == end:
            return end
        length *= 2


def _cell_break_in(window: str, width: int) -> int | None:
    """The offset of the break in `window`, or None when all of it fits in `width` cells."""
    column = 0
    cut = 0
    wide_before = False
    blank = True
    for first, last, cells in split_graphemes(visible(_unjoined(window).replace("\t", " ")))[0]:
        char = window[first]
        if char == "\t":
            cells = TAB_WIDTH - column % TAB_WIDTH
        wide = cells == 2 and char != "\t"
        if first and (wide or wide_before) and not blank:
            cut = first
        if column + cells > width:
            if char == " ":
                return first
            return cut or first or last
        column += cells
        wide_before = wide
        if char in " \t":
            if not blank:
                cut = last
        else:
            blank = False
    return None


def _unjoined(text: str) -> str:
    """`text` without joiners that join nothing: at its start, behind another one, and before tabs, where one would
    swallow the first of the spaces a tab is drawn as.
    """
    return _LOOSE_JOINER.sub("\u200b", text) if "\u200d" in text else text


def _skip_spaces(text: str, at: int, end: int) -> int:
    while at < end and text[at] == " ":
        at += 1
    return at
