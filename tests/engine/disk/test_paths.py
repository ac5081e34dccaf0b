"""The path guard and the lock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine import disk
from engine.errors import StonehandError, WrongInput


@pytest.mark.parametrize(
    "part", ["", ".", "..", "a/b", "../x", "/etc", "a\\b", "C:", "C:x", "nul\0", "\ud800", "..\\..", "~/../x/.."]
)
def test_what_is_no_plain_name_is_refused(tmp_path: Path, part: str) -> None:
    with pytest.raises(WrongInput) as caught:
        disk.child(tmp_path, "stories", part)
    assert repr(part) in str(caught.value)


@pytest.mark.parametrize("part", ["main", "generation.writer.json", "Ünï 🌊", "..a", "a..", "-x", "~"])
def test_plain_names_are_joined(tmp_path: Path, part: str) -> None:
    assert disk.child(tmp_path, "stories", part) == tmp_path / "stories" / part


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_may_not_lead_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "inside").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "inside")
    with pytest.raises(StonehandError, match="link") as caught:
        disk.child(root, "out", "secret.json")
    assert not isinstance(caught.value, WrongInput), "it is the file that is wrong, not what was asked for"
    assert caught.value.problem.file == root / "out" / "secret.json"
    assert disk.child(root, "in", "file.json") == root / "in" / "file.json"


def test_a_root_that_is_a_link_itself_is_fine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert disk.child(tmp_path / "link", "a") == tmp_path / "link" / "a"


HOLD = """
import sys
from pathlib import Path
from engine.disk import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_waits_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LOCK_TIMEOUT", 0.1)
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path / "state"))
    file = tmp_path / "data" / "config.json"
    file.parent.mkdir()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StonehandError, match="another Stonehand") as caught, disk.lock(file):
        pytest.fail("two hold the lock")
    assert "\n" not in str(caught.value)
    holder.communicate("")
    with disk.lock(file):
        pass
    assert list(file.parent.iterdir()) == []


def test_without_a_place_for_locks_writing_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_bytes(b"in the way")
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path / "state"))
    with disk.lock(tmp_path / "config.json"):
        disk.write_atomic(tmp_path / "config.json", b"{}", expected=None)
    assert (tmp_path / "config.json").read_bytes() == b"{}"
