"""The list of an agent's blocks: drawn line by line, so that its length costs nothing.

The list shows rows and posts what the user wants; it changes no data. The screen that owns it answers a message
by editing the document and handing the new rows to `set_rows`. The cursor is a row's key, so it stays with its
block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from engine.blocks.block import ROLES, Role
from tui.language import t
from tui.widgets.cells import fit
from tui.widgets.row_render import MARK_COLUMNS, Palette, render_row, render_section

if TYPE_CHECKING:
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


_Line: TypeAlias = "_Section | _Notice | Row"


@dataclass(slots=True)
class _Drag:
    """A button held down on a row: pressed on line `start`, now over `target`, which stays within `bounds`."""

    key: str
    start: int
    target: int
    bounds: tuple[int, int]
    moved: bool = False


class BlockList(ScrollView, can_focus=True):
    """A list of blocks in sections by role, with a cursor.

    `key` is the key of the row under the cursor, `carry` that of the block being carried, or None; `filter` hides
    the rows that contain it neither in their name, their id nor their note.
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
        """The enable mark of a row was clicked."""

        block_list: BlockList
        key: str

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
        self._rows: tuple[Row, ...] = tuple(rows)
        self._lines: list[_Line] = []
        self._line_of: dict[str, int] = {}
        self._index_in_role: dict[str, int] = {}
        self._sections: dict[Role, tuple[int, int]] = {}
        self._max_tokens = 0
        self._palette: Palette | None = None
        self._drag: _Drag | None = None
        self._pressed_mark: str | None = None
        self._pointer_y = 0
        self._autoscroll: Timer | None = None
        self._arrange()
        self.set_reactive(BlockList.key, next(iter(self._line_of), None))

    # --- rows

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, whatever the filter hides."""
        return self._rows

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show `rows`, each with a `key` of its own, in their order within each role.

        The cursor stays on its block; when that is gone it goes to the one that took its place. Only the visible
        lines that look different are painted.
        """
        self._stop_drag()
        self._show(tuple(rows))

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self._row(self._line_of.get(self.key, -1)) if self.key is not None else None

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
        row = self.current
        if row is not None:
            self.post_message(self.Selected(self, row))

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
        self._show(self._rows)

    def _go(self, delta: int) -> None:
        line = self._line_of.get(self.key, 0) if self.key is not None else 0
        self._go_to_line(line + delta, 1 if delta > 0 else -1)

    def _go_to_line(self, line: int, direction: int) -> None:
        """Put the cursor on the row at `line`, or the next one in `direction`, or the last one before it."""
        line = max(0, min(len(self._lines) - 1, line))
        row = self._nearest(line, direction) or self._nearest(line, -direction)
        if row is None:
            return
        if row.key == self.key:
            # At an end: show the section's header as well.
            self._reveal(self._line_of[row.key])
        self.key = row.key

    def _nearest(self, line: int, direction: int) -> Row | None:
        while 0 <= line < len(self._lines):
            row = self._row(line)
            if row is not None:
                return row
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
        header = height > 1 and line > 0 and isinstance(self._lines[line - 1], _Section)
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
        needle = self.filter.casefold()
        lines: list[_Line] = []
        line_of: dict[str, int] = {}
        index_in_role: dict[str, int] = {}
        self._line_of, self._index_in_role = line_of, index_in_role
        self._sections = {}
        self._max_tokens = 0
        for role in ROLES:
            members = [row for row in self._rows if row.role == role]
            if not members:
                continue
            tokens = [row.tokens or 0 for row in members]
            self._max_tokens = max(self._max_tokens, *tokens)
            lines.append(_Section(role, sum(tokens)))
            shown = [row for row in members if _matches(row, needle)] if needle else members
            first = len(lines)
            lines += shown
            index_in_role.update(zip([row.key for row in members], count(), strict=False))
            line_of.update(zip([row.key for row in shown], count(first), strict=False))
            self._sections[role] = (first, len(lines) - 1)
        if not line_of:
            lines.append(_Notice(t("list.no-match", text=self.filter) if self._rows and needle else self.empty))
        self._lines = lines

    def _show(self, rows: tuple[Row, ...]) -> None:
        """Lay out `rows` and repaint what looks different in the viewport."""
        before = [self._face(y) for y in range(self.size.height)]
        line = self._line_of.get(self.key, 0) if self.key is not None else 0
        self._rows = rows
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
        if line is None or isinstance(line, _Section | _Notice):
            return line
        return (
            line.key, line.name, line.note, line.warning, line.type, line.enabled, line.state, line.mode, line.role,
            line.tokens, self._max_tokens,
        )  # fmt: skip

    def _row(self, line: int) -> Row | None:
        found = self._lines[line] if 0 <= line < len(self._lines) else None
        return None if isinstance(found, _Section | _Notice) else found

    # --- painting

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        palette = self._palette
        if palette is None:
            palette = self._palette = self._make_palette()
        line = self._line_at(y + self.scroll_offset.y)
        if line is None or width < 1:
            return Strip.blank(width, palette.base)
        if isinstance(line, _Section):
            return render_section(line.role, line.tokens, width, palette)
        if isinstance(line, _Notice):
            return Strip([Segment(fit(f" {line.text}", width), palette.base + palette.note)], width)
        dragged = self._drag is not None and self._drag.moved and self._drag.key == line.key
        return render_row(
            line,
            width,
            cursor=line.key == self.key,
            carried=dragged or line.key == self.carry,
            max_tokens=self._max_tokens,
            palette=palette,
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
        if key in self._line_of:
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
        row = self.row_at(event.y - self.gutter.top)
        if row is None:
            return
        self.key = row.key
        on_mark = event.x - self.gutter.left in MARK_COLUMNS
        self._pressed_mark = row.key if on_mark else None
        if not on_mark:
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
        row = self.row_at(event.y - self.gutter.top)
        if row is None or row.key != self.key:
            return
        if self._pressed_mark == row.key and event.x - self.gutter.left in MARK_COLUMNS:
            self.post_message(self.ToggleRequested(self, row.key))
        elif event.chain == 2:
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


def _matches(row: Row, needle: str) -> bool:
    return needle in row.name.casefold() or needle in row.id.casefold() or needle in row.note.casefold()
