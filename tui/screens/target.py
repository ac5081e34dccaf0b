"""Picking one of many by a part of its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tui.actions import Place
from tui.safe_text import visible
from tui.widgets.line_input import LineInput

LISTED = 200
"""Matches that are listed at most: nobody reads on, and each takes its time to be laid out."""


class TargetDialog(ModalScreen[int | None]):
    """Asks for one of `names`, found by typing parts of it in any order; the answer is its index, None for escape."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "Leave"),
        ("down", "step(1)", "Down"),
        ("up", "step(-1)", "Up"),
    ]

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

    def on_mount(self) -> None:
        self._list("")
        self.query_one("#wanted").focus()

    @on(Input.Changed)
    def _changed(self, message: Input.Changed) -> None:
        self._list(message.value)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            self._choose(options.get_option_at_index(options.highlighted))

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        self._choose(message.option)

    def _choose(self, option: Option) -> None:
        if option.id is not None:
            self.dismiss(int(option.id))

    def action_step(self, step: int) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()

    def action_leave(self) -> None:
        self.dismiss(None)

    def _list(self, wanted: str) -> None:
        parts = wanted.casefold().split()
        found = [index for index, name in enumerate(self._names) if all(part in name.casefold() for part in parts)]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(Option(Content(visible(self._names[index])), str(index)) for index in found[:LISTED])
        if not found:
            options.add_option(Option(Content(self._none), disabled=True))
        options.action_first()
