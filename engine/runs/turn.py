"""One agent's turn: requests and the tools it calls, until it is done. On the engine's loop.

Source: spec context-blocks, 10.3 (steps and stops); spec assistant, B2.5 (what a cut-off step leaves behind).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engine.models.tokens import estimate_tokens
from engine.models.wire.answer import Answer
from engine.models.wire.base import ChatMessage, Failure, ModelWire, Start, Text, Thinking, Usage, Warned, Wire
from engine.models.wire.conversation import NO_RESULT
from engine.models.wire.events import Event, Retry
from engine.models.wire.parts import ToolCall
from engine.prompt import Prompt
from engine.runs.events import (
    DirectionsEvent,
    PrewriterResetEvent,
    ProgressEvent,
    ReasoningEvent,
    RunEvent,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
    WarningEvent,
)
from engine.runs.progress import CallProgress, TurnTotals, target_of
from engine.runs.request import request_of
from engine.runs.view import CallView, Phase, RetryView
from engine.text import Phrase, is_blank
from engine.tools.host import Collected, Host
from engine.tools.tool import Tool, ToolResult, logged_arguments, run_call

DEFAULT_STEPS: Final = 10
CUT_CALL: Final = "(The call of {names} was cut off at the limit of the answer's length and not carried out.)"
"""What a model is told whose call was cut off, so that it can make a shorter one."""
_NO_TOOLS: Final = re.compile(r"\btools?\b|\bfunction.?call", re.IGNORECASE)


@dataclass(frozen=True)
class Setup:
    """What a turn is made with.

    `history` are the messages that follow the prompt; `config_hash` tells the block config the prompt was made with;
    `max_steps` bounds the calls to the model. The host belongs to this turn alone.
    """

    prompt: Prompt
    wire: Wire
    model: str = ""
    max_output_tokens: int | None = None
    tools: tuple[Tool[Any], ...] = ()
    host: Host | None = field(default=None, repr=False)
    max_steps: int = DEFAULT_STEPS
    history: tuple[ChatMessage, ...] = ()
    config_hash: str = ""


@dataclass(frozen=True, slots=True)
class StepUsage:
    """The tokens of one call; `estimated` where the provider did not report them all, `reported`: it did some."""

    usage: Usage
    estimated: bool = False
    reported: bool = True


class Turn:
    """A turn under way; its fields are read under `lock`, which is the run's.

    `asked` is the model that is asked for, the wire's name where it has no model. `finish` is why it ended, in the
    wire's words; `failure` is set when it failed. `added` are the messages of its complete steps, as the next request
    of a conversation has them behind the history.
    """

    def __init__(
        self,
        setup: Setup,
        tell: Callable[[RunEvent], None],
        *,
        lock: threading.RLock,
        now: Callable[[], float],
        prewriter: bool = False,
    ) -> None:
        self.setup = setup
        wire = setup.wire
        self._named = setup.model or (wire.model if isinstance(wire, ModelWire) else "")
        self._answered = ""
        self.asked = self._named or wire.name
        self.phase: Phase = "waiting"
        self.step = 0
        self.sent = False
        self.thoughts: list[str] = []
        self.calls: list[CallView] = []
        self.added: list[ChatMessage] = []
        self.usages: list[StepUsage] = []
        self.warnings: list[str] = []
        self.retries: list[RetryView] = []
        self.hashes: list[str] = []
        self.request_ids: list[str] = []
        self.retry: RetryView | None = None
        self.tool = ""
        self.target = ""
        self.finish = ""
        self.failure: Failure | None = None
        self.exceeded = False
        self._pieces: list[str] = []
        self._held = ""
        self._behind_tools = False
        self._tell, self._lock, self._now = tell, lock, now
        self._prewriter = prewriter
        self._totals = TurnTotals(round(now() * 1000))
        self._progress: CallProgress | None = None
        self._answer: Answer | None = None

    @property
    def model(self) -> str:
        """What the turn goes by: the model that was asked for; where none was named, the one that answers."""
        return self._named or self._answered or self.asked

    @property
    def answered_by(self) -> str:
        """The name under which the model answers, as soon as that is known; empty where it is `model`."""
        return "" if self._answered == self.model else self._answered

    @property
    def text(self) -> str:
        """The answer so far; a prewriter's is that of its last step with text (spec, section 10.5)."""
        with self._lock:
            # Joined once and kept as one piece, so that looking ten times a second stays cheap.
            text = "".join(self._pieces)
            self._pieces = [text] if text else []
            return text

    def replace_text(self, text: str) -> None:
        """Another text in place of the one that arrived."""
        with self._lock:
            self._pieces = [text] if text else []

    @property
    def collected(self) -> Collected | None:
        """What its tools have brought together."""
        return self.setup.host.collected if self.setup.host is not None else None

    def tokens(self, *, over: bool) -> tuple[Usage, bool]:
        """The tokens of all steps, and whether any of them are estimated; roughly while it is not `over`."""
        with self._lock:
            parts = list(self.usages)
            if self._answer is not None:
                parts.append(self._step_usage(self._answer, over=over))
            elif not parts:
                parts.append(StepUsage(Usage(self.setup.prompt.tokens.total, 0), True, False))
        total = parts[0].usage
        for part in parts[1:]:
            total = added_usage(total, part.usage)
        return total, any(part.estimated for part in parts)

    async def run(self) -> None:
        """Carry it out. Raises nothing but `CancelledError`; what arrived before stays."""
        tools = self.setup.tools
        while True:
            with self._lock:
                self.step += 1
            answer = await self._call(tools)
            if answer.failure is not None:
                if tools and self._refuses_tools(answer):
                    tools = ()
                    with self._lock:
                        self.step -= 1
                    continue
                with self._lock:
                    self.failure = answer.failure
                return
            if await self._stepped(answer, tools):
                return

    async def _stepped(self, answer: Answer, tools: tuple[Tool[Any], ...]) -> bool:
        """Carry out the calls of an answer; whether the turn is over."""
        reason = answer.stop.reason if answer.stop is not None else ""
        detail = answer.stop.detail if answer.stop is not None else ""
        if reason == "refusal":
            refused = "the model refused to answer"
            self._warn(Phrase("the model refused to answer: {detail}", detail=detail) if detail else refused)
        ended = await self._call_tools(answer, tools)
        cut = answer.broken_calls if reason == "max_tokens" else ()
        if cut:
            told = CUT_CALL.format(names=", ".join(cut))
            with self._lock:
                self.added.append(ChatMessage("user", told))
            what = "a call of {tools} was cut off at the limit of the answer's length"
            self._warn(Phrase(what, tools=", ".join(cut)))
        elif reason == "max_tokens":
            self._warn(self._cut_off())
        elif reason == "context_full":
            self._warn("the answer was cut off: the context window of the model is full")
        with self._lock:
            goes_on = bool(answer.calls) or bool(cut) or reason == "pause"
            self._behind_tools = bool(answer.calls)
            self.finish = "end_turn" if ended else "tool_use" if answer.calls else reason
            if ended or not goes_on:
                return True
            self.exceeded = self.step >= self.setup.max_steps
        if self.exceeded:
            steps = self.setup.max_steps
            used_up = "it was not done when its one step was used up"
            many = "it was not done when its {steps} steps were used up"
            self._warn(Phrase(used_up) if steps == 1 else Phrase(many, steps=steps))
        return self.exceeded

    def _cut_off(self) -> str:
        """That the answer ended at its limit, and what allows a longer one, unless the caller chose that limit."""
        if (asked := self.setup.max_output_tokens) is not None:
            return Phrase("the answer was cut off at its limit of {limit:,} tokens", limit=asked)
        wire = self.setup.wire
        if not isinstance(wire, ModelWire) or wire.max_output_tokens is None:
            return "the answer was cut off at the limit of its length"
        more = (
            "the answer was cut off at its limit of {limit:,} tokens: a higher generationLimits.maxOutputTokens in the "
            "story's settings allows a longer one, as far as the model does"
        )
        return Phrase(more, limit=wire.max_output_tokens)

    async def _call(self, tools: tuple[Tool[Any], ...]) -> Answer:
        """One request and its answer, put together; a fault of the wire is a failure of the call."""
        setup = self.setup
        declared = tuple(tool.declared for tool in tools)
        with self._lock:
            history = (*setup.history, *self.added)
            self.phase, self.retry, self.tool, self.target = "waiting", None, "", ""
            self.sent = True
            answer = self._answer = Answer()
        request = request_of(setup.prompt, self.asked, setup.max_output_tokens, declared, history)
        progress = CallProgress(
            request,
            self.step,
            self._totals,
            lambda told: self._tell(ProgressEvent(told)),
            self._now,
            setup.wire.name,
        )
        with self._lock:
            self._progress = progress
        progress.begin()
        try:
            async with aclosing(setup.wire.stream(request)) as events:
                async for event in events:
                    with self._lock:
                        answer.add(event)
                    self._take(event)
                    progress.add(event)
        except Exception as error:  # a fault of a wire must reach the person, not the log of a dead thread
            failure = Failure("upstream", f"{type(error).__name__}: {error}")
            with self._lock:
                answer.add(failure)
            progress.add(failure)
        finally:
            progress.close()
            with self._lock:
                self.usages.append(self._step_usage(answer, over=True))
                self._answer = None
                if answer.start is not None and answer.start.request_hash:
                    self.hashes.append(answer.start.request_hash)
                request_id = answer.failure.request_id if answer.failure is not None else ""
                request_id = request_id or (answer.start.request_id if answer.start is not None else "")
                if request_id:
                    self.request_ids.append(request_id)
        return answer

    def _take(self, event: Event) -> None:
        if isinstance(event, Text):
            self._text(event.text)
        elif isinstance(event, Thinking):
            with self._lock:
                self.phase, self.retry = "thinking", None
                self.thoughts.append(event.text)
            self._tell(ReasoningEvent(event.text))
        elif isinstance(event, Start):
            with self._lock:
                self._answered = event.model or self._answered
                self.retry = None
        elif isinstance(event, Warned):
            self._warn(event.message, event.field)
        elif isinstance(event, Retry):
            with self._lock:
                self.phase = "waiting"
                self.retry = RetryView(event.failure.message, event.seconds, event.attempt)
                self.retries.append(self.retry)
        elif self._progress is not None and self._progress.tool is not None:
            with self._lock:
                self.phase, self.tool, self.target = "tool", self._progress.tool, self._progress.target or ""

    def _text(self, text: str) -> None:
        reset = False
        with self._lock:
            self.phase, self.retry = "writing", None
            if self._behind_tools and self._pieces:
                # Blank text before the next step's own begins nothing.
                self._held += text
                if is_blank(self._held):
                    return
                text, self._held = self._held, ""
                reset = self._prewriter
                if reset:
                    self._pieces = []
                elif not self._pieces[-1][-1:].isspace() and not text[:1].isspace():
                    text = "\n\n" + text
            self._behind_tools = False
            self._pieces.append(text)
        if reset:
            self._tell(PrewriterResetEvent())
        self._tell(TextEvent(text, self._prewriter))

    async def _call_tools(self, answer: Answer, tools: tuple[Tool[Any], ...]) -> bool:
        """Carry out the calls of an answer in their order; whether one of them ends the turn."""
        ended = False
        results: list[ChatMessage] = []
        calls = answer.calls
        try:
            for call in calls:
                result = await self._call_tool(call, tools)
                results.append(result.message(call))
                ended = ended or result.ends
        finally:
            # What was cut off is answered too: a call without its result can't be sent back.
            results += [ChatMessage("tool", NO_RESULT, call_id=call.id) for call in calls[len(results) :]]
            with self._lock:
                if answer.parts:
                    self.added += [answer.message(), *results]
                self.tool = self.target = ""
        return ended

    async def _call_tool(self, call: ToolCall, tools: tuple[Tool[Any], ...]) -> ToolResult:
        arguments = logged_arguments(call)
        view = CallView(call.id, call.name, arguments, step=self.step)
        with self._lock:
            self.phase, self.tool, self.target = "tool", call.name, target_of(call.arguments) or ""
            self.calls.append(view)
            at = len(self.calls) - 1
        self._tell(ToolCallEvent(call.id, call.name, arguments))
        collected = self.collected
        before = collected.directions if collected is not None else ()
        result = await run_call(call, tools, self.setup.host) if self.setup.host else _no_tools(call)
        with self._lock:
            self.calls[at] = replace(view, result=result.value, failed=result.failed)
        self._tell(ToolResultEvent(call.id, call.name, result.value))
        if collected is not None and collected.directions is not before:
            self._tell(DirectionsEvent(collected.directions, self._prewriter))
        return result

    def _refuses_tools(self, answer: Answer) -> bool:
        """Whether a call failed because its model takes no tools, so that it is made again without them."""
        failure = answer.failure
        if failure is None or answer.parts or self.added or failure.kind not in ("bad_request", "not_found"):
            return False
        if not _NO_TOOLS.search(f"{failure.said} {failure.field}"):
            return False
        why = failure.said or failure.message
        self._warn(Phrase("{model} takes no tools, so it goes on without them: {why}", model=self.model, why=why))
        return True

    def _warn(self, message: str, field: str = "") -> None:
        with self._lock:
            if message in self.warnings:
                return
            self.warnings.append(message)
        self._tell(WarningEvent(message, field))

    def _step_usage(self, answer: Answer, *, over: bool) -> StepUsage:
        usage, progress = answer.usage, self._progress
        if usage is not None and usage.input_tokens > 0 and usage.output_tokens > 0:
            return StepUsage(usage)
        first = len(self.usages) == 0 and not self.setup.history
        sent = self.setup.prompt.tokens.total if first else progress.in_tokens if progress is not None else 0
        if over:
            received = estimate_tokens(answer.text) + estimate_tokens(answer.thoughts)
            received += sum(estimate_tokens(call.arguments) for call in answer.calls)
        else:
            received = progress.out_estimate if progress is not None else 0
        if usage is None:
            return StepUsage(Usage(sent, received), True, False)
        known = replace(usage, input_tokens=usage.input_tokens or sent, output_tokens=usage.output_tokens or received)
        return StepUsage(known, True)


def added_usage(one: Usage, two: Usage) -> Usage:
    """The tokens of two calls; what is known of one of them only is taken as it is."""

    def both(a: float | None, b: float | None) -> Any:
        return b if a is None else a if b is None else a + b

    return Usage(
        one.input_tokens + two.input_tokens,
        one.output_tokens + two.output_tokens,
        both(one.cached_tokens, two.cached_tokens),
        both(one.cache_written_tokens, two.cache_written_tokens),
        both(one.reasoning_tokens, two.reasoning_tokens),
        both(one.cost, two.cost),
    )


def _no_tools(call: ToolCall) -> ToolResult:
    return ToolResult({"error": f"there is no tool {call.name[:100]}; tools: none"})
