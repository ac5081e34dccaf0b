"""A wire that answers each request with the next of its scripts: events, exceptions to raise, gates to wait at."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

from engine.models.wire.base import Request, Start, Stop, Text, Usage
from engine.models.wire.events import Event, ToolArgs, ToolEnd, ToolStart

COUNTED = Usage(100, 10, 40)
Step = Event | Exception | threading.Event


class Scripted:
    """Keeps the requests it was sent; the last script answers all that follow."""

    label = "a scripted wire"

    def __init__(self, *scripts: list[Step], name: str = "scripted") -> None:
        self.name = name
        self.scripts = list(scripts)
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(request)
        for step in script:
            if isinstance(step, threading.Event):
                step.set()
                await asyncio.sleep(60)
            elif isinstance(step, Exception):
                raise step
            else:
                yield step


def says(*pieces: str, reason: Any = "end_turn", usage: Usage | None = COUNTED) -> list[Step]:
    """An answer of text."""
    counted: list[Step] = [usage] if usage is not None else []
    return [Start("m-1", "req-1", "hash"), *map(Text, pieces), *counted, Stop(reason)]


def calls(*called: tuple[str, Any], text: str = "", usage: Usage = COUNTED) -> list[Step]:
    """An answer that calls tools, each with its arguments."""
    steps: list[Step] = [Start("m-1", "req-1", "hash")]
    if text:
        steps.append(Text(text))
    for index, (name, arguments) in enumerate(called):
        given = arguments if isinstance(arguments, str) else json.dumps(arguments)
        steps += [ToolStart(index, f"call-{index}", name), ToolArgs(index, given), ToolEnd(index)]
    return [*steps, usage, Stop("tool_use")]
