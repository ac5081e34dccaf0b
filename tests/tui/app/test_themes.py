"""Colours: legible in every theme of ours, and never the only sign of anything."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from textual.color import Color
from textual.screen import ModalScreen

from engine.errors import WrongInput
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tests.tui.walk import every_screen
from tui.themes import THEMES
from tui.widgets.agent_list import AgentList
from tui.widgets.block_list import BlockList
from tui.widgets.prompt_view import PromptView
from tui.widgets.script_editor import ScriptEditor

LEGIBLE = 4.5
"""The least contrast of text and its background (WCAG 2.2, 1.4.3)."""
DECORATION = set(" ─│╭╮╰╯━┃┏┓┗┛▀▄▁▂▃▅▆▇█▏▎▍▌▋▊▉▔▕▐")
"""Frames and bars: they say nothing that is not written beside them."""


def contrast(segment: Segment) -> float:
    assert segment.style is not None and segment.style.color is not None and segment.style.bgcolor is not None
    front, back = (Color.from_rich_color(color) for color in (segment.style.color, segment.style.bgcolor))
    if segment.style.reverse:
        front, back = back, front
    lighter, darker = sorted(map(luminance, (front, back)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color: Color) -> float:
    """As WCAG 2.2 defines it."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def illegible(ed: Editor) -> set[tuple[str, float]]:
    """The pieces of text on the screen whose contrast is too low, with it."""
    found = set()
    screen = ed.app.screen
    # What lies behind a dialog is dimmed on purpose.
    region = screen.children[0].region if isinstance(screen, ModalScreen) else screen.region
    for strip in screen._compositor.render_strips()[region.y : region.bottom]:
        for segment in strip.crop(region.x, region.right):
            if set(segment.text) - DECORATION and (ratio := round(contrast(segment), 2)) < LEGIBLE:
                found.add((segment.text.strip(), ratio))
    return found


async def test_every_text_on_every_screen_is_legible_in_the_light_theme(editor: Open) -> None:
    """In the dark one: `test_hover.py`."""
    async with editor() as ed:
        ed.app.theme = "stonehand-light"
        faults = {}
        async for name in every_screen(ed):
            await ed.pilot.pause()
            if found := illegible(ed):
                faults[name] = found
        assert not faults, faults


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
async def test_every_style_of_the_widgets_is_legible(editor: Open, theme: str) -> None:
    """Also the looks that no screen of the walk shows."""
    async with editor() as ed:
        ed.app.theme = theme
        await ed.press("p")
        await ed.until(lambda: ed.app.screen.query(PromptView))
        faults = {}
        widgets = [ed.desk.query_one(kind) for kind in (BlockList, AgentList, ScriptEditor)]
        for widget in [*widgets, ed.app.screen.query_one(PromptView)]:
            for name in type(widget).COMPONENT_CLASSES:
                if "--bar" in name or "cursor-line" in name or "gutter" in name:
                    continue
                style = widget.get_component_rich_style(name)
                ratio = contrast(Segment("x", style))
                if ratio < LEGIBLE and style.color != style.bgcolor:
                    faults[name] = round(ratio, 2)
        assert not faults, faults


async def test_an_unknown_theme_is_told(editor: Open) -> None:
    async with editor() as ed:
        with pytest.raises(WrongInput, match=r"no theme neon; there are .*stonehand-dark"):
            ed.app.choose_theme("neon")


async def test_every_theme_can_be_chosen(editor: Open) -> None:
    async with editor() as ed:
        for theme in ed.app.available_themes:
            ed.app.theme = theme
            await ed.pilot.pause()
            assert ed.shows("instructions")
