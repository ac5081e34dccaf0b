"""Work that the door has begun and whoever asked for it ends: a script's preview, a save."""

from __future__ import annotations

import concurrent.futures
from dataclasses import dataclass
from pathlib import Path

from engine.blocks.apply import ScriptResult
from engine.document import Document, Pending, SaveState
from engine.errors import Conflict, StonehandError
from engine.prompt import Base, cut_short, script_result
from engine.scripts import Limits, Outcome


@dataclass(frozen=True, slots=True)
class PreviewJob:
    """A script being run for its author. `cancel` ends it at once, whether it is queued or running."""

    base: Base
    body: str
    limits: Limits
    future: concurrent.futures.Future[Outcome]

    def cancel(self) -> None:
        self.future.cancel()

    def result(self) -> ScriptResult:
        """What it gave, waiting for it if need be; of kind `cancelled` when it was dropped, `cut_short` when it was
        stopped after less time than a prompt gives it.
        """
        try:
            result = script_result(self.future.result())
            return cut_short(result, self.limits) if result.kind == "timeout" else result
        except concurrent.futures.CancelledError:
            return ScriptResult(kind="cancelled", error="cancelled", described="cancelled")


@dataclass(frozen=True, slots=True)
class SaveJob:
    """A save under way. Whoever owns the document calls `finish`, on its own thread, when `future` is done."""

    document: Document
    pending: Pending
    future: concurrent.futures.Future[Path]

    def finish(self) -> StonehandError | None:
        """Take in the outcome, waiting for it if need be: the error, or None when the file was written."""
        try:
            file = self.future.result()
        except StonehandError as error:
            self.document.not_written(self.pending)
            if isinstance(error, Conflict) and self.document.state is SaveState.UNSAVED:
                return StonehandError("the save before this one failed", file=self.document.file, repair="save again")
            return error
        self.document.written(self.pending, file)
        return None
