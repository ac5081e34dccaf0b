"""How many frames are drawn: one for what is done, at every level of animation (spec terminal, section 5, case 14)."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest
from textual.types import AnimationLevel

from tests.tui.conftest import Open
from tui.app import StonehandApp


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One for each frame that is drawn."""
    found: list[None] = []
    display = StonehandApp._display

    def count(app: StonehandApp, screen: Any, renderable: Any) -> None:
        found.append(None)
        display(app, screen, renderable)

    monkeypatch.setattr(StonehandApp, "_display", count)
    return found


async def test_no_level_of_animation_draws_more(editor: Open, frames: list[None]) -> None:
    async with editor(size=(80, 24)) as ed:
        assert ed.app.animation_level == "none"

        async def drawn(*keys: str) -> int:
            """Frames from a key to rest."""
            before = len(frames)
            await ed.press(*keys)
            await asyncio.sleep(0.4)  # longer than Textual takes to scroll
            return len(frames) - before

        await drawn("p")
        await ed.until(lambda: ed.app.screen is not ed.desk and ed.app.screen.view.blocks, "the prompt")
        counts = {}
        for level in get_args(AnimationLevel):
            ed.app.animation_level = level
            counts[level] = [await drawn(key) for key in ("end", "pageup", "home", "pagedown")]
            assert await drawn() == 0, "rest"
        assert all(0 < count <= 3 for found in counts.values() for count in found), counts
