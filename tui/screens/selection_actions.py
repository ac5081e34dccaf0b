"""Marking blocks, and what the keys do to all that are marked: each one step that undo takes back."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from textual import on

from engine.blocks.moves import shifted
from engine.document.state import SaveState
from tui.language import of_engine, t
from tui.safe_text import visible
from tui.screens.block_actions import BlockActions
from tui.widgets.block_list import BlockList

if TYPE_CHECKING:
    from engine.blocks import Row
    from engine.session import Session

NAMED = 3
"""Blocks that a message names; the others it counts."""


class SelectionActions(BlockActions):
    """While blocks are marked, the actions on the block under the cursor are actions on all of them."""

    @property
    def marked(self) -> list[Row]:
        """The marked rows, in the order of the list."""
        keys = self.blocks.marked
        return [row for row in self.blocks.rows if row.key in keys] if keys else []

    def list_parts(self) -> list[str]:
        """What the title of the list says of marks and filter."""
        marked, parts = len(self.blocks.marked), []
        if self.blocks.filter:
            parts.append(t("select.shown", count=len(self.blocks.shown)))
        if marked:
            parts.append(t("select.marked", count=marked))
        return parts

    @on(BlockList.ShownChanged)
    def _shown_changed(self) -> None:
        self.show_state()

    # -- marks

    def action_mark(self) -> None:
        if self.blocks.current is not None:
            self.blocks.toggle_mark(self.blocks.current.key)
        elif self.blocks.leftover is not None:
            self.say(t("select.only-blocks"), warning=True)

    def action_mark_range(self) -> None:
        self.blocks.mark_range()

    def action_mark_all(self) -> None:
        self.blocks.mark_shown()

    def clear_marks(self) -> bool:
        """Take the marks away; False when there are none."""
        if not self.blocks.marked:
            return False
        self.blocks.clear_marks()
        return True

    # -- what is done to the marked blocks

    def action_switch(self) -> None:
        keys = self.blocks.marked
        if not keys:
            super().action_switch()
            return
        self.do(lambda session: session.toggle_all(keys))

    def _move(self, step: int) -> None:
        keys = self.blocks.marked
        if not keys or self.carry is not None:
            super()._move(step)
            return
        shown = self._shown_keys()
        hidden = len(shown) < len(self.blocks.rows)
        if self.do(lambda session: session.shift(keys, step, shown)):
            return
        # Over hidden blocks alone nothing is moved: nobody would see where it went.
        self.say(t("select.end-hidden" if hidden and self._could_move(keys, step) else "select.end"))

    def _could_move(self, keys: Collection[str], step: int) -> bool:
        """Whether blocks could be moved, were no block hidden."""
        rows = self.blocks.rows
        return shifted(rows, keys, step) != [row.key for row in rows]

    def drop_rows(self, key: str, index: int) -> None:
        """Put the block `key`, which was dragged, at `index` of its role, and if it is marked all marked ones there."""
        keys = self.blocks.marked
        if key in keys and len(keys) > 1:
            self.do(lambda session: session.gather(keys, key, index))
        else:
            self.do(lambda session: session.move(key, index))

    def action_delete(self) -> None:
        rows = self.marked
        if not rows:
            super().action_delete()
            return
        customs = [row for row in rows if row.custom]
        kept = _listed([row for row in rows if not row.custom])
        if not customs:
            self.say(t("select.none-deletable", names=kept), warning=True)
            return
        said = t("select.deleted", count=len(customs))
        if kept:
            said = f"{said} · {t('select.kept', names=kept)}"
        self.do(lambda session: session.delete_all([row.key for row in rows]), said=said)

    def action_duplicate(self) -> None:
        keys = self.blocks.marked
        if not keys:
            super().action_duplicate()
            return
        made: list[str] = []

        def edit(session: Session) -> str:
            made.extend(session.duplicate_all(keys))
            return of_engine(session.document.undo_label or "")

        if self.do(edit):
            self.show_key(made[0])

    def action_reset(self) -> None:
        from tui.screens.choice import ChoiceDialog

        keys, session = self.blocks.marked, self.session
        if not keys or session is None or session.document.state is SaveState.INVALID:
            super().action_reset()
            return

        def done(answer: str | None) -> None:
            if answer == "b" and not self.do(lambda session: session.reset_all(keys)):
                self.say(t("select.nothing-reset"))
            elif answer == "a":
                self.do(lambda session: session.reset())

        choices = [
            ("b", t("select.reset-marked", count=len(keys))),
            ("a", t("select.reset-agent")),
            ("escape", t("select.reset-nothing")),
        ]
        self.app.push_screen(ChoiceDialog(t("select.reset"), t("select.reset-undo"), choices), done)

    def action_mode_none(self) -> None:
        keys = self.blocks.marked
        if not keys:
            super().action_mode_none()
        elif not self.do(lambda session: session.clear_modes(keys)):
            self.say(t("select.no-modes"))

    def action_mode_before(self) -> None:
        if not self._one_only():
            super().action_mode_before()

    def action_mode_after(self) -> None:
        if not self._one_only():
            super().action_mode_after()

    def action_mode_override(self) -> None:
        if not self._one_only():
            super().action_mode_override()

    def _one_only(self) -> bool:
        """Whether blocks are marked, which a mode with a text is not for: say so then."""
        if not self.blocks.marked:
            return False
        self.say(t("select.one-only"), warning=True)
        return True


def _listed(rows: list[Row]) -> str:
    """The names of some blocks, the first few of many."""
    names = ", ".join(visible(row.name) for row in rows[:NAMED])
    return names if len(rows) <= NAMED else t("select.and-more", names=names, number=len(rows) - NAMED)
