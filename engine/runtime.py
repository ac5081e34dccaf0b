"""The engine's own thread and event loop: what waits is done here, so a frozen interface delays nothing.

The terminal's output can block (a stalled SSH link stops the interface's loop within a third of a second); streaming,
scripts, saving and watching go on.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

CLOSED = "the engine was closed"


class Runtime:
    """A thread with an asyncio loop, two worker threads for blocking calls and one for writes.

    Threads are made when first needed. Every method is thread-safe. Work answers through `concurrent.futures.Future`:
    `.result()` for a caller that may wait, `asyncio.wrap_future` for one that may not. After `close` each raises
    `RuntimeError`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pool = concurrent.futures.ThreadPoolExecutor(2, "engine-io")
        self._writer = concurrent.futures.ThreadPoolExecutor(1, "engine-writer")
        self._closed = False

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the engine's loop."""
        # The loop can't be stopped between being found and being given the coroutine, which would then never run.
        with self._lock:
            if self._closed:
                coroutine.close()
                raise RuntimeError(CLOSED)
            return asyncio.run_coroutine_threadsafe(coroutine, self._started())

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> concurrent.futures.Future[T]:
        """Run a blocking function on a worker thread."""
        return self._pool.submit(function, *args, **kwargs)

    def write(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> concurrent.futures.Future[T]:
        """As `call`, for what must not be lost: done one after another, behind nothing else, and never dropped."""
        return self._writer.submit(function, *args, **kwargs)

    def close(self) -> None:
        """Finish all writes and the calls already begun, cancel what runs on the loop, end the threads."""
        with self._lock:
            self._closed = True
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
        self._writer.shutdown(wait=True)
        self._pool.shutdown(wait=True, cancel_futures=True)
        if thread is not None:
            thread.join(5)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=(self._loop,), name="engine", daemon=True)
            self._thread.start()
        return self._loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
