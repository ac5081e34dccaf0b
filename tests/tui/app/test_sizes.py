"""Every size of terminal: never a crash, never a blank screen, nothing that was typed is lost."""

from __future__ import annotations

import asyncio

import pytest
from rich.color import ColorType
from textual.widgets._toast import Toast

from tests.thorough import times
from tests.tui.app.test_no_color import hues
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tests.tui.walk import every_screen
from tui.terminal import profile
from tui.widgets.bars import KeyBar

STORM = [(200, 60), (20, 5), (1, 1), (90, 24), (3, 40), (110, 2), (200, 1), (1, 60), (0, 0), (40, 10), (120, 40)]


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (100, 30)])
async def test_a_notice_covers_nothing_that_is_worked_on(editor: Open, size: tuple[int, int]) -> None:
    async with editor(size=size) as ed:

        def clear() -> bool:
            toasts = [toast.region for toast in ed.app.screen.query(Toast) if toast.region]
            working = [widget for widget in ed.app.screen.query("*") if widget.focusable or isinstance(widget, KeyBar)]
            used = [widget.region for widget in working if widget.region]
            apart = not any(region.overlaps(toast) for region in used for toast in toasts)
            return bool(toasts and used) and apart and toasts[-1].bottom >= size[1]

        ed.app.notify("one that is so long that it takes two lines at least, here too " * 2, title="Title", timeout=60)
        ed.app.notify("another", severity="warning", timeout=60)
        await ed.press("end")
        await ed.until(clear, "room for both in front of the list")
        assert any("›" in line for line in ed.list_lines()), "the row of the cursor is in sight"
        for key in ("a", "escape", "g"):
            await ed.press(key)
            await ed.until(clear, f"room for both after {key}")
        ed.app.clear_notifications()
        await ed.until(lambda: ed.app.screen.query_one(KeyBar).region.bottom == size[1], "the room again")


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


async def test_what_is_behind_a_dialog_follows_the_terminal(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        await ed.press("a")
        for size in ((120, 40), (80, 24), (200, 60)):
            await resize(ed, *size)
            assert ed.shows("Add a block") and ed.shows("SYSTEM") and ed.shows("J/K move"), size
            ed.app.screen.refresh()
            assert ed.shows("Add a block") and ed.shows("SYSTEM") and ed.shows("J/K move"), size


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


@pytest.mark.parametrize("size", [(40, 12), *[(80, 24)][: times(0, 1)]])
async def test_what_has_the_focus_can_be_seen(editor: Open, size: tuple[int, int]) -> None:
    """In sixteen colours, of which there are no others then."""
    async with editor(size=size, profile=profile({"TERM": "xterm"})) as ed:
        unseen, colours = [], {}
        async for name in every_screen(ed):
            screen = ed.app.screen
            if found := hues(ed, but=(ColorType.STANDARD,)):
                colours[name] = found
            focused = screen.focused
            for widget in screen.focus_chain:
                screen.set_focus(widget)
                for _ in range(50):
                    if screen.find_widget(widget).visible_region.area:
                        break
                    await asyncio.sleep(0.02)
                else:
                    unseen.append((name, widget))
            screen.set_focus(focused)
        assert not unseen
        assert not colours, colours


async def test_what_is_told_begins_with_its_first_line_in_forty_columns(editor: Open) -> None:
    async with editor(size=(40, 12)) as ed:
        await ed.until(lambda: ed.desk.budget is not None)
        for key, first in (("w", "It is a built-in block"), ("B", "rehearsal takes")):
            await ed.press(key)
            await ed.until(lambda text=first: ed.app.screen is not ed.desk and ed.shows(text), first)
            await ed.pilot.pause()
            title = next(number for number, line in enumerate(ed.lines()) if line.startswith("─"))
            assert first in ed.lines()[title + 1]
            await ed.press("escape")
        await ed.press("d")
        await ed.until(lambda: ed.shows("Against: the default"), "the comparison")
        assert ed.lines()[1].split() == ["1", "2", "[3", "default]", "4", "5"]
        await ed.pilot.click("#against", offset=(ed.lines()[1].index("4"), 0))
        await ed.until(lambda: "[4 last sent]" in ed.lines()[1] and "5" in ed.lines()[1])


async def test_everything_is_done_in_forty_columns(editor: Open) -> None:
    async with editor(size=(40, 12)) as ed:
        await ed.press("e")
        assert ed.shows("Keep the tide tables right.")
        await ed.press("ctrl+end")
        await ed.type(" And the logs.")
        assert ed.shows(" logs.")
        await ed.press("escape")
        await ed.goto("cb-counta")
        await ed.press("r")
        await ed.until(lambda: ed.app.screen is not ed.desk)
        for _ in range(4):
            await ed.press("tab")
        await ed.pilot.pause()
        assert ed.shows("Done (enter)"), "a dialog longer than the screen scrolls"
        await ed.press("escape", "g")
        await ed.until(lambda: ed.focus == "direction")
        await ed.type("Rain.")
        assert ed.shows("Rain.") and ed.shows("ctrl+g begin")
        assert ed.shows("direction: what should happen next (m…"), "what is cut has a sign of it"


@pytest.mark.parametrize("size", [(11, 24), (80, 3), (5, 2), (30, 1)])
async def test_where_nothing_fits_one_line_says_so(editor: Open, size: tuple[int, int]) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e", "end")
        await resize(ed, *size)
        said = [line.strip() for line in ed.lines() if line.strip()]
        assert len(said) == 1 and "the terminal is too small".startswith(said[0].rstrip("…"))
        await ed.type("!")
        await resize(ed, 120, 40)
        await ed.until(lambda: ed.shows("Short sentences.!") and ed.shows("instructions"))
        assert ed.inspector.typing and ed.blocks.key == "cb-stylea"


@pytest.mark.parametrize("size", [(11, 3), (1, 1), (40, 12)])
async def test_the_palette_has_page_keys_at_every_size(editor: Open, size: tuple[int, int]) -> None:
    async with editor(size=size) as ed:
        await ed.press("ctrl+p", "a", "pagedown", "pageup", "end", "pagedown")
        assert ed.app.is_running
        await ed.press("escape", "j")
