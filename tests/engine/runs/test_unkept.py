"""Passages that were neither kept nor discarded: on disk as they arrive, left to the next start, told of once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from engine.models.wire.base import Request, Text
from engine.models.wire.events import Event
from engine.runs import Run, UnkeptPassages
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER

Open = Callable[..., Workspace]
TEXT = "The tide turned \u2028 and 漢字 \ud800 stayed.\r\n"


class Wire:
    """Sends one piece, and the next ones when it is told to."""

    name = "wire"
    label = "a wire"

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces
        self.go_on = threading.Event()

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        for index, piece in enumerate(self.pieces):
            while index and not self.go_on.is_set():
                await asyncio.sleep(0.01)
            yield Text(piece)


@pytest.fixture
def begun(opened: Open, state: Path, story: Path) -> Callable[..., tuple[Workspace, Run, Wire]]:
    """Begins a run; its first piece has arrived and is on disk, unless `recorded` is False."""

    def begin(*pieces: str, recorded: bool = True, **options: bool) -> tuple[Workspace, Run, Wire]:
        workspace = opened(**options)
        wire = Wire(*pieces)
        run = Run(workspace.prompt(STORY, WRITER), wire)
        workspace.generate(run)
        until(lambda: run.view().text)
        if recorded:
            until(lambda: parts(state))
        return workspace, run, wire

    return begin


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def parts(state: Path) -> list[Path]:
    return [file for file in (state / "passages").glob("*.part") if file.stat().st_size]


def text_of(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "surrogatepass")


def test_it_is_on_disk_while_it_arrives_and_after(
    begun: Callable[..., tuple[Workspace, Run, Wire]], state: Path
) -> None:
    _, run, wire = begun("One. ", TEXT)
    (part,) = parts(state)
    assert text_of(part) == "One. "
    wire.go_on.set()
    until(lambda: run.view().finished)
    until(lambda: text_of(part) == "One. " + TEXT)
    assert part.stat().st_mode & 0o077 == 0, "nobody else may read it"
    assert STORY in part.name and "main" in part.name


def test_kept_and_discarded_ones_leave_nothing(begun: Callable[..., tuple[Workspace, Run, Wire]], state: Path) -> None:
    workspace, run, _ = begun("One.")
    until(lambda: run.view().finished)
    workspace.passages.keep(run)
    assert list((state / "passages").iterdir()) == []
    workspace, run, wire = begun("Two.", "Three.")
    workspace.passages.discard(run)
    wire.go_on.set()
    until(lambda: run.view().finished)
    assert run.view().phase == "stopped"
    workspace.flush()
    workspace.close()
    assert list((state / "passages").iterdir()) == []


def test_closing_writes_what_has_arrived_and_the_next_start_is_told_once(
    begun: Callable[..., tuple[Workspace, Run, Wire]], opened: Open, state: Path
) -> None:
    workspace, _, _ = begun(TEXT, "never")
    (part,) = parts(state)
    other = opened()
    assert other.passages.left() == [], "it is another running program's"
    workspace.close()
    (left,) = other.passages.left()
    assert text_of(left) == TEXT and left == part.with_suffix(".txt")
    assert other.passages.left() == []
    assert list((state / "passages").iterdir()) == [left]


def test_flush_writes_at_once(
    begun: Callable[..., tuple[Workspace, Run, Wire]], state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.workspace.passages.RECORDED_EVERY", 60.0)
    workspace, run, wire = begun("One. ", "Two. ", recorded=False)
    workspace.passages._unkept.write(run)
    wire.go_on.set()
    until(lambda: "Two" in run.view().text)
    workspace.flush()
    (part,) = parts(state)
    assert text_of(part) == "One. Two. "


def test_a_command_records_nothing(begun: Callable[..., tuple[Workspace, Run, Wire]], state: Path) -> None:
    workspace, run, _ = begun("One.", recorded=False, journal=False)
    until(lambda: run.view().finished)
    workspace.close()
    assert not (state / "passages").exists()
    assert workspace.passages.left() == []


def test_a_folder_that_cannot_be_written_stops_nothing(
    begun: Callable[..., tuple[Workspace, Run, Wire]], state: Path
) -> None:
    state.mkdir(parents=True, exist_ok=True)
    (state / "passages").write_text("in the way")
    workspace, run, _ = begun("One.", recorded=False)
    until(lambda: run.view().finished)
    workspace.flush()
    assert workspace.passages.left() == []
    assert workspace.passages.keep(run).fragment.content == "One."


def test_blank_text_is_no_passage(tmp_path: Path, begun: Callable[..., tuple[Workspace, Run, Wire]]) -> None:
    _, run, _ = begun(" \n", recorded=False)
    passages = UnkeptPassages(tmp_path / "passages")
    passages.write(run)
    assert not (tmp_path / "passages").exists()
