"""Text as it arrives: prose streamed by a model, drawn as plain soft-wrapped text."""

from __future__ import annotations

from array import array

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from tui.widgets.glance import Glanced
from tui.widgets.reading_view import ReadingView
from tui.widgets.text_view import draw_row, wrap_rows


class StreamView(ReadingView):
    """A text that grows at its end.

    Appending wraps and repaints only from the last row on. The view follows the end until the user scrolls away from
    it, and again once the user is back there. It follows by three quarters of a page at a time: a scroll repaints the
    whole view, which at every row would send many times the text over a slow link. With `follow=False` it stays where
    it is.
    """

    def __init__(
        self,
        text: str = "",
        *,
        follow: bool = True,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        """A view of `text`, for more to be appended to; `follow` says whether it keeps the end in sight."""
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._text = text
        self._starts = array("Q", [0])
        self._width = 0
        self._may_follow = follow
        self._following = follow
        self._moving = False

    @property
    def text(self) -> str:
        """All that was appended since the start or the last `clear`."""
        return self._text

    @property
    def following(self) -> bool:
        """True while the view moves on with the end of the text."""
        return self._following

    @property
    def row_count(self) -> int:
        """Rows the text takes at the present width."""
        return len(self._starts)

    def append(self, text: str) -> None:
        """Add `text` at the end. Cheap: the rows before the last one stay as they are."""
        if not text:
            return
        self._text += text
        if self._width:
            last = len(self._starts) - 1
            self._wrap_from(last)
            self._fit()
            self.refresh_lines(last, len(self._starts) - last)

    def show(self, text: str) -> None:
        """Put `text` in place of what is shown, from its start; a text that is shown already stays where it is."""
        if text != self._text:
            self.clear()
            self.append(text)

    def clear(self) -> None:
        """Start anew, with nothing, at the top."""
        self._text = ""
        self._starts = array("Q", [0])
        self._following = self._may_follow
        self._fit()
        self.scroll_to(y=0, animate=False, force=True)
        self.refresh()

    # --- scrolling

    def action_scroll_bottom(self) -> None:
        """Scroll to the last row, and follow it if the view does so."""
        if self._may_follow:
            self._following = True
            self._fit()
        else:
            self.scroll_to(y=len(self._starts), animate=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end only while it is in sight."""
        super().watch_scroll_y(old_value, new_value)
        if self._may_follow and not self._moving and round(old_value) != round(new_value):
            self._following = round(new_value) + self.size.height >= len(self._starts)

    def _fit(self) -> None:
        """Size the scroll bar, and follow the end of the text.

        Another size repaints the whole view, so it grows by as much: empty rows below the text belong to it.
        """
        rows, height = len(self._starts), self.size.height
        top = self.scroll_offset.y
        room = self.virtual_size.height
        if self._following:
            if not top < rows <= top + height:
                top = max(0, rows - max(1, height - _ahead(height)))
            room = max(rows, top + height)
        elif not self._may_follow:
            room = rows
        elif not rows <= room <= rows + height:
            room = rows + _ahead(height)
        self._moving = True
        try:
            self.virtual_size = Size(self._width, room)
            self.scroll_to(y=top, animate=False, force=True)
        finally:
            self._moving = False

    # --- wrapping and drawing

    def on_resize(self, event: events.Resize) -> None:
        """Wrap all to the new width, the same text at the top."""
        width = self.scrollable_content_region.width
        if width != self._width:
            top = self._starts[min(self.scroll_offset.y, len(self._starts) - 1)]
            self._width = width
            self._starts = array("Q", [0])
            self._wrap_from(0)
            if not self._following:
                row = sum(1 for start in self._starts if start <= top) - 1
                self._fit()
                self.scroll_to(y=row, animate=False, force=True)
        self._fit()
        self.refresh()

    def _wrap_from(self, row: int) -> None:
        """Wrap from the start of `row` to the end of the text."""
        at = self._starts[row]
        del self._starts[row:]
        self._starts.extend(wrap_rows(self._text, at, len(self._text), self._width))
        if self._text.endswith("\n"):
            self._starts.append(len(self._text))

    def render_line(self, y: int) -> Strip:
        """One row of the view."""
        style = self.rich_style
        row = y + self.scroll_offset.y
        if row >= len(self._starts):
            return Strip.blank(self.size.width, style)
        end = self._starts[row + 1] if row + 1 < len(self._starts) else len(self._text)
        drawn = draw_row(self._text[self._starts[row] : end])
        return Strip([Segment(drawn, style)]).adjust_cell_length(self.size.width, style)


class GlancedView(Glanced, StreamView):
    """A text of which only the beginning may be drawn."""


def _ahead(height: int) -> int:
    """Rows left free below the text when the view moves on: the more, the fewer times it has to."""
    return height * 3 // 4
