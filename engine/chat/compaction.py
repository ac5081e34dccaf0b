"""Long conversations made shorter: all but the last turns become a summary. Pure; who writes the summary is not known.

Source: spec assistant, B2.4. It is decided before a turn begins, never in the middle of one, and is one of the few
events that change what was sent. The conversation that people read stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.models.tokens import estimate_tokens
from engine.models.wire.base import ChatMessage
from engine.models.wire.parts import ThinkingPart, ToolCall

HEADER: Final = "Summary of the conversation so far:"
ACKNOWLEDGED: Final = "Understood. I go on from there."
GROWTH: Final = 1.1
"""How much a history must have grown before a summary that failed is tried again."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A history to be shortened: `older` is what is summarised, `kept` the last turns, without their reasoning."""

    older: tuple[ChatMessage, ...]
    kept: tuple[ChatMessage, ...]

    def with_summary(self, summary: str) -> tuple[ChatMessage, ...]:
        """The history that takes the place of the old one."""
        return (
            ChatMessage("user", f"{HEADER}\n\n{summary.strip()}"),
            ChatMessage("assistant", ACKNOWLEDGED),
            *self.kept,
        )


def compaction_of(
    history: Sequence[ChatMessage], at: int | None, keep: int, *, failed_at: int = 0
) -> Compaction | None:
    """What to shorten before a turn; None when nothing is to be.

    That is when `at` (tokens, estimated; None: never) is not exceeded, when there is nothing older than the last `keep`
    turns, or when a summary failed at `failed_at` tokens and the history has not grown by a tenth since.
    """
    if at is None:
        return None
    size = history_tokens(history)
    if size <= at or (failed_at and size < failed_at * GROWTH):
        return None
    begins = [index for index, message in enumerate(history) if message.role == "user"]
    if len(begins) <= keep:
        return None
    first = begins[-keep] if keep > 0 else len(history)
    older = tuple(history[:first])
    return Compaction(older, tuple(map(_without_thinking, history[first:]))) if older else None


def history_tokens(history: Sequence[ChatMessage]) -> int:
    """Estimated tokens of a history, the arguments of calls included."""
    return sum(
        estimate_tokens(message.content)
        + sum(estimate_tokens(f"{part.name} {part.arguments}") for part in message.parts if isinstance(part, ToolCall))
        for message in history
    )


def _without_thinking(message: ChatMessage) -> ChatMessage:
    parts = tuple(part for part in message.parts if not isinstance(part, ThinkingPart))
    return message if parts == message.parts else replace(message, parts=parts)
