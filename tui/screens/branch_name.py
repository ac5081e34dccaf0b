"""The name of a branch, and for a new one how much of the story it keeps."""

from __future__ import annotations

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from tui.actions import Place
from tui.language import t
from tui.safe_text import visible
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.line_input import LineInput


class BranchNameDialog(ModalScreen["BranchNameDialog.Values | None"]):
    """Asks for a name, and with `fork` whether all sections are kept; None when it is left with escape."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "leave", "Leave"), ("enter", "done", "Done"), ("ctrl+s", "done", "Done")]

    @dataclass(frozen=True)
    class Values:
        """`cut`: it ends after a section that is still to be picked."""

        name: str
        cut: bool = False

    def __init__(self, title: str, name: str = "", *, fork: bool = False, fault: str = "") -> None:
        super().__init__()
        self._title, self._given, self._fork, self._fault = title, name, fork, fault

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(visible(self._title))
            yield Static(t("branches.name"), classes="label")
            yield LineInput(self._given, id="name", max_length=100, select_on_focus=False)
            if self._fork:
                yield Static(t("branches.keeps"), classes="label")
                choices = [("all", t("branches.keeps-all")), ("cut", t("branches.keeps-some"))]
                yield ChoiceBar(choices, "all", id="keeps")
            yield Static(Content(visible(self._fault)), id="fault", markup=False)
            yield Button(t("branches.done"), id="done", variant="primary", compact=True)

    def on_mount(self) -> None:
        field = self.query_one("#name", Input)
        field.focus()
        field.cursor_position = len(field.value)

    @on(Input.Submitted)
    @on(Button.Pressed, "#done")
    def action_done(self) -> None:
        """Hand the values over, once there is a name."""
        name = self.query_one("#name", Input).value.strip()
        if name:
            self.dismiss(self.Values(name, self._fork and self.query_one("#keeps", ChoiceBar).value == "cut"))
        else:
            self.query_one("#fault", Static).update(t("branches.needs-name"))
            self.query_one("#name").focus()

    def action_leave(self) -> None:
        self.dismiss(None)
