"""The parts that default blocks are put together from, shared by the agents.

Source: seed, "Default Blocks" and "Content tiering"; spec, sections 2.1 to 2.4 and 4. Headings are facts;
the sentences are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from engine.context import ContextState, FragmentGroup
from engine.provenance import join, sourced
from engine.story import Fragment, StorySnapshot
from engine.story.render import catalog_row, group, row_group, sheet, type_label
from engine.text import Phrase, cut, is_blank, join_parts, utf16_length

READ_TOOL: Final = "readFragments"

FULL_INTRO: Final = (
    "These fragments are pinned by the author and given whole. Treat them as settled: where anything else differs, "
    "they are right."
)
RECENT_INTRO: Final = (
    "These fragments matter to the passages just written, so they are given whole. Keep to what they say."
)
CATALOG_INTRO: Final = "One fragment a line: `id` | name | what it is about. Only the line is given here, not the text."
CATALOG_READ_HINT: Final = "Before you rely on one, read its text with `readFragments`."
CATALOG_EDIT_HINT: Final = "Before you propose a change to one, read its text with `readFragments`."
NEW_STORY: Final = (
    "Nothing of this story is written yet.",
    "Open the first scene, and let the author's direction decide where it begins and with whom.",
    "There are no earlier passages, so refer back to none.",
)


SUMMARY_PLACEHOLDER: Final = "(summary will appear here)"
"""What stands for the summary of a story that has none yet; the reference's own words (spec, section 3.6)."""

LANE_ORDER: Final = ("guideline", "knowledge", "character")
LIBRARIAN_TAG: Final = "pass-to-librarian-system-prompt"
"""Fragments with this tag in the tag index are part of the system message of some agents (spec, section 4.4)."""

SHORT_PROSE: Final = 600
"""From how many UTF-16 units a passage without a summary is cut, and to how many."""
PROSE_EXCERPT: Final = 500
TRUNCATED: Final = "... [truncated]"

NO_PROSE: Final = "nothing is written yet"
NO_RECENT: Final = "the recent prose mentions no unpinned fragment"
NO_CATALOG: Final = "no fragment is left to list"
NO_TAGGED: Final = Phrase("no fragment is tagged {tag}", tag=LIBRARIAN_TAG)
"""Why a block is not there now."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The fragments of one type at one depth, under its heading."""

    type: str
    label: str
    fragments: tuple[Fragment, ...]


def lanes(*builtin: tuple[str, Sequence[Fragment]], custom: Sequence[FragmentGroup] = ()) -> tuple[Lane, ...]:
    """Built-in types in the given order, then custom ones; a type without fragments has no lane."""
    names = {kind.type: kind.name for kind in custom}
    given = [*builtin, *((kind.type, kind.fragments) for kind in custom)]
    return tuple(Lane(kind, type_label(kind, names), tuple(fragments)) for kind, fragments in given if fragments)


def pinned_lanes(state: ContextState, order: Iterable[str] = LANE_ORDER) -> tuple[Lane, ...]:
    """Everything pinned: built-in types in `order`, then custom ones (spec, section 2.3)."""
    fragments = {
        "guideline": state.sticky_guidelines,
        "knowledge": state.sticky_knowledge,
        "character": state.sticky_characters,
    }
    return lanes(*((kind, fragments[kind]) for kind in order), custom=state.sticky_custom_fragments)


def recent_lanes(state: ContextState, order: Iterable[str] = LANE_ORDER) -> tuple[Lane, ...]:
    """What the recent prose brought in and is not pinned; guidelines are never among it."""
    fragments = {"knowledge": state.recent_knowledge, "character": state.recent_characters}
    return lanes(*((kind, fragments.get(kind, ())) for kind in order), custom=state.recent_custom_fragments)


def catalog_lanes(state: ContextState, order: Iterable[str] = LANE_ORDER) -> tuple[Lane, ...]:
    """Everything else."""
    fragments = {
        "guideline": state.guideline_catalog,
        "knowledge": state.knowledge_catalog,
        "character": state.character_catalog,
    }
    return lanes(*((kind, fragments[kind]) for kind in order), custom=state.custom_fragment_catalogs)


def merged_lanes(
    state: ContextState, tiers: Iterable[Iterable[Lane]], order: Iterable[str] = LANE_ORDER
) -> tuple[Lane, ...]:
    """One lane a type, its fragments tier after tier: built-in types in `order`, then custom ones."""
    labels: dict[str, str] = {}
    fragments: dict[str, list[Fragment]] = {}
    for lane in (lane for tier in tiers for lane in tier):
        labels[lane.type] = lane.label
        fragments.setdefault(lane.type, []).extend(lane.fragments)
    kinds = (*order, *(custom.type for custom in state.story.settings.custom_types))
    return tuple(Lane(kind, labels[kind], tuple(fragments[kind])) for kind in kinds if kind in fragments)


def without(given: Iterable[Lane], fragment: Fragment | None) -> tuple[Lane, ...]:
    """The lanes without one fragment."""
    if fragment is None:
        return tuple(given)
    kept = (Lane(lane.type, lane.label, tuple(f for f in lane.fragments if f.id != fragment.id)) for lane in given)
    return tuple(lane for lane in kept if lane.fragments)


def placed(given: Iterable[Lane], placement: str) -> tuple[Lane, ...]:
    """The lanes' fragments that are placed in one message; any other placement is in neither."""
    kept = (Lane(lane.type, lane.label, tuple(f for f in lane.fragments if f.placement == placement)) for lane in given)
    return tuple(lane for lane in kept if lane.fragments)


def in_custom_order(given: Sequence[Lane], order: Iterable[str]) -> tuple[Lane, ...]:
    """One group `Context`: first the ids of `order`, each once at its first place (spec, bug 32), then the rest in lane
    order.
    """
    fragments = {fragment.id: fragment for lane in given for fragment in lane.fragments}
    first = [fragments[item] for item in dict.fromkeys(order) if item in fragments]
    named = {fragment.id for fragment in first}
    rest = [fragment for key, fragment in fragments.items() if key not in named]
    return lanes_of_one("Context", [*first, *rest])


def pinned_order(state: ContextState) -> tuple[Fragment, ...]:
    """Every pinned fragment once, in the order the story's settings give them in (spec, section 2.4)."""
    given = pinned_lanes(state)
    settings = state.story.settings
    if settings.context_order_mode == "advanced":
        given = in_custom_order(given, settings.fragment_order)
    return tuple({fragment.id: fragment for lane in given for fragment in lane.fragments}.values())


def lanes_of_one(label: str, fragments: Sequence[Fragment]) -> tuple[Lane, ...]:
    """A single lane of fragments of any type, or none."""
    return (Lane("mixed", label, tuple(fragments)),) if fragments else ()


def full_section(heading: str, intro: str, given: Iterable[Lane], render: Callable[[Fragment], str] = sheet) -> str:
    """A block of whole fragments: `##`, a sentence, a `###` for each lane, a `####` for each fragment."""
    groups = (group(lane.label, map(render, lane.fragments)) for lane in given)
    return join_parts(f"## {heading}", intro, *groups)


def catalog_section(
    heading: str,
    given: Iterable[Lane],
    enabled_tools: Iterable[str],
    hint: str = CATALOG_READ_HINT,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A block of catalog rows, with a note behind the name of each fragment that `notes` has one for by its id.

    `hint` names the tool that reads the texts, so it stands only where the agent has that tool.
    """

    def row(fragment: Fragment) -> str:
        return catalog_row(fragment, notes.get(fragment.id, ""))

    groups = (row_group(lane.label, map(row, lane.fragments)) for lane in given)
    return join_parts(f"## {heading}", catalog_intro(enabled_tools, hint), *groups)


def catalog_intro(enabled_tools: Iterable[str], hint: str = CATALOG_READ_HINT) -> str:
    """The line that explains the rows."""
    return f"{CATALOG_INTRO} {hint}" if READ_TOOL in enabled_tools else CATALOG_INTRO


def story_info(state: ContextState, *, summary: bool = False) -> str:
    """The only heading of the first level: the story's name, its description, and its summary if it has one."""
    parts = [
        sourced(f"# {state.story.name}", "story", "", "name"),
        sourced(state.story.description, "story", "", "description"),
    ]
    if summary and not is_blank(state.story.summary):
        parts.append(summary_section(state))
    return join_parts(*parts)


def summary_section(state: ContextState, level: str = "##") -> str:
    """The story's summary, or a line that stands for it while there is none."""
    heading = f"{level} Story Summary So Far"
    if is_blank(state.story.summary):
        return join_parts(heading, SUMMARY_PLACEHOLDER)
    return join_parts(heading, sourced(state.story.summary, "story", "", "summary"))


def librarian_fragments(snapshot: StorySnapshot) -> tuple[Fragment, ...]:
    """The fragments tagged for the librarian's system message, archived ones too, as the tag index lists them."""
    ids = dict.fromkeys(snapshot.associations.tag_index.get(LIBRARIAN_TAG, ()))
    found = (snapshot.get(fragment_id) for fragment_id in ids)
    return tuple(fragment for fragment in found if fragment is not None)


def system_section(fragments: Iterable[Fragment]) -> str:
    """The fragments tagged for the librarian, one after another."""
    sheets = (
        sourced(join_parts(f"### {fragment.name}", fragment.content), "fragment", fragment.id, "full")
        for fragment in fragments
    )
    return join_parts("## System Prompt Fragments", *sheets)


def prose_rows(prose: Iterable[Fragment]) -> str:
    """A passage a row: its summary if the librarian made one, else its text, cut where it is long (spec, 4.4)."""
    return join("\n", (sourced(_prose_row(passage), "fragment", passage.id, "prose-row") for passage in prose))


def _prose_row(passage: Fragment) -> str:
    notes = passage.meta.get("_librarian")
    summary = notes.get("summary") if isinstance(notes, dict) else None
    if isinstance(summary, str) and not is_blank(summary):
        return f"- {passage.id}: {summary}"
    if utf16_length(passage.content) < SHORT_PROSE:
        return f"- {passage.id}: \n{passage.content}"
    excerpt = cut(passage.content, PROSE_EXCERPT).replace("\n", " ")
    return f"- {passage.id}: {excerpt}{TRUNCATED}"


def prose_section(prose: Iterable[Fragment]) -> str:
    """Recent prose as continuous manuscript text, with an end mark."""
    return join_parts("## Recent Prose", *map(_passage, prose), "## End of Recent Prose")


def _passage(prose: Fragment) -> str:
    return sourced(prose.content, "fragment", prose.id, "prose")


def identified_prose(prose: Iterable[Fragment]) -> str:
    """Recent prose passage by passage with their ids, for agents that edit it; it has no end mark."""
    sheets = (
        sourced(join_parts(f"### {item.name} ({item.id})", item.content), "fragment", item.id, "prose")
        for item in prose
    )
    return join_parts("## Recent Prose", *sheets)


def new_story_section() -> str:
    """What stands in place of prose before there is any."""
    return join_parts("## New Story", *NEW_STORY)
