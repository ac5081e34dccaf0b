"""Picking one name from a list."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.actions import Place
from tui.language import t
from tui.safe_text import visible


class PickDialog(ModalScreen[str | None]):
    """Asks for one of some names; None for escape. `labels` are what is shown in their places."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "leave", "Leave")]

    def __init__(
        self,
        title: str,
        names: Sequence[str],
        labels: Sequence[str] | None = None,
        *,
        now: str = "",
        notes: Sequence[str] = (),
    ) -> None:
        """`now` is the name that the cursor begins on; `notes` stand above the names, a line each."""
        super().__init__()
        self._now, self._notes = now, notes
        self._title, self._names = title, names
        self._labels = names if labels is None else labels

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(visible(self._title))
            dialog.border_subtitle = t("dialog.choose")
            if self._notes:
                yield Static(Content("\n".join(map(visible, self._notes))), classes="text", markup=False)
            yield OptionList(*(Option(Content(visible(name))) for name in self._labels))

    def on_mount(self) -> None:
        if self._now in self._names:
            self.query_one(OptionList).highlighted = self._names.index(self._now)

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(self._names[message.option_index])

    def action_leave(self) -> None:
        self.dismiss(None)
