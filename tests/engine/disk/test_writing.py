"""Atomic writes: compared, permission-keeping, and whole after a crash at any step."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from engine import disk
from engine.disk import FolderCache, remove_file, write_atomic
from engine.errors import Conflict, StonehandError

OLD, NEW = b'{"old": true}', b'{"new": true}' * 2_000


def test_a_file_and_its_folders_are_made(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "c.json"
    write_atomic(file, NEW, expected=None)
    assert file.read_bytes() == NEW
    assert [item.name for item in file.parent.iterdir()] == ["c.json"]


@pytest.mark.parametrize(
    ("found", "expected", "what"),
    [(OLD, None, "created"), (None, OLD, "deleted"), (OLD, NEW, "changed")],
)
def test_a_file_that_is_not_as_expected_is_left_alone(
    tmp_path: Path, found: bytes | None, expected: bytes | None, what: str
) -> None:
    file = tmp_path / "c.json"
    if found is not None:
        file.write_bytes(found)
    with pytest.raises(Conflict, match=f"{what} by another program"):
        write_atomic(file, NEW, expected=expected)
    assert (file.read_bytes() if file.exists() else None) == found
    assert [item.name for item in tmp_path.iterdir()] == ([] if found is None else ["c.json"])


def test_a_change_while_writing_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.json"
    file.write_bytes(OLD)
    sync = disk._sync

    def change(handle: int) -> None:
        sync(handle)
        file.write_bytes(b"theirs")

    monkeypatch.setattr(disk, "_sync", change)
    with pytest.raises(Conflict):
        write_atomic(file, NEW, expected=OLD)
    assert file.read_bytes() == b"theirs"


def test_expected_and_not_compared(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_bytes(OLD)
    write_atomic(file, NEW, expected=OLD)
    assert file.read_bytes() == NEW
    write_atomic(file, OLD)
    assert file.read_bytes() == OLD


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_permissions_and_links_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(OLD)
    real.chmod(0o600)
    link.symlink_to(real)
    write_atomic(link, NEW, expected=OLD)
    assert link.is_symlink()
    assert real.read_bytes() == NEW
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_a_failure_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.json"
    file.write_bytes(OLD)

    def full(handle: int, data: bytes) -> None:
        os.write(handle, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "_write", full)
    with pytest.raises(StonehandError, match="no space left on device") as caught:
        write_atomic(file, NEW)
    assert str(file) in str(caught.value)
    assert file.read_bytes() == OLD
    assert [item.name for item in tmp_path.iterdir()] == ["c.json"]


def test_a_folder_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "c.json").mkdir()
    with pytest.raises(StonehandError):
        write_atomic(tmp_path / "c.json", NEW)
    (tmp_path / "file").write_bytes(OLD)
    with pytest.raises(StonehandError):
        write_atomic(tmp_path / "file" / "c.json", NEW)


def test_removing_compares(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_bytes(OLD)
    with pytest.raises(Conflict):
        remove_file(file, expected=NEW)
    remove_file(file, expected=OLD)
    assert not file.exists()
    with pytest.raises(Conflict, match="deleted"):
        remove_file(file, expected=OLD)


CRASH = """
import os, sys
from pathlib import Path
from engine import disk
name, when, file, old, new = sys.argv[1:]
step = getattr(disk, name)
def die(*arguments):
    if when == "half":
        os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
    elif when == "after":
        step(*arguments)
    os._exit(42)
setattr(disk, name, die)
disk.write_atomic(Path(file), new.encode() * 2000, expected=old.encode() if old else None)
"""


@pytest.mark.parametrize("before", [OLD, None])
@pytest.mark.parametrize(
    ("step", "when", "written"),
    [
        ("_write", "before", False),
        ("_write", "half", False),
        ("_write", "after", False),
        ("_sync", "after", False),
        ("_compare", "after", False),
        ("_replace", "before", False),
        ("_replace", "after", True),
        ("_sync_folder", "before", True),
    ],
)
def test_a_crash_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, step: str, when: str, written: bool, before: bytes | None
) -> None:
    file = tmp_path / "c.json"
    if before is not None:
        file.write_bytes(before)
    arguments = [step, when, str(file), (before or b"").decode(), '{"new": true}']
    done = subprocess.run([sys.executable, "-c", CRASH, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 42, done.stderr
    expected = NEW if written else before
    assert (file.read_bytes() if file.exists() else None) == expected

    def parse(path: Path, data: bytes) -> tuple[bytes, tuple[()]]:
        return data, ()

    listed: FolderCache[bytes] = FolderCache(tmp_path, parse)
    listed.scan()
    assert dict(listed.entries) == ({} if expected is None else {"c": expected})
    write_atomic(file, b"{}", expected=expected)
    assert file.read_bytes() == b"{}"
