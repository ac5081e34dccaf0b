"""The beginning of a text, for whoever goes past it: the rest is drawn once somebody stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

if TYPE_CHECKING:
    from textual.scroll_view import ScrollView as _Base
else:
    # Textual takes styles, bindings and component classes from the first widget among the bases.
    _Base = object


class Glanced(_Base):
    """Draws its first rows alone while `glance` says how many. Put it before the base that draws rows.

    All else is as ever: the text is there, it is laid out, and nothing moves when the rest of it is drawn.
    """

    _glance: int | None = None

    @property
    def glance(self) -> int | None:
        """How many rows are drawn, without colours of their own; None for all, as they are."""
        return self._glance

    @glance.setter
    def glance(self, rows: int | None) -> None:
        if rows != self._glance:
            self._glance = rows
            # A scroll bar would cost as much as the rows do: it stays where it is, unseen.
            self.set_class(rows is not None, "-glance")
            self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw all as soon as somebody scrolls."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value) and round(new_value):
            self.glance = None

    def render_line(self, y: int) -> Strip:
        """A row of the widget."""
        rows = self._glance
        if rows is not None and y >= rows:
            return Strip.blank(self.size.width, self._ground(super().render_line(y)))
        strip = super().render_line(y)
        if rows is None:
            return strip
        text = strip.text
        if y == rows - 1 and self.virtual_size.height > rows:
            text = "…".ljust(strip.cell_length)
        return Strip([Segment(text, self._ground(strip))], strip.cell_length)

    def _ground(self, strip: Strip) -> Style:
        """The colours of the text where it has none of its own: those at the end of a row."""
        style = next((segment.style for segment in reversed(list(strip)) if segment.style is not None), Style())
        return Style(color=self.rich_style.color, bgcolor=style.bgcolor)
