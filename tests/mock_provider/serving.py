"""Mock providers for tests that wait: they run on a thread of their own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.mock_provider.server import MockProvider, Script, mock_provider

Serve = Callable[..., MockProvider]


@contextmanager
def serving() -> Iterator[Serve]:
    """A function that starts a mock provider: `serve(script, …)`. All of them end with the context."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    ends: list[tuple[asyncio.Event, concurrent.futures.Future[None]]] = []

    def start(*scripts: Script) -> MockProvider:
        begun: concurrent.futures.Future[tuple[MockProvider, asyncio.Event]] = concurrent.futures.Future()

        async def run() -> None:
            over = asyncio.Event()
            async with mock_provider(*scripts) as mock:
                begun.set_result((mock, over))
                await over.wait()

        running = asyncio.run_coroutine_threadsafe(run(), loop)
        mock, over = begun.result(10)
        ends.append((over, running))
        return mock

    yield start
    for over, running in ends:
        loop.call_soon_threadsafe(over.set)
        running.result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()
