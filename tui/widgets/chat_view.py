"""A conversation, drawn: pieces of several kinds one below the other, of which only the last ones change."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from tui.screen_reader import is_spoken
from tui.widgets.stream_view import StreamView
from tui.widgets.text_view import draw_row, wrap_rows

Kind = Literal["you", "agent", "text", "thoughts", "call", "note", "added", "removed", "space"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a conversation: who speaks, what is said, what a tool did, what there is to note; foreign text."""

    kind: Kind
    text: str = ""


class ChatView(StreamView):
    """Shows pieces. What is shown again costs nothing up to the first piece that differs, and of a text that has grown
    only the last row is wrapped and drawn again. It follows the end as a `StreamView` does.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chat-view--you",
        "chat-view--agent",
        "chat-view--thoughts",
        "chat-view--call",
        "chat-view--note",
        "chat-view--added",
        "chat-view--removed",
    }
    """
    | Class | Description |
    | :- | :- |
    | `chat-view--you`, `chat-view--agent` | The name of who speaks. |
    | `chat-view--thoughts` | What a model thought before it answered. |
    | `chat-view--call` | What a tool did. |
    | `chat-view--note` | That an answer broke off, or a question was not sent. |
    | `chat-view--added`, `chat-view--removed` | A line of a planned change. |
    """

    DEFAULT_CSS = """
    ChatView {
        & .chat-view--you { color: $text-accent; text-style: bold; }
        & .chat-view--agent { color: $text-primary; text-style: bold; }
        & .chat-view--thoughts { color: $text-muted; text-style: italic; }
        & .chat-view--call { color: $text-muted; }
        & .chat-view--note { color: $text-warning; }
        & .chat-view--added { color: $text-success; }
        & .chat-view--removed { color: $text-error; }
    }
    """

    def __init__(self, *, id: str | None = None, follow: bool = True) -> None:
        super().__init__(id=id, follow=follow)
        self._pieces: tuple[Piece, ...] = ()
        self._first_rows: list[int] = []
        del self._starts[:]

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """What is shown."""
        return self._pieces

    def show_pieces(self, pieces: Sequence[Piece]) -> None:
        """Show these in place of what is shown; the place in it stays."""
        before, after = self._pieces, tuple(pieces)
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        if same == len(before) == len(after):
            return
        self._pieces = after
        if not self._width:
            return
        grown = same < min(len(before), len(after)) and _has_grown(before[same], after[same])
        first = self._first_rows[same] if same < len(self._first_rows) else len(self._starts)
        if grown:
            last = self._first_rows[same + 1] if same + 1 < len(self._first_rows) else len(self._starts)
            del self._first_rows[same + 1 :], self._starts[last:]
            first = last - 1
            at = self._starts.pop()
            self._add_rows(after[same].text, at)
            same += 1
        else:
            del self._first_rows[same:], self._starts[first:]
        self._wrap_pieces(same)
        rows = max(len(self._starts) - first, self.size.height)
        self._fit()
        self.refresh_lines(first, rows)

    def show_end(self) -> None:
        """Go to the end, the view full of what comes before it, and follow it."""
        rows, height = len(self._starts), self.size.height
        self._following = self._moving = True
        try:
            self.virtual_size = Size(self._width, max(rows, height))
            self.scroll_to(y=max(0, rows - height), animate=False, force=True)
        finally:
            self._moving = False

    def action_scroll_bottom(self) -> None:
        """Scroll to the last row, and follow it."""
        self.show_end()

    def spoken(self) -> str:
        """The row that is read."""
        drawn = self._row(self.scroll_offset.y + self.caret.y)
        return "" if drawn is None else drawn[1]

    # --- wrapping and drawing

    def on_resize(self, event: events.Resize) -> None:
        """Wrap all to the new width, the same piece at the top."""
        event.prevent_default()
        width = self.scrollable_content_region.width
        if width != self._width:
            top = bisect_right(self._first_rows, self.scroll_offset.y) - 1
            self._width = width
            self._first_rows = []
            self._starts = array("Q")
            self._wrap_pieces(0)
            if not self._following and 0 <= top < len(self._first_rows):
                self._fit()
                self.scroll_to(y=self._first_rows[top], animate=False, force=True)
        if self._following:
            self.show_end()
        else:
            self._fit()
        self.refresh()

    def _wrap_pieces(self, index: int) -> None:
        for piece in self._pieces[index:]:
            self._first_rows.append(len(self._starts))
            self._add_rows(piece.text, 0)

    def _add_rows(self, text: str, at: int) -> None:
        self._starts.extend(wrap_rows(text, at, len(text), self._width))
        if text.endswith("\n"):
            self._starts.append(len(text))

    def _row(self, row: int) -> tuple[Piece, str] | None:
        """The piece a row belongs to, and the row as it is drawn; None below the last one."""
        if not 0 <= row < len(self._starts):
            return None
        index = bisect_right(self._first_rows, row) - 1
        piece = self._pieces[index]
        last = row + 1 == len(self._starts) or (
            index + 1 < len(self._first_rows) and self._first_rows[index + 1] == row + 1
        )
        end = len(piece.text) if last else self._starts[row + 1]
        drawn = draw_row(piece.text[self._starts[row] : end])
        # The sign of a call is nothing that can be read out.
        return piece, drawn.replace("▸", " ", 1) if piece.kind == "call" and is_spoken(self) else drawn

    def render_line(self, y: int) -> Strip:
        """One row of the view."""
        style = self.rich_style
        found = self._row(y + self.scroll_offset.y)
        if found is None:
            return Strip.blank(self.size.width, style)
        piece, drawn = found
        if piece.kind not in ("text", "space"):
            style = style + self.get_component_rich_style(f"chat-view--{piece.kind}", partial=True)
        return Strip([Segment(drawn, style)]).adjust_cell_length(self.size.width, self.rich_style)


def _has_grown(before: Piece, after: Piece) -> bool:
    return before.kind == after.kind and bool(before.text) and after.text.startswith(before.text)
