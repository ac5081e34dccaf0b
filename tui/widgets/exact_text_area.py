"""Textual's `TextArea` on an exact document, drawn and moved through by user-perceived characters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.document._document import Location
from textual.document._document_navigator import DocumentNavigator
from textual.expand_tabs import expand_text_tabs_from_widths
from textual.geometry import Offset
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets._text_area import build_byte_to_codepoint_dict

from tui.graphemes import next_boundary, previous_boundary, start_of_deletion
from tui.widgets.exact_document import ExactDocument, ExactScript
from tui.widgets.wrapping import DrawnWrap, cells_of
from tui.words import word_at, word_left, word_right

Match = tuple[int, int, int]
"""Line, first column and the column behind the last of a place to mark."""


class ExactTextArea(TextArea):
    """A `TextArea` whose text comes out as it went in. Its lines are always wrapped."""

    COMPONENT_CLASSES = {"text-editor--match"}
    """
    | Class | Description |
    | :- | :- |
    | `text-editor--match` | A place that was found. |
    """

    DEFAULT_CSS = """
    ExactTextArea .text-editor--match { background: $warning 30%; text-style: underline; }
    """

    document: ExactDocument
    wrapped_document: DrawnWrap
    matches: Sequence[Match] = ()

    # --- the document

    def _set_document(self, text: str, language: str | None) -> None:
        """Show another text, parsed when it is in a `language` that was registered."""
        self._highlight_query = None
        registered = self._languages.get(language) if language else None
        if registered is not None and registered.language is not None:
            self.document = document = ExactScript(text, registered.language)
            self._highlight_query = document.prepare_query(registered.highlight_query)
        else:
            self.document = ExactDocument(text)
        self._take_document()

    def _take_document(self) -> None:
        """Show the document anew, from its start."""
        before: object = self.wrapped_document  # to begin with, Textual's
        like = before if isinstance(before, DrawnWrap) else None
        self.wrapped_document = DrawnWrap(self.document, self.indent_width, like)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self.matches = ()
        self._build_highlight_map()
        self.move_cursor((0, 0))
        self._rewrap_and_refresh_virtual_size()

    def show_matches(self, matches: Sequence[Match]) -> None:
        """Mark places, in their order; of an edit they are not told."""
        if matches != self.matches:
            self.matches = matches
            self._line_cache.clear()
            self.refresh()

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the cursor is drawn, and an input method with it."""
        x, y = self.wrapped_document.location_to_offset(self.clamp_visitable(self.cursor_location))
        left, top, _, _ = self.content_region
        return Offset(left + x - self.scroll_offset.x + self.gutter_width, top + y - self.scroll_offset.y)

    def on_resize(self) -> None:
        """Keep the cursor in sight, on rows that may be others."""
        if self.has_focus:
            self.scroll_cursor_visible()

    # --- moving

    def get_cursor_left_location(self) -> Location:
        """One character to the left, or the end of the line before."""
        row, column = self.cursor_location
        if column:
            return row, previous_boundary(self.document[row], column)
        return (row - 1, len(self.document[row - 1])) if row else (0, 0)

    def get_cursor_right_location(self) -> Location:
        """One character to the right, or the start of the next line."""
        row, column = self.cursor_location
        line = self.document[row]
        if column < len(line):
            return row, next_boundary(line, column)
        return (row + 1, 0) if row + 1 < self.document.line_count else (row, column)

    def get_cursor_word_left_location(self) -> Location:
        """The start of the word before the cursor, or the end of the line before."""
        row, column = self.cursor_location
        return (row, word_left(self.document[row], column)) if column else self.get_cursor_left_location()

    def get_cursor_word_right_location(self) -> Location:
        """The end of the word behind the cursor, or the start of the next line."""
        row, column = self.cursor_location
        line = self.document[row]
        return (row, word_right(line, column)) if column < len(line) else self.get_cursor_right_location()

    def get_cursor_line_end_location(self) -> Location:
        """The end of the row the cursor is on: of one that goes on below, in front of its last character."""
        row, end = self._end_of_row()
        line = self.document[row]
        return row, (end if end == len(line) else previous_boundary(line, end))

    def _end_of_row(self) -> Location:
        row, column = self.cursor_location
        breaks = self.wrapped_document.get_offsets(row)
        return row, next((place for place in breaks if place > column), len(self.document[row]))

    def select_word(self) -> None:
        """Select the word at the cursor."""
        row, column = self.cursor_location
        start, end = word_at(self.document[row], column)
        self.selection = type(self.selection)((row, start), (row, end))

    # --- deleting

    def action_delete_left(self) -> None:
        """Delete the selection, or the character before the cursor."""
        start, end = self.selection
        if start == end:
            row, column = end
            start = (row, start_of_deletion(self.document[row], column)) if column else self.get_cursor_left_location()
        self._delete_via_keyboard(start, end)

    def action_delete_word_right(self) -> None:
        """Delete the selection, or up to the end of the next word."""
        start, end = self.selection
        self._delete_via_keyboard(start, self.get_cursor_word_right_location() if start == end else end)

    def action_delete_to_end_of_line(self) -> None:
        """Delete what is behind the cursor on its row."""
        self._delete_via_keyboard(self.cursor_location, self._end_of_row())

    # --- drawing

    def line_style(self, index: int) -> Style | None:
        """How a whole line is drawn on top of its tokens, for a line that stands out."""
        return None

    def _render_line(self, y: int) -> Strip:
        # As Textual's, for a row instead of the line it is part of: a text can be one long line.
        theme = self._theme
        base_style = theme.base_style or self.rich_style
        wrapped = self.wrapped_document
        y += self.scroll_offset.y
        if y >= wrapped.height:
            return Strip.blank(self.size.width, base_style)
        index, section = wrapped.line_of_row(y)
        whole = wrapped.line(index)
        first, last = wrapped.section(index, section)
        at_end = last == len(whole)
        text = Text(whole[first:last] + (" " if at_end else ""), end="", no_wrap=True)
        cursor = self.selection.end
        on_line = cursor[0] == index
        line_style = theme.cursor_line_style if on_line and self.highlight_cursor_line and self._has_cursor else None

        def mark(style: Style | None, start: int, end: int | None) -> None:
            stop = len(text) if end is None else end - first
            if style is not None and stop > 0:
                text.stylize(style, max(0, start - first), stop)

        mark(line_style, first, None)
        self._mark_selection(text, index, len(whole), mark)
        if self._highlights and (tokens := self._highlights.get(index)):
            columns = build_byte_to_codepoint_dict(whole.encode("utf-8", "surrogatepass"))
            for start, end, name in tokens:
                mark(theme.syntax_styles.get(name), columns.get(start, 0), columns.get(end) if end else None)
        mark(self.line_style(index), first, None)
        if self.matches:
            style = self.get_component_rich_style("text-editor--match")
            place = bisect_left(self.matches, (index, first, 0))
            for row, start, end in self.matches[max(0, place - 1) :]:
                if row > index or start >= last:
                    break
                if row == index and end > first and (self.selection.start, cursor) != ((row, start), (row, end)):
                    mark(style, start, end)
        bracket = self._matching_bracket_location
        brackets = self.match_cursor_bracket and bracket is not None and self.selection.is_empty and self._has_cursor
        if on_line and first <= cursor[1] and (cursor[1] < last or at_end):
            # What was just typed may have joined what stands behind it: then the cursor is drawn on all of it.
            at = previous_boundary(whole, cursor[1] + 1)
            behind = next_boundary(whole, at) if at < len(whole) else at + 1
            if brackets:
                mark(theme.bracket_matching_style, at, behind)
            if self._draw_cursor:
                mark(theme.cursor_style, at, behind)
        if brackets and bracket is not None and bracket[0] == index and first <= bracket[1] < last:
            mark(theme.bracket_matching_style, bracket[1], bracket[1] + 1)

        if "\t" in text.plain:
            text = expand_text_tabs_from_widths(text, _tab_widths(text.plain, self.indent_width))
        width = max(0, self.scrollable_content_region.width - self.gutter_width)
        strip = Strip(text.render(self.app.console), text.cell_len).adjust_cell_length(
            width, line_style or theme.base_style
        )
        if self.show_line_numbers:
            gutter_style = theme.cursor_line_gutter_style if line_style is not None else theme.gutter_style
            number = str(index + self.line_number_start) if section == 0 else ""
            strip = Strip(
                [Segment(f"{number:>{self.gutter_width - 2}}  ", gutter_style), *strip], self.gutter_width + width
            )
        return strip.apply_style(base_style)

    def _mark_selection(self, text: Text, index: int, length: int, mark: Any) -> None:
        style = self._theme.selection_style
        (top, left), (bottom, right) = sorted(self.selection)
        if self.selection.is_empty or style is None or not top <= index <= bottom:
            return
        if not length and index != self.cursor_location[0]:
            text.plain = "▌"  # or an empty line inside the selection would not show
            text.stylize(Style(color=style.bgcolor))
        else:
            mark(style, left if index == top else 0, right if index == bottom else length)


def _tab_widths(row: str, tab: int) -> list[int]:
    widths, x = [], 0
    for part in row.split("\t")[:-1]:
        x += cells_of(part, tab)
        widths.append(tab - x % tab)
        x += widths[-1]
    return widths
