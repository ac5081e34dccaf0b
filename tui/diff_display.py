"""Sends the terminal only the cells that changed.

Textual repaints every dirty region whole, though most of its cells usually look as before: one character
typed in a text area costs a screenful of bytes (spec terminal, sections 0.3 and 4.3). `DiffDisplayApp` keeps
a model of what the terminal shows, compares each frame with it and writes the difference. A slow link gets a
tenth to a fortieth of the bytes, and a frame that changes nothing costs none.

The frames are private to Textual, so the diff is on for exactly the version it was written for. It is off,
which is plain Textual, for every other version, when it is switched off, in inline mode, and after a failure.

A terminal that takes no output, behind a stalled link, does not stop the app (it stops Textual within a third of a
second): frames are left out until it does, and then it is sent what the screen looks like by then.

The model is of the terminal, not of a screen, so it holds across screens and modes. It is dropped when the
terminal may have changed by itself: after a resize, a suspension or a stop, and on request.

Where terminals disagree about the width of a character cluster (emoji sequences, combining marks), the diff
puts the cursor back in place behind it, so that nothing right of the cluster shifts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple, TypeAlias, cast

from rich.cells import split_graphemes
from rich.color import Color, ColorSystem
from rich.console import Console, RenderableType
from rich.style import Style
from textual import events
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App, ReturnType
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer

from tui.textual_version import is_textual

TEXTUAL_VERSION = "8.2.8"
"""The version of Textual whose frames this module can read."""


def diff_supported() -> bool:
    """True unless another Textual is installed than the one whose frames can be read."""
    return is_textual(TEXTUAL_VERSION)


class Look(NamedTuple):
    """How a cell looks: SGR parameters, each empty for the terminal's default, and a hyperlink."""

    attributes: str
    foreground: str
    background: str
    link: str


Cell: TypeAlias = tuple[str, Look]
"""A grapheme and its look. A wide grapheme is followed by cells with an empty text."""

_PLAIN = Look("", "", "", "")
_RESET = "\x1b[0m"

# Single characters some terminals draw wider or narrower than others: invisible ones, private use, and the
# symbols that have an emoji form. Clusters of several characters are doubtful whatever they are.
_DOUBTFUL = re.compile(
    "[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\u231a-\u23ff\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe"
    "\u2600-\u2712\u2714-\u2716\u2718-\u27bf\u2b00-\u2bff\u3030\u303d\u3297\u3299\ue000-\uf8ff\ufe00-\ufe0f"
    "\U0001f000-\U0001faff\U000e0000-\U0010ffff]"
).match

# Cells it is cheaper to send again than to jump over with a cursor movement.
_GAP = 4

# Attributes that are seen on a space, and those by whose end another ends as well.
_INKED = frozenset(("4", "9", "21", "51", "52", "53"))
_ENDS = {"3": "23", "4": "24", "5": "25", "7": "27", "8": "28", "9": "29", "53": "55"}

# Textual's queue to the terminal holds 30 writes, of which a frame is up to three, and blocks when it is full.
_BACKLOG = 8
_CATCH_UP = 0.1


@lru_cache(maxsize=4096)
def _color(color: Color, system: ColorSystem, foreground: bool) -> str:
    return "" if color.is_default else ";".join(color.downgrade(system).get_ansi_codes(foreground))


@lru_cache(maxsize=8192)
def _look(style: Style | None, system: ColorSystem) -> Look:
    if style is None:
        return _PLAIN
    # Style offers its attributes one by one only; rendering it without colours gives them all.
    attributes = Strip.render_ansi(style.without_color, system)
    return Look(
        attributes,
        "" if style.color is None else _color(style.color, system, True),
        "" if style.bgcolor is None else _color(style.bgcolor, system, False),
        style.link or "",
    )


@lru_cache(maxsize=4096)
def _blank(look: Look) -> Look:
    """How a space of this look is seen: by its background alone, unless a line is drawn through or under it."""
    codes = look.attributes.split(";")
    if look.link or not _INKED.isdisjoint(codes):
        return look
    if "7" not in codes:
        return Look("", "", look.background, "")
    # Bold and dim change the colour of the text in some terminals, and so that of the space.
    if look.attributes != "7" or not look.foreground:
        return look
    kind, _, rest = look.foreground.partition(";")
    return Look("", "", ";".join(filter(None, (str(int(kind) + 10), rest))), "")


@lru_cache(maxsize=4096)
def _transition(old: Look, new: Look) -> str:
    """The shortest escape sequence that takes the terminal from one look to another."""
    sequence = ""
    if old.link != new.link:
        sequence = f"\x1b]8;;{new.link}\x1b\\"
    if old[:3] == new[:3]:
        return sequence
    afresh = ";".join(["0", *filter(None, new[:3])])
    steps: list[str] = []
    if old.attributes != new.attributes:
        before, after = ({*filter(None, look.attributes.split(";"))} for look in (old, new))
        ended = before - after
        if not ended <= _ENDS.keys():
            return f"{sequence}\x1b[{afresh}m"
        steps += [_ENDS[code] for code in sorted(ended)]
        steps += sorted(after - before)
    if old.foreground != new.foreground:
        steps.append(new.foreground or "39")
    if old.background != new.background:
        steps.append(new.background or "49")
    return f"{sequence}\x1b[{min(';'.join(steps), afresh, key=len)}m"


def _cells(strip: Strip, system: ColorSystem) -> list[Cell] | None:
    """The strip as cells, or None when its text does not fill the cells it claims."""
    cells: list[Cell] = []
    for text, style, _ in strip:
        look = _look(style, system)
        space = (" ", _blank(look))
        if text.isascii() and text.isprintable():
            if space[1] is look or " " not in text:
                cells.extend([(char, look) for char in text])
            else:
                cells.extend([space if char == " " else (char, look) for char in text])
            continue
        spans, width = split_graphemes(text)
        before = len(cells)
        for start, end, size in spans:
            if size:
                cells.append(space if text[start:end] == " " else (text[start:end], look))
                cells.extend([("", look)] * (size - 1))
            else:
                _attach(cells, text[start:end])
        if len(cells) - before != width:
            return None
    return cells if len(cells) == strip.cell_length else None


@lru_cache(maxsize=4096)
def _reach(grapheme: str) -> int:
    """How many cells a grapheme may cover, from its first, where terminals disagree; 0 when they agree."""
    if len(grapheme) == 1 and not _DOUBTFUL(grapheme):
        return 0
    return 2 * len(grapheme)


def _attach(cells: list[Cell], mark: str) -> None:
    """Put a mark that stands alone in its segment where the terminal draws it: on the grapheme before."""
    index = len(cells) - 1
    while index >= 0 and not cells[index][0]:
        index -= 1
    if index >= 0:
        cells[index] = (cells[index][0] + mark, cells[index][1])


def _move(x: int, y: int) -> str:
    return f"\x1b[{y + 1};{x + 1}H"


class TerminalModel:
    """What the terminal shows, cell by cell, as far as it is known; it begins knowing nothing."""

    def __init__(self, width: int, height: int, *, whole_rows: bool = False, erases: bool = True) -> None:
        """`whole_rows`: send all of a piece of a row in which anything differs, for those who hear what is sent.

        `erases`: the terminal has ECH, and what it erases gets the background that is set.
        """
        self.width = width
        self.height = height
        self._whole_rows = whole_rows
        self._erases = erases
        self._rows: list[list[Cell | None]] = [[None] * width for _ in range(height)]

    def update(self, frame: LayoutUpdate | ChopsUpdate, system: ColorSystem) -> str:
        """The bytes that make the terminal show `frame`: empty when it does already."""
        pen = _Pen(self.width, self._erases and not self._whole_rows, in_order=self._whole_rows)
        for x, y, strip in _pieces(frame):
            # A frame laid out before the terminal shrank goes beyond it.
            if 0 <= y < self.height and 0 <= x < self.width:
                self._paint(x, y, strip, system, pen)
        return pen.finish()

    def _paint(self, x: int, y: int, strip: Strip, system: ColorSystem, pen: _Pen) -> None:
        cells = _cells(strip, system)
        if cells is None:
            self._paint_unmeasured(x, y, strip, system, pen)
            return
        row = self._rows[y]
        room = self.width - x
        if len(cells) > room and _is_tail(cells[room]):
            room -= 1  # a wide character that has half its room left is drawn where the terminal likes
            row[x + room] = None
        cells = cells[:room]
        if row[x : x + len(cells)] == cells:
            return
        changed = self._changed(row, x, cells)
        # A terminal blanks the half of a wide character whose other half is overwritten.
        after = x + len(cells)
        if x and _is_tail(row[x]):
            row[x - 1] = None
        if after < self.width and _is_tail(row[after]):
            row[after] = None
        row[x:after] = cells
        for start, end in self._widened(row, changed):
            pen.draw(row[start:end], start, y)

    def _paint_unmeasured(self, x: int, y: int, strip: Strip, system: ColorSystem, pen: _Pen) -> None:
        """Send a strip that lies about its width as it is; what it covers is unknown from now on."""
        text = "".join(Strip.render_style(style or Style(), text, system) for text, style, _ in strip)
        pen.send(text, x, y)
        row = self._rows[y]
        row[x:] = [None] * (len(row) - x)

    def _changed(self, row: list[Cell | None], x: int, cells: list[Cell]) -> list[tuple[int, int]]:
        """Intervals of columns whose cells differ from the row's, whole graphemes, small gaps closed."""
        if self._whole_rows:
            return [(x, x + len(cells))]
        intervals: list[tuple[int, int]] = []
        index, count = 0, len(cells)
        while index < count:
            if row[x + index] == cells[index]:
                index += 1
                continue
            start = index
            while index < count and row[x + index] != cells[index]:
                index += 1
            while start > 0 and (_is_tail(cells[start]) or _is_tail(row[x + start])):
                start -= 1
            while index < count and (_is_tail(cells[index]) or _is_tail(row[x + index])):
                index += 1
            if intervals and _cheap_gap(cells, intervals[-1][1] - x, start):
                start = intervals.pop()[0] - x
            intervals.append((x + start, x + index))
        return intervals

    def _widened(self, row: list[Cell | None], intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The intervals with what stands behind a doubtful grapheme, which may have been drawn over it."""
        widened: list[tuple[int, int]] = []
        for start, end in intervals:
            if widened and widened[-1][1] >= start:
                start, end = widened[-1][0], max(end, widened.pop()[1])
            column = start
            while column < end:
                cell = row[column]
                reach = _reach(cell[0]) if cell is not None and cell[0] else 0
                if column + reach > end:
                    end = self._known_until(row, end, min(self.width, column + reach))
                column += 1
            widened.append((start, end))
        return widened

    @staticmethod
    def _known_until(row: list[Cell | None], start: int, end: int) -> int:
        while start < end and row[start] is not None:
            start += 1
        while start < len(row) and _is_tail(row[start]):
            start += 1
        return start


def _is_tail(cell: Cell | None) -> bool:
    return cell is not None and not cell[0]


def _cheap_gap(cells: list[Cell], start: int, end: int) -> bool:
    if end - start > _GAP:
        return False
    look = cells[start - 1][1]
    space = _blank(look)
    return all(cell[1] == look or cell[1] == space for cell in cells[start:end])


class _Pen:
    """Writes spans of cells, by the fewest bytes: where it moves it draws nothing.

    The spans of a frame go out sorted by their background: a colour is most of what a short span costs.
    """

    def __init__(self, width: int, erases: bool, *, in_order: bool = False) -> None:
        """`width` of the terminal; whether it `erases` (ECH); `in_order`: send spans as they come."""
        self._width = width
        self._erases = erases
        self._in_order = in_order
        self._out: list[str] = []
        self._look = _PLAIN
        self._at: tuple[int, int] | None = None
        self._spans: dict[str, list[tuple[list[Cell], int, int]]] = {}

    def draw(self, cells: list[Cell | None], x: int, y: int) -> None:
        """Draw `cells` from column `x` of row `y`, at the latest when the pen is finished."""
        # What a doubtful grapheme may have been drawn over has to come behind it.
        whole = self._in_order or any(cell is not None and _reach(cell[0]) for cell in cells)
        span: list[Cell] = []
        background = ""
        for column, cell in enumerate(cells, x):
            if cell is None:
                continue
            look = cell[1]
            if span and ((look.background != background and not whole) or len(span) != column - x):
                self._keep(background, span, x, y)
                span = []
            if not span:
                x, background = column, look.background
            span.append(cell)
        if span:
            self._keep(background, span, x, y)

    def send(self, text: str, x: int, y: int) -> None:
        """Send `text`, which sets its own looks and ends in the default one, from column `x` of row `y`."""
        self._flush()
        self._lift()
        self._go(x, y)
        self._out.append(text)
        self._at = None

    def finish(self) -> str:
        """All that was written; the terminal is left in its default look."""
        self._flush()
        self._lift()
        return "".join(self._out)

    def _keep(self, background: str, span: list[Cell], x: int, y: int) -> None:
        self._spans.setdefault("" if self._in_order else background, []).append((span, x, y))

    def _flush(self) -> None:
        for spans in self._spans.values():
            for span, x, y in spans:
                self._write(span, x, y)
        self._spans.clear()

    def _write(self, cells: list[Cell], x: int, y: int) -> None:
        out, count = self._out, len(cells)
        index = 0
        while index < count:
            cell = cells[index]
            text, look = cell
            start = index
            index += 1
            if text == " ":
                while index < count and cells[index] == cell:
                    index += 1
                self._go(x + start, y)
                self._set_blank(look)
                # Behind what is erased the cursor has to be moved, which costs as much again.
                if self._erases and _blank(look) == look and index - start > (5 if index == count else 10):
                    out.append(f"\x1b[{index - start}X")
                else:
                    out.append(" " * (index - start))
                    self._advance(x + index, y)
                continue
            while index < count and not cells[index][0]:
                index += 1
            if not text:
                continue
            self._go(x + start, y)
            self._set(look)
            if not _reach(text):
                out.append(text)
                self._advance(x + index, y)
            else:
                # Blank the cells, draw, and go where the next cell is, however far the terminal went.
                out += [" " * (index - start), _move(x + start, y), text]
                self._at = None

    def _set(self, look: Look) -> None:
        if look != self._look:
            self._out.append(_transition(self._look, look))
            self._look = look

    def _set_blank(self, look: Look) -> None:
        """Set what is seen of a space; the colour of the text may stay as it is."""
        if look.attributes or look.link:
            self._set(look)
            return
        now = self._look
        if _blank(now) == look and "7" not in now.attributes:
            return
        kept = not now.link and "7" not in now.attributes and _INKED.isdisjoint(now.attributes.split(";"))
        self._set(Look(now.attributes, now.foreground, look.background, "") if kept else look)

    def _go(self, x: int, y: int) -> None:
        if self._at != (x, y):
            self._out.append(_shortest_move(self._at, x, y))
            self._at = (x, y)

    def _advance(self, x: int, y: int) -> None:
        # At the right edge a terminal may stay or be about to wrap.
        self._at = (x, y) if x < self._width else None

    def _lift(self) -> None:
        if self._look.link:
            self._out.append("\x1b]8;;\x1b\\")
        if self._look[:3] != _PLAIN[:3]:
            self._out.append(_RESET)
        self._look = _PLAIN


def _shortest_move(at: tuple[int, int] | None, x: int, y: int) -> str:
    moves = [_move(x, y)]
    if at is not None:
        right, down = x - at[0], y - at[1]
        moves.append(_step(down, "B", "A") + _step(right, "C", "D"))
    return min(moves, key=len)


def _step(count: int, ahead: str, back: str) -> str:
    if not count:
        return ""
    return f"\x1b[{abs(count) if abs(count) > 1 else ''}{ahead if count > 0 else back}"


def _pieces(frame: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    """Column, row and strip of everything a frame would write, cropped as Textual crops it."""
    if isinstance(frame, LayoutUpdate):
        for y, line in enumerate(frame.strips, frame.region.y):
            x = frame.region.x
            for strip in line:
                yield x, y, strip
                x += strip.cell_length
        return
    for y, x1, x2 in frame.spans:
        for end, (x, piece) in zip(frame.chop_ends[y], frame.chops[y].items(), strict=False):
            if piece is None or x > x2 or end <= x1:
                continue
            yield x, y, piece if x1 <= x < x2 and end <= x2 else piece.crop(0, min(end, x2) - x)


class _Written(CompositorUpdate):
    """A frame that is bytes already."""

    def __init__(self, text: str) -> None:
        self._text = text

    def render_segments(self, console: Console) -> str:
        return self._text


class DiffDisplayApp(App[ReturnType]):
    """An app that sends the terminal only what changed. Put it before `App` in the bases."""

    diff_display: bool = diff_supported()
    """False sends whole regions, as Textual does."""
    diff_whole_rows: bool = False
    """True sends rows that changed, and not parts of them: a screen reader reads what is sent."""
    diff_erases: bool = True
    """False for a terminal that can't erase characters (ECH) or does not give them the background that is set."""

    _terminal: TerminalModel | None = None
    _catching_up: Timer | None = None

    def forget_terminal(self) -> None:
        """Trust nothing about what the terminal shows: the next frame is sent whole."""
        self._terminal = None

    def action_redraw(self) -> None:
        """Paint the whole screen anew, over whatever has garbled it."""
        self.forget_terminal()
        self.screen.refresh()

    async def _on_resize(self, event: events.Resize) -> None:
        # A terminal may clip or reflow what it shows. The driver sends the same event, size unchanged, when
        # the process was stopped and goes on, after it cleared the screen; Textual ignores that one.
        self.forget_terminal()
        if self._size == event.size and self._screen_stack:
            self.screen.refresh()

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """`App.suspend`; afterwards the terminal has been used by another program."""
        try:
            with super().suspend():
                yield
        finally:
            self.forget_terminal()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if renderable is not None and self._behind:
            # Waiting for the terminal would stop the app, and old frames are of no use: the latest is sent in time.
            renderable = None
            if self._catching_up is None:
                self._catching_up = self.set_interval(_CATCH_UP, self._catch_up, name="catch up")
        super()._display(screen, self._difference(renderable))

    @property
    def _behind(self) -> bool:
        """Whether the terminal does not take what is written: a stalled or slow link, a stopped terminal."""
        waiting = getattr(getattr(self._driver, "_writer_thread", None), "_queue", None)
        return waiting is not None and waiting.qsize() > _BACKLOG

    def _catch_up(self) -> None:
        if self._catching_up is not None and not self._behind:
            self._catching_up.stop()
            self._catching_up = None
            self.screen.refresh()

    def _difference(self, renderable: RenderableType | None) -> RenderableType | None:
        """What to send for a frame; None when the terminal shows it already."""
        driver = self._driver
        if renderable is None or self._batch_count or not self.diff_display:
            return renderable
        if driver is None or driver.is_headless or driver.is_inline or not self._running or self._closed:
            return renderable
        if not isinstance(renderable, LayoutUpdate | ChopsUpdate):
            self.forget_terminal()
            return renderable
        width, height = self.size
        model = self._terminal
        if model is None or (model.width, model.height) != (width, height):
            model = self._terminal = TerminalModel(
                width, height, whole_rows=self.diff_whole_rows, erases=self.diff_erases
            )
        try:
            text = model.update(renderable, self.console._color_system or ColorSystem.TRUECOLOR)
        except Exception as error:
            # What the diff saves is never worth a screen: go on as plain Textual.
            self.log.error("the display diff failed and is now off", error)
            self.diff_display = False
            self.forget_terminal()
            self.screen.refresh()
            return renderable
        cursor = self.screen.outer_size.clamp_offset(self.cursor_position)
        if not text and cursor == self._previous_cursor_position:
            return None
        return cast("RenderableType", _Written(text))
