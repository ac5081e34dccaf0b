"""The parts that default blocks are put together from, shared by the agents.

Source: seed, "Default Blocks" and "Content tiering"; spec, sections 2.1 to 2.4 and 4. Headings are facts;
the sentences are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from engine.context import ContextState, FragmentGroup
from engine.story import Fragment
from engine.story.render import catalog_row, group, row_group, sheet, type_label
from engine.text import join_parts

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
NEW_STORY: Final = (
    "Nothing of this story is written yet.",
    "Open the first scene, and let the author's direction decide where it begins and with whom.",
    "There are no earlier passages, so refer back to none.",
)


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


def pinned_lanes(state: ContextState) -> tuple[Lane, ...]:
    """Everything pinned, in lane order (spec, section 2.3)."""
    return lanes(
        ("guideline", state.sticky_guidelines),
        ("knowledge", state.sticky_knowledge),
        ("character", state.sticky_characters),
        custom=state.sticky_custom_fragments,
    )


def placed(given: Iterable[Lane], placement: str) -> tuple[Lane, ...]:
    """The lanes' fragments that are placed in one message; any other placement is in neither."""
    kept = (Lane(lane.type, lane.label, tuple(f for f in lane.fragments if f.placement == placement)) for lane in given)
    return tuple(lane for lane in kept if lane.fragments)


def in_custom_order(given: Sequence[Lane], order: Iterable[str]) -> tuple[Lane, ...]:
    """One group `Context`: first the ids of `order` (one named twice comes twice), then the rest in lane
    order.
    """
    fragments = {fragment.id: fragment for lane in given for fragment in lane.fragments}
    first = [fragments[item] for item in order if item in fragments]
    named = {fragment.id for fragment in first}
    rest = [fragment for key, fragment in fragments.items() if key not in named]
    return lanes_of_one("Context", [*first, *rest])


def lanes_of_one(label: str, fragments: Sequence[Fragment]) -> tuple[Lane, ...]:
    """A single lane of fragments of any type, or none."""
    return (Lane("mixed", label, tuple(fragments)),) if fragments else ()


def full_section(heading: str, intro: str, given: Iterable[Lane], render: Callable[[Fragment], str] = sheet) -> str:
    """A block of whole fragments: `##`, a sentence, a `###` for each lane, a `####` for each fragment."""
    groups = (group(lane.label, map(render, lane.fragments)) for lane in given)
    return join_parts(f"## {heading}", intro, *groups)


def catalog_section(heading: str, given: Iterable[Lane], enabled_tools: Iterable[str]) -> str:
    """A block of catalog rows. The tool that reads their texts is named only where the agent has it."""
    hint = f" {CATALOG_READ_HINT}" if READ_TOOL in enabled_tools else ""
    groups = (row_group(lane.label, map(catalog_row, lane.fragments)) for lane in given)
    return join_parts(f"## {heading}", CATALOG_INTRO + hint, *groups)


def prose_section(prose: Iterable[Fragment]) -> str:
    """Recent prose as continuous manuscript text, with an end mark."""
    return join_parts("## Recent Prose", *(item.content for item in prose), "## End of Recent Prose")


def new_story_section() -> str:
    """What stands in place of prose before there is any."""
    return join_parts("## New Story", *NEW_STORY)
