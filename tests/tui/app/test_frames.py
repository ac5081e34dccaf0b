"""How many frames are drawn: one for what is done, at every level of animation (spec terminal, section 5, case 14)."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from textual.types import AnimationLevel

from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.app import StonehandApp


class Counting(StonehandApp):
    """Counts the frames that it draws."""

    frames = 0

    def _display(self, screen: Any, renderable: Any) -> None:
        self.frames += 1
        super()._display(screen, renderable)


async def drawn(ed: Editor, *keys: str) -> int:
    """Frames from a key to rest."""
    app = ed.app
    assert isinstance(app, Counting)
    before = app.frames
    for key in keys:
        await ed.press(key)
    await ed.pilot.pause(0.5)  # longer than any animation of Textual's
    return app.frames - before


async def test_no_level_of_animation_draws_more(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.tui.conftest.StonehandApp", Counting)
    async with editor(size=(80, 24)) as ed:
        assert ed.app.animation_level == "none"
        counts = {}
        for level in get_args(AnimationLevel):
            ed.app.animation_level = level
            await drawn(ed, "p")
            await ed.until(lambda: ed.app.screen is not ed.desk and ed.app.screen.view.blocks, "the prompt")
            await ed.pilot.pause(0.2)
            counts[level] = [await drawn(ed, key) for key in ("pagedown", "end", "home")]
            await drawn(ed, "escape")
            counts[level].append(await drawn(ed, "end"))
            await drawn(ed, "home")
            assert await drawn(ed) == 0, "rest"
        assert all(max(found) <= 4 for found in counts.values()), counts
