"""What every wire takes and yields: a `Request` in, a stream of normalised events out.

Every wire speaks these events; `parts` and `events` have what only real providers need, and is loaded with them.

Source: spec provider-wire, C0 (events) and C4 (kinds of failure).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from engine.models.wire.events import Event
    from engine.models.wire.parts import ForcedTool, Part, Tool, ToolCall

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

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: Final[tuple[Effort, ...]] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model is to think before it answers, from not at all upwards."""


# --- what is sent --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt, exactly as it is sent.

    `role` is system, user, assistant, or tool for the result of the call `call_id`. An assistant's message with
    anything but text in it has its `parts` in order; `content` is then their text. Before each of the `breakpoints`
    (characters of `content`) ends a beginning that later requests will share, so a provider may be told to cache it.
    """

    role: str
    content: str
    parts: tuple[Part, ...] = ()
    call_id: str = ""
    breakpoints: tuple[int, ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools it calls."""
        from engine.models.wire.parts import ToolCall

        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    def in_parts(self) -> tuple[Part, ...]:
        """Its parts, those of a plain text too."""
        from engine.models.wire.parts import TextPart

        return self.parts or ((TextPart(self.content),) if self.content else ())


@dataclass(frozen=True, slots=True)
class Request:
    """One call to a model. None leaves a choice to the wire; `stop` texts end the answer and are no part of it.

    `reasoning` is how much the model thinks first. `cache` allows hints to the provider's cache, `cache_key` names the
    requests that share a beginning.
    """

    messages: tuple[ChatMessage, ...]
    model: str
    max_output_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    verbosity: str | None = None
    reasoning: Effort | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: Literal["auto", "none", "required"] | ForcedTool | None = None
    parallel_tool_calls: bool | None = None
    cache: bool = True
    cache_key: str | None = None


# --- what comes back -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """The answer begins; `model` is the one that answers. A call that is tried again may begin again.

    `request_hash` is that of the body that was sent (see `request_hash` in `engine.models.wire.http`).
    """

    model: str
    request_id: str = ""
    request_hash: str = ""


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
    """Tokens of the whole call so far; a later one replaces an earlier one.

    `input_tokens` are all of the prompt, those read from and written to the provider's cache included; `cost` is in US
    dollars. None is not known.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None = None
    cache_written_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the person should know that did not stand in the way; `field` is the parameter it is about, if any."""

    message: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """The answer is over; `raw` is the reason in the provider's own word, `detail` what it said about it."""

    reason: StopReason
    raw: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The call failed; text that came before stays valid. `message` is one line for the person.

    `status` is the HTTP status and `retry_after` the seconds to wait, where there are any; `said` is the provider's own
    message, `code` its word for the error, `field` the part of the request it blames, `cause` what is likely behind it,
    `advice` what to do. `truncated`: the answer broke off. `should_retry` is the provider's word on trying again.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    request_id: str = ""
    said: str = ""
    code: str = ""
    field: str = ""
    cause: str = ""
    advice: str = ""
    truncated: bool = False
    should_retry: bool | None = None

    @property
    def keeps_progress(self) -> bool:
        """Whether the steps already done stay worth having, so that it can go on where it stopped (spec, C4)."""
        return self.kind in ("credits", "throttled", "overloaded", "upstream", "network", "abort")


class Wire(Protocol):
    """A way to reach a model. `name` identifies it, `label` is what the person reads."""

    name: str
    label: str

    def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """Send `request`; an async generator of `Start`, then pieces and usage, then one `Stop` or `Failure`.

        `Warned` and `Retry` may come between any two of them, before `Start`, too. Closing the generator, or
        cancelling the task that reads it, ends the call. Failures of the provider are
        events, never exceptions.
        """
        ...


@runtime_checkable
class ModelWire(Wire, Protocol):
    """A wire to a model: the one that is called, and the limit of its answer, where a request names none."""

    model: str

    @property
    def max_output_tokens(self) -> int | None: ...
