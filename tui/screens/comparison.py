"""What the screens share that show what differs between two prompts or texts: going through it, folding, copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui.actions import Place
from tui.bindings import bindings_for
from tui.clipboard import copy
from tui.language import t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.screens.base import WorkingScreen
from tui.widgets.compare_view import CompareView

if TYPE_CHECKING:
    from engine.comparison import Comparison


class ComparesTexts(WorkingScreen[None]):
    """A screen with a `#comparison`, what came of it in `#outcome`, and a key bar."""

    places: tuple[Place, ...] = ("difference",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("difference"),
        Binding("enter", "fold", "Fold or unfold", show=False),
        Binding("escape,q", "leave", "Back", show=False),
        Binding("question_mark", "help", "Help", show=False),
    ]

    comparison: Comparison | None = None
    """What is shown."""

    @property
    def view(self) -> CompareView:
        return self.query_one("#comparison", CompareView)

    def tell(self, text: str) -> None:
        """Say what came of the comparison."""
        if is_spoken(self.view):
            self.stonehand.announce(text)
        self.query_one("#outcome", Static).update(Content(visible(text)))

    def action_next_change(self) -> None:
        self._tell_change(self.view.next_change())

    def action_previous_change(self) -> None:
        self._tell_change(self.view.previous_change())

    def _tell_change(self, number: int) -> None:
        if number:
            self.say(t("compare.change", number=number, all=self.view.change_count))

    def action_next_compared(self) -> None:
        self.view.next_block()

    def action_previous_compared(self) -> None:
        self.view.previous_block()

    def action_fold(self) -> None:
        self.view.toggle()

    def action_fold_all(self) -> None:
        self.view.toggle_all()

    def action_copy_comparison(self) -> None:
        comparison = self.comparison
        if comparison is not None and comparison.text:
            self.say(copy(self.app, comparison.text).message)
        else:
            self.say(t("compare.nothing-to-copy"), warning=True)

    def action_help(self) -> None:
        self.stonehand.action_keys()

    def action_leave(self) -> None:
        self.dismiss(None)
