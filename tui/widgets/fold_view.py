"""Sections of text under headings, each of which can be folded away."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from tui.language import t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.widgets.cells import fit
from tui.widgets.text_view import draw_row
from tui.widgets.wrapped_rows import WrappedRows
from tui.widgets.wrapped_view import WrappedView

_MARGIN = 2
"""Cells before the text of a section."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text below it, which is foreign; without a text there is nothing to fold.

    `key` tells it from the others and keeps its fold; `alert`: it tells of something that went wrong.
    """

    key: str
    title: str
    text: str = ""
    folded: bool = False
    alert: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of rows: the heading of a section, or its text."""

    section: int
    text: str | None
    end: int = 0
    start: int = 0
    open_end: bool = False


class FoldView(WrappedView):
    """A read-only view of sections, with a place in it: the one gone to last, else the one at the top."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "fold-view--head",
        "fold-view--alert",
        "fold-view--current",
    }
    """
    | Class | Description |
    | :- | :- |
    | `fold-view--head` | The heading of a section. |
    | `fold-view--alert` | The heading of one that tells of something that went wrong. |
    | `fold-view--current` | The sign of the section the view is at. |
    """

    DEFAULT_CSS = """
    FoldView {
        & .fold-view--head { text-style: bold; color: $text-primary; }
        & .fold-view--alert { text-style: bold; color: $text-error; }
        & .fold-view--current { text-style: reverse; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._sections: Sequence[Section] = ()
        self._toggled: set[str] = set()
        self._parts: list[_Part] = []
        self._heads: list[int] = []
        self._rows: WrappedRows[_Part] = WrappedRows((), 1)
        self._at: int | None = None
        self._at_scroll = 0

    def show(self, sections: Sequence[Section], *, anew: bool = True) -> None:
        """Show these sections, from the start; without `anew` what was folded and unfolded stays so."""
        self._sections = sections
        if anew:
            self._toggled.clear()
        self._at = None
        self._collect()
        self._wrap_anew(None)

    @property
    def sections(self) -> Sequence[Section]:
        """What is shown."""
        return self._sections

    @property
    def current(self) -> Section | None:
        """The section the view is at."""
        index = self._current()
        return None if index is None else self._sections[index]

    def spoken(self) -> str:
        """The section the view is at, and which of all it is."""
        index = self._current()
        if index is None:
            return ""
        return t("runs.said-section", number=index + 1, total=len(self._sections), text=self._head(index))

    def folded(self, section: Section) -> bool:
        """Whether the text of a section is folded away."""
        return bool(section.text) and section.folded != (section.key in self._toggled)

    def toggle(self) -> None:
        """Fold or unfold the section the view is at."""
        index = self._current()
        if index is not None:
            self._toggle(index)

    def toggle_all(self) -> None:
        """Unfold everything, or fold everything again that was folded at first."""
        folded = {section.key for section in self._sections if section.folded}
        self._toggled = set() if folded <= self._toggled else folded
        self._at = None
        self._collect()
        self._wrap_anew(None)

    def step(self, step: int) -> None:
        """Go to the heading of the next section, or of this one and then of the one before."""
        index = self._current()
        if index is None:
            return
        head = self._rows.row_of(self._heads[index], 0)
        if step > 0:
            index += 1
        elif self._at == index or head >= self.scroll_offset.y:
            index -= 1
        if 0 <= index < len(self._sections):
            self._go_to(index)

    def _head(self, index: int) -> str:
        section = self._sections[index]
        if not is_spoken(self):
            mark = " " if not section.text else "▸" if self.folded(section) else "▾"
            return f"{mark} {section.title}"
        return f"{visible(section.title)}, {t('compare.said-folded')}" if self.folded(section) else section.title

    def _collect(self) -> None:
        self._parts, self._heads = [], []
        for index, section in enumerate(self._sections):
            self._heads.append(len(self._parts))
            self._parts.append(_Part(index, None))
            if section.text and not self.folded(section):
                self._parts.append(_Part(index, section.text, len(section.text)))

    def _toggle(self, index: int) -> None:
        section = self._sections[index]
        if not section.text:
            return
        row = max(0, self._rows.row_of(self._heads[index], 0) - self.scroll_offset.y)
        self._toggled ^= {section.key}
        self._collect()
        self._wrap_anew((self._heads[index], 0), row)
        self._at, self._at_scroll = index, self.scroll_offset.y

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold the section whose heading was clicked."""
        place = self._rows.at(event.y + self.scroll_offset.y)
        if place is not None and self._parts[place[0]].text is None:
            event.stop()
            self._toggle(self._parts[place[0]].section)
            self.refresh()

    def _current(self) -> int | None:
        if not self._sections:
            return None
        if self._at is not None and self._at_scroll == self.scroll_offset.y:
            return min(self._at, len(self._sections) - 1)
        place = self._rows.at(self.scroll_offset.y)
        part = len(self._parts) - 1 if place is None else place[0]
        return max(0, bisect_right(self._heads, part) - 1)

    def _go_to(self, index: int) -> None:
        row = self._rows.row_of(self._heads[index], 0)
        top, height = self.scroll_offset.y, self.size.height
        if not top <= row < top + height // 2:
            self.go_to_row(row)
        self._at, self._at_scroll = index, self.scroll_offset.y
        self.refresh()

    # --- wrapping

    def on_resize(self, event: events.Resize) -> None:
        """Wrap to the new width, the same text at the top."""
        if self.size and self._wrap_width != self._rows.width:
            place = self._rows.at(self.scroll_offset.y) if self.scroll_offset.y else None
            self._wrap_anew(None if place is None else (place[0], place[1]))

    @property
    def _wrap_width(self) -> int:
        return max(1, self.scrollable_content_region.width - _MARGIN)

    # --- drawing

    def render_line(self, y: int) -> Strip:
        """One row of the view."""
        width = self.size.width
        base = self.rich_style
        place = self._rows.at(y + self.scroll_offset.y)
        if place is None:
            return Strip.blank(width, base)
        index, start, end = place
        part = self._parts[index]
        if part.text is None:
            section = self._sections[part.section]
            style = self._style("alert" if section.alert else "head")
            head = self._head(part.section)
            current = self._style("current") if self._at == part.section else Style.null()
            segments = [
                Segment(head[:1], style + current),
                Segment(fit(head[1:], max(0, self.scrollable_content_region.width - 1)), style),
            ]
        else:
            segments = [Segment(" " * _MARGIN), Segment(draw_row(part.text[start:end]))]
        return Strip(segments).apply_style(base).adjust_cell_length(width, base)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"fold-view--{name}", partial=True)
