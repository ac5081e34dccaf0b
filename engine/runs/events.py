"""What a run tells while it goes on: the reference's stream events, and ours for warnings, failures and progress.

Source: spec context-blocks, section 10.4 (names and fields); the reference has no event for a warning or a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.models.wire.base import Failure
from engine.runs.progress import Progress
from engine.tools.collected import Direction, Question

Stage = Literal["prewriting", "writing"]


@dataclass(frozen=True, slots=True)
class PhaseEvent:
    """A run with a prewriter begins to plan, or to write."""

    phase: Stage

    def as_json(self) -> dict[str, Any]:
        return {"type": "phase", "phase": self.phase}


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A piece of the answer; `prewriter`: of the brief."""

    text: str
    prewriter: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"type": "prewriter-text" if self.prewriter else "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class PrewriterResetEvent:
    """The brief begins again: only the text of the prewriter's last step is one."""

    def as_json(self) -> dict[str, Any]:
        return {"type": "prewriter-reset"}


@dataclass(frozen=True, slots=True)
class ReasoningEvent:
    """A piece of what the model thinks before it answers."""

    text: str

    def as_json(self) -> dict[str, Any]:
        return {"type": "reasoning", "text": self.text}


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A tool is called; `arguments` is an object, or the text that is none."""

    id: str
    tool: str
    arguments: Any

    def as_json(self) -> dict[str, Any]:
        return {"type": "tool-call", "id": self.id, "toolName": self.tool, "args": self.arguments}


@dataclass(frozen=True, slots=True)
class ToolResultEvent:
    """What a call gave."""

    id: str
    tool: str
    result: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"type": "tool-result", "id": self.id, "toolName": self.tool, "result": dict(self.result)}


@dataclass(frozen=True, slots=True)
class DirectionsEvent:
    """Directions were proposed; `prewriter`: by the prewriter, before anything is written."""

    directions: tuple[Direction, ...]
    prewriter: bool = False

    def as_json(self) -> dict[str, Any]:
        kind = "prewriter-directions" if self.prewriter else "directions"
        return {"type": kind, "directions": [direction.document() for direction in self.directions]}


@dataclass(frozen=True, slots=True)
class ClarifyEvent:
    """The prewriter asks the author; `round` counts the rounds from 1, this one included."""

    questions: tuple[Question, ...]
    round: int

    def as_json(self) -> dict[str, Any]:
        questions = [question.document() for question in self.questions]
        return {"type": "clarify-questions", "questions": questions, "round": self.round}


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """How far a call has come; see `engine.runs.progress`."""

    progress: Progress

    def as_json(self) -> dict[str, Any]:
        return {"type": "progress", **self.progress.as_json()}


@dataclass(frozen=True, slots=True)
class WarningEvent:
    """Something the person should know that did not stand in the way; `field` is the parameter it is about, if any."""

    message: str
    field: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"type": "warning", "message": str(self.message), **({"field": self.field} if self.field else {})}


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """The run failed. Fields that nothing is known of are left out."""

    failure: Failure

    def as_json(self) -> dict[str, Any]:
        told = self.failure
        fields: dict[str, Any] = {
            "kind": told.kind,
            "message": told.message,
            "status": told.status,
            "said": told.said,
            "code": told.code,
            "requestId": told.request_id,
            "retryAfter": told.retry_after,
            "cause": told.cause,
            "advice": told.advice,
            "truncated": told.truncated,
        }
        return {"type": "error", **{key: value for key, value in fields.items() if value not in (None, "", False)}}


@dataclass(frozen=True, slots=True)
class FinishEvent:
    """The run is over; `reason` as a log has it, `steps` are the calls of models that were made."""

    reason: str
    steps: int
    stopped: bool = False

    def as_json(self) -> dict[str, Any]:
        stopped = {"stopped": True} if self.stopped else {}
        return {"type": "finish", "finishReason": self.reason, "stepCount": self.steps, **stopped}


RunEvent = (
    PhaseEvent
    | TextEvent
    | PrewriterResetEvent
    | ReasoningEvent
    | ToolCallEvent
    | ToolResultEvent
    | DirectionsEvent
    | ClarifyEvent
    | ProgressEvent
    | WarningEvent
    | ErrorEvent
    | FinishEvent
)
