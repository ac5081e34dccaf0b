"""The tokens a story has used, by agent and model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from engine.runs.records import local_time
from tui.actions import Place
from tui.language import of_engine, t
from tui.widgets.cells import fit, short_count
from tui.widgets.stream_view import StreamView

if TYPE_CHECKING:
    from engine.runs.used import UsageTotals, Used

_COLUMN = 11
"""Cells of a column of figures; of a name as many as are left, up to `_NAME`."""
_NAME = 30
_FRAME = 6
"""Cells beside the table."""


class UsageDialog(ModalScreen[None]):
    """Shows what is recorded; it is only read."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape,q,u", "leave", "Leave")]

    def __init__(self, usage: UsageTotals) -> None:
        super().__init__()
        self._usage = usage

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("runs.usage-title")
            dialog.border_subtitle = t("runs.usage-keys")
            narrow = self.app.size.width < _NAME + 3 * _COLUMN + _FRAME
            yield StreamView(_table(self._usage, narrow), follow=False, id="usage")

    def on_mount(self) -> None:
        self.query_one("#usage").focus()

    def action_leave(self) -> None:
        self.dismiss(None)


def _table(usage: UsageTotals, narrow: bool) -> str:
    """The figures in columns, with what could not be read of the file below; in a narrow one the figures are rounded
    and have a line of their own.
    """

    def line(name: str, used: Used) -> str:
        counts = (used.calls, used.tokens.sent, used.tokens.received)
        if narrow:
            return f"{name}\n{''.join(_right(short_count(count)) for count in counts)}"
        return fit(name, _NAME) + "".join(_right(f"{count:,}") for count in counts)

    if not usage.agents and not usage.models and not usage.total.calls:
        lines = [t("runs.usage-none")]
    else:
        header = "".join(_right(t(f"runs.usage-{name}")) for name in ("calls", "sent", "received"))
        lines = [header if narrow else fit("", _NAME) + header, line(t("runs.usage-all"), usage.total)]
        for item in usage.agents:
            lines += ["", line(item.used.name, item.used), *(line(f"  {model.name}", model) for model in item.models)]
        if usage.models:
            lines += ["", t("runs.usage-models"), *(line(f"  {model.name}", model) for model in usage.models)]
        if usage.updated_at:
            lines += ["", t("runs.usage-at", at=local_time(usage.updated_at))]
    return "\n".join([*lines, *(f"! {of_engine(problem.told())}" for problem in usage.problems)])


def _right(text: str) -> str:
    return " " * (_COLUMN - cell_len(text)) + text
