"""Every agent there is. A module of this package that has `AGENTS` and `ORDER` is found by itself.

`AGENTS` is a tuple of `AgentDefinition`, `ORDER` a number that places the module's agents among the others; the
built-in ones follow the seed's table "Registered Agents".
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module

from engine.agents.definition import AgentDefinition
from engine.errors import NotFound
from engine.text import Phrase, did_you_mean

PACKAGE = "engine.agents"


def agents() -> tuple[AgentDefinition, ...]:
    """All agents."""
    return tuple(_by_name().values())


def agent(name: str) -> AgentDefinition:
    """The agent of this name. Raises `NotFound` with the names there are."""
    found = _by_name().get(name)
    if found is None:
        short = {agent.name: (agent.name.rpartition(".")[2], agent.display_name) for agent in agents()}
        close = did_you_mean(name, short)
        raise NotFound(
            Phrase("there is no agent {name!r}", name=name),
            repair=Phrase("{close}agents: {known}", close=close, known=", ".join(_by_name())),
        )
    return found


def discover(path: Iterable[str]) -> dict[str, AgentDefinition]:
    """The agents of all modules in the folders of `path`, the package's `__path__`, by name and in their order.

    Raises `ValueError` when two have one name.
    """
    modules = [import_module(f"{PACKAGE}.{found.name}") for found in pkgutil.iter_modules(path)]
    families = [module for module in modules if hasattr(module, "AGENTS")]
    by_name: dict[str, AgentDefinition] = {}
    for family in sorted(families, key=lambda module: (module.ORDER, module.__name__)):
        for definition in family.AGENTS:
            if definition.name in by_name:
                raise ValueError(f"{family.__name__}: there is another agent {definition.name}")
            by_name[definition.name] = definition
    return by_name


@cache
def _by_name() -> dict[str, AgentDefinition]:
    return discover(import_module(PACKAGE).__path__)


def roles() -> frozenset[str]:
    """All agents, and what several inherit a model from (`librarian`)."""
    parts = [key.split(".") for key in _by_name()]
    return frozenset(".".join(part[:count]) for part in parts for count in (1, len(part)))


def checked_role(name: str) -> str:
    """`name`, when it is an agent or what several inherit a model from (`librarian`). Raises `NotFound`."""
    if name not in roles():
        shared = ", ".join(sorted(roles() - _by_name().keys()))
        raise NotFound(
            Phrase("there is no agent {name!r}", name=name),
            repair=Phrase("agents: {known}; shared by several: {shared}", known=", ".join(_by_name()), shared=shared),
        )
    return name
