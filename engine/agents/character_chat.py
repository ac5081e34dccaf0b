"""The agent that speaks as a character.

Source: spec, section 4.4, `character-chat.chat`.
"""

from __future__ import annotations

from typing import Final

from engine.agents import sections
from engine.agents.definition import READING_TOOLS, AgentDefinition, AgentInput
from engine.agents.instructions import filled
from engine.agents.sources import CHARACTER, Sources
from engine.blocks import BlockSlot, ContextBlock
from engine.context import ContextOptions
from engine.provenance import join
from engine.story import StorySnapshot
from engine.story.render import demote, group, identity_sheet
from engine.text import is_blank, join_parts

ORDER: Final = 40
NAMELESS: Final = "the character"
CHARACTER_INTRO: Final = "This is you: who you are, what you carry, how you speak."


def chat_blocks(given: AgentInput) -> list[ContextBlock]:
    """Who speaks, to whom, and what the story has told so far."""
    state, character = given.state, given.sources.character
    blocks = [ContextBlock("instructions", "system", chat_instructions(given), 100)]
    if character is not None:
        sheet = group("Character", (demote(identity_sheet(character)),))
        text = join_parts("## Character", CHARACTER_INTRO, sheet)
        blocks.append(ContextBlock("character", "user", text, 100))
    text = join_parts("## Who You Are Speaking With", persona_text(given))
    blocks.append(ContextBlock("persona", "user", text, 200))
    blocks.append(ContextBlock("story-context", "user", _story_context(given), 300))
    if lanes := sections.without(sections.pinned_lanes(state), character):
        text = sections.catalog_section("Pinned Fragment Catalog", lanes, given.enabled_tools)
        blocks.append(ContextBlock("fragment-pinned-catalog", "user", text, 303))
    return blocks


def chat_instructions(given: AgentInput) -> str:
    """Both texts, for the character chatted with."""
    character = given.sources.character
    name = NAMELESS if character is None or is_blank(character.name) else character.name
    keys = ("character-chat.system", "character-chat.instructions")
    return join("\n\n", (filled(given.told(key), {"characterName": name}) for key in keys))


def persona_text(given: AgentInput) -> str:
    """Whom the character speaks with, as the character is told; scripts find it as `ctx.personaDescription`."""
    persona = given.sources.persona
    values = {"personaName": persona.name, "personaDescription": persona.description, "prompt": persona.prompt}
    return filled(given.told(f"character-chat.persona.{persona.kind}"), values)


def _story_context(given: AgentInput) -> str:
    story, prose = given.state.story, given.state.prose_fragments
    lines = f"Name: {story.name}"
    if not is_blank(story.description):
        lines += f"\nDescription: {story.description}"
    return join_parts(
        "## Story Context",
        join_parts("### Story", lines),
        None if is_blank(story.summary) else sections.summary_section(given.state, "###"),
        join_parts("### Story Events", sections.prose_rows(prose)) if prose else None,
    )


def told_so_far(snapshot: StorySnapshot, sources: Sources) -> ContextOptions:
    """The story as far as the character knows it: up to and with the section chosen, all of it where none is."""
    ids = snapshot.chain.active_ids
    if sources.story_point not in ids:
        return ContextOptions()
    later = ids[ids.index(sources.story_point) + 1 :]
    return ContextOptions(prose_before=later[0], summary_before=later[0]) if later else ContextOptions()


def chat_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """The blocks of `chat_blocks`, each with what it waits for."""
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("character", "user", 100, "no character is chosen to talk to"),
        BlockSlot("persona", "user", 200),
        BlockSlot("story-context", "user", 300),
        BlockSlot("fragment-pinned-catalog", "user", 303, "nothing is pinned but the character"),
    )


AGENTS: Final = (
    AgentDefinition(
        "character-chat.chat",
        "Character Chat",
        "Answers in the voice of one of the characters.",
        "Character",
        READING_TOOLS,
        chat_blocks,
        chat_slots,
        context=told_so_far,
        subject=CHARACTER,
    ),
)
