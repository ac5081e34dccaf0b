"""Passages that were neither kept nor discarded: their text is on disk while it arrives, so that no end of the program
loses it.

Each open passage is one text file `<name>.part` in a folder of the user's state, with a lock beside it that its program
holds. A `.part` whose lock is free belongs to a program that is gone: it becomes `<name>.txt`, which is the user's own.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from engine.text import is_blank

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from engine.runs.run import Run

_NOT_IN_NAMES = re.compile(r"[^\w-]+")


@dataclass(slots=True)
class _Open:
    """A passage on disk, and the text of it that is there."""

    file: Path
    lock: BaseFileLock
    written: str = ""


class UnkeptPassages:
    """The open passages of this program, and those that programs now gone have left in `folder`. Thread-safe.

    Nothing here raises for a folder that can't be written: the passage is on the screen, and goes on.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._open: WeakKeyDictionary[Run, _Open | None] = WeakKeyDictionary()
        """None for a passage that was kept or discarded."""

    def write(self, run: Run) -> None:
        """Bring the text that has arrived of a passage to disk, unless it was kept or discarded; before there is any,
        its brief, as the author has changed it.
        """
        view = run.view()
        text = view.brief or "" if is_blank(view.text) else view.text
        if is_blank(text):
            return
        with self._lock, suppress(OSError):
            if run not in self._open:
                self._open[run] = self._begin(run)
            passage = self._open[run]
            if passage is not None and text != passage.written:
                _write(passage.file, text)
                passage.written = text

    def forget(self, run: Run) -> None:
        """The passage was kept or discarded: its text is nobody's concern any more."""
        with self._lock:
            passage = self._open.get(run)
            self._open[run] = None
            if passage is not None:
                with suppress(OSError):
                    passage.file.unlink(missing_ok=True)
                _release(passage.lock)

    def flush(self) -> None:
        """Write what has arrived since the last time, of every open passage; for a program that is being ended."""
        with self._lock:
            runs = [run for run, passage in self._open.items() if passage is not None]
        for run in runs:
            self.write(run)

    def take_left(self) -> list[Path]:
        """The passages that programs now gone have left, oldest first, each told of once; the files stay."""
        from filelock import FileLock, Timeout

        found = []
        for part in sorted(self._folder.glob("*.part")):
            lock = FileLock(part.with_suffix(".lock"), timeout=0, thread_local=False)
            try:
                lock.acquire()
            except (Timeout, OSError):
                continue  # its program is running
            try:
                found.append(part.rename(part.with_suffix(".txt")))
            except OSError:
                pass  # another start of the program was first
            finally:
                _release(lock)
        return found

    def close(self) -> None:
        """Write what has arrived and leave it to the next start of the program."""
        self.flush()
        with self._lock:
            for passage in self._open.values():
                if passage is not None:
                    _release(passage.lock)
            self._open.clear()

    def _begin(self, run: Run) -> _Open:
        from filelock import FileLock, Timeout

        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        stamp = datetime.now().strftime("%Y-%m-%d %H.%M.%S")
        place = " ".join(_NOT_IN_NAMES.sub("-", name)[:60] for name in (run.prompt.story, run.prompt.branch))
        file = self._folder / f"{stamp} {place} {secrets.token_hex(2)}.part"
        lock = FileLock(file.with_suffix(".lock"), timeout=0, mode=0o600, thread_local=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise OSError(f"{file} is in use") from error
        return _Open(file, lock)


def _write(file: Path, text: str) -> None:
    """Replace the file in one step: a program that ends meanwhile leaves the text before."""
    temp = file.with_suffix(".new")
    descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="surrogatepass", newline="") as stream:
        stream.write(text)
    temp.replace(file)


def _release(lock: BaseFileLock) -> None:
    lock.release()
    with suppress(OSError):
        Path(lock.lock_file).unlink(missing_ok=True)
