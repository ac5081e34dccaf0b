"""The keys that every drawn text is read with."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.scroll_view import ScrollView


class ReadingView(ScrollView, can_focus=True, inherit_bindings=False):
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

    def go_to_row(self, row: int) -> None:
        """Scroll until this row is the first in sight, or as far as there are rows."""
        self.scroll_to(y=row, animate=False)

    def action_scroll_rows(self, rows: int) -> None:
        """Scroll by rows, down when positive."""
        self.go_to_row(self.scroll_offset.y + rows)

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll by pages that share one row."""
        self.go_to_row(self.scroll_offset.y + pages * max(1, self.size.height - 1))

    def action_scroll_top(self) -> None:
        """Scroll to the first row."""
        self.go_to_row(0)

    def action_scroll_bottom(self) -> None:
        """Scroll to the last row."""
        self.go_to_row(self.virtual_size.height)
