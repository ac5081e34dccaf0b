"""Whole configs replaced, by one from a file or another place or by the default: first what it would change, then the
change, and the way back.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import disk
from engine.blocks.bundles import Bundle, disarmed, parse_bundle
from engine.blocks.changes import describe_changes
from engine.blocks.config import BlockConfig, ConfigFault, dotted, dump_config, parse_config
from engine.blocks.edits import reset_agent
from engine.errors import Conflict, InvalidFile, NotFound


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
