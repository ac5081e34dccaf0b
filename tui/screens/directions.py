"""Directions that were proposed, to take one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, OptionList
from textual.widgets.option_list import Option

from tui.actions import Place
from tui.language import t
from tui.safe_text import visible

if TYPE_CHECKING:
    from engine.tools import Direction

OTHERS = -1


class DirectionsDialog(ModalScreen[int | None]):
    """Asks for one of some directions, by its place; `OTHERS` when others are to be proposed, None when it is left."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "leave", "Leave"), ("n", "more", "Others")]

    def __init__(self, directions: Sequence[Direction]) -> None:
        super().__init__()
        self._directions = tuple(directions)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("passage.directions")
            dialog.border_subtitle = t("passage.directions-hint")
            yield OptionList(*map(_option, self._directions), id="directions")
            with Horizontal(classes="answers"):
                yield Button(t("passage.directions-others"), id="more", compact=True)
                yield Button(t("passage.directions-leave"), id="leave", compact=True)

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.focus()
        options.highlighted = 0

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(message.option_index)

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        self.dismiss(OTHERS if message.button.id == "more" else None)

    def action_more(self) -> None:
        self.dismiss(OTHERS)

    def action_leave(self) -> None:
        self.dismiss(None)


def _option(direction: Direction) -> Option:
    title = visible(direction.title)
    if direction.pacing:
        title += f" · {t(f'passage.pacing.{direction.pacing}')}"
    texts = dict.fromkeys((direction.description, direction.instruction))
    below = "".join(f"\n  {visible(' '.join(text.split()))}" for text in texts)
    return Option(Content.assemble((title, "bold"), below))
