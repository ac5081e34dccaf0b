"""Being ended by a signal, as by a connection that drops or a machine that shuts down: nothing typed is lost.

Textual dies of these signals without unmounting anything or restoring the terminal (spec terminal, section 0.7). Here
they end the app in its own way: flush, leave the terminal as it was, exit with 128 and the signal's number. An app that
can't, because the terminal takes no output any more, is ended from a thread beside it once its edits are on disk.

A terminal that is closed does not always send a signal: not to a program that it does not control. Textual would read
its end over and over, at the full speed of a processor.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from textual.app import App

GRACE = 4.0
"""Seconds an app has to end in its own way."""


class Endable(Protocol):
    """What is ended: `call_on_loop` has a function called by its event loop and is False when none is running."""

    def call_on_loop(self, function: Callable[[], None]) -> bool: ...

    def end(self, code: int) -> None: ...


@contextlib.contextmanager
def ended_by_signals(app: Endable, flush: Callable[[], None]) -> Iterator[None]:
    """While inside, SIGHUP and SIGTERM end `app`. `flush` brings what is unsaved to disk, and may run on any thread."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    last_resorts: list[threading.Timer] = []

    def last_resort(code: int) -> None:
        with contextlib.suppress(Exception):
            flush()
        os._exit(code)

    # Not a handler of the event loop, which would not run it while the app waits for the terminal.
    def handle(number: int, _frame: FrameType | None) -> None:
        code = 128 + number
        if not last_resorts:
            timer = threading.Timer(GRACE, last_resort, (code,))
            timer.daemon = True
            last_resorts.append(timer)
            timer.start()
            if not app.call_on_loop(lambda: app.end(code)):
                raise SystemExit(code)

    before = {number: signal.signal(number, handle) for number in (signal.SIGHUP, signal.SIGTERM)}
    threading.Thread(target=_hang_up_with_terminal, name="terminal watch", daemon=True).start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for timer in last_resorts:
            timer.cancel()


def _hang_up_with_terminal() -> None:
    """Send this process the signal of a closed terminal when its own is closed; costs nothing until then."""
    stream = sys.__stdin__
    if sys.platform == "win32" or not hasattr(select, "poll") or stream is None:
        return
    with contextlib.suppress(OSError, ValueError):
        if not os.isatty(stream.fileno()):
            return
        watch = select.poll()
        watch.register(stream.fileno(), 0)  # a hang-up is told of whatever is asked for
        if any(event & select.POLLHUP for _, event in watch.poll()):
            os.kill(os.getpid(), signal.SIGHUP)


def release_input(app: App[Any]) -> None:
    """End the thread that reads the terminal: when the terminal went first, nothing else does, and it would go on for
    ever.
    """
    ended = getattr(app._driver, "exit_event", None)
    if isinstance(ended, threading.Event):
        ended.set()


def let_go_of_lost_terminal() -> None:
    """Send what is still written nowhere when the terminal has gone: it would fail, and spoil the exit code."""
    stream = sys.__stderr__
    with contextlib.suppress(OSError, ValueError):
        if stream is not None and not os.isatty(stream.fileno()):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
