"""The journal: what was edited and is not saved yet, one file per open document.

An edit is on disk a moment after it was made (written by a thread of the journal's own, so no key waits for the disk);
a process killed at any point loses nothing that was typed before. The file is removed when the document is saved.

A journal file is JSON lines: a head (`file`, `saved`: the digest of the file the edits start from, `base`: its config),
then edits, either a whole config or a change of one block's text: start, count of characters deleted, text inserted.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.blocks.config import EMPTY, BlockConfig, ConfigFault, dump_config, parse_config
from engine.blocks.edits import set_text, text_of


def digest(data: bytes | None) -> str:
    """Names the content of a file; an absent file is `absent`."""
    return "absent" if data is None else hashlib.blake2b(data, digest_size=16).hexdigest()


def text_change(old: str, new: str) -> tuple[int, int, str]:
    """`new` as a change of `old`: start, characters deleted, text inserted (the common ends are left out)."""
    limit = min(len(old), len(new))
    start = _common(old, new, limit)
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, len(old) - start - end, new[start : len(new) - end]


def _common(old: str, new: str, limit: int) -> int:
    # Doubling slices compare in C; one character at a time would cost a frame on a long text.
    low = 0
    step = limit
    while step:
        if old.startswith(new[low : low + step], low):
            low += step
        step = min(step // 2, limit - low)
    return low


@dataclass(frozen=True, slots=True)
class Recovered:
    """Unsaved edits of an earlier session: where they lead, where they began, and whether that is what is saved."""

    config: BlockConfig
    base: BlockConfig
    base_matches: bool


class Journal:
    """Journals of a workspace, kept in `folder`. Thread-safe; every write is in order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.failure: str | None = None

    def begin(self, file: Path, saved: bytes | None, base: BlockConfig, config: BlockConfig) -> None:
        """Start the journal of a document at its first unsaved edit, from `base` (the file's `saved`) to `config`."""
        head = {"v": 1, "file": str(file), "saved": digest(saved), "base": dump_config(base)}
        self._put(lambda: self._write(file, "w", [head, {"config": dump_config(config)}]))

    def edited(self, file: Path, config: BlockConfig) -> None:
        """Record an edit by its result."""
        self._put(lambda: self._write(file, "a", [{"config": dump_config(config)}]))

    def typed(self, file: Path, block_id: str, old: str, new: str) -> None:
        """Record that a block's text changed; small however long the text is."""
        start, delete, insert = text_change(old, new)
        self._put(lambda: self._write(file, "a", [{"text": block_id, "at": start, "del": delete, "ins": insert}]))

    def end(self, file: Path) -> None:
        """Forget the journal of a document: it is saved, or its edits were given up."""
        self._put(lambda: self._path(file).unlink(missing_ok=True))

    def flush(self, timeout: float = 2.0) -> bool:
        """Wait until everything put before is written, at most `timeout` seconds; for signal handlers and quitting."""
        done = threading.Event()
        self._put(done.set)
        return done.wait(timeout)

    def close(self) -> None:
        """Write what is waiting and end the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join(2.0)

    def recover(self, file: Path, saved: bytes | None) -> Recovered | None:
        """The unsaved edits of this document, or None. A torn last line, of a write that was cut short, is left out."""
        try:
            lines = self._path(file).read_bytes().split(b"\n")
        except OSError:
            return None
        config: BlockConfig | None = None
        base, base_digest = EMPTY, ""
        for line in lines:
            try:
                entry = json.loads(line.decode("utf-8", "surrogatepass"))
                if "base" in entry:
                    base, base_digest = parse_config(entry["base"]), entry["saved"]
                elif "config" in entry:
                    config = parse_config(entry["config"])
                elif config is not None:
                    config = _retype(config, entry)
            except (ValueError, KeyError, TypeError, ConfigFault):
                continue
        return Recovered(config, base, base_digest == digest(saved)) if config is not None else None

    def _path(self, file: Path) -> Path:
        return self._folder / f"{digest(os.fsencode(file))}.jsonl"

    def _put(self, job: Callable[[], None]) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
                self._thread.start()
        self._queue.put(job)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                job()
            except OSError as error:
                self.failure = f"unsaved edits can't be journalled: {error.strerror or error}"

    def _write(self, file: Path, mode: str, entries: list[dict[str, Any]]) -> None:
        path = self._path(file)
        if mode == "w":
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if mode == "w" else os.O_APPEND), 0o600)
        try:
            os.write(descriptor, text.encode("utf-8", "surrogatepass"))
        finally:
            with suppress(OSError):
                os.close(descriptor)


def _retype(config: BlockConfig, entry: dict[str, Any]) -> BlockConfig:
    old = text_of(config, entry["text"])
    at, count = entry["at"], entry["del"]
    return set_text(config, entry["text"], old[:at] + entry["ins"] + old[at + count :])
