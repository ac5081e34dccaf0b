"""The agents that write: the writer, and the planner that briefs it.

Source: seed, "Default Blocks"; spec, sections 4.1 to 4.3.
"""

from __future__ import annotations

import re
from typing import Final

from engine.agents import sections
from engine.agents.definition import READING_TOOLS, WRITER, AgentDefinition, AgentInput
from engine.agents.sources import CLARIFYING_ROUNDS, Planning, Sources
from engine.blocks import BlockConfig, BlockSlot, ContextBlock, apply_config, compile_blocks
from engine.blocks.block import CUSTOM
from engine.context import ContextOptions, ContextState
from engine.provenance import join, sourced
from engine.story import StorySnapshot
from engine.text import is_blank, join_parts

ORDER: Final = 10
GROUP: Final = "Generation"
BRIEF_PLACEHOLDER: Final = "(The prewriter's brief for this passage will stand here.)"
CONTEXT_PLACEHOLDER: Final = "(The context of the writer will stand here.)"
REQUEST_PLACEHOLDER: Final = "(The request for this passage will stand here.)"

NOT_DUMPED: Final = frozenset(("author-input", "instructions", "tools"))
"""Blocks of the writer that the prewriter has no use for; custom ones are written for the writer too."""

_BRIEF_TITLE: Final = re.compile(
    r"\s*(?:#{1,6}[ \t]*(?:\*\*)?writing brief:?(?:\*\*)?[ \t]*(?:\n|\Z)|(?:\*\*)?writing brief(?::\*\*|\*\*:|:))\s*",
    re.IGNORECASE,
)


def is_briefed(given: AgentInput) -> bool:
    """Whether the writer works from a brief: the story is in prewriter mode, and the prewriter's brief is not empty,
    which would leave the writer with nothing (spec, section 10.5).
    """
    return given.state.story.settings.generation_mode == "prewriter" and given.sources.brief != ""


def writer_blocks(given: AgentInput) -> list[ContextBlock]:
    """The writer's default blocks in the story's mode."""
    return brief_blocks(given) if is_briefed(given) else standard_blocks(given)


def writer_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """Every default block of the writer in the story's mode, in the order they are built."""
    return brief_slots() if is_briefed(given) else standard_slots(given)


def standard_blocks(given: AgentInput) -> list[ContextBlock]:
    """The writer's blocks from the whole context (spec, section 4.1). Empty ones are left out."""
    state = given.state
    recent, catalog = sections.recent_lanes(state), sections.catalog_lanes(state)
    system, user = _pinned(state, "system"), _pinned(state, "user")
    blocks = [
        ContextBlock("instructions", "system", given.told("generation.system"), 100),
        ContextBlock("tools", "system", given.told("generation.tools-suffix"), 200),
    ]
    if system:
        text = sections.full_section("System Fragments", sections.FULL_INTRO, system)
        blocks.append(ContextBlock("system-fragments", "system", text, 300))
    blocks.append(ContextBlock("story-info", "user", sections.story_info(state), 100))
    if not is_blank(state.story.summary):
        blocks.append(ContextBlock("summary", "user", sections.summary_section(state), 400))
    if state.chapter_summaries:
        chapters = (
            sourced(join_parts(f"### {item.name}", item.summary), "fragment", item.marker_id, "chapter")
            for item in state.chapter_summaries
        )
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
        text = join_parts("## Author Direction", sourced(state.author_input, "input", "", "direction"))
        blocks.append(ContextBlock("author-input", "user", text, 600))
    return blocks


def brief_blocks(given: AgentInput) -> list[ContextBlock]:
    """The writer's blocks when a planner has gone before: its brief is all the context there is (spec,
    4.2).
    """
    brief = given.sources.brief
    brief = BRIEF_PLACEHOLDER if brief is None else unlabelled(brief)
    return [
        ContextBlock("instructions", "system", given.told("generation.writer-brief.system"), 100),
        ContextBlock("tools", "system", given.told("generation.writer-brief.tools-suffix"), 200),
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


def prewriter_blocks(given: AgentInput) -> list[ContextBlock]:
    """The planner's blocks (spec, 4.3): what it is, the writer's whole context, and what to plan.

    They are ordinary blocks, so overrides of them hold in a run as they do in a preview (spec, bug 24). Without the
    writer's config, placeholders stand for what is made of it.
    """
    blocks = [ContextBlock("instructions", "system", given.told("generation.prewriter.system"), 100)]
    if given.writer_config is None:
        return [
            *blocks,
            ContextBlock("full-context", "user", CONTEXT_PLACEHOLDER, 100),
            ContextBlock("planning-request", "user", REQUEST_PLACEHOLDER, 200),
        ]
    length = given.state.story.settings.prewriter_reasoning
    text = given.told(f"generation.prewriter.reasoning-{length}")
    blocks.append(ContextBlock("reasoning-length", "system", text, 110))
    if _may_ask(given):
        text = given.told("generation.prewriter.clarify")
        blocks.append(ContextBlock("clarify-instructions", "system", text, 150))
    text = join_parts("## Full Story Context", _writers_context(given, given.writer_config))
    blocks.append(ContextBlock("full-context", "user", text, 100))
    text = _planning_request(given.sources.planning, given.state.author_input)
    blocks.append(ContextBlock("planning-request", "user", text, 200))
    return blocks


def _may_ask(given: AgentInput) -> bool:
    settings = given.state.story.settings
    return settings.clarify_before_generate and given.sources.planning.round < CLARIFYING_ROUNDS


def _writers_context(given: AgentInput, config: BlockConfig) -> str:
    # Custom blocks are left out, so no script has to run for it.
    blocks = apply_config(standard_blocks(given), config, {})
    kept = (block for block in blocks if block.id not in NOT_DUMPED and block.source != CUSTOM)
    messages = (join("\n", (f"[{message.role}]", message.content)) for message in compile_blocks(kept))
    return join("\n\n---\n\n", messages)


_REQUESTS: Final = {
    "generate": "CONTINUE: plan the next passage, the one that follows the recent prose.",
    "regenerate": "REGENERATE: plan another version of the passage that follows the recent prose.",
    "refine": "REFINE: plan a revision of the existing passage, changing what the author asks for, keeping the rest.",
}
NO_DIRECTION: Final = "(none given: plan what the story itself asks for next)"


def _planning_request(planning: Planning, direction: str) -> str:
    answers = "\n\n".join(f"Q: {question}\nA: {answer}" for question, answer in planning.clarifications)
    return join_parts(
        "## Planning Request",
        _REQUESTS[planning.mode],
        "### Author Direction",
        NO_DIRECTION if is_blank(direction) else sourced(direction, "input", "", "direction"),
        join_parts("### The Author's Answers", answers) if answers else "",
    )


def prewriter_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """The blocks of `prewriter_blocks`, each with what it waits for."""
    if given.state.story.settings.clarify_before_generate:
        asking = "the author has been asked often enough for this passage"
    else:
        asking = "asking back before a passage is off in the story's settings"
    if given.writer_config is None:
        asking = _NO_CONTEXT
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("reasoning-length", "system", 110, _NO_CONTEXT),
        BlockSlot("clarify-instructions", "system", 150, asking),
        BlockSlot("full-context", "user", 100),
        BlockSlot("planning-request", "user", 200),
    )


_NO_CONTEXT: Final = "comes with the context of the writer"
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
        BlockSlot("fragment-recent", "user", 308, sections.NO_RECENT),
        BlockSlot("fragment-catalog", "user", 330, sections.NO_CATALOG),
        BlockSlot("prose-recent", "user", 500, sections.NO_PROSE),
        BlockSlot("new-story", "user", 500, _HAS_PROSE),
        BlockSlot("author-input", "user", 600, "no direction is given"),
    )


def brief_slots() -> tuple[BlockSlot, ...]:
    """The blocks of `brief_blocks`, each with what it waits for."""
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("tools", "system", 200),
        BlockSlot("prose-recent", "user", 100, sections.NO_PROSE),
        BlockSlot("new-story", "user", 100, _HAS_PROSE),
        BlockSlot("writing-brief", "user", 200),
    )


def before_replaced(snapshot: StorySnapshot, sources: Sources) -> ContextOptions:
    """Another version of a passage is written from what stands before it (spec, section 10.1)."""
    if sources.replaced is None:
        return ContextOptions()
    passage = sources.replaced.id
    return ContextOptions(exclude_fragment=passage, prose_before=passage, summary_before=passage)


AGENTS: Final = (
    AgentDefinition(
        WRITER,
        "Writer",
        "Writes the next passage of the story.",
        GROUP,
        READING_TOOLS,
        writer_blocks,
        writer_slots,
        context=before_replaced,
    ),
    AgentDefinition(
        "generation.prewriter",
        "Prewriter",
        "Studies the whole context and plans the passage in a brief for the writer.",
        GROUP,
        READING_TOOLS,
        prewriter_blocks,
        prewriter_slots,
        reads_writer=True,
        context=before_replaced,
    ),
)
