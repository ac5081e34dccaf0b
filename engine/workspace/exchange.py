"""Whole configs replaced, by one from a file or another place or by the default: first what it would change, then the
change, and the way back.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from engine import disk
from engine.addresses import UNUSED, address_keys
from engine.agents import AgentDefinition, AgentInput, agent, agents
from engine.agents.older_layout import OLD_IDS, old_block_warnings
from engine.blocks.bundles import Bundle, agent_bundle, disarmed, parse_bundle, story_bundle
from engine.blocks.changes import describe_changes
from engine.blocks.config import EMPTY, BlockConfig, ConfigFault, dump_config, parse_config
from engine.blocks.edits import fit_agent, reset_agent
from engine.context import build_context
from engine.document import Document, read_config
from engine.errors import Conflict, InvalidFile, NotFound, Problem, StonehandError
from engine.json_text import dotted
from engine.prompt import block_ids, other_slots
from engine.session import ANALYZE, Session
from engine.story import StoryFolder
from engine.story.branches import FOLDER as BRANCHES
from engine.text import Phrase, listed

_T = TypeVar("_T")
ATTEMPTS = 20
"""How often a plan is made anew when configs change between plan and deed."""


@dataclass(frozen=True, slots=True)
class StoryExport:
    """A story's configs in their exchange format, and what is wrong with those that could not be put into it."""

    bundle: dict[str, Any]
    left_out: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class AgentImport:
    """What an import does to one agent's config. `disarmed` names the scripts it brings in switched off; `invalid` is
    what is wrong with the file it replaces, if that is no valid config.
    """

    agent: str
    before: BlockConfig
    after: BlockConfig
    changes: tuple[str, ...]
    disarmed: tuple[str, ...] = ()
    invalid: Problem | None = None


@dataclass(frozen=True, slots=True)
class Import:
    """An import, copy or reset that was planned and can be carried out; `notes` tell of what is not taken over."""

    story: str
    branch: str
    agents: tuple[AgentImport, ...]
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[AgentImport, ...]:
        """The agents it makes a difference to."""
        return tuple(item for item in self.agents if item.changes)


@dataclass(frozen=True, slots=True)
class Replaced:
    """A file that an import, copy or reset replaced: what it held `before` and `after` that (None: no file)."""

    agent: str
    file: Path
    before: bytes | None
    after: bytes | None
    changes: tuple[str, ...]
    """What putting it back would change; empty for one that has changed since, which is left alone."""


@dataclass(frozen=True, slots=True)
class TakingBack:
    """How the last import, copy or reset of a branch would be taken back, with the `record` that says so.

    `agents` are put back; `changed` are left alone, because their files have changed since.
    """

    story: str
    branch: str
    agents: tuple[Replaced, ...]
    changed: tuple[Replaced, ...]
    record: bytes


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A config that was not put back, and the file its version from before the import is in now (None: it had none)."""

    agent: str
    file: Path
    copy: Path | None


def read_bundle(data: bytes, file: Path, agent: str | None) -> Bundle:
    """The configs in a file, and notes on what is lost of it.

    Raises `InvalidFile` with the field and line of what is wrong.
    """
    value = disk.parse_json(data, file)
    try:
        bundle = parse_bundle(value, agent)
        told = list(disk.repeated_keys(file, data))
        text = data.decode("utf-8", "replace")
        told += (Problem(UNUSED, file, dotted(path), disk.json_line(text, path)) for path in address_keys(value))
        return replace(bundle, notes=(*bundle.notes, *(problem.told() for problem in told))) if told else bundle
    except ConfigFault as fault:
        line = disk.json_line(data.decode("utf-8", "replace"), fault.path)
        raise InvalidFile(fault.reason, file=file, field=dotted(fault.path), line=line) from None


def plan_agent(name: str, before: BlockConfig, given: BlockConfig, *, foreign: bool) -> AgentImport:
    """Replace a config by another: what is missing falls back to the default, nothing is merged (spec, section 8.3).

    Of keys that are not used here those of the config there is stay. The scripts of a `foreign` one arrive switched
    off, but for those that are on in the config there is.
    """
    after, scripts = disarmed(given, before) if foreign else (given, ())
    value, mine = dump_config(after), dump_config(before)
    kept = {key: item for key, item in mine.items() if key not in value}
    if kept:
        after = parse_config({**value, **kept})
    return AgentImport(name, before, after, describe_changes(before, after, agent(name).tools), scripts)


def plan_reset(name: str, before: BlockConfig) -> AgentImport:
    """Replace a config by the default one."""
    after = reset_agent(before)
    return AgentImport(name, before, after, describe_changes(before, after, agent(name).tools))


class Configs(Protocol):
    """Where configs are: what `Exchange` needs of a workspace."""

    def story(self, story_id: str) -> StoryFolder: ...

    def document(self, story_id: str, agent_name: str, branch: str | None = None) -> Document: ...

    def edit(self, story_id: str, agent_name: str, branch: str | None, change: Callable[[Session], _T]) -> _T: ...


class Exchange:
    """Configs on their way out of a data folder, into it, and from one place of it to another.

    What is brought in is planned first, which writes nothing and says what would change; `carry_out` does it. The last
    one of a branch can be taken back: planned by `plan_take_back`, done by `take_back`. A config that can't be used
    raises `InvalidFile` where it is read; an import or copy replaces it, says so in its plan, and keeps the file.
    """

    def __init__(self, configs: Configs, records: Path) -> None:
        """`records`: the folder in which what was replaced is kept."""
        self._configs = configs
        self._record = ImportRecord(records)

    def export_agent(self, story_id: str, agent_name: str, branch: str | None = None) -> dict[str, Any]:
        """An agent's config in its exchange format."""
        definition = agent(agent_name)
        return agent_bundle(definition.name, definition.display_name, self._config(story_id, definition.name, branch))

    def export_story(self, story_id: str, branch: str | None = None) -> StoryExport:
        """The configs of all agents that have a valid one."""
        configs: dict[str, BlockConfig] = {}
        left_out: list[Problem] = []
        for item in agents():
            try:
                configs[item.name] = self._config(story_id, item.name, branch)
            except InvalidFile as error:
                left_out.append(error.problem)
        return StoryExport(story_bundle(configs), tuple(left_out))

    def unknown_configs(self, story_id: str, branch: str | None = None) -> tuple[Path, ...]:
        """Files of configs whose agents are not known here, so that `export_story` leaves them out."""
        folder = self._configs.story(story_id)
        known = {item.name for item in agents()}
        files = (folder.content_root(folder.branch(branch).id) / "agent-blocks").glob("*.json")
        return tuple(sorted(file for file in files if file.stem not in known and file.is_file()))

    def text(self, bundle: Mapping[str, Any]) -> str:
        """An exported bundle as the text of its file."""
        return disk.dump_json(bundle).decode()

    def write_file(self, bundle: Mapping[str, Any], file: Path, *, replacing: bool) -> None:
        """Write an exported bundle to a file. Raises `NotFound` for a folder that is not there, `Conflict` when there
        is a file already that is not meant to be replaced, `StonehandError` when it can't be written.
        """
        if not file.parent.is_dir():
            raise NotFound("there is no such folder", file=file.parent, repair="name one that is there")
        if replacing:
            disk.write_atomic(file, disk.dump_json(bundle))
        else:
            disk.write_atomic(file, disk.dump_json(bundle), expected=None)

    def read_file(self, file: Path) -> bytes:
        """The content of a file to be imported. Raises `NotFound` and `StonehandError`."""
        if not file.is_file():
            what = "is no file that can be read" if file.exists() else "there is no such file"
            raise NotFound(what, file=file, repair="name the file that was exported")
        return disk.read_bytes(file) or b""

    def plan_import(
        self, story_id: str, data: bytes, file: Path, agent_name: str | None = None, branch: str | None = None
    ) -> Import:
        """What importing a bundle, the content of `file`, would change: for one agent, or for all that it names.

        Raises `InvalidFile` for a bundle that can't be used, too.
        """
        name = agent(agent_name).name if agent_name is not None else None
        bundle = read_bundle(data, file, name)
        known = {item.name for item in agents()}
        left_out = tuple(
            Phrase("there is no agent {agent}: its config was left out", agent=item)
            for item in bundle.configs
            if item not in known
        )
        given = {item: config for item, config in bundle.configs.items() if item in known}
        # What was kept before an earlier import was here already, its scripts as they were.
        return self._plan(
            story_id, branch, given, (*bundle.notes, *left_out), foreign=not self._record.kept(file, data)
        )

    def plan_copy(
        self, source: tuple[str, str | None, str], story_id: str, agent_name: str, branch: str | None = None
    ) -> Import:
        """What copying the config of `source` (story, branch, agent) to an agent would change.

        To another agent, what is said of blocks that it can never have is left out, which the notes tell.
        """
        from_story, from_branch, from_agent = source
        target = agent(agent_name)
        notes: tuple[str, ...] = ()
        config = self._config(from_story, agent(from_agent).name, from_branch)
        if target is not agent(from_agent):
            config, notes = self._fitted(config, target, story_id, branch)
        return self._plan(story_id, branch, {target.name: config}, notes, foreign=False)

    def plan_reset(self, story_id: str, agent_name: str | None, branch: str | None = None) -> Import:
        """What going back to the default config would change: for one agent, or for all of a branch (None)."""
        branch_id = self._configs.story(story_id).branch_to_write(branch).id
        names = [item.name for item in agents()] if agent_name is None else [agent(agent_name).name]
        plans = (plan_reset(name, self._config(story_id, name, branch_id)) for name in names)
        return Import(story_id, branch_id, tuple(plans))

    def carry_out(self, plan: Import) -> dict[str, Path]:
        """Do what was planned, for all agents or none. Returns the copy of each replaced file by its agent.

        Raises `Conflict` when a config is no longer what the plan was made for.
        """
        if not plan.changed:
            return {}
        kept = self.remember(plan.story, plan.branch, {item.agent: item.after for item in plan.changed})
        done: list[AgentImport] = []
        try:
            for item in plan.changed:
                self._replace(plan, item)
                done.append(item)
        except StonehandError:
            for item in done:
                self._give_back(plan, item, kept.get(item.agent))
            raise
        return kept

    def carry_out_anew(self, make: Callable[[], Import]) -> tuple[Import, dict[str, Path]]:
        """Plan and do it as one step that other imports wait for; a config that is edited meanwhile is planned for
        again. Returns the plan that was carried out, and what `carry_out` does. Raises what `make` and that raise.
        """
        plan = make()
        with disk.lock(self._place(plan.story, plan.branch)):
            for _ in range(ATTEMPTS):
                plan = make()
                try:
                    return plan, self.carry_out(plan)
                except Conflict as error:
                    conflict = error
        raise conflict

    def remember(self, story_id: str, branch_id: str, replacing: Mapping[str, BlockConfig]) -> dict[str, Path]:
        """Keep what the files of some agents hold now, which these configs are about to replace.

        That can be taken back then, and is also copied to files of its own, which can be imported; they are returned,
        by the agents that have a file. For an editor that makes the change itself; `carry_out` does this, too.
        """
        place = self._place(story_id, branch_id)
        before = {name: disk.read_bytes(self._configs.document(story_id, name, branch_id).file) for name in replacing}
        after = {name: disk.dump_json(dump_config(config)) for name, config in replacing.items()}
        self._record.keep(place, {name: (data, after[name]) for name, data in before.items()})
        return {name: self._record.keep_copy(place, name, data) for name, data in before.items() if data is not None}

    def reset_invalid(self, story_id: str, agent_name: str, branch: str | None = None) -> Path:
        """Replace a config that is not valid by the empty one; returns the copy of it that lies beside it.

        It can be taken back as an import can. Raises as `Workspace.edit`.
        """
        branch_id, name = self._configs.story(story_id).branch_to_write(branch).id, agent(agent_name).name

        def change(session: Session) -> Path:
            self.remember(story_id, branch_id, {name: EMPTY})
            return session.document.reset_invalid()

        return self._configs.edit(story_id, name, branch_id, change)

    def plan_take_back(self, story_id: str, branch: str | None = None) -> TakingBack:
        """What taking back the last import, copy or reset in a branch would put back.

        Raises `NotFound` without one, also when its files are again as they were before it.
        """
        branch_id = self._configs.story(story_id).branch_to_write(branch).id
        record, files = self._record.load(self._place(story_id, branch_id))
        back: list[Replaced] = []
        changed: list[Replaced] = []
        for name, (before, after) in files.items():
            file = self._configs.document(story_id, name, branch_id).file
            now = disk.read_bytes(file)
            if now == before:
                continue
            if now == after:
                back.append(Replaced(name, file, before, after, _changes_back(file, before, after)))
            else:
                changed.append(Replaced(name, file, before, after, ()))
        if not back and not changed:
            raise NotFound("the last import was taken back already", repair="nothing is to be taken back")
        return TakingBack(story_id, branch_id, tuple(back), tuple(changed), record)

    def take_back(self, plan: TakingBack) -> tuple[LeftAlone, ...]:
        """Put back the files of a plan to the byte. Returns those that were left alone, as they have changed since.

        What such a file held before the import is written to a file of its own in the state folder, which can be
        imported, and stays on record. Raises `Conflict`, with nothing written, when another import has come between.
        """
        place = self._place(plan.story, plan.branch)
        with disk.lock(place):
            if self._record.load(place)[0] != plan.record:
                raise Conflict("another import was made since the changes were shown", repair="look again")
            left = list(plan.changed)
            for item in plan.agents:
                try:
                    _put_back(item)
                except Conflict:
                    left.append(item)
            copies = {
                item.agent: self._record.keep_copy(place, item.agent, item.before)
                for item in left
                if item.before is not None
            }
            kept = [LeftAlone(item.agent, item.file, copies.get(item.agent)) for item in left]
            self._record.reduce(place, [item.agent for item in left])
        for item in plan.agents:
            self._configs.document(plan.story, item.agent, plan.branch).check_file()
        return tuple(kept)

    # -- inside

    def _config(self, story_id: str, agent_name: str, branch: str | None) -> BlockConfig:
        """An agent's config as it is open, which must be valid."""
        document = self._configs.document(story_id, agent_name, branch)
        document.check_file()
        if document.fault is not None:
            raise InvalidFile.of(document.fault)
        return document.config

    def _fitted(
        self, config: BlockConfig, target: AgentDefinition, story_id: str, branch: str | None
    ) -> tuple[BlockConfig, tuple[str, ...]]:
        """The config of another agent as one of `target`, and notes of what was left out."""
        story = self._configs.story(story_id)
        snapshot = story.snapshot(story.branch(branch).id)
        given = AgentInput(snapshot, build_context(snapshot, ""), (), target.tools)
        fitted, overrides, places = fit_agent(config, target.slots(given), other_slots(target, given))
        left_out = (
            ("blocks that {agent} does not have: the overrides of {ids} were left out", overrides),
            ("blocks that {agent} does not have: the places in the order of {ids} were left out", places),
        )
        notes = [Phrase(said, agent=target.name, ids=", ".join(ids)) for said, ids in left_out if ids]
        if fitted.disableAutoAnalysis and target.name != ANALYZE:
            # Only there it means something (spec, section 8.1).
            fitted = fitted.model_copy(update={"disableAutoAnalysis": False})
            notes.append(Phrase("{agent} does not run by itself: disableAutoAnalysis was left out", agent=target.name))
        return fitted, tuple(notes)

    def _plan(
        self,
        story_id: str,
        branch: str | None,
        given: Mapping[str, BlockConfig],
        notes: tuple[str, ...],
        *,
        foreign: bool,
    ) -> Import:
        branch_id = self._configs.story(story_id).branch_to_write(branch).id
        plans = (self._plan_agent(story_id, branch_id, name, config, foreign=foreign) for name, config in given.items())
        notes = (*notes, *self._old_blocks(story_id, branch_id, given), *_shared_ids(story_id, given))
        return Import(story_id, branch_id, tuple(plans), notes)

    def _plan_agent(
        self, story_id: str, branch_id: str, name: str, config: BlockConfig, *, foreign: bool
    ) -> AgentImport:
        try:
            return plan_agent(name, self._config(story_id, name, branch_id), config, foreign=foreign)
        except InvalidFile as error:
            plan = plan_agent(name, EMPTY, config, foreign=foreign)
            what = "replaces a file that is no valid config, of which a copy is kept: {problem}"
            said = Phrase(what, problem=error.problem.told())
            return replace(plan, changes=(said, *plan.changes), invalid=error.problem)

    def _old_blocks(self, story_id: str, branch_id: str, given: Mapping[str, BlockConfig]) -> Iterator[str]:
        """Notes on ids of the older layout in what comes in. They need the story, so most imports read none of it."""
        suspects = {
            name: config for name, config in given.items() if OLD_IDS.keys() & {*config.overrides, *config.blockOrder}
        }
        if not suspects:
            return
        try:
            snapshot = self._configs.story(story_id).snapshot(branch_id)
        except StonehandError:
            return  # a story that can't be read says so itself, and its configs can be replaced all the same
        for name, config in suspects.items():
            for line in old_block_warnings(story_id, config, block_ids(agent(name), snapshot)):
                yield listed((name, line), ": ")

    def _replace(self, plan: Import, item: AgentImport) -> None:
        def change(session: Session) -> None:
            check_unchanged(session.document, item)
            if item.invalid is not None:
                session.document.reset_invalid()
            session.replace(item.after, Phrase("imported {agent}", agent=item.agent))

        self._configs.edit(plan.story, item.agent, plan.branch, change)

    def _give_back(self, plan: Import, item: AgentImport, kept: Path | None) -> None:
        """Undo `_replace`, where the file's earlier version was kept."""
        if item.invalid is None:

            def change(session: Session) -> None:
                session.replace(item.before, Phrase("took back the import of {agent}", agent=item.agent))

            self._configs.edit(plan.story, item.agent, plan.branch, change)
        elif kept is not None:
            document = self._configs.document(plan.story, item.agent, plan.branch)
            disk.write_atomic(document.file, disk.read_bytes(kept) or b"")
            document.check_file()

    def _place(self, story_id: str, branch_id: str) -> Path:
        return disk.child(self._configs.story(story_id).path, BRANCHES, branch_id, "agent-blocks")


def check_unchanged(document: Document, item: AgentImport) -> None:
    """Raises `Conflict` when a config is no longer the one an import was planned for."""
    fault = InvalidFile.of(document.fault).problem if document.fault is not None else None
    if fault != item.invalid or (fault is None and document.config != item.before):
        raise Conflict("has changed since the changes were shown", file=document.file, repair="look again")


def _shared_ids(story_id: str, given: Mapping[str, BlockConfig]) -> Iterator[str]:
    """Notes on ids that several custom blocks of what comes in have (spec, section 15, bug 15)."""
    for name, config in given.items():
        counts = Counter(block.id for block in config.customBlocks)
        for block_id, count in counts.items():
            if count > 1:
                yield Phrase(
                    "{agent}: {count} custom blocks have the id {id}: all are taken over as they are, with one "
                    "override and one place for them together, until 'stonehand doctor {story} --repair block-id' "
                    "parts them",
                    agent=name,
                    count=count,
                    id=block_id,
                    story=story_id,
                )


class ImportRecord:
    """The files an import replaced, kept so that the last one of each branch can be taken back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, place: Path, files: Mapping[str, tuple[bytes | None, bytes | None]]) -> Path:
        """Record what each agent's file held before and after an import into `place` (None: no file).

        Returns the file written. Raises `StonehandError`.
        """
        record = {
            "place": str(place),
            "agents": {agent: [_text(before), _text(after)] for agent, (before, after) in files.items()},
        }
        file = self._file(place)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        disk.write_atomic(file, disk.dump_json(record))
        return file

    def load(self, place: Path) -> tuple[bytes, dict[str, tuple[bytes | None, bytes | None]]]:
        """The record of the last import into `place`, and what each agent's file held before and after it.

        Raises `NotFound` when there is none, `InvalidFile` for one that can't be used.
        """
        file = self._file(place)
        data = disk.read_bytes(file)
        if data is None:
            raise NotFound("no import is on record here", repair="nothing is to be taken back")
        record = disk.parse_json(data, file)
        agents = record.get("agents") if isinstance(record, dict) else None
        if not isinstance(agents, dict):
            raise InvalidFile("is no record of an import", file=file, repair="remove it")
        return data, {agent: (_bytes(before), _bytes(after)) for agent, (before, after) in agents.items()}

    def keep_copy(self, place: Path, agent_name: str, data: bytes) -> Path:
        """Write what an agent's file held before an import to a file of its own; the same one each time."""
        digest = hashlib.sha256(data).hexdigest()[:8]
        file = self._file(place).with_suffix("") / f"{agent_name}-{digest}.json"
        disk.write_atomic(file, data)
        return file

    def kept(self, file: Path, data: bytes) -> bool:
        """Whether a file is a copy that `keep_copy` made, as it made it."""
        digest = hashlib.sha256(data).hexdigest()[:8]
        return file.resolve().is_relative_to(self._folder.resolve()) and file.stem.endswith(f"-{digest}")

    def reduce(self, place: Path, names: Collection[str]) -> None:
        """Leave only these agents on record, or no record."""
        file = self._file(place)
        _, files = self.load(place)
        left = {agent: held for agent, held in files.items() if agent in names}
        if left:
            self.keep(place, left)
        else:
            file.unlink(missing_ok=True)

    def _file(self, place: Path) -> Path:
        name = hashlib.sha256(os.fsencode(os.path.realpath(place))).hexdigest()[:32]
        return self._folder / f"{name}.json"


def _put_back(item: Replaced) -> None:
    """Raises `Conflict` when the file has changed since."""
    if item.before is not None:
        disk.write_atomic(item.file, item.before, expected=item.after)
    elif item.after is not None:
        disk.remove_file(item.file, expected=item.after)


def _changes_back(file: Path, before: bytes | None, after: bytes | None) -> tuple[str, ...]:
    (old, fault), (new, _) = read_config(file, before), read_config(file, after)
    if fault is not None:
        return (Phrase("puts back the file from before, which is no valid config"),)
    return describe_changes(new, old) or (Phrase("puts back the file from before, which says the same"),)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")
