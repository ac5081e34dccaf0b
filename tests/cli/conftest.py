"""A data folder with one story, and the command line run on it in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.stories import make_story
from tui.cli import cli


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code, and the bytes it wrote."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8")

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def garbage_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The editor holds the collector as it starts; the one that is only seemingly started would never release it."""
    monkeypatch.setattr("tui.collector.hold", lambda: None)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder that commands use by themselves."""
    folder = tmp_path / "data"
    (folder / "stories").mkdir(parents=True)
    monkeypatch.setenv("STONEHAND_DATA", str(folder))
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("STONEHAND_CONFIG", str(tmp_path / "config"))
    return folder


@pytest.fixture
def story(data: Path) -> Path:
    return make_story(data)


@pytest.fixture
def run(data: Path) -> Run:
    """Run a command: `run("compile", "the-quay", stdin=b"…")`."""

    def invoke(*arguments: object, stdin: bytes | None = None) -> Ran:
        done = CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Ran(done.exit_code, done.stdout_bytes, done.stderr)

    return invoke


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
