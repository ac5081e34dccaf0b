"""Every agent there is, in the order of the seed's table "Registered Agents"."""

from __future__ import annotations

from typing import Final

from engine.agents import character_chat, directions, generation, librarian
from engine.agents.definition import AgentDefinition
from engine.errors import NotFound

_AGENTS: Final[tuple[AgentDefinition, ...]] = (
    *generation.AGENTS,
    *librarian.AGENTS,
    *character_chat.AGENTS,
    *directions.AGENTS,
)
_BY_NAME: Final = {definition.name: definition for definition in _AGENTS}


def agents() -> tuple[AgentDefinition, ...]:
    """All agents, those without blocks so far included."""
    return _AGENTS


def agent(name: str) -> AgentDefinition:
    """The agent of this name. Raises `NotFound` with the names there are."""
    found = _BY_NAME.get(name)
    if found is None:
        raise NotFound(f"there is no agent {name!r}", repair=f"agents: {', '.join(_BY_NAME)}")
    return found
