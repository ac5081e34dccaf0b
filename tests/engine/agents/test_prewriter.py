"""The planner's default blocks (spec, sections 4.3 and 10.5; bug 24)."""

from __future__ import annotations

import pytest

from engine.agents.generation import CONTEXT_PLACEHOLDER, NO_DIRECTION, REQUEST_PLACEHOLDER
from engine.agents.sources import CLARIFYING_ROUNDS, Planning
from engine.blocks.config import EMPTY, parse_config
from tests.engine.agents.making import blocks_of, reasons_of, shape
from tests.engine.story_builder import StoryBuilder

PREWRITER = "generation.prewriter"


def test_without_the_writers_config_placeholders_stand(story: StoryBuilder) -> None:
    found = blocks_of(story, PREWRITER)
    assert shape(found) == [
        ("instructions", "system", 100),
        ("full-context", "user", 100),
        ("planning-request", "user", 200),
    ]
    assert (found["full-context"].content, found["planning-request"].content) == (
        CONTEXT_PLACEHOLDER,
        REQUEST_PLACEHOLDER,
    )


def test_it_sees_what_the_writer_is_sent_as_the_user_configured_it(story: StoryBuilder) -> None:
    story.add("gl-voice1", "guideline", sticky=True, name="Voice", content="Past tense.")
    story.add("kn-law123", "knowledge", sticky=True, placement="system", name="Law", content="No salt.")
    story.add("pr-first1", "prose", content="First passage.")
    config = parse_config(
        {
            "customBlocks": [
                {"id": "cb-mine", "name": "Mine", "role": "user", "type": "simple", "content": "For the writer."},
                {"id": "cb-code", "name": "Code", "role": "user", "type": "script", "content": "return 'x'"},
            ],
            "overrides": {
                "story-info": {"enabled": False},
                "prose-recent": {"contentMode": "append", "customContent": "More.", "order": 1},
            },
        }
    )
    text = blocks_of(story, PREWRITER, "Go on.", writer_config=config)["full-context"].content
    system, user = text.split("\n\n---\n\n")
    assert system.startswith("## Full Story Context\n\n[system]\n[@block=system-fragments]\n## System Fragments")
    assert user.startswith("[user]\n[@block=prose-recent]\n## Recent Prose\n\nFirst passage.")
    assert "## End of Recent Prose\nMore.\n\n[@block=user-fragments]" in user
    for left_out in ("author-input", "block=instructions", "block=tools", "cb-mine", "cb-code", "# Tide House"):
        assert left_out not in text


def test_the_writers_standard_set_in_either_mode(story: StoryBuilder) -> None:
    standard = blocks_of(story, PREWRITER, writer_config=EMPTY)["full-context"].content
    story.meta({"generationMode": "prewriter"})
    assert blocks_of(story, PREWRITER, writer_config=EMPTY)["full-context"].content == standard
    assert "[@block=story-info]" in standard and "writing-brief" not in standard


def test_the_request(story: StoryBuilder) -> None:
    def request(author_input: str, planning: Planning) -> str:
        blocks = blocks_of(story, PREWRITER, author_input, writer_config=EMPTY, planning=planning)
        return blocks["planning-request"].content

    text = request("Let the storm arrive.", Planning())
    assert text.startswith("## Planning Request\n\nCONTINUE: ")
    assert text.endswith("### Author Direction\n\nLet the storm arrive.")
    assert request(" \n", Planning()).endswith(NO_DIRECTION)
    answered = Planning("regenerate", (("Whose scene?", "Tam's."), ("How far?", "Not far.")), 1)
    text = request("Again.", answered)
    assert "\n\nREGENERATE: " in text
    assert text.endswith("Q: Whose scene?\nA: Tam's.\n\nQ: How far?\nA: Not far.")
    assert "\n\nREFINE: " in request("x", Planning("refine"))


@pytest.mark.parametrize("length", ["short", "normal", "extensive"])
def test_how_long_it_thinks_is_a_block_like_others(story: StoryBuilder, length: str) -> None:
    story.meta({"prewriterReasoning": length})
    block = blocks_of(story, PREWRITER, writer_config=EMPTY)["reasoning-length"]
    assert (block.role, block.order) == ("system", 110)
    story.meta({"prewriterReasoning": {"short": "normal", "normal": "extensive", "extensive": "short"}[length]})
    assert blocks_of(story, PREWRITER, writer_config=EMPTY)["reasoning-length"].content != block.content


def test_it_may_ask_back_while_the_story_wants_it_and_rounds_are_left(story: StoryBuilder) -> None:
    assert "clarify-instructions" not in blocks_of(story, PREWRITER, writer_config=EMPTY)
    assert "off" in reasons_of(story, PREWRITER, writer_config=EMPTY)["clarify-instructions"]
    story.meta({"clarifyBeforeGenerate": True})
    for asked in range(CLARIFYING_ROUNDS):
        found = blocks_of(story, PREWRITER, writer_config=EMPTY, planning=Planning(round=asked))
        assert (found["clarify-instructions"].role, found["clarify-instructions"].order) == ("system", 150)
    enough = {"writer_config": EMPTY, "planning": Planning(round=CLARIFYING_ROUNDS)}
    assert "clarify-instructions" not in blocks_of(story, PREWRITER, **enough)
    assert "often enough" in reasons_of(story, PREWRITER, **enough)["clarify-instructions"]
