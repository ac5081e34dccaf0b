"""A prompt as the request that is sent for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.blocks.compile import Message
from engine.models.wire.base import ChatMessage, Request
from engine.models.wire.parts import Tool
from engine.prompt import Prompt

VOLATILE: Final = ("author-input", "writing-brief", "planning-request")
"""Blocks that are another in every request; the first of these that a prompt has counts (spec context-blocks, 6)."""


def request_of(
    prompt: Prompt,
    model: str = "",
    max_output_tokens: int | None = None,
    tools: tuple[Tool, ...] = (),
    history: tuple[ChatMessage, ...] = (),
) -> Request:
    """The request for a prompt, with the `history` behind it; what is left out is the wire's choice."""
    return Request((*chat_messages(prompt.messages), *history), model, max_output_tokens, tools=tools)


def chat_messages(messages: Iterable[Message]) -> tuple[ChatMessage, ...]:
    """The messages with a breakpoint where what later requests share ends: before the block that changes each time.

    Where the author put that block earlier, everything behind it is sent anew each time. It is found by its span, never
    by text that looks like its marker.
    """
    return tuple(ChatMessage(message.role, message.content, breakpoints=_breakpoints(message)) for message in messages)


def _breakpoints(message: Message) -> tuple[int, ...]:
    if message.role != "user":
        return ()
    for block_id in VOLATILE:
        for span in message.spans:
            if span.block.id == block_id:
                shared = len(message.content[: span.start].rstrip())
                return (shared,) if shared else ()
    return ()
