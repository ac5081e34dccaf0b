"""The compiled prompt, drawn: exactly the text of the messages, with the blocks it comes from beside it."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Offset
from textual.message import Message as TextualMessage
from textual.strip import Strip

from engine.blocks.compile import Message, Span
from tui.language import find, t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.widgets.cells import fit, short_count
from tui.widgets.text_view import draw_row
from tui.widgets.wrapped_rows import WrappedRows
from tui.widgets.wrapped_view import WrappedView

Tokens = Callable[[str], int] | Mapping[str, int]
"""Estimated tokens: a function of a text, or a mapping by block (`PromptBlock.id`, or the id of the block)."""


_BAR = "▌"
_POINTER = "►"


class PromptBlock(NamedTuple):
    """One block of the prompt, for a list to jump from.

    `id` is unique here: the id of the block, with `#2` … behind a repeated one. `line` is the line of the prompt
    (1 is the first, counted by newlines through all messages) at which the block starts.
    """

    id: str
    name: str
    role: str
    tokens: int
    line: int


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of rows of one kind: the heading of a message (`block` and `text` None) or the text of one block.

    `block` is an index in the list of blocks; text that belongs to no block has none. `open_end` asks for one more,
    empty row, because the message ends with a newline.
    """

    message: int
    text: str | None
    start: int = 0
    end: int = 0
    content_start: int = 0
    block: int | None = None
    open_end: bool = False


class PromptView(WrappedView):
    """A read-only view of compiled messages.

    The text is that of the messages, to the character, soft-wrapped. Beside it stands, at the first row of each block,
    the block's name and its tokens; a heading, which is no part of the text, opens each message.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "prompt-view--system",
        "prompt-view--user",
        "prompt-view--heading",
        "prompt-view--marker",
        "prompt-view--tokens",
        "prompt-view--match",
        "prompt-view--current-match",
        "prompt-view--pointed",
    }
    """
    | Class | Description |
    | :- | :- |
    | `prompt-view--system`, `prompt-view--user` | Name and bar of a block, by its role. |
    | `prompt-view--heading` | The line that opens a message. |
    | `prompt-view--marker` | The marker line of a block, which is part of the text. |
    | `prompt-view--tokens` | The tokens of a block. |
    | `prompt-view--match` | What a search found. |
    | `prompt-view--current-match` | The match the view is at. |
    | `prompt-view--pointed` | The row that is pointed at. |
    """

    DEFAULT_CSS = """
    PromptView {
        & .prompt-view--system { color: $role-system; text-style: bold; }
        & .prompt-view--user { color: $role-user; text-style: bold; }
        & .prompt-view--heading { color: $text-muted; }
        & .prompt-view--marker { color: $text-muted; }
        & .prompt-view--tokens { color: $text-muted; }
        & .prompt-view--match { text-style: underline; background: $warning 30%; }
        & .prompt-view--current-match { text-style: reverse; }
        & .prompt-view--pointed { background: $boost; text-style: underline; }
    }
    """

    @dataclass
    class BlockChanged(TextualMessage):
        """Another block is at the top of the view; None when the prompt has none."""

        view: PromptView
        block: PromptBlock | None

        @property
        def control(self) -> PromptView:
            return self.view

    @dataclass
    class Pointed(TextualMessage):
        """Another row is pointed at: characters `start` to `end` of a message, counted from 0."""

        view: PromptView
        message: int
        start: int
        end: int

        @property
        def control(self) -> PromptView:
            return self.view

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._messages: tuple[Message, ...] = ()
        self._blocks: list[PromptBlock] = []
        self._parts: list[_Part] = []
        self._part_of_block: list[int] = []
        self._spans: list[Span] = []
        self._rows: WrappedRows[_Part] = WrappedRows((), 1)
        self._pinned: tuple[int, int] | None = None
        self._target: tuple[int, int, int] | None = None
        """What was gone to last, until the view is scrolled: its part, its offset there, the scroll position."""
        self._wanted: int | None = None
        self._reported: str | None = None
        self._query = ""
        self._matches: list[array[int]] = []
        self._match: int | None = None
        self._pointed: tuple[int, int] | None = None
        self.remark = ""
        """What is to be said of the row pointed at, where a screen reader reads."""

    # --- what is shown

    def show(self, messages: Sequence[Message], tokens: Tokens) -> None:
        """Show `messages`, each block with its `tokens`.

        The place in the text is kept when the block at the top is still there; a search stays in force.
        """
        anchor = self._anchor()
        self._messages = tuple(messages)
        self._collect(tokens)
        self._pinned = self._target = self._wanted = self._pointed = None
        self._find()
        self._rewrap(anchor)

    def _collect(self, tokens: Tokens) -> None:
        """Blocks and parts of the messages."""
        self._blocks, self._spans, self._parts, self._part_of_block = [], [], [], []
        seen: dict[str, int] = {}
        line = 1
        for index, message in enumerate(self._messages):
            text = message.content
            self._parts.append(_Part(index, None))
            at = 0
            for span in message.spans:
                if span.start > at:
                    self._parts.append(_Part(index, text, at, span.start, at))
                block = span.block
                count = seen[block.id] = seen.get(block.id, 0) + 1
                key = block.id if count == 1 else f"{block.id}#{count}"
                if callable(tokens):
                    number = tokens(text[span.start : span.content_end])
                else:
                    number = tokens.get(key, tokens.get(block.id, 0))
                first_line = line + text.count("\n", 0, span.start)
                self._part_of_block.append(len(self._parts))
                self._parts.append(_Part(index, text, span.start, span.end, span.content_start, len(self._blocks)))
                self._blocks.append(PromptBlock(key, block.name or block.id, message.role, number, first_line))
                self._spans.append(span)
                at = span.end
            if at < len(text) or not message.spans:
                self._parts.append(_Part(index, text, at, len(text), at))
            if text.endswith("\n"):
                last = self._parts[-1]
                self._parts[-1] = _Part(
                    index, text, last.start, last.end, last.content_start, last.block, open_end=True
                )
            line += text.count("\n") + 1

    @property
    def text(self) -> str:
        """The text of all messages, a blank line between two."""
        return "\n\n".join(message.content for message in self._messages)

    @property
    def blocks(self) -> list[PromptBlock]:
        """The blocks in the order they are sent."""
        return list(self._blocks)

    def spoken(self) -> str:
        """What is said of the row pointed at, else the current block and which of all it is."""
        if self.pointing and self.remark:
            return self.remark
        index = self._current()
        if index is None:
            return ""
        block = self._blocks[index]
        role = t(f"reader.role.{block.role}")
        return t(
            "reader.prompt_block",
            number=index + 1,
            total=len(self._blocks),
            name=visible(block.name),
            role=role,
            tokens=block.tokens,
        )

    def text_of(self, block_id: str) -> str:
        """The content of a block as it is sent, without its marker line; empty for a block that is not there."""
        index = self._index(block_id)
        if index is None:
            return ""
        span = self._spans[index]
        part = self._parts[self._part_of_block[index]]
        return self._messages[part.message].content[span.content_start : span.content_end]

    # --- blocks

    @property
    def current_block(self) -> PromptBlock | None:
        """The block pointed at; else the one gone to last, until the view is scrolled; then the one at its top."""
        index = self._current()
        return None if index is None else self._blocks[index]

    def goto_block(self, block_id: str) -> bool:
        """Scroll a block to the top, or as far up as the prompt goes. False when there is no such block."""
        index = self._index(block_id)
        if index is None:
            return False
        self._goto(index)
        return True

    def next_block(self) -> PromptBlock | None:
        """Go to the block behind the current one. None, and nothing moves, at the last."""
        current = self._current()
        index = 0 if current is None else current + 1
        if index >= len(self._blocks):
            return None
        self._goto(index)
        return self._blocks[index]

    def previous_block(self) -> PromptBlock | None:
        """Go to the start of the current block, or from there to the one before. None at the start of the first."""
        index = self._current()
        if index is None:
            return None
        start = self._rows.row_of(self._part_of_block[index], 0)
        if self._pointed is not None:
            index -= self._rows.row_of(*self._pointed) <= start
        elif self._pinned is not None or start >= self.scroll_offset.y:
            index -= 1
        if index < 0:
            return None
        self._goto(index)
        return self._blocks[index]

    def _index(self, block_id: str) -> int | None:
        return next((i for i, block in enumerate(self._blocks) if block.id == block_id), None)

    def _current(self) -> int | None:
        if not self._blocks:
            return None
        if self._wanted is not None:
            return self._wanted
        if self._pointed is not None:
            return max(0, bisect_right(self._part_of_block, self._pointed[0]) - 1)
        if self._pinned is not None:
            return self._pinned[0]
        place = self._rows.at(self.scroll_offset.y)
        if place is None:
            return len(self._blocks) - 1
        # A heading goes with the block below it.
        part = place[0] + 1 if self._parts[place[0]].text is None else place[0]
        return max(0, bisect_right(self._part_of_block, part) - 1)

    def _goto(self, index: int) -> None:
        if not self.size:
            self._wanted = index  # until there is a width to wrap to
            return
        part = self._part_of_block[index]
        row = self._rows.row_of(part, 0)
        # The heading of the message comes along with its first block.
        self.go_to_row(row - 1 if part and self._parts[part - 1].text is None else row)
        self._pinned = (index, self.scroll_offset.y)
        self._arrive(part, self._parts[part].start)
        self._report_block()

    def _arrive(self, part: int, offset: int) -> None:
        """Remember what was gone to, and point at it if anything is pointed at."""
        self._target = (part, offset, self.scroll_offset.y)
        if self.pointing:
            self.point()

    def _report_block(self) -> None:
        block = self.current_block
        key = None if block is None else block.id
        if key != self._reported:
            self._reported = key
            self.post_message(self.BlockChanged(self, block))

    # --- search

    def search(self, text: str) -> int:
        """Highlight `text` wherever it occurs, in upper or lower case, and return how often that is.

        An empty text ends the search.
        """
        self._query = text
        self._find()
        self.refresh()
        return self.match_count

    @property
    def match_count(self) -> int:
        """How often the text searched for occurs."""
        return sum(map(len, self._matches))

    @property
    def match_number(self) -> int:
        """Which match the view is at, from 1; 0 when it has not gone to one."""
        return 0 if self._match is None else self._match + 1

    def next_match(self) -> int:
        """Go to the next match, from the last to the first, and return its number; 0 when there is none."""
        return self._step_match(1)

    def previous_match(self) -> int:
        """Go to the match before, from the first to the last, and return its number; 0 when there is none."""
        return self._step_match(-1)

    def _find(self) -> None:
        self._match = None
        self._matches = []
        if self._query:
            pattern = re.compile(re.escape(self._query), re.IGNORECASE)
            self._matches = [
                array("Q", (match.start() for match in pattern.finditer(message.content))) for message in self._messages
            ]

    def _step_match(self, step: int) -> int:
        count = self.match_count
        if not count:
            return 0
        if self._match is not None:
            self._match = (self._match + step) % count
        else:
            ahead = self._first_match_in_sight()
            self._match = (ahead if step > 0 else ahead - 1) % count
        message, offset = self._match_place(self._match)
        part = next(
            index
            for index, part in enumerate(self._parts)
            if part.message == message and part.text is not None and part.start <= offset < part.end
        )
        row = self._rows.row_of(part, offset)
        top, height = self.scroll_offset.y, self.size.height
        if not top <= row < top + height:
            self.go_to_row(row - height // 3)
        self._arrive(part, offset)
        self.refresh()
        return self._match + 1

    def _first_match_in_sight(self) -> int:
        """The number of matches above the top of the view."""
        place = self._rows.at(self.scroll_offset.y)
        if place is None:
            return 0
        message = self._parts[place[0]].message
        above = sum(len(found) for found in self._matches[:message])
        return above + bisect_left(self._matches[message], place[1])

    def _match_place(self, number: int) -> tuple[int, int]:
        ends = list(accumulate(map(len, self._matches)))
        message = bisect_right(ends, number)
        return message, self._matches[message][number - (ends[message - 1] if message else 0)]

    # --- pointing

    @property
    def pointing(self) -> bool:
        """Whether a row is pointed at; then the keys that scroll move the pointer, and a click does."""
        return self._pointed is not None

    def point(self, *, at: int | None = None) -> None:
        """Point at a row: the given one, what was gone to last, or the first of text in sight. Posts `Pointed`."""
        if at is not None:
            row = max(0, at)
        else:
            row = self.scroll_offset.y if self._target is None else self._rows.row_of(*self._target[:2])
        self._rows.advance(rows=row + 2)
        row = min(row, len(self._rows.starts) - 1)
        place = self._rows.at(row)
        if place is not None and self._parts[place[0]].text is None:
            # A heading is no text: the row above it when coming from below, else the one under it.
            above = self._pointed is not None and self._rows.row_of(*self._pointed) > row > 0
            row += -1 if above else 1
            place = self._rows.at(row)
        if place is None:
            return
        index, start, end = place
        part = self._parts[index]
        self._pointed = (index, start)
        self._reveal_pointer()
        self.refresh()
        self._report_block()
        stop = end - 1 if end > start and (part.text or "")[end - 1] == "\n" else end
        self.post_message(self.Pointed(self, part.message, start, stop))

    def _reveal_pointer(self) -> None:
        if self._pointed is None:
            return
        row, top, height = self._rows.row_of(*self._pointed), self.scroll_offset.y, self.size.height
        if height and not top <= row < top + height:
            self.go_to_row(row if row < top else row - height + 1)

    def stop_pointing(self) -> None:
        """Let the keys scroll again."""
        self._pointed = None
        self.refresh()

    def _move_pointer(self, rows: int) -> None:
        if self._pointed is not None:
            self.point(at=self._rows.row_of(*self._pointed) + rows)

    def on_click(self, event: events.Click) -> None:
        """Point at what is clicked, while there is a pointer."""
        if self.pointing:
            self.point(at=event.y + self.scroll_offset.y)

    @property
    def caret(self) -> Offset:
        """The line that is read, which is the one pointed at."""
        if self._pointed is None:
            return super().caret
        return Offset(0, self._rows.row_of(*self._pointed) - self.scroll_offset.y)

    # --- scrolling

    def action_scroll_rows(self, rows: int) -> None:
        """Scroll by rows, or move the pointer by them."""
        if self.pointing:
            self._move_pointer(rows)
        else:
            super().action_scroll_rows(rows)

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll by pages, or move the pointer by them."""
        if self.pointing:
            self._move_pointer(pages * max(1, self.size.height - 1))
        else:
            super().action_scroll_pages(pages)

    def action_scroll_top(self) -> None:
        """Scroll to the first row, the pointer too."""
        super().action_scroll_top()
        if self.pointing:
            self.point(at=0)

    def action_scroll_bottom(self) -> None:
        """Scroll to the last row, the pointer too, wrapping all that was not wrapped yet."""
        super().action_scroll_bottom()
        if self.pointing:
            self.point(at=len(self._rows.starts) - 1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Notice which block is at the top."""
        super().watch_scroll_y(old_value, new_value)
        if self._pinned is not None and self._pinned[1] != round(new_value):
            self._pinned = None
        if self._target is not None and self._target[2] != round(new_value):
            self._target = None
        self._report_block()

    # --- wrapping

    def on_resize(self, event: events.Resize) -> None:
        """Wrap to the new width, the same text at the top."""
        if self.size and self._wrap_width != self._rows.width:
            wanted, self._wanted = self._wanted, None
            self._rewrap(self._anchor())
            if wanted is not None:
                self._goto(wanted)
        # What is said of a row takes rows from the view.
        self._reveal_pointer()

    @property
    def _gutter(self) -> int:
        """Cells beside the text: name, tokens and bar, or the bar alone where there is little room."""
        if is_spoken(self):
            return 0
        width = self.scrollable_content_region.width
        return 30 if width >= 100 else 22 if width >= 76 else 2

    @property
    def _wrap_width(self) -> int:
        return max(1, self.scrollable_content_region.width - self._gutter)

    def _anchor(self) -> tuple[str, int] | None:
        """The block at the top of the view and how far into its text the view begins."""
        place = self._rows.at(self.scroll_offset.y) if self.scroll_offset.y else None
        if place is None or (block := self._parts[place[0]].block) is None:
            return None
        return self._blocks[block].id, place[1] - self._parts[place[0]].start

    def _rewrap(self, anchor: tuple[str, int] | None) -> None:
        if not self.size:
            self._rows = WrappedRows(self._parts, 0)
            return
        self._rows = WrappedRows(self._parts, self._wrap_width)
        self._rows.advance(rows=2 * self.size.height)
        self._fit()
        index = None if anchor is None else self._index(anchor[0])
        if anchor is not None and index is not None:
            part = self._part_of_block[index]
            self.go_to_row(self._rows.row_of(part, self._parts[part].start + anchor[1]))
        else:
            self.scroll_to(y=0, animate=False, force=True)
        self.refresh()
        self._report_block()
        self._wrap_rest()

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
            segments = self._draw_heading(part)
        else:
            segments = [*self._draw_gutter(part, start), *self._draw_text(part, start, end)]
            if self._pointed == (index, start):
                gutter = len(self._draw_gutter(part, start))
                pointed = self._style("pointed")
                if gutter:
                    segments[gutter - 1] = Segment(f"{_POINTER} ", segments[gutter - 1].style)
                segments[gutter:] = [
                    Segment(text, pointed if style is None else style + pointed) for text, style, _ in segments[gutter:]
                ]
        return Strip(segments).apply_style(base).adjust_cell_length(width, base)

    def _draw_heading(self, part: _Part) -> list[Segment]:
        message = self._messages[part.message]
        tokens = sum(
            self._blocks[other.block].tokens
            for other in self._parts
            if other.message == part.message and other.block is not None
        )
        role = find(f"list.section.{message.role}") or visible(message.role).upper()
        if is_spoken(self):
            words = t("reader.message", role=t(f"reader.role.{message.role}"), tokens=tokens)
            return [Segment(words, self._style("heading"))]
        title = f"── {t('prompt.heading', role=role, tokens=f'{tokens:,}')} "
        rule = "─" * max(0, self.size.width - cell_len(title))
        return [Segment(title + rule, self._style("heading"))]

    def _draw_gutter(self, part: _Part, start: int) -> list[Segment]:
        role = self._style(self._messages[part.message].role)
        if not self._gutter:
            return []
        room = self._gutter - 2
        bar = Segment(f"{_BAR} ", role)
        if not room:
            return [bar]
        if part.block is None or start != part.start:
            return [Segment(" " * room), bar]
        block = self._blocks[part.block]
        tokens = f"{short_count(block.tokens):>6} "
        name = fit(block.name, room - len(tokens))
        return [Segment(name, role), Segment(tokens, self._style("tokens")), bar]

    def _draw_text(self, part: _Part, start: int, end: int) -> list[Segment]:
        text = part.text or ""
        base = self._style("marker") if start < part.content_start else Style.null()
        segments: list[Segment] = []
        column = 0
        for first, last, style in self._pieces(part.message, start, end, base):
            drawn = draw_row(text[first:last], column)
            column += cell_len(drawn)
            segments.append(Segment(drawn, style))
        return segments

    def _pieces(self, message: int, start: int, end: int, base: Style) -> Iterator[tuple[int, int, Style]]:
        """A row cut where matches begin and end, with the style of each piece."""
        at = start
        if self._matches:
            found, length = self._matches[message], len(self._query)
            current = (
                self._match_place(self._match) if self._match is not None and self._match < self.match_count else None
            )
            for index in range(bisect_right(found, max(0, start - length)), bisect_left(found, end)):
                first, last = max(at, found[index]), min(end, found[index] + length)
                if last <= first:
                    continue
                if first > at:
                    yield at, first, base
                here = current == (message, found[index])
                yield first, last, base + self._style("current-match" if here else "match")
                at = last
        if at < end:
            yield at, end, base

    def _style(self, name: str) -> Style:
        """The style of a component; a role there is none for is drawn as the text."""
        component = f"prompt-view--{name}"
        if component not in self.COMPONENT_CLASSES:
            return Style.null()
        return self.get_component_rich_style(component)
