"""Saving: after a pause, when a text is left, before leaving; and settling a conflict with another program."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from textual.timer import Timer

from engine.document.state import SaveState
from engine.errors import Conflict, StonehandError
from tui.language import of_error, t

if TYPE_CHECKING:
    from engine.session import Session
    from tui.screens.base import WorkingScreen

SAVE_PAUSE = 0.8
"""Seconds after the last edit until it is saved."""
RETRY_PAUSE = 3.0
"""Seconds until what could not be saved is tried again."""


class Saver:
    """Saves sessions for a screen. The files are written on the engine's thread; `changed` is called when one was."""

    def __init__(
        self,
        screen: WorkingScreen[None],
        changed: Callable[[], None],
        report: Callable[[Exception], None],
    ) -> None:
        self._screen = screen
        self._changed = changed
        self._report = report
        self._timer: Timer | None = None
        self._busy: dict[Session, asyncio.Task[None]] = {}
        self._failed: dict[Session, str] = {}
        self._retry: Timer | None = None

    def later(self, session: Session) -> None:
        """Save after a pause, counted from the last call."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._screen.set_timer(SAVE_PAUSE, lambda: self.begin(session))

    def begin(self, session: Session) -> None:
        """Save now, without waiting for it."""
        self._screen.run_worker(self.now(session), group="save", exit_on_error=False)

    async def now(self, session: Session) -> None:
        """Save until nothing is left to be saved, one write after the other; a failure is reported."""
        task = self._busy.get(session)
        if task is None:
            task = self._busy[session] = asyncio.create_task(self._save(session))
        await asyncio.shield(task)

    def keep_trying(self, session: Session) -> None:
        """Look at an unsaved session again and again until it is saved: what is in the way may go away by itself."""
        self._failed.setdefault(session, "")
        if self._retry is None and self._on_screen:
            self._retry = self._screen.set_timer(RETRY_PAUSE, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        for session in list(self._failed):
            document = session.document
            if self._screen.workspace.rescue.is_gone(session):
                self.keep_trying(session)
                continue
            with contextlib.suppress(StonehandError):  # reported when it failed first
                document.check_file()
            if document.state is SaveState.UNSAVED:
                self.begin(session)
            elif document.state is SaveState.CONFLICT:
                self.keep_trying(session)
            else:
                del self._failed[session]
        self._tell_changed()

    async def _save(self, session: Session) -> None:
        try:
            while (job := self._screen.workspace.save(session)) is not None:
                written = asyncio.wrap_future(job.future)
                await asyncio.wait({written})
                if not written.cancelled():
                    written.exception()  # looked at, or asyncio complains of it later; `finish` tells what it means
                error = job.finish()
                if error is not None:
                    known = self._failed.get(session)
                    self._failed[session] = of_error(error)
                    # A conflict is shown by the screen until it is settled.
                    if session.document.state is not SaveState.CONFLICT and known != of_error(error):
                        self._report(error)
                    break
        finally:
            self._busy.pop(session, None)
            if session.document.state in (SaveState.UNSAVED, SaveState.CONFLICT):
                self.keep_trying(session)
            else:
                self._failed.pop(session, None)
            self._tell_changed()

    def _tell_changed(self) -> None:
        # A write goes on when the program is left: it may end after the screen has.
        if self._on_screen:
            self._changed()

    @property
    def _on_screen(self) -> bool:
        return self._screen.is_attached and self._screen.app.is_running

    def flush(self, sessions: Iterable[Session]) -> None:
        """Save on this thread, for a program that is being ended; what can't be saved stays in the journal."""
        for session in sessions:
            with contextlib.suppress(StonehandError):
                self._screen.workspace.save_now(session)

    async def settle(self, sessions: Iterable[Session]) -> bool:
        """Save everything before leaving; False when the user wants to stay."""
        for session in sessions:
            await self.now(session)
            if self.unsaved_and_gone(session):
                if not await self._rescue(session, leaving=True):
                    return False
                continue
            if session.document.state is SaveState.CONFLICT and not await self.resolve(session, leaving=True):
                return False
            if session.document.state is SaveState.UNSAVED and not await self._leave_unsaved(session):
                return False
        return True

    def unsaved_and_gone(self, session: Session) -> bool:
        """Whether there are edits that can't be saved, for their branch was deleted."""
        unsaved = session.document.state in (SaveState.UNSAVED, SaveState.CONFLICT)
        return unsaved and self._screen.workspace.rescue.is_gone(session)

    async def _rescue(self, session: Session, *, leaving: bool = False) -> bool:
        """Edits on a branch that was deleted: True when they are in a file, or the user does without them."""
        from tui.screens.choice import ChoiceDialog

        choices = [("w", t("saver.rescue"))]
        choices += [("d", t("saver.do-without"))] if leaving else []
        dialog = ChoiceDialog(
            t("saver.gone", branch=session.branch),
            t("saver.gone-more", agent=session.agent),
            [*choices, ("escape", t("saver.later"))],
        )
        key = await self._screen.app.push_screen_wait(dialog)
        if key == "d":
            session.document.let_go()
        if key != "w":
            return key == "d"
        try:
            file = await self._screen.wait(lambda: self._screen.workspace.rescue.session(session))
        except StonehandError as error:
            self._report(error)
            return False
        self._screen.stonehand.notify(
            f"stonehand import {session.story} {session.agent} {file}",
            title=t("saver.rescued"),
            timeout=30,
            markup=False,
        )
        self._failed.pop(session, None)
        return True

    async def _leave_unsaved(self, session: Session) -> bool:
        """Edits that can't be written: True when the user leaves all the same."""
        from tui.screens.choice import ChoiceDialog

        journal = self._screen.workspace.journal
        await asyncio.to_thread(journal.flush)
        leave = t("saver.lose") if journal.failure else t("saver.leave")
        dialog = ChoiceDialog(t("saver.unsaved"), self._place(session), [("l", leave), ("escape", t("saver.stay"))])
        return await self._screen.app.push_screen_wait(dialog) == "l"

    def _place(self, session: Session) -> str:
        """The session's file, seen from the data folder."""
        file, data = session.document.file, self._screen.workspace.data
        return str(file.relative_to(data) if file.is_relative_to(data) else file)

    async def resolve(self, session: Session, *, leaving: bool = False) -> bool:
        """Ask what becomes of a conflict. True when it is settled, or the user leaves it for the next time."""
        from tui.screens.choice import ChoiceDialog

        if self.unsaved_and_gone(session):
            return await self._rescue(session, leaving=leaving)
        document = session.document
        fault, shown = document.theirs_fault, document.theirs
        if fault is not None:
            title, text = t("saver.made-invalid"), str(fault)
            choices = [("m", t("saver.mine-invalid"))]
        elif document.theirs is None:
            title, text = t("saver.deleted"), self._place(session)
            choices = [
                ("m", t("saver.mine-again")),
                ("t", t("saver.theirs-default")),
            ]
        else:
            title, text = t("saver.changed"), self._place(session)
            choices = [
                ("g", t("saver.merge")),
                ("b", t("conflict.choice")),
                ("m", t("saver.mine")),
                ("t", t("saver.theirs")),
            ]
        choices += [("l", t("saver.leave"))] if leaving else []
        choices += [("escape", t("saver.later"))]
        key = await self._screen.app.push_screen_wait(ChoiceDialog(title, text, choices))
        try:
            if key in ("b", "g", "m", "t") and (document.state is not SaveState.CONFLICT or document.theirs != shown):
                # What was decided on is not what the file holds now: another version came in meanwhile.
                raise Conflict(t("conflict.changed-again"))
            if key == "b":
                if not await self._resolve_by_block(session):
                    return False
            elif key == "g":
                self._tell_clashes(session, document.merge())
            elif key == "m":
                copy = document.keep_mine()
                if copy is not None:
                    self._screen.say(t("saver.kept-invalid", name=copy.name))
            elif key == "t":
                document.take_theirs()
            else:
                return key == "l"
        except StonehandError as error:
            self._report(error)
            return False
        await self.now(session)
        return document.state is not SaveState.CONFLICT

    async def _resolve_by_block(self, session: Session) -> bool:
        """Have the version of each block chosen; False when that is put off. Raises `StonehandError`."""
        from tui.screens.conflict import ConflictScreen

        document = session.document
        theirs, mine = document.theirs, document.config
        versions = document.versions()
        names = {row.key: row.name for row in session.rows}
        chosen = await self._screen.app.push_screen_wait(ConflictScreen(versions.differences(), names))
        if chosen is None or document.state is not SaveState.CONFLICT:
            return False
        if (document.theirs, document.config) != (theirs, mine):
            raise Conflict(t("conflict.changed-again"))
        combined = versions.combine(chosen)
        document.merge()
        # A step of its own: undo leads to the merge, and from there to their version.
        document.apply(t("conflict.label"), lambda _: combined)
        return True

    def _tell_clashes(self, session: Session, places: Iterable[str]) -> None:
        """Name what both programs changed at one place, where only the own change stands."""
        names = {row.id: row.name for row in session.rows}
        named = ", ".join(names.get(place, place) for place in places)
        if named:
            self._screen.say(t("saver.clash", names=named), warning=True)
