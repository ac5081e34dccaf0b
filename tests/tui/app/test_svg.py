"""Pictures of the main screen: what text files can't show, which is colour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.workspace import Workspace
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
        ("light", {"STONEHAND_THEME": "textual-light"}),
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
