"""What a built-in block is, and the number its order is pinned to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from tui.actions import Place
from tui.language import of_engine, t
from tui.safe_text import visible
from tui.screens.properties import read_order
from tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from engine.blocks.block import Number
    from engine.blocks.rows import Row


class PinDialog(ModalScreen["PinDialog.Answer | None"]):
    """Asks for the order of a block; None when it is left with escape."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "leave", "Leave"), ("enter", "done", "Done"), ("ctrl+s", "done", "Done")]

    @dataclass(frozen=True)
    class Answer:
        """The order it is pinned to, None for none."""

        order: Number | None

    def __init__(self, row: Row, place: str) -> None:
        """`place` says where the block stands and what decides it (`tui.why_text.place_reason`)."""
        super().__init__()
        self._row, self._place = row, place

    def compose(self) -> ComposeResult:
        row = self._row
        order = str(int(row.order) if row.order == row.order // 1 else row.order)
        said = [t("order.pin-built-in", role=row.role)]
        if row.state == "absent":
            said.append(t("order.pin-absent", note=of_engine(row.note)))
        said += [self._place, t("order.pin-moves")]
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(visible(row.name))
            yield Static(Content("\n".join(map(visible, said))), classes="text", markup=False)
            yield Static(t("order.pin"), classes="label")
            yield LineInput(order if row.pinned else "", id="order", select_on_focus=False)
            yield Static("", id="fault", markup=False)
            yield Button(t("properties.done"), id="done", variant="primary", compact=True)

    def on_mount(self) -> None:
        self.query_one("#order", Input).focus()

    @on(Input.Submitted)
    @on(Button.Pressed, "#done")
    def action_done(self) -> None:
        """Hand the order over, or say what is wrong with it."""
        text = self.query_one("#order", Input).value.strip()
        order = read_order(text) if text else None
        if isinstance(order, str):
            self.query_one("#fault", Static).update(Content(visible(order)))
        else:
            self.dismiss(self.Answer(order))

    def action_leave(self) -> None:
        self.dismiss(None)
