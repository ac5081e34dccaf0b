"""`Run`: one run of an agent in progress.

It lives on the engine's loop and only collects; whoever shows it looks at `view` at a pace of its own (at most ten
times a second), so a frozen interface neither slows the stream nor loses any of it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from engine.agents import DIRECTIONS, WRITER
from engine.errors import NotFound, StonehandError, WrongInput
from engine.hooks import Passage
from engine.models.wire.base import ChatMessage, Failure, Usage, Wire
from engine.prompt import Prompt
from engine.runs.events import ClarifyEvent, DirectionsEvent, ErrorEvent, FinishEvent, PhaseEvent, RunEvent, TextEvent
from engine.runs.turn import DEFAULT_STEPS, Setup, Turn, added_usage
from engine.runs.view import Phase, PlanView, RunView
from engine.text import Phrase, is_blank
from engine.tools.written_directions import written_directions

if TYPE_CHECKING:
    from engine.story import Fragment
    from engine.tools.applying import Applied
    from engine.tools.host import Decision, Host, Settled
    from engine.tools.plan import Plan
    from engine.tools.tool import Tool

Mode = Literal["generate", "regenerate", "refine"]
Edits = Literal["ask", "aside", "apply"]
"""What becomes of changes an agent plans: the run waits for the author, they are left for after it, or are applied."""

STOP_SECONDS: Final = 0.2
"""Seconds that the hooks have for a text whose run was stopped."""

FINISH_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "context_full": "length",
    "tool_use": "tool-calls",
    "refusal": "content-filter",
    "error": "error",
    "clarify": "clarify",
}
"""The reference's words for why a run ended, by the wire's; any other is `other`."""


@dataclass(frozen=True)
class Prewriting:
    """The planning before a passage: the prewriter's turn, and `write`, which makes the writer's setup of a brief.

    `write` may wait, and is called on a thread. `steps` are those of the whole run, of which the writer has what the
    prewriter left. `review`: the author looks at the brief before the writer begins. `round` counts the earlier rounds
    of questions.
    """

    setup: Setup
    write: Callable[[str], Prompt]
    steps: int = DEFAULT_STEPS
    review: bool = False
    round: int = 0


@dataclass(slots=True)
class _Planned:
    """A plan of changes; `answer` is what the author said, `waiting` set while the run waits for it."""

    id: str
    plan: Plan
    host: Host
    decision: Decision = "waiting"
    answer: bool | None = None
    waiting: asyncio.Future[bool] | None = field(default=None, repr=False)
    applied: Applied | None = None


class Run:
    """One run of an agent from a prompt over a wire; it stays on the prompt's story and branch.

    `on_text` is called with each piece of text, `on_event` with every event, both on the engine's thread; they must not
    block. `tools` work on `host`. `input` is the author's own words, where the prompt's are made of them; `mode` and
    `replaced` say what the passage is to the story, `target` is the id of the fragment that the run is about.
    `clarify_round` counts the earlier rounds of questions of a run that only plans. `brief` is what the prompt was
    made of where no prewriter makes one. `now` gives seconds since 1970.
    """

    def __init__(
        self,
        prompt: Prompt,
        wire: Wire,
        *,
        model: str = "",
        max_output_tokens: int | None = None,
        on_text: Callable[[str], None] | None = None,
        on_event: Callable[[RunEvent], None] | None = None,
        tools: tuple[Tool[Any], ...] = (),
        host: Host | None = None,
        max_steps: int = DEFAULT_STEPS,
        history: tuple[ChatMessage, ...] = (),
        prewriting: Prewriting | None = None,
        brief: str | None = None,
        edits: Edits = "ask",
        input: str | None = None,
        mode: Mode = "generate",
        replaced: Fragment | None = None,
        target: str = "",
        config_hash: str = "",
        clarify_round: int = 0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.mode, self.replaced, self.edits = mode, replaced, edits
        self.target = target or (replaced.id if replaced is not None else "")
        self.input = prompt.input if input is None else input
        self.prewriting = prewriting
        self._round = prewriting.round if prewriting is not None else clarify_round
        self.log_id = ""
        """The id of its log, once that is written."""
        self.analysis_id = ""
        """The id of the analysis it made, once that is written."""
        self._on_text, self._on_event = on_text, on_event
        self._lock = threading.RLock()
        setup = Setup(prompt, wire, model, max_output_tokens, tools, host, max_steps, history, config_hash)
        self._now = now
        self._turn = Turn(setup, self._told, lock=self._lock, now=now)
        self._planner = (
            Turn(prewriting.setup, self._told, lock=self._lock, now=now, prewriter=True) if prewriting else None
        )
        if host is not None and host.settle is None:
            host.settle = self.settle
        self._stage: Literal["prewriting", "writing"] = "writing" if prewriting is None else "prewriting"
        self._ended_as: Phase | None = None
        self._finish = ""
        self._error: Failure | None = None
        self._rewritten = False
        self._warnings: tuple[str, ...] = ()
        self._brief = brief if prewriting is None else ""
        self._brief_given: asyncio.Future[str] | None = None
        self._brief_seconds = 0.0
        self._plans: dict[str, _Planned] = {}
        self._begun = time.monotonic()
        self._ended: float | None = None
        self._stopping = threading.Event()
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what it is

    @property
    def prompt(self) -> Prompt:
        """The prompt of the agent itself; of a writer with a prewriter, the one without a brief until there is one."""
        return self._turn.setup.prompt

    @property
    def wire(self) -> Wire:
        return self._turn.setup.wire

    @property
    def clarify_round(self) -> int:
        """Which round of questions this run's are, counted from 1."""
        return self._round + 1

    @property
    def model(self) -> str:
        """The model that was asked; where none was named, the one that answers."""
        return self._turn.model

    @property
    def agent(self) -> str:
        return self.prompt.agent

    @property
    def turn(self) -> Turn:
        """The turn of the agent itself."""
        return self._turn

    @property
    def planner(self) -> Turn | None:
        """The prewriter's turn."""
        return self._planner

    @property
    def planning_seconds(self) -> float:
        """How long the prewriter was at work."""
        return self._brief_seconds

    @property
    def sent(self) -> bool:
        """Whether a request was handed to a wire."""
        return self._turn.sent or (self._planner is not None and self._planner.sent)

    @property
    def thoughts(self) -> str:
        """The model's reasoning, where the wire gives any."""
        with self._lock:
            return "".join(self._turn.thoughts)

    @property
    def added(self) -> tuple[ChatMessage, ...]:
        """What it adds to a conversation behind its history: the messages of its complete steps, in pairs that hold.

        Of a run that failed and does not keep its progress (`error.keeps_progress`) it is for the caller to drop them.
        """
        with self._lock:
            return tuple(self._turn.added)

    @property
    def read_ids(self) -> tuple[str, ...]:
        """The fragments that were read in whole, by the agent and then by its prewriter (spec, section 3.6)."""
        turns = (self._turn, *((self._planner,) if self._planner is not None else ()))
        found = (turn.collected.read_ids for turn in turns if turn.collected is not None)
        return tuple(dict.fromkeys(item for ids in found for item in ids))

    def view(self) -> RunView:
        """The run as it stands; thread-safe."""
        with self._lock:
            turn, planner, over = self._turn, self._planner, self._ended_as is not None
            at = planner if planner is not None and self._stage == "prewriting" else turn
            called = turn if planner is None or turn.sent or self._stage == "writing" else planner
            usage, estimated = turn.tokens(over=over) if planner is None or turn.sent else (Usage(0, 0), False)
            if planner is not None:
                planned, guessed = planner.tokens(over=over or at is turn)
                usage, estimated = added_usage(usage, planned), estimated or guessed
            collected = [item.collected for item in (planner, turn) if item is not None and item.collected]
            return RunView(
                phase=self._ended_as or self._phase(at),
                text=turn.text,
                seconds=(self._ended or time.monotonic()) - self._begun,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                model=called.model,
                answered_by=called.answered_by,
                finish=self._finish or turn.finish,
                failure=self._error.message if self._error is not None else "",
                rewritten=self._rewritten,
                warnings=(*(planner.warnings if planner is not None else ()), *turn.warnings, *self._warnings),
                thoughts=self._joined(turn),
                brief=self._brief or planner.text if planner is not None else self._brief,
                brief_thoughts=self._joined(planner) if planner is not None else "",
                reviewing=self._brief_given is not None,
                step=at.step,
                max_steps=at.setup.max_steps,
                steps_exceeded=turn.exceeded,
                tool=at.tool,
                target=at.target,
                cached_tokens=usage.cached_tokens,
                estimated=estimated,
                calls=tuple(turn.calls),
                brief_calls=tuple(planner.calls) if planner is not None else (),
                plans=tuple(
                    PlanView(item.id, item.plan, item.decision, item.waiting is not None, item.applied)
                    for item in self._plans.values()
                ),
                directions=next((item.directions for item in reversed(collected) if item.directions), ()),
                questions=next((item.questions for item in reversed(collected) if item.questions), ()),
                retry=None if over else at.retry,
                error=self._error,
                log_id=self.log_id,
            )

    def _phase(self, turn: Turn) -> Phase:
        if self._brief_given is not None or any(item.waiting is not None for item in self._plans.values()):
            return "asking"
        if self._stage == "prewriting" and turn.phase in ("thinking", "writing", "waiting"):
            return "prewriting"
        return turn.phase

    @staticmethod
    def _joined(turn: Turn) -> str:
        text = "".join(turn.thoughts)
        turn.thoughts = [text] if text else []
        return text

    # -- carrying it out

    async def stream(self) -> RunView:
        """Carry it out; returns the finished view and raises nothing of the wire's."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._begun = time.monotonic()
        try:
            complete = await self._collected()
            await self._after_generation(complete)
            if complete:
                self._end("failed" if self._error is not None else "done")
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
        except Exception as error:  # whatever it is, it must reach the person, not the log of a dead thread
            message = str(error) if isinstance(error, StonehandError) else f"{type(error).__name__}: {error}"
            self._fail(Failure("bad_request", message))
            self._end("failed")
        finally:
            self._end("stopped")
        return self.view()

    def stop(self) -> None:
        """End the run, keeping what arrived; thread-safe, and harmless when it has ended."""
        self._stopping.set()
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None and self._ended is None:
            self._task.cancel()

    async def _collected(self) -> bool:
        """Collect the answer; False when it was stopped."""
        try:
            if self._stopping.is_set():
                return False
            if self._planner is None or await self._planned(self._planner):
                await self._turn.run()
                if self._turn.failure is not None:
                    self._fail(self._turn.failure)
                else:
                    self._asks(self._turn)
                    self._take_written_directions()
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            return False
        return True

    def _take_written_directions(self) -> None:
        """Take directions from the answer of a model that wrote them instead of calling the tool (spec, 10.4)."""
        collected = self._turn.collected
        if self.agent != DIRECTIONS or collected is None or collected.directions:
            return
        if found := written_directions(self._turn.text):
            with self._lock:
                collected.directions = found
            self._told(DirectionsEvent(found))

    async def _planned(self, planner: Turn) -> bool:
        """Have the prewriter plan; whether the writer is to begin (spec, section 10.5)."""
        prewriting = self.prewriting
        assert prewriting is not None
        self._told(PhaseEvent("prewriting"))
        begun = time.monotonic()
        try:
            await planner.run()
        finally:
            with self._lock:
                self._brief_seconds = time.monotonic() - begun
        if planner.failure is not None:
            self._fail(planner.failure)
            return False
        if self._asks(planner):
            return False
        brief = _unlabelled(planner.text)
        if prewriting.review:
            brief = await self._reviewed(brief)
        with self._lock:
            self._brief = brief
        await self._brief_written(prewriting, planner, brief)
        return True

    def _asks(self, turn: Turn) -> bool:
        """Whether a turn ended with questions to the author, which ends the run."""
        if turn.collected is None or not turn.collected.questions:
            return False
        with self._lock:
            self._finish = "clarify"
        self._told(ClarifyEvent(turn.collected.questions, self.clarify_round))
        return True

    async def _reviewed(self, brief: str) -> str:
        assert self._loop is not None
        with self._lock:
            self._brief = brief
            given = self._brief_given = self._loop.create_future()
        try:
            return str(await given)
        finally:
            with self._lock:
                self._brief_given = None

    async def _brief_written(self, prewriting: Prewriting, planner: Turn, brief: str) -> None:
        """Give the writer its prompt; of an empty brief, the one with the whole context it was made with."""
        setup = self._turn.setup
        prompt = setup.prompt
        if is_blank(brief):
            self.warn("the prewriter's brief is empty: the passage is written from the whole context")
        else:
            prompt = await asyncio.to_thread(prewriting.write, brief)
        steps = max(1, prewriting.steps - planner.step)
        with self._lock:
            self._turn.setup = replace(setup, prompt=prompt, max_steps=steps)
            self._stage = "writing"
        self._told(PhaseEvent("writing"))

    def draft_brief(self, text: str) -> None:
        """Take the author's text for the brief that is looked at, for the records, before it is used; thread-safe.

        A run that is stopped, or whose program ends, has it in its log or among the passages that were left. Does
        nothing when no brief is looked at.
        """
        with self._lock:
            if self._brief_given is not None:
                self._brief = text

    def use_brief(self, text: str) -> None:
        """Write from this brief, in a run that lets the author look at it; thread-safe.

        Raises `WrongInput` when no brief is looked at.
        """
        with self._lock:
            given, loop = self._brief_given, self._loop
        if given is None or loop is None:
            raise WrongInput("no brief waits to be looked at")
        loop.call_soon_threadsafe(_answer, given, text)

    async def _after_generation(self, complete: bool) -> None:
        """Give the text that arrived to the hooks; they run on another thread, so that the stream of others goes on."""
        prompt = self.prompt
        text = self._turn.text
        if not prompt.hooks or self._error is not None or is_blank(text):
            return
        passage = Passage(text, prompt.input, self.model, self._turn.finish or "cancelled")
        hooks, where = prompt.hooks, prompt.hook_context
        work = asyncio.to_thread(hooks.after_generation, passage, where)
        try:
            changed, skipped = await (work if complete else asyncio.wait_for(work, STOP_SECONDS))
        except TimeoutError:
            self.warn("the run was stopped before the hooks were done with its text, which is as it arrived")
            return
        with self._lock:
            self._warnings += tuple(map(str, skipped))
            if changed.text != text:
                self._turn.replace_text(changed.text)
                self._rewritten = True

    def _end(self, phase: Phase) -> None:
        with self._lock:
            if self._ended_as is not None:
                return
            self._ended_as, self._ended = phase, time.monotonic()
            if phase == "stopped":
                self._finish = self._turn.finish or "cancelled"
            error = self._error
        if error is not None and phase == "failed":
            self._told(ErrorEvent(error))
        self._told(FinishEvent(self.finish_reason, self.steps, stopped=phase == "stopped"))

    @property
    def finish_reason(self) -> str:
        """Why it ended, in the reference's words."""
        return FINISH_REASONS.get(self._finish or self._turn.finish, "other")

    @property
    def steps(self) -> int:
        """The calls to models that were made."""
        return self._turn.step + (self._planner.step if self._planner is not None else 0)

    def _fail(self, failure: Failure) -> None:
        with self._lock:
            self._error, self._finish = failure, "error"

    def warn(self, message: str) -> None:
        """Add to the warnings, also after its end."""
        with self._lock:
            self._warnings += (message,)

    def _told(self, event: RunEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)
        if self._on_text is not None and isinstance(event, TextEvent) and not event.prewriter:
            self._on_text(event.text)

    # -- changes that wait for the author

    async def settle(self, plan: Plan, host: Host) -> Settled:
        """Decide what becomes of a plan of this run, or of one below it; see `Edits`."""
        from engine.tools.applying import AUTOMATIC
        from engine.tools.editing import apply_now
        from engine.tools.host import Settled

        # All of a plan is there before anyone can see it: a decision that comes at once finds who waits for it, and
        # one that is applied by itself is no one's to decide.
        waiting = asyncio.get_running_loop().create_future() if self.edits == "ask" else None
        with self._lock:
            planned = self._planned_as(plan, host, waiting)
            planned.answer = True if self.edits == "apply" else None
            self._plans[planned.id] = planned
        if self.edits == "apply":
            settled = await apply_now(plan, host, AUTOMATIC)
            return self._decided(planned, settled)
        if waiting is None:
            return Settled("waiting", plan)
        try:
            accepted = await waiting
        except asyncio.CancelledError:
            with self._lock:
                planned.waiting = None
                accepted = planned.answer is True
                if planned.answer is False:
                    planned.decision = "declined"
            if accepted:  # said in the moment the run was stopped
                await self._apply(planned)
            raise
        with self._lock:
            planned.waiting = None
        if accepted:
            return await self._apply(planned)
        return self._decided(planned, Settled("declined", plan))

    async def _apply(self, planned: _Planned) -> Settled:
        from engine.tools.editing import apply_now

        return self._decided(planned, await apply_now(planned.plan, planned.host))

    def _decided(self, planned: _Planned, settled: Settled) -> Settled:
        with self._lock:
            planned.decision, planned.applied = settled.decision, settled.applied
        return settled

    def propose(self, plan: Plan, host: Host) -> None:
        """Add a plan that its answer came to, which waits for the author after the run; thread-safe."""
        with self._lock:
            planned = self._planned_as(plan, host)
            self._plans[planned.id] = planned

    def _planned_as(self, plan: Plan, host: Host, waiting: asyncio.Future[bool] | None = None) -> _Planned:
        return _Planned(f"plan-{len(self._plans) + 1}", plan, host, waiting=waiting)

    def decide(self, plan_id: str, accept: bool) -> None:
        """Accept or decline a plan that waits, during the run or after it; thread-safe. May wait for the disk.

        Raises `NotFound` for a plan that is not there, `WrongInput` for one that was decided, and as writing does.
        """
        with self._lock:
            planned = self._plans.get(plan_id)
            if planned is None:
                raise NotFound(
                    Phrase("this run has no plan {plan_id}", plan_id=plan_id),
                    repair=Phrase("plans: {known}", known=", ".join(self._plans) or "none"),
                )
            if planned.decision != "waiting" or planned.answer is not None:
                raise WrongInput(Phrase("{plan_id} was decided before", plan_id=plan_id))
            planned.answer = accept
            waiting, loop = planned.waiting, self._loop
        if waiting is not None and loop is not None:
            loop.call_soon_threadsafe(_answer, waiting, accept)
        elif accept:
            self._decided(planned, planned.host.apply(planned.plan))
        else:
            with self._lock:
                planned.decision = "declined"

    def is_passage(self) -> bool:
        """Whether what it writes is a passage, to be kept in the story."""
        return self.agent == WRITER


def _answer(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


def _unlabelled(brief: str) -> str:
    from engine.agents.generation import unlabelled

    return unlabelled(brief).strip()
