"""Pictures of screens: what text files can't show, which is colour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.models.wire.replay import ReplayWire
from engine.runs import Run, RunView
from engine.workspace import Workspace
from engine.workspace.wires import Wires
from tests.tui.editor import Editor
from tui.app import StonehandApp
from tui.settings import Values
from tui.terminal import TerminalProfile, profile


def terminal(**environ: str) -> TerminalProfile:
    chosen = Values(theme=environ.pop("STONEHAND_THEME", None))
    return profile({"TERM": "xterm-256color", "COLORTERM": "truecolor", **environ}, chosen)


@pytest.mark.parametrize(
    ("name", "environ"),
    [
        ("dark", {}),
        ("light", {"STONEHAND_THEME": "stonehand-light"}),
        ("no-color", {"NO_COLOR": "1"}),
        ("sixteen-colours", {"TERM": "linux", "COLORTERM": ""}),
    ],
)
def test_main_screen(
    name: str,
    environ: dict[str, str],
    data: Path,
    workspaces: Callable[..., Workspace],
    snap_compare: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "NO_COLOR" in environ:
        monkeypatch.setenv("NO_COLOR", "1")
    workspace = workspaces(data)
    app = StonehandApp(workspace, terminal(**environ))

    async def ready(pilot: Pilot[int]) -> None:
        ed = Editor(app, pilot, workspace)
        await ed.until(lambda: app.desk is not None and app.desk.session is not None)
        await ed.listed()
        await ed.goto("story-info")
        await ed.press("space", "J", "ctrl+s")
        await ed.saved()
        await ed.until(lambda: ed.said == "saved")
        ed.desk.say("")
        await ed.pilot.pause()

    assert snap_compare(app, terminal_size=(120, 40), run_before=ready)


SCREENS: dict[str, tuple[tuple[str, ...], str]] = {
    "prompt": (("p", "slash", *"quay", "enter", "n"), "match 2 of"),
    "generate": (("g", *"Rain", "ctrl+g"), "discard it"),
    "help": (("question_mark",), "Help"),
    "properties": (("e", "escape", "r"), "Done"),
    "palette": (("ctrl+p",), "Add a block behind"),
    "typing": (("e", "end", "shift+home"), "Keep the tide"),
}
"""Keys that lead to a screen, and what it shows then."""


@pytest.mark.parametrize("theme", ["stonehand-dark", "stonehand-light", "ansi-dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_other_screens(
    screen: str,
    theme: str,
    data: Path,
    workspaces: Callable[..., Workspace],
    snap_compare: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view: Callable[[Run], RunView] = Run.view
    text = "Rain came in off the bar before noon.\n\nInes counted the boats again, and there were nine."
    monkeypatch.setattr(Run, "view", lambda self: replace(view(self), seconds=1.5))
    monkeypatch.setattr(Wires, "of", lambda *_, **__: ReplayWire({"generatedText": text}, words_per_second=2_000.0))
    monkeypatch.setattr("tui.widgets.bars.MESSAGE_SECONDS", 3600)
    workspace = workspaces(data)
    app = StonehandApp(workspace, terminal(STONEHAND_THEME=theme))
    keys, shown = SCREENS[screen]

    async def ready(pilot: Pilot[int]) -> None:
        ed = Editor(app, pilot, workspace)
        await ed.until(lambda: app.desk is not None and app.desk.session is not None)
        await ed.listed()
        await ed.until(lambda: ed.inspector.row is not None)
        await ed.press(keys[0])
        await ed.until(lambda: app.screen is not ed.desk or ed.inspector.typing)
        await ed.until(lambda: app.focused is not None)
        await ed.press(*keys[1:])
        await ed.until(lambda: ed.shows(shown), shown)
        await ed.pilot.pause()

    assert snap_compare(app, terminal_size=(80, 24), run_before=ready)
