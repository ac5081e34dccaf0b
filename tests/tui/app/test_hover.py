"""The mouse moving about the screen changes nothing, so nothing is sent; what it moves over is legible."""

from __future__ import annotations

import asyncio

import pytest
from textual.events import MouseMove

from tests.tui.app.test_themes import illegible
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tests.tui.walk import every_screen


def look(ed: Editor) -> list[object]:
    return [list(strip) for strip in ed.strips()]


def move_mouse(ed: Editor, x: int, y: int) -> None:
    ed.app.post_message(MouseMove(None, x, y, 0, 0, 0, False, False, False, x, y))


async def test_no_screen_changes_under_the_mouse(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.widgets.bars.MESSAGE_SECONDS", 3600)
    async with editor(size=(80, 24)) as ed:
        assert ed.app.theme == "stonehand-dark"
        changed, faults = {}, {}
        async for name in every_screen(ed):
            await ed.pilot.pause()
            if found := illegible(ed):
                faults[name] = found
            move_mouse(ed, 0, 0)
            await asyncio.sleep(0.05)
            before = look(ed)
            entered = set()
            for y in range(0, 24, 2):
                for x in (79, 70, 3, 20, 40):
                    move_mouse(ed, x, y)
                await asyncio.sleep(0.02)
                entered.add(ed.app.mouse_over)
                after = look(ed)
                lines = [line for line, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
                if lines:
                    changed[name, y] = lines
            assert len(entered) > 1, "the mouse came to something"
        assert not changed, changed
        assert not faults, faults
