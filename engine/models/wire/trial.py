"""A small call that shows whether a provider answers."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from engine.models.wire.answer import Answer
from engine.models.wire.base import ChatMessage, Failure, ModelWire, Request, Usage, Wire

ASKED: Final = Request((ChatMessage("user", "Answer with the one word: yes"),), "", max_output_tokens=64, cache=False)


@dataclass(frozen=True, slots=True)
class Trial:
    """How a small call went: the model that answered, its text, after how many seconds; or why it failed."""

    model: str
    text: str
    seconds: float
    usage: Usage | None
    warnings: tuple[str, ...]
    failure: Failure | None


async def try_wire(wire: Wire) -> Trial:
    """Ask a wire for a word. It costs a few tokens."""
    answer = Answer()
    begun = time.monotonic()
    async with aclosing(wire.stream(ASKED)) as events:
        async for event in events:
            answer.add(event)
    return Trial(
        (answer.start.model if answer.start is not None else "") or (wire.model if isinstance(wire, ModelWire) else ""),
        answer.text,
        time.monotonic() - begun,
        answer.usage,
        tuple(warning.message for warning in answer.warnings),
        answer.failure,
    )
