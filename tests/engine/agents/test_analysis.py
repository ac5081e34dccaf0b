"""The default blocks of the agent that analyzes (spec, section 4.4; section 13, case 42)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.agents import Sources, agent
from engine.agents.analysis import NEW_PROSE_PLACEHOLDER, by_depth, procedure, used_tools
from engine.agents.instructions import Instructions
from engine.agents.sources import Signal
from tests.engine.agents.making import blocks_of, input_of, shape
from tests.engine.story_builder import StoryBuilder

ANALYZE = "librarian.analyze"
TOOLS = agent(ANALYZE).tools


def headings(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("#### `")]


def test_an_empty_story(story: StoryBuilder) -> None:
    found = blocks_of(story, ANALYZE)
    assert shape(found) == [
        ("instructions", "system", 100),
        ("story-summary", "user", 100),
        ("prose-new", "user", 400),
    ]
    assert found["story-summary"].content == "## Story Summary So Far\n\n(summary will appear here)"
    assert found["prose-new"].content == f"## New Prose Fragment\n\n{NEW_PROSE_PLACEHOLDER}"


def full_story(story: StoryBuilder) -> None:
    story.meta({"customFragmentTypes": [{"type": "place", "name": "Places"}]})
    story.add("gl-voice1", "guideline", sticky=True)
    story.add("kn-pinned", "knowledge", sticky=True, name="Salt Law", description="the law", content="No salt.")
    story.add("kn-pinne2", "knowledge", sticky=True, order=-1)
    story.add("ch-writer", "character")
    story.add("ch-recent", "character")
    story.add("ch-seen12", "character")
    story.add("plac-far1", "place")
    story.add(
        "pr-first1", "prose", content="First.", meta={"annotations": [mention("ch-recent"), mention("ch-writer")]}
    )
    story.add(
        "pr-newone", "prose", content="Second.\n", meta={"writerContextIds": ["ch-writer", "kn-pinned", "gl-voice1", 7]}
    )
    story.add("pr-later1", "prose", content="Later.")
    story.chain("pr-first1", "pr-newone", "pr-later1")


def mention(fragment_id: str) -> dict[str, str]:
    return {"type": "mention", "fragmentId": fragment_id, "text": "x"}


def test_each_fragment_stands_once_at_its_deepest_place(story: StoryBuilder) -> None:
    """Spec, case 42."""
    full_story(story)
    signals = (
        Signal("ch-seen12", "router"),
        Signal("ch-recent", "current-observation"),
        Signal("kn-pinne2", "router"),
        Signal("gl-voice1", "router"),
        Signal("ch-nobody", "router"),
    )
    passage = story.snapshot().get("pr-newone")
    found = blocks_of(story, ANALYZE, new_prose=passage, signals=signals)
    assert shape(found)[1:] == [
        ("story-summary", "user", 100),
        ("fragment-pinned", "user", 195),
        ("fragment-writer-context", "user", 200),
        ("fragment-recent", "user", 205),
        ("fragment-candidates", "user", 210),
        ("fragment-catalog", "user", 390),
        ("prose-new", "user", 400),
    ]
    # By the best source: what the router saw before what the writer had, whatever the fragments' own order.
    assert [line[6:15] for line in headings(found["fragment-pinned"].content)] == ["kn-pinne2", "kn-pinned"]
    assert "#### `kn-pinned` | Salt Law | the law\n\nNo salt." in found["fragment-pinned"].content
    assert [line[6:15] for line in headings(found["fragment-writer-context"].content)] == ["ch-writer"]
    assert [line[6:15] for line in headings(found["fragment-recent"].content)] == ["ch-recent"]
    assert [line[6:15] for line in headings(found["fragment-candidates"].content)] == ["ch-seen12"]
    assert "### Places\n\n`plac-far1` |" in found["fragment-catalog"].content
    assert found["prose-new"].content == "## New Prose Fragment\n\nFragment ID: pr-newone\n\nSecond."
    assert all("gl-voice1" not in block.content for block in found.values())


def test_a_passage_is_judged_by_what_stands_before_it(story: StoryBuilder) -> None:
    full_story(story)
    snapshot = story.snapshot()
    options = agent(ANALYZE).context(snapshot, Sources(new_prose=snapshot.get("pr-newone")))
    assert options.prose_before == "pr-newone"
    made = input_of(story, agent(ANALYZE), new_prose=snapshot.get("pr-newone"))
    assert [item.id for item in made.state.prose_fragments] == ["pr-first1"]
    preview = input_of(story, agent(ANALYZE))
    assert [item.id for item in preview.state.prose_fragments] == ["pr-first1", "pr-newone"]


IDS = ("kn-pinned", "kn-pinne2", "ch-writer", "ch-recent", "ch-seen12", "plac-far1")
SIGNALS = st.lists(
    st.builds(Signal, st.sampled_from(IDS), st.sampled_from(["current-observation", "router", "writer-context"])),
    max_size=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(signals=SIGNALS)
def test_whatever_the_signals_no_fragment_is_lost_or_doubled(story: StoryBuilder, signals: list[Signal]) -> None:
    if "pr-first1" not in story.snapshot().fragments:
        full_story(story)
    lanes = by_depth(input_of(story, agent(ANALYZE), signals=tuple(signals)))
    shown = [fragment.id for found in lanes.values() for lane in found for fragment in lane.fragments]
    assert sorted(shown) == sorted(IDS)
    pinned = {fragment.id for lane in lanes["pinned"] for fragment in lane.fragments}
    assert pinned == {"kn-pinned", "kn-pinne2"}


OPTIONAL = ("reportAnalysis", "proposeFragmentChanges", "proposeDirections")


@pytest.mark.parametrize("kept", list(product([True, False], repeat=5)))
def test_the_procedure_names_only_tools_there_are_and_closes_up(story: StoryBuilder, kept: tuple[bool, ...]) -> None:
    """Spec, case 42: the steps are numbered anew when tools are disabled."""
    off = tuple(tool for tool, on in zip((*OPTIONAL, "finishAnalysis", "readFragments"), kept, strict=True) if not on)
    text = blocks_of(story, ANALYZE, without=off)["instructions"].content
    assert not any(f"`{tool}`" in text for tool in off)
    numbered = [line for line in text.split("\n") if line[:1].isdigit()]
    recorded, finished = sum(kept[:3]), kept[3]
    steps = recorded + 1 if recorded else 1 + finished
    assert [line.split(".")[0] for line in numbered] == [str(n + 1) for n in range(steps)]
    assert numbered[-1].split(". ", 1)[1].startswith("Finally") == bool(recorded or finished)
    assert ("all you find goes into your tool calls" in text) == bool(recorded)
    assert ("1. Answer with what the passage establishes" in text) != bool(recorded)


def test_the_storys_settings_take_steps_away(story: StoryBuilder) -> None:
    def steps(**flags: Any) -> str:
        story.meta(flags)
        return "\n".join(procedure(used_tools(TOOLS, input_of(story, agent(ANALYZE)).state.story.settings)))

    assert "proposeDirections" in steps() and "proposeFragmentChanges" in steps()
    assert "proposeDirections" not in steps(disableLibrarianDirections=True)
    assert "proposeFragmentChanges" not in steps(disableLibrarianSuggestions=True)


def test_an_analysis_whose_last_tool_the_settings_want_no_use_of_is_an_answer(story: StoryBuilder) -> None:
    story.meta({"disableLibrarianDirections": True})
    text = blocks_of(story, ANALYZE, without=("reportAnalysis", "proposeFragmentChanges"))["instructions"].content
    assert "tool calls" not in text and "1. Answer with what the passage establishes" in text


def test_a_text_of_another_set_has_the_procedure_where_it_says_so(story: StoryBuilder) -> None:
    own = Instructions({"librarian.analyze.system": "Do:\n{{procedure}}\nThat is all."})
    text = blocks_of(story, ANALYZE, instruction=own)["instructions"].content
    assert text.startswith("Do:\n1. ") and text.endswith("\nThat is all.")
    whole = Instructions({"librarian.analyze.system": "Do as you like."})
    assert blocks_of(story, ANALYZE, instruction=whole)["instructions"].content == "Do as you like."


def test_fragments_for_the_system_message(story: StoryBuilder) -> None:
    story.add("gl-secret", "guideline", name="Secret", content="Say nothing.\n", archived=True)
    story.add("kn-second", "knowledge", name="Second", content="Body.")
    tagged = {"pass-to-librarian-system-prompt": ["kn-second", "kn-gone12", "gl-secret", "kn-second"]}
    story.write("branches/main/associations.json", {"tagIndex": tagged, "refIndex": {}})
    wanted = "## System Prompt Fragments\n\n### Second\n\nBody.\n\n### Secret\n\nSay nothing."
    for name in (ANALYZE, "librarian.chat", "directions.suggest"):
        block = blocks_of(story, name)["system-fragments"]
        assert (block.role, block.order, block.content) == ("system", 200, wanted)
    for name in ("librarian.refine", "librarian.prose-transform", "character-chat.chat"):
        assert "system-fragments" not in blocks_of(story, name)
