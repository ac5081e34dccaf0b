"""The writer's default blocks (spec, sections 4.1 and 4.2)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.agents import AgentInput, Sources, agent, sections
from engine.agents.generation import BRIEF_PLACEHOLDER, unlabelled
from engine.blocks import ContextBlock
from engine.context import build_context
from tests.engine.story_builder import StoryBuilder

WRITER = agent("generation.writer")


def given(story: StoryBuilder, author_input: str = "Let the storm arrive.") -> AgentInput:
    snapshot = story.snapshot()
    return AgentInput(snapshot, build_context(snapshot, author_input), enabled_tools=WRITER.tools)


def blocks(made: AgentInput) -> dict[str, ContextBlock]:
    return {block.id: block for block in WRITER.build(made)}


def test_an_empty_story(story: StoryBuilder) -> None:
    found = blocks(given(story, " \n\t"))
    assert list(found) == ["instructions", "tools", "story-info", "new-story"]
    assert found["story-info"].content == "# Tide House\n\nA last winter."
    assert found["new-story"].content == "\n\n".join(["## New Story", *sections.NEW_STORY])


def test_a_full_one(story: StoryBuilder) -> None:
    story.meta({"enableHierarchicalSummary": True})
    story.add("gl-voice", "guideline", sticky=True, name="Voice", content="\nPast tense.\n\n")
    story.add("ch-ines", "character", name="Ines", description="the keeper")
    story.add("ch-tam", "character", name="Tam", content="Rows.")
    story.add("kn-law", "knowledge", sticky=True, placement="system", name="Salt Law", content="No salt.")
    story.add("kn-void", "knowledge", sticky=True, placement="nowhere")
    story.add("sm-a", "summary", content="So far, so good.")
    story.add("mk-a", "marker", name="Winter", content="It snowed.")
    story.add("pr-a", "prose", content="First passage.\n\n\n", meta={"writerContextIds": ["ch-tam"]})
    story.add("pr-b", "prose", content="\n\nSecond passage.")
    story.chain("mk-a", "pr-a", "pr-b")
    found = blocks(given(story))
    assert found["system-fragments"].content == (
        f"## System Fragments\n\n{sections.FULL_INTRO}\n\n### Knowledge\n\n#### Salt Law\n\nNo salt."
    )
    assert found["user-fragments"].content == (
        f"## User Fragments\n\n{sections.FULL_INTRO}\n\n### Guidelines\n\n#### Voice\n\nPast tense."
    )
    assert found["fragment-recent"].content == (
        f"## Recent Fragments\n\n{sections.RECENT_INTRO}\n\n### Characters\n\n#### Tam\n\nRows."
    )
    assert found["fragment-catalog"].content == (
        f"## Fragment Catalog\n\n{sections.CATALOG_INTRO} {sections.CATALOG_READ_HINT}\n\n"
        "### Characters\n\n`ch-ines` | Ines | the keeper"
    )
    assert found["summary"].content == "## Story Summary So Far\n\nSo far, so good."
    assert found["chapter-summaries"].content == "## Chapter/Arc Summaries\n\n### Winter\n\nIt snowed."
    assert found["prose-recent"].content == (
        "## Recent Prose\n\nFirst passage.\n\nSecond passage.\n\n## End of Recent Prose"
    )
    assert found["author-input"].content == "## Author Direction\n\nLet the storm arrive."
    assert all("kn-void" not in block.content for block in found.values())


def test_the_reading_tool_is_named_only_where_there_is_one(story: StoryBuilder) -> None:
    story.add("ch-ines", "character")
    without = blocks(replace(given(story), enabled_tools=("findFragments",)))["fragment-catalog"]
    assert "readFragments" not in without.content
    assert "readFragments" in blocks(given(story))["fragment-catalog"].content


def test_a_custom_order_makes_one_group(story: StoryBuilder) -> None:
    order = ["ch-b", "kn-none", "gl-a", "pr-a", "ch-b", "ch-loose", "kn-sys"]
    story.meta({"contextOrderMode": "advanced", "fragmentOrder": order})
    for fragment_id, kind in (("gl-a", "guideline"), ("gl-b", "guideline"), ("ch-b", "character")):
        story.add(fragment_id, kind, sticky=True, name=fragment_id, content="x")
    story.add("ch-loose", "character")
    story.add("kn-sys", "knowledge", sticky=True, placement="system", name="kn-sys", content="x")
    found = blocks(given(story))

    def headings(block_id: str) -> list[str]:
        return [line for line in found[block_id].content.split("\n") if line.startswith("###")]

    assert headings("user-fragments") == ["### Context", "#### ch-b", "#### gl-a", "#### gl-b"]
    assert headings("system-fragments") == ["### Context", "#### kn-sys"]


def test_prewriter_mode_has_a_set_of_its_own(story: StoryBuilder) -> None:
    story.meta({"generationMode": "prewriter"})
    story.add("gl-voice", "guideline", sticky=True)
    made = given(story)
    found = blocks(made)
    assert [(block.id, block.role, block.order) for block in found.values()] == [
        ("instructions", "system", 100),
        ("tools", "system", 200),
        ("new-story", "user", 100),
        ("writing-brief", "user", 200),
    ]
    assert found["writing-brief"].content == f"## Writing Brief\n\n{BRIEF_PLACEHOLDER}"
    briefed = blocks(replace(made, sources=Sources(brief="# Writing Brief\n\nThe storm comes.")))["writing-brief"]
    assert briefed.content == "## Writing Brief\n\nThe storm comes."
    slots = [slot.id for slot in WRITER.slots(made)]
    assert slots == ["instructions", "tools", "prose-recent", "new-story", "writing-brief"]
    story.meta()
    assert found["instructions"].content != blocks(given(story))["instructions"].content


@pytest.mark.parametrize(
    ("brief", "text"),
    [
        ("## Writing Brief\n\nBody", "Body"),
        ("Writing Brief: Body", "Body"),
        ("**Writing Brief:**\nBody", "Body"),
        ("### **writing brief**\nBody", "Body"),
        ("Writing briefly, she left.", "Writing briefly, she left."),
        ("# Scene one\nBody", "# Scene one\nBody"),
        ("Body\n## Writing Brief", "Body\n## Writing Brief"),
    ],
)
def test_a_models_own_title_is_left_out(brief: str, text: str) -> None:
    assert unlabelled(brief) == text


def test_reasons_say_what_is_missing(story: StoryBuilder) -> None:
    reasons = {slot.id: slot.reason for slot in WRITER.slots(given(story))}
    assert "off" in reasons["chapter-summaries"]
    story.meta({"enableHierarchicalSummary": True})
    reasons = {slot.id: slot.reason for slot in WRITER.slots(given(story))}
    assert "marker" in reasons["chapter-summaries"]
