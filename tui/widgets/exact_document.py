"""A text for `TextArea` that comes out as it went in.

Textual's document knows one line break, and takes everything `str.splitlines` breaks at for it. `ExactDocument` breaks
at CR, LF and CRLF only, and remembers of each line which it ends with; everything else is a character of its line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import overload

from textual.document._document import Document, EditResult, Location
from textual.document._syntax_aware_document import SyntaxAwareDocument

from tui.safe_text import visible

_BREAK = re.compile("\r\n|\r|\n")


class Piece(str):
    """A part of a text that knows its lines: of a CR and an LF that an edit brought together, the text alone doesn't
    tell that they end two lines."""

    lines: list[str]
    breaks: list[str]

    @classmethod
    def of(cls, lines: list[str], breaks: list[str]) -> Piece:
        """The piece of some lines; `breaks` are those between them, one fewer."""
        piece = cls(_joined(lines, breaks))
        piece.lines, piece.breaks = lines, breaks
        return piece


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """The lines of a text, at least one, and the line breaks between them."""
    if isinstance(text, Piece):
        return [*text.lines], [*text.breaks]
    if "\r" not in text:
        lines = text.split("\n")
        return lines, ["\n"] * (len(lines) - 1)
    return _BREAK.split(text), _BREAK.findall(text)


def _joined(lines: Sequence[str], breaks: Sequence[str]) -> str:
    if not breaks:
        return lines[0]
    if breaks.count("\n") == len(breaks):
        return "\n".join(lines)
    parts: list[str] = []
    for index, (line, end) in enumerate(zip(lines, [*breaks, ""], strict=True)):
        if end == "\r" and not lines[index + 1] and breaks[index + 1 : index + 2] == ["\n"]:
            end = "\r\n"  # or the two breaks would read as one
        parts += (line, end)
    return "".join(parts)


class ExactDocument(Document):
    """A document whose `text` is the text it was made of, with the edits made since."""

    def __init__(self, text: str) -> None:
        self._newline = "\n"  # of the base class, which has no say in the text any more
        self._lines, self._breaks = split_lines(text)
        self._text: str | None = text

    @property
    def text(self) -> str:
        """The whole text. Asked for often, so it is put together once for each edit."""
        if self._text is None:
            self._text = _joined(self._lines, self._breaks)
        return self._text

    @property
    def breaks(self) -> Sequence[str]:
        """The line breaks, in their order."""
        return self._breaks

    @property
    def usual_break(self) -> str:
        """The line break the text has most of; a line feed when it has none."""
        counts = Counter(self._breaks)
        return counts.most_common(1)[0][0] if counts else "\n"

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace what stands between two places by `text`; of a `Piece`, each line break is kept apart."""
        (top, left), (bottom, right) = sorted((start, end))
        lines, breaks = self._lines, self._breaks
        replaced = self.get_text_range((top, left), (bottom, right))
        new, new_breaks = split_lines(text)
        behind = lines[bottom][right:] if bottom < len(lines) else ""
        new[0] = (lines[top][:left] if top < len(lines) else "") + new[0]
        destination = (top + len(new) - 1, len(new[-1]))
        new[-1] += behind
        lines[top : bottom + 1] = new
        breaks[top:bottom] = new_breaks
        self._text = None
        return EditResult(destination, replaced)

    def get_text_range(self, start: Location, end: Location) -> Piece:
        """The text between two places, with its line breaks as they are."""
        (top, left), (bottom, right) = sorted((start, end))
        if bottom >= len(self._lines):
            bottom, right = len(self._lines) - 1, len(self._lines[-1])
        lines = self._lines[top : bottom + 1] or [""]
        lines[-1] = lines[-1][:right]
        lines[0] = lines[0][left:]
        return Piece.of(lines, self._breaks[top:bottom])

    def location(self, index: int) -> Location:
        """The place of the character `index` of the text; the last one for an index behind the end."""
        starts = self._starts()
        row = bisect_right(starts, index) - 1
        return row, min(index - starts[row], len(self._lines[row]))

    def index(self, location: Location) -> int:
        """Where in the text a place is."""
        row, column = location
        return self._starts()[row] + column

    def _starts(self) -> list[int]:
        ends = (len(line) + len(end) for line, end in zip(self._lines, self._breaks, strict=False))
        return list(accumulate(ends, initial=0))


class ExactScript(SyntaxAwareDocument, ExactDocument):
    """An `ExactDocument` with a syntax tree, for which every line ends in a line feed."""

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """As `ExactDocument.replace_range`, parsing what changed."""
        lines, breaks = split_lines(text)
        parsed = Piece("\n".join(lines))
        parsed.lines, parsed.breaks = lines, breaks
        return super().replace_range(start, end, parsed)


class DrawnDocument:
    """A document as it is drawn: each character that could act on the terminal as one that stands for it.

    Tabs are left to the drawing. Lines are as long as in the document, so that places are the same in both.
    """

    def __init__(self, document: Document) -> None:
        self._document = document

    @property
    def lines(self) -> DrawnDocument:
        return self

    @property
    def line_count(self) -> int:
        return self._document.line_count

    def get_line(self, index: int) -> str:
        return drawn(self._document[index])

    def __len__(self) -> int:
        return self._document.line_count

    def __iter__(self) -> Iterator[str]:
        return map(drawn, self._document.lines)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [drawn(line) for line in self._document[index]]
        return drawn(self._document[index])


def drawn(line: str) -> str:
    """A line as it is drawn, but for its tabs."""
    return line if line.isprintable() else "\t".join(map(visible, line.split("\t")))
