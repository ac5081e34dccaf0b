"""The app: one workspace, its screens, and leaving without losing anything."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import platformdirs
from textual.app import App, SystemCommand
from textual.screen import Screen

from engine.errors import StonehandError
from engine.library import APP
from engine.workspace import Workspace
from tui.actions import ACTIONS, Action, Keymap, key_name
from tui.bindings import bindings_for
from tui.diff_display import DiffDisplayApp
from tui.safe_text import SafeTextApp
from tui.screens.desk import DeskScreen
from tui.terminal import TerminalProfile
from tui.terminal import profile as terminal_profile


class StonehandApp(DiffDisplayApp[int], SafeTextApp[int], App[int]):
    """The editor. `workspace` stays the caller's to close."""

    TITLE = "Stonehand"
    CSS_PATH = "styles/app.tcss"
    BINDINGS = bindings_for("app")
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ESCAPE_TO_MINIMIZE = False

    def __init__(
        self, workspace: Workspace, profile: TerminalProfile | None = None, keymap: Keymap | None = None
    ) -> None:
        super().__init__()
        self.workspace = workspace
        self.profile = profile
        self.keys = keymap or Keymap()
        self.animation_level = "none"
        if profile is not None and profile.theme:
            self.theme = profile.theme

    def on_mount(self) -> None:
        self.set_keymap(self.keys.overrides())
        self._handle_signals()
        self.push_screen(DeskScreen(self.workspace))
        for problem in self.keys.problems:
            self.notify(problem, severity="warning", markup=False)

    # -- leaving

    async def action_quit(self) -> None:
        """Save everything and leave; a conflict is settled first."""
        desk = self.desk
        if desk is None or await desk.settle():
            self.exit(0)

    def flush(self) -> None:
        """Bring every edit to disk at once, on this thread: to its file where that is possible, else the journal."""
        desk = self.desk
        if desk is not None:
            desk.flush()
        self.workspace.journal.flush()

    @property
    def desk(self) -> DeskScreen | None:
        """The main screen."""
        return next((screen for screen in self.screen_stack if isinstance(screen, DeskScreen)), None)

    def _handle_signals(self) -> None:
        # Textual dies of these without unmounting anything or restoring the terminal.
        if sys.platform == "win32":
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGHUP, signal.SIGTERM):
            with contextlib.suppress(RuntimeError, ValueError):
                loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: int) -> None:
        self.flush()
        self.exit(128 + number)

    # -- actions and errors

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action that can be used on the screen in front, for the command palette."""
        for action in ACTIONS:
            runner = screen if hasattr(screen, f"action_{action.method}") else self
            if action.method == "command_palette" or not hasattr(runner, f"action_{action.method}"):
                continue
            if action.place in ("app", *getattr(screen, "places", ())):
                keys = ", ".join(key_name(key) for key in self.keys.keys(action))
                yield SystemCommand(action.title, f"{keys}  {action.help}".strip(), self._runner(screen, action))
        yield SystemCommand("Change theme", "The colours of everything", self.action_change_theme)

    def _runner(self, screen: Screen[object], action: Action):  # type: ignore[no-untyped-def]
        async def run() -> None:
            await screen.run_action(action.method) if hasattr(screen, f"action_{action.method}") else (
                await self.run_action(action.method)
            )

        return run

    def action_keys(self) -> None:
        """Show the help of the screen in front."""
        from tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(getattr(self.screen, "places", ("app",)), self.keys))

    def report(self, error: BaseException) -> None:
        """Tell the user of a failure: one line."""
        message = str(error) if isinstance(error, StonehandError) else f"{type(error).__name__}: {error}"
        self.notify(message, severity="error", timeout=8, markup=False)


def load_keymap(folder: Path | None = None) -> Keymap:
    """The user's keys: `keys.toml` in the config folder, lines of `action-id = "key,key"`."""
    folder = folder or Path(platformdirs.user_config_dir(APP, appauthor=False))
    try:
        chosen = tomllib.loads((folder / "keys.toml").read_text("utf-8"))
    except FileNotFoundError:
        return Keymap()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        keymap = Keymap()
        keymap.problems.append(f"{folder / 'keys.toml'}: {error}")
        return keymap
    return Keymap(chosen)


def run_editor(data: Path, profile: TerminalProfile | None = None) -> int:
    """Open the editor on a data folder; returns the exit code."""
    profile = profile or terminal_profile(os.environ)
    workspace = Workspace(data, watch=True)
    try:
        app = StonehandApp(workspace, profile, load_keymap())
        code = app.run(mouse=profile.mouse)
        return code if isinstance(code, int) else app.return_code or 0
    finally:
        workspace.close()
