"""Without colours everything can still be told apart: NO_COLOR."""

from __future__ import annotations

import asyncio

import pytest
from rich.color import ColorType
from rich.style import Style
from textual.widgets import Button, Input, OptionList, TextArea

from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tests.tui.walk import every_screen
from tui.terminal import profile
from tui.widgets.agent_list import AgentList
from tui.widgets.block_list import BlockList
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.run_list import RunList

MARKED = (AgentList, BlockList, Button, ChoiceBar, Input, OptionList, RunList, TextArea)
"""Widgets in which something can be chosen or typed. Those that are only read show no sign of the focus."""
PROFILE = profile({"TERM": "xterm-256color", "NO_COLOR": "1"})


@pytest.fixture(autouse=True)
def _no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def look(ed: Editor) -> tuple[tuple[str, Style | None], ...]:
    """All that is on the screen but its colours."""
    return tuple(
        (text, style.without_color if style else None)
        for strip in ed.app.screen._compositor.render_strips()
        for text, style, _ in strip
        if text.strip() or (style is not None and (style.reverse or style.underline))
    )


def hues(ed: Editor, but: tuple[ColorType, ...]) -> set[str]:
    """The colours on the screen, but those of some kinds, and shades of grey."""
    used = {
        color
        for strip in ed.app.screen._compositor.render_strips()
        for text, style, _ in strip
        if style is not None
        for color in ((style.color, style.bgcolor) if text.strip() or style.reverse else (style.bgcolor,))
    }
    return {
        color.name
        for color in used
        if color is not None
        and not color.is_default
        and color.type not in but
        and (color.triplet is None or len({*color.triplet}) > 1)
    }


async def test_what_has_the_focus_can_be_seen_and_nothing_has_a_colour(editor: Open) -> None:
    async with editor(profile=PROFILE) as ed:
        faults, colours = [], {}
        async for name in every_screen(ed):
            screen = ed.app.screen
            if found := hues(ed, but=()):
                colours[name] = found
            focused, looks = screen.focused, {}
            for widget in screen.focus_chain:
                if isinstance(widget, MARKED):
                    screen.set_focus(widget)
                    await asyncio.sleep(0.05)
                    looks.setdefault(look(ed), []).append(widget)
            faults += [(name, widgets) for widgets in looks.values() if len(widgets) > 1]
            screen.set_focus(focused)
        assert not faults, faults
        assert not colours, colours


async def test_a_cursor_without_the_focus_a_selection_and_a_warning_have_signs(editor: Open) -> None:
    async with editor(profile=PROFILE) as ed:
        await ed.goto("cb-stylea")
        (line,) = (line for line in ed.lines() if "House style" in line and "sys" in line)
        assert "›" in line
        await ed.press("e")
        before = look(ed)
        await ed.press("ctrl+a" if ed.text.read_only else "f7")
        assert look(ed) != before, "a selection"
        await ed.press("escape")
        ed.desk.say("not so", warning=True)
        await ed.pilot.pause()
        assert ed.shows("! not so")
        await ed.press("1")
        before = look(ed)
        await ed.press("down")
        assert look(ed) != before, "the cursor among the agents"
