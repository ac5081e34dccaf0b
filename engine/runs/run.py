"""`Run`: one generation in progress.

It lives on the engine's loop and only collects; whoever shows it looks at `view` at a pace of its own (at most ten
times a second), so a frozen interface neither slows the stream nor loses any of it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from engine.hooks import Passage
from engine.models.tokens import estimate_tokens
from engine.models.wire.base import Failure, Start, Stop, Text, Thinking, Usage, Warned, Wire
from engine.prompt import Prompt
from engine.runs.request import request_of
from engine.text import is_blank

Phase = Literal["waiting", "thinking", "writing", "done", "stopped", "failed"]
FINISHED: tuple[Phase, ...] = ("done", "stopped", "failed")


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it stands: `text` so far, `seconds` since it began, tokens (the wire's figures, else estimated).

    `rewritten`: a hook changed the text after it had arrived; `warnings`: what the wire warned of, and hooks that
    were skipped.
    """

    phase: Phase
    text: str
    seconds: float
    input_tokens: int
    output_tokens: int
    model: str
    finish: str
    failure: str
    rewritten: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        return self.phase in FINISHED


class Run:
    """One generation from a prompt over a wire; it stays on the prompt's story and branch.

    `on_text`, if given, is called with each piece of text on the engine's thread and must not block.
    """

    def __init__(
        self,
        prompt: Prompt,
        wire: Wire,
        *,
        model: str = "",
        max_output_tokens: int | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> None:
        self.prompt = prompt
        self.wire = wire
        self.model = model or wire.name
        self.max_output_tokens = max_output_tokens
        self._on_text = on_text
        self._lock = threading.Lock()
        self._pieces: list[str] = []
        self._thoughts: list[str] = []
        self._phase: Phase = "waiting"
        self._finish = ""
        self._failure = ""
        self._rewritten = False
        self._warnings: tuple[str, ...] = ()
        self._usage: Usage | None = None
        self._begun = time.monotonic()
        self._ended: float | None = None
        self._stopping = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def stream(self) -> RunView:
        """Send the prompt and collect the answer; returns the finished view and raises nothing of the wire's."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._begun = time.monotonic()
        try:
            complete = await self._collected()
            await self._after_generation()
            if complete:
                self._done()
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
        except Exception as error:  # a fault of a wire must reach the person, not the log of a dead thread
            self._fail(f"{type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._ended = time.monotonic()
                if self._phase not in FINISHED:
                    self._phase = "stopped"
                    self._finish = self._finish or "cancelled"
        return self.view()

    def stop(self) -> None:
        """End the run, keeping the text that arrived; thread-safe, and harmless when it has ended."""
        self._stopping.set()
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)

    def view(self) -> RunView:
        """The run as it stands; thread-safe."""
        with self._lock:
            # Joined once and kept as one piece, so that looking ten times a second stays cheap.
            text = "".join(self._pieces)
            self._pieces = [text] if text else []
            usage, phase = self._usage, self._phase
            seconds = (self._ended or time.monotonic()) - self._begun
            finish, failure = self._finish, self._failure
            rewritten, warnings = self._rewritten, self._warnings
        return RunView(
            phase=phase,
            text=text,
            seconds=seconds,
            input_tokens=usage.input_tokens if usage is not None else self.prompt.tokens.total,
            output_tokens=usage.output_tokens if usage is not None else estimate_tokens(text),
            model=self.model,
            finish=finish,
            failure=failure,
            rewritten=rewritten,
            warnings=warnings,
        )

    @property
    def thoughts(self) -> str:
        """The model's reasoning, where the wire gives any."""
        with self._lock:
            return "".join(self._thoughts)

    async def _collected(self) -> bool:
        """Collect the answer; False when it was stopped."""
        try:
            if self._stopping.is_set():
                return False
            await self._collect()
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            return False
        return True

    async def _collect(self) -> None:
        request = request_of(self.prompt, self.model, self.max_output_tokens)
        async with aclosing(self.wire.stream(request)) as events:
            async for event in events:
                if isinstance(event, Text):
                    with self._lock:
                        self._phase = "writing"
                        self._pieces.append(event.text)
                    if self._on_text is not None:
                        self._on_text(event.text)
                elif isinstance(event, Thinking):
                    with self._lock:
                        self._phase = "thinking"
                        self._thoughts.append(event.text)
                elif isinstance(event, Start):
                    self.model = event.model or self.model
                elif isinstance(event, Usage):
                    with self._lock:
                        self._usage = event
                elif isinstance(event, Warned):
                    with self._lock:
                        self._warnings += (event.message,)
                elif isinstance(event, Failure):
                    self._fail(event.message)
                elif isinstance(event, Stop):
                    with self._lock:
                        self._finish = event.reason

    async def _after_generation(self) -> None:
        """Give the text that arrived to the hooks; they run on another thread, so that the stream of others goes on."""
        if not self.prompt.hooks:
            return
        with self._lock:
            text, finish, failed = "".join(self._pieces), self._finish, self._phase == "failed"
        if failed or is_blank(text):
            return
        passage = Passage(text, self.prompt.input, self.model, finish or "cancelled")
        hooks, where = self.prompt.hooks, self.prompt.hook_context
        changed, skipped = await asyncio.to_thread(hooks.after_generation, passage, where)
        with self._lock:
            self._warnings += tuple(map(str, skipped))
            if changed.text != text:
                self._pieces, self._rewritten = [changed.text], True

    def _done(self) -> None:
        with self._lock:
            if self._phase != "failed":
                self._phase = "done"

    def _fail(self, message: str) -> None:
        with self._lock:
            self._phase, self._failure, self._finish = "failed", message, "error"
