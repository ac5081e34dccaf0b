"""Through long random sessions, a terminal that gets the differences shows what one shows that gets everything."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import tui
from tests.tui.conftest import Open

if sys.platform == "win32":
    pytest.skip("the terminals are those of a Unix system", allow_module_level=True)

from tests.thorough import times
from tests.tui.pty.test_diff_display import WithTwoTerminals
from tui.app import StonehandApp

KEYS = (
    *(
        "escape",
        "escape",
        "escape",
        "j",
        "k",
        "down",
        "up",
        "pagedown",
        "pageup",
        "home",
        "end",
        "J",
        "K",
        "space",
        "m",
        "enter",
        "escape",
        "tab",
    ),
    *("e", "n", "b", "f", "o", "a", "D", "X", "R", "r", "slash", "u", "ctrl+r", "p", "g", "s", "1", "2", "3"),
    *("question_mark", "ctrl+p", "f3", "left", "right", "backspace", "N", "漢", "é", "x", "ctrl+s", "shift+tab"),
)
SIZES = ((120, 40), (80, 24), (40, 12), (200, 60), (95, 20), (11, 3))


class TwoTerminalsEditor(WithTwoTerminals[int], StonehandApp):
    """The editor before two terminals; it does not end."""

    CSS_PATH = Path(tui.__file__).parent / "styles" / "app.tcss"

    async def action_quit(self) -> None:
        pass


@pytest.fixture
def frames() -> None:
    """Every change is drawn, as before a terminal."""


@pytest.mark.parametrize("seed", range(times(1, 10)))
async def test_random_sessions(editor: Open, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.tui.conftest.StonehandApp", TwoTerminalsEditor)
    rng = random.Random(seed)
    async with editor() as ed:
        app = ed.app
        assert isinstance(app, TwoTerminalsEditor)
        screens = set()
        for step in range(times(150, 250)):
            await ed.press(rng.choice(KEYS))
            screens.add(type(app.screen).__name__)
            if step % 25 == 24:
                await ed.pilot.resize_terminal(*rng.choice(SIZES))
            elif step % 60 == 30:
                app.theme = rng.choice(("stonehand-light", "ansi-dark", "stonehand-dark"))
        assert app.frames > 100 and len(screens) > 3
        assert app.diffed.screen.display == app.whole.screen.display
