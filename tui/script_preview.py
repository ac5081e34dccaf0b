"""The live preview of a script: run after a pause in typing, the run before it ended at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.timer import Timer

from engine.blocks import ScriptResult
from engine.session import Session
from engine.workspace import PreviewJob, Workspace

if TYPE_CHECKING:
    from textual.screen import Screen

PREVIEW_PAUSE = 0.3
"""Seconds after the last key until a script is run."""
QUICK = 0.15
"""Seconds an answer may take without a sign that it is awaited."""


class ScriptPreview:
    """Runs one script at a time for its author.

    `show(key, result)` is called with what the script of row `key` gave, or with None when that takes a while.
    """

    def __init__(
        self, screen: Screen[None], workspace: Workspace, show: Callable[[str, ScriptResult | None], None]
    ) -> None:
        self._screen = screen
        self._workspace = workspace
        self._show = show
        self._timer: Timer | None = None
        self._job: PreviewJob | None = None

    def later(self, session: Session, key: str, block_id: str, pause: float = PREVIEW_PAUSE) -> None:
        """Run the script of a block after a pause, counted from the last call; one that runs is ended."""
        self.cancel()
        self._timer = self._screen.set_timer(max(pause, 0.01), lambda: self._begin(session, key, block_id))

    def cancel(self) -> None:
        """End what runs or waits to run."""
        if self._timer is not None:
            self._timer.stop()
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _begin(self, session: Session, key: str, block_id: str) -> None:
        if session.base is not None:
            job = self._job = self._workspace.preview(session.base, session.text(block_id))
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
        if result.kind != "timeout":
            # A generation gives scripts more time than a preview does, so a timeout here decides nothing there.
            session.learn(job.base, job.body, result)
        self._show(key, result)
