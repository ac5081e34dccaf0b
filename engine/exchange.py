"""Whole configs replaced, by one from a file or another place or by the default: first what it would change, then the
change, and the way back.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from engine import disk
from engine.agents import agent, agents
from engine.blocks.bundles import Bundle, agent_bundle, disarmed, parse_bundle, story_bundle
from engine.blocks.changes import describe_changes
from engine.blocks.config import BlockConfig, ConfigFault, dotted, dump_config, parse_config
from engine.blocks.edits import reset_agent
from engine.document import Document
from engine.errors import Conflict, InvalidFile, NotFound, StonehandError
from engine.session import Session
from engine.story import StoryFolder
from engine.story.branches import FOLDER as BRANCHES


@dataclass(frozen=True, slots=True)
class AgentImport:
    """What an import does to one agent's config. `disarmed` names the scripts it brings in switched off."""

    agent: str
    before: BlockConfig
    after: BlockConfig
    changes: tuple[str, ...]
    disarmed: tuple[str, ...] = ()


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


def read_bundle(data: bytes, file: Path, agent: str | None) -> Bundle:
    """The configs in a file. Raises `InvalidFile` with the field and line of what is wrong."""
    value = disk.parse_json(data, file)
    try:
        return parse_bundle(value, agent)
    except ConfigFault as fault:
        line = disk.json_line(data.decode("utf-8", "replace"), fault.path)
        raise InvalidFile(fault.reason, file=file, field=dotted(fault.path), line=line) from None


def plan_agent(agent: str, before: BlockConfig, given: BlockConfig, *, foreign: bool) -> AgentImport:
    """Replace a config by another: what is missing falls back to the default, nothing is merged (spec, section 8.3).

    Of keys that are not used here those of the config there is stay. The scripts of a `foreign` one arrive switched
    off.
    """
    after, names = disarmed(given) if foreign else (given, ())
    value, mine = dump_config(after), dump_config(before)
    kept = {key: item for key, item in mine.items() if key not in value}
    if kept:
        after = parse_config({**value, **kept})
    return AgentImport(agent, before, after, describe_changes(before, after), names)


def plan_reset(agent: str, before: BlockConfig) -> AgentImport:
    """Replace a config by the default one."""
    after = reset_agent(before)
    return AgentImport(agent, before, after, describe_changes(before, after))


class Configs(Protocol):
    """Where configs are: what `Exchange` needs of a workspace."""

    def story(self, story_id: str) -> StoryFolder: ...

    def document(self, story_id: str, agent_name: str, branch: str | None = None) -> Document: ...

    def edit(self, story_id: str, agent_name: str, branch: str | None, change: Callable[[Session], None]) -> None: ...


class Exchange:
    """Configs on their way out of a data folder, into it, and from one place of it to another.

    What is brought in is planned first, which writes nothing and says what would change; `carry_out` does it, and
    `take_back` undoes the last one of a branch. A config that can't be used raises `InvalidFile` and is never replaced.
    """

    def __init__(self, configs: Configs, records: Path) -> None:
        """`records`: the folder in which what was replaced is kept."""
        self._configs = configs
        self._record = ImportRecord(records)

    def export_agent(self, story_id: str, agent_name: str, branch: str | None = None) -> dict[str, Any]:
        """An agent's config in its exchange format."""
        definition = agent(agent_name)
        return agent_bundle(definition.name, definition.display_name, self._config(story_id, definition.name, branch))

    def export_story(self, story_id: str, branch: str | None = None) -> dict[str, Any]:
        """The configs of all agents that have one, in their exchange format."""
        return story_bundle({item.name: self._config(story_id, item.name, branch) for item in agents()})

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
            f"there is no agent {item}: its config was left out" for item in bundle.configs if item not in known
        )
        given = {item: config for item, config in bundle.configs.items() if item in known}
        return self._plan(story_id, branch, given, (*bundle.notes, *left_out), foreign=True)

    def plan_copy(
        self, source: tuple[str, str | None, str], story_id: str, agent_name: str, branch: str | None = None
    ) -> Import:
        """What copying the config of `source` (story, branch, agent) to an agent would change."""
        from_story, from_branch, from_agent = source
        given = {agent(agent_name).name: self._config(from_story, agent(from_agent).name, from_branch)}
        return self._plan(story_id, branch, given, (), foreign=False)

    def plan_reset(self, story_id: str, agent_name: str, branch: str | None = None) -> Import:
        """What going back to the default config would change."""
        branch_id, name = self._configs.story(story_id).branch(branch).id, agent(agent_name).name
        return Import(story_id, branch_id, (plan_reset(name, self._config(story_id, name, branch_id)),))

    def carry_out(self, plan: Import) -> None:
        """Do what was planned, for all agents or none.

        Raises `Conflict` when a config is no longer what the plan was made for.
        """
        files = {
            item.agent: (
                disk.read_bytes(self._configs.document(plan.story, item.agent, plan.branch).file),
                disk.dump_json(dump_config(item.after)),
            )
            for item in plan.changed
        }
        if not files:
            return
        self._record.keep(self._place(plan.story, plan.branch), files)
        done: list[AgentImport] = []
        try:
            for item in plan.changed:
                self._replace(plan, item.agent, item.before, item.after, "import")
                done.append(item)
        except StonehandError:
            for item in done:
                self._replace(plan, item.agent, item.after, item.before, "take the import back")
            raise

    def take_back(self, story_id: str, branch: str | None = None) -> tuple[str, ...]:
        """Put the files back that the last import, copy or reset in a branch replaced; returns the agents.

        Raises `NotFound` when there was none, `Conflict` when a file has changed since; nothing is written then.
        """
        branch_id = self._configs.story(story_id).branch(branch).id
        documents = {item.name: self._configs.document(story_id, item.name, branch_id) for item in agents()}
        place = self._place(story_id, branch_id)
        with disk.lock(place):
            names = self._record.take_back(place, lambda name: documents[agent(name).name].file)
        for name in names:
            documents[name].check_file()
        return names

    # -- inside

    def _config(self, story_id: str, agent_name: str, branch: str | None) -> BlockConfig:
        """An agent's config as it is open, which must be valid."""
        document = self._configs.document(story_id, agent_name, branch)
        document.check_file()
        if document.fault is not None:
            raise InvalidFile.of(document.fault)
        return document.config

    def _plan(
        self,
        story_id: str,
        branch: str | None,
        given: Mapping[str, BlockConfig],
        notes: tuple[str, ...],
        *,
        foreign: bool,
    ) -> Import:
        branch_id = self._configs.story(story_id).branch(branch).id
        plans = (
            plan_agent(name, self._config(story_id, name, branch_id), config, foreign=foreign)
            for name, config in given.items()
        )
        return Import(story_id, branch_id, tuple(plans), notes)

    def _replace(self, plan: Import, agent_name: str, before: BlockConfig, after: BlockConfig, label: str) -> None:
        def change(session: Session) -> None:
            if session.document.config != before:
                raise Conflict(
                    "has changed since the changes were shown", file=session.document.file, repair="look again"
                )
            session.replace(after, f"{label} {agent_name}")

        self._configs.edit(plan.story, agent_name, plan.branch, change)

    def _place(self, story_id: str, branch_id: str) -> Path:
        return disk.child(self._configs.story(story_id).path, BRANCHES, branch_id, "agent-blocks")


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

    def take_back(self, place: Path, file_of: Callable[[str], Path]) -> tuple[str, ...]:
        """Put back what the last import into `place` replaced; returns the agents.

        Raises `NotFound` when none is on record, and `Conflict`, with nothing written, when a file has changed since.
        """
        record = self._file(place)
        value: Any = disk.read_json(record)
        if not isinstance(value, dict):
            raise NotFound("no import is on record here", repair="nothing is to be taken back")
        files = {
            agent: (file_of(agent), _bytes(before), _bytes(after)) for agent, (before, after) in value["agents"].items()
        }
        for file, _, after in files.values():
            if disk.read_bytes(file) != after:
                raise Conflict("has changed since the import, so it is left alone", file=file)
        for file, before, after in files.values():
            if before is None:
                if after is not None:
                    disk.remove_file(file, expected=after)
            else:
                disk.write_atomic(file, before, expected=after)
        record.unlink(missing_ok=True)
        return tuple(files)

    def _file(self, place: Path) -> Path:
        name = hashlib.sha256(os.fsencode(os.path.realpath(place))).hexdigest()[:32]
        return self._folder / f"{name}.json"


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")
