"""Every size of terminal: never a crash, never a blank screen, nothing that was typed is lost."""

from __future__ import annotations

import pytest

from tests.tui.conftest import Open
from tests.tui.editor import Editor

STORM = [(200, 60), (20, 5), (1, 1), (90, 24), (3, 40), (110, 2), (200, 1), (1, 60), (0, 0), (40, 10), (120, 40)]


async def resize(ed: Editor, width: int, height: int) -> None:
    await ed.pilot.resize_terminal(width, height)
    await ed.pilot.pause()


@pytest.mark.parametrize(
    ("size", "panes"),
    [((80, 24), {"blocks"}), ((100, 30), {"blocks", "inspector"}), ((110, 30), {"agents", "blocks", "inspector"})],
)
async def test_how_many_panes_there_are(editor: Open, size: tuple[int, int], panes: set[str]) -> None:
    async with editor(size=size) as ed:

        def shown() -> set[str]:
            return {name for name in ("agents", "blocks", "inspector") if ed.desk.query_one(f"#{name}").region}

        assert shown() == panes
        await ed.press("3")
        assert "inspector" in shown()
        await ed.press("escape")
        assert shown() == panes
        await ed.press("1")
        assert "agents" in shown() and ed.focus == "agents"
        await ed.press("escape")
        assert shown() == panes and ed.focus == "blocks"


async def test_a_storm_of_resizes_while_typing(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e", "end")
        for n, (width, height) in enumerate(STORM):
            await resize(ed, width, height)
            await ed.type(f" {n}")
            if width > 1 and height > 0:
                assert ed.grid().strip(), f"blank at {width}×{height}"
        assert ed.text.value == "Short sentences." + "".join(f" {n}" for n in range(len(STORM)))
        await ed.press("escape", "ctrl+s")
        await ed.saved()
        assert ed.shows("The Quay") and ed.shows("House style")


@pytest.mark.parametrize("key", ["p", "g", "question_mark", "a", "s", "R", "ctrl+p"])
async def test_every_screen_at_every_size(editor: Open, key: str) -> None:
    async with editor() as ed:
        await ed.press(key)
        await ed.until(lambda: ed.app.screen is not ed.desk)
        for width, height in [(200, 60), (20, 5), (1, 1), (3, 40), (60, 2), (0, 0), (80, 24)]:
            await resize(ed, width, height)
            await ed.press("down")
            if width > 2 and height > 1:
                assert ed.grid().strip(), f"blank at {width}×{height}"
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (40, 10)])
async def test_it_opens_in_a_tiny_terminal(editor: Open, size: tuple[int, int]) -> None:
    async with editor(size=size) as ed:
        for key in (
            "j",
            "k",
            "space",
            "J",
            "m",
            "escape",
            "enter",
            "escape",
            "slash",
            "escape",
            "1",
            "2",
            "3",
            "escape",
        ):
            await ed.press(key)
        assert ed.app.is_running
        await resize(ed, 120, 40)
        assert ed.shows("The Quay") and ed.shows("instructions")
