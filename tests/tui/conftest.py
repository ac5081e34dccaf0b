"""The editor on a small story of its own, on a screen that stays the same from run to run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.errors import StonehandError
from engine.workspace import Workspace
from tests.stories import custom_block, make_story
from tests.tui.cheaper import frames_after_keys, short_waits, styles_parsed_once
from tests.tui.editor import Editor
from tui.app import StonehandApp
from tui.keymap import Keymap
from tui.settings import Settings
from tui.terminal import TerminalProfile

SCRIPT = "const n = ctx.proseFragments.length\nreturn `Sections so far: ${n}`"
WRITER_CONFIG = {
    "customBlocks": [
        custom_block("cb-stylea", "Short sentences.", role="system", name="House style", order=400),
        custom_block("cb-counta", SCRIPT, name="Section count", type="script", order=520),
    ],
    "overrides": {"instructions": {"contentMode": "append", "customContent": "Keep the tide tables right."}},
    "blockOrder": [],
    "disabledTools": [],
}
"""A text block, a script block and an appended text."""

Open = Callable[..., AbstractAsyncContextManager[Editor]]


@pytest.fixture(autouse=True, scope="session")
def cheaper() -> Iterator[None]:
    with styles_parsed_once(), short_waits():
        yield


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the machine and its user have set must not show."""
    for name in ("COLORTERM", "NO_COLOR", "TEXTUAL_THEME", "TMUX", "STY", "SSH_CONNECTION", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("STONEHAND_CONFIG", str(tmp_path / "config"))
    # Exports go there unless another place is named.
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))


@pytest.fixture(autouse=True)
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Exception]]:
    """Faults of the program that the editor told of instead of ending; a test that expects some takes them out."""
    told: list[Exception] = []
    tell = StonehandApp.failed

    def failed(self: StonehandApp, error: Exception) -> None:
        if not isinstance(error, StonehandError):
            told.append(error)
        tell(self, error)

    monkeypatch.setattr(StonehandApp, "failed", failed)
    yield told
    if told:
        raise ExceptionGroup("the editor went on after faults that the test does not expect", told)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with one story."""
    make_story(tmp_path / "data", configs={"generation.writer": WRITER_CONFIG}, branches=("main", "stormy"))
    return tmp_path / "data"


@pytest.fixture
def workspaces(tmp_path: Path) -> Iterator[Callable[..., Workspace]]:
    """Opens workspaces, each as another program would have it, and closes them in the end."""
    made: list[Workspace] = []

    def open_workspace(data: Path, **options: Any) -> Workspace:
        made.append(Workspace(data, state=tmp_path / "state", **options))
        return made[-1]

    yield open_workspace
    for workspace in made:
        workspace.close()


@pytest.fixture
def frames() -> Iterator[None]:
    """When the editor is drawn; tests of what goes to the terminal have a fixture of their own."""
    with frames_after_keys():
        yield


@pytest.fixture
def editor(data: Path, workspaces: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch, frames: None) -> Open:
    """Opens the editor; inside, its blocks are listed and every script has run."""
    monkeypatch.setattr("engine.workspace.wires.WORDS_PER_SECOND", 2_000.0)

    @asynccontextmanager
    async def open_editor(
        size: tuple[int, int] = (120, 40),
        *,
        folder: Path | None = None,
        watch: bool = False,
        keymap: Keymap | None = None,
        profile: TerminalProfile | None = None,
        settings: Settings | None = None,
        ready: bool = True,
    ) -> AsyncIterator[Editor]:
        workspace = workspaces(folder or data, watch=watch)
        app = StonehandApp(workspace, profile, keymap, settings)
        async with app.run_test(size=size, notifications=True) as pilot:
            driven = Editor(app, pilot, workspace)
            if ready:
                await driven.until(lambda: app.desk is not None and app.desk.session is not None, "a session")
                await driven.listed()
                await driven.until(lambda: driven.inspector.row is not None, "the inspector")
            yield driven
        workspace.close()

    return open_editor
