"""The agent that reads new prose for what it establishes.

Source: seed, "Content tiering"; spec, section 4.4, `librarian.analyze`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal

from engine.agents import sections
from engine.agents.definition import READING_TOOLS, AgentDefinition, AgentInput
from engine.agents.instructions import filled, for_tools
from engine.agents.sections import Lane
from engine.agents.sources import NEW_PROSE, Sources
from engine.blocks import BlockSlot, ContextBlock
from engine.context import ContextOptions
from engine.provenance import sourced
from engine.story import Fragment, Settings, StorySnapshot
from engine.story.render import demote, identity_sheet
from engine.text import join_parts

ORDER: Final = 20
NEW_PROSE_PLACEHOLDER: Final = "(The passage to analyze will stand here.)"

PINNED_INTRO: Final = (
    "The author keeps these in view at all times. That they stand here is no sign that the passage touches them."
)
WRITER_INTRO: Final = (
    "The writer had these before it when it wrote the passage. It may have used them or not: the passage decides."
)
RECENT_INTRO: Final = "The passages before this one mention these or were written with them in view."
CANDIDATES_INTRO: Final = (
    "These may occur in the passage, judging by its words. Make sure of each before you report a mention."
)

Depth = Literal["pinned", "writer", "recent", "candidate", "catalog"]

_LANES: Final = ("character", "knowledge")
_RANKS: Final = {"current-observation": 0, "router": 1, "writer-context": 2, "recent-context": 3, "sticky": 4}
_CATALOG_RANK: Final = 5


def passage_analyzed(snapshot: StorySnapshot, sources: Sources) -> Fragment | None:
    """The passage the context is made for: the one that is analyzed; told of none, the one the chain ends with."""
    if sources.new_prose is not None:
        return sources.new_prose
    ids = snapshot.chain.active_ids
    return snapshot.get(ids[-1]) if ids else None


def before_passage(snapshot: StorySnapshot, sources: Sources) -> ContextOptions:
    """A passage is judged by the prose before it; told of none, by what stands before the end of the chain."""
    if sources.new_prose is not None:
        return ContextOptions(prose_before=sources.new_prose.id)
    ids = snapshot.chain.active_ids
    return ContextOptions(prose_before=ids[-1]) if ids else ContextOptions()


def analyze_blocks(given: AgentInput) -> list[ContextBlock]:
    """What there is to judge the new passage by, each fragment at one place only. Guidelines are no part of it."""
    state = given.state
    depths = by_depth(given)
    passage = given.sources.new_prose
    blocks = [ContextBlock("instructions", "system", analyze_instructions(given), 100)]
    if tagged := sections.librarian_fragments(given.snapshot):
        blocks.append(ContextBlock("system-fragments", "system", sections.system_section(tagged), 200))
    blocks.append(ContextBlock("story-summary", "user", sections.summary_section(state), 100))
    for block_id, depth, heading, intro, order in _FULL_BLOCKS:
        if found := depths[depth]:
            text = sections.full_section(heading, intro, found, lambda item: demote(identity_sheet(item)))
            blocks.append(ContextBlock(block_id, "user", text, order))
    if found := depths["catalog"]:
        proposes = "proposeFragmentChanges" in used_tools(given.enabled_tools, state.story.settings)
        hint = sections.CATALOG_EDIT_HINT if proposes else sections.CATALOG_READ_HINT
        text = sections.catalog_section("Fragment Catalog", found, given.enabled_tools, hint)
        blocks.append(ContextBlock("fragment-catalog", "user", text, 390))
    body = [NEW_PROSE_PLACEHOLDER]
    if passage is not None:
        body = [f"Fragment ID: {passage.id}", sourced(passage.content, "fragment", passage.id, "prose")]
    blocks.append(ContextBlock("prose-new", "user", join_parts("## New Prose Fragment", *body), 400))
    return blocks


_FULL_BLOCKS: Final[tuple[tuple[str, Depth, str, str, int], ...]] = (
    ("fragment-pinned", "pinned", "Pinned Fragments", PINNED_INTRO, 195),
    ("fragment-writer-context", "writer", "Writer Context For This Passage", WRITER_INTRO, 200),
    ("fragment-recent", "recent", "Recent Fragments", RECENT_INTRO, 205),
    ("fragment-candidates", "candidate", "Candidate Fragments", CANDIDATES_INTRO, 210),
)


def by_depth(given: AgentInput) -> dict[Depth, tuple[Lane, ...]]:
    """The lanes of each block: a fragment stands in the first one that any of its sources gives it.

    Inside a full block, fragments stand by the best of their sources, then in the usual order.
    """
    lanes: dict[Depth, list[Lane]] = {"pinned": [], "writer": [], "recent": [], "candidate": [], "catalog": []}
    sources = _sources(given)
    tiers = (
        sections.pinned_lanes(given.state, _LANES),
        sections.recent_lanes(given.state, _LANES),
        sections.catalog_lanes(given.state, _LANES),
    )
    place = {fragment_id: place for place, fragment_id in enumerate(given.snapshot.fragments)}

    def rank(fragment: Fragment) -> tuple[int, int | float, str, str]:
        best = min((_RANKS[source] for source in sources.get(fragment.id, ())), default=_CATALOG_RANK)
        return (best, *fragment.sort_key, fragment.id)

    for lane in sections.merged_lanes(given.state, tiers, _LANES):
        split: dict[Depth, list[Fragment]] = {depth: [] for depth in lanes}
        for fragment in lane.fragments:
            split[_depth(sources.get(fragment.id, frozenset()))].append(fragment)
        for depth, fragments in split.items():
            if fragments:
                # As the reference has it, all of this agent's catalog is in the order of the files, custom types too
                # (the table of default blocks shows it; elsewhere these are sorted: spec, section 2.4).
                ordered = sorted(fragments, key=(lambda item: place[item.id]) if depth == "catalog" else rank)
                lanes[depth].append(Lane(lane.type, lane.label, tuple(ordered)))
    return {depth: tuple(found) for depth, found in lanes.items()}


def _depth(sources: frozenset[str]) -> Depth:
    if "sticky" in sources:
        return "pinned"
    if "writer-context" in sources:
        return "writer"
    if "recent-context" in sources:
        return "recent"
    return "candidate" if sources else "catalog"


def _sources(given: AgentInput) -> Mapping[str, frozenset[str]]:
    """Fragment id to all that makes it matter: being pinned, recent prose, the run's signals, and what the passage
    says its writer had in context.
    """
    found: dict[str, set[str]] = {}

    def add(ids: Iterable[object], source: str) -> None:
        for fragment_id in ids:
            if isinstance(fragment_id, str):
                found.setdefault(fragment_id, set()).add(source)

    state = given.state
    add(_ids(sections.pinned_lanes(state, _LANES)), "sticky")
    add(_ids(sections.recent_lanes(state, _LANES)), "recent-context")
    for signal in given.sources.signals:
        add((signal.fragment_id,), signal.source)
    passage = passage_analyzed(given.snapshot, given.sources)
    had = passage.meta.get("writerContextIds") if passage is not None else None
    if isinstance(had, list):
        add(had, "writer-context")
    return {fragment_id: frozenset(sources) for fragment_id, sources in found.items()}


def _ids(lanes: Iterable[Lane]) -> list[str]:
    return [fragment.id for lane in lanes for fragment in lane.fragments]


def analyze_instructions(given: AgentInput) -> str:
    """The instruction with the procedure in the place of `{{procedure}}`.

    A text of another set that has no such place is used as it is, for whoever wrote it left the procedure out.
    """
    tools = used_tools(given.enabled_tools, given.state.story.settings)
    numbered = "\n".join(f"{number}. {step}" for number, step in enumerate(procedure(tools), 1))
    key = "librarian.analyze.system"
    text = sourced(for_tools(given.instruction(key), tools), "instruction", key)
    return filled(text, {"procedure": numbered})


_REPORT: Final = (
    "Call `reportAnalysis` once. Give a summary of the passage that will still make sense when the passage is no "
    "longer in view, its events in order, what has changed for people, things and places, and the threads left open. "
    "List every mention of a known fragment with the words that make it one, copied from the passage, and every "
    "contradiction with the fragments it concerns. An empty list is a good answer where there is nothing."
)
_PROPOSE: Final = (
    "Propose changes with `proposeFragmentChanges` where the passage makes a fragment wrong or incomplete, or brings "
    "in someone or something the story will come back to. {read}Keep what is still true, word for word; add what was "
    "shown, and nothing that was only hinted at. Propose nothing that a fragment already says."
)
_READ: Final = "Read each with `readFragments` before you touch it. "
_DIRECT: Final = (
    "Offer the author ways on with `proposeDirections`: directions that grow out of what this passage set in motion, "
    "unlike one another, each concrete enough to be written tomorrow."
)
_FINISH: Final = "Finally, call `finishAnalysis`, once, after everything else."
_END: Final = "Finally, end with one short line that says the analysis is done."


_ANSWER: Final = (
    "Answer with what the passage establishes, in short plain lines: its events in order, what has changed for people, "
    "things and places, the known fragments it mentions or contradicts, and the threads left open."
)


def used_tools(enabled_tools: Iterable[str], settings: Settings) -> tuple[str, ...]:
    """The enabled tools without those that the story's settings want no use of."""
    unwanted = {
        "proposeFragmentChanges": settings.disable_librarian_suggestions,
        "proposeDirections": settings.disable_librarian_directions,
    }
    return tuple(tool for tool in enabled_tools if not unwanted.get(tool))


def procedure(tools: Collection[str]) -> list[str]:
    """The steps of an analysis, only those there are tools for; with none to record anything, an answer."""
    steps = []
    if "reportAnalysis" in tools:
        steps.append(_REPORT)
    if "proposeFragmentChanges" in tools:
        steps.append(_PROPOSE.format(read=_READ if sections.READ_TOOL in tools else ""))
    if "proposeDirections" in tools:
        steps.append(_DIRECT)
    recorded = bool(steps)
    if not recorded:
        steps.append(_ANSWER)
    if "finishAnalysis" in tools:
        steps.append(_FINISH)
    elif recorded:
        steps.append(_END)
    return steps


def analyze_slots(given: AgentInput) -> tuple[BlockSlot, ...]:
    """The blocks of `analyze_blocks`, each with what it waits for."""
    return (
        BlockSlot("instructions", "system", 100),
        BlockSlot("system-fragments", "system", 200, sections.NO_TAGGED),
        BlockSlot("story-summary", "user", 100),
        BlockSlot("fragment-pinned", "user", 195, "nothing but guidelines is pinned"),
        BlockSlot("fragment-writer-context", "user", 200, "the passage does not say what its writer had in context"),
        BlockSlot("fragment-recent", "user", 205, sections.NO_RECENT),
        BlockSlot("fragment-candidates", "user", 210, "no other fragment seems to occur in the passage"),
        BlockSlot("fragment-catalog", "user", 390, sections.NO_CATALOG),
        BlockSlot("prose-new", "user", 400),
    )


AGENTS: Final = (
    AgentDefinition(
        "librarian.analyze",
        "Librarian Analyze",
        "Reads new prose for what it establishes: mentions, changes, open threads, contradictions.",
        "Librarian",
        ("reportAnalysis", *READING_TOOLS, "proposeFragmentChanges", "proposeDirections", "finishAnalysis"),
        analyze_blocks,
        analyze_slots,
        context=before_passage,
        subject=NEW_PROSE,
    ),
)
