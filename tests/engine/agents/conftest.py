from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.workspace import Workspace
from tests.engine.story_builder import StoryBuilder
from tests.stories import make_story


@pytest.fixture
def story(tmp_path: Path) -> StoryBuilder:
    return StoryBuilder(tmp_path / "tide-house")


@pytest.fixture
def quay(data: Path, opened: Callable[..., Workspace]) -> Workspace:
    """A workspace on a data folder with one story, `the-quay`."""
    make_story(data)
    return opened()
