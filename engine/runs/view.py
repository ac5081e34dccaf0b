"""A run as it stands: an immutable snapshot for whoever shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.models.wire.base import Failure
from engine.tools.applying import Applied
from engine.tools.collected import Direction, Question
from engine.tools.host import Decision
from engine.tools.plan import Plan

Phase = Literal["waiting", "prewriting", "thinking", "writing", "tool", "asking", "done", "stopped", "failed"]
FINISHED: tuple[Phase, ...] = ("done", "stopped", "failed")


@dataclass(frozen=True, slots=True)
class CallView:
    """A call of a tool: `arguments` is an object, or the text that is none; `result` None while it is at work."""

    id: str
    name: str
    arguments: Any
    result: Mapping[str, Any] | None = None
    failed: bool = False
    step: int = 1


@dataclass(frozen=True, slots=True)
class RetryView:
    """A call that failed is tried again after `seconds`; `attempt` counts from 1."""

    reason: str
    seconds: float
    attempt: int


@dataclass(frozen=True, slots=True)
class PlanView:
    """Changes that an agent planned, and what became of them; of those that `waits` the run itself waits."""

    id: str
    plan: Plan
    decision: Decision
    waits: bool = False
    applied: Applied | None = None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it stands.

    `text` so far; `seconds` since it began; tokens of all its steps (the wire's figures, `estimated` else).
    `model` was asked, `answered_by` is the name under which it answers, where that is another one.
    `rewritten`: a hook changed the text after it had arrived; `warnings`: what the wire warned of, and hooks that were
    skipped. `finish` is why it ended, in the wire's words, or `clarify`; `failure` is one line, `error` the whole.
    `step` of `max_steps` is the call to the model under way, of the prewriter while that plans; `tool` the one at work,
    `target` what it is about. Without `brief` there is no prewriter. In phase `asking` it waits for the author: for the
    `plans` that wait, or for what becomes of the brief (`reviewing`).
    """

    phase: Phase
    text: str
    seconds: float
    input_tokens: int
    output_tokens: int
    model: str
    finish: str
    failure: str
    rewritten: bool = False
    warnings: tuple[str, ...] = ()
    thoughts: str = ""
    brief: str | None = None
    brief_thoughts: str = ""
    reviewing: bool = False
    step: int = 0
    max_steps: int = 0
    steps_exceeded: bool = False
    tool: str = ""
    target: str = ""
    cached_tokens: int | None = None
    estimated: bool = False
    calls: tuple[CallView, ...] = ()
    brief_calls: tuple[CallView, ...] = ()
    plans: tuple[PlanView, ...] = ()
    directions: tuple[Direction, ...] = ()
    questions: tuple[Question, ...] = ()
    retry: RetryView | None = None
    error: Failure | None = None
    log_id: str = ""
    answered_by: str = ""

    @property
    def finished(self) -> bool:
        return self.phase in FINISHED

    @property
    def waiting_plans(self) -> tuple[PlanView, ...]:
        """The plans that the author has not decided on."""
        return tuple(plan for plan in self.plans if plan.decision == "waiting")
