"""`Generation`: runs of agents, prepared from an open session, carried out and recorded. Part of the door.

Source: spec context-blocks, sections 1.10, 1.11, 10.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from engine import disk
from engine.agents import DIRECTIONS, WRITER, AgentDefinition, Sources, agent
from engine.agents.generation import BRIEF_PLACEHOLDER
from engine.agents.instructions import filled
from engine.agents.sources import CLARIFYING_ROUNDS, Planning
from engine.blocks.config import EMPTY, BlockConfig, dump_config
from engine.chat.compaction import history_tokens
from engine.errors import InvalidFile, NotFound, Problem, StonehandError, WrongInput
from engine.models import REHEARSAL
from engine.models.tokens import estimate_tokens
from engine.models.wire.base import ChatMessage, Wire
from engine.prompt import Prompt, assemble
from engine.runs.events import RunEvent
from engine.runs.progress import declared_text
from engine.runs.run import Edits, Mode, Prewriting, Run
from engine.runs.save import record
from engine.runs.turn import DEFAULT_STEPS, Setup, Turn, added_usage
from engine.runs.usage import TokenUsage
from engine.runs.view import RunView
from engine.session import Loaded
from engine.story import Fragment, Settings, StoryFolder, StorySnapshot
from engine.text import Phrase, is_blank, listed
from engine.tools.analyzing import save_analysis
from engine.tools.editing import when_applied
from engine.tools.host import Host, Settled
from engine.tools.invoking import Invocation, Invoked, calls_of
from engine.tools.offering import PREWRITER, offered
from engine.tools.plan import Plan
from engine.tools.planning import PREWRITER_DIRECTIONS
from engine.tools.proposals import accept_proposal, reopening
from engine.tools.tool import Tool
from engine.tools.transforming import Span, plan_transformation, selection_of, whole

if TYPE_CHECKING:
    from engine.budget import Budget
    from engine.runs.records import RunRecord
    from engine.session import Session
    from engine.workspace import Workspace
    from engine.workspace.history import RunHistory

ANALYZE: Final = "librarian.analyze"
TALKING: Final = ("librarian.chat", "character-chat.chat")
"""The agents to whom the author's words are a message of their own."""
TRANSFORM: Final = "librarian.prose-transform"
STEPS: Final = {ANALYZE: 3, DIRECTIONS: 1, TRANSFORM: 1}
"""Calls to the model that a run of an agent has, where they are not `DEFAULT_STEPS` (spec, section 10.3)."""
ANALYZE_AFTER: Final = 2.0
"""Seconds after a save until its passage is analyzed (spec, section 10.2)."""
CLOSING_SECONDS: Final = 1.0
"""Seconds that runs have to end when the program is closed."""
REPLAY: Final = "replay:"
REFINE: Final = (
    "Revise the passage between the lines as the direction says, and give the whole of it again, nothing else.\n\n"
    "Direction: {direction}\n\n---\n\n{passage}\n\n---"
)


@dataclass(frozen=True, slots=True)
class AnalysisNotice:
    """What became of an analysis that began by itself: its `run`, or the `problem` that kept it from being made."""

    story: str
    branch: str
    fragment_id: str
    run: Run | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What an agent is sent first: about `used` tokens of its `budget`, those of `prompt` with tools and messages."""

    prompt: Prompt
    budget: Budget
    used: int


@dataclass(frozen=True, slots=True)
class _About:
    """What a run is about: `passage` is the prose an analysis is of, `replaced` the passage that is written anew,
    `target` the id of the fragment that is the subject, or empty; `span` what is transformed of the passage.
    """

    author_input: str
    sources: Sources
    passage: Fragment | None
    replaced: Fragment | None
    target: str
    span: Span | None


class Logs:
    """The logs of a branch, as the tools read them."""

    def __init__(self, runs: RunHistory, story: str, branch: str) -> None:
        self._runs, self._story, self._branch = runs, story, branch

    def list(self) -> Sequence[RunRecord]:
        return self._runs.all(self._story, self._branch).runs

    def read(self, log_id: str) -> Mapping[str, Any]:
        return self._runs.log(self._story, self._branch, log_id)


class Generation:
    """Runs of a workspace. `plugin_tools` are offered to the agents that take those of plugins."""

    clarifying_rounds: Final = CLARIFYING_ROUNDS
    """How often the prewriter may ask the author for one passage; with as many rounds behind it, it asks no more."""

    def __init__(
        self,
        workspace: Workspace,
        submit: Callable[..., concurrent.futures.Future[Any]],
        listeners: Sequence[Callable[[AnalysisNotice], None]] = (),
    ) -> None:
        """`listeners` are called, on an engine thread, when an analysis that began by itself has ended or can't be."""
        self._workspace, self._submit = workspace, submit
        self._lock = threading.Lock()
        self._active: dict[Run, concurrent.futures.Future[RunView]] = {}
        self._listeners = listeners
        self._due: dict[tuple[str, str], tuple[str, concurrent.futures.Future[None]]] = {}
        """Story and branch to the passage that is to be analyzed and what waits for it."""
        self._problems: list[Problem] = []
        self._usage = TokenUsage(self._call_later, self._problems.append)
        self.plugin_tools: tuple[Tool[Any], ...] = ()

    # -- preparing

    def prepare(
        self,
        session: Session,
        *,
        provider: str | None = None,
        model: str | None = None,
        mode: Mode = "generate",
        fragment: str | None = None,
        span: Span | None = None,
        clarifications: tuple[tuple[str, str], ...] = (),
        clarify_round: int | None = None,
        brief: str = "",
        sources: Sources | None = None,
        history: tuple[ChatMessage, ...] = (),
        on_event: Callable[[RunEvent], None] | None = None,
        on_text: Callable[[str], None] | None = None,
        max_steps: int | None = None,
        max_output_tokens: int | None = None,
        review_brief: bool = False,
        edits: Edits | None = None,
        directions: int = PREWRITER_DIRECTIONS,
        words_per_second: float | None = None,
    ) -> Run:
        """A run of the session's agent, as its config and the author's input stand. Waits: it reads and runs scripts.

        `provider` and `model` as for `wire`; None is what the agent resolves to, and its prewriter by itself. Its
        prewriter takes both, except where it has a model of its own with that provider.
        `fragment` is the id of what the run is about: the passage another version is written of, in the modes
        regenerate and refine, else the agent's subject; without it the session's target. `span` is what of a passage is
        transformed, and how; without it all of it is rewritten as the input says. `clarifications` are the prewriter's
        questions and the author's answers, `clarify_round` how often it has asked (left out: once if there are any).
        `brief` is what the passage is written from without another plan, in a story that plans them. `sources` take the
        place of what `fragment` would say. `history` are messages behind the prompt; of an agent that is talked to, the
        input is one if there are none. `edits` says what becomes of changes (left out: they are applied where the story
        says so, else the run waits for the author). `directions` is how many the agent for those is to propose.

        Raises `StonehandError`: `WrongInput` and `NotFound` for what does not fit the agent or is not there.
        """
        workspace, config = self._workspace, session.document.config
        if (fault := session.document.fault) is not None:
            raise InvalidFile.of(fault)
        definition, said = agent(session.agent), session.author_input
        folder = workspace.story(session.story)
        snapshot = folder.snapshot(session.branch)
        settings = snapshot.meta.settings
        about = self._about(session, definition, snapshot, mode, fragment, sources, span)
        span, author_input, sources, passage, replaced = (
            about.span,
            about.author_input,
            about.sources,
            about.passage,
            about.replaced,
        )
        asked = clarify_round if clarify_round is not None else int(bool(clarifications))
        planning = Planning(mode, clarifications, asked)
        replays = provider is not None and provider.startswith(REPLAY)
        plans = definition.name == WRITER and settings.generation_mode == "prewriter"
        if plans:
            # Until there is a brief, and where there is to be none, the whole context.
            sources = replace(sources, brief=brief.strip())
        elif not is_blank(brief):
            raise WrongInput("a brief is for the writer of a story that plans its passages")
        elif definition.name == PREWRITER:
            sources = replace(sources, planning=planning)
        prompt = self._prompt(session, config, author_input, sources, provider, model)
        wire = workspace.wires.of(prompt, provider, model=model, words_per_second=words_per_second)
        if max_output_tokens is None and not _calls_out(wire):
            max_output_tokens = settings.max_output_tokens  # another wire has the story's limit by itself
        if definition.name == WRITER:
            steps = settings.max_steps if max_steps is None else max_steps
        else:
            steps = STEPS.get(definition.name, DEFAULT_STEPS) if max_steps is None else max_steps
        prewriting = None
        if plans and not replays and is_blank(brief):
            prewriting = self._prewriting(
                session, config, author_input, sources, planning, provider, model, steps, review_brief, words_per_second
            )
        host = Host(
            folder,
            session.branch,
            definition.name,
            passage=passage,
            span=span,
            logs=Logs(workspace.runs, session.story, session.branch),
            on_applied=partial(workspace.changes.note, definition.name),
        )
        run = Run(
            prompt,
            wire,
            model=model or "",
            max_output_tokens=max_output_tokens,
            on_text=on_text,
            on_event=on_event,
            tools=self._tools(
                prompt.agent, prompt.disabled_tools, settings, clarify_round=asked, directions=directions
            ),
            host=host,
            max_steps=steps,
            history=history or self.opening(prompt, directions),
            prewriting=prewriting,
            brief=brief.strip() or None,
            edits=edits or ("apply" if when_applied(settings).at_once else "ask"),
            input=said,
            mode=mode,
            replaced=replaced,
            target=about.target,
            config_hash=_hash(config),
            clarify_round=asked,
        )
        for problem in self._passed_over(session.story, definition.name, provider):
            run.warn(problem.told())
        host.calls = calls_of(definition.name, lambda invocation: self._invoked(run, session, invocation, provider))
        return run

    def prompt_like(
        self, session: Session, *, mode: Mode = "generate", fragment: str | None = None, brief: str = ""
    ) -> Prompt:
        """The prompt that `prepare` makes of the same, a writer's from `brief` where it plans; nothing is sent. Waits,
        and raises as that.
        """
        definition, folder = agent(session.agent), self._workspace.story(session.story)
        snapshot = folder.snapshot(session.branch)
        about = self._about(session, definition, snapshot, mode, fragment, None, None)
        sources = about.sources
        if definition.name == WRITER and snapshot.meta.settings.generation_mode == "prewriter":
            sources = replace(sources, brief=brief)
        elif definition.name == PREWRITER:
            sources = replace(sources, planning=Planning(mode))
        return self._prompt(session, session.document.config, about.author_input, sources, None, None)

    def loaded(
        self, session: Session, *, span: Span | None = None, provider: str | None = None, model: str | None = None
    ) -> Loaded:
        """What the prompt of a run is built from that `prepare` would make of the same, for the session to show; about
        its target. It may run scripts. Raises as that.
        """
        workspace, config = self._workspace, session.document.config
        if (fault := session.document.fault) is not None:
            raise InvalidFile.of(fault)
        snapshot = workspace.story(session.story).snapshot(session.branch)
        about = self._about(session, agent(session.agent), snapshot, "generate", None, None, span)
        story, name = session.story, session.agent
        asked = self._asked_model(story, name, provider, model)
        base = workspace.base(
            story, name, session.branch, about.author_input, config, model=asked, sources=about.sources
        )
        return Loaded(base, workspace.evaluate(base, config))

    def _about(
        self,
        session: Session,
        definition: AgentDefinition,
        snapshot: StorySnapshot,
        mode: Mode,
        fragment: str | None,
        sources: Sources | None,
        span: Span | None,
    ) -> _About:
        """What a run is about, and the words it is asked with. Raises `WrongInput` and `NotFound`."""
        said = session.author_input
        replaced = self._replaced(definition, snapshot.get, mode, fragment, said)
        target = None if replaced else fragment or session.target
        if sources is None:
            sources = self._sources(session, definition, target)
        passage = sources.new_prose
        if definition.name == ANALYZE and passage is None:
            raise WrongInput("there is no passage to analyze yet")
        if definition.name == TRANSFORM and target is not None:
            passage = self._passage(snapshot.get, target)
            span = span or whole(passage.content, said)
            sources = replace(sources, selection=selection_of(passage.content, span, said))
        if replaced is not None:
            sources = replace(sources, replaced=replaced)
        author_input = said
        if mode == "refine" and replaced is not None:
            author_input = REFINE.format(direction=said.strip(), passage=replaced.content)
        subject = replaced or passage
        subject_id = subject.id if subject is not None else target or ""
        return _About(author_input, sources, passage, replaced, subject_id, span)

    def opening(self, prompt: Prompt, directions: int = PREWRITER_DIRECTIONS) -> tuple[ChatMessage, ...]:
        """The messages behind a prompt in a run that continues no conversation: what the author says to an agent that
        is talked to, and what the agent for directions is asked.
        """
        return self._opening(prompt.agent, prompt.input, directions)

    def _opening(self, agent_name: str, said: str, directions: int = PREWRITER_DIRECTIONS) -> tuple[ChatMessage, ...]:
        if agent_name in TALKING and not is_blank(said):
            return (ChatMessage("user", said),)
        if agent_name == DIRECTIONS:
            asked = filled(self._workspace.instruction("directions.suggest-template"), {"count": str(directions)})
            more = "" if is_blank(said) else f"\n\n{said.strip()}"
            return (ChatMessage("user", asked + more),)
        return ()

    def tools_of(self, prompt: Prompt) -> tuple[Tool[Any], ...]:
        """The tools that a run of a prompt is offered."""
        settings = self._workspace.story(prompt.story).meta().settings
        return self._tools(
            prompt.agent, prompt.disabled_tools, settings, clarify_round=0, directions=PREWRITER_DIRECTIONS
        )

    def tool_tokens(self, prompt: Prompt) -> int:
        """Estimated tokens of the tools that go with a prompt, and of the messages that `opening` adds."""
        return _declared_tokens(self.tools_of(prompt)) + history_tokens(self.opening(prompt))

    def opening_tokens_of(self, session: Session) -> int:
        """Estimated tokens of the messages that a run of a session's agent would have behind its prompt."""
        return history_tokens(self._opening(session.agent, session.author_input))

    def tool_tokens_of(self, session: Session) -> int:
        """Estimated tokens of the tools that would go with a session's prompt as its config stands. Waits."""
        settings = self._workspace.story(session.story).meta().settings
        disabled = session.document.config.disabled_tools
        return _declared_tokens(
            self._tools(session.agent, disabled, settings, clarify_round=0, directions=PREWRITER_DIRECTIONS)
        )

    def _tools(
        self, agent_name: str, disabled: Collection[str], settings: Settings, *, clarify_round: int, directions: int
    ) -> tuple[Tool[Any], ...]:
        return offered(
            agent(agent_name),
            EMPTY.model_copy(update={"disabledTools": disabled}),
            settings,
            clarify_round=clarify_round,
            directions=directions,
            plugins=self.plugin_tools,
        )

    def _replaced(
        self,
        definition: AgentDefinition,
        get: Callable[[str], Fragment | None],
        mode: Mode,
        fragment: str | None,
        said: str,
    ) -> Fragment | None:
        if mode == "generate":
            return None
        if definition.name not in (WRITER, PREWRITER):
            raise WrongInput(
                Phrase("{name} writes no passages", name=definition.name), repair=Phrase("use {writer}", writer=WRITER)
            )
        if fragment is None:
            raise WrongInput(Phrase("to {mode}, a passage has to be chosen", mode=mode))
        if mode == "refine" and is_blank(said):
            raise WrongInput("to refine a passage, say what is to be changed")
        return self._passage(get, fragment)

    @staticmethod
    def _passage(get: Callable[[str], Fragment | None], fragment: str) -> Fragment:
        found = get(fragment)
        if found is None or found.type != "prose":
            raise NotFound(Phrase("there is no passage {fragment}", fragment=fragment), repair="choose another one")
        return found

    def _sources(self, session: Session, definition: AgentDefinition, target: str | None) -> Sources:
        subject = definition.subject
        if target is None and subject is not None and subject.unchosen is None:
            kinds = listed(subject.types, " or ") if subject.types else Phrase("any type")
            raise WrongInput(
                Phrase("{name} needs a fragment of {kinds}", name=definition.name, kinds=kinds), repair="choose one"
            )
        return self._workspace.sources_of(session.story, session.branch, definition.name, target, session.author_input)

    def _prompt(
        self,
        session: Session,
        config: BlockConfig,
        author_input: str,
        sources: Sources,
        provider: str | None,
        model: str | None,
        *,
        name: str | None = None,
    ) -> Prompt:
        """The prompt of an agent; the session's own where nothing tells it from that, so that the hooks of what was
        previewed do not run again.
        """
        workspace, name = self._workspace, name or session.agent
        asked = self._asked_model(session.story, name, provider, model)
        base = workspace.base(session.story, name, session.branch, author_input, config, model=asked, sources=sources)
        if base is session.base and not session.waiting and session.document.config is config:
            return session.prompt()
        return assemble(base, config, workspace.evaluate(base, config))

    def _passed_over(self, story: str, name: str, provider: str | None) -> tuple[Problem, ...]:
        """What the story says of the model that is asked and could not be followed; of a named provider, nothing."""
        if provider is not None:
            return ()
        return tuple(problem for problem in self._workspace.models.resolve(story, name).problems if problem.file)

    def _asked_model(self, story: str, name: str, provider: str | None, model: str | None) -> str | None:
        """The model whose instructions count, where it is another one than the agent resolves to."""
        if provider is not None and provider != REHEARSAL and not provider.startswith(REPLAY):
            return (
                self._workspace.models.model_with(story, name, provider, model)
                if self._workspace.has_instructions
                else None
            )
        return model

    def _prewriting(
        self,
        session: Session,
        config: BlockConfig,
        author_input: str,
        sources: Sources,
        planning: Planning,
        provider: str | None,
        model: str | None,
        steps: int,
        review: bool,
        words_per_second: float | None,
    ) -> Prewriting:
        workspace, folder = self._workspace, self._workspace.story(session.story)
        document = workspace.document(session.story, PREWRITER, session.branch)
        if (fault := document.fault) is not None:
            raise InvalidFile.of(fault)
        settings = folder.meta().settings
        own = Sources(planning=planning, replaced=sources.replaced)
        planned_by = model if model and self._inherits_model(session.story, provider) else None
        prompt = self._prompt(session, document.config, author_input, own, provider, planned_by, name=PREWRITER)
        wire = workspace.wires.of(prompt, provider, model=planned_by, words_per_second=words_per_second)
        setup = Setup(
            prompt,
            wire,
            max_output_tokens=None if _calls_out(wire) else settings.max_output_tokens,
            tools=self._tools(
                prompt.agent,
                prompt.disabled_tools,
                settings,
                clarify_round=planning.round,
                directions=PREWRITER_DIRECTIONS,
            ),
            host=Host(folder, session.branch, PREWRITER, logs=Logs(workspace.runs, session.story, session.branch)),
            max_steps=planning_steps(steps, settings.prewriter_reasoning),
            config_hash=_hash(document.config),
        )

        def write(brief: str) -> Prompt:
            return self._prompt(session, config, author_input, replace(sources, brief=brief), provider, model)

        return Prewriting(setup, write, steps, review, planning.round)

    def _inherits_model(self, story: str, provider: str | None) -> bool:
        """Whether the prewriter takes the model that is named for the writer: it has none of its own with the provider
        they share (seed, "Model Resolution": it inherits from the writer's role).
        """
        mine, writers = (self._workspace.models.resolve(story, name) for name in (PREWRITER, WRITER))
        called = provider or writers.provider.id
        if called != (provider or mine.provider.id):
            return False
        return mine.explain[1].role != PREWRITER or mine.provider.id != called

    # -- what it costs

    def costs(
        self, run: Run, provider: str | None = None, model: str | None = None, *, max_output_tokens: int | None = None
    ) -> tuple[Cost, ...]:
        """What each agent of a run sends first, that was prepared with this provider, model and limit: its prewriter
        and itself, in this order. Nothing for a replay. Waits; raises as `prepare`.

        A writer that a prewriter plans for is sent the brief in place of the context, however long that turns out.
        """
        if provider is not None and provider.startswith(REPLAY):
            return ()
        models, story = self._workspace.models, run.prompt.story
        costs = []
        setup = run.turn.setup
        prompt = setup.prompt
        if run.prewriting is not None:
            planner = run.prewriting.setup
            planned_by = model if model and self._inherits_model(story, provider) else None
            budget = models.budget(story, PREWRITER, provider=provider, model=planned_by)
            costs.append(Cost(planner.prompt, budget, _first_tokens(planner.prompt, planner)))
            prompt = run.prewriting.write(BRIEF_PLACEHOLDER)
        budget = models.budget(story, run.agent, provider=provider, model=model, max_output_tokens=max_output_tokens)
        return (*costs, Cost(prompt, budget, _first_tokens(prompt, setup)))

    # -- carrying out

    def start(self, run: Run) -> concurrent.futures.Future[RunView]:
        """Carry out a run on the engine's loop; look at `run.view()`, end it with `run.stop()`. The future is done when
        it is recorded, too.
        """
        future = self._submit(self._carried_out(run))
        with self._lock:
            self._active[run] = future
        future.add_done_callback(lambda _: self._over(run))
        return future

    def _over(self, run: Run) -> None:
        with self._lock:
            self._active.pop(run, None)

    async def _carried_out(self, run: Run) -> RunView:
        await run.stream()
        await asyncio.shield(asyncio.to_thread(self.finished, run))
        return run.view()

    def finished(self, run: Run) -> None:
        """Record a finished run: its analysis, its log, what it cost. Waits; what fails is one of its warnings."""
        folder = self._workspace.story(run.prompt.story)
        if run.agent == ANALYZE and run.view().phase != "stopped":
            self._save_analysis(folder, run)
        if run.agent == TRANSFORM and run.view().phase == "done":
            self._propose_transformed(run)
        turns = [turn for turn in (run.planner, run.turn) if turn is not None and turn.sent]
        if not any(_calls_out(turn.setup.wire) for turn in turns):
            return
        for turn in turns:
            self._count(folder, turn)
        try:
            record(folder, run)
        except StonehandError as error:
            run.warn(Phrase("the run has no log: {problem}", problem=error.problem.told()))

    def _count(self, folder: StoryFolder, turn: Turn) -> None:
        reported = [step.usage for step in turn.usages if step.reported]
        if not reported or not _calls_out(turn.setup.wire):
            return
        total = reported[0]
        for usage in reported[1:]:
            total = added_usage(total, usage)
        self._usage.add(folder.path, turn.setup.prompt.agent, turn.model, total.input_tokens, total.output_tokens)

    def _propose_transformed(self, run: Run) -> None:
        """Make the answer a change of the passage, for the author to decide on; at once where that is so."""
        host = run.turn.setup.host
        if host is None or host.passage is None or host.span is None:
            return
        plan = plan_transformation(run.prompt.story, run.prompt.branch, host.passage, host.span, run.view().text)
        if not plan.changes:
            why = plan.outcomes[0].error or "the passage is so already"
            run.warn(Phrase("nothing was changed: {why}", why=Phrase.of(why)))
            return
        run.propose(plan, host)
        if run.edits == "apply":
            run.decide(run.view().waiting_plans[0].id, True)
            applied = run.view().plans[0].applied
            for problem in applied.problems if applied is not None else ():
                run.warn(Phrase("the passage was not changed: {problem}", problem=problem.told()))

    def _save_analysis(self, folder: StoryFolder, run: Run) -> None:
        host = run.turn.setup.host
        if host is None or host.passage is None:
            return
        analysis, branch = host.collected.analysis, run.prompt.branch
        if not (analysis.reported or analysis.proposals or analysis.directions):
            run.warn("nothing was reported about the passage, so no analysis was saved")
            return
        try:
            written = save_analysis(folder, branch, host.passage.id, host.passage.content, analysis)
            run.analysis_id = written.id
            problems = list(written.problems)
            if run.edits == "apply":
                for index in range(len(analysis.proposals)):
                    applied = accept_proposal(folder, branch, written.id, index, automatic=True)
                    self._workspace.changes.note(ANALYZE, applied, reopening(folder, branch, written.id, index))
                    problems += applied.problems
        except StonehandError as error:
            problems = [error.problem]
        for problem in problems:
            run.warn(problem.told())

    async def _invoked(self, parent: Run, session: Session, invocation: Invocation, provider: str | None) -> Invoked:
        """Carry out an agent that another one invokes, on the same story and branch; stopped with that one."""
        child = await asyncio.to_thread(self._prepared_below, parent, session, invocation, provider)
        try:
            view = await child.stream()
        finally:
            await asyncio.shield(asyncio.to_thread(self.finished, child))
        if view.phase == "failed":
            raise StonehandError(Phrase("{agent} failed: {failure}", agent=invocation.agent, failure=view.failure))
        details: dict[str, Any] = {}
        if view.directions:
            details["directions"] = [direction.document() for direction in view.directions]
        if child.analysis_id:
            details["analysisId"] = child.analysis_id
            assert child.turn.collected is not None
            details["summary"] = child.turn.collected.analysis.summary
        return Invoked(view.text, details)

    def _prepared_below(self, parent: Run, session: Session, invocation: Invocation, provider: str | None) -> Run:
        below = self._workspace.session(session.story, invocation.agent, session.branch)
        below.author_input = invocation.input
        target = invocation.fragment.id if invocation.fragment is not None else None
        child = self.prepare(below, provider=provider, fragment=target, edits=parent.edits)
        host = child.turn.setup.host
        assert host is not None

        async def settle(plan: Plan, below: Host) -> Settled:
            with invocation.calls.unhurried():
                return await parent.settle(plan, below)

        host.settle, host.calls = settle, invocation.calls
        # What is changed below is the run's that the author sees.
        host.on_applied = parent.turn.setup.host.on_applied if parent.turn.setup.host is not None else None
        return child

    # -- the analysis after a save

    def analyze_after_save(self, story: str, branch: str, fragment_id: str) -> bool:
        """Have a passage analyzed in two seconds, unless another one of the branch is saved until then; whether it
        will be.

        It is not where the story's setting or the agent's config says so, or no provider is there to do it. What has
        not begun when the program ends is dropped.
        """
        workspace = self._workspace
        settings = workspace.story(story).meta().settings
        config = workspace.document(story, ANALYZE, branch).config
        if (
            settings.disable_librarian_auto_analysis
            or config.disableAutoAnalysis
            or not workspace.models.resolve(story, ANALYZE).configured
        ):
            return False
        place = (story, branch)
        with self._lock:
            if (before := self._due.pop(place, None)) is not None:
                before[1].cancel()
            self._due[place] = (fragment_id, self._submit(self._analyzed(story, branch, fragment_id)))
        return True

    def drop_analysis(self, story: str, branch: str, fragment_id: str) -> None:
        """Have a passage not analyzed that is to be; an analysis that has begun goes on."""
        with self._lock:
            waiting = self._due.get((story, branch))
            if waiting is not None and waiting[0] == fragment_id:
                waiting[1].cancel()
                del self._due[story, branch]

    async def _analyzed(self, story: str, branch: str, fragment_id: str) -> None:
        await asyncio.sleep(ANALYZE_AFTER)
        with self._lock:
            self._due.pop((story, branch), None)
        try:
            run = await asyncio.to_thread(self._prepare_analysis, story, branch, fragment_id)
        except StonehandError as error:
            self._tell(AnalysisNotice(story, branch, fragment_id, problem=error.problem))
            return
        future = self.start(run)
        await asyncio.wait({asyncio.wrap_future(future)})
        self._tell(AnalysisNotice(story, branch, fragment_id, run))

    def _prepare_analysis(self, story: str, branch: str, fragment_id: str) -> Run:
        session = self._workspace.session(story, ANALYZE, branch)
        return self.prepare(session, fragment=fragment_id)

    def _tell(self, notice: AnalysisNotice) -> None:
        for listener in self._listeners:
            with suppress(Exception):  # one that fails must not keep the others from hearing of it
                listener(notice)

    # -- ending

    def take_problems(self) -> list[Problem]:
        """What went wrong with the account of tokens since this was asked last."""
        found, self._problems[:] = list(self._problems), []
        return found

    def close(self) -> None:
        """Stop what runs and record it; drop analyses that have not begun. The loop must still run."""
        with self._lock:
            due, self._due = self._due, {}
            active = dict(self._active)
        for _, waiting in due.values():
            waiting.cancel()
        for run in active:
            run.stop()
        concurrent.futures.wait(active.values(), CLOSING_SECONDS)
        self._usage.flush()

    def _call_later(self, seconds: float, call: Callable[[], None]) -> None:
        async def later() -> None:
            await asyncio.sleep(seconds)
            await asyncio.shield(asyncio.to_thread(call))

        with suppress(RuntimeError):  # the program is closing, and writes the rest itself
            self._submit(later())


def planning_steps(steps: int, reasoning: str) -> int:
    """The calls to the model that the prewriter has of those of a run (spec, section 10.3)."""
    half = max(1, steps // 2)
    return {"short": min(2, half), "extensive": steps}.get(reasoning, half)


def _calls_out(wire: Wire) -> bool:
    """Whether a wire sends anything to a provider."""
    return wire.name != REHEARSAL and not wire.name.startswith(REPLAY)


def _hash(config: BlockConfig) -> str:
    return hashlib.sha256(disk.dump_json(dump_config(config))).hexdigest()


def _first_tokens(prompt: Prompt, setup: Setup) -> int:
    """Estimated tokens of the first request of a turn."""
    return prompt.tokens.total + _declared_tokens(setup.tools) + history_tokens(setup.history)


def _declared_tokens(tools: Sequence[Tool[Any]]) -> int:
    declared = [tool.declared for tool in tools]
    return sum(estimate_tokens(declared_text(tool.name, tool.description, tool.parameters)) for tool in declared)
