"""Saving: after a pause, when a text is left, before leaving; and settling a conflict with another program."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from textual.timer import Timer

from engine.document.state import SaveState
from engine.errors import StonehandError

if TYPE_CHECKING:
    from engine.session import Session
    from tui.screens.base import WorkingScreen

SAVE_PAUSE = 0.8
"""Seconds after the last edit until it is saved."""


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

    async def _save(self, session: Session) -> None:
        try:
            while (job := self._screen.workspace.save(session)) is not None:
                written = asyncio.wrap_future(job.future)
                await asyncio.wait({written})
                if not written.cancelled():
                    written.exception()  # looked at, or asyncio complains of it later; `finish` tells what it means
                error = job.finish()
                if error is not None:
                    if session.document.state is not SaveState.CONFLICT:  # which the screen shows until it is settled
                        self._report(error)
                    break
        finally:
            self._busy.pop(session, None)
            self._changed()

    def flush(self, sessions: Iterable[Session]) -> None:
        """Save on this thread, for a program that is being ended; what can't be saved stays in the journal."""
        for session in sessions:
            with contextlib.suppress(StonehandError):
                self._screen.workspace.save_now(session)

    async def settle(self, sessions: Iterable[Session]) -> bool:
        """Save everything before leaving; False when the user wants to stay."""
        for session in sessions:
            await self.now(session)
            if session.document.state is SaveState.CONFLICT and not await self.resolve(session, leaving=True):
                return False
            if session.document.state is SaveState.UNSAVED and not await self._leave_unsaved(session):
                return False
        return True

    async def _leave_unsaved(self, session: Session) -> bool:
        """Edits that can't be written: True when the user leaves all the same."""
        from tui.screens.choice import ChoiceDialog

        journal = self._screen.workspace.journal
        await asyncio.to_thread(journal.flush)
        leave = "leave and lose the edits" if journal.failure else "leave now; your edits come back next time"
        dialog = ChoiceDialog("Edits can't be saved", self._place(session), [("l", leave), ("escape", "stay")])
        return await self._screen.app.push_screen_wait(dialog) == "l"

    def _place(self, session: Session) -> str:
        """The session's file, seen from the data folder."""
        file, data = session.document.file, self._screen.workspace.data
        return str(file.relative_to(data) if file.is_relative_to(data) else file)

    async def resolve(self, session: Session, *, leaving: bool = False) -> bool:
        """Ask what becomes of a conflict. True when it is settled, or the user leaves it for the next time."""
        from tui.screens.choice import ChoiceDialog

        document = session.document
        choices = [
            ("g", "merge: the file's version with your edits on top"),
            ("m", "mine: replace the file by yours"),
            ("t", "theirs: take the file's version (undo brings yours back)"),
        ]
        choices += [("l", "leave now; your edits come back next time")] if leaving else []
        choices += [("escape", "decide later")]
        dialog = ChoiceDialog("Changed by another program", self._place(session), choices)
        key = await self._screen.app.push_screen_wait(dialog)
        try:
            if key == "g":
                document.merge()
            elif key == "m":
                document.keep_mine()
            elif key == "t":
                document.take_theirs()
            else:
                return key == "l"
        except StonehandError as error:
            self._report(error)
            return False
        await self.now(session)
        return document.state is not SaveState.CONFLICT
