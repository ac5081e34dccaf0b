from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.story_builder import StoryBuilder


@pytest.fixture
def story(tmp_path: Path) -> StoryBuilder:
    return StoryBuilder(tmp_path / "tide-house")
