"""Why a block of the list is as it is."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from tui.actions import Place
from tui.language import t
from tui.safe_text import visible
from tui.screen_reader import Spoken, is_spoken


class Reasons(Spoken, VerticalScroll):
    """The reasons, from the first, however little room there is; all of them are said."""

    def spoken(self) -> str:
        return ". ".join(str(self.query_one("#reasons", Static).visual).splitlines())


class WhyDialog(ModalScreen[None]):
    """Shows some lines of reasons; any key that leads on, or a click, closes it."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape,q,w,enter", "leave", "Leave")]

    def __init__(self, title: str, reasons: Sequence[str]) -> None:
        super().__init__()
        self._title, self._reasons = title, reasons

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(visible(t("why.title", name=self._title)))
            mark = "" if is_spoken(self) else "· "
            text = "\n".join(f"{mark}{visible(line)}" for line in self._reasons)
            with Reasons(classes="body"):
                yield Static(Content(text), id="reasons", markup=False)
            yield Button(t("why.close"), id="done", compact=True)

    def on_button_pressed(self) -> None:
        self.action_leave()

    def action_leave(self) -> None:
        self.dismiss(None)
