"""The tools of an agent: what each is for, and which of them it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from engine.blocks.config import current_tools
from engine.session import ANALYZE
from tui.actions import Place
from tui.language import of_engine, t
from tui.safe_text import visible
from tui.screen_reader import is_spoken

if TYPE_CHECKING:
    from engine.session import Session
    from tui.screens.desk_part import DeskPart

_ANALYSIS = "\0analysis"
"""The id of the line for the analysis after a save, which no tool can have."""


class ToolsDialog(ModalScreen[None]):
    """Switches tools on and off, as edits of the main screen, which undo there and here takes back."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,t", "leave", "Leave", show=False),
        Binding("space", "switch", "On or off", show=False),
        Binding("j", "step(1)", "Down", show=False),
        Binding("k", "step(-1)", "Up", show=False),
        Binding("u,ctrl+z", "undo", "Undo", show=False),
        Binding("ctrl+r,ctrl+y", "redo", "Redo", show=False),
    ]

    def __init__(self, agent: str, session: Session, described: Mapping[str, str], desk: DeskPart) -> None:
        """`described`: the agent's tools, in the order it has them, with what each does."""
        super().__init__()
        self._agent, self._session, self._described, self._desk = agent, session, described, desk

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_subtitle = t("tools.keys")
            yield Static(classes="text", id="about", markup=False)
            yield OptionList(id="tools")

    def on_mount(self) -> None:
        self._list()
        self.query_one("#tools").focus()

    def _list(self) -> None:
        """The tools as the config has them now, the cursor where it was."""
        config = self._session.document.config
        off = set(config.disabled_tools)
        older = {current_tools((name,))[0]: name for name in config.disabledTools}
        count, enabled = len(self._described), sum(tool not in off for tool in self._described)
        dialog = self.query_one(".dialog")
        dialog.border_title = Content(visible(t("tools.title", agent=self._agent, enabled=enabled, total=count)))
        about = t("tools.about") if count else t("tools.none", agent=self._agent)
        self.query_one("#about", Static).update(Content(visible(about)))
        lines = []
        if self._session.agent == ANALYZE:
            mark = self._mark(t("tools.analysis"), t("tools.analysis-about"), not config.disableAutoAnalysis)
            lines.append(Option(mark, _ANALYSIS))
        for tool, text in self._described.items():
            name = older.get(tool, tool)
            text = of_engine(text)
            text = text if name == tool else f"{text} {t('tools.older', name=name)}"
            lines.append(Option(self._mark(tool, text, tool not in off), tool))
        for tool in config.disabled_tools:
            if tool not in self._described:
                lines.append(Option(self._mark(tool, t("tools.unknown"), False), disabled=True))
        options = self.query_one("#tools", OptionList)
        at = options.highlighted
        options.clear_options()
        options.add_options(lines)
        options.display = bool(lines)
        options.highlighted = (at or 0) if lines else None

    def _mark(self, name: str, text: str, enabled: bool) -> Content:
        """A line of the list: a sign and a style that say whether it is on, the name, and what it is for."""
        sign, style = ("✓ ", "bold") if enabled else ("✗ ", "strike dim")
        state = "" if enabled else f" {t('tools.off')}"
        if is_spoken(self):
            sign, state = "", f", {t('tools.on') if enabled else t('tools.off')}."
        return Content.assemble(
            (sign, "bold"), (visible(name), style), (state, "bold"), (f"\n  {visible(text)}", "$text-muted")
        )

    # -- what the keys do

    def action_switch(self) -> None:
        options = self.query_one("#tools", OptionList)
        if options.highlighted is not None:
            self._switch(options.get_option_at_index(options.highlighted).id)

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        self._switch(message.option.id)

    def _switch(self, chosen: str | None) -> None:
        if chosen == _ANALYSIS:
            self._desk.do(lambda session: session.set_auto_analysis(session.document.config.disableAutoAnalysis))
        elif chosen is not None:
            self._desk.do(
                lambda session: session.set_tool(
                    chosen, chosen in session.document.config.disabled_tools, tuple(self._described)
                )
            )
        self._list()

    def action_undo(self) -> None:
        self._desk.do(lambda session: session.undo())
        self._list()

    def action_redo(self) -> None:
        self._desk.do(lambda session: session.redo())
        self._list()

    def action_step(self, step: int) -> None:
        options = self.query_one("#tools", OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()

    def action_leave(self) -> None:
        self.dismiss(None)
