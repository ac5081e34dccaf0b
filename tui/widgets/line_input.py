"""A field of one line."""

from __future__ import annotations

import re
import unicodedata

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.geometry import Offset
from textual.widgets import Input
from textual.widgets.input import Selection

from tui.graphemes import next_boundary, previous_boundary, start_of_deletion
from tui.safe_text import visible
from tui.words import word_at


class LineInput(Input):
    """Textual's `Input`, which loses nothing that is typed or pasted and moves by user-perceived characters.

    `Input` drops what Python calls unprintable, the joiners of emoji and of Persian or Indic words among it, and of
    several pasted lines takes the first without a word (spec terminal, section 5, case 16). The cursor stands still: a
    blinking one costs about 600 bytes a second over a slow link (section 2.8).
    """

    def on_mount(self) -> None:
        self.cursor_blink = False

    # -- typing

    def on_key(self, event: events.Key) -> None:
        """Insert the characters `Input` drops."""
        character = event.character
        if character is None or event.is_printable or len(character) != 1:
            return
        if unicodedata.category(character) in ("Cf", "Zs", "Co"):
            self.replace(character, *self.selection)
            event.stop()
            event.prevent_default()

    def _on_paste(self, event: events.Paste) -> None:
        text = re.sub(r"\s*[\r\n]\s*", " ", event.text.strip("\r\n"))
        if text:
            self.replace(text, *self.selection)
        event.stop()
        event.prevent_default()

    def replace(self, text: str, start: int, end: int) -> None:
        """Put `text` in place of a part; the cursor goes behind it. A selection may be given either way around."""
        super().replace(text, *sorted((start, end)))

    # -- by whole characters

    def action_cursor_left(self, select: bool = False) -> None:
        """One character to the left, or to the start of what is selected."""
        start, end = self.selection
        if select or self.selection.is_empty:
            end = previous_boundary(self.value, end)
        else:
            end = min(start, end)
        self.selection = Selection(start if select else end, end)

    def action_cursor_right(self, select: bool = False) -> None:
        """One character to the right, or to the end of what is selected."""
        start, end = self.selection
        if select or self.selection.is_empty:
            end = next_boundary(self.value, end)
        else:
            end = max(start, end)
        self.selection = Selection(start if select else end, end)

    def action_delete_left(self) -> None:
        """Delete the selection, or the character before the cursor."""
        start, end = self.selection
        self.delete(start_of_deletion(self.value, end) if start == end else start, end)

    def action_delete_right(self) -> None:
        """Delete the selection, or the character behind the cursor."""
        start, end = self.selection
        self.delete(start, next_boundary(self.value, end) if start == end else end)

    def on_click(self, event: events.Click) -> None:
        """Select a word with two clicks, all with three."""
        if event.chain == 2:
            self.selection = Selection(*word_at(self.value, self.cursor_position))
        elif event.chain == 3:
            self.select_all()

    # -- the clipboard

    def action_copy(self) -> None:
        """Copy the selection."""
        from tui import clipboard

        if not self.selected_text:
            raise SkipAction()
        clipboard.copy(self.app, self.selected_text)

    def action_cut(self) -> None:
        """Copy the selection and delete it."""
        if self.selected_text:
            self.action_copy()
            self.delete_selection()

    # -- drawing: each character that could act on the terminal as one that stands for it

    @property
    def _value(self) -> Text:
        if self.password:
            return super()._value
        return Text(_drawn(self.value), no_wrap=True, overflow="ignore", end="")

    def _position_to_cell(self, position: int) -> int:
        return position if self.password else cell_len(_drawn(self.value[:position]))

    def _cell_offset_to_index(self, offset: int) -> int:
        offset += self.scroll_offset.x
        index = 0
        while index < len(self.value):
            end = next_boundary(self.value, index)
            if self._position_to_cell(end) > offset:
                break
            index = end
        return index

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the cursor is drawn, and an input method with it."""
        x, y, _, _ = self.content_region
        return Offset(x + self._position_to_cell(self.cursor_position) - self.scroll_offset.x, y)


def _drawn(text: str) -> str:
    return text if text.isprintable() else visible(text.replace("\t", "␉"))
