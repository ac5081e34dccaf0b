"""The agent that suggests where the story could go.

Source: spec, section 4.4, `directions.suggest`.
"""

from __future__ import annotations

from typing import Final

from engine.agents import sections
from engine.agents.definition import DIRECTIONS, AgentDefinition, AgentInput
from engine.blocks import BlockSlot, ContextBlock

ORDER: Final = 50
PROSE_SHOWN: Final = 3
"""Sections of prose the agent is shown, the newest ones."""

_LANES: Final = ("guideline", "character", "knowledge")


def suggest_blocks(given: AgentInput) -> list[ContextBlock]:
    """What is settled, what is in play, and the last of the prose. Nothing is listed that is not given whole."""
    state = given.state
    blocks = [ContextBlock("instructions", "system", given.told("directions.system"), 100)]
    if tagged := sections.librarian_fragments(given.snapshot):
        blocks.append(ContextBlock("system-fragments", "system", sections.system_section(tagged), 200))
    blocks.append(ContextBlock("story-summary", "user", sections.summary_section(state), 100))
    if pinned := sections.pinned_lanes(state, _LANES):
        text = sections.full_section("Pinned Fragments", sections.FULL_INTRO, pinned)
        blocks.append(ContextBlock("fragment-pinned", "user", text, 150))
    if recent := sections.recent_lanes(state, _LANES):
        text = sections.full_section("Recent Fragments", sections.RECENT_INTRO, recent)
        blocks.append(ContextBlock("fragment-recent", "user", text, 160))
    if prose := state.prose_fragments[-PROSE_SHOWN:]:
        blocks.append(ContextBlock("prose-recent", "user", sections.prose_section(prose), 300))
    return blocks


def suggest_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """The blocks of `suggest_blocks`, each with what it waits for."""
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("system-fragments", "system", 200, sections.NO_TAGGED),
        BlockSlot("story-summary", "user", 100),
        BlockSlot("fragment-pinned", "user", 150, "nothing is pinned"),
        BlockSlot("fragment-recent", "user", 160, sections.NO_RECENT),
        BlockSlot("prose-recent", "user", 300, sections.NO_PROSE),
    )


AGENTS: Final = (
    AgentDefinition(
        DIRECTIONS,
        "Directions",
        "Suggests what could happen next.",
        "Directions",
        (),
        suggest_blocks,
        suggest_slots,
    ),
)
