"""A list of what can be put in at the cursor, drawn over the text below or above it, never over its row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.document._document import EditResult, Selection
from textual.document._edit import Edit
from textual.geometry import Region
from textual.strip import Strip

from tui.completion import Completion
from tui.language import t
from tui.safe_text import visible
from tui.screen_reader import Offering, is_spoken
from tui.widgets.cells import fit
from tui.widgets.exact_text_area import ExactTextArea

ROWS = 6
"""The most candidates in sight at once; a row below them names the keys, where there is room for it."""

WIDTH = 60
"""The most cells the list takes."""

_LEAST_DETAIL = 12
"""Cells that are kept for what stands beside a candidate."""

Completer = Callable[[str, Callable[[], str]], Completion | None]
"""From the line up to the cursor, and the whole text when asked for, what can be put in."""


@dataclass(slots=True)
class _Popup:
    completion: Completion
    row: int
    chosen: int = 0
    first: int = 0


class CompletingTextArea(Offering, ExactTextArea):
    """An `ExactTextArea` that offers what `completer` has while something is typed.

    Tab takes the chosen one, up and down choose, escape closes the list and nothing else, a click takes; every other
    key does what it does without the list, enter included.
    """

    COMPONENT_CLASSES = {"completion--list", "completion--chosen", "completion--detail"}
    """
    | Class | Description |
    | :- | :- |
    | `completion--list` | The list. |
    | `completion--chosen` | What tab takes. |
    | `completion--detail` | What stands beside a candidate, and the keys of the list. |
    """

    DEFAULT_CSS = """
    CompletingTextArea {
        & .completion--list { background: $panel; color: $foreground; }
        & .completion--chosen { background: $primary; color: $foreground; text-style: bold reverse; }
        & .completion--detail { background: $panel; color: $text-muted; }
    }
    """

    completer: Completer | None = None
    _popup: _Popup | None = None
    _busy = False

    @property
    def completion(self) -> Completion | None:
        """What is offered now."""
        return self._popup.completion if self._popup is not None else None

    @property
    def popup_region(self) -> Region:
        """Where the list is drawn, counted from the widget's corner; empty without a list or without room for it."""
        popup = self._popup
        if popup is None:
            return Region()
        width, height = self.scrollable_content_region.size
        x = self.wrapped_document.location_to_offset((popup.row, popup.completion.start)).x + self.gutter_width
        cursor_y = self.wrapped_document.location_to_offset(self.cursor_location).y - self.scroll_offset.y
        wanted = min(ROWS, len(popup.completion.candidates)) + 1
        below, above = height - cursor_y - 1, cursor_y
        rows = min(wanted, max(below, above))
        offered = popup.completion.candidates
        shown = max(cell_len(item.label) for item in offered) + max(cell_len(item.detail) for item in offered) + 4
        cells = min(WIDTH, width, max(shown, cell_len(t("editor.completion_keys")) + 2))
        top = cursor_y + 1 if below >= wanted or below >= above else cursor_y - rows
        return Region(max(0, min(x - 1, width - cells)), top, cells, max(0, rows))

    @property
    def _candidate_rows(self) -> int:
        """Rows of the list that hold candidates: all but the one with the keys, which a single row has no room for."""
        height = self.popup_region.height
        return height - 1 if height > 1 else height

    def offered(self) -> str:
        """The chosen candidate and how it is taken, in words; empty without a list."""
        popup = self._popup
        if popup is None or not self.popup_region:
            return ""
        candidates = popup.completion.candidates
        chosen = candidates[popup.chosen]
        text = " ".join(filter(None, (chosen.label, chosen.detail)))
        option = t("reader.option", number=popup.chosen + 1, total=len(candidates), text=text)
        return f"{option}. {t('editor.completion_keys')}"

    # --- opening, choosing, taking

    def offer(self) -> None:
        """Look what can be put in at the cursor, and list it, or close the list."""
        row, column = self.cursor_location
        found = None
        if self.completer is not None and self.has_focus and not self.read_only and self.selection.is_empty:
            found = self.completer(self.document[row][:column], lambda: self.document.text)
        if found is not None and len(found.candidates) == 1:
            typed = self.document[row][found.start : column]
            found = None if found.candidates[0].insert == typed else found
        self._set_popup(None if found is None else _Popup(found, row))

    def close_popup(self) -> None:
        """Close the list."""
        self._set_popup(None)

    def _set_popup(self, popup: _Popup | None) -> None:
        if popup is not None or self._popup is not None:
            before = self.popup_region
            self._popup = popup
            self._refresh_popup(before)

    def _refresh_popup(self, before: Region) -> None:
        for region in (before, self.popup_region):
            if region:
                self.refresh_lines(region.y + self.scroll_offset.y, region.height)

    def take(self, index: int | None = None) -> None:
        """Put in the chosen candidate, or the one of `index`."""
        popup = self._popup
        if popup is None:
            return
        candidate = popup.completion.candidates[popup.chosen if index is None else index]
        row, column = self.cursor_location
        insert = candidate.insert
        behind = self.document[row][column:]
        if insert.endswith(">") and behind.startswith(">"):
            insert = insert[:-1]
        self.close_popup()
        self.history.checkpoint()
        self._busy = True
        try:
            self.replace(insert, (row, popup.completion.start), (row, column), maintain_selection_offset=False)
        finally:
            self._busy = False
        self.history.checkpoint()

    def popup_key(self, event: events.Key) -> bool:
        """Whether a key was for the list."""
        popup = self._popup
        if popup is None or not self.popup_region:
            return False
        match event.key:
            case "up" | "down":
                count = len(popup.completion.candidates)
                popup.chosen = (popup.chosen + (1 if event.key == "down" else -1)) % count
                popup.first = min(max(popup.first, popup.chosen - self._candidate_rows + 1), popup.chosen)
                self._refresh_popup(Region())
            case "tab":
                self.take()
            case "escape":
                self.close_popup()
            case _:
                return False
        event.stop()
        event.prevent_default()
        return True

    async def _on_mouse_down(self, event: events.MouseDown) -> None:
        region, popup = self.popup_region, self._popup
        if popup is not None and region.contains(event.x - self.gutter.left, event.y - self.gutter.top):
            event.stop()
            event.prevent_default()
            row = event.y - self.gutter.top - region.y
            if row < self._candidate_rows:
                self.take(popup.first + row)

    # --- following what is typed

    def edit(self, edit: Edit) -> EditResult:
        """As `TextArea.edit`; a single character that is typed or deleted opens the list, or narrows it down."""
        open_before = self._popup is not None
        busy, self._busy = self._busy, True
        try:
            result = super().edit(edit)
        finally:
            self._busy = busy
        typed = len(edit.text) == 1 and edit.text not in "\r\n"
        deleted = open_before and not edit.text
        if not busy and (typed or deleted):
            self.offer()
        else:
            self.close_popup()
        return result

    def _watch_selection(self, previous_selection: Selection, selection: Selection) -> None:
        super()._watch_selection(previous_selection, selection)
        if self._popup is not None and not self._busy:
            self.close_popup()

    def _watch_has_focus(self, focus: bool) -> None:
        super()._watch_has_focus(focus)
        if not focus:
            self.close_popup()

    def undo(self) -> None:
        """As `TextArea.undo`, without a list."""
        self.close_popup()
        super().undo()

    def load_text(self, text: str) -> None:
        """As `TextArea.load_text`, without a list."""
        self._popup = None
        super().load_text(text)

    # --- drawing

    def render_line(self, y: int) -> Strip:
        """A row of the text, with the list over it."""
        strip = super().render_line(y)
        popup = self._popup
        if popup is None:
            return strip
        region = self.popup_region
        if not region.y <= y < region.bottom:
            return strip
        if y - region.y < self._candidate_rows:
            row = self._popup_row(popup, popup.first + y - region.y, region.width)
        else:
            row = self._keys_row(region.width)
        return Strip.join([strip.crop(0, region.x), row, strip.crop(region.right, None)])

    def _popup_row(self, popup: _Popup, index: int, width: int) -> Strip:
        candidate = popup.completion.candidates[index]
        chosen = index == popup.chosen
        style = self.get_component_rich_style("completion--chosen" if chosen else "completion--list")
        detail_style: Style = style if chosen else self.get_component_rich_style("completion--detail")
        label, detail = visible(candidate.label), visible(candidate.detail)
        mark = " " if not chosen else ">" if is_spoken(self) else "›"
        room = width - 2
        labels = max(cell_len(visible(item.label)) for item in popup.completion.candidates)
        details = max(cell_len(visible(item.detail)) for item in popup.completion.candidates)
        cells = max(1, min(labels, room - 1 - min(details, _LEAST_DETAIL)))
        rest = room - cells - 1
        segments = [Segment(f"{mark}{fit(label, min(cells, room))} ", style)]
        segments.append(Segment(fit(detail, rest) if rest > 0 else "", detail_style))
        return Strip(segments).adjust_cell_length(width, style)

    def _keys_row(self, width: int) -> Strip:
        style = self.get_component_rich_style("completion--detail")
        return Strip([Segment(f" {fit(t('editor.completion_keys'), max(0, width - 1))}", style)]).adjust_cell_length(
            width, style
        )
