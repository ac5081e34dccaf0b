"""The agent that suggests where the story could go."""

from __future__ import annotations

from typing import Final

from engine.agents.definition import AgentDefinition

AGENTS: Final = (
    AgentDefinition(
        "directions.suggest",
        "Directions",
        "Suggests what could happen next.",
        "Directions",
    ),
)
