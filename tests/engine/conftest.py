"""A data folder with one small story, and a workspace on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.workspace import Workspace
from tests.stories import make_story

WRITER = "generation.writer"
STORY = "the-quay"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder, for locks too; the user's own settings lie beside it."""
    folder = tmp_path / "state"
    monkeypatch.setenv("STONEHAND_STATE", str(folder))
    monkeypatch.setenv("STONEHAND_CONFIG", str(tmp_path / "config"))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def story(data: Path) -> Path:
    return make_story(data)


@pytest.fixture
def opened(data: Path, state: Path) -> Iterator[Callable[..., Workspace]]:
    """Opens a workspace on the data folder; each is another program to the others."""
    made: list[Workspace] = []

    def open_workspace(**options: Any) -> Workspace:
        made.append(Workspace(data, state=state, **options))
        return made[-1]

    yield open_workspace
    for workspace in made:
        workspace.close()


@pytest.fixture
def workspace(story: Path, opened: Callable[..., Workspace]) -> Workspace:
    return opened()
