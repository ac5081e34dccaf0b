"""Where a line of text is broken to fit a width, and what is where on the rows that come of it.

A row is broken behind white space and between wide characters, as Chinese and Japanese are set: not before what closes
and not behind what opens. A word too long for a row is broken anywhere but inside a user-perceived character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise

from rich.cells import cell_len, get_character_cell_size
from textual.document._document import Document, Location
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Offset

from engine.text import common_prefix
from tui.graphemes import boundary, joins, previous_boundary
from tui.widgets.exact_document import DrawnDocument

_NOT_FIRST = frozenset("、。，．・：；！？）」』】〉》〕〗］｝”’…—～ー々゛゜％ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ")
_NOT_LAST = frozenset("（「『【〈《〔〖［｛“‘")
_SPACES = frozenset(" \t\u3000")
_PLAIN = re.compile("[ -~]*")

_JOINER = "\u200d"
_JOINED_TO = ("a", "\U0001f1e6", "\u1100", "\u1161", "\u11a8")
"""Of each kind of character that others belong to, one."""

_known: dict[str, tuple[int, bool]] = {"\t": (-1, False)}
"""For a character its cells, -1 for a tab, and whether it can belong to the one before it."""


def wrap(line: str, width: int, tab: int, start: int = 0) -> Iterator[int]:
    """The places behind `start`, the beginning of a row, where `line` is broken into rows of at most `width` cells."""
    if width <= 0:
        return
    if _PLAIN.fullmatch(line):
        while len(line) - start > width:
            start = line.rfind(" ", start, start + width) + 1 or start + width
            yield start
        return
    x = 0  # of the cluster at hand
    at = start  # the last place where the row may be broken
    index, length = start, len(line)
    before, before_wide = "", False
    while index < length:
        char = line[index]
        end, cells = _cluster(line, index)
        if cells < 0:
            cells = tab - x % tab
        wide = cells == 2 and char > "\u1100"
        may_break = before in _SPACES and index > start
        if not may_break and (wide or before_wide) and before:
            may_break = char not in _NOT_FIRST and before not in _NOT_LAST
        if may_break:
            at = index
        if x + cells > width and index > start:
            if at <= start:
                at = index
            yield at
            # The next row begins as if it were the first, so that breaking can be taken up at any row.
            start = index = at
            x, before, before_wide = 0, "", False
            continue
        x += cells
        before, before_wide = line[end - 1], wide
        index = end


def _cluster(line: str, index: int) -> tuple[int, int]:
    """Where the user-perceived character at `index` ends, and its cells; -1 for a tab."""
    cells, _ = _known.get(line[index]) or _learn(line[index])
    end, length = index + 1, len(line)
    while end < length:
        following = line[end]
        if not ((_known.get(following) or _learn(following))[1] or line[end - 1] == _JOINER) or not joins(line, end):
            break
        end += 1
    return end, cell_len(line[index:end]) if end > index + 1 else cells


def _learn(char: str) -> tuple[int, bool]:
    may_join = any(joins(before + char, 1) for before in _JOINED_TO)
    known = _known[char] = (get_character_cell_size(char), may_join)
    return known


def cells_of(row: str, tab: int) -> int:
    """How many cells a row takes, its tabs counted from its beginning."""
    if "\t" not in row:
        return cell_len(row)
    x = 0
    *parts, last = row.split("\t")
    for part in parts:
        x += cell_len(part)
        x += tab - x % tab
    return x + cell_len(last)


def column_at(row: str, x: int, tab: int) -> int:
    """The place in a row whose character covers cell `x`; the end of the row when that is to the left of it."""
    if _PLAIN.fullmatch(row):
        return min(x, len(row))
    index = covered = 0
    while index < len(row):
        end = boundary(row, index + 1)
        covered += tab - covered % tab if row[index] == "\t" else cell_len(row[index:end])
        if covered > x:
            return index
        index = end
    return len(row)


class DrawnWrap(WrappedDocument):
    """The rows of a document, measured on what is drawn of it. Typing in a long line breaks only its next rows anew."""

    def __init__(self, document: Document, tab_width: int, like: DrawnWrap | None = None) -> None:
        """`like`: the rows of a text that is much the same, of which the breaks are taken over."""
        self._wrapped: list[str] = []
        self._like: DrawnWrap | None = like if like is None or like._width else like._like
        super().__init__(DrawnDocument(document), tab_width=tab_width)  # type: ignore[arg-type]

    @property
    def height(self) -> int:
        """How many rows the text takes."""
        return self._more[-1] + len(self._wrapped)

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Break all lines anew, but for those that are known to break so; a `width` of 0 breaks none."""
        layout = (width, tab_width or self._tab_width)
        lines = list(self.document.lines)
        known = next((it for it in (self, self._like) if it and (it._width, it._tab_width) == layout), None)
        if width:
            self._like = None
        self._width, self._tab_width = layout
        self._wrap_offsets = self._broken(lines) if known is None else known._broken_like(lines)
        self._wrapped = lines
        self._number()

    def _broken(self, lines: Iterable[str]) -> list[list[int]]:
        return [list(wrap(line, self._width, self._tab_width)) for line in lines]

    def _broken_like(self, lines: list[str]) -> list[list[int]]:
        """As `_broken`, for lines that are those wrapped here but for a few."""
        before, breaks = self._wrapped, self._wrap_offsets
        head = common_prefix(before, lines)
        rest = min(len(before), len(lines)) - head
        tail = common_prefix(before[len(before) - rest :][::-1], lines[len(lines) - rest :][::-1])
        new = lines[head : len(lines) - tail]
        if len(new) == 1 and len(before) - head - tail == 1:
            middle = [self._rewrapped(head, new[0])]
        else:
            middle = self._broken(new)
        return [*breaks[:head], *middle, *breaks[len(before) - tail :]]

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Break the lines of an edit anew, from the line of `start` to that of `new_end`, where `old_end` was."""
        first = min(start[0], len(self._wrapped) - 1)
        last = min(max(first, old_end[0]), len(self._wrapped) - 1)
        new = self.document.lines[first : max(first, new_end[0]) + 1]
        offsets = [self._rewrapped(first, new[0])] if len(new) == 1 and first == last else self._broken(new)
        same_rows = [*map(len, offsets)] == [*map(len, self._wrap_offsets[first : last + 1])]
        self._wrapped[first : last + 1] = new
        self._wrap_offsets[first : last + 1] = offsets
        if not same_rows:
            self._number()

    def _rewrapped(self, row: int, line: str) -> list[int]:
        """The breaks of a changed line: those in front of the change stay, and those behind it once one is found."""
        before, breaks = self._wrapped[row], self._wrap_offsets[row]
        if len(breaks) < 8:
            return list(wrap(line, self._width, self._tab_width))
        head = common_prefix(before, line)
        rest = min(len(before), len(line)) - head
        tail = common_prefix(before[len(before) - rest :][::-1], line[len(line) - rest :][::-1])
        delta = len(line) - len(before)
        # The row in front of the changed one can take up a word of it.
        kept = [place for place in breaks if place < head][:-1]
        old = {place + delta: index for index, place in enumerate(breaks) if place > len(before) - tail}
        for place in wrap(line, self._width, self._tab_width, kept[-1] if kept else 0):
            if place in old:
                return kept + [later + delta for later in breaks[old[place] :]]
            kept.append(place)
        return kept

    def _number(self) -> None:
        """Count the rows through: `_more` are those in front of each line, besides the one that every line has."""
        self._more = [*accumulate(map(len, self._wrap_offsets), initial=0)]

    def _first_row(self, line_index: int) -> int:
        return self._more[line_index] + line_index

    def line_of_row(self, y: int) -> tuple[int, int]:
        """The line that is drawn on a row of the text, and which of its rows it is."""
        line = bisect_right(range(len(self._wrapped)), y, key=self._first_row) - 1
        return line, y - self._first_row(line)

    def line(self, index: int) -> str:
        """A line as it is drawn, but for its tabs."""
        return self._wrapped[index]

    def section(self, line_index: int, section: int) -> tuple[int, int]:
        """Where a row of a line begins and ends."""
        breaks = self._wrap_offsets[line_index]
        section %= len(breaks) + 1
        end = breaks[section] if section < len(breaks) else len(self._wrapped[line_index])
        return (breaks[section - 1] if section else 0), end

    def get_sections(self, line_index: int) -> list[str]:
        """The rows a line is drawn on."""
        line = self._wrapped[line_index]
        cuts = [0, *self._wrap_offsets[line_index], len(line)]
        return [line[start:end] for start, end in pairwise(cuts)]

    def location_to_offset(self, location: Location) -> Offset:
        """Column and row at which a place is drawn."""
        row = max(0, min(location[0], len(self._wrapped) - 1))
        breaks = self._wrap_offsets[row]
        section = bisect_right(breaks, location[1])
        start = breaks[section - 1] if section else 0
        x = cells_of(self._wrapped[row][start : location[1]], self._tab_width)
        return Offset(x, self._first_row(row) + section)

    def offset_to_location(self, offset: Offset) -> Location:
        """The place drawn at a column and row; beside or below the text, the nearest."""
        x, y = offset
        row, section = self.line_of_row(min(max(0, y), self.height - 1))
        return row, self.get_target_document_column(row, max(0, x), section)

    def get_target_document_column(self, line_index: int, x_offset: int, y_offset: int) -> int:
        """The place in a line drawn at column `x_offset` of its row `y_offset`; -1 is the last row."""
        start, end = self.section(line_index, y_offset)
        line = self._wrapped[line_index]
        column = start + column_at(line[start:end], x_offset, self._tab_width)
        # The end of a row is the beginning of the next, unless it is the last.
        return previous_boundary(line, end) if column == end < len(line) else column
