"""`Host`: what the tools of one run work on, and what they have brought together.

Everything happens inside one story and one branch, those of the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from engine.story import Fragment, StoryFolder, StorySnapshot
from engine.tools.applying import Applied, apply
from engine.tools.collected import NOTHING_FOUND, Analysis, Direction, Question
from engine.tools.invoking import Calls
from engine.tools.plan import Plan

if TYPE_CHECKING:
    from engine.tools.transforming import Span

Decision = Literal["applied", "waiting", "declined"]


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a plan: it was applied (`applied` says how), waits for the author, or was declined."""

    decision: Decision
    plan: Plan
    applied: Applied | None = None


Settle = Callable[[Plan, "Host"], Awaitable[Settled]]
"""Decides what becomes of a plan: applies it at once, shows it and waits for the author, or puts it aside."""


class Logged(Protocol):
    """What is asked of a run in the list; `fragment_id` is the prose it wrote, empty without."""

    @property
    def id(self) -> str: ...
    @property
    def fragment_id(self) -> str: ...


class RunLogs(Protocol):
    """The logs of earlier runs of the branch."""

    def list(self) -> Sequence[Logged]:
        """The runs, newest first."""
        ...

    def read(self, log_id: str) -> Mapping[str, Any]:
        """One log, whole. Raises `NotFound` and `InvalidFile`."""
        ...


@dataclass(slots=True)
class Collected:
    """What the tools of a run have brought together.

    `read_ids` are the fragments the agent has read, in order and once each (spec, section 3.6); `settled` its plans of
    changes; `directions`, `questions` and `analysis` what it proposed, asked and reported.
    """

    read_ids: dict[str, None] = field(default_factory=dict)
    settled: list[Settled] = field(default_factory=list)
    directions: tuple[Direction, ...] = ()
    questions: tuple[Question, ...] = ()
    analysis: Analysis = NOTHING_FOUND


@dataclass(slots=True)
class Host:
    """What the tools of a run are given.

    `passage` is the prose an analysis is of, or with `span` what is transformed of it; `settle`, `logs` and `calls` are
    there for agents with the tools that need them. `on_applied` is told of every plan that was written, on any thread.
    """

    folder: StoryFolder
    branch: str
    agent: str = ""
    passage: Fragment | None = None
    span: Span | None = None
    settle: Settle | None = None
    logs: RunLogs | None = None
    calls: Calls | None = None
    on_applied: Callable[[Applied], None] | None = field(default=None, repr=False)
    collected: Collected = field(default_factory=Collected)

    def snapshot(self) -> StorySnapshot:
        """The branch as it is now: what an earlier call wrote is in it. Raises `StonehandError`."""
        return self.folder.snapshot(self.branch)

    def apply(self, plan: Plan, reason: str | None = None) -> Settled:
        """Write a plan and record it, so that it can be taken back however the run ends; blocks."""
        applied = apply(plan, self.folder, reason)
        settled = Settled("applied", plan, applied)
        self.collected.settled.append(settled)
        if self.on_applied is not None:
            self.on_applied(applied)
        return settled
