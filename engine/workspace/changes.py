"""`workspace.changes`: what agents changed in stories since the workspace was opened, to be taken back."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.errors import NotFound
from engine.story import StoryFolder
from engine.text import Phrase

if TYPE_CHECKING:
    from engine.tools.applying import Applied

REMEMBERED: Final = 100
"""Changes that can be taken back; older ones are forgotten."""


@dataclass(slots=True, eq=False)
class _Change:
    agent: str
    applied: Applied
    undone: Callable[[], None] | None
    taken_back: bool = False

    def is_of(self, story: str, branch: str, agent: str) -> bool:
        plan = self.applied.plan
        return (plan.story, plan.branch, self.agent) == (story, branch, agent)


class Changes:
    """The plans of agents that were applied, whoever accepted them. Thread-safe; only `take_back` waits."""

    def __init__(self, story: Callable[[str], StoryFolder]) -> None:
        self._story = story
        self._lock = threading.Lock()
        self._known: deque[_Change] = deque(maxlen=REMEMBERED)

    def note(self, agent: str, applied: Applied, undone: Callable[[], None] | None = None) -> None:
        """Remember what an agent changed; `undone` is called, and may wait, when all of it was taken back."""
        if applied.edits:
            with self._lock:
                self._known.append(_Change(agent, applied, undone))

    def last(self, story: str, branch: str, agent: str) -> Applied | None:
        """What an agent changed last on a branch and was not taken back; None when there is nothing."""
        with self._lock:
            found = self._last(story, branch, agent)
        return None if found is None else found.applied

    def is_taken_back(self, applied: Applied) -> bool:
        """Whether this was taken back."""
        with self._lock:
            return any(item.taken_back for item in self._known if item.applied is applied)

    def take_back(self, story: str, branch: str, agent: str) -> Applied:
        """Take back what an agent changed last on a branch; what came of that, fragment by fragment.

        A fragment that was changed since stays as it is, which is one of the result's problems. Raises `NotFound` when
        there is nothing to take back.
        """
        from engine.tools.applying import take_back

        with self._lock:
            change = self._last(story, branch, agent)
            if change is None:
                raise NotFound(
                    Phrase("{agent} changed nothing on branch {branch} to be taken back", agent=agent, branch=branch)
                )
            change.taken_back = True
        undone = take_back(change.applied, self._story(story))
        if change.undone is not None and not undone.problems:
            change.undone()
        return undone

    def _last(self, story: str, branch: str, agent: str) -> _Change | None:
        found = (item for item in reversed(self._known) if not item.taken_back and item.is_of(story, branch, agent))
        return next(found, None)
