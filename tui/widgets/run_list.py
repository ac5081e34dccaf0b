"""The runs of a branch, drawn: one a line, of which those in sight cost anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from engine.text import collapse_space
from tui.language import find, t
from tui.safe_text import visible
from tui.screen_reader import Spoken, is_spoken
from tui.widgets.cells import fit, short_count

if TYPE_CHECKING:
    from engine.runs.records import RunRecord

MOST_MARKED = 2
"""Runs that can be marked: there are two sides to a comparison."""
_SIGNS = 4


class RunList(Spoken, ScrollView, can_focus=True, inherit_bindings=False):
    """A list of runs with a cursor, and up to two of them marked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "step(1)", "Next run", show=False),
        Binding("up,k", "step(-1)", "Previous run", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("home", "edge(-1)", "First run", show=False),
        Binding("end", "edge(1)", "Last run", show=False),
        Binding("enter", "open", "Open", show=False),
    ]
    """
    | Key(s) | Description |
    | :- | :- |
    | up, down, k, j, pageup, pagedown, home, end | Move the cursor. |
    | enter | Open the run. |
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "run-list--cursor",
        "run-list--failed",
        "run-list--marked",
        "run-list--figures",
    }
    """
    | Class | Description |
    | :- | :- |
    | `run-list--cursor` | The row under the cursor. |
    | `run-list--failed` | The sign of a run that failed or was stopped. |
    | `run-list--marked` | The sign of a marked run. |
    | `run-list--figures` | Model, tokens and seconds. |
    """

    DEFAULT_CSS = """
    RunList {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;

        & > .run-list--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
        &:nocolor > .run-list--cursor { text-style: reverse; }
        & > .run-list--failed { color: $text-error; }
        & > .run-list--marked { color: $text-warning; text-style: bold; }
        & > .run-list--figures { color: $text-muted; }
        &:ansi > .run-list--cursor { text-style: reverse; }
    }
    """

    @dataclass
    class Moved(Message):
        """The cursor is on another run, or on none."""

        list: RunList
        run: RunRecord | None

        @property
        def control(self) -> RunList:
            return self.list

    @dataclass
    class Opened(Message):
        """The user chose a run."""

        list: RunList
        run: RunRecord

        @property
        def control(self) -> RunList:
            return self.list

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._runs: Sequence[RunRecord] = ()
        self._cursor = 0
        self._told: str | None = None
        self.empty = ""
        """What stands where there are no runs."""
        self.marked: tuple[str, ...] = ()
        """The ids of the marked runs, in the order they were marked."""

    def show(self, runs: Sequence[RunRecord]) -> None:
        """List these runs; the cursor follows its run, or stays where it was."""
        at = self.current.id if self.current is not None else None
        self._runs = runs
        place = next((i for i, run in enumerate(runs) if run.id == at), None)
        self._cursor = max(0, min(self._cursor, len(runs) - 1)) if place is None else place
        self.virtual_size = Size(self.size.width, len(runs))
        self._reveal()
        self.refresh()
        self._tell()

    @property
    def runs(self) -> Sequence[RunRecord]:
        """What is listed."""
        return self._runs

    @property
    def current(self) -> RunRecord | None:
        """The run under the cursor."""
        return self._runs[self._cursor] if self._cursor < len(self._runs) else None

    def mark(self) -> None:
        """Mark the run under the cursor, or take its mark away; of three marks the first goes."""
        run = self.current
        if run is None:
            return
        if run.id in self.marked:
            self.marked = tuple(marked for marked in self.marked if marked != run.id)
        else:
            self.marked = (*self.marked, run.id)[-MOST_MARKED:]
        self.refresh()

    def clear_marks(self) -> None:
        """Take all marks away."""
        self.marked = ()
        self.refresh()

    def spoken(self) -> str:
        """The run under the cursor, and which of all it is."""
        run = self.current
        if run is None:
            return self.empty
        return t("runs.said-run", number=self._cursor + 1, total=len(self._runs), text=self._words(run))

    @property
    def caret(self) -> Offset:
        """The start of the row under the cursor, in the content of the widget."""
        return Offset(0, max(0, self._cursor - round(self.scroll_offset.y)))

    def _words(self, run: RunRecord) -> str:
        parts = [t("runs.said-marked")] if run.id in self.marked else []
        parts += [run.at, agent_word(run.agent), end_word(run), run.model]
        if run.tokens is not None:
            parts.append(t("runs.tokens", sent=run.tokens.sent, received=run.tokens.received))
        parts.append(collapse_space(run.input))
        return visible(", ".join(filter(None, parts)))

    def action_step(self, step: int) -> None:
        """Move the cursor by a run."""
        self._go(self._cursor + step)

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages that share one row."""
        self._go(self._cursor + pages * max(1, self.size.height - 1))

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first or the last run."""
        self._go(0 if side < 0 else len(self._runs) - 1)

    def action_open(self) -> None:
        """Open the run under the cursor."""
        if self.current is not None:
            self.post_message(self.Opened(self, self.current))

    def on_click(self, event: events.Click) -> None:
        at = event.y - self.gutter.top + round(self.scroll_offset.y)
        if not 0 <= at < len(self._runs):
            return
        again = at == self._cursor
        self._go(at)
        if event.x - self.gutter.left < 2:
            self.mark()
        elif again or event.chain > 1:
            self.action_open()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def _go(self, at: int) -> None:
        before = self._cursor
        self._cursor = max(0, min(at, len(self._runs) - 1))
        if self._cursor == before:
            return
        top = self.scroll_offset.y
        self._reveal()
        if self.scroll_offset.y == top:
            self.refresh_lines(before, 1)
            self.refresh_lines(self._cursor, 1)
        else:
            self.refresh()
        self._tell()

    def _reveal(self) -> None:
        self.scroll_to_region(Region(0, self._cursor, 1, 1), animate=False, immediate=True)

    def _tell(self) -> None:
        run = self.current
        if (None if run is None else run.id) != self._told:
            self._told = None if run is None else run.id
            self.post_message(self.Moved(self, run))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        at = y + round(self.scroll_offset.y)
        if at >= len(self._runs):
            text = f" {self.empty}" if not y and not self._runs else ""
            style = self.get_component_rich_style("run-list--figures")
            return Strip([Segment(fit(text, width), style)], width)
        run = self._runs[at]
        here = at == self._cursor
        base = self.rich_style
        if is_spoken(self):
            return Strip([Segment(fit(f"  {self._words(run)}", width), base)], width)
        failed, marked, figures = (
            base + self.get_component_rich_style(f"run-list--{name}", partial=True)
            for name in ("failed", "marked", "figures")
        )
        if here:
            base = failed = marked = figures = base + self.get_component_rich_style("run-list--cursor")
        segments = [
            Segment("›" if here and not self.has_focus else " ", base),
            Segment("◆" if run.id in self.marked else " ", marked),
            Segment("! " if run.failed else "■ " if run.stopped else "  ", failed),
        ]
        used = _SIGNS
        for text, cells, style in _columns(run, width, base, figures):
            segments.append(Segment(f"{fit(text, cells)} ", style))
            used += cells + 1
        segments.append(Segment(fit(collapse_space(run.input), max(0, width - used)), base))
        return Strip(segments).adjust_cell_length(width, base)


def _columns(run: RunRecord, width: int, base: Style, figures: Style) -> list[tuple[str, int, Style]]:
    """Text, cells and style of the columns there is room for, left of the input."""
    columns = [(run.at if width >= 70 else run.at[5:], 16 if width >= 70 else 11, base)]
    if width >= 40:
        columns.append((agent_word(run.agent), 10, base))
    if width >= 76:
        columns.append((run.model, 14, figures))
    if width >= 54:
        tokens = "" if run.tokens is None else f"{short_count(run.tokens.sent):>5}→{short_count(run.tokens.received)}"
        columns.append((tokens, 10, figures))
    if width >= 96:
        columns.append(("" if run.seconds is None else t("runs.seconds", seconds=f"{run.seconds:.1f}"), 7, figures))
    if width >= 110:
        columns.append((end_word(run), 10, figures))
    return columns


def agent_word(agent: str) -> str:
    """The short name of an agent: the last part of its own."""
    return agent.rpartition(".")[2]


def end_word(run: RunRecord) -> str:
    """How a run ended."""
    if run.failed:
        return t("runs.end-failed")
    if run.stopped:
        return t("runs.end-stopped")
    return find(f"runs.end-{run.finish}") or run.finish
