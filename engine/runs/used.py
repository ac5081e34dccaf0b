"""What the agents of a story have used so far, read from `token-usage.json` (spec context-blocks, section 1.11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from engine import disk
from engine.errors import Problem
from engine.runs.records import Tokens, usage_of
from engine.runs.usage import FILE
from engine.text import Phrase

_LARGEST: Final = 2**53


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens of some number of calls."""

    name: str
    tokens: Tokens
    calls: int


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """What one agent has used, and with which models; the most used first."""

    used: Used
    models: tuple[Used, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """All that is recorded, the most used first. `problems`: parts of the file that were passed over."""

    file: Path
    total: Used
    agents: tuple[AgentUsage, ...] = ()
    models: tuple[Used, ...] = ()
    updated_at: str = ""
    problems: tuple[Problem, ...] = field(default=())


def read_usage(story: Path) -> UsageTotals:
    """The usage of a story, on all its branches; zero where nothing is recorded. Raises `InvalidFile` for a file that
    can't be read.
    """
    file = story / FILE
    data = disk.read_bytes(file)
    value: Any = {} if data is None else disk.parse_json(data, file)
    problems: list[Problem] = []

    def told(message: str, path: str) -> None:
        problems.append(Problem(Phrase("{message}, so it was passed over", message=Phrase.of(message)), file, path))

    if not isinstance(value, Mapping):
        told("is no object", "")
        value = {}
    sources = value.get("sources", {})
    if not isinstance(sources, Mapping):
        told("is no object", "sources")
        sources = {}
    agents = []
    for name, given in sources.items():
        used = _used(str(name), given)
        if used is None:
            told("holds no counts of tokens", f"sources.{name}")
            continue
        agents.append(AgentUsage(used, _models(given, f"sources.{name}", told)))
    models = _models(value, "", told)
    total = _used("", value.get("total"))
    if total is None:
        if "total" in value:
            told("holds no counts of tokens", "total")
        total = _sum([agent.used for agent in agents])
    agents.sort(key=lambda agent: -agent.used.tokens.total)
    updated = value.get("updatedAt")
    return UsageTotals(file, total, tuple(agents), models, updated if isinstance(updated, str) else "", tuple(problems))


def _models(value: Mapping[str, Any], path: str, told: Any) -> tuple[Used, ...]:
    given = value.get("byModel", {})
    where = f"{path}.byModel" if path else "byModel"
    if not isinstance(given, Mapping):
        told("is no object", where)
        return ()
    found = []
    for name, counts in given.items():
        used = _used(str(name), counts)
        if used is None:
            told("holds no counts of tokens", f"{where}.{name}")
        else:
            found.append(used)
    return tuple(sorted(found, key=lambda used: -used.tokens.total))


def _used(name: str, value: Any) -> Used | None:
    tokens = usage_of(value)
    if tokens is None:
        return None
    calls = value.get("calls")
    counted = isinstance(calls, int) and not isinstance(calls, bool) and 0 <= calls <= _LARGEST
    return Used(name, tokens, calls if counted else 0)


def _sum(parts: list[Used]) -> Used:
    cached = [part.tokens.cached for part in parts if part.tokens.cached is not None]
    tokens = Tokens(
        sum(part.tokens.sent for part in parts),
        sum(part.tokens.received for part in parts),
        sum(cached) if cached else None,
    )
    return Used("", tokens, sum(part.calls for part in parts))
