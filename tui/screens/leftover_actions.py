"""What the keys do to something that is left over in the config, when the cursor is on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from tui.language import t
from tui.leftover_texts import explain, settings
from tui.screens.selection_actions import SelectionActions
from tui.widgets.block_list import BlockList

if TYPE_CHECKING:
    from engine.blocks.leftovers import Leftover


class LeftoverActions(SelectionActions):
    """Looking at it, removing it, giving it to the block it belongs to."""

    @on(BlockList.LeftoverSelected)
    def _leftover_selected(self, message: BlockList.LeftoverSelected) -> None:
        self.show_leftover(message.leftover)

    def action_edit(self) -> None:
        leftover = self.blocks.leftover
        if leftover is None or self.carry is not None:
            super().action_edit()
        else:
            self.show_leftover(leftover)

    def show_leftover(self, leftover: Leftover) -> None:
        """Say what it is, show what is stored for it, and ask what is to become of it."""
        from tui.screens.choice import ChoiceDialog

        session = self.session
        if session is None:
            return
        choices: list[tuple[str, str]] = []
        if leftover.kind == "shared":
            choices.append(("p", t("rows.part")))
        elif leftover.renamable:
            choices.append(("r", t("rows.rename", successor=leftover.successor)))
        if leftover.kind != "shared":
            choices.append(("d", t("rows.remove")))
        ids = [item.id for item in session.leftovers if item.kind != "shared"]
        if len(ids) > 1:
            choices.append(("a", t("rows.remove-all", count=len(ids))))
        choices.append(("escape", t("rows.leave")))

        def done(answer: str | None) -> None:
            if answer == "p":
                self.do(lambda session: session.part_shared(leftover.id))
            elif answer == "r":
                self.do(lambda session: session.rename_leftover(leftover.id))
            elif answer == "d":
                self.drop_leftover(leftover)
            elif answer == "a":
                self.do(lambda session: session.drop_leftovers(ids))

        text = "\n".join(filter(None, (explain(leftover), settings(leftover))))
        self.app.push_screen(ChoiceDialog(leftover.id, text, choices, body=leftover.text), done)

    def drop_leftover(self, leftover: Leftover) -> None:
        """Remove it from the config."""
        if leftover.kind == "shared":
            self.show_leftover(leftover)
        else:
            self.do(lambda session: session.drop_leftovers([leftover.id]))

    def action_delete(self) -> None:
        leftover = self.blocks.leftover
        if leftover is None or self.blocks.marked:
            super().action_delete()
        else:
            self.drop_leftover(leftover)

    def action_reset(self) -> None:
        leftover = self.blocks.leftover
        if leftover is None or self.blocks.marked:
            super().action_reset()
        else:
            self.drop_leftover(leftover)

    def action_properties(self) -> None:
        leftover = self.blocks.leftover
        if leftover is None:
            super().action_properties()
        else:
            self.show_leftover(leftover)
