"""A reading view of wrapped rows, of which those in sight are wrapped at once and the rest bit by bit."""

from __future__ import annotations

from typing import Any

from textual.geometry import Size

from tui.widgets.reading_view import ReadingView
from tui.widgets.wrapped_rows import WrappedRows

_SLICE = 0.008
"""Seconds of wrapping at a time, so that keys are answered meanwhile."""


class WrappedView(ReadingView):
    """Shows `_rows`. Whoever sets them wraps what is in sight, then calls `_fit` and `_wrap_rest`."""

    _rows: WrappedRows[Any]

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
