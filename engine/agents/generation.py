"""The agents that write: the writer, and the planner that briefs it.

Source: seed, "Default Blocks"; spec, sections 4.1 to 4.3.
"""

from __future__ import annotations

import re
from typing import Final

from engine.agents import sections
from engine.agents.definition import READING_TOOLS, AgentDefinition, AgentInput
from engine.agents.instructions import instruction
from engine.blocks import BlockSlot, ContextBlock
from engine.context import ContextState
from engine.text import is_blank, join_parts

GROUP: Final = "Generation"
BRIEF_PLACEHOLDER: Final = "(The prewriter's brief for this passage will stand here.)"

_BRIEF_TITLE: Final = re.compile(
    r"\s*(?:#{1,6}[ \t]*(?:\*\*)?writing brief:?(?:\*\*)?[ \t]*(?:\n|\Z)|(?:\*\*)?writing brief(?::\*\*|\*\*:|:))\s*",
    re.IGNORECASE,
)


def is_briefed(given: AgentInput) -> bool:
    """Whether the story is in prewriter mode, so that the writer works from a brief."""
    return given.state.story.settings.generation_mode == "prewriter"


def writer_blocks(given: AgentInput) -> list[ContextBlock]:
    """The writer's default blocks in the story's mode."""
    return brief_blocks(given) if is_briefed(given) else standard_blocks(given)


def writer_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """Every default block of the writer in the story's mode, in the order they are built."""
    return brief_slots() if is_briefed(given) else standard_slots(given)


def standard_blocks(given: AgentInput) -> list[ContextBlock]:
    """The writer's blocks from the whole context (spec, section 4.1). Empty ones are left out."""
    state = given.state
    recent = sections.lanes(
        ("knowledge", state.recent_knowledge),
        ("character", state.recent_characters),
        custom=state.recent_custom_fragments,
    )
    catalog = sections.lanes(
        ("guideline", state.guideline_catalog),
        ("knowledge", state.knowledge_catalog),
        ("character", state.character_catalog),
        custom=state.custom_fragment_catalogs,
    )
    system, user = _pinned(state, "system"), _pinned(state, "user")
    blocks = [
        ContextBlock("instructions", "system", instruction("generation.system"), 100),
        ContextBlock("tools", "system", instruction("generation.tools-suffix"), 200),
    ]
    if system:
        text = sections.full_section("System Fragments", sections.FULL_INTRO, system)
        blocks.append(ContextBlock("system-fragments", "system", text, 300))
    about = join_parts(f"# {state.story.name}", state.story.description)
    blocks.append(ContextBlock("story-info", "user", about, 100))
    if not is_blank(state.story.summary):
        text = join_parts("## Story Summary So Far", state.story.summary)
        blocks.append(ContextBlock("summary", "user", text, 400))
    if state.chapter_summaries:
        chapters = (join_parts(f"### {item.name}", item.summary) for item in state.chapter_summaries)
        text = join_parts("## Chapter/Arc Summaries", *chapters)
        blocks.append(ContextBlock("chapter-summaries", "user", text, 410))
    if user:
        text = sections.full_section("User Fragments", sections.FULL_INTRO, user)
        blocks.append(ContextBlock("user-fragments", "user", text, 200))
    if recent:
        text = sections.full_section("Recent Fragments", sections.RECENT_INTRO, recent)
        blocks.append(ContextBlock("fragment-recent", "user", text, 308))
    if catalog:
        text = sections.catalog_section("Fragment Catalog", catalog, given.enabled_tools)
        blocks.append(ContextBlock("fragment-catalog", "user", text, 330))
    blocks.append(_prose(state, 500))
    if not is_blank(state.author_input):
        text = join_parts("## Author Direction", state.author_input)
        blocks.append(ContextBlock("author-input", "user", text, 600))
    return blocks


def brief_blocks(given: AgentInput) -> list[ContextBlock]:
    """The writer's blocks when a planner has gone before: its brief is all the context there is (spec,
    4.2).
    """
    brief = BRIEF_PLACEHOLDER if given.brief is None else unlabelled(given.brief)
    return [
        ContextBlock("instructions", "system", instruction("generation.writer-brief.system"), 100),
        ContextBlock("tools", "system", instruction("generation.writer-brief.tools-suffix"), 200),
        _prose(given.state, 100),
        ContextBlock("writing-brief", "user", join_parts("## Writing Brief", brief), 200),
    ]


def unlabelled(brief: str) -> str:
    """A model's brief without the title, as a heading or a label, that some models put in front."""
    return _BRIEF_TITLE.sub("", brief, count=1) if _BRIEF_TITLE.match(brief) else brief


def _pinned(state: ContextState, placement: str) -> tuple[sections.Lane, ...]:
    lanes = sections.placed(sections.pinned_lanes(state), placement)
    settings = state.story.settings
    if settings.context_order_mode == "advanced":
        return sections.in_custom_order(lanes, settings.fragment_order)
    return lanes


def _prose(state: ContextState, order: int) -> ContextBlock:
    if state.prose_fragments:
        return ContextBlock("prose-recent", "user", sections.prose_section(state.prose_fragments), order)
    return ContextBlock("new-story", "user", sections.new_story_section(), order)


_NO_PROSE: Final = "nothing is written yet"
_HAS_PROSE: Final = "only until something is written"


def standard_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """The blocks of `standard_blocks`, each with what it waits for."""
    if not given.state.story.settings.hierarchical_summary:
        chapters = "chapter summaries are off in the story's settings"
    else:
        chapters = "no chapter in the recent prose has a summary in its marker"
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("tools", "system", 200),
        BlockSlot("system-fragments", "system", 300, "no pinned fragment is placed in the system message"),
        BlockSlot("story-info", "user", 100),
        BlockSlot("summary", "user", 400, "the story has no summary yet"),
        BlockSlot("chapter-summaries", "user", 410, chapters),
        BlockSlot("user-fragments", "user", 200, "no pinned fragment is placed in the user message"),
        BlockSlot("fragment-recent", "user", 308, "the recent prose mentions no unpinned fragment"),
        BlockSlot("fragment-catalog", "user", 330, "no fragment is left to list"),
        BlockSlot("prose-recent", "user", 500, _NO_PROSE),
        BlockSlot("new-story", "user", 500, _HAS_PROSE),
        BlockSlot("author-input", "user", 600, "no direction is given"),
    )


def brief_slots() -> tuple[BlockSlot, ...]:
    """The blocks of `brief_blocks`, each with what it waits for."""
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("tools", "system", 200),
        BlockSlot("prose-recent", "user", 100, _NO_PROSE),
        BlockSlot("new-story", "user", 100, _HAS_PROSE),
        BlockSlot("writing-brief", "user", 200),
    )


AGENTS: Final = (
    AgentDefinition(
        "generation.writer",
        "Writer",
        "Writes the next passage of the story.",
        GROUP,
        READING_TOOLS,
        writer_blocks,
        writer_slots,
    ),
    AgentDefinition(
        "generation.prewriter",
        "Prewriter",
        "Studies the whole context and plans the passage in a brief for the writer.",
        GROUP,
        READING_TOOLS,
    ),
)
