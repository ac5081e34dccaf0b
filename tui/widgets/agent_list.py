"""The agents of a story, drawn: group headings, and a mark on those whose blocks were customised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.language import of_engine, t
from tui.safe_text import visible
from tui.screen_reader import Spoken, is_spoken
from tui.widgets.cells import fit

if TYPE_CHECKING:
    from engine.workspace import AgentSummary


class AgentList(Spoken, ScrollView, can_focus=True, inherit_bindings=False):
    """A list of agents with one of them open (`›`); those that can't be opened yet are dimmed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "step(1)", "Next agent", show=False),
        Binding("up,k", "step(-1)", "Previous agent", show=False),
        Binding("home", "edge(-1)", "First agent", show=False),
        Binding("end", "edge(1)", "Last agent", show=False),
        Binding("enter,space", "open", "Open", show=False),
    ]
    """
    | Key(s) | Description |
    | :- | :- |
    | up, down, k, j, home, end | Move the cursor. |
    | enter, space | Open the agent. |
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "agent-list--group",
        "agent-list--open",
        "agent-list--cursor",
        "agent-list--mark",
    }
    """
    | Class | Description |
    | :- | :- |
    | `agent-list--group` | A group's heading. |
    | `agent-list--open` | The open agent. |
    | `agent-list--cursor` | The row under the cursor while the list has the focus. |
    | `agent-list--mark` | The mark of a customised or faulty agent. |
    """

    DEFAULT_CSS = """
    AgentList {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;

        & > .agent-list--group { color: $text-muted; text-style: bold; }
        & > .agent-list--open { color: $text-primary; text-style: bold; }
        & > .agent-list--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
        &:nocolor > .agent-list--cursor { text-style: reverse; }
        & > .agent-list--mark { color: $text-warning; }
    }
    """

    @dataclass
    class Opened(Message):
        """The user chose an agent."""

        list: AgentList
        agent: AgentSummary

        @property
        def control(self) -> AgentList:
            return self.list

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[str | AgentSummary] = []
        self._cursor = 0
        self.open_name = ""

    def show(self, agents: Sequence[AgentSummary], open_name: str) -> None:
        """List these agents; the cursor follows its agent, or goes to the open one at first."""
        at = self.current.name if self.current is not None else open_name
        lines: list[str | AgentSummary] = []
        for agent in agents:
            if not any(not isinstance(line, str) and line.group == agent.group for line in lines):
                lines.append(agent.group)
            lines.append(agent)
        self._lines, self.open_name = lines, open_name
        self._cursor = next((i for i, line in enumerate(lines) if not isinstance(line, str) and line.name == at), 1)
        self.virtual_size = Size(self.size.width, len(lines))
        self.refresh()

    @property
    def current(self) -> AgentSummary | None:
        """The agent under the cursor."""
        line = self._lines[self._cursor] if self._cursor < len(self._lines) else None
        return None if isinstance(line, str) else line

    def spoken(self) -> str:
        """The agent under the cursor, and which of all it is."""
        agent = self.current
        if agent is None:
            return ""
        agents = [line for line in self._lines if not isinstance(line, str)]
        number = agents.index(agent) + 1
        return t("reader.agent", number=number, total=len(agents), text=self._words(agent))

    @property
    def caret(self) -> Offset:
        """The start of the row under the cursor, in the content of the widget."""
        return Offset(0, max(0, self._cursor - round(self.scroll_offset.y)))

    def _words(self, agent: AgentSummary) -> str:
        parts = [visible(of_engine(agent.display_name))]
        parts += [t("reader.agent_open")] if agent.name == self.open_name else []
        parts += [t("reader.agent_customised")] if agent.customised else []
        parts += (
            [t("reader.problem", note=visible(of_engine(agent.problem.told())))] if agent.problem is not None else []
        )
        return ", ".join(parts)

    def action_step(self, step: int) -> None:
        """Move the cursor to the next agent in a direction."""
        at = self._cursor + step
        while 0 <= at < len(self._lines) and isinstance(self._lines[at], str):
            at += step
        if 0 <= at < len(self._lines):
            self._go(at)

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first or the last agent."""
        self._cursor = 0 if side < 0 else len(self._lines)
        self.action_step(-side)

    def action_open(self) -> None:
        """Open the agent under the cursor."""
        if self.current is not None:
            self.post_message(self.Opened(self, self.current))

    def on_click(self, event: events.Click) -> None:
        at = event.y - self.gutter.top + round(self.scroll_offset.y)
        if 0 <= at < len(self._lines) and not isinstance(self._lines[at], str):
            self._go(at)
            self.action_open()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def _go(self, at: int) -> None:
        self._cursor = at
        self.scroll_to_region(Region(0, at, 1, 1), animate=False, immediate=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        at = y + round(self.scroll_offset.y)
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[at]
        if isinstance(line, str):
            style = self.get_component_rich_style("agent-list--group")
            return Strip([Segment(fit(f" {of_engine(line)}", width), style)], width)
        style = self.rich_style
        if is_spoken(self):
            return Strip([Segment(fit(f"  {self._words(line)}", width), style)], width)
        if line.name == self.open_name:
            style = self.get_component_rich_style("agent-list--open")
        mark, mark_style = " ", style
        if line.problem is not None or line.customised:
            mark = "!" if line.problem is not None else "●"
            mark_style = self.get_component_rich_style("agent-list--mark")
        if at == self._cursor and self.has_focus:
            style = style + self.get_component_rich_style("agent-list--cursor")
            mark_style = style
        here = "›" if line.name == self.open_name else " "
        name = fit(f" {here} {of_engine(line.display_name)}", max(0, width - 2))
        return Strip(
            [Segment(name, style), Segment(f"{mark} "[: width - len(name)] if width < 3 else f"{mark} ", mark_style)]
        ).adjust_cell_length(width, style)
