"""The conversations of a small story."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.chat import ConversationStore
from engine.story import StoryFolder
from tests.stories import make_story

LIBRARIAN = "librarian.chat"
CHARACTER = "character-chat.chat"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def story(tmp_path: Path) -> Path:
    return make_story(tmp_path, branches=("main", "br-bafego"))


@pytest.fixture
def librarian(story: Path, tmp_path: Path) -> ConversationStore:
    return ConversationStore(StoryFolder(story), "main", LIBRARIAN, tmp_path / "kept")


@pytest.fixture
def character(story: Path, tmp_path: Path) -> ConversationStore:
    return ConversationStore(StoryFolder(story), "main", CHARACTER, tmp_path / "kept")
