"""What the full screens share: work beside the interface, and telling the user what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, TypeVar, cast

from textual import on
from textual.screen import Screen, ScreenResultType
from textual.worker import Worker, WorkerState

from tui.actions import Place
from tui.widgets.bars import KeyBar

if TYPE_CHECKING:
    from engine.workspace import Workspace
    from tui.app import StonehandApp
    from tui.widgets.text_editor import TextEditor

T = TypeVar("T")


class WorkingScreen(Screen[ScreenResultType]):
    """A screen on a workspace. `places` names the actions that can be used on it."""

    places: tuple[Place, ...] = ("app",)

    @property
    def workspace(self) -> Workspace:
        """The app's workspace, which must be open."""
        return self.stonehand.workspace

    @property
    def stonehand(self) -> StonehandApp:
        return cast("StonehandApp", self.app)

    def begin(
        self, work: Callable[[], Coroutine[object, object, object]], group: str, *, exclusive: bool = False
    ) -> None:
        """Run work beside the interface; an exclusive one ends what still runs of its group."""

        # Called when the worker starts: one that is ended before leaves no coroutine behind that nobody awaits.
        async def run() -> None:
            await work()

        _: Worker[None] = self.run_worker(run, group=group, exclusive=exclusive, exit_on_error=False)

    async def wait(self, function: Callable[[], T]) -> T:
        """Run something that may wait on an engine thread; the screen stays alive meanwhile."""
        return await asyncio.wrap_future(self.workspace.start(function))

    def _compositor_refresh(self) -> None:
        # Textual draws a screen that is laid out during a batch of updates, as while it starts, and throws that away.
        if self.app._batch_count:
            self.refresh()
        else:
            super()._compositor_refresh()

    async def settle(self) -> bool:
        """Save what is open here before the program is left; False when the user wants to stay."""
        return True

    def branch_name(self, branch: str) -> str:
        """What a branch of the open story is called, for the top bar; its id where that is not known."""
        desk = self.stonehand.desk
        return branch if desk is None else desk.branch_name(branch)

    def say(self, text: str, *, warning: bool = False) -> None:
        """Show a message for a few seconds in place of the keys."""
        self.query_one(KeyBar).say(text, warning=warning)

    def look_up_model(self) -> None:
        """Show anew what answers here: it may have been chosen otherwise, here or by another program."""

    def say_again(self) -> None:
        """Say what stands on the screen anew: the language is another."""

    def report(self, error: BaseException) -> None:
        """Show a failure, for longer."""
        self.stonehand.report(error)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report what went wrong in the background: it must neither end the program nor pass unseen."""
        if event.state is WorkerState.ERROR:
            self.stonehand.worker_failed(event.worker)

    def on_text_editor_told(self, message: TextEditor.Told) -> None:
        message.stop()
        self.say(message.text, warning=message.warning)

    @on(KeyBar.Pressed)
    async def _key_pressed(self, message: KeyBar.Pressed) -> None:
        runner = self if hasattr(self, f"action_{message.action.method}") else self.app
        await runner.run_action(message.action.method)
