"""What the actions of the main screen are made on: the agent that is open, its list, its inspector."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.errors import StonehandError
from tui.carry import Carry
from tui.language import of_engine
from tui.screens.base import WorkingScreen
from tui.widgets.block_list import BlockList
from tui.widgets.inspector import Inspector

if TYPE_CHECKING:
    from engine.blocks.leftovers import Leftover
    from engine.document import Change
    from engine.session import Session


class DeskPart(WorkingScreen[None]):
    """What the parts of the main screen, each a family of actions, use of it; `DeskScreen` defines the rest."""

    session: Session | None = None
    carry: Carry | None = None

    @property
    def blocks(self) -> BlockList:
        return self.query_one("#blocks", BlockList)

    @property
    def inspector(self) -> Inspector:
        return self.query_one("#inspector", Inspector)

    def collect(self) -> None:
        raise NotImplementedError

    def show_rows(self) -> None:
        raise NotImplementedError

    def show_key(self, key: str) -> None:
        raise NotImplementedError

    def show_block(self) -> None:
        raise NotImplementedError

    def show_leftover(self, leftover: Leftover) -> None:
        """Say what something left over is, and ask what is to become of it."""
        raise NotImplementedError

    def show_pane(self, pane: str) -> None:
        raise NotImplementedError

    def show_state(self) -> None:
        raise NotImplementedError

    def save_later(self) -> None:
        raise NotImplementedError

    async def save_now(self) -> None:
        """Bring the open agent's edits to its file, and wait for that."""
        raise NotImplementedError

    async def load(self) -> bool:
        """Read the story again, run scripts that have not run, show what comes of it; whether that was possible."""
        raise NotImplementedError

    async def open_session(self, story: str, agent: str, branch: str) -> Session:
        """An agent that is edited without being shown: its edits are saved as any other's. Raises `StonehandError`."""
        raise NotImplementedError

    def open_sessions(self) -> list[Session]:
        """Every agent that is open for editing, shown or not."""
        raise NotImplementedError

    def forget_sessions(self, story: str, branch: str) -> None:
        """Close the agents of a branch that is no more."""
        raise NotImplementedError

    async def settle_branch(self, story: str, branch: str) -> list[Session]:
        """Save what is open of a branch, before it is read or replaced as it is on disk; returns those sessions."""
        found = [session for session in self.open_sessions() if (session.story, session.branch) == (story, branch)]
        await self.save_all(found)
        return found

    async def save_all(self, sessions: Iterable[Session]) -> None:
        """Bring the edits of these sessions to their files, as far as that is possible; what fails is reported."""
        raise NotImplementedError

    def reset_agent(self) -> None:
        """Go back to the default config, with a copy kept of what there is."""
        raise NotImplementedError

    def reset_branch(self) -> None:
        """Show what going back to the default config of every agent of the branch changes, and ask."""
        raise NotImplementedError

    def reset_invalid(self) -> None:
        """Replace the agent's invalid config by the empty one, with a copy kept of it."""
        raise NotImplementedError

    async def open_story(self, story: str | None, branch: str | None, agent: str) -> None:
        """Open an agent of a story's branch, or of the first story there is."""
        raise NotImplementedError

    async def name_branches(self, story: str) -> None:
        """Look up what the branches of a story are called, and show that of the open one."""
        raise NotImplementedError

    # -- edits

    def do(self, edit: Callable[[Session], Change | str | None], *, said: str = "") -> bool:
        """Make an edit and show what came of it; True when something changed.

        What is said of it is `said`, or the label of the change, or the text that `edit` returns.
        """
        session = self.session
        if session is None:
            return False
        self.collect()
        try:
            change = edit(session)
        except StonehandError as error:
            problem = error.problem
            if problem.file == session.document.file:
                # The banner names the file; its whole path would push the reason out of the line.
                problem = replace(problem, file=None)
            self.say(of_engine(problem.told()), warning=True)
            return False
        if change is None:
            return False
        self.say(said or (change if isinstance(change, str) else of_engine(change.label)))
        self.show_rows()
        self.save_later()
        return True
