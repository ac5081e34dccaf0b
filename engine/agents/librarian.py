"""The agents that keep the story's material in order, beside the one that analyzes.

Source: seed, "Registered Agents"; spec, section 4.4.
"""

from __future__ import annotations

from typing import Final

from engine.agents import sections
from engine.agents.definition import READING_TOOLS, AgentDefinition, AgentInput
from engine.agents.sources import SECTION, TARGET, TARGET_CHARACTER
from engine.blocks import BlockSlot, ContextBlock
from engine.provenance import join, sourced
from engine.story import Fragment
from engine.story.render import catalog_row
from engine.text import collapse_space, is_blank, join_parts, js_trim

ORDER: Final = 30
GROUP: Final = "Librarian"
EDITING_TOOLS: Final = ("editFragments", "editProse")

REFINE_GUIDANCE: Final = (
    "The author has given no instructions. Bring the fragment up to date with the story, mend what is vague, repeated "
    "or contradictory, and keep its voice, its form and everything that is still true."
)
OPTIMIZE_GUIDANCE: Final = (
    "The author has given no instructions. Deepen the sheet where it is thinnest, from what the story has shown, and "
    "keep everything that is still true."
)
OPERATION_PLACEHOLDER: Final = "(The operation will stand here: rewrite, expand, compress or custom.)"
GUIDANCE_PLACEHOLDER: Final = "(The author's guidance will stand here.)"
SOURCE_PLACEHOLDER: Final = "(The section that holds the selected span will stand here.)"
SPAN_PLACEHOLDER: Final = "(The selected span will stand here.)"
BEFORE_PLACEHOLDER: Final = "(What stands before it will stand here.)"
AFTER_PLACEHOLDER: Final = "(What follows it will stand here.)"
NOTHING: Final = "(none)"


# -- chat


def chat_blocks(given: AgentInput) -> list[ContextBlock]:
    """What one needs to talk about the whole story: an overview of the prose, and a row for every fragment."""
    state = given.state
    blocks = [ContextBlock("instructions", "system", given.told("librarian.chat.system"), 100)]
    if tagged := sections.librarian_fragments(given.snapshot):
        blocks.append(ContextBlock("system-fragments", "system", sections.system_section(tagged), 200))
    blocks.append(ContextBlock("story-info", "user", sections.story_info(state, summary=True), 100))
    if state.prose_fragments:
        text = join_parts(prose_heading(given.enabled_tools), sections.prose_rows(state.prose_fragments))
        blocks.append(ContextBlock("prose-summaries", "user", text, 200))
    pinned, recent = sections.pinned_lanes(state), sections.recent_lanes(state)
    if lanes := sections.merged_lanes(state, (pinned, recent, sections.catalog_lanes(state))):
        notes = {item.id: note for tier, note in ((pinned, "pinned"), (recent, "recent")) for item in _all(tier)}
        text = sections.catalog_section("Fragment Catalog", lanes, given.enabled_tools, notes=notes)
        blocks.append(ContextBlock("fragment-catalog", "user", text, 303))
    return blocks


def prose_heading(enabled_tools: tuple[str, ...]) -> str:
    """The heading of the prose rows, with the tools the agent has that give the whole text."""
    tools = " or ".join(f"`{tool}`" for tool in (sections.READ_TOOL, "readProseChain") if tool in enabled_tools)
    return f"## Recent Prose, Summarized (whole text: {tools})" if tools else "## Recent Prose, Summarized"


def _all(lanes: tuple[sections.Lane, ...]) -> list[Fragment]:
    return [fragment for lane in lanes for fragment in lane.fragments]


def chat_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """The blocks of `chat_blocks`, each with what it waits for."""
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("system-fragments", "system", 200, sections.NO_TAGGED),
        BlockSlot("story-info", "user", 100),
        BlockSlot("prose-summaries", "user", 200, sections.NO_PROSE),
        BlockSlot("fragment-catalog", "user", 303, sections.NO_CATALOG),
    )


# -- refine and optimize


def refine_blocks(given: AgentInput) -> list[ContextBlock]:
    """The story, its recent prose with ids, what is pinned, and the fragment to refine."""
    blocks = _editing_blocks(given, "librarian.refine.system", sections.LANE_ORDER)
    return [*blocks, *_target(given, "fragment to refine", REFINE_GUIDANCE)]


def optimize_blocks(given: AgentInput) -> list[ContextBlock]:
    """As `refine_blocks`, with all characters in a catalog of their own."""
    blocks = _editing_blocks(given, "librarian.optimize-character.system", ("guideline", "knowledge"))
    if characters := given.snapshot.of_type("character"):
        intro = sections.catalog_intro(given.enabled_tools)
        text = join_parts("## All Characters Catalog", intro, join("\n", map(catalog_row, characters)))
        blocks.append(ContextBlock("character-catalog", "user", text, 350))
    return [*blocks, *_target(given, "character to optimize", OPTIMIZE_GUIDANCE)]


def _editing_blocks(given: AgentInput, key: str, pinned: tuple[str, ...]) -> list[ContextBlock]:
    state = given.state
    blocks = [
        ContextBlock("instructions", "system", given.told(key), 100),
        ContextBlock("story-info", "user", sections.story_info(state, summary=True), 100),
    ]
    if state.prose_fragments:
        blocks.append(ContextBlock("prose-recent", "user", sections.identified_prose(state.prose_fragments), 200))
    if lanes := sections.pinned_lanes(state, pinned):
        text = sections.catalog_section("Pinned Fragment Catalog", lanes, given.enabled_tools)
        blocks.append(ContextBlock("fragment-pinned-catalog", "user", text, 303))
    return blocks


def _target(given: AgentInput, label: str, guidance: str) -> list[ContextBlock]:
    """The block that names the target; the agent reads the text itself, as it is when it comes to edit it. One that
    can't read is given it here, or it would change what it never saw.
    """
    target, instructions = given.sources.target, given.sources.instructions
    if target is None:
        return []
    name = collapse_space(target.name)
    whole: tuple[str, ...] = ()
    if sections.READ_TOOL not in given.enabled_tools:
        description = sourced(target.description, "fragment", target.id, "target")
        content = sourced(target.content, "fragment", target.id, "full")
        whole = ("### Current Description", description, "### Current Text", content)
    text = join_parts(
        f"## Target {label}",
        sourced(f'ID: {target.id}\nType: {target.type}\nName: "{name}"', "fragment", target.id, "target"),
        *whole,
        "### Default Guidance" if is_blank(instructions) else "### User Instructions",
        guidance if is_blank(instructions) else sourced(instructions, "input", "", "direction"),
    )
    return [ContextBlock("target", "user", text, 400)]


def refine_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """The blocks of `refine_blocks`, each with what it waits for."""
    return (
        *_editing_slots("nothing is pinned"),
        BlockSlot("target", "user", 400, "no fragment is chosen to refine"),
    )


def optimize_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """The blocks of `optimize_blocks`, each with what it waits for."""
    return (
        *_editing_slots("nothing but characters is pinned"),
        BlockSlot("character-catalog", "user", 350, "the story has no characters yet"),
        BlockSlot("target", "user", 400, "no character is chosen to optimize"),
    )


def _editing_slots(unpinned: str) -> tuple[BlockSlot, ...]:
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("story-info", "user", 100),
        BlockSlot("prose-recent", "user", 200, sections.NO_PROSE),
        BlockSlot("fragment-pinned-catalog", "user", 303, unpinned),
    )


# -- prose transform


def transform_blocks(given: AgentInput) -> list[ContextBlock]:
    """The operation, the story so far, and the span with what surrounds it; in a preview, what will stand there."""
    selection = given.sources.selection
    blocks = [ContextBlock("instructions", "system", given.told("librarian.prose-transform.system"), 100)]
    operation: str = OPERATION_PLACEHOLDER if selection is None else selection.operation
    guidance = GUIDANCE_PLACEHOLDER if selection is None else _given(selection.guidance)
    text = join_parts("## Operation", operation, "### Guidance", guidance)
    blocks.append(ContextBlock("operation", "user", text, 100))
    blocks.append(ContextBlock("story-summary", "user", sections.summary_section(given.state), 200))
    source = SOURCE_PLACEHOLDER if selection is None else selection.source
    if not is_blank(source):
        text = join_parts("## Source Prose", "### Current Source", source)
        blocks.append(ContextBlock("source", "user", text, 300))
    if selection is None:
        span, before, after = SPAN_PLACEHOLDER, BEFORE_PLACEHOLDER, AFTER_PLACEHOLDER
    else:
        span, before, after = js_trim(selection.text), _given(selection.before), _given(selection.after)
    if span:
        text = join_parts(
            "## Selected Span",
            *("### Text to Transform", span),
            *("### Context Before", before),
            *("### Context After", after),
        )
        blocks.append(ContextBlock("selection", "user", text, 400))
    return blocks


def _given(text: str) -> str:
    return js_trim(text) or NOTHING


def transform_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """The blocks of `transform_blocks`, each with what it waits for."""
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("operation", "user", 100),
        BlockSlot("story-summary", "user", 200),
        BlockSlot("source", "user", 300, "the selected span comes without its section"),
        BlockSlot("selection", "user", 400, "the selected span is empty"),
    )


AGENTS: Final = (
    AgentDefinition(
        "librarian.chat",
        "Librarian Chat",
        "Talks about the story with you and may change its fragments and prose.",
        GROUP,
        (*READING_TOOLS, *EDITING_TOOLS, "invokeAgent", "inspectRun"),
        chat_blocks,
        chat_slots,
    ),
    AgentDefinition(
        "librarian.refine",
        "Librarian Refine",
        "Improves one fragment in the light of the story.",
        GROUP,
        (*READING_TOOLS, *EDITING_TOOLS),
        refine_blocks,
        refine_slots,
        subject=TARGET,
    ),
    AgentDefinition(
        "librarian.optimize-character",
        "Librarian Optimize Character",
        "Deepens one character sheet.",
        GROUP,
        (*READING_TOOLS, *EDITING_TOOLS),
        optimize_blocks,
        optimize_slots,
        subject=TARGET_CHARACTER,
    ),
    AgentDefinition(
        "librarian.prose-transform",
        "Prose Transform",
        "Rewrites, expands or tightens a selected span of prose.",
        GROUP,
        (),
        transform_blocks,
        transform_slots,
        subject=SECTION,
    ),
)
