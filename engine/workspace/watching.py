"""`workspace.watching`: changes that others make to open stories and to the files that define providers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engine.runtime import Runtime
from engine.story import StoryFolder
from engine.workspace.models import Models

if TYPE_CHECKING:
    from engine.workspace.generation import AnalysisNotice

LOOKED_EVERY = 2.0
"""Seconds between two looks at a story that the system does not tell of, or that is gone."""


class Watching:
    """Who is told when files change. Nothing is followed unless `watch`."""

    def __init__(self, runtime: Runtime, models: Models, *, watch: bool) -> None:
        self._runtime = runtime
        self._models = models
        self._watch = watch
        self._listeners: list[Callable[[str, frozenset[Path]], None]] = []
        self._lost_listeners: list[Callable[[str, str], None]] = []
        self.analysis_listeners: list[Callable[[AnalysisNotice], None]] = []
        """Who hears of analyses that began by themselves."""

    def listen(self, listener: Callable[[str, frozenset[Path]], None]) -> None:
        """Have `listener(story id, files)` called, on the engine's thread, when files of an open story change."""
        self._listeners.append(listener)

    def stop_listening(self, listener: Callable[[str, frozenset[Path]], None]) -> None:
        """Tell `listener` of no further changes."""
        self._listeners.remove(listener)

    def listen_to_analyses(self, listener: Callable[[AnalysisNotice], None]) -> None:
        """Have `listener` called, on an engine thread, when an analysis that began by itself has ended or can't be."""
        self.analysis_listeners.append(listener)

    def listen_for_loss(self, listener: Callable[[str, str], None]) -> None:
        """Have `listener(story id, reason)` called, on the engine's thread, when changes of an open story are no longer
        told of by the system. They are looked for every few seconds then, and `listen` goes on to tell of them.
        """
        self._lost_listeners.append(listener)

    def listen_to_providers(self, listener: Callable[[], object]) -> None:
        """Have `listener` called, on the engine's thread, when a file that defines providers changed; if `watch`."""
        if self._watch:
            self._runtime.submit(self._follow_providers(listener))

    async def follow(self, folder: StoryFolder) -> None:
        """Follow the changes of a story for as long as the workspace is open, also when its folder goes away and comes
        back. Where changes are not told of, the files are looked at every few seconds instead.
        """
        looking = again = False
        while True:
            try:
                if folder.path.is_dir():
                    await self._watch_folder(folder, looking=looking, again=again)
                    # It is gone, or another one: the watch is on the folder that was, and says nothing of this one.
                    folder.invalidate()
                    self._tell(folder, frozenset((folder.path,)))
            except Exception as error:  # whatever it is, outside changes must not pass unseen
                if not looking:
                    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
                    for lost in self._lost_listeners:
                        lost(folder.id, reason)
                else:
                    self._tell(folder, frozenset())
                looking = True
            again = True
            await asyncio.sleep(LOOKED_EVERY)

    async def _watch_folder(self, folder: StoryFolder, *, looking: bool, again: bool) -> None:
        """Tell of changes until the folder goes away; `looking` at the files, or being told by the system. When it is
        begun `again`, changes may have been missed in between.
        """
        from watchfiles import awatch

        stop = asyncio.Event()
        try:
            watcher = awatch(
                folder.path,
                debounce=200,
                step=50,
                stop_event=stop,
                yield_on_timeout=True,
                rust_timeout=200,
                force_polling=looking,
                poll_delay_ms=int(LOOKED_EVERY * 1000),
            )
            begun = False
            async for changes in watcher:
                if not begun:
                    # The first answer, a timeout perhaps, says that the watch is in place: now it may be relied on.
                    folder.trust_watch(not looking)
                    begun = True
                    if again:
                        self._tell(folder, frozenset())
                paths = frozenset(Path(path) for _, path in changes)
                if paths:
                    folder.invalidate(paths)
                    self._tell(folder, paths)
                    if folder.path in paths or not folder.path.is_dir():
                        return
        finally:
            folder.trust_watch(False)
            stop.set()

    def _tell(self, folder: StoryFolder, paths: frozenset[Path]) -> None:
        for listener in [*self._listeners]:
            with suppress(Exception):  # one that fails must not keep the others from hearing of this and the next
                listener(folder.id, paths)

    async def _follow_providers(self, listener: Callable[[], object]) -> None:
        from watchfiles import awatch

        files = (self._models.provider_files.config, self._models.provider_files.own)
        names = {file.name for file in files}
        stop = asyncio.Event()
        try:
            while True:
                # A folder that is not there yet is waited for in the nearest one that is.
                folders = {_nearest(file.parent) for file in files}
                async for changes in awatch(
                    *folders, recursive=False, debounce=200, step=50, stop_event=stop, watch_filter=None
                ):
                    moved = {_nearest(file.parent) for file in files} != folders
                    if moved or any(Path(path).name in names for _, path in changes):
                        listener()
                    if moved:
                        break
                else:
                    return
        except (ImportError, RuntimeError, OSError):
            pass  # no watch here: providers are looked at whenever a story is
        finally:
            stop.set()


def _nearest(folder: Path) -> Path:
    """A folder, or where it would be made: the lowest one above it that is there."""
    return next((place for place in (folder, *folder.parents) if place.is_dir()), folder)
