"""What the main screen tells of the prompt: what edits do to it, and why a block is as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.screens.desk_part import DeskPart

if TYPE_CHECKING:
    from engine.session import Session
    from engine.workspace import Reference


class CompareActions(DeskPart):
    """The effect of edits, and reasons."""

    reference: Reference | None = None
    """What the prompt was compared with last; None until one is chosen."""

    def action_compare(self) -> None:
        self.begin(self._compare, "go", exclusive=True)

    async def _compare(self) -> None:
        session = self.session
        if session is not None and session.base is not None:
            self.collect()
            if await self.load():
                self.show_comparison(session)

    def action_why(self) -> None:
        """Say why the block under the cursor is there, off, absent, or where it is; what something left over is."""
        from tui.screens.why import WhyDialog
        from tui.why_text import block_reasons

        session, row = self.session, self.blocks.current
        if session is not None and row is not None:
            self.collect()
            self.app.push_screen(WhyDialog(row.name, block_reasons(session.why_block(row.key))))
        elif self.blocks.leftover is not None:
            self.show_leftover(self.blocks.leftover)

    def show_comparison(self, session: Session) -> None:
        """Show what a session's prompt is against what was chosen last."""
        from tui.screens.compare import CompareScreen

        def chosen(reference: Reference) -> None:
            self.reference = reference

        self.app.push_screen(CompareScreen(session, self.reference or _first_choice(session), chosen))


def _first_choice(session: Session) -> Reference:
    """The reference that has something to tell: where this session began, else the default."""
    from engine.workspace import Reference

    return Reference("opened" if session.document.config != session.document.opened else "default")
