"""A story's snapshot and the author's input to a `ContextState`. Pure.

Source: spec, section 3. One difference on purpose: with a chain, prose follows the chain; the reference
sorts it again by order and time of creation, which misplaces moved and regenerated sections (spec, bug 15).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.context.state import ChapterSummary, ContextOptions, ContextState, FragmentGroup
from engine.provenance import join, sourced
from engine.story import ContextCompact, Fragment, StorySnapshot
from engine.text import is_blank, js_trim, utf16_length

_DEFAULTS = ContextOptions()
_UNITS_PER_TOKEN = 4

_Section = tuple[int, Fragment]
"""A prose fragment and its index in the chain, 0 where there is no chain."""


def build_context(snapshot: StorySnapshot, author_input: str, options: ContextOptions = _DEFAULTS) -> ContextState:
    """The state a prompt is built from. `author_input` is taken as given; blank is allowed."""
    settings = snapshot.meta.settings
    window = _window(_prose(snapshot, options), _compact(snapshot, options))
    prose = tuple(fragment for _, fragment in window)
    recent = _recent_ids(prose)
    guidelines = snapshot.of_type("guideline")
    knowledge = _Tiers(snapshot.of_type("knowledge"), recent)
    characters = _Tiers(snapshot.of_type("character"), recent)
    custom = [(kind, _Tiers(snapshot.of_type(kind.type), recent)) for kind in settings.custom_types]

    def groups(tiers: Iterable[Sequence[Fragment]]) -> tuple[FragmentGroup, ...]:
        paired = zip(custom, tiers, strict=True)
        return tuple(
            FragmentGroup(kind.type, kind.name, tuple(fragments)) for (kind, _), fragments in paired if fragments
        )

    return ContextState(
        story=replace(snapshot.meta, summary=effective_summary(snapshot, options)),
        prose_fragments=prose,
        chapter_summaries=_chapter_summaries(snapshot, window) if settings.hierarchical_summary else (),
        sticky_guidelines=_sorted(item for item in guidelines if item.sticky),
        sticky_knowledge=knowledge.sticky,
        sticky_characters=characters.sticky,
        sticky_custom_fragments=groups(tiers.sticky for _, tiers in custom),
        recent_knowledge=knowledge.recent,
        recent_characters=characters.recent,
        recent_custom_fragments=groups(tiers.recent for _, tiers in custom),
        guideline_catalog=tuple(item for item in guidelines if not item.sticky),
        knowledge_catalog=knowledge.catalog,
        character_catalog=characters.catalog,
        custom_fragment_catalogs=groups(_sorted(tiers.catalog) for _, tiers in custom),
        author_input=author_input,
    )


def newest_passage(snapshot: StorySnapshot) -> Fragment | None:
    """The last passage that a prompt can show, None where nothing is written yet."""
    return next((item for _, item in reversed(_prose(snapshot, _DEFAULTS)) if item.type == "prose"), None)


class _Tiers:
    """One type split by depth: sticky and recent ones sorted, the catalog in file order (spec, section
    2.4).
    """

    def __init__(self, fragments: Iterable[Fragment], recent_ids: frozenset[str]) -> None:
        sticky: list[Fragment] = []
        recent: list[Fragment] = []
        catalog: list[Fragment] = []
        for fragment in fragments:
            if fragment.sticky:
                sticky.append(fragment)
            elif fragment.id in recent_ids:
                recent.append(fragment)
            else:
                catalog.append(fragment)
        self.sticky = _sorted(sticky)
        self.recent = _sorted(recent)
        self.catalog = tuple(catalog)


def _sorted(fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
    return tuple(sorted(fragments, key=lambda fragment: fragment.sort_key))


def _compact(snapshot: StorySnapshot, options: ContextOptions) -> ContextCompact:
    if options.compact is not None:
        return options.compact
    if options.prose_limit is not None:
        return ContextCompact("proseLimit", options.prose_limit)
    return snapshot.meta.settings.context_compact


def _prose(snapshot: StorySnapshot, options: ContextOptions) -> list[_Section]:
    """All prose that is shown, in order (spec, section 3.1, step 3)."""
    excluded, target = options.exclude_fragment, options.prose_before
    if snapshot.chain.entries:
        ids = snapshot.chain.active_ids[: _sections_before(snapshot, target)]
        found = ((index, snapshot.get(item)) for index, item in enumerate(ids) if item != excluded)
        return [
            (index, item) for index, item in found if item is not None and not item.archived and item.type != "marker"
        ]
    prose = _sorted(item for item in snapshot.of_type("prose") if item.id != excluded)
    if target is not None:
        limit = snapshot.get(target)
        prose = tuple(item for item in prose if limit is not None and item.sort_key < limit.sort_key)
    return [(0, item) for item in prose]


def _sections_before(snapshot: StorySnapshot, target: str | None) -> int | None:
    """How many sections stand before `target`, None for all; none before a fragment the chain does not
    know.
    """
    if target is None:
        return None
    active = snapshot.chain.active_ids
    if target in active:
        return active.index(target)
    return max(0, snapshot.chain.find_section(target))


def _window(prose: list[_Section], compact: ContextCompact) -> list[_Section]:
    """The newest prose that fits; the last section is kept whatever its size (spec, section 3.2)."""
    if compact.type == "proseLimit":
        return prose[-compact.value :]
    left = compact.value
    first = len(prose)
    for _, fragment in reversed(prose):
        length = utf16_length(fragment.content)
        left -= -(-length // _UNITS_PER_TOKEN) if compact.type == "maxTokens" else length
        if left < 0 and first < len(prose):
            break
        first -= 1
    return prose[first:]


def _recent_ids(prose: Iterable[Fragment]) -> frozenset[str]:
    """What the prose mentions, and what its writer had in context (spec, section 3.5)."""
    ids: set[str] = set()
    for fragment in prose:
        annotations = fragment.meta.get("annotations")
        if isinstance(annotations, list):
            for item in annotations:
                if isinstance(item, dict) and item.get("type") == "mention":
                    mentioned = item.get("fragmentId")
                    if isinstance(mentioned, str):
                        ids.add(mentioned)
        written_with = fragment.meta.get("writerContextIds")
        if isinstance(written_with, list):
            ids.update(item for item in written_with if isinstance(item, str))
    return frozenset(ids)


def effective_summary(snapshot: StorySnapshot, options: ContextOptions) -> str:
    """The effective summary; the deprecated field stands in for the fragment the reference would make of it
    (3.3).
    """
    if options.exclude_summary:
        return ""
    if not snapshot.of_type("summary", archived=True):
        return js_trim(snapshot.meta.summary)
    summaries = sorted(snapshot.of_type("summary"), key=lambda item: (not _is_era(item), item.created_at))
    if options.summary_before is not None and snapshot.chain.entries:
        kept = set(snapshot.chain.active_ids[: _sections_before(snapshot, options.summary_before)])
        summaries = [item for item in summaries if _is_era(item) or item.meta.get("coverageEnd") in kept]
    texts = (sourced(js_trim(item.content), "fragment", item.id, "summary") for item in summaries)
    return join("\n\n", (text for text in texts if text))


def _is_era(summary: Fragment) -> bool:
    return summary.meta.get("isEraSummary") is True


def _chapter_summaries(snapshot: StorySnapshot, window: Sequence[_Section]) -> tuple[ChapterSummary, ...]:
    """Summaries of the chapters that the recent prose touches, in the order of the chain (spec, section
    3.4).
    """
    if not snapshot.chain.entries or not window:
        return ()
    first, last = window[0][0], window[-1][0]
    active = [snapshot.get(item) for item in snapshot.chain.active_ids]
    markers = [
        (index, item)
        for index, item in enumerate(active)
        if item is not None and item.type == "marker" and not item.archived
    ]
    ends = [index for index, _ in markers[1:]] + [len(active)]
    return tuple(
        ChapterSummary(marker.id, marker.name, js_trim(marker.content))
        for (start, marker), end in zip(markers, ends, strict=False)
        if end - start > 1 and first < end and last > start and not is_blank(marker.content)
    )
