"""The agent that speaks as a character."""

from __future__ import annotations

from typing import Final

from engine.agents.definition import READING_TOOLS, AgentDefinition

AGENTS: Final = (
    AgentDefinition(
        "character-chat.chat",
        "Character Chat",
        "Answers in the voice of one of the characters.",
        "Character",
        READING_TOOLS,
    ),
)
