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
_GAP = 8

# Textual's queue to the terminal holds 30 writes, of which a frame is up to three, and blocks when it is full.
_BACKLOG = 8
_CATCH_UP = 0.1


@lru_cache(maxsize=4096)
def _color(color: Color, system: ColorSystem, foreground: bool) -> str:
    return ";".join(color.downgrade(system).get_ansi_codes(foreground))


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


def _transition(old: Look, new: Look) -> str:
    """The escape sequence that takes the terminal from one look to another."""
    sequence = ""
    if old.link != new.link:
        sequence = f"\x1b]8;;{new.link}\x1b\\"
    if old[:3] == new[:3]:
        return sequence
    if old.attributes != new.attributes:
        codes = ";".join(code for code in new[:3] if code)
        if old == _PLAIN:
            return f"{sequence}\x1b[{codes}m"
        return f"{sequence}\x1b[0;{codes}m" if codes else sequence + _RESET
    codes = ";".join(
        code or default
        for code, before, default in (
            (new.foreground, old.foreground, "39"),
            (new.background, old.background, "49"),
        )
        if code != before
    )
    return f"{sequence}\x1b[{codes}m"


def _cells(strip: Strip, system: ColorSystem) -> list[Cell] | None:
    """The strip as cells, or None when its text does not fill the cells it claims."""
    cells: list[Cell] = []
    for text, style, _ in strip:
        look = _look(style, system)
        if text.isascii() and text.isprintable():
            cells.extend([(char, look) for char in text])
            continue
        spans, width = split_graphemes(text)
        before = len(cells)
        for start, end, size in spans:
            if size:
                cells.append((text[start:end], look))
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

    def __init__(self, width: int, height: int, *, whole_rows: bool = False) -> None:
        """`whole_rows`: send all of a piece of a row in which anything differs, for those who hear what is sent."""
        self.width = width
        self.height = height
        self._whole_rows = whole_rows
        self._rows: list[list[Cell | None]] = [[None] * width for _ in range(height)]

    def update(self, frame: LayoutUpdate | ChopsUpdate, system: ColorSystem) -> str:
        """The bytes that make the terminal show `frame`: empty when it does already."""
        pen = _Pen()
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
        cells = cells[: self.width - x]
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
    return all(cell[1] == look for cell in cells[start:end])


class _Pen:
    """Writes cells one span after the other, in one look until another is needed: where it moves it draws nothing."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._look = _PLAIN

    def draw(self, cells: list[Cell | None], x: int, y: int) -> None:
        """Draw `cells` from column `x` of row `y`."""
        out = self._out
        out.append(_move(x, y))
        for column, cell in enumerate(cells, x):
            if cell is None or not cell[0]:
                continue
            text, look = cell
            if look != self._look:
                out.append(_transition(self._look, look))
                self._look = look
            if not _reach(text):
                out.append(text)
            else:
                # Blank the cells, draw, and go where the next cell is, however far the terminal went.
                width = 1
                while column - x + width < len(cells) and _is_tail(cells[column - x + width]):
                    width += 1
                out += [" " * width, _move(column, y), text, _move(column + width, y)]

    def send(self, text: str, x: int, y: int) -> None:
        """Send `text`, which sets its own looks and ends in the default one, from column `x` of row `y`."""
        self._lift()
        self._out.append(_move(x, y) + text)

    def finish(self) -> str:
        """All that was written; the terminal is left in its default look."""
        self._lift()
        return "".join(self._out)

    def _lift(self) -> None:
        if self._look.link:
            self._out.append("\x1b]8;;\x1b\\")
        if self._look[:3] != _PLAIN[:3]:
            self._out.append(_RESET)
        self._look = _PLAIN


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
            model = self._terminal = TerminalModel(width, height, whole_rows=self.diff_whole_rows)
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
