"""The fragments a script can read: ids to insert, names to find them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tui.language import t
from tui.ranking import ranked
from tui.widgets.cells import fit
from tui.widgets.line_input import LineInput

SHOWN = 200
"""Rows listed at once; typing narrows them down."""


class FragmentList(Vertical):
    """A filter and the fragments that match it; choosing one inserts its id."""

    DEFAULT_CSS = """
    FragmentList {
        & > Input { height: 1; border: none; padding: 0; background: $surface; }
        & > Input:focus { border: none; background: $boost; }
        & > OptionList { min-width: 8; height: 1fr; border: none; padding: 0; background: transparent; }
        & > OptionList { scrollbar-size-vertical: 1; }
    }
    """

    @dataclass
    class Chosen(Message):
        """A fragment was chosen."""

        list: FragmentList
        fragment_id: str

        @property
        def control(self) -> FragmentList:
            return self.list

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._fragments: Sequence[tuple[str, str, str]] = ()
        self._listed_width = 0

    def compose(self) -> ComposeResult:
        yield LineInput(placeholder=t("inspector.wanted"), select_on_focus=False)
        yield OptionList()

    def say_again(self) -> None:
        """Say everything in the language that is in use now."""
        self.query_one(Input).placeholder = t("inspector.wanted")

    def focus_filter(self) -> None:
        """Go where a name is typed."""
        self.query_one(Input).focus()

    def show(self, fragments: Sequence[tuple[str, str, str]]) -> None:
        """List (id, type, name) triples."""
        if fragments != self._fragments:
            self._fragments = fragments
            self._list()

    def on_resize(self) -> None:
        # Before the first layout there is no width to fit the names to.
        if self.size.width != self._listed_width:
            self._list()

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()
        self._list()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        options = self.query_one(OptionList)
        if options.option_count:
            options.focus()
            if options.highlighted is None:
                options.highlighted = 0

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        if message.option.id is not None:
            self.post_message(self.Chosen(self, message.option.id))

    def _list(self) -> None:
        self._listed_width = self.size.width
        wanted = self.query_one(Input).value
        found = ranked(wanted, self._fragments, lambda fragment: (fragment[2], fragment[0], fragment[1]), SHOWN)
        room = max(10, self.size.width - 13)
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(Option(Content(f"{fit(id, 11)} {fit(name, room)}"), id) for id, _, name in found)
