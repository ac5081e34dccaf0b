"""The context state: prose window, summaries, tiers (spec, section 3, and its black-box cases 30 to 41)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from engine.context import ContextOptions, ContextState, build_context
from engine.story import ContextCompact, Fragment
from tests.engine.story_builder import StoryBuilder


def ids(fragments: Iterable[Fragment]) -> list[str]:
    return [fragment.id for fragment in fragments]


def state(story: StoryBuilder, options: ContextOptions | None = None) -> ContextState:
    return build_context(story.snapshot(), "Go on.", options or ContextOptions())


def prose(story: StoryBuilder, *lengths: int, **fields: Any) -> list[str]:
    made = [f"pr-{index:02}" for index in range(len(lengths))]
    for fragment_id, length in zip(made, lengths, strict=True):
        story.add(fragment_id, "prose", content="x" * length, **fields)
    return made


@pytest.mark.parametrize(
    ("compact", "lengths", "kept"),
    [
        (None, [10] * 15, 10),
        ({"type": "proseLimit", "value": 3}, [10] * 15, 3),
        ({"type": "proseLimit", "value": 30}, [10] * 15, 15),
        ({"type": "maxCharacters", "value": 150}, [100] * 3, 1),
        ({"type": "maxCharacters", "value": 200}, [100] * 3, 2),
        ({"type": "maxTokens", "value": 250}, [400] * 3, 2),
        ({"type": "maxTokens", "value": 250}, [401] * 3, 2),
        ({"type": "maxTokens", "value": 201}, [401] * 3, 1),
        ({"type": "maxTokens", "value": 1}, [10_000], 1),
        ({"type": "maxTokens", "value": 100}, [4, 10_000, 4], 1),
        ({"type": "unknown", "value": 1}, [10] * 15, 10),
    ],
)
def test_the_window(story: StoryBuilder, compact: Any, lengths: list[int], kept: int) -> None:
    story.meta({"contextCompact": compact} if compact else None)
    made = prose(story, *lengths)
    assert ids(state(story).prose_fragments) == made[len(made) - kept :]


def test_an_emoji_counts_two(story: StoryBuilder) -> None:
    story.meta({"contextCompact": {"type": "maxCharacters", "value": 6}})
    story.add("pr-a", "prose", content="🌊🌊")
    story.add("pr-b", "prose", content="🌊")
    assert ids(state(story).prose_fragments) == ["pr-a", "pr-b"]
    story.meta({"contextCompact": {"type": "maxCharacters", "value": 5}})
    assert ids(state(story).prose_fragments) == ["pr-b"]


def test_options_beat_the_setting(story: StoryBuilder) -> None:
    story.meta({"contextCompact": {"type": "proseLimit", "value": 5}})
    made = prose(story, *[10] * 8)
    assert ids(state(story, ContextOptions(prose_limit=2)).prose_fragments) == made[-2:]
    both = ContextOptions(prose_limit=2, compact=ContextCompact("maxCharacters", 35))
    assert ids(state(story, both).prose_fragments) == made[-3:]


def test_prose_follows_the_chain(story: StoryBuilder) -> None:
    """Variants, markers, archived, missing and repeated ids; moved sections stay where they were moved to."""
    made = prose(story, *[10] * 5)
    story.add("pr-gone", "prose", archived=True)
    story.add("pr-outside", "prose")
    story.add("mk-one", "marker")
    story.add("ch-odd", "character")
    story.chain(made[3], "mk-one", [made[0], made[2]], "pr-gone", "pr-missing", "ch-odd", made[1], made[3])
    assert ids(state(story).prose_fragments) == [made[3], made[2], "ch-odd", made[1], made[3]]
    excluded = ContextOptions(exclude_fragment=made[3])
    assert ids(state(story, excluded).prose_fragments) == [made[2], "ch-odd", made[1]]


def test_a_chain_of_nothing_readable_has_no_prose(story: StoryBuilder) -> None:
    prose(story, 10)
    story.chain("pr-missing")
    assert state(story).prose_fragments == ()
    story.chain()
    assert ids(state(story).prose_fragments) == ["pr-00"]


def test_without_a_chain_prose_is_sorted(story: StoryBuilder) -> None:
    story.add("pr-a", "prose", order=2)
    story.add("pr-b", "prose", order=1, createdAt="2026-03-02T00:00:00.000Z")
    story.add("pr-c", "prose", order=1)
    story.add("pr-d", "prose", order=0.5)
    assert ids(state(story).prose_fragments) == ["pr-d", "pr-c", "pr-b", "pr-a"]
    assert ids(state(story, ContextOptions(prose_before="pr-b")).prose_fragments) == ["pr-d", "pr-c"]
    assert state(story, ContextOptions(prose_before="pr-none")).prose_fragments == ()


def test_prose_before_a_section(story: StoryBuilder) -> None:
    made = prose(story, *[10] * 5)
    story.add("pr-variant", "prose")
    story.chain(made[0], made[1], ["pr-variant", made[2]], made[3], made[4])
    for target in (made[2], "pr-variant"):
        assert ids(state(story, ContextOptions(prose_before=target)).prose_fragments) == made[:2]
    assert state(story, ContextOptions(prose_before=made[0])).prose_fragments == ()
    assert state(story, ContextOptions(prose_before="pr-none")).prose_fragments == ()


def test_the_summary(story: StoryBuilder) -> None:
    story.add("sm-b", "summary", content="  Second. \n")
    story.add("sm-a", "summary", content="Third.")
    story.add("sm-blank", "summary", content=" \n")
    story.add("sm-old", "summary", content="Put away.", archived=True)
    story.add("sm-era", "summary", content="First.", meta={"isEraSummary": True})
    story.meta(summary="Deprecated.")
    found = state(story)
    assert found.story.summary == "First.\n\nSecond.\n\nThird."
    assert found.story.name == "Tide House"
    assert state(story, ContextOptions(exclude_summary=True)).story.summary == ""


def test_the_deprecated_summary_stands_in_while_there_is_no_other(story: StoryBuilder) -> None:
    story.meta(summary=" Long ago. \n")
    assert state(story).story.summary == "Long ago."
    story.add("sm-old", "summary", content="Put away.", archived=True)
    assert state(story).story.summary == ""


def test_summaries_before_a_section(story: StoryBuilder) -> None:
    made = prose(story, *[10] * 4)
    story.add("sm-early", "summary", content="Early.", meta={"coverageEnd": made[1]})
    story.add("sm-late", "summary", content="Late.", meta={"coverageEnd": made[3]})
    story.add("sm-era", "summary", content="Era.", meta={"isEraSummary": True})
    before = ContextOptions(summary_before=made[2])
    assert state(story, before).story.summary == "Era.\n\nEarly.\n\nLate."
    story.chain(*made)
    assert state(story, before).story.summary == "Era.\n\nEarly."


def chapters(story: StoryBuilder, limit: int = 10, on: bool = True) -> list[tuple[str, str, str]]:
    story.meta({"enableHierarchicalSummary": on, "contextCompact": {"type": "proseLimit", "value": limit}})
    return [(item.marker_id, item.name, item.summary) for item in state(story).chapter_summaries]


def test_chapter_summaries_overlap_the_window(story: StoryBuilder) -> None:
    made = prose(story, *[10] * 5)
    for marker, content in (("mk-1", " One. "), ("mk-2", "Two."), ("mk-3", "  "), ("mk-4", "Empty"), ("mk-5", "Five.")):
        story.add(marker, "marker", name=marker.upper(), content=content)
    one, two, five = ("mk-1", "MK-1", "One."), ("mk-2", "MK-2", "Two."), ("mk-5", "MK-5", "Five.")
    assert chapters(story) == []
    story.chain("mk-1", made[0], made[1], "mk-2", made[2], "mk-3", made[3], "mk-4", "mk-5", made[4])
    assert chapters(story) == [one, two, five]
    assert chapters(story, 3) == [two, five]
    assert chapters(story, 1) == [five]
    assert chapters(story, on=False) == []
    story.add("mk-5", "marker", content="Put away.", archived=True)
    assert chapters(story, 1) == [("mk-4", "MK-4", "Empty")]


def test_tiers(story: StoryBuilder) -> None:
    custom = [
        {"type": "location", "name": "Locations"},
        {"type": "rule", "name": "Rules"},
        {"type": "location", "name": "Again"},
        {"type": "prose", "name": "Not mine"},
        {"type": "empty", "name": "Empty"},
    ]
    story.meta({"customFragmentTypes": custom})
    for kind in ("guideline", "knowledge", "character", "location", "unlisted"):
        story.add(f"{kind}-s2", kind, sticky=True, order=2)
        story.add(f"{kind}-s1", kind, sticky=True, order=1)
        story.add(f"{kind}-a", kind, order=9)
        story.add(f"{kind}-b", kind, order=1)
        story.add(f"{kind}-r2", kind, order=2)
        story.add(f"{kind}-r1", kind, order=1)
        story.add(f"{kind}-gone", kind, archived=True)
    story.add("rule-s", "rule", sticky=True)
    story.add("pr-s", "prose", sticky=True)
    mentions = [
        {"type": "mention", "fragmentId": f"{kind}-r2"} for kind in ("guideline", "knowledge", "character", "location")
    ]
    odd = [{"type": "note", "fragmentId": "knowledge-a"}, {"type": "mention"}, 5, None, {"type": "mention"}]
    written = ["knowledge-r1", "character-r1", "location-r1", "guideline-r1", "knowledge-s1", "gone", 7]
    story.add("pr-1", "prose", meta={"annotations": [*mentions, *odd], "writerContextIds": "knowledge-a"})
    story.add("pr-2", "prose", meta={"annotations": {"a": 1}, "writerContextIds": written})
    story.chain("pr-1", "pr-2")
    found = state(story)
    assert ids(found.sticky_guidelines) == ["guideline-s1", "guideline-s2"]
    assert ids(found.guideline_catalog) == ["guideline-a", "guideline-b", "guideline-r1", "guideline-r2"]
    assert ids(found.sticky_knowledge) == ["knowledge-s1", "knowledge-s2"]
    assert ids(found.recent_knowledge) == ["knowledge-r1", "knowledge-r2"]
    assert ids(found.knowledge_catalog) == ["knowledge-a", "knowledge-b"]
    assert ids(found.recent_characters) == ["character-r1", "character-r2"]

    def groups(given: Any) -> list[tuple[str, str, list[str]]]:
        return [(group.type, group.name, ids(group.fragments)) for group in given]

    assert groups(found.sticky_custom_fragments) == [
        ("location", "Locations", ["location-s1", "location-s2"]),
        ("rule", "Rules", ["rule-s"]),
    ]
    assert groups(found.recent_custom_fragments) == [("location", "Locations", ["location-r1", "location-r2"])]
    assert groups(found.custom_fragment_catalogs) == [("location", "Locations", ["location-b", "location-a"])]


def test_only_prose_in_the_window_promotes(story: StoryBuilder) -> None:
    story.meta({"contextCompact": {"type": "proseLimit", "value": 1}})
    story.add("kn-a", "knowledge")
    story.add("pr-1", "prose", meta={"writerContextIds": ["kn-a"]})
    assert ids(state(story).recent_knowledge) == ["kn-a"]
    story.add("pr-2", "prose")
    assert ids(state(story).knowledge_catalog) == ["kn-a"]


def test_building_is_pure(story: StoryBuilder) -> None:
    story.add("kn-a", "knowledge")
    snapshot = story.snapshot()
    first, second = build_context(snapshot, "a"), build_context(snapshot, "a")
    assert [getattr(first, name) for name in first.__slots__ if name != "story"] == [
        getattr(second, name) for name in second.__slots__ if name != "story"
    ]
    assert first.author_input == "a"
