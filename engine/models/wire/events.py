"""The events that only providers send: calls of tools, signatures, what is sent back unread, another try."""

from __future__ import annotations

from dataclasses import dataclass

from engine.models.wire.base import Failure, Start, Stop, Text, Thinking, Usage, Warned
from engine.models.wire.parts import OpaquePart


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of the reasoning that came just before, or of reasoning that is not shown."""

    signature: str


@dataclass(frozen=True, slots=True)
class ToolStart:
    """The model begins to call a tool; `index` tells calls apart that arrive together."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolArgs:
    """A piece of a call's arguments; the pieces joined are JSON, or nothing."""

    index: int
    fragment: str


@dataclass(frozen=True, slots=True)
class ToolEnd:
    """The arguments of a call are complete."""

    index: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part of the answer that has to be sent back unread."""

    part: OpaquePart


@dataclass(frozen=True, slots=True)
class Retry:
    """The call failed before anything arrived and is tried again after `seconds`; `attempt` counts from 1."""

    failure: Failure
    seconds: float
    attempt: int


Event = (
    Start
    | Thinking
    | Signature
    | Text
    | ToolStart
    | ToolArgs
    | ToolEnd
    | Opaque
    | Usage
    | Warned
    | Retry
    | Stop
    | Failure
)
