"""A reading view of wrapped rows, of which those in sight are wrapped at once and the rest bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.geometry import Size

from tui.widgets.reading_view import ReadingView
from tui.widgets.wrapped_rows import WrappedRows

_SLICE = 0.008
"""Seconds of wrapping at a time, so that keys are answered meanwhile."""


class WrappedView(ReadingView):
    """Shows `_rows`. Whoever sets them wraps what is in sight, then calls `_fit` and `_wrap_rest`, as `_wrap_anew`."""

    _rows: WrappedRows[Any]
    _parts: Sequence[Any] = ()

    @property
    def _wrap_width(self) -> int:
        """Cells that a row of text has."""
        return max(1, self.scrollable_content_region.width)

    def _wrap_anew(self, anchor: tuple[int, int] | None, below_top: int = 0) -> None:
        """Wrap the parts anew; `anchor` is the part, and the place in its text, to stand at a row of the view."""
        if not self.size:
            self._rows = WrappedRows(self._parts, 0)
            return
        self._rows = WrappedRows(self._parts, self._wrap_width)
        self._rows.advance(rows=2 * self.size.height)
        self._fit()
        if anchor is None:
            self.scroll_to(y=0, animate=False, force=True)
        else:
            self.go_to_row(max(0, self._rows.row_of(*anchor) - below_top))
        self.refresh()
        self._wrap_rest()

    def go_to_row(self, row: int) -> None:
        """Scroll to a row, wrapping all before it and as much behind it as is in sight."""
        self._rows.advance(rows=row + self.size.height + 1)
        self._fit()
        self.scroll_to(y=row, animate=False, force=True)

    def action_scroll_bottom(self) -> None:
        """Scroll to the last row, wrapping all that was not wrapped yet."""
        self._rows.advance()
        self.go_to_row(len(self._rows.starts))

    def _wrap_rest(self) -> None:
        """Wrap what is not wrapped yet, a slice after the other."""
        rows = self._rows
        if not rows.complete:
            self.set_timer(_SLICE, lambda: self._wrap_on(rows))

    def _wrap_on(self, rows: WrappedRows[Any]) -> None:
        """Wrap another slice of what is shown, unless something else is shown by now."""
        if rows is not self._rows or not self.is_mounted:
            return
        rows.advance(seconds=_SLICE)
        if rows.complete:
            self._fit()
        else:
            self._wrap_rest()

    def _fit(self) -> None:
        """Tell the scroll bar how much there is."""
        self.virtual_size = Size(self.scrollable_content_region.width, self._rows.height)
