"""The keys that every drawn text is read with."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region
from textual.scroll_view import ScrollView

from tui.screen_reader import Spoken, is_spoken


class ReadingView(Spoken, ScrollView, can_focus=True, inherit_bindings=False):
    """A scrolled text, a row of it a line."""

    ALLOW_SELECT = False

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_rows(1)", "Down", show=False, id="reading.down"),
        Binding("up,k", "scroll_rows(-1)", "Up", show=False, id="reading.up"),
        Binding("pagedown,space", "scroll_pages(1)", "Page down", show=False, id="reading.page-down"),
        Binding("pageup", "scroll_pages(-1)", "Page up", show=False, id="reading.page-up"),
        Binding("home,g", "scroll_top", "Top", show=False, id="reading.top"),
        Binding("end,G", "scroll_bottom", "Bottom", show=False, id="reading.bottom"),
    ]
    """
    | Key(s) | Description |
    | :- | :- |
    | down, j / up, k | Scroll a row. |
    | pagedown, space / pageup | Scroll a page. |
    | home, g / end, G | Go to the start or the end. |
    """

    DEFAULT_CSS = """
    ReadingView {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        background: $surface;
        color: $foreground;
    }
    """

    _caret = 0
    """The line in sight that is being read, where a screen reader reads."""

    @property
    def caret(self) -> Offset:
        """The line that is read, in the content of the widget."""
        return Offset(0, max(0, min(self._caret, self.size.height - 1)))

    def go_to_row(self, row: int) -> None:
        """Scroll until this row is the first in sight, or as far as there are rows."""
        self.scroll_to(y=row, animate=False)

    def action_scroll_rows(self, rows: int) -> None:
        """Scroll by rows, down when positive."""
        if is_spoken(self):
            self._read_on(rows)
        else:
            self.go_to_row(self.scroll_offset.y + rows)

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll by pages that share one row."""
        self.go_to_row(self.scroll_offset.y + pages * max(1, self.size.height - 1))

    def _read_on(self, rows: int) -> None:
        """Move the line that is read, and turn the page when it leaves it: each scroll is read as a whole."""
        line, height = self.caret.y + rows, max(1, self.size.height)
        if not 0 <= line < height:
            before = self.scroll_offset.y
            self.go_to_row(before + (height if line > 0 else -height))
            line -= self.scroll_offset.y - before
        self._caret = max(0, min(line, height - 1))
        self.refresh(Region(0, self._caret, 1, 1))

    def action_scroll_top(self) -> None:
        """Scroll to the first row."""
        self.go_to_row(0)

    def action_scroll_bottom(self) -> None:
        """Scroll to the last row."""
        self.go_to_row(self.virtual_size.height)
