"""The live preview of a script: run after a pause in typing, the run before it ended at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.timer import Timer

if TYPE_CHECKING:
    from engine.blocks import ScriptResult
    from engine.prompt import Base
    from engine.session import Session
    from engine.workspace import PreviewJob
    from tui.screens.base import WorkingScreen

PREVIEW_PAUSE = 0.25
"""Seconds after the last key until a script is run, where the terminal's profile says nothing else."""
QUICK = 0.15
"""Seconds an answer may take without a sign that it is awaited."""


class ScriptPreview:
    """Runs one script at a time for its author.

    `show(key, result)` is called with what the script of row `key` gave, or with None when that takes a while.
    """

    def __init__(
        self,
        screen: WorkingScreen[None],
        show: Callable[[str, ScriptResult | None], None],
        pause: float = PREVIEW_PAUSE,
    ) -> None:
        self._screen = screen
        self._show = show
        self._pause = pause
        self._asked: tuple[str, str, Base] | None = None
        self._timer: Timer | None = None
        self._job: PreviewJob | None = None
        self._cut_short = False

    def follow(self, session: Session, key: str, *, typing: bool = False) -> None:
        """Run the script of a row, unless it is the one run last, on the same story; after a pause while typing.

        Of one that was stopped, what it gave to a prompt since then is shown.
        """
        base, body = session.base, session.text(key)
        if base is None:
            return
        asked = self._asked
        if asked is not None and asked[:2] == (key, body) and asked[2] is base:
            if self._cut_short and (result := session.result(body)) is not None and not result.cut_short:
                self._cut_short = False
                self._show(key, result)
            return
        self.cancel()
        self._asked = (key, body, base)
        if typing:
            self._timer = self._screen.set_timer(self._pause, lambda: self._begin(session, key, body, base))
        else:
            self._begin(session, key, body, base)

    def cancel(self) -> None:
        """End what runs or waits to run."""
        self._asked = None
        self._cut_short = False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _begin(self, session: Session, key: str, body: str, base: Base) -> None:
        try:
            job = self._job = self._screen.workspace.preview(base, body)
        except Exception as error:  # whatever it is: the script can still be written
            self._screen.report(error)
            return
        self._screen.run_worker(self._await(session, key, job), group="preview", exit_on_error=False)

    async def _await(self, session: Session, key: str, job: PreviewJob) -> None:
        answer = asyncio.wrap_future(job.future)
        done, _ = await asyncio.wait({answer}, timeout=QUICK)
        if not done and job is self._job:
            self._show(key, None)
        await asyncio.wait({answer})
        result = job.result()
        if job is not self._job or result.kind == "cancelled":
            return
        known = session.learn(job.base, job.body, result)
        self._cut_short = known.cut_short
        self._show(key, known)
