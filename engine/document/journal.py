"""The journal: what was edited and is not saved yet, one file per open document and process.

An edit is on disk a moment after it was made (written by a thread of the journal's own, so no key waits for the disk);
a process killed at any point loses nothing that was typed before. The file is removed when the document is saved.

A journal file is JSON lines: a head (`file`, `saved`: the digest of the file the edits start from, `base`: its config),
then edits, each as its difference. Every process writes files of its own and holds a lock while it has any, so two
editors of one document never share a journal, and one that is running is never taken for one that was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from engine.blocks.config import (
    EMPTY,
    BlockConfig,
    BlockOverride,
    ConfigFault,
    CustomBlock,
    dump_config,
    parse_config,
)
from engine.blocks.edits import set_text, text_of
from engine.text import Phrase

if TYPE_CHECKING:
    from filelock import BaseFileLock

T = TypeVar("T")

STALE_AFTER = 60.0
"""Seconds until a lock that nobody holds is taken for a dead process': one that starts holds its own at once."""


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


def config_change(old: BlockConfig, new: BlockConfig) -> dict[str, Any]:
    """`new` as a change of `old`, for `apply_change`: small for a small edit, however large the config is."""
    if old.model_extra != new.model_extra:
        return {"config": dump_config(new)}
    change: dict[str, Any] = {}
    if old.customBlocks is not new.customBlocks:
        start, delete, insert = _list_change(old.customBlocks, new.customBlocks)
        change["blocks"] = [start, delete, [block.model_dump(mode="json", exclude_unset=True) for block in insert]]
    if old.blockOrder is not new.blockOrder:
        change["order"] = _list_change(old.blockOrder, new.blockOrder)
    if old.overrides is not new.overrides:
        changed = {key: value for key, value in new.overrides.items() if old.overrides.get(key) != value}
        change["overrides"] = {
            **{key: value.model_dump(mode="json", exclude_unset=True) for key, value in changed.items()},
            **{key: None for key in old.overrides if key not in new.overrides},
        }
    if old.disabledTools != new.disabledTools:
        change["tools"] = list(new.disabledTools)
    if old.disableAutoAnalysis != new.disableAutoAnalysis:
        change["auto"] = new.disableAutoAnalysis
    return {"change": change}


def apply_change(config: BlockConfig, entry: dict[str, Any]) -> BlockConfig:
    """The config an entry of `config_change` leads to. Raises `ConfigFault` and what a malformed entry raises."""
    if "config" in entry:
        return parse_config(entry["config"])
    change = entry["change"]
    update: dict[str, Any] = {}
    if "blocks" in change:
        update["customBlocks"] = _changed(config.customBlocks, change["blocks"], CustomBlock.model_validate)
    if "order" in change:
        update["blockOrder"] = _changed(config.blockOrder, change["order"], str)
    if "overrides" in change:
        overrides = dict(config.overrides)
        for key, override in change["overrides"].items():
            if override is None:
                overrides.pop(key, None)
            else:
                overrides[key] = BlockOverride.model_validate(override)
        update["overrides"] = overrides
    if "tools" in change:
        update["disabledTools"] = tuple(map(str, change["tools"]))
    if "auto" in change:
        update["disableAutoAnalysis"] = bool(change["auto"])
    return config.model_copy(update=update)


def _changed(items: tuple[T, ...], change: Sequence[Any], read: Callable[[Any], T]) -> tuple[T, ...]:
    start, delete, insert = change
    if start + delete > len(items):
        raise ValueError("the change belongs to another list")
    return (*items[:start], *map(read, insert), *items[start + delete :])


def _list_change(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int, list[Any]]:
    limit = min(len(old), len(new))
    start = 0
    while start < limit and old[start] == new[start]:
        start += 1
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, len(old) - start - end, list(new[start : len(new) - end])


@dataclass(frozen=True, slots=True)
class Recovered:
    """Unsaved edits of an earlier session: where they lead, where they began, and whether that is what is saved."""

    config: BlockConfig
    base: BlockConfig
    base_matches: bool


@dataclass(frozen=True, slots=True)
class _Head:
    saved: str
    base: BlockConfig


class Journal:
    """Journals of a workspace, kept in `folder`. Thread-safe; every write is in order.

    `failure` says why unsaved edits can't be recorded at the moment; editing goes on.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner = f"{os.getpid():x}-{secrets.token_hex(4)}"
        self._lease: BaseFileLock | None = None
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        # Reentrant: a signal handler may flush while the thread it interrupts is handing an edit over.
        self._lock = threading.RLock()
        self._closed = False
        self._claiming = threading.Lock()
        self._heads: dict[Path, _Head] = {}
        self._whole: set[Path] = set()
        """Documents whose journal can be appended to; that of any other is written anew."""
        self.failure: str | None = None

    def begin(self, file: Path, saved: bytes | None, base: BlockConfig, config: BlockConfig) -> None:
        """Start the journal of a document at its first unsaved edit, from `base` (the file's `saved`) to `config`."""
        self._put(lambda: self._restart(file, _Head(digest(saved), base), config))

    def edited(self, file: Path, old: BlockConfig, new: BlockConfig) -> None:
        """Record an edit by its difference."""
        self._put(lambda: self._append(file, lambda: config_change(old, new), new))

    def typed(self, file: Path, key: str, old: str, new: str, config: BlockConfig) -> None:
        """Record that a block's text changed, which led to `config`; small however long the text is."""

        def entry() -> dict[str, Any]:
            start, delete, insert = text_change(old, new)
            return {"text": key, "of": len(old), "at": start, "del": delete, "ins": insert}

        self._put(lambda: self._append(file, entry, config))

    def end(self, file: Path) -> None:
        """Forget the journal of a document: it is saved, or its edits were given up."""
        self._put(lambda: self._forget(file))

    def flush(self, timeout: float = 2.0) -> bool:
        """Wait until everything put before is written, at most `timeout` seconds; for signal handlers and quitting."""
        done = threading.Event()
        self._put(done.set)
        return done.wait(timeout)

    def close(self) -> None:
        """Write what is waiting, end the thread, and leave unsaved edits to the next session.

        What is recorded later is written at once, on the caller's thread.
        """
        with self._lock:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join(2.0)
        with self._claiming:
            lease, self._lease = self._lease, None
            if lease is not None:
                lease.release()
                if not any(self._folder.glob(f"*.{self._owner}.jsonl")):
                    _unlink(Path(lease.lock_file))

    def recover(self, file: Path, saved: bytes | None) -> Recovered | None:
        """The unsaved edits of this document that a session now gone has left, or None; from then on they are ours.

        Of several such sessions the latest counts; the others stay for the next time. A torn line, of a write that was
        cut short, ends what can be told of the edits, unless a whole config follows.
        """
        path = self._path(file)
        try:
            if not path.exists() and not self._take_over(path):
                return None
            data = path.read_bytes()
        except OSError:
            return None
        found = _replay(data)
        if found is None:
            return None
        head, config, whole = found
        self._heads[file] = head
        if whole:
            self._whole.add(file)
        return Recovered(config, head.base, head.saved == digest(saved))

    def left(self, gone: Callable[[Path], bool]) -> list[tuple[Path, Path]]:
        """Journals that dead processes left of documents whose place is `gone`, which nobody will open again: what each
        document is journalled under, and its journal. Reads only.
        """
        found = []
        for path in sorted(self._folder.glob("*.jsonl")):
            owner = path.name.split(".")[1]
            with suppress(OSError, ValueError, KeyError, TypeError):
                with path.open("rb") as stream:
                    document = Path(json.loads(stream.readline())["file"])
                if owner != self._owner and gone(document) and self._is_dead(owner):
                    found.append((document, path))
        return found

    def read_left(self, path: Path) -> BlockConfig | None:
        """Where the edits in a journal lead; None when nothing can be made of it. Raises OSError."""
        found = _replay(path.read_bytes())
        return None if found is None else found[1]

    def drop_left(self, path: Path) -> None:
        """Forget edits that were brought elsewhere, or are not wanted."""
        _unlink(path)

    # -- whose is what

    def _is_dead(self, owner: str) -> bool:
        from filelock import FileLock, Timeout

        lock = self._folder / f"{owner}.lock"
        if not lock.exists():
            return True
        try:
            with FileLock(lock, timeout=0, thread_local=False):
                return True
        except Timeout:
            return False

    def _path(self, file: Path) -> Path:
        # One name for one document, however its folder was given.
        name = digest(os.fsencode(os.path.realpath(file)))
        return self._folder / f"{name}.{self._owner}.jsonl"

    def _take_over(self, path: Path) -> bool:
        """Make the newest journal of this document that a dead process left our own."""
        name = path.name.partition(".")[0]
        left = sorted(self._folder.glob(f"{name}.*.jsonl"), key=lambda item: item.stat().st_mtime_ns, reverse=True)
        return any(self._take(item, path) for item in left)

    def _take(self, left: Path, path: Path) -> bool:
        from filelock import FileLock, Timeout

        owner = left.name.split(".")[1]
        lock = FileLock(self._folder / f"{owner}.lock", timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            return False  # that editor is running: the edits are its own
        try:
            self._claim()
            left.replace(path)
            unused = not any(self._folder.glob(f"*.{owner}.jsonl"))
        finally:
            lock.release()
        if unused:
            _unlink(Path(lock.lock_file))
        return True

    def _claim(self) -> None:
        """Say that this process lives, before it has a journal."""
        from filelock import FileLock

        with self._claiming:
            if self._lease is None:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                lease = FileLock(self._folder / f"{self._owner}.lock", timeout=0, mode=0o600, thread_local=False)
                lease.acquire()
                self._lease = lease
                self._sweep()

    def _sweep(self) -> None:
        """Remove the locks of dead processes that left no unsaved edits. A process' lock has a name of its own, so none
        that runs, or will run, is waiting for one of these.
        """
        from filelock import FileLock, Timeout

        for path in self._folder.glob("*.lock"):
            with suppress(OSError, Timeout):
                left = any(self._folder.glob(f"*.{path.stem}.jsonl"))
                if not left and path.stat().st_mtime < time.time() - STALE_AFTER:
                    with FileLock(path, timeout=0, thread_local=False):
                        pass
                    _unlink(path)

    # -- writing, on the journal's thread

    def _put(self, job: Callable[[], None]) -> None:
        with self._lock:
            if self._closed:
                self._do(job)
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
                self._thread.start()
        self._queue.put(job)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            self._do(job)

    def _do(self, job: Callable[[], None]) -> None:
        try:
            job()
        except Exception as error:  # whatever it is, the next edits must still be recorded
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self.failure = Phrase("unsaved edits can't be journalled: {reason}", reason=Phrase.of(reason))

    def _restart(self, file: Path, head: _Head, config: BlockConfig) -> None:
        """Write a journal anew, in one step: edits recorded before are never missing for a moment."""
        self._heads[file] = head
        self._whole.discard(file)
        self._claim()
        path = self._path(file)
        temp = path.with_suffix(".new")
        start = {"v": 2, "file": str(file), "saved": head.saved, "base": dump_config(head.base)}
        _write(temp, os.O_TRUNC, [start, config_change(head.base, config)])
        temp.replace(path)
        self._whole.add(file)
        self.failure = None

    def _append(self, file: Path, entry: Callable[[], dict[str, Any]], config: BlockConfig) -> None:
        if file not in self._whole:
            self._restart(file, self._heads.get(file) or _Head("unknown", EMPTY), config)
            return
        try:
            _write(self._path(file), os.O_APPEND, [entry()])
        except BaseException:
            # Part of a line may be there: what is put behind it could not be read.
            self._whole.discard(file)
            raise

    def _forget(self, file: Path) -> None:
        self._heads.pop(file, None)
        self._whole.discard(file)
        self._path(file).unlink(missing_ok=True)


def _write(path: Path, how: int, entries: Sequence[dict[str, Any]]) -> None:
    lines = (json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n" for entry in entries)
    rest = memoryview("".join(lines).encode("utf-8", "surrogatepass"))
    create = 0 if how == os.O_APPEND else os.O_CREAT
    descriptor = os.open(path, os.O_WRONLY | create | how | getattr(os, "O_BINARY", 0), 0o600)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


def _replay(data: bytes) -> tuple[_Head, BlockConfig, bool] | None:
    """The head of a journal, the config its edits lead to, and whether it could be read to the end."""
    *lines, rest = data.split(b"\n")
    head: _Head | None = None
    config = EMPTY
    edited, legible, whole = False, False, not rest
    for line in lines:
        try:
            entry = json.loads(line.decode("utf-8", "surrogatepass"))
            if "base" in entry:
                config = parse_config(entry["base"])
                head, legible = _Head(entry["saved"], config), True
            elif "config" in entry:
                config, edited, legible = apply_change(config, entry), True, True
            elif legible:
                config, edited = _retype(config, entry) if "text" in entry else apply_change(config, entry), True
        except (ValueError, LookupError, TypeError, AttributeError, ConfigFault):
            legible = whole = False
    return (head, config, whole) if head is not None and edited else None


def _retype(config: BlockConfig, entry: dict[str, Any]) -> BlockConfig:
    old = text_of(config, entry["text"])
    if len(old) != entry["of"]:
        raise ValueError("the change belongs to another text")
    at, count = entry["at"], entry["del"]
    return set_text(config, entry["text"], old[:at] + entry["ins"] + old[at + count :])


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
