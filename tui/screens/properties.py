"""Name, role, type and order of a custom block, for a new one and for one there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from tui.actions import Place
from tui.language import t
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from engine.blocks.block import Number, Role
    from engine.blocks.config import BlockType

_ROLES: tuple[Role, ...] = ("system", "user")
_TYPES: tuple[BlockType, ...] = ("simple", "script")


class PropertiesDialog(ModalScreen["PropertiesDialog.Values | None"]):
    """Asks for the properties of a custom block; None when it is left with escape."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "leave", "Leave"), ("enter", "done", "Done"), ("ctrl+s", "done", "Done")]

    @dataclass(frozen=True)
    class Values:
        name: str
        role: Role
        type: BlockType
        order: Number | None

    def __init__(
        self,
        title: str,
        *,
        name: str = "",
        role: Role = "user",
        type: BlockType = "simple",
        order: Number | None = None,
    ) -> None:
        """`order` None: a new block, which is not asked for its order."""
        super().__init__()
        self._title = title
        self._given = self.Values(name, role, type, order)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = self._title
            yield Static(t("properties.name"), classes="label")
            yield LineInput(self._given.name, id="name", max_length=100, select_on_focus=False)
            yield Static(t("properties.role"), classes="label")
            yield ChoiceBar([(role, t(f"block.role.{role}")) for role in _ROLES], self._given.role, id="role")
            yield Static(t("properties.type"), classes="label")
            yield ChoiceBar([(kind, t(f"block.type.{kind}")) for kind in _TYPES], self._given.type, id="type")
            if self._given.order is not None:
                yield Static(t("properties.order"), classes="label")
                yield LineInput(str(self._given.order), id="order", select_on_focus=False)
            yield Static("", id="fault", markup=False)
            yield Button(t("properties.done"), id="done", variant="primary", compact=True)

    def on_mount(self) -> None:
        self.query_one("#name", Input).focus()

    @on(Input.Submitted)
    @on(Button.Pressed, "#done")
    def action_done(self) -> None:
        """Hand the values over, or say what is missing."""
        name = self.query_one("#name", Input).value.strip()
        order = self._order()
        if not name:
            self._fault(t("properties.no-name"))
            self.query_one("#name", Input).focus()
        elif isinstance(order, str):
            self._fault(order)
            self.query_one("#order", Input).focus()
        else:
            role = cast("Role", self.query_one("#role", ChoiceBar).value)
            kind = cast("BlockType", self.query_one("#type", ChoiceBar).value)
            self.dismiss(self.Values(name, role, kind, order))

    def action_leave(self) -> None:
        self.dismiss(None)

    def _order(self) -> Number | str | None:
        """The order, None when it is not asked for or not changed, or what is wrong with it."""
        if self._given.order is None:
            return None
        order = read_order(self.query_one("#order", Input).value.strip())
        return None if order == self._given.order else order

    def _fault(self, text: str) -> None:
        self.query_one("#fault", Static).update(Content(text))


def read_order(text: str) -> Number | str:
    """The order that was typed, or what is wrong with it."""
    order: Number
    try:
        order = int(text)  # not by way of a float, which would make another number of a large one
    except ValueError:
        try:
            order = float(text)
        except ValueError:
            return t("properties.no-number", text=text)
    if order != order or order in (float("inf"), float("-inf")):
        return t("properties.not-finite")
    return int(order) if order == order // 1 else order
