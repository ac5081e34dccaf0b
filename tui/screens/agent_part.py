"""What the screens share on which an agent of a story is at work: its model, its budget, and what it changed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from engine.errors import NotFound, StonehandError
from tui.language import t
from tui.screens.base import WorkingScreen

if TYPE_CHECKING:
    from engine.runs import Run
    from engine.session import Session
    from tui.screens.run_again import RunWith


class AgentPart(WorkingScreen[None]):
    """What a screen for the agent of a session has."""

    _session: Session

    # -- with what

    def on_screen_resume(self) -> None:
        """Shown for the first time, or again: another model may have been chosen."""
        self.look_up_model()

    def look_up_model(self) -> None:
        self.begin(self._look_up_model, "look-up", exclusive=True)

    async def _look_up_model(self) -> None:
        raise NotImplementedError

    async def _may_send(self, run: Run, provider: str | None, model: str | None) -> bool:
        """Whether a run that was prepared with these fits, or is to be sent all the same."""
        from tui.screens.budget import may_send

        return await may_send(self, run, provider, model)

    # -- what the agent changed

    @property
    def _changed(self) -> bool:
        """Whether the agent changed anything that can be taken back."""
        session = self._session
        return self.workspace.changes.last(session.story, session.branch, session.agent) is not None

    async def _take_changes_back(self) -> bool:
        """Take back what the agent changed last, and say what that was; whether there was anything."""
        session, changes = self._session, self.workspace.changes
        try:
            undone = await self.wait(lambda: changes.take_back(session.story, session.branch, session.agent))
        except NotFound:
            self.say(t("chat.nothing-to-take-back"), warning=True)
            return False
        except StonehandError as error:
            self.report(error)
            return True
        for problem in undone.problems:
            self.report(StonehandError.of(problem))
        written = [item.change for item in reversed(undone.written) if item.edit is not None]
        if written:
            names = (f"{(change.before or change.after).name} ({change.fragment_id})" for change in written)
            self.say(t("chat.taken-back", what=", ".join(names)))
        return True


class RunWithPart(AgentPart):
    """And of one whose agent is run with what was chosen until the program ends, or else what it is set to."""

    _with: RunWith | None = None

    async def _look_up_model(self) -> None:
        from tui.screens.run_again import run_with

        with suppress(StonehandError):  # told of where the story is read
            self._with = await run_with(self, self._session.story, self._session.agent)
            self._show_title()

    def _show_title(self) -> None:
        """Show who is at work, and with what."""
        raise NotImplementedError
