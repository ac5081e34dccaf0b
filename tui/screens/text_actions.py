"""What the keys do to the text of the block under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.document.state import SaveState
from engine.errors import StonehandError
from tui.language import find, t
from tui.screens.desk_part import DeskPart

if TYPE_CHECKING:
    from engine.blocks import Row
    from engine.session import Session


class TextActions(DeskPart):
    """Finding in the text, the fragments it can name, and the user's own editor."""

    _gathered: object = None

    def action_find(self) -> None:
        """Find, and replace, in the text of the inspector."""
        self.show_block()
        if self.inspector.editor is None:
            self.say(t("text.no_text_to_find_in"), warning=True)
        else:
            self.show_pane("inspector")
            self.inspector.find()

    def action_external(self) -> None:
        """Open the text in the user's own editor; of an invalid config, its file."""
        self.begin(self._edit_outside, "external")

    async def _edit_outside(self) -> None:
        from tui.external_editor import edit_file, edit_text, keep_text

        session, row = self.session, self.blocks.current
        if session is None:
            return
        self.collect()
        if session.document.state is SaveState.INVALID:
            await edit_file(self.app, session.document.file)
            session.document.check_file()
            self.show_rows()
            return
        before = self.external_text(row) if row is not None else None
        if row is None or before is None:
            return
        suffix = ".js" if row.type == "script" else ".md"
        after = await edit_text(self.app, before, suffix)
        if after is None:
            return
        said = t("text.emptied") if not after.strip() else ""
        if not self.do(lambda session: session.set_text(row.key, after), said=said) and not _has(session, row, after):
            raise StonehandError(t("text.not_taken", file=keep_text(after, suffix)))

    def external_text(self, row: Row) -> str | None:
        """The text of a row for the user's own editor; None, with a hint, when it has none."""
        if self.session is None or (not row.custom and row.mode is None):
            self.say(t("block.mode-first"), warning=True)
            return None
        return self.session.text(row.key)

    # -- what can be put in

    def on_descendant_focus(self) -> None:
        """Gather what can be put in at the cursor, once for each state of the story."""
        session = self.session
        if session is not None and self.inspector.typing and self._gathered is not session.base:
            self._gathered = session.base
            self.begin(lambda: self._gather(session), "completion", exclusive=True)

    async def _gather(self, session: Session) -> None:
        from tui.completion import Sources

        def sources() -> Sources:
            fragments = self.workspace.fragments(session.story, session.branch)
            tags = sorted({tag for item in fragments for tag in item.tags})
            listed = tuple((item.id, item.type, item.name) for item in fragments)
            return Sources(session.script_names(), listed, tags, lambda name: find(f"text.ctx.{name}") or "")

        self.inspector.complete_with(await self.wait(sources))

    # -- fragments beside the text

    def action_reference(self) -> None:
        """Show the fragments beside the text, or hide them."""
        self.show_block()
        if self.inspector.editor is None:
            self.say(t("desk.no-text"), warning=True)
        elif self.inspector.toggle_reference():
            self.show_pane("inspector")
            self.begin(self._list_fragments, "reference")

    async def _list_fragments(self) -> None:
        session = self.session
        if session is not None:
            found = await self.wait(lambda: self.workspace.fragments(session.story, session.branch))
            self.inspector.show_fragments([(item.id, item.type, item.name) for item in found])


def _has(session: Session, row: Row, text: str) -> bool:
    try:
        return session.text(row.key) == text
    except StonehandError:
        return False
