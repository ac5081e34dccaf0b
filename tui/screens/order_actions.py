"""What the keys do about orders: a number that a block is pinned to, and the order of the pinned fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.language import t
from tui.screens.leftover_actions import LeftoverActions

if TYPE_CHECKING:
    from engine.blocks import Row
    from tui.screens.fragment_order import OrderHistory


class OrderActions(LeftoverActions):
    """The order of built-in blocks, and the fragment order panel."""

    def __init__(self) -> None:
        super().__init__()
        self._order_histories: dict[str, OrderHistory] = {}
        """By story."""

    def action_properties(self) -> None:
        row = self.blocks.current
        if row is None or row.custom:
            super().action_properties()
        else:
            self.show_order(row)

    def show_order(self, row: Row) -> None:
        """Say what a built-in block is, and ask for the order it is to be pinned to."""
        from tui.screens.pin import PinDialog
        from tui.why_text import place_reason

        session = self.session
        if session is None:
            return

        def done(answer: PinDialog.Answer | None) -> None:
            if answer is not None and not self.do(lambda session: session.pin_order(row.key, answer.order)):
                self.say(t("order.unchanged"))

        self.app.push_screen(PinDialog(row, place_reason(session.why_block(row.key))), done)

    def action_fragment_order(self) -> None:
        self.begin(self._fragment_order, "go", exclusive=True)

    async def _fragment_order(self) -> None:
        from tui.screens.fragment_order import FragmentOrderScreen, OrderHistory

        session = self.session
        if session is not None:
            await self.save_now()
            name = (await self.wait(self.workspace.story(session.story).meta)).name
            history = self._order_histories.setdefault(session.story, OrderHistory())
            self.app.push_screen(FragmentOrderScreen(session.story, session.branch, name, history))

    def nothing_to_undo(self) -> str:
        history = self._order_histories.get(self.session.story) if self.session is not None else None
        return t("order.undo-there") if history is not None and history.past else super().nothing_to_undo()
