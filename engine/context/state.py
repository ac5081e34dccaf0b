"""`ContextState`: the material of a story that a prompt is made of, sorted into tiers.

Source: seed, "Content tiering"; spec, section 3.5 (the names of the fields are its, in snake case).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.story import ContextCompact, Fragment, StoryMeta


@dataclass(frozen=True, slots=True)
class FragmentGroup:
    """Fragments of one custom type; `name` is the configured name of the type, empty where it has none."""

    type: str
    name: str
    fragments: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class ChapterSummary:
    """The summary of a chapter that overlaps the recent prose, taken from the chapter's marker."""

    marker_id: str
    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """What to leave out of a state, and how much prose to keep (spec, section 3).

    `compact` wins over `prose_limit`, which wins over the story's setting. The three ids are of prose
    fragments: one to leave out, one to take only what stands before it, and one to take only summaries of
    what stands before.
    """

    compact: ContextCompact | None = None
    prose_limit: int | None = None
    exclude_fragment: str | None = None
    prose_before: str | None = None
    summary_before: str | None = None
    exclude_summary: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ContextState:
    """Everything a prompt can say of a story. `story.summary` is the effective summary, not the deprecated
    field.

    Sticky fragments and recent ones (mentioned in the recent prose, or in the writer's context when it was
    written) are given in full; catalogs hold the rest. Groups of custom types without fragments are left
    out.
    """

    story: StoryMeta
    prose_fragments: tuple[Fragment, ...]
    chapter_summaries: tuple[ChapterSummary, ...]
    sticky_guidelines: tuple[Fragment, ...]
    sticky_knowledge: tuple[Fragment, ...]
    sticky_characters: tuple[Fragment, ...]
    sticky_custom_fragments: tuple[FragmentGroup, ...]
    recent_knowledge: tuple[Fragment, ...]
    recent_characters: tuple[Fragment, ...]
    recent_custom_fragments: tuple[FragmentGroup, ...]
    guideline_catalog: tuple[Fragment, ...]
    knowledge_catalog: tuple[Fragment, ...]
    character_catalog: tuple[Fragment, ...]
    custom_fragment_catalogs: tuple[FragmentGroup, ...]
    author_input: str
