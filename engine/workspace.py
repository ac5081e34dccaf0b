"""The door: everything a user interface or a script does with a data folder goes through `Workspace`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from engine import disk
from engine.agents import AgentDefinition, agent, agents
from engine.blocks.apply import ScriptResult
from engine.blocks.arrange import Row
from engine.blocks.config import BlockConfig
from engine.context import script_fields
from engine.document import Document, Journal, Pending, SaveState
from engine.errors import Conflict, NotFound, Problem, StonehandError
from engine.library import state_folder
from engine.models.wire.base import Wire
from engine.models.wire.rehearsal import RehearsalWire
from engine.models.wire.replay import ReplayWire
from engine.prompt import Base, Prompt, assemble, build_base, evaluate_scripts, list_rows, script_result
from engine.runs import Run, Saved, list_logs, read_log, save_passage
from engine.runtime import Runtime
from engine.scripts import PREVIEW_LIMITS, RUN_LIMITS, Limits, ScriptEngine
from engine.story import Fragment, StoryFolder, list_stories

WRITER = "generation.writer"
REHEARSAL = "rehearsal"
KEPT_BASES = 8
"""Prompt bases kept for reuse: agents and author inputs gone back to."""
KEPT_RESULTS = 200
"""Script results kept per base: bodies typed or undone to."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class StorySummary:
    """One story of the data folder. `problem` is set, and the rest as good as it could be read, when it is damaged."""

    id: str
    name: str
    branches: tuple[str, ...]
    active_branch: str
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """One agent of a story's branch; `customised` when its config differs from the default; `built` when it compiles."""

    name: str
    display_name: str
    description: str
    group: str
    tools: tuple[str, ...]
    customised: bool
    built: bool
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """A script run for its author: the result, and the name of the error where there was one (`TypeError`)."""

    result: ScriptResult
    error_name: str = ""


@dataclass(frozen=True, slots=True)
class SaveJob:
    """A save under way. Whoever owns the document calls `finish`, on its own thread, when `future` is done."""

    document: Document
    pending: Pending
    future: concurrent.futures.Future[None]

    def finish(self) -> StonehandError | None:
        """Take in the outcome, waiting for it if need be: the error, or None when the file was written."""
        try:
            self.future.result()
        except StonehandError as error:
            self.document.not_written()
            return error
        self.document.written(self.pending)
        return None


class Workspace:
    """An open data folder (the one that holds `stories/`).

    Methods that return a `Future` work on the engine's threads; the others read or compute at once, on the caller's.
    Opening a story writes nothing. `watch` follows changes of the open stories, so that an unchanged story costs no
    disk access; without it every call looks at the files' stamps. Raises `StonehandError`s only.
    """

    def __init__(self, data: Path, *, state: Path | None = None, watch: bool = False) -> None:
        self.data = data
        self.state = state if state is not None else state_folder()
        self.journal = Journal(self.state / "journal")
        self._runtime = Runtime()
        self._engine: ScriptEngine | None = None
        self._lock = threading.RLock()
        self._folders: dict[str, StoryFolder] = {}
        self._documents: dict[Path, Document] = {}
        self._saving: dict[Path, threading.Lock] = {}
        self._bases: dict[tuple[str, str, str, str, tuple[str, ...]], Base] = {}
        self._scripts: dict[int, tuple[Base, dict[str, ScriptResult]]] = {}
        self._watch = watch
        self._watched: dict[str, concurrent.futures.Future[None]] = {}
        self._listeners: list[Callable[[str, frozenset[Path]], None]] = []

    # -- stories and agents

    def stories(self) -> tuple[StorySummary, ...]:
        """Every story, in folder order, damaged ones included."""
        return tuple(self._summary(folder) for folder in list_stories(self.data))

    def story(self, story_id: str) -> StoryFolder:
        """The folder of one story. Raises `NotFound` with the ids there are."""
        with self._lock:
            folder = self._folders.get(story_id)
            if folder is None:
                path = disk.child(self.data, "stories", story_id)
                if not (path / "meta.json").is_file():
                    known = ", ".join(folder.id for folder in list_stories(self.data)) or "none"
                    raise NotFound(
                        f"there is no story {story_id!r}",
                        file=self.data / "stories",
                        repair=f"stories: {known}",
                    )
                folder = self._folders[story_id] = StoryFolder(path)
                self._follow(folder)
            return folder

    def agents(self, story_id: str, branch: str | None = None) -> tuple[AgentSummary, ...]:
        """All agents, in the order the editor lists them."""
        summaries = []
        for definition in agents():
            document = self.document(story_id, definition.name, branch)
            summaries.append(
                AgentSummary(
                    name=definition.name,
                    display_name=definition.display_name,
                    description=definition.description,
                    group=definition.group,
                    tools=definition.tools,
                    customised=_customised(document.config),
                    built=definition.build is not None,
                    problem=document.fault,
                )
            )
        return tuple(summaries)

    def agent(self, name: str) -> AgentDefinition:
        """One agent's definition. Raises `NotFound`."""
        return agent(name)

    # -- documents

    def document(self, story_id: str, agent_name: str, branch: str | None = None) -> Document:
        """The open block config of an agent; the same object each time. Raises `NotFound`."""
        folder = self.story(story_id)
        definition = agent(agent_name)
        root = folder.content_root(self._branch(folder, branch))
        file = disk.child(root, "agent-blocks", f"{definition.name}.json")
        with self._lock:
            if file not in self._documents:
                self._documents[file] = Document(file, self.journal)
            return self._documents[file]

    def documents(self) -> tuple[Document, ...]:
        """Every document that was opened."""
        with self._lock:
            return tuple(self._documents.values())

    def save(self, document: Document) -> SaveJob | None:
        """Begin to write unsaved edits on an engine thread; None when nothing is to be written."""
        pending = document.pending()
        if pending is None:
            return None

        def write() -> None:
            with self._write_lock(document.file), disk.lock(document.file):
                document.write(pending)

        return SaveJob(document, pending, self._runtime.call(write))

    def save_now(self, document: Document) -> None:
        """Write unsaved edits and wait. Raises `Conflict` and `StonehandError`."""
        with self._write_lock(document.file), disk.lock(document.file):
            document.save()

    def edit(
        self,
        story_id: str,
        agent_name: str,
        branch: str | None,
        change: Callable[[Document, Sequence[Row]], None],
    ) -> Document:
        """Load, edit and save a config as one step that other programs' edits cannot come between.

        `change` gets the document as it is on disk now and the rows the editor would show.
        """
        document = self.document(story_id, agent_name, branch)
        with self._write_lock(document.file), disk.lock(document.file):
            document.check_file()
            if document.state is SaveState.CONFLICT:
                raise Conflict(
                    "there are unsaved edits of an earlier session and the file has changed since",
                    file=document.file,
                    repair="open it in the editor and choose one",
                )
            rows = self.rows(story_id, agent_name, branch) if agent(agent_name).build is not None else ()
            change(document, rows)
            document.save()
        return document

    # -- prompts

    def base(
        self,
        story_id: str,
        agent_name: str,
        branch: str | None = None,
        author_input: str = "",
        config: BlockConfig | None = None,
    ) -> Base:
        """What a prompt of this agent is built from, as the story stands on disk now; the same object while it does."""
        folder = self.story(story_id)
        definition = agent(agent_name)
        snapshot = folder.snapshot(self._branch(folder, branch))
        if config is None:
            config = self.document(story_id, agent_name, branch).config
        key = (story_id, snapshot.branch, agent_name, author_input, config.disabledTools)
        with self._lock:
            known = self._bases.get(key)
            if known is not None and known.snapshot is snapshot:
                return known
        base = build_base(definition, snapshot, author_input, config)
        with self._lock:
            if known is not None:
                self._scripts.pop(id(known), None)
            self._bases[key] = base
            while len(self._bases) > KEPT_BASES:
                self._scripts.pop(id(self._bases.pop(next(iter(self._bases)))), None)
        return base

    def results(self, base: Base) -> Mapping[str, ScriptResult]:
        """Script results known for a base, by body."""
        with self._lock:
            return dict(self._scripts.get(id(base), (base, {}))[1])

    def evaluate(
        self, base: Base, config: BlockConfig, limits: Limits = RUN_LIMITS
    ) -> Mapping[str, ScriptResult]:
        """Results of all script blocks of a config, run where they are not known yet. Waits for them."""
        results = evaluate_scripts(self.scripts, base, config, limits, self.results(base))
        return self._remember(base, results)

    def rows(
        self, story_id: str, agent_name: str, branch: str | None = None, author_input: str = ""
    ) -> tuple[Row, ...]:
        """The block list as the editor shows it, scripts evaluated."""
        config = self.document(story_id, agent_name, branch).config
        base = self.base(story_id, agent_name, branch, author_input, config)
        return list_rows(base, config, self.evaluate(base, config))

    def prompt(
        self, story_id: str, agent_name: str = WRITER, branch: str | None = None, author_input: str = ""
    ) -> Prompt:
        """The compiled prompt, exactly as it would be sent. Raises `StonehandError` where it can't be built."""
        document = self.document(story_id, agent_name, branch)
        if document.fault is not None:
            fault = document.fault
            raise StonehandError(
                fault.message, file=fault.file, field=fault.field, line=fault.line, repair=fault.repair
            )
        base = self.base(story_id, agent_name, branch, author_input, document.config)
        return assemble(base, document.config, self.evaluate(base, document.config))

    def start(self, function: Callable[[], _T]) -> concurrent.futures.Future[_T]:
        """Run one of the waiting methods on an engine thread: `workspace.start(lambda: workspace.prompt(…))`."""
        return self._runtime.call(function)

    # -- scripts

    @property
    def scripts(self) -> ScriptEngine:
        """The script engine, made when first needed."""
        with self._lock:
            if self._engine is None:
                self.state.mkdir(parents=True, exist_ok=True)
                self._engine = ScriptEngine(self.state / "crash.log")
            return self._engine

    def warm_scripts(self) -> None:
        """Load the script engine in the background; worth doing when a story has script blocks."""
        with suppress(RuntimeError):
            self._runtime.call(self.scripts.warm)

    def preview(
        self, base: Base, body: str, limits: Limits = PREVIEW_LIMITS
    ) -> concurrent.futures.Future[Preview]:
        """Run one script for its author. Cancelling the future ends the script at once."""
        fields, functions = script_fields(base.state, base.snapshot)
        inner = self.scripts.submit(body, fields, functions, limits)
        outer: concurrent.futures.Future[Preview] = concurrent.futures.Future()

        def cancel(future: concurrent.futures.Future[Preview]) -> None:
            if future.cancelled():
                inner.cancel()

        def done(future: concurrent.futures.Future) -> None:  # type: ignore[type-arg]
            if not outer.set_running_or_notify_cancel():
                return
            if future.cancelled():
                outer.set_exception(concurrent.futures.CancelledError())
            elif (error := future.exception()) is not None:
                outer.set_exception(error)
            else:
                outcome = future.result()
                result = script_result(outcome)
                if outcome.kind not in ("cancelled", "timeout"):
                    self._remember(base, {body: result})
                outer.set_result(Preview(result, outcome.name))

        outer.add_done_callback(cancel)
        inner.add_done_callback(done)
        return outer

    # -- generating

    def providers(self, story_id: str, branch: str | None = None) -> tuple[str, ...]:
        """Names that `run` takes: the rehearsal, and a replay of each generation log, newest first."""
        folder = self.story(story_id)
        logs = list_logs(folder.content_root(self._branch(folder, branch)))
        return (REHEARSAL, *(f"replay:{log['id']}" for log in logs))

    def wire(
        self, prompt: Prompt, provider: str = REHEARSAL, *, words_per_second: float | None = None
    ) -> Wire:
        """The wire of a provider's name. Raises `NotFound` for one there is none of."""
        folder = self.story(prompt.story)
        pace = {} if words_per_second is None else {"words_per_second": words_per_second}
        if provider == REHEARSAL:
            snapshot = folder.snapshot(prompt.branch)
            return RehearsalWire([fragment.content for fragment in _prose(snapshot)], **pace)
        if provider.startswith("replay:"):
            log = read_log(folder.content_root(prompt.branch), provider.removeprefix("replay:"))
            return ReplayWire(log, **pace)
        raise NotFound(f"there is no provider {provider!r}", repair="use rehearsal, or replay:<log id>")

    def run(self, run: Run) -> concurrent.futures.Future[object]:
        """Begin a run on the engine's loop; look at `run.view()`, end it with `run.stop()`."""
        return self._runtime.submit(run.stream())  # type: ignore[return-value]

    def keep(self, run: Run) -> Saved:
        """Save a finished run's passage to the story and branch it was made for. Raises `StonehandError`."""
        prompt = run.prompt
        folder = self.story(prompt.story)
        base = self.base(prompt.story, prompt.agent, prompt.branch, prompt.input)
        return save_passage(folder, prompt, base.state, run.view(), run.thoughts)

    # -- fragments

    def fragments(self, story_id: str, branch: str | None = None) -> Sequence[Fragment]:
        """The fragments of a branch that are not archived, in file order; for the reference beside a script."""
        folder = self.story(story_id)
        snapshot = folder.snapshot(self._branch(folder, branch))
        return [fragment for fragment in snapshot.fragments.values() if not fragment.archived]

    # -- health

    def doctor(self, story_id: str | None = None) -> list[Problem]:
        """Everything found wrong in the data folder or one story; reads only."""
        from engine.doctor import examine

        found: list[Problem] = []
        for folder in list_stories(self.data) if story_id is None else [self.story(story_id)]:
            found += examine(folder)
        return found

    # -- watching

    def listen(self, listener: Callable[[str, frozenset[Path]], None]) -> None:
        """Have `listener(story id, files)` called, on the engine's thread, when files of an open story change."""
        self._listeners.append(listener)

    def close(self) -> None:
        """Stop what runs, finish what is being written, end the threads."""
        for future in self._watched.values():
            future.cancel()
        if self._engine is not None:
            self._engine.close()
        self.journal.close()
        self._runtime.close()

    # -- inside

    def _branch(self, folder: StoryFolder, branch: str | None) -> str:
        branches = folder.branches()
        if branch is None:
            return branches.active
        if branch not in branches.ids:
            raise NotFound(
                f"story {folder.id!r} has no branch {branch!r}", repair=f"branches: {', '.join(branches.ids)}"
            )
        return branch

    def _summary(self, folder: StoryFolder) -> StorySummary:
        try:
            meta, branches = folder.meta(), folder.branches()
        except StonehandError as error:
            return StorySummary(folder.id, folder.id, (), "", error.problem)
        return StorySummary(folder.id, meta.name, branches.ids, branches.active)

    def _remember(self, base: Base, results: Mapping[str, ScriptResult]) -> Mapping[str, ScriptResult]:
        with self._lock:
            kept = self._scripts.setdefault(id(base), (base, {}))[1]
            kept.update(results)
            while len(kept) > KEPT_RESULTS:
                kept.pop(next(iter(kept)))
            return dict(kept)

    def _write_lock(self, file: Path) -> threading.Lock:
        with self._lock:
            return self._saving.setdefault(file, threading.Lock())

    def _follow(self, folder: StoryFolder) -> None:
        if self._watch:
            self._watched[folder.id] = self._runtime.submit(self._watch_story(folder))

    async def _watch_story(self, folder: StoryFolder) -> None:
        from watchfiles import awatch

        stop = asyncio.Event()
        try:
            folder.trust_watch(True)
            async for changes in awatch(
                folder.path, debounce=150, step=40, stop_event=stop, rust_timeout=500
            ):
                paths = frozenset(Path(path) for _, path in changes)
                folder.invalidate(paths)
                for listener in self._listeners:
                    listener(folder.id, paths)
        finally:
            folder.trust_watch(False)
            stop.set()


def _prose(snapshot: object) -> Iterable[Fragment]:
    raise NotImplementedError


def _customised(config: BlockConfig) -> bool:
    return bool(
        config.customBlocks
        or config.overrides
        or config.blockOrder
        or config.disabledTools
        or config.disableAutoAnalysis
    )
