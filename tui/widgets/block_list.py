"""The list of an agent's blocks: drawn line by line, so that its length costs nothing.

The list shows rows and posts what the user wants; it changes no data. The screen that owns it answers a message
by editing the document and handing the new rows to `set_rows`. The cursor is a row's key, and so are the marks, so they
stay with their blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from engine.blocks.block import ROLES, Role
from tui.language import t
from tui.leftover_texts import describe
from tui.row_filter import Match, RowFilter
from tui.safe_text import visible
from tui.screen_reader import Spoken, is_spoken
from tui.widgets.cells import fit
from tui.widgets.row_render import (
    MARK_COLUMNS,
    SWITCH_COLUMNS,
    Palette,
    render_leftover,
    render_row,
    render_section,
    render_title,
    words_shown,
)
from tui.widgets.row_words import row_words, section_words

if TYPE_CHECKING:
    from engine.blocks.leftovers import Leftover
    from engine.blocks.rows import Row

_AUTOSCROLL_INTERVAL = 0.2
_LEFT_BUTTON = 1


@dataclass(frozen=True, slots=True)
class _Section:
    """The line above the rows of a role."""

    role: Role
    tokens: int


@dataclass(frozen=True, slots=True)
class _Notice:
    """A line that says why there are no rows."""

    text: str


@dataclass(frozen=True, slots=True)
class _LeftTitle:
    """The line above what is left over in the config."""


@dataclass(frozen=True, slots=True)
class _Left:
    """The line of something left over. `key` is none that a row can have."""

    key: str
    leftover: Leftover


_Line: TypeAlias = "_Section | _Notice | _LeftTitle | _Left | Row"
_TITLES = (_Section, _Notice, _LeftTitle)
_NO_MATCH = Match()


@dataclass(slots=True)
class _Drag:
    """A button held down on a row: pressed on line `start`, now over `target`, which stays within `bounds`."""

    key: str
    start: int
    target: int
    bounds: tuple[int, int]
    moved: bool = False


class BlockList(Spoken, ScrollView, can_focus=True):
    """A list of blocks in sections by role, and of what is left over in the config, with a cursor and marks.

    `key` is the key of the row under the cursor, `carry` that of the block being carried, or None; `filter` hides the
    rows that do not meet it (see `tui.row_filter`), and puts the cursor on the one that does best. `text_of` gives the
    text that is stored of a block, for filters that look into texts.
    """

    ALLOW_SELECT = False

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor_up", "Up", show=False),
        Binding("down", "cursor_down", "Down", show=False),
        Binding("home", "cursor_home", "First", show=False),
        Binding("end", "cursor_end", "Last", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("enter", "select", "Edit", show=False),
        Binding("shift+up", "extend_mark(-1)", "Mark upwards", show=False),
        Binding("shift+down", "extend_mark(1)", "Mark downwards", show=False),
    ]

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "block-list--cursor",
        "block-list--carried",
        "block-list--muted",
        "block-list--enabled",
        "block-list--disabled",
        "block-list--script",
        "block-list--text",
        "block-list--mode",
        "block-list--system",
        "block-list--user",
        "block-list--tokens",
        "block-list--bar",
        "block-list--warning",
        "block-list--note",
        "block-list--section",
        "block-list--marked",
    }

    # There is no hover style on purpose: moving the mouse over the list must send nothing to the terminal.
    DEFAULT_CSS = """
    BlockList {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        & > .block-list--cursor { background: $primary 30%; text-style: bold; }
        & > .block-list--carried { color: $background; background: $warning; text-style: bold; }
        & > .block-list--muted { color: $text-muted; }
        & > .block-list--enabled { color: $text-success; }
        & > .block-list--disabled { color: $text-error; }
        & > .block-list--script { color: $text-accent; }
        & > .block-list--text { color: $text-accent; }
        & > .block-list--mode { color: $text-warning; }
        & > .block-list--system { color: $role-system; }
        & > .block-list--user { color: $role-user; }
        & > .block-list--bar { color: $primary; }
        & > .block-list--warning { color: $text-error; text-style: bold; }
        & > .block-list--note { color: $text-muted; }
        & > .block-list--section { text-style: bold; }
        & > .block-list--marked { color: $text-warning; text-style: bold; }
        &:focus > .block-list--cursor {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
            text-style: $block-cursor-text-style;
        }
        &:ansi {
            & > .block-list--muted, & > .block-list--note { text-style: dim; }
            & > .block-list--cursor { background: ansi_default; text-style: bold underline; }
            & > .block-list--carried { color: ansi_black; background: ansi_yellow; }
            &:focus > .block-list--cursor {
                color: $block-cursor-foreground;
                background: $block-cursor-background;
                text-style: $block-cursor-text-style;
            }
        }
        &:nocolor {
            & > .block-list--cursor { text-style: bold underline; }
            & > .block-list--carried { text-style: bold reverse; }
            &:focus > .block-list--cursor { text-style: reverse; }
        }
    }
    """

    key: reactive[str | None] = reactive(None, repaint=False, init=False)
    carry: reactive[str | None] = reactive(None, repaint=False, init=False)
    filter: reactive[str] = reactive("", repaint=False, init=False)

    @dataclass
    class Highlighted(Message):
        """The cursor came to another row, or there is no row any more (`row` is None)."""

        block_list: BlockList
        row: Row | None

        @property
        def control(self) -> BlockList:
            return self.block_list

    @dataclass
    class Selected(Message):
        """The user wants to edit `row`: enter, or a double click."""

        block_list: BlockList
        row: Row

        @property
        def control(self) -> BlockList:
            return self.block_list

    @dataclass
    class MoveRequested(Message):
        """A block was dragged to a new place.

        `index` is where it should end up among all rows of its role, those hidden by the filter included.
        """

        block_list: BlockList
        key: str
        index: int

        @property
        def control(self) -> BlockList:
            return self.block_list

    @dataclass
    class ToggleRequested(Message):
        """The switch of a row was clicked."""

        block_list: BlockList
        key: str

        @property
        def control(self) -> BlockList:
            return self.block_list

    @dataclass
    class LeftoverSelected(Message):
        """The user wants to see something left over: enter, or a double click."""

        block_list: BlockList
        leftover: Leftover

        @property
        def control(self) -> BlockList:
            return self.block_list

    @dataclass
    class ShownChanged(Message):
        """Other rows are marked, or the filter shows others."""

        block_list: BlockList

        @property
        def control(self) -> BlockList:
            return self.block_list

    def __init__(
        self,
        rows: Sequence[Row] = (),
        *,
        empty: str | None = None,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        """`rows` as `set_rows` takes them; `empty` is what an empty list says, from the next `set_rows` on."""
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self.empty = t("list.none") if empty is None else empty
        self.text_of: Callable[[Row], str] = lambda row: ""
        self._rows: tuple[Row, ...] = tuple(rows)
        self._leftovers: tuple[Leftover, ...] = ()
        self._marked: frozenset[str] = frozenset()
        self._range: tuple[str, frozenset[str]] | None = None
        self._row_filter = RowFilter("")
        self._matches: dict[str, Match] = {}
        self._lines: list[_Line] = []
        self._line_of: dict[str, int] = {}
        self._index_in_role: dict[str, int] = {}
        self._sections: dict[Role, tuple[int, int]] = {}
        self._max_tokens = 0
        self._palette: Palette | None = None
        self._drag: _Drag | None = None
        self._pressed_at: tuple[str, int] | None = None
        self._pointer_y = 0
        self._autoscroll: Timer | None = None
        self._arrange()
        self.set_reactive(BlockList.key, next(iter(self._line_of), None))

    # --- rows

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, whatever the filter hides."""
        return self._rows

    def set_rows(self, rows: Sequence[Row], leftovers: Sequence[Leftover] = ()) -> None:
        """Show `rows`, each with a `key` of its own, in their order within each role, and below them `leftovers`.

        The cursor stays on its block; when that is gone it goes to the one that took its place. Marks go with their
        blocks. Only the visible lines that look different are painted.
        """
        self._stop_drag()
        self._show(tuple(rows), tuple(leftovers))
        if self._marked and not self._marked <= self._index_in_role.keys():
            self._marked &= self._index_in_role.keys()
            self.post_message(self.ShownChanged(self))
        if self._range is not None and self._range[0] not in self._index_in_role:
            self._range = None

    @property
    def current(self) -> Row | None:
        """The row of the block under the cursor."""
        return self._row(self._line_of.get(self.key, -1)) if self.key is not None else None

    @property
    def leftover(self) -> Leftover | None:
        """What is left over in the config and under the cursor."""
        line = self._item(self._line_of.get(self.key, -1)) if self.key is not None else None
        return line.leftover if isinstance(line, _Left) else None

    @property
    def shown(self) -> list[Row]:
        """The rows that the filter lets through, in the order they are drawn."""
        return [line for line in self._lines if not isinstance(line, (*_TITLES, _Left))]

    def row_at(self, y: int) -> Row | None:
        """The row drawn on line `y` of the widget's content (0 is the top one), or None."""
        return self._row(y + self.scroll_offset.y) if 0 <= y < self.size.height else None

    def move_target(self, delta: int) -> tuple[str, int] | None:
        """Where the carried block, or the one under the cursor, goes when it moves by `delta` visible rows.

        Returns its key and its new index among all rows of its role, or None when it can't go that way.
        """
        key = self.carry if self.carry is not None else self.key
        line = self._line_of.get(key, -1) if key is not None else -1
        row = self._row(line)
        if row is None:
            return None
        first, last = self._sections[row.role]
        target = self._row(max(first, min(last, line + delta)))
        if target is None or target.key == row.key:
            return None
        return row.key, self._index_in_role[target.key]

    # --- in words

    def spoken(self) -> str:
        """The row under the cursor, and which of those listed it is."""
        at = self._line_of.get(self.key, -1) if self.key is not None else -1
        line = self._lines[at] if at >= 0 else None
        if line is None:
            return "".join(line.text for line in self._lines if isinstance(line, _Notice))
        words = self._words(line)
        if self.carry is not None and self.carry == self.key:
            words = t("reader.carrying", text=words)
        number = list(self._line_of).index(self.key) + 1 if self.key is not None else 0
        return t("reader.block", number=number, total=len(self._line_of), text=words)

    def _words(self, line: _Line) -> str:
        """A line of the list in words."""
        if isinstance(line, _Notice):
            return line.text
        if isinstance(line, _Section):
            return section_words(line.role, line.tokens)
        if isinstance(line, _LeftTitle):
            return t("rows.left-over")
        if isinstance(line, _Left):
            return f"{visible(line.leftover.id)}, {describe(line.leftover)}"
        words = row_words(line)
        return t("reader.marked", text=words) if line.key in self._marked else words

    @property
    def caret(self) -> Offset:
        """The start of the row under the cursor, in the content of the widget."""
        return Offset(0, max(0, self._line_of.get(self.key or "", 0) - self.scroll_offset.y))

    # --- marks

    @property
    def marked(self) -> frozenset[str]:
        """Keys of the marked rows, those hidden by the filter included."""
        return self._marked

    def toggle_mark(self, key: str) -> None:
        """Mark a row, or take its mark away. Ranges go on from the row that was marked last."""
        if key in self._index_in_role:
            marked = self._marked ^ {key}
            self._set_marked(marked)
            self._range = (key, marked - {key})

    def mark_range(self) -> None:
        """Mark the shown rows from the one marked last to the cursor; a range made before from there goes."""
        row = self.current
        if row is None:
            return
        if self._range is None:
            self._range = (row.key, self._marked)
        anchor, before = self._range
        keys = [row.key for row in self.shown]
        start = keys.index(anchor) if anchor in keys else keys.index(row.key)
        first, last = sorted((start, keys.index(row.key)))
        self._set_marked(before | set(keys[first : last + 1]))

    def extend_mark(self, delta: int) -> None:
        """Move the cursor by a row and the end of the range with it."""
        if self._range is None:
            self.mark_range()
        self._go(delta)
        self.mark_range()

    action_extend_mark = extend_mark

    def mark_shown(self) -> None:
        """Mark every row that is shown, or, when all are, take those marks away."""
        keys = {row.key for row in self.shown}
        self._range = None
        self._set_marked(self._marked - keys if keys <= self._marked else self._marked | keys)

    def clear_marks(self) -> None:
        """Take all marks away."""
        self._range = None
        self._set_marked(frozenset())

    def _set_marked(self, marked: Iterable[str]) -> None:
        before, self._marked = self._marked, frozenset(marked)
        changed = before ^ self._marked
        if changed:
            for y in range(self.size.height):
                row = self.row_at(y)
                if row is not None and row.key in changed:
                    self.refresh_line(y + self.scroll_offset.y)
            self.post_message(self.ShownChanged(self))

    # --- cursor

    def cursor_up(self) -> None:
        """Move the cursor up by one row."""
        self._go(-1)

    def cursor_down(self) -> None:
        """Move the cursor down by one row."""
        self._go(1)

    def cursor_home(self) -> None:
        """Move the cursor to the first row."""
        self._go_to_line(0, 1)

    def cursor_end(self) -> None:
        """Move the cursor to the last row."""
        self._go_to_line(len(self._lines) - 1, -1)

    def page_up(self) -> None:
        """Move the cursor up by the height of the list."""
        self._go(-max(1, self.size.height - 1))

    def page_down(self) -> None:
        """Move the cursor down by the height of the list."""
        self._go(max(1, self.size.height - 1))

    action_cursor_up = cursor_up
    action_cursor_down = cursor_down
    action_cursor_home = cursor_home
    action_cursor_end = cursor_end

    def action_page_up(self) -> None:
        """Move the cursor, not only the view, up by a page."""
        self.page_up()

    def action_page_down(self) -> None:
        """Move the cursor, not only the view, down by a page."""
        self.page_down()

    def action_select(self) -> None:
        """Ask for the row under the cursor to be edited."""
        row, leftover = self.current, self.leftover
        if row is not None:
            self.post_message(self.Selected(self, row))
        elif leftover is not None:
            self.post_message(self.LeftoverSelected(self, leftover))

    def validate_key(self, key: str | None) -> str | None:
        """A key the list shows; an unknown or hidden one leaves the cursor where it is."""
        if key in self._line_of or not self._line_of:
            return key
        return self.key

    def watch_key(self, old: str | None, new: str | None) -> None:
        self._repaint_key(old)
        self._repaint_key(new)
        self._reveal(self._line_of.get(new, -1) if new is not None else -1)
        self.post_message(self.Highlighted(self, self.current))

    def watch_carry(self, old: str | None, new: str | None) -> None:
        self._repaint_key(old)
        self._repaint_key(new)

    def watch_filter(self) -> None:
        self._stop_drag()
        self._row_filter = RowFilter(self.filter)
        self._show(self._rows, self._leftovers)
        if self._row_filter.ranks and self._matches:
            self.key = max(self._matches, key=lambda key: self._matches[key].score)
        self.post_message(self.ShownChanged(self))

    def _go(self, delta: int) -> None:
        line = self._line_of.get(self.key, 0) if self.key is not None else 0
        self._go_to_line(line + delta, 1 if delta > 0 else -1)

    def _go_to_line(self, line: int, direction: int) -> None:
        """Put the cursor on the row at `line`, or the next one in `direction`, or the last one before it."""
        line = max(0, min(len(self._lines) - 1, line))
        item = self._nearest(line, direction) or self._nearest(line, -direction)
        if item is None:
            return
        if item.key == self.key:
            # At an end: show the section's header as well.
            self._reveal(self._line_of[item.key])
        self.key = item.key

    def _nearest(self, line: int, direction: int) -> _Left | Row | None:
        while 0 <= line < len(self._lines):
            item = self._item(line)
            if item is not None:
                return item
            line += direction
        return None

    def _reveal(self, line: int) -> None:
        """Scroll so that `line` can be seen.

        By half a page: scrolling repaints the list whole, so it has to be rare (spec terminal, section 4.3).
        """
        height = self.size.height
        if line < 0 or height <= 0:
            return
        top = self.scroll_offset.y
        header = height > 1 and line > 0 and isinstance(self._lines[line - 1], _TITLES)
        first = line - 1 if header else line
        if first >= top and line < top + height:
            return
        half = max(1, height // 2)
        target = first - half + 1 if first < top else line - half
        target = max(0, line - height + 1, min(first, target))
        self.scroll_to(y=target, animate=False, immediate=True)

    # --- layout of the lines

    def _arrange(self) -> None:
        """Lay out sections and visible rows."""
        wanted = self._row_filter
        lines: list[_Line] = []
        line_of: dict[str, int] = {}
        index_in_role: dict[str, int] = {}
        matches: dict[str, Match] = {}
        self._line_of, self._index_in_role, self._matches = line_of, index_in_role, matches
        self._sections = {}
        self._max_tokens = 0
        for role in ROLES:
            members = [row for row in self._rows if row.role == role]
            if not members:
                continue
            tokens = [row.tokens or 0 for row in members]
            self._max_tokens = max(self._max_tokens, *tokens)
            lines.append(_Section(role, sum(tokens)))
            shown = members
            if wanted:
                found = [(row, wanted.match(row, self.text_of)) for row in members]
                matches.update((row.key, match) for row, match in found if match is not None)
                shown = [row for row, match in found if match is not None]
            first = len(lines)
            lines += shown
            index_in_role.update(zip([row.key for row in members], count(), strict=False))
            line_of.update(zip([row.key for row in shown], count(first), strict=False))
            self._sections[role] = (first, len(lines) - 1)
        left = [_Left(f"\0{item.id}", item) for item in self._leftovers if not wanted or wanted.match_left(item.id)]
        if left:
            lines.append(_LeftTitle())
            line_of.update(zip([item.key for item in left], count(len(lines)), strict=False))
            lines += left
        if not line_of:
            nothing = self._rows and wanted
            lines.append(_Notice(t("list.no-match", text=self.filter) if nothing else self.empty))
        self._lines = lines

    def _show(self, rows: tuple[Row, ...], leftovers: tuple[Leftover, ...]) -> None:
        """Lay out `rows` and `leftovers` and repaint what looks different in the viewport."""
        before = [self._face(y) for y in range(self.size.height)]
        line = self._line_of.get(self.key, 0) if self.key is not None else 0
        self._rows, self._leftovers = rows, leftovers
        self._arrange()
        if len(self._lines) != self.virtual_size.height:
            self.virtual_size = Size(self.virtual_size.width, len(self._lines))
        if self.key not in self._line_of:
            successor = self._nearest(min(line, len(self._lines) - 1), 1) or self._nearest(line, -1)
            self.key = successor.key if successor is not None else None
        else:
            self._reveal(self._line_of[self.key])
        for y, face in enumerate(before):
            if self._face(y) != face:
                self.refresh_line(y + self.scroll_offset.y)

    def _face(self, y: int) -> object:
        """All that decides how line `y` of the viewport looks, except its place and the cursor."""
        line = self._line_at(y + self.scroll_offset.y)
        if line is None or isinstance(line, (*_TITLES, _Left)):
            return line
        return (
            line.key, line.name, line.note, line.warning, line.type, line.enabled, line.state, line.mode, line.role,
            line.tokens, line.pinned, words_shown(line, self.size.width), self._max_tokens, line.key in self._marked,
            self._matches.get(line.key, _NO_MATCH).hits,
        )  # fmt: skip

    def _item(self, line: int) -> _Left | Row | None:
        """What the cursor can stand on at a line."""
        found = self._lines[line] if 0 <= line < len(self._lines) else None
        return None if isinstance(found, _TITLES) else found

    def _row(self, line: int) -> Row | None:
        found = self._item(line)
        return None if isinstance(found, _Left) else found

    # --- painting

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        palette = self._palette
        if palette is None:
            palette = self._palette = self._make_palette()
        line = self._line_at(y + self.scroll_offset.y)
        if line is None or width < 1:
            return Strip.blank(width, palette.base)
        if is_spoken(self):
            return Strip([Segment(fit(f" {self._words(line)}", width), palette.base)], width)
        if isinstance(line, _Section):
            return render_section(line.role, line.tokens, width, palette)
        if isinstance(line, _Notice):
            return Strip([Segment(fit(f" {line.text}", width), palette.base + palette.note)], width)
        if isinstance(line, _LeftTitle):
            return render_title(t("rows.left-over"), width, palette)
        if isinstance(line, _Left):
            return render_leftover(line.leftover, width, cursor=line.key == self.key, palette=palette)
        dragged = self._drag is not None and self._drag.moved and self._drag.key == line.key
        return render_row(
            line,
            width,
            cursor=line.key == self.key,
            carried=dragged or line.key == self.carry,
            max_tokens=self._max_tokens,
            palette=palette,
            marked=line.key in self._marked,
            hits=self._matches.get(line.key, _NO_MATCH).hits,
        )

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette = None

    def _make_palette(self) -> Palette:
        def part(name: str) -> Style:
            return self.get_component_rich_style(f"block-list--{name}", partial=True)

        base = self.rich_style
        return Palette(
            base=base,
            # Whole, not in part: a translucent background is only blended there.
            cursor=self.get_component_rich_style("block-list--cursor"),
            carried=self.get_component_rich_style("block-list--carried"),
            muted=part("muted"),
            enabled=part("enabled"),
            disabled=part("disabled"),
            script=part("script"),
            text=part("text"),
            mode=part("mode"),
            system=part("system"),
            user=part("user"),
            tokens=part("tokens"),
            bar=part("bar"),
            warning=part("warning"),
            note=part("note"),
            section=part("section"),
            marked=part("marked"),
        )

    def _line_at(self, line: int) -> _Line | None:
        """What is drawn on a line: the laid out one, or its neighbour while a row is dragged past it."""
        drag = self._drag
        if drag is not None and drag.moved:
            if line == drag.target:
                line = drag.start
            elif drag.start <= line < drag.target:
                line += 1
            elif drag.target < line <= drag.start:
                line -= 1
        return self._lines[line] if 0 <= line < len(self._lines) else None

    def _repaint_key(self, key: str | None) -> None:
        # For a screen reader only the terminal's cursor moves: a row that is drawn again is read again.
        if key in self._line_of and not is_spoken(self):
            self._repaint(self._line_of[key], self._line_of[key])

    def _repaint(self, first: int, last: int) -> None:
        """Repaint the lines from `first` to `last`, as far as they are in view."""
        top = self.scroll_offset.y
        first, last = max(first, top), min(last, top + self.size.height - 1)
        if first <= last:
            self.refresh_lines(first, last - first + 1)

    def on_mount(self) -> None:
        self.virtual_size = Size(0, len(self._lines))
        if self.current is not None:
            self.post_message(self.Highlighted(self, self.current))

    def on_resize(self) -> None:
        if self.key in self._line_of:
            self._reveal(self._line_of[self.key])

    # --- mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != _LEFT_BUTTON:
            return
        line = event.y - self.gutter.top + self.scroll_offset.y
        item = self._item(line) if 0 <= event.y - self.gutter.top < self.size.height else None
        if item is None:
            return
        self.key = item.key
        row = self._row(line)
        if row is None:
            return
        column = event.x - self.gutter.left
        self._pressed_at = (row.key, column)
        if event.ctrl or column in MARK_COLUMNS:
            self.toggle_mark(row.key)
        elif column not in SWITCH_COLUMNS:
            self._drag = _Drag(row.key, line, line, self._sections[row.role])
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag is None:
            return
        self._pointer_y = event.y - self.gutter.top
        self._drag_to_pointer()
        # The list may fill the terminal: its outermost lines count as its edge, for there is nothing beyond.
        at_edge = self._drag.moved and not 0 < self._pointer_y < self.size.height - 1
        if at_edge and self._autoscroll is None:
            self._autoscroll = self.set_interval(_AUTOSCROLL_INTERVAL, self._scroll_to_pointer)
        elif not at_edge and self._autoscroll is not None:
            self._autoscroll.stop()
            self._autoscroll = None

    def on_mouse_up(self, event: events.MouseUp) -> None:
        drag = self._drag
        if drag is None:
            return
        self._stop_drag()
        target = self._row(drag.target)
        if drag.target != drag.start and target is not None:
            self.post_message(self.MoveRequested(self, drag.key, self._index_in_role[target.key]))

    def on_click(self, event: events.Click) -> None:
        row, leftover = self.row_at(event.y - self.gutter.top), self.leftover
        if row is None and leftover is not None and event.chain == 2:
            self.post_message(self.LeftoverSelected(self, leftover))
        if row is None or row.key != self.key or event.ctrl or self._pressed_at is None:
            return
        column = event.x - self.gutter.left
        pressed, at = self._pressed_at
        if pressed == row.key and at in SWITCH_COLUMNS and column in SWITCH_COLUMNS:
            self.post_message(self.ToggleRequested(self, row.key))
        elif event.chain == 2 and column not in MARK_COLUMNS:
            self.post_message(self.Selected(self, row))

    def on_mouse_release(self) -> None:
        # Another widget or a screen took the mouse.
        self._stop_drag()

    def _drag_to_pointer(self) -> None:
        drag = self._drag
        if drag is None:
            return
        first, last = drag.bounds
        pointer = max(0, min(self.size.height - 1, self._pointer_y)) + self.scroll_offset.y
        target = max(first, min(last, pointer))
        if target == drag.target:
            return
        old, drag.target, drag.moved = drag.target, target, True
        self._repaint(min(old, target), max(old, target))

    def _scroll_to_pointer(self) -> None:
        # Every scroll repaints the list, so it goes by a quarter of its height.
        step = max(1, self.size.height // 4)
        self.scroll_to(
            y=self.scroll_offset.y + (-step if self._pointer_y <= 0 else step), animate=False, immediate=True
        )
        self._drag_to_pointer()

    def _stop_drag(self) -> None:
        drag, self._drag = self._drag, None
        if self._autoscroll is not None:
            self._autoscroll.stop()
            self._autoscroll = None
        if drag is not None:
            self.release_mouse()
            if drag.moved:
                self._repaint(min(drag.start, drag.target), max(drag.start, drag.target))
