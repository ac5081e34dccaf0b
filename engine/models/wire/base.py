"""What every wire takes and yields: a `Request` in, a stream of normalised events out.

Source: spec provider-wire, C0 (events) and C4 (kinds of failure).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Literal, Protocol

StopReason = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "pause",
    "context_full",
    "error",
    "cancelled",
]

FailureKind = Literal[
    "auth",
    "credits",
    "throttled",
    "overloaded",
    "upstream",
    "network",
    "abort",
    "too_large",
    "bad_request",
    "not_found",
]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt, exactly as it is sent."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One call to a model. None leaves a choice to the wire; `stop` texts end the answer and are no part of it."""

    messages: tuple[ChatMessage, ...]
    model: str
    max_output_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    """The answer begins; `model` is the one that answers."""

    model: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer; the pieces joined are the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of the whole call so far; a later one replaces an earlier one."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The answer is over; `raw` is the reason in the provider's own word."""

    reason: StopReason
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The call failed; text that came before stays valid. `message` is one line for the person.

    `status` is the HTTP status and `retry_after` the seconds to wait, where there are any.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after: float | None = None


Event = Start | Thinking | Text | Usage | Stop | Failure


class Wire(Protocol):
    """A way to reach a model. `name` identifies it, `label` is what the person reads."""

    name: str
    label: str

    def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """Send `request`; an async generator of `Start`, then pieces and usage, then one `Stop` or `Failure`.

        Closing the generator, or cancelling the task that reads it, ends the call. Failures of the provider are
        events, never exceptions.
        """
        ...
