"""The default blocks of the librarian's other agents (spec, section 4.4; section 13, case 43)."""

from __future__ import annotations

import pytest

from engine.agents import librarian, sections
from engine.agents.sources import Selection
from tests.engine.agents.making import blocks_of, reasons_of, shape
from tests.engine.story_builder import StoryBuilder

ROWS = f"{sections.CATALOG_INTRO} {sections.CATALOG_READ_HINT}"


def full_story(story: StoryBuilder) -> None:
    story.add("gl-voice1", "guideline", sticky=True, name="Voice", description="tone")
    story.add("ch-other1", "character", name="Odd")
    story.add("ch-ines12", "character", sticky=True, name="Ines", description="keeper")
    story.add("ch-tam123", "character", name="Tam")
    story.add("kn-law123", "knowledge", name="Law")
    story.add("sm-first1", "summary", content="So far.")
    story.add("pr-first1", "prose", name="One", content="First.\n\n", meta={"writerContextIds": ["ch-tam123"]})
    story.chain("pr-first1")


# -- chat


def test_chat(story: StoryBuilder) -> None:
    full_story(story)
    found = blocks_of(story, "librarian.chat")
    assert shape(found) == [
        ("instructions", "system", 100),
        ("story-info", "user", 100),
        ("prose-summaries", "user", 200),
        ("fragment-catalog", "user", 303),
    ]
    assert found["story-info"].content == "# Tide House\n\nA last winter.\n\n## Story Summary So Far\n\nSo far."
    assert found["fragment-catalog"].content == (
        f"## Fragment Catalog\n\n{ROWS}\n\n"
        "### Guidelines\n\n`gl-voice1` | Voice (pinned) | tone\n\n"
        "### Knowledge\n\n`kn-law123` | Law | About kn-law123\n\n"
        "### Characters\n\n`ch-ines12` | Ines (pinned) | keeper\n`ch-tam123` | Tam (recent) | About ch-tam123\n"
        "`ch-other1` | Odd | About ch-other1"
    )


@pytest.mark.parametrize(
    ("content", "row"),
    [
        ("x" * 599, "- pr-a12345: \n" + "x" * 599),
        ("x" * 600, "- pr-a12345: " + "x" * 500 + "... [truncated]"),
        ("x" * 499 + "\n" + "y" * 100, "- pr-a12345: " + "x" * 499 + " ... [truncated]"),
        ("🌊" * 299, "- pr-a12345: \n" + "🌊" * 299),
        ("🌊" * 300, "- pr-a12345: " + "🌊" * 250 + "... [truncated]"),
    ],
)
def test_long_prose_is_cut_and_counted_as_the_reference_counts(story: StoryBuilder, content: str, row: str) -> None:
    """Spec, case 43."""
    story.add("pr-a12345", "prose", content=content)
    heading, _, rows = blocks_of(story, "librarian.chat")["prose-summaries"].content.partition("\n\n")
    assert rows == row
    assert heading.startswith("## ")


@pytest.mark.parametrize(
    ("notes", "used"), [({"summary": "It rained."}, True), ({"summary": " "}, False), ("odd", False)]
)
def test_a_passages_summary_stands_for_it(story: StoryBuilder, notes: object, used: bool) -> None:
    """Spec, case 43."""
    story.add("pr-a12345", "prose", content="Rain.", meta={"_librarian": notes})
    rows = blocks_of(story, "librarian.chat")["prose-summaries"].content.partition("\n\n")[2]
    assert rows == ("- pr-a12345: It rained." if used else "- pr-a12345: \nRain.")


def test_the_heading_names_the_reading_tools_there_are(story: StoryBuilder) -> None:
    story.add("pr-a12345", "prose", content="Rain.")

    def heading(*without: str) -> str:
        return blocks_of(story, "librarian.chat", without=without)["prose-summaries"].content.split("\n")[0]

    assert "`readFragments` or `readProseChain`" in heading()
    assert "readFragments" not in heading("readFragments")
    assert "`" not in heading("readFragments", "readProseChain")


# -- refine and optimize


def test_refine(story: StoryBuilder) -> None:
    full_story(story)
    found = blocks_of(story, "librarian.refine")
    assert shape(found) == [
        ("instructions", "system", 100),
        ("story-info", "user", 100),
        ("prose-recent", "user", 200),
        ("fragment-pinned-catalog", "user", 303),
    ]
    assert found["prose-recent"].content == "## Recent Prose\n\n### One (pr-first1)\n\nFirst."
    assert "### Characters\n\n`ch-ines12` | Ines | keeper" in found["fragment-pinned-catalog"].content
    assert "no fragment is chosen" in reasons_of(story, "librarian.refine")["target"]


def test_optimize_has_all_characters_in_a_catalog_of_their_own(story: StoryBuilder) -> None:
    full_story(story)
    found = blocks_of(story, "librarian.optimize-character")
    assert shape(found)[-1] == ("character-catalog", "user", 350)
    assert found["character-catalog"].content == (
        f"## All Characters Catalog\n\n{ROWS}\n\n"
        "`ch-ines12` | Ines | keeper\n`ch-other1` | Odd | About ch-other1\n`ch-tam123` | Tam | About ch-tam123"
    )
    assert "Ines" not in found["fragment-pinned-catalog"].content


@pytest.mark.parametrize(
    ("name", "label", "guidance"),
    [
        ("librarian.refine", "fragment to refine", librarian.REFINE_GUIDANCE),
        ("librarian.optimize-character", "character to optimize", librarian.OPTIMIZE_GUIDANCE),
    ],
)
def test_the_target(story: StoryBuilder, name: str, label: str, guidance: str) -> None:
    story.add("ch-ines12", "character", name="Ines\nVale", content="Not shown.")
    target = story.snapshot().get("ch-ines12")
    block = blocks_of(story, name, target=target)["target"]
    about = f'## Target {label}\n\nID: ch-ines12\nType: character\nName: "Ines Vale"\n\n'
    assert (block.role, block.order) == ("user", 400)
    assert block.content == f"{about}### Default Guidance\n\n{guidance}"
    block = blocks_of(story, name, target=target, instructions="Make her older.")["target"]
    assert block.content == f"{about}### User Instructions\n\nMake her older."


@pytest.mark.parametrize("name", ["librarian.refine", "librarian.optimize-character"])
def test_a_target_that_can_not_be_read_is_given_whole(story: StoryBuilder, name: str) -> None:
    story.add("ch-ines12", "character", name="Ines", description="the keeper", content="She counts boats.")
    target = story.snapshot().get("ch-ines12")
    assert "She counts boats." not in blocks_of(story, name, target=target)["target"].content
    found = blocks_of(story, name, target=target, without=("readFragments",))["target"].content
    assert "### Current Description\n\nthe keeper\n\n### Current Text\n\nShe counts boats.\n\n### Default" in found


# -- prose transform

TRANSFORM = "librarian.prose-transform"


def test_a_preview_of_a_transform_says_what_will_stand_there(story: StoryBuilder) -> None:
    found = blocks_of(story, TRANSFORM)
    assert shape(found) == [
        ("instructions", "system", 100),
        ("operation", "user", 100),
        ("story-summary", "user", 200),
        ("source", "user", 300),
        ("selection", "user", 400),
    ]
    assert "will stand here" in found["source"].content and "will stand here" in found["selection"].content


def test_a_transform(story: StoryBuilder) -> None:
    story.add("sm-first1", "summary", content="So far.")
    selection = Selection("compress", "\n The span. ", "All of it.", "Gently.", " before\n", "")
    found = blocks_of(story, TRANSFORM, selection=selection)
    assert found["operation"].content == "## Operation\n\ncompress\n\n### Guidance\n\nGently."
    assert found["story-summary"].content == "## Story Summary So Far\n\nSo far."
    assert found["source"].content == "## Source Prose\n\n### Current Source\n\nAll of it."
    assert found["selection"].content == (
        "## Selected Span\n\n### Text to Transform\n\nThe span.\n\n### Context Before\n\nbefore\n\n"
        "### Context After\n\n(none)"
    )


def test_what_a_transform_has_not_got_is_left_out(story: StoryBuilder) -> None:
    found = blocks_of(story, TRANSFORM, selection=Selection("rewrite", " "))
    assert list(found) == ["instructions", "operation", "story-summary"]
    assert found["operation"].content.endswith("### Guidance\n\n(none)")
    assert found["story-summary"].content.endswith(sections.SUMMARY_PLACEHOLDER)
