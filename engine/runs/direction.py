"""The author's direction as it is being written: kept on disk, so that a lost connection loses none of it."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from engine import disk
from engine.errors import StonehandError


class Directions:
    """One unfinished direction for each branch of a story, in `folder`. Blocking; for an engine thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, content_root: Path) -> str:
        """What was written for this branch; the empty string when nothing was, or it can't be read."""
        with suppress(StonehandError):
            data = disk.read_bytes(self._file(content_root))
            return (data or b"").decode("utf-8", "replace")
        return ""

    def write(self, content_root: Path, text: str) -> None:
        """Remember a direction; an empty one is forgotten. Raises `StonehandError` when it can't be written."""
        file = self._file(content_root)
        if text:
            with suppress(OSError):  # the write says what is wrong
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            disk.write_atomic(file, text.encode("utf-8", "replace"))
        else:
            with suppress(OSError):
                file.unlink(missing_ok=True)

    def _file(self, content_root: Path) -> Path:
        name = hashlib.blake2b(os.fsencode(content_root.absolute()), digest_size=16).hexdigest()
        return self._folder / f"{name}.txt"
