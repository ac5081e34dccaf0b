"""Fragment tags that resolve to nothing."""

from __future__ import annotations

from collections.abc import Iterable

from engine.blocks.tags import TAG
from engine.story import StorySnapshot


def lost_tags(text: str, snapshot: StorySnapshot) -> Iterable[str]:
    """The tags in a text that name no fragment of the branch, each once."""
    if "<@" not in text:
        return ()
    return dict.fromkeys(match[0] for match in TAG.finditer(text) if snapshot.get(match[1]) is None)
