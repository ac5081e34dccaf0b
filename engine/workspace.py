"""The door: everything a user interface or a script does with a data folder goes through `Workspace`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from operator import is_
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from engine import disk
from engine.agents import WRITER, AgentDefinition, Sources, agent, agents, checked_role, instruction_sets
from engine.agents.instruction_sets import InstructionSets, Match
from engine.agents.sources import NO_SOURCES
from engine.agents.tools import describe
from engine.blocks.apply import ScriptResult
from engine.blocks.bundles import agent_bundle, is_customised
from engine.blocks.config import EMPTY, BlockConfig, dump_config
from engine.document import Document, Journal, Pending, SaveState, read_config
from engine.errors import Conflict, InvalidFile, NotFound, Problem, StonehandError, WrongInput
from engine.hooks import HookRegistry
from engine.library import config_folder, state_folder
from engine.models import REHEARSAL as REHEARSAL
from engine.models.wire.base import Wire
from engine.models.wire.pacing import WORDS_PER_SECOND
from engine.models.wire.rehearsal import RehearsalWire
from engine.models.wire.replay import ReplayWire
from engine.prompt import Base, Prompt, build_base, cut_short, evaluate_scripts, script_result
from engine.runs import Directions, UnkeptPassages, last_log, list_logs, read_log
from engine.runtime import Runtime
from engine.scripts import PREVIEW_LIMITS, RUN_LIMITS, Limits, Outcome, ScriptEngine
from engine.session import Loaded, Session
from engine.story import Branch, StoryFolder, list_stories
from engine.story import FileEdit as FileEdit
from engine.story import Fragment as Fragment
from engine.story.branches import FOLDER as BRANCHES
from engine.story.branches import MAIN as MAIN
from engine.story.branches import content_root
from engine.text import collapse_space, did_you_mean

if TYPE_CHECKING:
    from engine.budget import Budget
    from engine.comparison import Comparison
    from engine.conversing import Conversations
    from engine.doctor import Finding, Repaired
    from engine.exchange import Exchange
    from engine.generation import Generation
    from engine.history import RunHistory
    from engine.models.choice import ModelChange
    from engine.models.provider_files import ProviderFiles
    from engine.models.providers import Providers
    from engine.models.resolution import Decision, Resolution
    from engine.models.wire.detection import FoundServer
    from engine.models.wire.http_wire import HttpWire
    from engine.models.wire.listing import ListedModel
    from engine.models.wire.trial import Trial
    from engine.runs import Run, RunView, Saved

KEPT_BASES = 8
"""Prompt bases kept for reuse: agents and author inputs gone back to."""
KEPT_RESULTS = 200
"""Script results kept per base: bodies typed or undone to."""
RESOLVED_FOR = 2.0
"""Seconds for which the model of an agent is not looked up again to build its prompt."""
PASSING = ("cancelled", "engine")
"""Kinds of script results that are not kept: the script has not run, or not to its end."""
MATCH = "return new RegExp(ctx.pattern, ctx.flags).test(ctx.model) ? 'yes' : 'no'"
MATCH_SECONDS = 0.25
"""The time one pattern of an instruction set has to match one model's id."""
LOOKED_EVERY = 2.0
"""Seconds between two looks at a story that the system does not tell of, or that is gone."""
CONFIG_DEPTH = 5
"""Parts of a config's place below the stories: story, `branches`, branch, `agent-blocks`, file."""
SECTION_START = 120
"""Characters of a section that tell it from others."""
RECORDED_EVERY = 1.0
"""Seconds between two writes of a passage that is arriving."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class StorySummary:
    """One story of the data folder. `problem` is set, and the rest as good as it could be read, when it is damaged;
    `branch_problems` are those of its index of branches, which leave it usable.
    """

    id: str
    name: str
    branches: tuple[Branch, ...]
    active_branch: str
    problem: Problem | None = None
    branch_problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """One agent of a branch; `tools` are its tools' names, `customised`: its config is not the default one."""

    name: str
    display_name: str
    description: str
    group: str
    tools: tuple[str, ...]
    customised: bool
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Belongings:
    """How much of each there is in a branch: sections of the story, fragments (those of the sections among them), block
    configs, generation logs, files of conversations with characters.
    """

    sections: int
    fragments: int
    configs: int
    logs: int
    conversations: int


@dataclass(frozen=True, slots=True)
class FragmentOrder:
    """How the pinned fragments of a branch are ordered: `mode` is `simple`, by types, or `advanced`, by the ids in
    `order`, which may name others as well; `fragments` are the pinned ones as they come, `tokens` what each is
    estimated to cost in the prompt.
    """

    mode: str
    fragments: tuple[Fragment, ...]
    order: tuple[str, ...]
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LeftEdits:
    """Unsaved edits of an agent on a branch that was deleted while no editor was open; `journal` holds them."""

    story: str
    branch: str
    agent: str
    journal: Path


@dataclass(frozen=True, slots=True)
class Replay:
    """A generation log as what generates: `provider` is its name for `wire`, `created_at` as the log has it (ISO 8601),
    `input` the direction it was written for.
    """

    provider: str
    created_at: str
    input: str


@dataclass(frozen=True, slots=True)
class RequestBody:
    """What is sent for a prompt: the JSON `body`, to which `address` (without secrets), its `hash`, and the parameters
    that are not in it as they were asked for.
    """

    address: str
    body: Mapping[str, Any]
    hash: str
    warnings: tuple[str, ...] = ()


ReferenceKind = Literal["opened", "saved", "default", "sent", "branch"]


@dataclass(frozen=True, slots=True)
class Reference:
    """What a prompt is compared with: the one of the config as it was `opened` in this session, as it is `saved`, or of
    the `default`; the one `sent` last; or the one of another `branch`.
    """

    kind: ReferenceKind
    branch: str = ""


@dataclass(frozen=True, slots=True)
class PreviewJob:
    """A script being run for its author. `cancel` ends it at once, whether it is queued or running."""

    base: Base
    body: str
    limits: Limits
    future: concurrent.futures.Future[Outcome]

    def cancel(self) -> None:
        self.future.cancel()

    def result(self) -> ScriptResult:
        """What it gave, waiting for it if need be; of kind `cancelled` when it was dropped, `cut_short` when it was
        stopped after less time than a prompt gives it.
        """
        try:
            result = script_result(self.future.result())
            return cut_short(result, self.limits) if result.kind == "timeout" else result
        except concurrent.futures.CancelledError:
            return ScriptResult(kind="cancelled", error="cancelled", described="cancelled")


@dataclass(frozen=True, slots=True)
class SaveJob:
    """A save under way. Whoever owns the document calls `finish`, on its own thread, when `future` is done."""

    document: Document
    pending: Pending
    future: concurrent.futures.Future[Path]

    def finish(self) -> StonehandError | None:
        """Take in the outcome, waiting for it if need be: the error, or None when the file was written."""
        try:
            file = self.future.result()
        except StonehandError as error:
            self.document.not_written(self.pending)
            if isinstance(error, Conflict) and self.document.state is SaveState.UNSAVED:
                return StonehandError("the save before this one failed", file=self.document.file, repair="save again")
            return error
        self.document.written(self.pending, file)
        return None


class Workspace:
    """An open data folder (the one that holds `stories/`).

    Methods that return a job or a `Future` work on the engine's threads; the others read or compute at once, on the
    caller's. Opening a story writes nothing. `watch` follows changes of the open stories, so that an unchanged story
    costs no disk access; without it every call looks at the files' stamps. Without `journal`, neither unsaved edits nor
    passages are recorded or recovered: an open editor's are then its own. What goes wrong is a `StonehandError`.
    """

    def __init__(self, data: Path, *, state: Path | None = None, watch: bool = False, journal: bool = True) -> None:
        self.data = data
        self.state = state if state is not None else state_folder()
        self.journal = Journal(self.state / "journal")
        self._journalled = journal
        self._runtime = Runtime()
        self.hooks = HookRegistry(self._runtime.submit)
        """What takes part in every prompt made from now on; see `engine.hooks`."""
        self._scripts: ScriptEngine | None = None
        self._instructions = InstructionSets(data / instruction_sets.FOLDER, self._match)
        self._models: dict[tuple[str, str], tuple[float, str | None]] = {}
        self._lock = threading.RLock()
        self._provider_files: ProviderFiles | None = None
        # With what closes each; the loop itself keeps no hold of a task that waits.
        self._wires: list[tuple[HttpWire, concurrent.futures.Future[None]]] = []
        self._folders: dict[str, StoryFolder] = {}
        self._listed: dict[str, StoryFolder] = {}
        self._documents: dict[tuple[str, str, str], Document] = {}
        self._writer_configs: dict[Path, disk.FileCache[tuple[BlockConfig, Problem | None]]] = {}
        self._saves: dict[Document, SaveJob] = {}
        self._bases: dict[tuple[object, ...], tuple[Base, dict[str, ScriptResult]]] = {}
        self._kept: WeakKeyDictionary[Run, Saved] = WeakKeyDictionary()
        self._unkept = UnkeptPassages(self.state / "passages")
        self._directions = Directions(self.state / "directions")
        self._keeping = threading.Lock()
        self._closed = False
        self._watch = watch
        self._listeners: list[Callable[[str, frozenset[Path]], None]] = []
        self._lost_listeners: list[Callable[[str, str], None]] = []

    # -- stories and agents

    def stories(self) -> tuple[StorySummary, ...]:
        """Every story, in folder order, damaged ones included."""
        with self._lock:
            # What is read of a story for the list is known when it is opened.
            known = {**self._listed, **self._folders}
            self._listed = {folder.id: known.get(folder.id, folder) for folder in list_stories(self.data)}
            folders = [*self._listed.values()]
        return tuple(self._summary(folder) for folder in folders)

    def story(self, story_id: str) -> StoryFolder:
        """The folder of one story. Raises `NotFound` with the ids there are."""
        with self._lock:
            folder = self._folders.get(story_id)
            if folder is None:
                path = disk.child(self.data, "stories", story_id)
                if not (path / "meta.json").is_file():
                    if path.is_dir():
                        raise NotFound("has no meta.json, so it is no story", file=path, repair="put the file back")
                    names = {info.id: (info.name,) for info in self.stories()}
                    repair = f"{did_you_mean(story_id, names)}stories: {', '.join(names) or 'none'}"
                    raise NotFound(f"there is no story {story_id!r}", repair=repair)
                folder = self._folders[story_id] = self._listed.get(story_id) or StoryFolder(path)
                if self._watch:
                    self._runtime.submit(self._follow(folder))
            return folder

    def agents(self, story_id: str, branch: str | None = None) -> tuple[AgentSummary, ...]:
        """All agents, in the order the editor lists them."""
        return tuple(
            AgentSummary(
                name=definition.name,
                display_name=definition.display_name,
                description=definition.description,
                group=definition.group,
                tools=definition.tools,
                customised=is_customised(document.config),
                problem=document.fault,
            )
            for definition in agents()
            for document in [self.document(story_id, definition.name, branch)]
        )

    def definitions(self) -> tuple[AgentDefinition, ...]:
        """The definitions of all agents, in the order the editor lists them."""
        return agents()

    def agent(self, name: str) -> AgentDefinition:
        """One agent's definition. Raises `NotFound` with the names there are."""
        return agent(name)

    def tool_descriptions(self, names: Iterable[str]) -> dict[str, str]:
        """What each of these tools does, in one sentence; empty for one that nothing is known of."""
        return {name: describe(name) for name in names}

    # -- configs

    def document(self, story_id: str, agent_name: str, branch: str | None = None) -> Document:
        """The open block config of an agent; the same object each time. Raises `NotFound`."""
        folder = self.story(story_id)
        return self._document(folder, folder.branch(branch).id, agent_name)

    def saved_config(self, story_id: str, agent_name: str, branch: str | None = None) -> Any:
        """The config as it is on disk, a JSON value; the empty config where there is no file. Raises `InvalidFile`."""
        document = self.document(story_id, agent_name, branch)
        saved = disk.read_json(document.file)
        return dump_config(EMPTY) if saved is None else saved

    def session(
        self,
        story_id: str,
        agent_name: str,
        branch: str | None = None,
        *,
        model: str | None = None,
        target: str | None = None,
    ) -> Session:
        """An agent open for editing; nothing is read of the story before its `load`. Raises `NotFound`.

        `model` is the id of the model it would ask; left out, the one the agent resolves to. `target` is the id of the
        fragment its prompt is to be about, for an agent that has a `subject`; loading raises `NotFound` without it.
        """
        branch_id = self.story(story_id).branch(branch).id
        definition = agent(agent_name)

        def build(author_input: str, config: BlockConfig) -> Base:
            sources = self.sources_of(story_id, branch_id, definition.name, target, author_input)
            return self.base(story_id, agent_name, branch_id, author_input, config, model=model, sources=sources)

        document = self.document(story_id, agent_name, branch_id)
        return Session(
            story_id,
            branch_id,
            definition.name,
            document,
            build,
            self.evaluate,
            lambda: self.hooks.current,
            target=target,
        )

    def sources_of(self, story_id: str, branch: str, agent_name: str, target: str | None, author_input: str) -> Sources:
        """What a run of an agent is told when a fragment is chosen for it. Raises `WrongInput` and `NotFound`."""
        definition = agent(agent_name)
        if target is None:
            return NO_SOURCES
        if definition.subject is None:
            raise WrongInput(f"a prompt of {definition.name} is about no fragment", repair="choose none")
        fragment = self.story(story_id).snapshot(branch).get(target)
        if fragment is None:
            raise NotFound(f"there is no fragment {target} on branch {branch}", repair="choose another one")
        return definition.subject.sources(fragment, author_input)

    def targets(self, story_id: str, agent_name: str, branch: str | None = None) -> Sequence[Fragment]:
        """The fragments that a prompt of this agent can be about, in file order; none when it is about none."""
        subject = agent(agent_name).subject
        if subject is None:
            return ()
        found = self.fragments(story_id, branch)
        return [item for item in found if not subject.types or item.type in subject.types]

    def save(self, session: Session) -> SaveJob | None:
        """Begin to write unsaved edits on an engine thread; None when nothing is to be written, or is being written.

        Further edits may be saved while a save is under way: the saves of a workspace are done in order.
        """
        pending = session.document.pending()
        if pending is None:
            return None
        try:
            future = self._runtime.write(self._write, session, pending)
        except RuntimeError:
            session.document.not_written(pending)
            raise StonehandError("can't be saved: the program is closing", file=session.document.file) from None
        job = self._saves[session.document] = SaveJob(session.document, pending, future)
        return job

    def save_now(self, session: Session) -> None:
        """Write unsaved edits and wait, also for a save under way. Raises `Conflict` and `StonehandError`."""
        job = self.save(session)
        if job is None and session.document.saving:
            job = self._saves.get(session.document)
        if job is not None and (failure := job.finish()) is not None:
            raise failure

    def is_gone(self, session: Session) -> bool:
        """Whether the branch of a session was deleted, or its story, so that nothing can be saved there."""
        try:
            folder = self.story(session.story)
            return session.branch not in folder.branches().ids or not folder.content_root(session.branch).is_dir()
        except StonehandError:
            return False  # another trouble, which is told where it stands in the way

    def rescue(self, session: Session) -> Path:
        """Write the config of a session whose branch is gone to a file that can be imported, and give its edits up.

        Returns the file. Raises `StonehandError`; the edits stay unsaved then.
        """
        definition = agent(session.agent)
        bundle = agent_bundle(definition.name, definition.display_name, session.document.config)
        file = self._rescued(session.story, session.branch, f"{definition.name}.json", disk.dump_json(bundle))
        session.document.let_go()
        return file

    def left_edits(self) -> list[LeftEdits]:
        """Edits that programs now gone have left of branches and stories that are gone, too. Waits."""
        if not self._journalled:
            return []
        found = []
        for document, journal in self.journal.left(lambda file: self._place_gone(file) is not None):
            if (place := self._place_gone(document)) is not None:
                found.append(LeftEdits(*place, journal))
        return found

    def _place_gone(self, document: Path) -> tuple[str, str, str] | None:
        """Story, branch and agent of a config of this data folder whose branch is gone, by what it is journalled under;
        else None.
        """
        stories, file = Path(os.path.realpath(self.data / "stories")), Path(os.path.realpath(document))
        parts = file.relative_to(stories).parts if file.is_relative_to(stories) else ()
        if len(parts) != CONFIG_DEPTH:
            return None
        story, _, branch, _, name = parts
        gone = not content_root(stories / story, branch).is_dir()
        return (story, branch, name.removesuffix(".json")) if gone else None

    def rescue_left(self, left: LeftEdits) -> Path:
        """Write a config with edits that were left to a file that can be imported, and forget them; returns the file.

        Raises `StonehandError`; the edits stay where they are then.
        """
        try:
            config = self.journal.read_left(left.journal)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StonehandError(f"can't be read: {reason}", file=left.journal) from None
        if config is None:
            raise InvalidFile("nothing can be made of these edits", file=left.journal, repair="drop them")
        definition = agent(left.agent)
        bundle = agent_bundle(definition.name, definition.display_name, config)
        file = self._rescued(left.story, left.branch, f"{definition.name}.json", disk.dump_json(bundle))
        self.journal.drop_left(left.journal)
        return file

    def drop_left(self, left: LeftEdits) -> None:
        """Forget edits that were left of a branch that is gone."""
        self.journal.drop_left(left.journal)

    def rescue_passage(self, run: Run) -> Path:
        """Write a passage that can't be kept to a text file, which is returned. Raises `StonehandError`."""
        text = run.view().text.encode("utf-8", "replace")
        return self._rescued(run.prompt.story, run.prompt.branch, "passage.txt", text)

    def edit(self, story_id: str, agent_name: str, branch: str | None, change: Callable[[Session], _T]) -> _T:
        """Load, edit and save a config as one step that other programs' edits cannot come between.

        `change` gets the session as the editor would have it, and what it returns is returned. Raises `InvalidFile`,
        `Conflict`, `NotFound` and whatever `change` raises; nothing is written then.
        """
        session = self.session(story_id, agent_name, self.story(story_id).branch_to_write(branch).id)
        document = session.document
        with self._locked(session):
            document.check_file()
            if document.state is SaveState.CONFLICT:
                raise Conflict(
                    "there are unsaved edits of an earlier session and the file has changed since",
                    file=document.file,
                    repair="open it in the editor and choose one",
                )
            # Scripts are not run: an edit needs no result, and others wait for this lock.
            base = self.base(story_id, agent_name, session.branch, config=document.config)
            session.install(Loaded(base, {}))
            with document.all_or_nothing():
                outcome = change(session)
                pending = document.pending()
                if pending is not None:
                    try:
                        file = self._write_config(session, pending)
                    except StonehandError:
                        document.not_written(pending)
                        raise
                    document.written(pending, file)
        return outcome

    @cached_property
    def exchange(self) -> Exchange:
        """Configs to give away, to take over, to copy."""
        from engine.exchange import Exchange  # not needed to open the editor

        return Exchange(self, self.state / "imports")

    @cached_property
    def conversations(self) -> Conversations:
        """What is said with agents, and talking with them."""
        from engine.conversing import Conversations  # not needed to open the editor

        return Conversations(self, self._runtime.submit)

    @cached_property
    def runs(self) -> RunHistory:
        """The generation logs, to look back on."""
        from engine.history import RunHistory  # not needed to open the editor

        return RunHistory(self)

    # -- prompts

    def base(
        self,
        story_id: str,
        agent_name: str,
        branch: str | None = None,
        author_input: str = "",
        config: BlockConfig | None = None,
        *,
        model: str | None = None,
        sources: Sources = NO_SOURCES,
    ) -> Base:
        """What a prompt of this agent is built from, as the story stands now; the same object while it stands so.

        `model` is the id of the model that will be asked, which may have instructions of its own; left out, the one the
        agent resolves to. `sources` is what a run is about, nothing for a preview.
        """
        if model is None:
            model = self._resolved_model(story_id, agent_name)
        folder = self.story(story_id)
        snapshot = folder.snapshot(branch)
        if config is None:
            config = self._document(folder, snapshot.branch, agent_name).config
        definition = agent(agent_name)
        writer, fault = self._writer_config(folder, snapshot.branch) if definition.reads_writer else (None, None)
        instruction = self._instructions.for_model(model)
        hooks = self.hooks.current
        made_of = (snapshot, writer, instruction)
        key = (story_id, snapshot.branch, agent_name, author_input, config.disabled_tools, model, sources, hooks)
        if (known := self._known_base(key, made_of)) is not None:
            return known
        base = build_base(
            definition,
            snapshot,
            author_input,
            config,
            sources=sources,
            writer_config=writer,
            model=model,
            instruction=instruction,
            problems=() if fault is None else (fault,),
            hooks=hooks,
        )
        with self._lock:
            # Another thread may have built the same meanwhile: its scripts may have run already, so it stands.
            if (known := self._known_base(key, made_of)) is not None:
                return known
            self._bases[key] = (base, {})
            while len(self._bases) > KEPT_BASES:
                self._bases.pop(next(iter(self._bases)))
        return base

    def evaluate(self, base: Base, config: BlockConfig, limits: Limits = RUN_LIMITS) -> Mapping[str, ScriptResult]:
        """Results of all script blocks of a config, by body; run where they are not known yet, which waits.

        A body runs once for one base, so that chance and time say the same in list, preview and request.
        """
        results = evaluate_scripts(lambda: self.scripts, base, config, limits, self._results(base))
        return {**results, **self._keep_results(base, results)}

    def prompt(
        self,
        story_id: str,
        agent_name: str = WRITER,
        branch: str | None = None,
        author_input: str = "",
        *,
        model: str | None = None,
    ) -> Prompt:
        """The compiled prompt. Raises `StonehandError` where it can't be built."""
        session = self.session(story_id, agent_name, branch, model=model)
        session.author_input = author_input
        if (fault := session.document.fault) is not None:
            raise InvalidFile.of(fault)
        session.install(session.load())
        return session.prompt()

    def comparing(self, session: Session, reference: Reference) -> Callable[[], Comparison]:
        """What the session's prompt, as it stands, is compared with a reference: to be called on any thread, for it
        reads and runs scripts.

        Raises `StonehandError`, then or now: `NotFound` when there is nothing to compare with.
        """
        from engine.comparison import Sent, compare

        now = session.compiling()
        if reference.kind == "sent":
            root = self.story(session.story).content_root(session.branch)

            def compared() -> Comparison:
                log = last_log(root, session.agent)
                if log is None:
                    raise NotFound(f"{session.agent} was sent nothing on branch {session.branch} yet")
                sent = Sent.of_log(log)
                return compare(sent, Sent.of_prompt(now(), by_message=sent.by_message))

            return compared
        before = self._reference_prompt(session, reference)
        return lambda: compare(Sent.of_prompt(before()), Sent.of_prompt(now()))

    def _reference_prompt(self, session: Session, reference: Reference) -> Callable[[], Prompt]:
        document = session.document
        if reference.kind != "branch":
            configs = {"opened": document.opened, "saved": document.saved_config, "default": EMPTY}
            return session.compiling_with(configs[reference.kind])
        author_input, target = session.author_input, session.target

        def compiled() -> Prompt:
            folder = self.story(session.story)
            branch = folder.branch(reference.branch).id
            there = target is not None and folder.snapshot(branch).get(target) is not None
            other = self.session(session.story, session.agent, branch, target=target if there else None)
            if (fault := other.document.fault) is not None:
                raise InvalidFile.of(fault)
            other.author_input = author_input
            other.install(other.load())
            return other.prompt()

        return compiled

    def start(self, function: Callable[[], _T]) -> concurrent.futures.Future[_T]:
        """Run one of the waiting methods on an engine thread: `workspace.start(session.load)`."""
        return self._runtime.call(function)

    # -- scripts

    @property
    def scripts(self) -> ScriptEngine:
        """The script engine, made when first needed."""
        with self._lock:
            if self._scripts is None:
                self._scripts = ScriptEngine(self.state / "crash.log")
                if self._closed:
                    self._scripts.close()
            return self._scripts

    def warm_scripts(self) -> None:
        """Load the script engine in the background; worth doing when a story has script blocks."""
        with suppress(RuntimeError):
            self._runtime.call(self.scripts.warm)

    def run_script(self, base: Base, body: str) -> ScriptResult:
        """Run one script with the time a generation gives it. Waits."""
        return self.preview(base, body, RUN_LIMITS).result()

    def preview(self, base: Base, body: str, limits: Limits = PREVIEW_LIMITS) -> PreviewJob:
        """Run one script for its author. What it gives is also what a prompt of this base uses from then on."""
        fields, functions = base.script_fields()
        future = self.scripts.submit(body, fields, functions, limits)

        def keep(done: concurrent.futures.Future[Outcome]) -> None:
            if done.cancelled() or done.exception() is not None:
                return
            # A prompt gives a script more time than a preview does: see `cut_short`.
            if (outcome := done.result()).kind != "timeout":
                self._keep_results(base, {body: script_result(outcome)}, replace=True)

        future.add_done_callback(keep)
        return PreviewJob(base, body, limits, future)

    # -- models

    @property
    def has_instructions(self) -> bool:
        """Whether any model has instructions of its own, so that a prompt depends on the model."""
        return self._instructions.are_there()

    def instruction(self, key: str, model: str | None = None) -> str:
        """The fixed text of a key, as a model is told it. Raises `KeyError`."""
        return self._instructions.for_model(model)(key)

    @property
    def provider_files(self) -> ProviderFiles:
        """The files that providers are defined in: to add one to the user's own, or take one out."""
        from engine.models.provider_files import ProviderFiles

        with self._lock:
            if self._provider_files is None:
                self._provider_files = ProviderFiles(self.data, config_folder())
            return self._provider_files

    def model_providers(self) -> Providers:
        """Every provider a story can name, with what is wrong with their files; not those of `wire`."""
        return self.provider_files.load()

    def resolve(self, story_id: str, role: str) -> Resolution:
        """What an agent, or a role such as `librarian`, is run with, in every branch. Raises `NotFound`."""
        from engine.models.choice import resolve_in

        return resolve_in(self.story(story_id), self.model_providers(), checked_role(role))

    def line_of(self, decision: Decision) -> int | None:
        """The line of the field that decided a value, in its file as it is now. Waits."""
        from engine.models.providers import line_of_field

        return None if decision.file is None else line_of_field(decision.file, decision.field)

    def budget(
        self,
        story_id: str,
        role: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        max_output_tokens: int | None = None,
    ) -> Budget:
        """What a prompt of an agent may cost: of `model` of a provider's, left out what it resolves to, with room for
        an answer of `max_output_tokens`, left out what the story allows one. Waits; raises `NotFound`.

        The rehearsal stands in for the model that is in force: what that one could not take is told of before.
        """
        from engine.budget import budget_of
        from engine.models.windows import window_of

        resolution = self.resolve(story_id, role)
        limit = self.story(story_id).meta().settings.max_output_tokens
        chosen = resolution.provider
        if provider is not None and provider != REHEARSAL:
            chosen, model = self.model_providers().find(provider), self.model_with(story_id, role, provider, model)
        window = window_of(chosen, model or resolution.model)
        return budget_of(window, limit, asked=max_output_tokens)

    def set_model(
        self,
        story_id: str,
        role: str,
        *,
        provider: str | EllipsisType | None = ...,
        model: str | EllipsisType | None = ...,
        temperature: float | EllipsisType | None = ...,
    ) -> ModelChange | None:
        """Choose what an agent or role is run with: None inherits again, what is left out stays (see `choice`)."""
        from engine.models.choice import choose

        folder, providers, role = self.story(story_id), self.model_providers(), checked_role(role)
        self._models.clear()
        return choose(folder, providers, role, provider=provider, model=model, temperature=temperature)

    def clear_model(self, story_id: str, role: str) -> ModelChange | None:
        """Have an agent or role inherit everything again; None when it did already."""
        from engine.models.choice import clear

        self._models.clear()
        return clear(self.story(story_id), checked_role(role))

    def undo_model(self, change: ModelChange) -> ModelChange:
        """Take back what one of the two above changed; returns what does it again. Raises `Conflict`."""
        from engine.models.choice import undo_choice

        self._models.clear()
        return undo_choice(self.story(change.story), change)

    # -- generating

    @cached_property
    def generation(self) -> Generation:
        """Runs of agents: prepared, carried out, recorded."""
        from engine.generation import Generation  # not needed to open the editor

        return Generation(self, self._runtime.submit)

    def providers(self, story_id: str, branch: str | None = None) -> tuple[str, ...]:
        """Names that `wire` takes: the rehearsal, the providers that can be called, and a replay of each generation
        log, newest first.
        """
        called = (found.id for found in self.model_providers().all if found.enabled and found.id != REHEARSAL)
        return (REHEARSAL, *called, *(replay.provider for replay in self.replays(story_id, branch)))

    def replays(self, story_id: str, branch: str | None = None) -> tuple[Replay, ...]:
        """The generation logs of a branch that can be replayed, newest first."""
        folder = self.story(story_id)
        return tuple(
            Replay(f"replay:{log['id']}", log["createdAt"], log["input"] if isinstance(log["input"], str) else "")
            for log in list_logs(folder.content_root(folder.branch(branch).id))
        )

    def wire(
        self,
        prompt: Prompt,
        provider: str | None = REHEARSAL,
        *,
        model: str | None = None,
        words_per_second: float | None = None,
    ) -> Wire:
        """The wire of a provider's name: one of `providers`, or the id of one of `model_providers`, with `model` in
        place of the one in force; None is what the prompt's agent resolves to.

        Raises `NotFound` for a provider that is not there, `WrongInput` for one that can't be called.
        """
        folder = self.story(prompt.story)
        if provider is None and not self.resolve(prompt.story, prompt.agent).configured:
            provider = REHEARSAL
        pace = WORDS_PER_SECOND if words_per_second is None else words_per_second
        if provider == REHEARSAL:
            prose = folder.snapshot(prompt.branch).of_type("prose")
            return RehearsalWire([fragment.content for fragment in prose], words_per_second=pace)
        if provider is not None and provider.startswith("replay:"):
            log = read_log(folder.content_root(prompt.branch), provider.removeprefix("replay:"))
            return ReplayWire(log, words_per_second=pace)
        return self._http_wire(prompt.story, prompt.agent, provider, model)

    def model_with(self, story_id: str, role: str, provider: str, model: str | None = None) -> str:
        """The model an agent is run with when it is this provider that is called: `model`, else the one it resolves to
        with it, else the provider's default one. Raises `NotFound` and `WrongInput`.
        """
        return self._http_wire(story_id, role, provider, model).model

    def request_body(
        self,
        prompt: Prompt,
        provider: str | None = None,
        *,
        model: str | None = None,
        max_output_tokens: int | None = None,
    ) -> RequestBody | None:
        """What is sent first for a prompt, byte for byte, with its tools; `provider` and `model` as for `wire`. None
        where nothing is: the rehearsal and replays send nothing. Raises as `wire` does.
        """
        from engine.models.wire.http_wire import request_hash
        from engine.runs import request_of

        generation = self.generation
        if provider is not None and (provider == REHEARSAL or provider.startswith("replay:")):
            return None
        if provider is None and not self.resolve(prompt.story, prompt.agent).configured:
            return None
        wire = self._http_wire(prompt.story, prompt.agent, provider, model)
        tools = tuple(tool.declared for tool in generation.tools_of(prompt))
        history = generation.opening(prompt)
        prepared = wire.prepared(request_of(prompt, wire.model, max_output_tokens, tools, history))
        warnings = tuple(warning.message for warning in prepared.warnings)
        return RequestBody(wire.address, prepared.body, request_hash(prepared.body), warnings)

    def test_provider(self, provider: str, model: str | None = None) -> concurrent.futures.Future[Trial]:
        """Ask a provider for a word, which costs a few tokens. Raises `NotFound` and `WrongInput`; a call that fails is
        told of in the trial.
        """
        from engine.models.wire.trial import try_wire

        return self._runtime.submit(try_wire(self._kept_wire(self._provider_wire(provider, model))))

    def list_models(self, provider: str) -> concurrent.futures.Future[tuple[ListedModel, ...]]:
        """The models a provider lists. Raises `NotFound` and `WrongInput`, and from the future a `StonehandError`."""
        return self._runtime.submit(self._kept_wire(self._provider_wire(provider)).models())

    def detect_providers(self) -> concurrent.futures.Future[tuple[FoundServer, ...]]:
        """The servers of models that answer on this machine, at their usual ports."""
        from engine.models.wire.detection import detect

        return self._runtime.submit(detect())

    def generate(self, run: Run) -> concurrent.futures.Future[RunView]:
        """Begin a run on the engine's loop; look at `run.view()`, end it with `run.stop()`.

        The text of a passage is also written to the state folder as it arrives, until `keep` or `discard` says what
        becomes of it.
        """
        stream = self.generation.start(run)
        if self._journalled and run.is_passage():
            self._runtime.submit(self._record(run, stream))
        return stream

    def keep(self, run: Run) -> Saved:
        """Save a finished run's passage to the story and branch it was made for; once, however often it is asked.

        It is analyzed by itself two seconds later, where nothing says otherwise. Raises `StonehandError`.
        """
        from engine.runs import save_passage

        with self._keeping:
            if run not in self._kept:
                saved = self._kept[run] = save_passage(self.story(run.prompt.story), run)
                self._unkept.forget(run)
                with suppress(StonehandError, RuntimeError):  # the passage is kept, whatever comes of this
                    self.generation.analyze_after_save(run.prompt.story, run.prompt.branch, saved.fragment.id)
            return self._kept[run]

    def discard(self, run: Run) -> None:
        """Forget a passage that is not wanted; a run in progress is stopped."""
        run.stop()
        self._unkept.forget(run)

    def direction(self, story_id: str, branch: str) -> str:
        """The direction that was being written for a branch, perhaps in an earlier session. Waits."""
        return self._directions.read(self.story(story_id).content_root(branch))

    def remember_direction(self, story_id: str, branch: str, text: str) -> None:
        """Keep a direction as it is being written; an empty one is forgotten. Waits; raises `StonehandError`."""
        self._directions.write(self.story(story_id).content_root(branch), text)

    def left_passages(self) -> list[Path]:
        """Texts of passages that were neither kept nor discarded when their program ended; each is told of once."""
        return self._unkept.take_left() if self._journalled else []

    # -- fragments and health

    def fragments(self, story_id: str, branch: str | None = None) -> Sequence[Fragment]:
        """The fragments of a branch that are not archived, in file order; for the reference beside a script."""
        snapshot = self.story(story_id).snapshot(branch)
        return [fragment for fragment in snapshot.fragments.values() if not fragment.archived]

    def sections(self, story_id: str, branch: str | None = None) -> tuple[str, ...]:
        """How each section of a branch begins, on one line, in the order of the story. Waits; raises as `snapshot`."""
        snapshot = self.story(story_id).snapshot(branch)
        found = (snapshot.fragments.get(fragment_id) for fragment_id in snapshot.chain.active_ids)
        return tuple(
            "" if item is None else collapse_space(f"{item.name}: {item.content[:SECTION_START]}") for item in found
        )

    def belongings(self, story_id: str, branch: str) -> Belongings:
        """What there is in a branch, and goes with it. Waits; raises as `snapshot`."""
        folder = self.story(story_id)
        snapshot, root = folder.snapshot(branch), folder.content_root(branch)
        return Belongings(
            sections=len(snapshot.chain.entries),
            fragments=len(snapshot.fragments),
            configs=len(list((root / "agent-blocks").glob("*.json"))),
            logs=len(list((root / "generation-logs").glob("*.json"))),
            conversations=len(list((root / "character-chat").rglob("*.json"))),
        )

    def fragment_order(self, story_id: str, branch: str | None = None) -> FragmentOrder:
        """The pinned fragments of a branch, in the order they are given in. Waits."""
        from engine.agents.sections import pinned_order
        from engine.context import build_context
        from engine.models.tokens import estimate_tokens
        from engine.story.render import sheet

        snapshot = self.story(story_id).snapshot(branch)
        settings = snapshot.meta.settings
        pinned = pinned_order(build_context(snapshot, ""))
        tokens = tuple(estimate_tokens(sheet(fragment)) for fragment in pinned)
        return FragmentOrder(settings.context_order_mode, pinned, settings.fragment_order, tokens)

    def order_fragments(self, story_id: str, ids: Sequence[str], shown: FragmentOrder) -> FileEdit | None:
        """Write another order of the pinned fragments than the one that was `shown`, into the story's meta.

        Ids that are not among `ids`, as those of another branch, stay behind their neighbours. Returns what was
        written, for `take_back`. Raises `Conflict` when the order is no longer the one that was shown.
        """
        return self.story(story_id).order_fragments(ids, shown.order)

    def use_context_order(self, story_id: str, mode: Literal["simple", "advanced"]) -> FileEdit | None:
        """Have the context ordered by types, or by the order of `order_fragments`. Raises as writing does."""
        return self.story(story_id).use_context_order(mode)

    def place_fragment(
        self, story_id: str, branch: str, fragment: Fragment, placement: Literal["system", "user"]
    ) -> FileEdit | None:
        """Choose the message a pinned fragment becomes part of, in its file.

        Raises `Conflict` when its placement is no longer that of `fragment`.
        """
        return self.story(story_id).place_fragment(branch, fragment.id, placement, fragment.placement)

    def take_back(self, story_id: str, edit: FileEdit) -> FileEdit:
        """Undo one of these edits, to the byte; returns what does it again. Raises `Conflict`."""
        return self.story(story_id).take_back(edit)

    def doctor(self, story_id: str | None = None) -> list[Finding]:
        """Everything found wrong in the data folder, or in one story and the instruction sets its models may have;
        reads only.
        """
        from engine.doctor import Finding, examine, missing_meta, provider_findings

        providers = self.model_providers()
        folders = list_stories(self.data) if story_id is None else [self.story(story_id)]
        found = [finding for folder in folders for finding in examine(folder, providers, self._check_script)]
        sets = [Finding.of(problem) for problem in self._instructions.problems(self._models_of(folders))]
        if story_id is not None:
            return [*found, *sets]
        return [*provider_findings(providers), *sets, *found, *missing_meta(self.data)]

    @property
    def repair_kinds(self) -> tuple[str, ...]:
        """The names of the kinds of repairs there are."""
        from engine.doctor import Kind

        return tuple(kind.value for kind in Kind)

    def repair(self, findings: Iterable[Finding]) -> Repaired:
        """Carry out the repairs that these findings offer, with copies of the touched files in the state folder."""
        from engine.doctor import repair

        offered = [finding.offered for finding in findings if finding.offered is not None]
        outcome = repair(offered, self.state / "backups", self.data)
        for folder in tuple(self._folders.values()):
            folder.invalidate()
        return outcome

    # -- watching and closing

    def listen(self, listener: Callable[[str, frozenset[Path]], None]) -> None:
        """Have `listener(story id, files)` called, on the engine's thread, when files of an open story change."""
        self._listeners.append(listener)

    def listen_for_loss(self, listener: Callable[[str, str], None]) -> None:
        """Have `listener(story id, reason)` called, on the engine's thread, when changes of an open story are no longer
        told of by the system. They are looked for every few seconds then, and `listen` goes on to tell of them.
        """
        self._lost_listeners.append(listener)

    def listen_to_providers(self, listener: Callable[[], object]) -> None:
        """Have `listener` called, on the engine's thread, when a file that defines providers changed; if `watch`."""
        if self._watch:
            self._runtime.submit(self._follow_providers(listener))

    def flush(self) -> None:
        """Bring unsaved edits to the journal and open passages to disk, at once; for a program that is being ended.

        Thread-safe, and waits for no file of a story.
        """
        self.journal.flush()
        self._unkept.flush()

    def close(self) -> None:
        """Stop what runs, finish what is being written, end the threads. A second time it does nothing."""
        with self._lock:
            self._closed = True
            scripts = self._scripts
        if "generation" in self.__dict__:
            self.generation.close()
        if scripts is not None:
            scripts.close()
        self._runtime.close()
        self.journal.close()
        self._unkept.close()

    # -- inside

    def _http_wire(self, story_id: str, role: str, provider: str | None, model: str | None) -> HttpWire:
        from engine.models.wire.factory import wire_for

        resolution, providers = self.resolve(story_id, role), self.model_providers()
        return self._kept_wire(wire_for(resolution, providers, provider=provider, model=model))

    def _provider_wire(self, provider: str, model: str | None = None) -> HttpWire:
        from engine.models.wire.factory import usable
        from engine.models.wire.http_wire import HttpWire

        return HttpWire(usable(self.model_providers(), provider), model or "")

    def _kept_wire(self, wire: HttpWire) -> HttpWire:
        """A wire that does the same, if there is one: its connections are open, and it knows what its model refuses."""
        with self._lock:
            for known, _ in self._wires:
                if known.does_as(wire):
                    return known
            self._wires.append((wire, self._runtime.submit(_closed_at_the_end(wire))))
            return wire

    def _summary(self, folder: StoryFolder) -> StorySummary:
        try:
            meta, branches = folder.meta(), folder.branches()
        except StonehandError as error:
            return StorySummary(folder.id, folder.id, (), "", error.problem)
        return StorySummary(
            folder.id, meta.name, branches.all, branches.active, branch_problems=tuple(branches.problems)
        )

    def _document(self, folder: StoryFolder, branch_id: str, agent_name: str) -> Document:
        name = agent(agent_name).name
        key = (folder.id, branch_id, name)
        with self._lock:
            if key not in self._documents:
                self._documents[key] = Document(
                    _config_file(folder.content_root(branch_id), name),
                    self.journal if self._journalled else None,
                    locate=lambda: _config_file(folder.content_root(branch_id), name),
                    name=_config_name(folder, branch_id, name),
                )
            return self._documents[key]

    def _write(self, session: Session, pending: Pending) -> Path:
        with self._locked(session):
            return self._write_config(session, pending)

    def _locked(self, session: Session) -> AbstractContextManager[None]:
        folder = self.story(session.story)
        # The story's own folder is there also while that of the configs is not.
        return disk.lock(_config_name(folder, session.branch, session.agent), folder.path)

    def _write_config(self, session: Session, pending: Pending) -> Path:
        folder = self.story(session.story)
        if not (folder.path / "meta.json").is_file():
            raise NotFound("the story is gone", file=folder.path, repair="put it back; your edits are kept until then")
        # A story of the old layout is given branches by its first write; the config's place moves with it.
        file = _config_file(folder.writable_root(session.branch), session.agent)
        session.document.write(pending, file)
        return file

    def _known_base(self, key: tuple[object, ...], made_of: tuple[object, ...]) -> Base | None:
        with self._lock:
            known = self._bases.pop(key, None)
            if known is None:
                return None
            given = known[0].given
            if not all(map(is_, (given.snapshot, given.writer_config, given.instruction), made_of)):
                return None
            self._bases[key] = known  # last again: the one longest unused goes first
            return known[0]

    def _results(self, base: Base) -> dict[str, ScriptResult]:
        with self._lock:
            return next((dict(results) for kept, results in self._bases.values() if kept is base), {})

    def _keep_results(
        self, base: Base, results: Mapping[str, ScriptResult], *, replace: bool = False
    ) -> dict[str, ScriptResult]:
        """Remember what scripts gave and return what is remembered. Without `replace` a body's first result stands."""
        with self._lock:
            known = next((known for kept, known in self._bases.values() if kept is base), {})
            for body, result in results.items():
                if result.kind not in PASSING and (replace or body not in known):
                    known[body] = result
            while len(known) > KEPT_RESULTS:
                known.pop(next(iter(known)))
            return {body: known[body] for body in results if body in known}

    def _writer_config(self, folder: StoryFolder, branch_id: str) -> tuple[BlockConfig, Problem | None]:
        """The writer's config as it is on disk, and what is wrong with it; the empty one then.

        Not the open document's: this is called on any thread, and a save brings whoever shows it here again.
        """
        file = _config_file(folder.content_root(branch_id), WRITER)
        with self._lock:
            if file not in self._writer_configs:
                self._writer_configs[file] = disk.FileCache(file, read_config)
            config, fault = self._writer_configs[file].load()
        if fault is None:
            return config, None
        return config, replace(fault, message=f"{fault.message}; the writer's config is not part of this prompt")

    def _rescued(self, story_id: str, branch_id: str, name: str, data: bytes) -> Path:
        folder = self.state / "rescued"
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = disk.child(folder, f"{story_id}-{branch_id}-{datetime.now():%Y%m%d-%H%M%S}-{name}")
        disk.write_atomic(file, data)
        return file

    def _resolved_model(self, story_id: str, agent_name: str) -> str | None:
        """The model an agent resolves to, as it was at most `RESOLVED_FOR` seconds ago; None where no model has
        instructions of its own, for then it makes no difference.
        """
        now = time.monotonic()
        with self._lock:
            known = self._models.get((story_id, agent_name))
        if known is not None and now - known[0] < RESOLVED_FOR:
            return known[1]
        model = self.resolve(story_id, agent_name).model if self._instructions.are_there() else None
        with self._lock:
            self._models[story_id, agent_name] = (now, model)
        return model

    def _check_script(self, body: str) -> Outcome:
        return self.scripts.check(body)

    def _models_of(self, folders: Iterable[StoryFolder]) -> set[str]:
        """The models that the agents of these stories resolve to; none where no model has instructions of its own."""
        found: set[str] = set()
        if self._instructions.are_there():
            for folder in folders:
                with suppress(StonehandError):  # a story that can't be read names none
                    found |= {model for item in agents() if (model := self.resolve(folder.id, item.name).model)}
        return found

    def _match(self, pattern: str, flags: str, model: str) -> Match:
        """Match a model's id in the script sandbox: as JavaScript means the pattern, and for a bounded time."""
        given = {"pattern": pattern, "flags": flags, "model": model}
        fields = {name: [disk.compact_json(text)] for name, text in given.items()}
        limits = replace(PREVIEW_LIMITS, seconds=MATCH_SECONDS)
        outcome = self.scripts.evaluate(MATCH, fields, {}, limits)
        fault = "" if outcome.kind == "ok" else outcome.describe()
        return Match(outcome.kind == "ok" and outcome.text == "yes", outcome.milliseconds / 1000, fault)

    async def _record(self, run: Run, stream: concurrent.futures.Future[RunView]) -> None:
        end = asyncio.wrap_future(stream)
        ended = False
        while not ended:
            await asyncio.wait({end}, timeout=RECORDED_EVERY)
            ended = end.done()
            with suppress(RuntimeError):  # the program is closing, and writes the rest itself
                await asyncio.wrap_future(self._runtime.call(self._unkept.write, run))

    async def _follow(self, folder: StoryFolder) -> None:
        """Follow the changes of a story for as long as the workspace is open, also when its folder goes away and comes
        back. Where changes are not told of, the files are looked at every few seconds instead.
        """
        looking = again = False
        while True:
            try:
                if folder.path.is_dir():
                    await self._watch_folder(folder, looking=looking, again=again)
                    # It is gone, or another one: the watch is on the folder that was, and says nothing of this one.
                    folder.invalidate()
                    self._tell(folder, frozenset((folder.path,)))
            except Exception as error:  # whatever it is, outside changes must not pass unseen
                if not looking:
                    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
                    for lost in self._lost_listeners:
                        lost(folder.id, reason)
                else:
                    self._tell(folder, frozenset())
                looking = True
            again = True
            await asyncio.sleep(LOOKED_EVERY)

    async def _watch_folder(self, folder: StoryFolder, *, looking: bool, again: bool) -> None:
        """Tell of changes until the folder goes away; `looking` at the files, or being told by the system. When it is
        begun `again`, changes may have been missed in between.
        """
        from watchfiles import awatch

        stop = asyncio.Event()
        try:
            watcher = awatch(
                folder.path,
                debounce=200,
                step=50,
                stop_event=stop,
                yield_on_timeout=True,
                rust_timeout=200,
                force_polling=looking,
                poll_delay_ms=int(LOOKED_EVERY * 1000),
            )
            begun = False
            async for changes in watcher:
                if not begun:
                    # The first answer, a timeout perhaps, says that the watch is in place: now it may be relied on.
                    folder.trust_watch(not looking)
                    begun = True
                    if again:
                        self._tell(folder, frozenset())
                paths = frozenset(Path(path) for _, path in changes)
                if paths:
                    folder.invalidate(paths)
                    self._tell(folder, paths)
                    if folder.path in paths or not folder.path.is_dir():
                        return
        finally:
            folder.trust_watch(False)
            stop.set()

    def _tell(self, folder: StoryFolder, paths: frozenset[Path]) -> None:
        for listener in self._listeners:
            with suppress(Exception):  # one that fails must not keep the others from hearing of this and the next
                listener(folder.id, paths)

    async def _follow_providers(self, listener: Callable[[], object]) -> None:
        from watchfiles import awatch

        files = (self.provider_files.config, self.provider_files.own)
        names = {file.name for file in files}
        stop = asyncio.Event()
        try:
            while True:
                # A folder that is not there yet is waited for in the nearest one that is.
                folders = {_nearest(file.parent) for file in files}
                async for changes in awatch(
                    *folders, recursive=False, debounce=200, step=50, stop_event=stop, watch_filter=None
                ):
                    moved = {_nearest(file.parent) for file in files} != folders
                    if moved or any(Path(path).name in names for _, path in changes):
                        listener()
                    if moved:
                        break
                else:
                    return
        except (ImportError, RuntimeError, OSError):
            pass  # no watch here: providers are looked at whenever a story is
        finally:
            stop.set()


def _nearest(folder: Path) -> Path:
    """A folder, or where it would be made: the lowest one above it that is there."""
    return next((place for place in (folder, *folder.parents) if place.is_dir()), folder)


def _config_file(content_root: Path, agent_name: str) -> Path:
    return disk.child(content_root, "agent-blocks", f"{agent_name}.json")


def _config_name(folder: StoryFolder, branch_id: str, agent_name: str) -> Path:
    """What a config is locked and journalled by: its place once the story has branches, which a write may make."""
    return _config_file(disk.child(folder.path, BRANCHES, branch_id), agent_name)


async def _closed_at_the_end(wire: HttpWire) -> None:
    """Wait until the engine's loop ends, which cancels what runs on it, and close a wire's connections then."""
    try:
        await asyncio.Event().wait()
    finally:
        await wire.aclose()
