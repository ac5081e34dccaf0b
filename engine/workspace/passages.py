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

from engine.agents import WRITER
from engine.errors import NotFound, StonehandError
from engine.runs import Directions, UnfinishedPassages, UnkeptPassages
from engine.runtime import Runtime
from engine.story import Fragment, StoryFolder
from engine.text import is_blank

if TYPE_CHECKING:
    from engine.runs import Run, RunView, Saved, Unfinished
    from engine.workspace.history import RunHistory

LOGS_LOOKED_AT = 10
"""The newest logs of a branch among which the writer's last run is looked for."""
RECORDED_EVERY = 1.0
"""Seconds between two writes of a passage that is arriving."""


class Passages:
    """Passages and directions, which are kept in `state` until they are part of a story; passages if `journalled`.

    `analyze` is told of each passage that is kept: story, branch and fragment id; `leave` of each that is taken back.
    `runs` are the past ones.
    """

    def __init__(
        self,
        state: Path,
        runtime: Runtime,
        story: Callable[[str], StoryFolder],
        analyze: Callable[[str, str, str], object],
        leave: Callable[[str, str, str], object],
        runs: Callable[[], RunHistory],
        *,
        journalled: bool,
    ) -> None:
        self._runtime = runtime
        self._story = story
        self._analyze = analyze
        self._leave = leave
        self._runs = runs
        self._journalled = journalled
        self._kept: WeakKeyDictionary[Run, Saved] = WeakKeyDictionary()
        self._taken_back: WeakKeyDictionary[Run, tuple[Saved, str | None]] = WeakKeyDictionary()
        """Passages that are archived, with the version that is shown in the place of each."""
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
        `broken`, what a failed run came to write is one as well. One that was taken back is put back.

        It is analyzed by itself two seconds later, where nothing says otherwise. Raises `StonehandError`.
        """
        from engine.runs import save_passage

        with self._keeping:
            if run not in self._kept:
                saved = self._put_back(run) or save_passage(self._story(run.prompt.story), run, broken=broken)
                self._kept[run] = saved
                self._unkept.forget(run)
                with suppress(StonehandError, RuntimeError):  # the passage is kept, whatever comes of this
                    self._analyze(run.prompt.story, run.prompt.branch, saved.fragment.id)
            return self._kept[run]

    def take_back(self, run: Run) -> str | None:
        """Take a passage that was kept out of its story again; `keep` puts it back. Its fragment is archived, so that
        nothing is lost; an analysis of it that has not begun is dropped.

        Returns the id of the version that is shown in its place: the one it replaced; None when it was a section of its
        own. Raises `StonehandError`, with nothing changed.
        """
        with self._keeping:
            saved = self._kept.get(run)
            if saved is None:
                raise StonehandError("the passage was not kept, so there is nothing to take back")
            prompt = run.prompt
            self._leave(prompt.story, prompt.branch, saved.fragment.id)
            shown = self._story(prompt.story).archive_prose(prompt.branch, saved.fragment.id)
            self._taken_back[run] = (saved, shown)
            del self._kept[run]
            return shown

    def _put_back(self, run: Run) -> Saved | None:
        """Put back a passage that was taken back; None when it was not, or its fragment is gone."""
        saved, beside = self._taken_back.pop(run, (None, None))
        if saved is None:
            return None
        try:
            self._story(run.prompt.story).restore_prose(run.prompt.branch, saved.fragment.id, beside)
        except NotFound:
            return None
        except BaseException:
            self._taken_back[run] = (saved, beside)
            raise
        return saved

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
        """What the passage that was begun last on a branch waits for, perhaps in an earlier session: also the brief of
        a run of another program that came to no passage. Waits; raises `StonehandError`.
        """
        root = self._story(story_id).content_root(branch)
        return self._unfinished.read(root) or self._left_brief(story_id, branch, self._unfinished.none_since(root))

    def _left_brief(self, story_id: str, branch: str, since: str) -> Unfinished | None:
        """The brief that only the log of the writer's last run has, if that was after `since`."""
        from engine.runs import Unfinished

        snapshot, runs = self._story(story_id).snapshot(branch), self._runs()
        if snapshot.meta.settings.generation_mode != "prewriter":
            return None  # where nothing is written from a brief
        last = next((run for run in runs.newest(story_id, branch, LOGS_LOOKED_AT).runs if run.agent == WRITER), None)
        if last is None or last.fragment_id or last.created_at <= since or not (last.failed or last.stopped):
            return None
        detail = runs.detail(story_id, branch, last.id)
        mode = runs.mode_of(detail)
        replaced = snapshot.get(detail.target) if mode != "generate" else None
        if is_blank(detail.brief) or not is_blank(detail.answer) or (mode != "generate" and replaced is None):
            return None
        if replaced is None:
            return Unfinished(brief=detail.brief)
        return Unfinished(mode, replaced.id, replaced.name or replaced.id, brief=detail.brief)

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
