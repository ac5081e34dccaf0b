"""A story written file by file, as another program would."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.story_builder import StoryBuilder


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def story(tmp_path: Path) -> StoryBuilder:
    return StoryBuilder(tmp_path / "stories" / "tide-house")
