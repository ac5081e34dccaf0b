"""What the dialogs share in which typing narrows a list down and enter takes one of it."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Input, OptionList

from tui.actions import Place


class SearchDialog(ModalScreen[ScreenResultType]):
    """A field `#wanted` above an option list; None for escape. The field keeps the focus, the arrows go through the
    list.
    """

    places: tuple[Place, ...] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "Leave"),
        ("down", "step(1)", "Down"),
        ("up", "step(-1)", "Up"),
    ]

    def list_options(self, wanted: str) -> None:
        """List what matches the typed text."""
        raise NotImplementedError

    def choose(self, index: int) -> None:
        """Answer with the option at `index` of the list."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.list_options("")
        self.query_one("#wanted").focus()

    @on(Input.Changed)
    def _changed(self, message: Input.Changed) -> None:
        self.list_options(message.value)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            self.choose(options.highlighted)

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        self.choose(message.option_index)

    def action_step(self, step: int) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()

    def action_leave(self) -> None:
        self.dismiss(None)
