"""Parts of a drawn text wrapped to a width, as far as somebody needed them."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from tui.widgets.text_view import wrap_rows


class Part(Protocol):
    """A run of rows of one kind: one row where `text` is None, else `text` from `start` to `end`.

    `open_end` asks for one more, empty row, because the text ends with a newline.
    """

    @property
    def text(self) -> str | None: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def open_end(self) -> bool: ...


P = TypeVar("P", bound=Part)


class WrappedRows(Generic[P]):
    """Parts wrapped to a width, as far as somebody needed them."""

    def __init__(self, parts: Sequence[P], width: int) -> None:
        self.parts = parts
        self.width = width
        self.starts = array("Q")
        """The offset in its message at which each row begins."""
        self.first_rows: list[int] = []
        """The first row of each part that was reached."""
        self.complete = False
        self._wrapping = self._wrap()

    def _wrap(self) -> Iterator[None]:
        for part in self.parts:
            self.first_rows.append(len(self.starts))
            if part.text is None:
                self.starts.append(0)
                yield
                continue
            for start in wrap_rows(part.text, part.start, part.end, self.width):
                self.starts.append(start)
                yield
            if part.open_end:
                self.starts.append(part.end)
                yield
        self.complete = True

    def advance(self, *, rows: int | None = None, part: int | None = None, seconds: float | None = None) -> None:
        """Wrap on until there are `rows` rows, `part` is wrapped, `seconds` have passed, or all is done."""
        deadline = None if seconds is None else time.perf_counter() + seconds
        while not self.complete:
            if rows is not None and len(self.starts) >= rows:
                return
            if part is not None and len(self.first_rows) > part + 1:
                return
            if deadline is not None and len(self.starts) % 128 == 0 and time.perf_counter() >= deadline:
                return
            next(self._wrapping, None)

    @property
    def height(self) -> int:
        """The number of rows: exact when all is wrapped, until then an estimate for the scroll bar."""
        done = len(self.starts)
        if self.complete:
            return done
        rest = sum(
            1 if part.text is None else (part.end - part.start) // self.width + 1
            for part in self.parts[len(self.first_rows) :]
        )
        if self.first_rows and (part := self.parts[len(self.first_rows) - 1]).text is not None:
            rest += (part.end - self.starts[-1]) // self.width
        return done + rest

    def at(self, row: int) -> tuple[int, int, int] | None:
        """The part a row is in and the range of its text; None below the last row."""
        self.advance(rows=row + 2)
        if not 0 <= row < len(self.starts):
            return None
        index = bisect_right(self.first_rows, row) - 1
        last = row + 1 == len(self.starts) or (
            index + 1 < len(self.first_rows) and self.first_rows[index + 1] == row + 1
        )
        return index, self.starts[row], self.parts[index].end if last else self.starts[row + 1]

    def row_of(self, part: int, offset: int) -> int:
        """The row of a part that holds the character at `offset` of its message."""
        self.advance(part=part)
        first = self.first_rows[part]
        end = self.first_rows[part + 1] if part + 1 < len(self.first_rows) else len(self.starts)
        return max(first, bisect_right(self.starts, offset, first, end) - 1)
