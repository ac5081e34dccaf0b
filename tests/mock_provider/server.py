"""The mock provider: a real HTTP server on loopback, playing one script for each request.

A script is a list of steps, as the checklist has them (spec provider-wire, C5): `Sse`, `Raw`, `Sleep`, `Close` and
`Reply`. Requests are kept as they came, byte for byte.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sse:
    """One event of a stream; `data` is JSON, or text as it is."""

    data: Any
    event: str = ""
    newline: str = "\n"

    def encoded(self) -> bytes:
        text = self.data if isinstance(self.data, str) else json.dumps(self.data, ensure_ascii=False)
        name = f"event: {self.event}{self.newline}" if self.event else ""
        return f"{name}data: {text}{self.newline}{self.newline}".encode()


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, in a chunk of their own."""

    data: bytes


@dataclass(frozen=True)
class Sleep:
    """A pause."""

    seconds: float


@dataclass(frozen=True)
class Close:
    """The connection breaks: what was sent is cut off, the end of the response never comes."""


@dataclass(frozen=True)
class Reply:
    """A response that is no stream: an error, a list, an answer in one piece."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


Step = Sse | Raw | Sleep | Close | Reply
Script = Sequence[Step]


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


class MockProvider:
    """Plays `scripts`, one for each request and the last one for all that follow."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.scripts = list(scripts)
        self.received: list[Received] = []
        self.closed_by_client = asyncio.Event()
        self.base_url = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.closed_by_client.set()
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        line = await reader.readline()
        if not line:
            return False
        method, path, _ = line.decode("latin-1").split(" ", 2)
        headers: dict[str, str] = {}
        while (line := await reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.received.append(Received(method, path, headers, body))
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        watch = asyncio.create_task(reader.read(1))
        try:
            return await self._play(script, writer, watch)
        finally:
            watch.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await watch

    async def _play(self, script: Script, writer: asyncio.StreamWriter, watch: asyncio.Task[bytes]) -> bool:
        begun = False
        for step in script:
            if isinstance(step, Reply):
                await self._reply(step, writer)
                return False
            if isinstance(step, Sleep):
                await asyncio.wait((watch,), timeout=step.seconds)
                if watch.done():
                    self.closed_by_client.set()
                    return False
                continue
            if not begun:
                begun = True
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req-mock\r\n"
                    b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
                )
            if isinstance(step, Close):
                await writer.drain()
                return False
            data = step.encoded() if isinstance(step, Sse) else step.data
            if data:
                writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return False

    async def _reply(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        data = text.encode()
        kind = "text/html" if isinstance(reply.body, str) else "application/json"
        headers = {"content-type": kind, "content-length": str(len(data)), "connection": "close", **reply.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{lines}\r\n".encode() + data)
        await writer.drain()


@asynccontextmanager
async def mock_provider(*scripts: Script) -> AsyncIterator[MockProvider]:
    """A running mock provider; `base_url` is its address, with the /v1 that clients expect."""
    mock = MockProvider(scripts)
    server = await asyncio.start_server(mock.handle, "127.0.0.1", 0)
    mock.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield mock
    finally:
        server.close()
        await mock.stop()
        await server.wait_closed()
