"""How far one call to a model has come, told at most four times a second. Pure; the time comes in.

Source: spec assistant, B4, for the fields, the estimates and when something is told.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from engine.models.wire.base import Failure, Request, Start, Stop, Text, Thinking, Usage
from engine.models.wire.events import Event, Retry, ToolArgs, ToolStart

ProgressPhase = Literal["waiting", "thinking", "text", "tool", "done", "error"]

INTERVAL: Final = 0.25
"""Seconds between two events of one phase."""
TARGET_WITHIN: Final = 400
"""Characters of a call's arguments in which its target is looked for."""
_TARGET: Final = re.compile(
    r'"(?:path|file|filename|id|fragmentId|agent)"\s*:\s*("(?:[^"\\]|\\.)*")'
    r'|"fragmentIds"\s*:\s*\[\s*("(?:[^"\\]|\\.)*")'
)


def rough_tokens(text: str) -> int:
    """The tokens of a text that grows, by a formula that costs nothing: four ASCII characters one, others one each."""
    plain = len(text.encode("ascii", "ignore"))
    return math.ceil(plain / 4 + (len(text) - plain))


@dataclass(frozen=True, slots=True)
class Progress:
    """One call as it stands. Times are milliseconds since 1970, None is not known yet."""

    phase: ProgressPhase
    provider: str
    model: str
    step: int
    started_at: int
    at: int
    out_chars: int
    out_tokens_estimate: int
    in_tokens: int
    in_estimated: bool
    in_detail: Mapping[str, int] | None = None
    tool: str | None = None
    target: str | None = None
    out_tokens: int | None = None
    usage: Mapping[str, Any] | None = None
    stop_reason: str | None = None
    error: str | None = None
    turn: Mapping[str, int] | None = None
    answered_by: str | None = None
    """The name under which the model answers, where it is another one."""

    def as_json(self) -> dict[str, Any]:
        """With the field names of the source and one of ours, `answeredBy`; what is not known is left out."""
        fields: dict[str, Any] = {
            "phase": self.phase,
            "tool": self.tool,
            "target": self.target,
            "outChars": self.out_chars,
            "outTokensEst": self.out_tokens_estimate,
            "outTokens": self.out_tokens,
            "inTokens": self.in_tokens,
            "inEstimated": self.in_estimated,
            "inDetail": self.in_detail,
            "provider": self.provider,
            "model": self.model,
            "answeredBy": self.answered_by,
            "step": self.step,
            "startedAt": self.started_at,
            "at": self.at,
            "usage": self.usage,
            "stopReason": self.stop_reason,
            "error": self.error,
            "turn": self.turn,
        }
        return {key: value for key, value in fields.items() if value is not None}


@dataclass(slots=True)
class TurnTotals:
    """Sums over the finished calls of a turn: `started_at` in milliseconds, the calls, and their tokens."""

    started_at: int
    calls: int = 0
    out_tokens: int = 0
    in_tokens: int = 0


class CallProgress:
    """Follows one call: `begin` it, `add` each event; what is to be told goes to `tell`.

    `now` gives seconds since 1970. `totals` is shared by the calls of one turn.
    """

    def __init__(
        self,
        request: Request,
        step: int,
        totals: TurnTotals,
        tell: Callable[[Progress], None],
        now: Callable[[], float],
        provider: str,
    ) -> None:
        self._step, self._totals, self._tell, self._now = step, totals, tell, now
        self._provider, self._model, self._answered_by = provider, request.model, ""
        self._phase: ProgressPhase = "waiting"
        self._tool: str | None = None
        self._target: str | None = None
        self._arguments = ""
        self._chars = self._plain = 0
        self._usage: Usage | None = None
        self._in_estimate = estimate_of(request)
        self._started = self._told = now()
        self._over = False

    @property
    def tool(self) -> str | None:
        """The tool whose arguments arrive, or arrived last."""
        return self._tool

    @property
    def target(self) -> str | None:
        """What the call of the tool is about, once that is known."""
        return self._target

    @property
    def out_estimate(self) -> int:
        """Tokens that have arrived, estimated."""
        return math.ceil(self._plain / 4 + (self._chars - self._plain))

    @property
    def in_tokens(self) -> int:
        """Tokens that were sent: estimated until the provider reports."""
        return self._in_estimate if self._in_estimated else self._usage.input_tokens  # type: ignore[union-attr]

    @property
    def _in_estimated(self) -> bool:
        return self._usage is None or self._usage.input_tokens <= 0

    def begin(self) -> None:
        """The request was sent."""
        self._emit()

    def add(self, event: Event) -> None:
        """Take in the next event of the stream."""
        if isinstance(event, Thinking):
            self._grow("thinking", event.text)
        elif isinstance(event, Text):
            self._grow("text", event.text)
        elif isinstance(event, ToolStart):
            changed = self._phase != "tool" or self._tool != event.name
            self._phase, self._tool, self._target, self._arguments = "tool", event.name, None, ""
            self._due(changed)
        elif isinstance(event, ToolArgs):
            if len(self._arguments) < TARGET_WITHIN:
                self._arguments = (self._arguments + event.fragment)[:TARGET_WITHIN]
                if self._target is None:
                    self._target = target_of(self._arguments)
            self._grow("tool", event.fragment)
        elif isinstance(event, Start):
            self._model = self._model or event.model
            self._answered_by = event.model if event.model != self._model else ""
        elif isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, Retry):
            self._phase = "waiting"
            self._emit()
        elif isinstance(event, Stop):
            self._end("done", stop=event.reason)
        elif isinstance(event, Failure):
            self._end("error", error=event.message)

    def close(self) -> None:
        """The call was ended from outside: count what arrived."""
        if not self._over:
            self._end("error", error="stopped")

    def _grow(self, phase: ProgressPhase, text: str) -> None:
        self._chars += len(text)
        self._plain += len(text.encode("ascii", "ignore"))
        changed = self._phase != phase
        self._phase = phase
        self._due(changed)

    def _due(self, changed: bool) -> None:
        if changed or self._now() - self._told >= INTERVAL:
            self._emit()

    def _end(self, phase: ProgressPhase, *, stop: str | None = None, error: str | None = None) -> None:
        self._phase, self._over = phase, True
        usage = self._usage
        out = usage.output_tokens if usage is not None and usage.output_tokens > 0 else None
        self._emit(out=out, stop=stop, error=error)
        self._totals.calls += 1
        self._totals.out_tokens += self.out_estimate if out is None else out
        self._totals.in_tokens += self.in_tokens

    def _emit(self, *, out: int | None = None, stop: str | None = None, error: str | None = None) -> None:
        now = self._told = self._now()
        usage, totals = self._usage, self._totals
        detail = None
        if usage is not None and not self._in_estimated:
            read, written = usage.cached_tokens or 0, usage.cache_written_tokens or 0
            detail = {"input": usage.input_tokens - read - written, "cacheRead": read, "cacheWrite": written}
        self._tell(
            Progress(
                phase=self._phase,
                provider=self._provider,
                model=self._model,
                answered_by=self._answered_by or None,
                step=self._step,
                started_at=round(self._started * 1000),
                at=round(now * 1000),
                out_chars=self._chars,
                out_tokens_estimate=self.out_estimate,
                in_tokens=self.in_tokens,
                in_estimated=self._in_estimated,
                in_detail=detail,
                tool=self._tool if self._phase == "tool" else None,
                target=self._target if self._phase == "tool" else None,
                out_tokens=out,
                usage=usage_document(usage) if self._over and usage is not None else None,
                stop_reason=stop,
                error=error,
                turn={
                    "startedAt": totals.started_at,
                    "calls": totals.calls + 1,
                    "outTokens": totals.out_tokens + (self.out_estimate if out is None else out),
                    "inTokens": totals.in_tokens + self.in_tokens,
                },
            )
        )


def target_of(arguments: str) -> str | None:
    """What a call is about, from the beginning of its arguments; None until a text that says so is complete."""
    found = _TARGET.search(arguments[:TARGET_WITHIN])
    if found is None:
        return None
    try:
        text = json.loads(found[1] or found[2])
    except ValueError:
        return None
    return text if isinstance(text, str) else None


def estimate_of(request: Request) -> int:
    """The tokens of a request, by the rough formula over what is sent."""
    total = sum(rough_tokens(message.content) for message in request.messages)
    total += sum(rough_tokens(call.arguments) for message in request.messages for call in message.calls)
    if request.tools:
        total += sum(
            rough_tokens(declared_text(tool.name, tool.description, tool.parameters)) for tool in request.tools
        )
    return total


def declared_text(name: str, description: str, parameters: Mapping[str, Any]) -> str:
    """A tool as the JSON text it costs."""
    document = {"name": name, "description": description, "parameters": parameters}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=dict)


def usage_document(usage: Usage) -> dict[str, Any]:
    """What a provider reported, as JSON; what it did not report is left out."""
    fields = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cachedTokens": usage.cached_tokens,
        "cacheWrittenTokens": usage.cache_written_tokens,
        "reasoningTokens": usage.reasoning_tokens,
        "cost": usage.cost,
    }
    return {key: value for key, value in fields.items() if value is not None}
