"""What the keys do to the block under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.document.state import SaveState
from tui.carry import Carry
from tui.language import of_engine, t
from tui.screens.desk_part import DeskPart

if TYPE_CHECKING:
    from engine.blocks import Role
    from engine.blocks.config import ContentMode
    from engine.session import Session


class BlockActions(DeskPart):
    """The editing of blocks: every method is one action, or a step of one."""

    def action_switch(self) -> None:
        row = self.blocks.current
        if row is not None:
            self.do(lambda session: session.toggle(row.key))

    def action_move_down(self) -> None:
        self._move(1)

    def action_move_up(self) -> None:
        self._move(-1)

    def _move(self, step: int) -> None:
        target = self.blocks.move_target(step)
        if self.carry is not None:
            self.carry_on(step)
        elif target is not None:
            self.do(lambda session: session.move(*target))
        elif self.blocks.current is not None:
            self.say(t("order.edge-custom" if self.blocks.current.custom else "order.edge-built-in"))

    def action_undo(self) -> None:
        before = [row.key for row in self.session.rows] if self.session is not None else []
        current = self.blocks.current
        if not self.do(lambda session: session.undo()):
            self.say(self.nothing_to_undo())
        elif self.session is not None:
            key = _after_undo(before, [row.key for row in self.session.rows], current.key if current else None)
            if key is not None:
                self.show_key(key)

    def nothing_to_undo(self) -> str:
        """What is said where no edit of the blocks can be taken back."""
        return t("block.nothing-to-undo")

    def action_redo(self) -> None:
        if not self.do(lambda session: session.redo()):
            self.say(t("block.nothing-to-redo"))

    # -- carrying: the list shows where the block would go; nothing is edited before it is dropped

    def action_carry(self) -> None:
        row, session = self.blocks.current, self.session
        if self.carry is not None:
            self.drop()
        elif row is not None and session is not None:
            moved = self.blocks.marked or {row.key}
            if row.key not in moved:
                self.show_key(next(other.key for other in session.rows if other.key in moved))
                row = self.blocks.current or row
            self.carry = Carry.pick_up(session.rows, row.key, moved)
            self.blocks.carry = row.key
            self.say(t("block.carrying"))

    def carry_on(self, step: int) -> None:
        """Move what is carried on in the list that is shown."""
        if self.carry is not None and self.session is not None:
            self.carry = self.carry.on(self.session.rows, step, self._shown_keys())
            self.blocks.set_rows(self.carry.shown(self.session.rows), self.session.leftovers)

    def _shown_keys(self) -> set[str]:
        return {row.key for row in self.blocks.shown}

    def drop(self) -> None:
        """Make the move."""
        carry, session, self.carry = self.carry, self.session, None
        self.blocks.carry = None
        if carry is None or session is None:
            return
        order = [row.key for row in carry.shown(session.rows)]
        moved = carry.moved.intersection(order)
        self.say("")  # carrying has ended, also where nothing else is said of it
        if order == [row.key for row in session.rows]:
            self.say(t("block.not-moved"))
            self.show_rows()
        elif not self.do(lambda session: session.rearrange(order, moved)):
            self.show_rows()

    def put_back(self) -> None:
        """End carrying without a move."""
        self.carry = None
        self.blocks.carry = None
        self.say(t("block.put-back"))
        self.show_rows()

    # -- content modes

    def action_mode_none(self) -> None:
        self.set_mode(None)

    def action_mode_before(self) -> None:
        self.set_mode("prepend")

    def action_mode_after(self) -> None:
        self.set_mode("append")

    def action_mode_override(self) -> None:
        self.set_mode("override")

    def set_mode(self, mode: ContentMode | None, *, go_on: bool = True) -> None:
        """Choose what the user's text does to the block, and go on to the text."""
        row = self.blocks.current
        if row is None:
            return
        if row.custom:
            self.say(t("block.no-modes"), warning=True)
            return
        self.show_block()
        self.do(lambda session: session.set_mode(row.key, mode))
        if mode is not None and go_on and self.inspector.editor is not None:
            self.show_pane("inspector")
            self.inspector.focus_text()

    # -- custom blocks

    def action_add(self) -> None:
        from tui.screens.properties import PropertiesDialog

        row = self.blocks.current
        role: Role = row.role if row is not None else "user"

        def done(values: PropertiesDialog.Values | None) -> None:
            if values is not None:
                behind = row.key if row is not None and row.role == values.role else None
                self._add(lambda session: session.add(values.name, values.role, values.type, after=behind))

        self.app.push_screen(PropertiesDialog(t("properties.new"), role=role), done)

    def action_duplicate(self) -> None:
        row = self.blocks.current
        if row is not None:
            self._add(lambda session: session.duplicate(row.key), go_on=False)

    def _add(self, add: Callable[[Session], str], *, go_on: bool = True) -> None:
        """Add a block, put the cursor on it, and go on to its text."""
        made: list[str] = []

        def edit(session: Session) -> str:
            made.append(add(session))
            return of_engine(session.document.undo_label or "")

        if self.do(edit):
            self.show_key(made[0])
            self.show_block()
            if go_on:
                self.show_pane("inspector")
                self.inspector.focus_text()

    def action_properties(self) -> None:
        from engine.blocks.edits import custom_at
        from tui.screens.properties import PropertiesDialog

        row, session = self.blocks.current, self.session
        if row is None or session is None:
            return
        block = custom_at(session.document.config, row.key) if row.custom else None
        if block is None:
            return

        def done(values: PropertiesDialog.Values | None) -> None:
            if values is not None:
                self.do(
                    lambda session: session.change(
                        row.key, name=values.name, role=values.role, type=values.type, order=values.order
                    )
                )

        dialog = PropertiesDialog(
            t("properties.change"), name=block.name, role=block.role, type=block.type, order=block.order
        )
        self.app.push_screen(dialog, done)

    def action_delete(self) -> None:
        row = self.blocks.current
        if row is not None:
            self.do(lambda session: session.delete(row.key), said=t("block.deleted", name=row.name))

    def action_reset(self) -> None:
        from tui.screens.choice import ChoiceDialog

        session, row = self.session, self.blocks.current
        if session is None:
            return
        if session.document.state is SaveState.INVALID:
            self._ask_reset_invalid(session)
            return

        def done(key: str | None) -> None:
            if key == "b" and row is not None:
                self.do(lambda session: session.reset(row.key))
            elif key == "a":
                self.reset_agent()
            elif key == "s":
                self.reset_branch()

        choices = [("b", t("block.reset-block", name=row.name))] if row is not None else []
        choices += [("a", t("block.reset-agent")), ("s", t("block.reset-branch")), ("escape", t("block.reset-nothing"))]
        self.app.push_screen(ChoiceDialog(t("block.reset"), t("block.reset-undo"), choices), done)

    def _ask_reset_invalid(self, session: Session) -> None:
        from tui.screens.choice import ChoiceDialog

        def done(key: str | None) -> None:
            if key == "r":
                self.reset_invalid()

        self.app.push_screen(
            ChoiceDialog(
                t("block.reset-invalid"),
                t("block.reset-invalid-more", name=session.document.file.name),
                [("r", t("block.reset-invalid-do")), ("escape", t("block.reset-invalid-not"))],
            ),
            done,
        )

    # -- texts

    def action_copy(self) -> None:
        from tui.clipboard import copy

        row, session = self.blocks.current, self.session
        if row is not None and session is not None:
            self.collect()
            text = session.text(row.key) if row.custom else row.content
            said = copy(self.app, text).message if text else t("block.no-text", name=row.name)
            self.say(said, warning=not text)

    def action_edit(self) -> None:
        if self.carry is not None:
            self.drop()
            return
        if self.blocks.current is None:
            return
        self.show_block()
        self.show_pane("inspector")
        if not self.inspector.focus_text():
            self.say(t("block.choose-mode"))


def _after_undo(before: Sequence[str], after: Sequence[str], current: str | None) -> str | None:
    """The row an undo leads to: the first that came back, or the one above where the current one went, as a duplicate
    does; None where the cursor can stay.
    """
    known = set(before)
    back = next((key for key in after if key not in known), None)
    if back is not None or current is None or current in after or current not in before:
        return back
    left = set(after)
    return next((key for key in reversed(before[: before.index(current)]) if key in left), None)
