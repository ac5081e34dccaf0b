"""The agents: who there is, and the default blocks each is sent. One module a family."""

from engine.agents.definition import AgentDefinition, AgentInput
from engine.agents.registry import agent, agents

__all__ = ["AgentDefinition", "AgentInput", "agent", "agents"]
