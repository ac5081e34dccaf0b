"""`Workspace`: an open data folder."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from engine import disk
from engine.agents import WRITER, AgentDefinition, Sources, agent, agents, instruction_sets
from engine.agents.instruction_sets import InstructionSets, Match
from engine.agents.sources import NO_SOURCES
from engine.agents.tools import describe
from engine.blocks.apply import ScriptResult
from engine.blocks.bundles import is_customised
from engine.blocks.config import EMPTY, BlockConfig, dump_config
from engine.document import Document, Journal, Pending, SaveState, read_config
from engine.errors import Conflict, InvalidFile, NotFound, Problem, StonehandError, WrongInput
from engine.folders import state_folder
from engine.hooks import HookRegistry
from engine.prompt import Base, Prompt, build_base, evaluate_scripts, script_result
from engine.runtime import Runtime
from engine.scripts import PREVIEW_LIMITS, RUN_LIMITS, Limits, Outcome, ScriptEngine
from engine.session import Loaded, Session
from engine.story import Fragment, StoryFolder, list_stories
from engine.story.branches import FOLDER as BRANCHES
from engine.text import Phrase, collapse_space, did_you_mean, listed
from engine.workspace.bases import Bases
from engine.workspace.changes import Changes
from engine.workspace.jobs import PreviewJob, SaveJob
from engine.workspace.models import Models
from engine.workspace.order import Order
from engine.workspace.passages import Passages
from engine.workspace.rescue import Rescue
from engine.workspace.views import AgentSummary, Belongings, Reference, StorySummary
from engine.workspace.watching import Watching
from engine.workspace.wires import Wires

if TYPE_CHECKING:
    from engine.comparison import Comparison
    from engine.doctor import Finding, Repair, Repaired
    from engine.runs import Run, RunView
    from engine.workspace.analyses import Analyses
    from engine.workspace.conversations import Conversations
    from engine.workspace.exchange import Exchange
    from engine.workspace.generation import Generation
    from engine.workspace.history import RunHistory

MATCH = "return new RegExp(ctx.pattern, ctx.flags).test(ctx.model) ? 'yes' : 'no'"
MATCH_SECONDS = 0.25
"""The time one pattern of an instruction set has to match one model's id."""
SECTION_START = 120
"""Characters of a section that tell it from others."""

_T = TypeVar("_T")


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
        self._lock = threading.RLock()
        self._folders: dict[str, StoryFolder] = {}
        self._listed: dict[str, StoryFolder] = {}
        self._documents: dict[tuple[str, str, str], Document] = {}
        self._writer_configs: dict[Path, disk.FileCache[tuple[BlockConfig, Problem | None]]] = {}
        self._saves: dict[Document, SaveJob] = {}
        self._bases = Bases()
        self._closed = False
        self._watch = watch
        self.models = Models(data, self._runtime, self.story, self._instructions.are_there)
        self.changes = Changes(self.story)
        self.watching = Watching(self._runtime, self.models, watch=watch)
        self.wires = Wires(self.story, self.models, lambda: self.generation, lambda: self.runs)
        self.passages = Passages(
            self.state,
            self._runtime,
            self.story,
            lambda *saved: self.generation.analyze_after_save(*saved),
            lambda *saved: self.generation.drop_analysis(*saved),
            lambda: self.runs,
            journalled=journal,
        )
        self.order = Order(self.story)
        self.rescue = Rescue(data, self.state, self.journal, self.story, journalled=journal)

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
                    close, known = did_you_mean(story_id, names), ", ".join(names) or Phrase("none")
                    repair = Phrase("{close}stories: {known}", close=close, known=known)
                    raise NotFound(Phrase("there is no story {story_id!r}", story_id=story_id), repair=repair)
                folder = self._folders[story_id] = self._listed.get(story_id) or StoryFolder(path)
                if self._watch:
                    self._runtime.submit(self.watching.follow(folder))
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
        fragment its prompt is to be about, for an agent that has a `subject`; left out, the one that a run would take,
        if it takes one by itself. Loading raises `NotFound` when it is not there.
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
        """What a run of an agent is told of a chosen fragment, or of none. Raises `WrongInput` and `NotFound`."""
        definition = agent(agent_name)
        subject = definition.subject
        if target is None:
            if subject is None or subject.unchosen is None:
                return NO_SOURCES
            fragment = subject.unchosen(self.story(story_id).snapshot(branch))
            return NO_SOURCES if fragment is None else subject.sources(fragment, author_input)
        if subject is None:
            raise WrongInput(
                Phrase("a prompt of {name} is about no fragment", name=definition.name), repair="choose none"
            )
        fragment = self.story(story_id).snapshot(branch).get(target)
        if fragment is None:
            raise NotFound(
                Phrase("there is no fragment {target} on branch {branch}", target=target, branch=branch),
                repair="choose another one",
            )
        if subject.types and fragment.type not in subject.types:
            kinds = listed(subject.types, " or ")
            raise WrongInput(
                Phrase("{name} needs a fragment of {kinds}", name=definition.name, kinds=kinds),
                repair=Phrase("choose one; {target} is of {kind}", target=target, kind=fragment.type),
            )
        return subject.sources(fragment, author_input)

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
        from engine.workspace.exchange import Exchange  # not needed to open the editor

        return Exchange(self, self.state / "imports")

    @cached_property
    def conversations(self) -> Conversations:
        """What is said with agents, and talking with them."""
        from engine.workspace.conversations import Conversations  # not needed to open the editor

        return Conversations(self, self._runtime.submit)

    @cached_property
    def analyses(self) -> Analyses:
        """What the librarian found in passages."""
        from engine.workspace.analyses import Analyses  # not needed to open the editor

        return Analyses(self.story, self.changes)

    @cached_property
    def runs(self) -> RunHistory:
        """The generation logs, to look back on."""
        from engine.workspace.history import RunHistory  # not needed to open the editor

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
        agent resolves to. `sources` is what a run is about, or a preview: see `sources_of`.
        """
        if model is None:
            model = self.models.resolved(story_id, agent_name)
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
        if (known := self._bases.known(key, made_of)) is not None:
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
        return self._bases.add(key, made_of, base)

    def evaluate(self, base: Base, config: BlockConfig, limits: Limits = RUN_LIMITS) -> Mapping[str, ScriptResult]:
        """Results of all script blocks of a config, by body; run where they are not known yet, which waits.

        A body runs once for one base, so that chance and time say the same in list, preview and request.
        """
        results = evaluate_scripts(lambda: self.scripts, base, config, limits, self._bases.results(base))
        return {**results, **self._bases.keep_results(base, results)}

    def prompt(
        self,
        story_id: str,
        agent_name: str = WRITER,
        branch: str | None = None,
        author_input: str = "",
        *,
        model: str | None = None,
        target: str | None = None,
    ) -> Prompt:
        """The compiled prompt; the rest as of a `session`. Raises `StonehandError` where it can't be built."""
        session = self.session(story_id, agent_name, branch, model=model, target=target)
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

            def compared() -> Comparison:
                log = self.runs.last_log(session.story, session.branch, session.agent)
                if log is None:
                    raise NotFound(
                        Phrase(
                            "{agent} was sent nothing on branch {branch} yet",
                            agent=session.agent,
                            branch=session.branch,
                        )
                    )
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
                self._bases.keep_results(base, {body: script_result(outcome)}, replace=True)

        future.add_done_callback(keep)
        return PreviewJob(base, body, limits, future)

    @property
    def has_instructions(self) -> bool:
        """Whether any model has instructions of its own, so that a prompt depends on the model."""
        return self._instructions.are_there()

    def instruction(self, key: str, model: str | None = None) -> str:
        """The fixed text of a key, as a model is told it. Raises `KeyError`."""
        return self._instructions.for_model(model)(key)

    # -- generating

    @cached_property
    def generation(self) -> Generation:
        """Runs of agents: prepared, carried out, recorded."""
        from engine.workspace.generation import Generation  # not needed to open the editor

        return Generation(self, self._runtime.submit, self.watching.analysis_listeners)

    def generate(self, run: Run) -> concurrent.futures.Future[RunView]:
        """Begin a run on the engine's loop; look at `run.view()`, end it with `run.stop()`.

        The text of a passage is also written to the state folder as it arrives, until `keep` or `discard` says what
        becomes of it.
        """
        stream = self.generation.start(run)
        self.passages.record(run, stream)
        return stream

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

    def doctor(self, story_id: str | None = None) -> list[Finding]:
        """Everything found wrong in the data folder, or in one story and the instruction sets its models may have;
        reads only.
        """
        from engine.doctor import Finding, examine, missing_meta, provider_findings

        providers = self.models.providers()
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

    def repairs_ahead(self, findings: Iterable[Finding], kinds: Collection[str]) -> list[Finding]:
        """The findings that only come to light when those of `findings` are repaired whose repairs are of one of these
        kinds, and would be repaired in turn; their repairs are to be told. Changes nothing. Raises `StonehandError`.
        """
        from engine.doctor import coming_to_light, examine

        def asked(offered: Repair) -> bool:
            return offered.kind.value in kinds

        offers = [finding.offered for finding in findings if finding.offered is not None]
        touched = [offered.file for offered in offers if asked(offered)]
        providers = self.models.providers()
        return [
            finding
            for folder in list_stories(self.data)
            if any(file.is_relative_to(folder.path) for file in touched)
            for finding in coming_to_light(
                folder.path, lambda copied: examine(StoryFolder(copied), providers, self._check_script), asked
            )
        ]

    def repair(self, findings: Iterable[Finding]) -> Repaired:
        """Carry out the repairs that these findings offer, with copies of the touched files in the state folder."""
        from engine.doctor import repair

        offered = [finding.offered for finding in findings if finding.offered is not None]
        outcome = repair(offered, self.state / "backups", self.data)
        for folder in tuple(self._folders.values()):
            folder.invalidate()
        return outcome

    # -- watching and closing

    def flush(self) -> None:
        """Bring unsaved edits to the journal and open passages to disk, at once; for a program that is being ended.

        Thread-safe, and waits for no file of a story.
        """
        self.journal.flush()
        self.passages.flush()

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
        self.passages.close()

    # -- inside

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
        return config, replace(
            fault,
            message=Phrase(
                "{message}; the writer's config is not part of this prompt", message=Phrase.of(fault.message)
            ),
        )

    def _check_script(self, body: str) -> Outcome:
        return self.scripts.check(body)

    def _models_of(self, folders: Iterable[StoryFolder]) -> set[str]:
        """The models that the agents of these stories resolve to; none where no model has instructions of its own."""
        found: set[str] = set()
        if self._instructions.are_there():
            for folder in folders:
                with suppress(StonehandError):  # a story that can't be read names none
                    found |= {model for item in agents() if (model := self.models.resolve(folder.id, item.name).model)}
        return found

    def _match(self, pattern: str, flags: str, model: str) -> Match:
        """Match a model's id in the script sandbox: as JavaScript means the pattern, and for a bounded time."""
        given = {"pattern": pattern, "flags": flags, "model": model}
        fields = {name: [disk.compact_json(text)] for name, text in given.items()}
        limits = replace(PREVIEW_LIMITS, seconds=MATCH_SECONDS)
        outcome = self.scripts.evaluate(MATCH, fields, {}, limits)
        fault = "" if outcome.kind == "ok" else outcome.describe()
        return Match(outcome.kind == "ok" and outcome.text == "yes", outcome.milliseconds / 1000, fault)


def _config_file(content_root: Path, agent_name: str) -> Path:
    return disk.child(content_root, "agent-blocks", f"{agent_name}.json")


def _config_name(folder: StoryFolder, branch_id: str, agent_name: str) -> Path:
    """What a config is locked and journalled by: its place once the story has branches, which a write may make."""
    return _config_file(disk.child(folder.path, BRANCHES, branch_id), agent_name)
