"""The agents: who there is, and the default blocks each is sent. One module a family."""

from engine.agents.definition import DIRECTIONS, WRITER, AgentDefinition, AgentInput
from engine.agents.registry import agent, agents, checked_role, roles
from engine.agents.sources import Sources

__all__ = [
    "DIRECTIONS",
    "WRITER",
    "AgentDefinition",
    "AgentInput",
    "Sources",
    "agent",
    "agents",
    "checked_role",
    "roles",
]

agents()  # finds the modules of the families now, not in the middle of a first prompt
