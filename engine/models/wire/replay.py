"""The replay wire: streams the answer of a generation log once more, whatever is asked.

Source of the log's fields: spec context-blocks, section 1.10.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from engine.models.tokens import estimate_tokens
from engine.models.wire.base import Failure, Request, Start, Stop, StopReason, Text, Thinking, Usage
from engine.models.wire.pacing import WORDS_PER_SECOND, checked_pace, paced, pieces_of

if TYPE_CHECKING:
    from engine.models.wire.events import Event

_REASONS: dict[str, StopReason] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool-calls": "tool_use",
    "content-filter": "refusal",
    "error": "error",
    "cancelled": "cancelled",
}


class ReplayWire:
    """The text, reasoning, usage and end of one generation log, at a pace of `words_per_second` (0: at once).

    A field that is missing or of a wrong type counts as absent; without text the stream is one `Failure`.
    """

    def __init__(self, log: Mapping[str, Any], *, words_per_second: float = WORDS_PER_SECOND) -> None:
        identity = _text(log, "id") or "a log without an id"
        self.name = f"replay:{identity}"
        self.label = f"replay of {identity}"
        self._log = log
        self._pace = checked_pace(words_per_second)

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """The logged answer as events; `request` only serves to estimate the usage where the log has none."""
        text = _text(self._log, "generatedText")
        if not text:
            yield Failure("not_found", f"{self.label}: the log holds no text; choose another log to replay")
            return
        yield Start(_text(self._log, "model"))
        async for piece in paced(pieces_of(_text(self._log, "reasoning")), self._pace):
            yield Thinking(piece)
        async for piece in paced(pieces_of(text), self._pace):
            yield Text(piece)
        yield self._usage(request, text)
        raw = _text(self._log, "finishReason")
        yield Stop(_REASONS.get(raw, "end_turn"), raw)

    def _usage(self, request: Request, text: str) -> Usage:
        logged = self._log.get("totalUsage")
        if isinstance(logged, Mapping):
            sent, received = logged.get("inputTokens"), logged.get("outputTokens")
            if isinstance(sent, int) and isinstance(received, int):
                return Usage(sent, received)
        return Usage(sum(estimate_tokens(message.content) for message in request.messages), estimate_tokens(text))


def _text(log: Mapping[str, Any], key: str) -> str:
    value = log.get(key)
    return value if isinstance(value, str) else ""
