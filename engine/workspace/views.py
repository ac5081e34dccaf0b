"""What the door hands out that belongs to no room below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from engine.errors import Problem
from engine.story import Branch, Fragment


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
