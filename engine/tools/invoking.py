"""`invokeAgent`: an agent has another one do a task. How that one is run is given by whoever runs the first.

Source: spec, section 10.3, for the limits: depth 3, 20 calls, five minutes, no agent below itself, allowed targets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from engine.agents import agent
from engine.errors import NotFound, WrongInput
from engine.story import Fragment, StorySnapshot
from engine.text import cut, utf16_length
from engine.tools.schema import ToolInput
from engine.tools.tool import Tool, ToolResult

if TYPE_CHECKING:
    from engine.tools.host import Host

MAX_DEPTH: Final = 3
MAX_CALLS: Final = 20
TIMEOUT: Final = 300.0
"""Seconds an invoked agent has."""
OUTPUT_LIMIT: Final = 50_000
"""UTF-16 units of an invoked agent's answer."""

ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {
    "librarian.chat": (
        "librarian.analyze",
        "librarian.refine",
        "librarian.optimize-character",
        "directions.suggest",
    ),
}
"""Whom an agent may invoke; nobody where it is not named."""


class InvokeAgent(ToolInput):
    agent: str = Field(description="The agent that is to do it, such as librarian.analyze.")
    input: str = Field("", max_length=20_000, description="What it is to do.")
    fragmentId: str | None = Field(None, description="The fragment it is about, for an agent that needs one.")


@dataclass(frozen=True, slots=True)
class Invocation:
    """What an agent is to be run for; `calls` belongs into the host of that run."""

    agent: str
    input: str
    fragment: Fragment | None
    calls: Calls


@dataclass(frozen=True, slots=True)
class Invoked:
    """What came of it: the agent's answer, and what else is worth telling (as JSON)."""

    text: str
    details: Mapping[str, Any] = field(default_factory=dict)


Execute = Callable[[Invocation], Awaitable[Invoked]]


@dataclass(slots=True)
class _Count:
    made: int = 0


@dataclass(frozen=True, slots=True)
class Calls:
    """The invocations below one run: `chain` are the agents from the run's own to this one.

    `allowed` is whom this agent may invoke. The count is shared by all that run below the same first run.
    """

    chain: tuple[str, ...]
    execute: Execute
    allowed: tuple[str, ...]
    timeout: float = TIMEOUT
    _count: _Count = field(default_factory=_Count)
    _limits: tuple[asyncio.Timeout, ...] = ()
    """The time limits under way, of this run and of those above it."""

    @property
    def depth(self) -> int:
        """How many agents stand above this one."""
        return len(self.chain) - 1

    @property
    def made(self) -> int:
        """How many invocations there have been below the first run."""
        return self._count.made

    async def invoke(self, name: str, task: str, fragment_id: str | None, snapshot: StorySnapshot) -> Invoked:
        """Run another agent. Raises `WrongInput` and `NotFound` for what can't be, and what its run raises."""
        self._check(name)
        fragment = _subject(name, fragment_id, snapshot)
        self._count.made += 1
        try:
            async with asyncio.timeout(self.timeout) as limit:
                limits = (*self._limits, limit)
                below = Calls(
                    (*self.chain, name), self.execute, ALLOWED.get(name, ()), self.timeout, self._count, limits
                )
                return await self.execute(Invocation(name, task, fragment, below))
        except TimeoutError:
            if not limit.expired():  # a time limit of something below
                raise
            raise WrongInput(f"{name} was not done after {self.timeout:g} seconds and was stopped") from None

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        """While the author decides: that time is none of the invoked agents', so their limits move on by it."""
        loop = asyncio.get_running_loop()
        begun, ends = loop.time(), [limit.when() for limit in self._limits]
        for limit in self._limits:
            limit.reschedule(None)
        try:
            yield
        finally:
            for limit, end in zip(self._limits, ends, strict=True):
                if end is not None:
                    limit.reschedule(end + loop.time() - begun)

    def _check(self, name: str) -> None:
        if name in self.chain:
            raise WrongInput(f"{name} is at work already: {' → '.join(self.chain)}")
        if name not in self.allowed:
            raise WrongInput(
                f"{cut(name, 100)} can't be invoked by {self.chain[-1]}",
                repair=f"agents: {', '.join(self.allowed) or 'none'}",
            )
        if self.depth >= MAX_DEPTH:
            raise WrongInput(f"agents can't be nested deeper than {MAX_DEPTH}: {' → '.join(self.chain)}")
        if self._count.made >= MAX_CALLS:
            raise WrongInput(f"{MAX_CALLS} agents have been invoked in this run, which is as many as may be")


def calls_of(name: str, execute: Execute) -> Calls:
    """The calls of a run of an agent that nobody invoked."""
    return Calls((name,), execute, ALLOWED.get(name, ()))


def _subject(name: str, fragment_id: str | None, snapshot: StorySnapshot) -> Fragment | None:
    subject = agent(name).subject
    if subject is None:
        return None
    if not fragment_id:
        kinds = " or ".join(subject.types) or "any type"
        raise WrongInput(f"fragmentId: is missing; {name} needs a fragment of {kinds}")
    fragment = snapshot.get(fragment_id)
    if fragment is None:
        raise NotFound(f"fragmentId: there is no fragment {fragment_id[:100]}")
    if subject.types and fragment.type not in subject.types:
        raise WrongInput(f"fragmentId: {fragment_id} is {fragment.type}; {name} needs {' or '.join(subject.types)}")
    return fragment


async def _invoke(given: InvokeAgent, host: Host) -> ToolResult:
    if host.calls is None:
        raise WrongInput("this run can't invoke other agents")
    snapshot = await asyncio.to_thread(host.snapshot)
    invoked = await host.calls.invoke(given.agent, given.input, given.fragmentId, snapshot)
    value: dict[str, Any] = {"agent": given.agent, "output": cut(invoked.text, OUTPUT_LIMIT)}
    if utf16_length(invoked.text) > OUTPUT_LIMIT:
        value["outputCut"] = True
    return ToolResult({**invoked.details, **value})


INVOKE_AGENT: Final = Tool("invokeAgent", InvokeAgent, _invoke)
