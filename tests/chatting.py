"""A wire that answers by script, for tests of conversations."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

from engine.models.wire.base import Request, Start, Stop, Text
from engine.models.wire.events import ToolArgs, ToolEnd, ToolStart


def calling(name: str, **arguments: Any) -> list[Any]:
    """The events of a call of a tool."""
    return [ToolStart(0, "call-1", name), ToolArgs(0, json.dumps(arguments)), ToolEnd(0)]


RENAMING = calling(
    "editFragments",
    rationale="She said so.",
    operations=[
        {"op": "replace_text", "fragmentId": "ch-bafego", "oldText": "Counts everything twice.", "newText": "Counts."}
    ],
)
"""Ines is to count no more than once."""


class Scripted:
    """Answers with one script after the other: events, or texts; `...` waits until it is stopped."""

    name = label = "scripted"

    def __init__(self, *scripts: list[Any]) -> None:
        self._scripts: Iterator[list[Any]] = iter(scripts)
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[Any, None]:
        self.requests.append(request)
        yield Start("m-1")
        called = False
        for item in next(self._scripts):
            if item is ...:
                await asyncio.Event().wait()
            called = called or isinstance(item, ToolStart)
            yield Text(item) if isinstance(item, str) else item
            if isinstance(item, Stop):
                return
        yield Stop("tool_use" if called else "end_turn")

    def sent(self) -> list[tuple[str, str]]:
        """What the last request had behind the prompt."""
        messages = [(message.role, message.content) for message in self.requests[-1].messages]
        return messages[2:]
