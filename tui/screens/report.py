"""A question about something that takes more than a line to tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from tui.language import t
from tui.screens.choice import ChoiceDialog


class ReportDialog(ChoiceDialog):
    """A `ChoiceDialog` about lines that may be more than fit, and are scrolled while the choices have the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
    ]

    def __init__(self, title: str, lines: Sequence[str], choices: Sequence[tuple[str, str]]) -> None:
        super().__init__(title, "", choices, body="\n".join(lines))

    def on_mount(self) -> None:
        self.call_after_refresh(self._tell_that_it_scrolls)

    def _tell_that_it_scrolls(self) -> None:
        if self.query_one(".body", VerticalScroll).max_scroll_y > 0:
            self.query_one(".dialog").border_subtitle = t("exchange.window-scroll")

    def action_page(self, pages: int) -> None:
        """Scroll the lines by pages."""
        body = self.query_one(".body", VerticalScroll)
        body.scroll_to(y=body.scroll_offset.y + pages * max(1, body.size.height - 1), animate=False)
