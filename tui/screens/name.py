"""Choosing a name from a list, or typing another."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.language import t
from tui.ranking import ranked
from tui.safe_text import visible
from tui.screens.search_dialog import SearchDialog
from tui.widgets.line_input import LineInput


class NameDialog(SearchDialog[str | None]):
    """Asks for one of some names or for any other; None for escape. `first`, a (name, label), is offered before."""

    def __init__(self, title: str, names: Sequence[str], first: tuple[str, str]) -> None:
        super().__init__()
        self._title, self._names, self._first = title, names, first
        self._listed: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(visible(self._title))
            dialog.border_subtitle = t("model.name-keys")
            yield LineInput(placeholder=t("model.name-hint"), id="wanted")
            yield OptionList(id="names")

    def choose(self, index: int) -> None:
        self.dismiss(self._listed[index])

    def list_options(self, wanted: str) -> None:
        """What was typed first: enter takes exactly that; then the names it is part of."""
        typed = wanted.strip()
        names = [name for name in ranked(typed, self._names, lambda name: (name,)) if name != typed]
        lines = (
            [(typed, typed if typed in self._names else t("model.name-typed", name=typed))] if typed else [self._first]
        )
        lines += [(name, name) for name in names]
        self._listed = [name for name, _ in lines]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(Content(visible(label))) for _, label in lines])
        options.highlighted = 0
