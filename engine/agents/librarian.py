"""The agents that keep the story's material in order."""

from __future__ import annotations

from typing import Final

from engine.agents.definition import READING_TOOLS, AgentDefinition

GROUP: Final = "Librarian"

AGENTS: Final = (
    AgentDefinition(
        "librarian.analyze",
        "Librarian Analyze",
        "Reads new prose for what it establishes: mentions, changes, open threads, contradictions.",
        GROUP,
        (
            "reportAnalysis",
            *READING_TOOLS,
            "proposeFragmentChanges",
            "proposeDirections",
            "finishAnalysis",
        ),
    ),
    AgentDefinition(
        "librarian.chat",
        "Librarian Chat",
        "Talks about the story with you and may change its fragments and prose.",
        GROUP,
        (*READING_TOOLS, "editFragments", "editProse", "invokeAgent", "inspectRun"),
    ),
    AgentDefinition(
        "librarian.refine",
        "Librarian Refine",
        "Improves one fragment in the light of the story.",
        GROUP,
        (*READING_TOOLS, "editFragments", "editProse"),
    ),
    AgentDefinition(
        "librarian.optimize-character",
        "Librarian Optimize Character",
        "Deepens one character sheet.",
        GROUP,
        (*READING_TOOLS, "editFragments", "editProse"),
    ),
    AgentDefinition(
        "librarian.prose-transform",
        "Prose Transform",
        "Rewrites, expands or tightens a selected span of prose.",
        GROUP,
    ),
)
