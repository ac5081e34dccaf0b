"""A fault of the program is told of, and the app goes on with everything that was being edited.

Textual ends an app when a message handler, a timer, a callback or a worker raises, and the widget whose handler it was
takes no message any more. In a `LastingApp` each of them is as if it had returned. What can't go on ends the app, which
then raises it: what fails while the screen is put together or drawn, for then nothing can be told either, and what
fails in the same way again and again.
"""

from __future__ import annotations

import time
from types import CodeType
from typing import Any

from textual import events
from textual._compositor import Compositor
from textual.app import App, ReturnType
from textual.dom import DOMNode
from textual.message import Message
from textual.message_pump import MessagePump
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker, WorkerFailed

from engine.errors import StonehandError

AT_MOST = 50
"""How often the same may fail in a row, the user doing nothing meanwhile."""
TOLD_AGAIN = 15.0
"""Seconds until the same fault is told of again; a `StonehandError` is as soon as the user did something."""

_GOES_ON: frozenset[CodeType] = frozenset(
    function.__code__
    for function in (Timer._tick, MessagePump._flush_next_callbacks, MessagePump._process_messages_loop)
)
"""What of Textual hands a fault to the app and goes on itself."""

_DRAWS: frozenset[CodeType] = frozenset(
    function.__code__ for function in (Compositor.render_update, Compositor.reflow, Compositor.reflow_visible)
)

_Fault = tuple[type[Exception], str, CodeType | None, int]


class LastingApp(App[ReturnType]):
    """An app that faults don't end. Put it before `App` in the bases, and define `failed`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._last_fault: _Fault | None = None
        self._times = 0
        self._told_of: dict[_Fault, float] = {}

    def failed(self, error: Exception) -> None:
        """Tell the user of a fault."""
        raise NotImplementedError

    def worker_failed(self, worker: Worker[Any]) -> None:
        """Tell of a worker that failed, for who started it."""
        if isinstance(worker.error, Exception) and not worker.exit_on_error:  # else the worker has told itself
            self._handle_exception(WorkerFailed(worker.error))

    def _endures(self, error: Exception) -> bool:
        """Tell of a fault; False when the app can't go on."""
        fault = _fault(error)
        self._times = self._times + 1 if fault == self._last_fault else 1
        self._last_fault = fault
        failure = isinstance(error, StonehandError)  # of the world, not of the program: it may go on for long
        if (self._times > AT_MOST and not failure) or self._exception is not None or _in_drawing(error):
            return False
        now = time.monotonic()
        if self._times == 1 if failure else now - self._told_of.get(fault, -TOLD_AGAIN) >= TOLD_AGAIN:
            self._told_of[fault] = now
            try:
                self.failed(error)
            except Exception:
                self._last_fault = None
                self._told_of.pop(fault)  # what can't be told ends the app, however often it comes by here
                return False
        return True

    # -- where faults come from

    async def on_event(self, event: events.Event) -> None:
        """Handle an event; what the user does begins a new row of faults."""
        if isinstance(event, (events.Key, events.Paste, events.MouseDown)):
            self._last_fault = None
        await super().on_event(event)

    async def _dispatch_action(self, namespace: DOMNode, action_name: str, params: Any) -> bool:
        try:
            return await super()._dispatch_action(namespace, action_name, params)
        except Exception as error:
            self.failed(error)  # each time, for it is the answer to a key
            return True

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            if _is_start(message) or not self._endures(error):
                raise

    def _register_child(self, parent: DOMNode, child: Widget, before: int | None, after: int | None) -> None:
        super()._register_child(parent, child, before, after)
        self._guard(child)

    def _start_widget(self, parent: Widget, widget: Widget) -> None:
        self._guard(widget)
        super()._start_widget(parent, widget)

    def _guard(self, widget: Widget) -> None:
        """Have what a widget's message handlers raise told of: caught any later, it would end the widget."""

        async def dispatch(message: Message) -> None:
            try:
                await type(widget)._dispatch_message(widget, message)
            except Exception as error:
                if _is_start(message) or not self._endures(error):
                    raise

        widget._dispatch_message = dispatch  # type: ignore[method-assign]

    def _handle_exception(self, error: Exception) -> None:
        goes_on = error.__traceback__ is not None and error.__traceback__.tb_frame.f_code in _GOES_ON
        if isinstance(error, WorkerFailed) and isinstance(error.error, Exception):
            error, goes_on = error.error, True
        if not goes_on or not self._endures(error):
            super()._handle_exception(error)


def _is_start(message: Message) -> bool:
    """Whether a message is one of those without which a widget is not there at all."""
    return isinstance(message, (events.Compose, events.Mount))


def _in_drawing(error: Exception) -> bool:
    """Whether something failed while the screen was laid out or drawn."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in _DRAWS:
            return True
        trace = trace.tb_next
    return False


def _fault(error: Exception) -> _Fault:
    """What makes two faults the same: what was raised, and where."""
    code, line, trace = None, 0, error.__traceback__
    while trace is not None:
        code, line, trace = trace.tb_frame.f_code, trace.tb_lineno, trace.tb_next
    return type(error), str(error), code, line
