"""The app: one workspace, its screens, and leaving without losing anything."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.app import App, SystemCommand
from textual.command import CommandInput, CommandList, CommandPalette, Hit, Hits
from textual.screen import ModalScreen, Screen
from textual.system_commands import SystemCommandsProvider
from textual.worker import Worker, WorkerState

from engine.errors import Problem, StonehandError
from tui import language
from tui.actions import ACTIONS, Action, Place, key_name
from tui.bindings import STOPPING, bindings_for, stopping_bindings
from tui.caret import CaretApp
from tui.diff_display import DiffDisplayApp
from tui.ending import ended_by_signals, let_go_of_lost_terminal, release_input
from tui.faults import LastingApp
from tui.key_order import OrderedKeysApp
from tui.keymap import Keymap, load_keymap
from tui.language import ENGLISH, LANGUAGES, LazyText, of_engine, of_error, of_locale, t
from tui.paste import SafePasteApp
from tui.row_filter import find
from tui.safe_text import SafeTextApp
from tui.screen_reader import SpokenApp
from tui.screens.base import WorkingScreen
from tui.screens.desk import DeskScreen
from tui.script_preview import PREVIEW_PAUSE
from tui.settings import Settings, read_settings, save_setting, variable
from tui.terminal import DARK_THEME, TerminalProfile, own_theme
from tui.terminal import profile as terminal_profile
from tui.themes import ThemedApp
from tui.widgets.bars import LEAST_HEIGHT, LEAST_WIDTH

if TYPE_CHECKING:
    from engine.session import Session
    from engine.workspace import Workspace
    from tui.screens.run_again import RunWith


class Palette(CommandPalette):
    """Textual's palette, whose cursor blinks, and whose page keys end the program where its list has no room."""

    def on_mount(self) -> None:
        # As in every other field: while nothing happens, nothing is sent.
        self.query_one(CommandInput).cursor_blink = False

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).scrollable_content_region.area:
            super()._action_command_list(action)


class Actions(SystemCommandsProvider):
    """The entries of the palette: whole words and beginnings of words come before letters that are apart."""

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        words = query.lower().split()
        for name, help, callback, *_ in self.app.get_system_commands(self.screen):
            found = [find(word, name) for word in words]
            if words and None not in found:
                score = sum(match.score for match in found if match is not None) / len(words) - len(name) / 100
                yield Hit(score, matcher.highlight(name), callback, help=help)


class StonehandApp(
    LastingApp[int],
    ThemedApp[int],
    SpokenApp[int],
    DiffDisplayApp[int],
    SafeTextApp[int],
    SafePasteApp[int],
    OrderedKeysApp[int],
    CaretApp[int],
):
    """The editor. `workspace` is open, or opened by calling it, on a thread; it is the caller's to close."""

    TITLE = "Stonehand"
    CSS_PATH = "styles/app.tcss"
    BINDINGS = [*bindings_for("app"), *stopping_bindings()]
    COMMANDS = {Actions}
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ESCAPE_TO_MINIMIZE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-thin"), (LEAST_WIDTH, "-slim"), (60, "-wide"), (110, "-broad")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (LEAST_HEIGHT, "-short"), (16, "-tall")]

    def __init__(
        self,
        workspace: Workspace | Callable[[], Workspace],
        profile: TerminalProfile | None = None,
        keymap: Keymap | None = None,
        settings: Settings | None = None,
    ) -> None:
        super().__init__()
        self._workspace = None if callable(workspace) else workspace
        self._open_workspace = workspace if callable(workspace) else None
        self.profile = profile
        self.keys = keymap or Keymap()
        language.name_keys(self.keys.said)
        self.settings = settings or Settings()
        self.problems: list[str | LazyText] = [*self.settings.problems, *self.keys.problems]
        """What of the user's settings and keys is ignored, a line each."""
        self.provider_problems: tuple[Problem, ...] = ()
        """What of the files that define providers is left out."""
        self.screen_reader = self.diff_whole_rows = profile is not None and profile.screen_reader
        self.animation_level = "none"
        self._running_loop: asyncio.AbstractEventLoop | None = None
        self.run_with: dict[tuple[str, str], RunWith] = {}
        """What agents are run with, by story and agent, where the user chose another model than theirs for now."""
        theme = DARK_THEME
        if profile is not None:
            self.diff_display = self.diff_display and profile.diff
            self.diff_erases = profile.erases
            theme = profile.theme
        if theme not in self.available_themes:
            names = ", ".join(sorted(self.available_themes))
            place = f"{self.settings.theme_place}: " if self.settings.theme_place else ""
            self.problems.append(LazyText("settings.no-theme", place=place, theme=theme, names=names))
            theme = DARK_THEME if profile is None else own_theme(os.environ, profile.colors)
        self.choose_theme(theme)

    def on_load(self) -> None:
        self._running_loop = asyncio.get_running_loop()

    def on_mount(self) -> None:
        self.set_keymap(self.keys.overrides())
        pause = PREVIEW_PAUSE if self.profile is None else self.profile.preview_delay
        self.push_screen(DeskScreen(preview_pause=pause))
        self.tell_problems(t("settings.problems"), [*map(str, self.problems)])

    def tell_problems(self, title: str, problems: Sequence[str]) -> None:
        """One notice, however many there are: the help lists them all."""
        if problems:
            first, more = problems[0], len(problems) - 1
            text = t("settings.more", problem=first, count=more, key=self._key_of("keys")) if more else first
            self.notify(text, title=title, severity="warning", timeout=15, markup=False)

    def _key_of(self, action_id: str) -> str:
        return next(self.keys.shown(action) for action in ACTIONS if action.id == action_id)

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
        for file in await asyncio.wrap_future(workspace.start(workspace.passages.left)):
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

    def go_to_block(self, key: str, session: Session) -> None:
        """Go back to the main screen, to a block of this agent; what is open between is settled first."""
        # A worker, for only there can the user be asked.
        self.run_worker(self._go_to_block(key, session), group="leave", exclusive=True, exit_on_error=False)

    async def _go_to_block(self, key: str, session: Session) -> None:
        desk = self.desk
        if desk is None:
            return
        while (screen := self.screen) is not desk:
            if isinstance(screen, WorkingScreen) and not await screen.settle():
                return
            self.pop_screen()
        shown, wanted = desk.session, (session.story, session.branch, session.agent)
        if shown is None or (shown.story, shown.branch, shown.agent) != wanted:
            await desk.open_story(*wanted)
        desk.show_key(key)
        desk.action_blocks()

    # -- actions and errors

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action that can be used on the screen in front, for the command palette."""
        for action in ACTIONS:
            runner = screen if hasattr(screen, f"action_{action.method}") else self
            if action.method == "command_palette" or action.same_as or not hasattr(runner, f"action_{action.method}"):
                continue
            if self._usable_on(screen, action):
                letters = [other for other in ACTIONS if other.same_as == action.id and self._usable_on(screen, other)]
                keys = ", ".join(key_name(key) for item in (*letters, action) for key in self.keys.keys(item))
                yield SystemCommand(_searchable(action), f"{keys}  {action.help}".strip(), self._runner(runner, action))
        yield SystemCommand(t("app.theme"), t("app.theme-help"), self.action_change_theme)
        yield SystemCommand(t("app.language"), t("app.language-help"), self.action_change_language)

    @staticmethod
    def _usable_on(screen: Screen[object], action: Action) -> bool:
        return action.place in ("app", *getattr(screen, "places", ()))

    def _runner(self, node: Screen[object] | App[int], action: Action) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await node.run_action(action.method)

        return run

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Stopping from a dialog is for what runs behind it: otherwise its key does what it does in the dialog."""
        if action == "stop_behind":
            return self._stoppable_behind(str(parameters[0])) is not None
        return super().check_action(action, parameters)

    async def action_stop_behind(self, action_id: str) -> None:
        """Stop what runs on the screen behind a dialog."""
        behind = self._stoppable_behind(action_id)
        if behind is not None:
            await behind.run_action(STOPPING[action_id].method)

    def _stoppable_behind(self, action_id: str) -> Screen[object] | None:
        """The screen behind a dialog, if this action would stop something there now."""
        action = STOPPING[action_id]
        if not isinstance(self.screen, ModalScreen):
            return None
        screens: Iterable[Screen[object]] = reversed(self.screen_stack)
        behind = next((screen for screen in screens if not isinstance(screen, ModalScreen)), None)
        if behind is None or not self._usable_on(behind, action) or not behind.check_action(action.method, ()):
            return None
        return behind

    def action_command_palette(self) -> None:
        if self.use_command_palette and not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette(placeholder=t("app.palette"), id="--command-palette"))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A click beside a dialog or on its frame is escape."""
        # Not on the click itself: by then what was clicked can have moved, as a choice does that shows other fields.
        screen = self.screen
        if isinstance(screen, ModalScreen) and not isinstance(screen, CommandPalette):
            widget, region = screen.get_widget_at(*event.screen_offset)
            on_frame = widget.has_class("dialog") and event.screen_offset.y in (region.y, region.bottom - 1)
            if widget is screen or on_frame:
                event.stop()
                self.simulate_key("escape")

    # -- settings that can be changed while it runs

    def action_change_theme(self) -> None:
        """Choose the colours, and keep the choice."""
        names = sorted(self.available_themes)
        self._choose(t("app.theme"), names, names, self.theme, self.keep_theme)

    def action_change_language(self) -> None:
        """Choose the language, and keep the choice."""
        self._choose(t("app.language"), [*LANGUAGES], [*LANGUAGES.values()], language.in_use(), self.keep_language)

    def _choose(
        self, title: str, names: Sequence[str], labels: Sequence[str], now: str, choose: Callable[[str], None]
    ) -> None:
        from tui.screens.pick import PickDialog

        def done(name: str | None) -> None:
            if name is not None:
                choose(name)

        self.push_screen(PickDialog(title, names, labels, now=now), done)

    def keep_theme(self, theme: str) -> None:
        """Draw everything in a theme, from now on and the next time."""
        self.choose_theme(theme)
        self._keep("theme", theme)

    def keep_language(self, code: str) -> None:
        """Say everything in a language, from now on and the next time."""
        language.use(code)
        for screen in self.screen_stack:
            if isinstance(screen, WorkingScreen):
                screen.say_again()
        self._keep("language", code)

    def _keep(self, name: str, value: str) -> None:
        """Write a setting into the user's file."""
        file = self.settings.file
        if file is None:
            return
        try:
            kept = save_setting(file, name, value)
        except StonehandError as error:
            self.report(StonehandError(t("settings.not-kept", problem=of_error(error))))
            return
        if not kept:
            self.notify(t("settings.comments", file=file), severity="warning", markup=False)
        elif os.environ.get(variable(name)):
            self.notify(t("settings.overridden", variable=variable(name)), severity="warning", markup=False)

    def action_keys(self) -> None:
        """Show the help of the screen in front, or close it."""
        from tui.screens.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        else:
            places: tuple[Place, ...] = getattr(self.screen, "places", ("app",))
            left_out = [*map(str, self.problems), *(of_engine(problem.told()) for problem in self.provider_problems)]
            self.push_screen(HelpScreen(places, self.keys, left_out))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report what failed in the app's own workers, as the screens do for theirs."""
        if event.state is WorkerState.ERROR:
            self.worker_failed(event.worker)

    def failed(self, error: Exception) -> None:
        """Tell of a failure; where, if it is a mistake of the program, is written to the crash log."""
        from tui.launch import crashed

        if isinstance(error, StonehandError):
            self.report(error)
        else:
            self.notify(crashed(error), severity="error", timeout=15, markup=False)

    def _fatal_error(self) -> None:
        # Textual would fill the terminal with a traceback; `run_editor` has the command line tell of it in one line.
        with suppress(Exception):  # what can't be saved now is in the journal
            self.flush()
        self._close_messages_no_wait()

    def report(self, error: BaseException) -> None:
        """Tell the user of a failure: one line."""
        self.notify(of_error(error), severity="error", timeout=8, markup=False)


def _searchable(action: Action) -> str:
    """What the palette calls an action: with its name in Latin letters, which need no input method to be typed."""
    return action.title if language.in_use() == ENGLISH else f"{action.title} · {action.id}"


def run_editor(data: Path, profile: TerminalProfile | None = None, settings: Settings | None = None) -> int:
    """Open the editor on a data folder; returns the exit code. Raises what made it fail, the terminal restored.

    `profile` and `settings` are those of the process's environment when they are left out.
    """
    settings = settings or read_settings(os.environ)
    profile = profile or terminal_profile(os.environ, settings.values)
    language.use(settings.values.language or of_locale(os.environ))
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

    app = StonehandApp(open_workspace, profile, load_keymap(), settings)
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
