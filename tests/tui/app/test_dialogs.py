"""What holds on every dialog: words for a screen reader, no colour where none is to be, nothing cut that matters."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from rich.color import ColorType
from textual.widget import Widget

from engine.story.revising import FragmentState
from engine.tools import FragmentChange, Plan
from tests.tui.app.test_no_color import MARKED, hues, look
from tests.tui.app.test_screen_reader import SIGNS
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tests.tui.walk import every_dialog
from tui.screens.plan import PlanDialog
from tui.terminal import profile

READER = replace(profile({"TERM": "xterm-256color"}), screen_reader=True)


async def test_words_in_place_of_signs(editor: Open) -> None:
    async with editor(size=(80, 24), profile=READER) as ed:
        faults = {}
        async for name in every_dialog(ed):
            await ed.pilot.pause()
            if found := SIGNS & set("".join(ed.lines())):
                faults[name] = "".join(sorted(found))
            assert ed.lines()[-1].strip(), f"{name}: the last line says nothing"
        assert not faults, faults


async def test_without_colours(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with editor(size=(80, 24), profile=profile({"TERM": "xterm-256color", "NO_COLOR": "1"})) as ed:
        colours, alike = {}, []
        async for name in every_dialog(ed):
            await ed.pilot.pause()
            if found := hues(ed, but=()):
                colours[name] = found
            alike += [(name, widgets) for widgets in await looks(ed) if len(widgets) > 1]
        assert not colours, colours
        assert not alike, f"which of them has the focus can't be seen: {alike}"


async def looks(ed: Editor) -> list[list[Widget]]:
    """What can have the focus, by how the screen looks then."""
    screen, found = ed.app.screen, dict[object, list[Widget]]()
    for widget in screen.focus_chain:
        if isinstance(widget, MARKED):
            screen.set_focus(widget)
            await asyncio.sleep(0.05)
            found.setdefault(look(ed), []).append(widget)
    return list(found.values())


async def test_in_sixteen_colours_and_forty_columns_and_in_one(editor: Open) -> None:
    async with editor(size=(40, 12), profile=profile({"TERM": "xterm"})) as ed:
        colours, cut, shrunk = {}, [], set()
        async for name in every_dialog(ed):
            await ed.pilot.pause()
            if found := hues(ed, but=(ColorType.STANDARD,)):
                colours[name] = found
            screen = ed.app.screen
            for widget in screen.focus_chain:
                screen.set_focus(widget)
                for _ in range(50):
                    at = screen.find_widget(widget)
                    if at.visible_region.area and at.region.x >= 0 and at.region.right <= 40:
                        break
                    await asyncio.sleep(0.02)
                else:
                    cut.append((name, widget))
            if type(screen) not in shrunk:
                shrunk.add(type(screen))
                await ed.pilot.resize_terminal(1, 1)
                await ed.press("down")
                await ed.pilot.resize_terminal(40, 12)
                assert ed.app.screen is screen, f"{name} stays"
        assert not colours, colours
        assert not cut, cut


async def test_a_long_difference_leaves_no_rows_free(editor: Open) -> None:
    before, after = (FragmentState("n", "d", word * 2_000) for word in ("one ", "two "))
    plan = Plan("editFragments", "the-quay", "main", (FragmentChange("kn-mirafa", "knowledge", before, after),), ())
    async with editor() as ed:
        ed.app.push_screen(PlanDialog(plan))
        await ed.until(lambda: ed.shows("accept (a)"), "the dialog")
        dialog = ed.app.screen
        box, shown, answers = map(dialog.query_one, (".dialog", "#plan", ".answers"))
        await ed.until(lambda: shown.region.height == 40 * 65 // 100, "all the room there is")
        await ed.until(lambda: box.region.bottom == answers.region.bottom + 1, "no more than that")
