"""Picking one of many by a part of its name."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.ranking import ranked
from tui.safe_text import visible
from tui.screens.search_dialog import SearchDialog
from tui.widgets.line_input import LineInput

LISTED = 200
"""Matches that are listed at most: nobody reads on, and each takes its time to be laid out."""


class TargetDialog(SearchDialog[int | None]):
    """Asks for one of `names`, found by typing parts of it in any order; the answer is its index, None for escape."""

    def __init__(self, title: str, names: Sequence[str], *, wanted: str, none: str, hint: str) -> None:
        """`wanted` stands in the empty field, `none` where nothing matches, `hint` below."""
        super().__init__()
        self._title, self._names = title, names
        self._wanted, self._none, self._hint = wanted, none, hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(visible(self._title))
            dialog.border_subtitle = self._hint
            yield LineInput(placeholder=self._wanted, id="wanted")
            yield OptionList(id="targets")

    def choose(self, index: int) -> None:
        option = self.query_one(OptionList).get_option_at_index(index)
        if option.id is not None:
            self.dismiss(int(option.id))

    def list_options(self, wanted: str) -> None:
        found = ranked(wanted, range(len(self._names)), lambda index: (self._names[index],), LISTED)
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(Option(Content(visible(self._names[index])), str(index)) for index in found)
        if not found:
            options.add_option(Option(Content(self._none), disabled=True))
        options.action_first()
