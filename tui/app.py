"""The app: one workspace, its screens, and leaving without losing anything."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App, SystemCommand
from textual.screen import Screen

from engine.errors import StonehandError
from engine.library import config_folder
from tui.actions import ACTIONS, Action, Keymap, key_name
from tui.bindings import bindings_for
from tui.diff_display import DiffDisplayApp
from tui.ending import ended_by_signals, let_go_of_lost_terminal, release_input
from tui.key_order import OrderedKeysApp
from tui.language import t
from tui.paste import SafePasteApp
from tui.safe_text import SafeTextApp
from tui.screens.base import WorkingScreen
from tui.screens.desk import DeskScreen
from tui.script_preview import PREVIEW_PAUSE
from tui.terminal import DARK_THEME, TerminalProfile
from tui.terminal import profile as terminal_profile
from tui.themes import ThemedApp

if TYPE_CHECKING:
    from engine.workspace import Workspace


class StonehandApp(ThemedApp[int], DiffDisplayApp[int], SafeTextApp[int], SafePasteApp[int], OrderedKeysApp[int]):
    """The editor. `workspace` is open, or opened by calling it, on a thread; it is the caller's to close."""

    TITLE = "Stonehand"
    CSS_PATH = "styles/app.tcss"
    BINDINGS = bindings_for("app")
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ESCAPE_TO_MINIMIZE = False

    def __init__(
        self,
        workspace: Workspace | Callable[[], Workspace],
        profile: TerminalProfile | None = None,
        keymap: Keymap | None = None,
    ) -> None:
        super().__init__()
        self._workspace = None if callable(workspace) else workspace
        self._open_workspace = workspace if callable(workspace) else None
        self.profile = profile
        self.keys = keymap or Keymap()
        self.animation_level = "none"
        self._running_loop: asyncio.AbstractEventLoop | None = None
        self.choose_theme(DARK_THEME if profile is None else profile.theme)

    def on_load(self) -> None:
        self._running_loop = asyncio.get_running_loop()

    def on_mount(self) -> None:
        self.set_keymap(self.keys.overrides())
        pause = PREVIEW_PAUSE if self.profile is None else self.profile.preview_delay
        self.push_screen(DeskScreen(preview_pause=pause))
        for problem in self.keys.problems:
            self.notify(problem, severity="warning", markup=False)

    def on_ready(self) -> None:
        desk = self.desk
        if desk is not None:
            desk.open_first()

    @property
    def opened(self) -> bool:
        """Whether the workspace is open."""
        return self._workspace is not None

    @property
    def workspace(self) -> Workspace:
        """The open workspace. Raises RuntimeError before it is opened."""
        if self._workspace is None:
            raise RuntimeError("the workspace is not open yet")
        return self._workspace

    async def open_workspace(self) -> Workspace:
        """Open the workspace, on a thread; once."""
        if self._workspace is None and self._open_workspace is not None:
            self._workspace = await asyncio.to_thread(self._open_workspace)
        self.run_worker(self._tell_of_left_passages(), group="passages", exit_on_error=False)
        return self.workspace

    async def _tell_of_left_passages(self) -> None:
        workspace = self.workspace
        for file in await asyncio.wrap_future(workspace.start(workspace.left_passages)):
            self.notify(
                t("app.left-over-more", file=file),
                title=t("app.left-over"),
                timeout=20,
                markup=False,
            )

    # -- leaving

    async def action_quit(self) -> None:
        """Save everything and leave; what is open is settled first."""
        # A worker, for only there can the user be asked.
        self.run_worker(self._quit(), group="leave", exclusive=True, exit_on_error=False)

    async def _quit(self) -> None:
        try:
            for screen in reversed(self.screen_stack):
                if isinstance(screen, WorkingScreen) and not await screen.settle():
                    return
        except Exception as error:
            self.report(error)
            return
        self.exit(0)

    def flush(self) -> None:
        """Bring every edit to disk at once, on this thread: to its file where that is possible, else the journal."""
        desk = self.desk
        if self._workspace is not None and desk is not None:
            self._workspace.flush()
            desk.flush()

    def end(self, code: int) -> None:
        """Leave at once, asking nothing, with nothing lost."""
        try:
            self.flush()
        finally:
            let_go_of_lost_terminal()
            self.exit(code)

    def call_on_loop(self, function: Callable[[], None]) -> bool:
        """Have the app's event loop call `function`; False when it is not running. Thread-safe, also for signals."""
        loop = self._running_loop
        if loop is None or loop.is_closed():
            return False
        loop.call_soon_threadsafe(function)
        return True

    @property
    def desk(self) -> DeskScreen | None:
        """The main screen."""
        return next((screen for screen in self.screen_stack if isinstance(screen, DeskScreen)), None)

    def go_to_block(self, key: str) -> None:
        """Go back to the main screen, to a block of its list."""
        desk = self.desk
        if desk is not None:
            while self.screen is not desk:
                self.pop_screen()
            desk.show_key(key)
            desk.action_blocks()

    # -- actions and errors

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action that can be used on the screen in front, for the command palette."""
        for action in ACTIONS:
            runner = screen if hasattr(screen, f"action_{action.method}") else self
            if action.method == "command_palette" or not hasattr(runner, f"action_{action.method}"):
                continue
            if action.place in ("app", *getattr(screen, "places", ())):
                keys = ", ".join(key_name(key) for key in self.keys.keys(action))
                yield SystemCommand(action.title, f"{keys}  {action.help}".strip(), self._runner(runner, action))
        yield SystemCommand("Change theme", "The colours of everything", self.action_change_theme)

    def _runner(self, node: Screen[object] | App[int], action: Action) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await node.run_action(action.method)

        return run

    def action_keys(self) -> None:
        """Show the help of the screen in front, or close it."""
        from tui.screens.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        else:
            self.push_screen(HelpScreen(getattr(self.screen, "places", ("app",)), self.keys))

    def _fatal_error(self) -> None:
        # Textual would fill the terminal with a traceback; `run_editor` has the command line tell of it in one line.
        self._close_messages_no_wait()

    def report(self, error: BaseException) -> None:
        """Tell the user of a failure: one line."""
        message = str(error) if isinstance(error, StonehandError) else f"{type(error).__name__}: {error}"
        self.notify(message, severity="error", timeout=8, markup=False)


def load_keymap(folder: Path | None = None) -> Keymap:
    """The user's keys: `keys.toml` in the config folder, lines of `action-id = "key,key"`."""
    import tomllib

    folder = folder or config_folder()
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
    """Open the editor on a data folder; returns the exit code. Raises what made it fail, the terminal restored."""
    profile = profile or terminal_profile(os.environ)
    if isinstance(sys.__stderr__, io.TextIOWrapper):
        # Textual draws on it; a character that the locale's encoding lacks would end all drawing.
        sys.__stderr__.reconfigure(errors="replace")
    opened: list[Workspace] = []

    def open_workspace() -> Workspace:
        from engine.workspace import Workspace

        opened.append(Workspace(data, watch=True))
        return opened[-1]

    def flush() -> None:
        for workspace in opened:
            workspace.flush()

    app = StonehandApp(open_workspace, profile, load_keymap())
    try:
        with ended_by_signals(app, flush):
            code = app.run(mouse=profile.mouse)
            if app._exception is not None:
                raise app._exception
            return code if isinstance(code, int) else app.return_code or 0
    finally:
        release_input(app)
        for workspace in opened:
            workspace.close()
