"""`workspace.passages`: what becomes of the passages that runs write, and of what is written for them:
directions, answers, briefs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from engine.errors import StonehandError
from engine.runs import Directions, UnfinishedPassages, UnkeptPassages
from engine.runtime import Runtime
from engine.story import Fragment, StoryFolder

if TYPE_CHECKING:
    from engine.runs import Run, RunView, Saved, Unfinished

RECORDED_EVERY = 1.0
"""Seconds between two writes of a passage that is arriving."""


class Passages:
    """Passages and directions, which are kept in `state` until they are part of a story; passages if `journalled`.

    `analyze` is told of each passage that is kept: story, branch and fragment id.
    """

    def __init__(
        self,
        state: Path,
        runtime: Runtime,
        story: Callable[[str], StoryFolder],
        analyze: Callable[[str, str, str], object],
        *,
        journalled: bool,
    ) -> None:
        self._runtime = runtime
        self._story = story
        self._analyze = analyze
        self._journalled = journalled
        self._kept: WeakKeyDictionary[Run, Saved] = WeakKeyDictionary()
        self._unkept = UnkeptPassages(state / "passages")
        self._directions = Directions(state / "directions")
        self._unfinished = UnfinishedPassages(state / "unfinished")
        self._keeping = threading.Lock()

    def record(self, run: Run, stream: concurrent.futures.Future[RunView]) -> None:
        """Write the passage of a run to the state folder as it arrives, until `keep` or `discard`."""
        if self._journalled and run.is_passage():
            self._runtime.submit(self._record(run, stream))

    def keep(self, run: Run, *, broken: bool = False) -> Saved:
        """Save a finished run's passage to the story and branch it was made for; once, however often it is asked. With
        `broken`, what a failed run came to write is one as well.

        It is analyzed by itself two seconds later, where nothing says otherwise. Raises `StonehandError`.
        """
        from engine.runs import save_passage

        with self._keeping:
            if run not in self._kept:
                saved = self._kept[run] = save_passage(self._story(run.prompt.story), run, broken=broken)
                self._unkept.forget(run)
                with suppress(StonehandError, RuntimeError):  # the passage is kept, whatever comes of this
                    self._analyze(run.prompt.story, run.prompt.branch, saved.fragment.id)
            return self._kept[run]

    def shown(self, story_id: str, branch: str) -> tuple[Fragment, ...]:
        """The passages of a branch, of each section the version that is shown, in the order of the story. Waits."""
        snapshot = self._story(story_id).snapshot(branch)
        found = (snapshot.get(fragment_id) for fragment_id in snapshot.chain.active_ids)
        return tuple(fragment for fragment in found if fragment is not None)

    def discard(self, run: Run) -> None:
        """Forget a passage that is not wanted; a run in progress is stopped."""
        run.stop()
        self._unkept.forget(run)

    def direction(self, story_id: str, branch: str) -> str:
        """The direction that was being written for a branch, perhaps in an earlier session. Waits."""
        return self._directions.read(self._story(story_id).content_root(branch))

    def remember_direction(self, story_id: str, branch: str, text: str) -> None:
        """Keep a direction as it is being written; an empty one is forgotten. Waits; raises `StonehandError`."""
        self._directions.write(self._story(story_id).content_root(branch), text)

    def unfinished(self, story_id: str, branch: str) -> Unfinished | None:
        """What the passage that was begun last on a branch waits for, perhaps in an earlier session. Waits."""
        return self._unfinished.read(self._story(story_id).content_root(branch))

    def remember_unfinished(self, story_id: str, branch: str, unfinished: Unfinished | None) -> None:
        """Keep answers and a brief as they are being written; None forgets them. Waits; raises `StonehandError`."""
        self._unfinished.write(self._story(story_id).content_root(branch), unfinished)

    def left(self) -> list[Path]:
        """Texts of passages that were neither kept nor discarded when their program ended; each is told of once."""
        return self._unkept.take_left() if self._journalled else []

    def flush(self) -> None:
        """Bring what arrived to disk, at once."""
        self._unkept.flush()

    def close(self) -> None:
        self._unkept.close()

    async def _record(self, run: Run, stream: concurrent.futures.Future[RunView]) -> None:
        end = asyncio.wrap_future(stream)
        ended = False
        while not ended:
            await asyncio.wait({end}, timeout=RECORDED_EVERY)
            ended = end.done()
            with suppress(RuntimeError):  # the program is closing, and writes the rest itself
                await asyncio.wrap_future(self._runtime.call(self._unkept.write, run))
