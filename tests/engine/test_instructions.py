"""The agents' instruction texts: plain paragraphs, no headings, only tools the agents have, no name left to fill."""

from __future__ import annotations

import re

import pytest

from engine.agents import agents
from engine.agents.definition import READING_TOOLS
from engine.agents.instructions import instruction, instruction_keys

KEYS = {
    *("generation.system", "generation.tools-suffix"),
    *("generation.writer-brief.system", "generation.writer-brief.tools-suffix", "generation.prewriter.system"),
    *(f"librarian.{name}.system" for name in ("analyze", "chat", "refine", "optimize-character", "prose-transform")),
    *("character-chat.system", "character-chat.instructions"),
    *(f"character-chat.persona.{kind}" for kind in ("character", "stranger", "custom")),
    *("directions.system", "directions.suggest-template", "chapters.summarize.system"),
}
"""Those of the reference (spec, section 11); the planner's other blocks have keys of our own."""
OWN = {
    *(f"generation.prewriter.reasoning-{length}" for length in ("short", "normal", "extensive")),
    "generation.prewriter.clarify",
}
NAMES = {
    "librarian.analyze.system": {"procedure"},
    "character-chat.system": {"characterName"},
    "character-chat.instructions": {"characterName"},
    "character-chat.persona.character": {"personaName", "personaDescription"},
    "character-chat.persona.custom": {"prompt"},
    "directions.suggest-template": {"count"},
}
SYSTEM = sorted(key for key in KEYS if key.endswith(".system"))
TOOLS = ("generation.tools-suffix", "generation.writer-brief.tools-suffix")


def test_the_keys() -> None:
    assert instruction_keys() == KEYS | OWN


@pytest.mark.parametrize("key", sorted(KEYS | OWN))
def test_plain_paragraphs_without_headings_lists_or_markers(key: str) -> None:
    text = instruction(key)
    assert text == text.strip()
    assert "\r" not in text
    assert not re.search(r"^\s*(#|[-*] |\d+\. |\[@)", text, re.MULTILINE)
    assert "\n\n\n" not in text
    assert set(re.findall(r"\{\{(\w+)\}\}", text)) == NAMES.get(key, set())


@pytest.mark.parametrize("key", SYSTEM)
def test_system_texts_are_compact(key: str) -> None:
    assert 120 <= len(instruction(key).split()) <= 360


@pytest.mark.parametrize("key", TOOLS)
def test_tool_policy_names_only_tools_the_writer_has(key: str) -> None:
    named = set(re.findall(r"`(\w+)`", instruction(key)))
    assert named
    assert named <= set(READING_TOOLS)


@pytest.mark.parametrize("key", sorted((KEYS | OWN) - set(TOOLS)))
def test_no_other_text_names_a_tool_that_may_be_off(key: str) -> None:
    tools = {tool for agent in agents() for tool in agent.tools}
    assert not any(tool in instruction(key) for tool in tools)
