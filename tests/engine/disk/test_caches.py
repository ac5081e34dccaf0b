"""Cached reads: only what changed is read, and nothing that changed is missed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine import disk
from engine.disk import FileCache, FolderCache, read_bytes, read_json, stamp_of
from engine.errors import InvalidFile, Problem, StonehandError

LONG_AGO = 1_600_000_000_123_456_789


class Folder:
    """A folder of files with old times, and its cache, which counts what is parsed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parsed: list[str] = []
        self.cache: FolderCache[bytes] = FolderCache(path, self.parse)

    def parse(self, file: Path, data: bytes) -> tuple[bytes | None, tuple[Problem, ...]]:
        self.parsed.append(file.name)
        if data == b"bad":
            raise InvalidFile("is bad", file=file)
        if data == b"odd":
            return data, (Problem("is odd", file),)
        return (None if data == b"nothing" else data), ()

    def write(self, name: str, data: bytes, time: int = LONG_AGO) -> None:
        (self.path / name).write_bytes(data)
        os.utime(self.path / name, ns=(time, time))

    def scan(self) -> bool:
        self.parsed.clear()
        return self.cache.scan()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_files_are_read_once_in_byte_order(folder: Folder) -> None:
    for name in ("aa.json", "Bb.json", "a.json", "a-b.json", "é.json", "x.json.tmp-1-2", "note.txt", "c.JSON"):
        folder.write(name, name.encode())
    assert folder.scan()
    assert list(folder.cache.entries) == ["Bb", "a-b", "a", "aa", "é"]
    kept = folder.cache.entries
    assert not folder.scan()
    assert folder.parsed == []
    assert folder.cache.entries is kept


def test_only_what_changed_is_read_again(folder: Folder) -> None:
    for name in "abc":
        folder.write(f"{name}.json", b"1")
    folder.scan()
    before = folder.cache.entries
    folder.write("b.json", b"22")
    folder.write("d.json", b"4")
    (folder.path / "a.json").unlink()
    assert folder.scan()
    assert sorted(folder.parsed) == ["b.json", "d.json"]
    assert dict(folder.cache.entries) == {"b": b"22", "c": b"1", "d": b"4"}
    assert dict(before) == {"a": b"1", "b": b"1", "c": b"1"}
    (folder.path / "d.json").unlink()
    assert folder.scan()


def test_a_replaced_file_of_the_same_size_and_time_is_seen(folder: Folder) -> None:
    folder.write("a.json", b"1")
    folder.scan()
    folder.write("new", b"2")
    (folder.path / "new").replace(folder.path / "a.json")
    assert folder.scan()
    assert dict(folder.cache.entries) == {"a": b"2"}


@pytest.mark.parametrize("coarse", [False, True])
def test_a_change_within_the_clocks_tick_is_seen(folder: Folder, monkeypatch: pytest.MonkeyPatch, coarse: bool) -> None:
    """Rewritten in place, as long as before, at the very time it already had."""
    moment = LONG_AGO // 10**9 * 10**9 if coarse else LONG_AGO
    folder.write("a.json", b"1", moment)
    monkeypatch.setattr(disk.time, "time_ns", lambda: moment + (1_500_000_000 if coarse else 20_000_000))
    folder.scan()
    folder.write("a.json", b"2", moment)
    assert folder.scan()
    assert dict(folder.cache.entries) == {"a": b"2"}
    assert not folder.scan()
    assert folder.parsed == []
    monkeypatch.setattr(disk.time, "time_ns", lambda: moment + 10**10)
    assert not folder.scan()
    reads: list[str] = []
    monkeypatch.setattr(disk, "_read", lambda path, size: reads.append(path) or b"")
    assert not folder.scan()
    assert reads == []


def test_faults_are_reported_and_take_nothing_down(folder: Folder) -> None:
    folder.write("a.json", b"bad")
    folder.write("b.json", b"odd")
    folder.write("c.json", b"fine")
    folder.write("d.json", b"nothing")
    (folder.path / "e.json").mkdir()
    folder.scan()
    assert dict(folder.cache.entries) == {"b": b"odd", "c": b"fine"}
    assert [problem.message for problem in folder.cache.problems] == [
        "is bad",
        "is odd",
        "is not a regular file, so it was skipped",
    ]
    assert not folder.scan()
    folder.write("a.json", b"good")
    assert folder.scan()
    assert len(folder.cache.problems) == 2


@pytest.mark.skipif(os.name != "posix" or not hasattr(os, "mkfifo"), reason="needs a FIFO")
def test_a_pipe_is_not_waited_for(folder: Folder) -> None:
    os.mkfifo(folder.path / "a.json")
    folder.scan()
    assert "regular" in folder.cache.problems[0].message
    with pytest.raises(StonehandError, match="regular"):
        read_bytes(folder.path / "a.json")


def test_a_file_that_vanishes_during_the_scan_is_skipped(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("a.json", b"1")
    folder.write("b.json", b"2")
    read = disk._read

    def vanish(path: str, size: int) -> bytes:
        if path.endswith("a.json"):
            Path(path).unlink()
        return read(path, size)

    monkeypatch.setattr(disk, "_read", vanish)
    folder.scan()
    assert dict(folder.cache.entries) == {"b": b"2"}
    assert folder.cache.problems == ()


def test_an_unreadable_file_is_tried_again(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("a.json", b"1")
    read = disk._read

    def refuse(path: str, size: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(disk, "_read", refuse)
    assert folder.scan()
    assert "permission denied" in str(folder.cache.problems[0])
    assert not folder.scan()
    monkeypatch.setattr(disk, "_read", read)
    assert folder.scan()
    assert dict(folder.cache.entries) == {"a": b"1"}
    assert folder.cache.problems == ()


def test_a_missing_folder_is_empty_until_it_comes(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "later")
    assert not folder.scan()
    folder.path.mkdir()
    folder.write("a.json", b"1")
    assert folder.scan()


def test_one_file(tmp_path: Path) -> None:
    file = tmp_path / "chain.json"
    calls: list[bytes | None] = []

    def parse(path: Path, data: bytes | None) -> list[bytes | None]:
        calls.append(data)
        if data == b"bad":
            raise InvalidFile("is bad", file=path)
        return [data]

    cache = FileCache(file, parse)
    assert cache.load() is cache.load()
    assert calls == [None]
    file.write_bytes(b"1")
    first = cache.load()
    assert first == [b"1"]
    assert cache.load() is first
    stamp = stamp_of(file)
    assert stamp is not None
    file.write_bytes(b"2")
    os.utime(file, ns=(stamp.mtime_ns, stamp.mtime_ns))
    assert cache.load() == [b"2"]
    file.write_bytes(b"bad")
    for _ in range(2):
        with pytest.raises(InvalidFile):
            cache.load()
    file.unlink()
    assert cache.load() == [None]


def test_reading_one(tmp_path: Path) -> None:
    assert stamp_of(tmp_path / "none") is None
    assert read_bytes(tmp_path / "none") is None
    assert read_json(tmp_path / "none") is None
    (tmp_path / "a").write_bytes(b"[1]")
    assert read_json(tmp_path / "a") == [1]
    assert read_bytes(tmp_path / "a" / "below") is None
    with pytest.raises(StonehandError, match="regular"):
        read_bytes(tmp_path)


def test_a_file_that_grew_or_shrank_since_it_was_looked_at_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x" * 3_000_000)
    for size in (0, 10, 2_999_999, 3_000_000, 3_000_001, 9_000_000):
        assert len(disk._read(str(file), size)) == 3_000_000
