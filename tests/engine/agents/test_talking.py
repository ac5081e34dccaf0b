"""The default blocks of character chat and of directions (spec, section 4.4; section 13, case 44)."""

from __future__ import annotations

import pytest

from engine.agents import sections
from engine.agents.character_chat import CHARACTER_INTRO
from engine.agents.instructions import instruction
from engine.agents.sources import Persona
from tests.engine.agents.making import blocks_of, reasons_of, shape
from tests.engine.story_builder import StoryBuilder

CHAT = "character-chat.chat"
DIRECTIONS = "directions.suggest"


def test_a_chat_with_nobody_yet(story: StoryBuilder) -> None:
    found = blocks_of(story, CHAT)
    assert shape(found) == [
        ("instructions", "system", 100),
        ("persona", "user", 200),
        ("story-context", "user", 300),
    ]
    assert "You are the character," in found["instructions"].content
    assert "{{" not in found["instructions"].content
    assert found["story-context"].content == (
        "## Story Context\n\n### Story\n\nName: Tide House\nDescription: A last winter."
    )
    assert "chosen" in reasons_of(story, CHAT)["character"]


def test_a_chat(story: StoryBuilder) -> None:
    story.add("ch-ines12", "character", sticky=True, name="Ines", description="keeper", content="Keeps the light.")
    story.add("ch-tam123", "character", sticky=True, name="Tam")
    story.add("sm-first1", "summary", content="So far.")
    story.add("pr-first1", "prose", content="First.", meta={"_librarian": {"summary": "It began."}})
    found = blocks_of(story, CHAT, character=story.snapshot().get("ch-ines12"))
    assert [block.id for block in found.values()][1:] == [
        *("character", "persona", "story-context", "fragment-pinned-catalog"),
    ]
    assert "You are Ines," in found["instructions"].content
    character = found["character"]
    assert (character.role, character.order) == ("user", 100)
    assert character.content == (
        f"## Character\n\n{CHARACTER_INTRO}\n\n### Character\n\n#### `ch-ines12` | Ines | keeper\n\nKeeps the light."
    )
    assert found["story-context"].content.endswith(
        "### Story Summary So Far\n\nSo far.\n\n### Story Events\n\n- pr-first1: It began."
    )
    assert "Tam" in found["fragment-pinned-catalog"].content
    assert "Ines" not in found["fragment-pinned-catalog"].content


@pytest.mark.parametrize(
    ("persona", "holds"),
    [
        (Persona(), instruction("character-chat.persona.stranger")),
        (Persona("character", "Tam", "Rows {{prompt}}."), "You are speaking with Tam, whom"),
        (Persona("character", "Tam", "Rows {{prompt}}."), "Rows {{prompt}}."),
        (Persona("custom", prompt="The sea itself."), "The sea itself."),
    ],
)
def test_whom_it_speaks_with(story: StoryBuilder, persona: Persona, holds: str) -> None:
    text = blocks_of(story, CHAT, persona=persona)["persona"].content
    assert text.startswith("## Who You Are Speaking With\n\n")
    assert holds in text


def test_directions(story: StoryBuilder) -> None:
    """Spec, case 44."""
    story.add("gl-voice1", "guideline", sticky=True, name="Voice", content="Past.")
    story.add("kn-law123", "knowledge", sticky=True, name="Law", content="No salt.")
    story.add("ch-ines12", "character", sticky=True, name="Ines", content="Keeps.")
    story.add("ch-tam123", "character", name="Tam", content="Rows.")
    story.add("kn-loose1", "knowledge", name="Loose")
    prose = [f"pr-prose{n}" for n in range(5)]
    for fragment_id in prose:
        story.add(fragment_id, "prose", content=f"Text of {fragment_id}.", meta={"writerContextIds": ["ch-tam123"]})
    story.chain(*prose)
    found = blocks_of(story, DIRECTIONS)
    assert shape(found) == [
        ("instructions", "system", 100),
        ("story-summary", "user", 100),
        ("fragment-pinned", "user", 150),
        ("fragment-recent", "user", 160),
        ("prose-recent", "user", 300),
    ]
    assert found["fragment-pinned"].content == (
        f"## Pinned Fragments\n\n{sections.FULL_INTRO}\n\n### Guidelines\n\n#### Voice\n\nPast.\n\n"
        "### Characters\n\n#### Ines\n\nKeeps.\n\n### Knowledge\n\n#### Law\n\nNo salt."
    )
    assert found["prose-recent"].content == (
        "## Recent Prose\n\nText of pr-prose2.\n\nText of pr-prose3.\n\nText of pr-prose4.\n\n## End of Recent Prose"
    )
    assert all("Loose" not in block.content for block in found.values()), "no catalog"


def test_directions_before_anything_is_written(story: StoryBuilder) -> None:
    assert list(blocks_of(story, DIRECTIONS)) == ["instructions", "story-summary"]
    assert reasons_of(story, DIRECTIONS)["prose-recent"] == sections.NO_PROSE
