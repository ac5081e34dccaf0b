"""The agents' instruction texts: plain paragraphs, no headings, only tools the agents have, no name left to fill."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from engine.agents import agents
from engine.agents.definition import READING_TOOLS
from engine.agents.instructions import for_tools, instruction, instruction_keys, stray_marker

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
EVERY_TOOL = frozenset(tool for agent in agents() for tool in agent.tools)


def whole(key: str) -> str:
    """The text of a key for an agent with every tool."""
    return for_tools(instruction(key), EVERY_TOOL)


def test_the_keys() -> None:
    assert instruction_keys() == KEYS | OWN


@pytest.mark.parametrize("key", sorted(KEYS | OWN))
@pytest.mark.parametrize("tools", [(), *((tool,) for tool in READING_TOOLS), EVERY_TOOL])
def test_plain_paragraphs_without_headings_lists_or_markers(key: str, tools: tuple[str, ...]) -> None:
    text = for_tools(instruction(key), tools)
    assert stray_marker(instruction(key)) is None
    assert "<!--" not in text and "  " not in text
    assert text == text.strip()
    assert "\r" not in text
    assert not re.search(r"^\s*(#|[-*] |\d+\. |\[@)", text, re.MULTILINE)
    assert "\n\n\n" not in text
    assert set(re.findall(r"\{\{(\w+)\}\}", text)) == NAMES.get(key, set())


@pytest.mark.parametrize("key", SYSTEM)
def test_system_texts_are_compact(key: str) -> None:
    assert 120 <= len(whole(key).split()) <= 360


@pytest.mark.parametrize("key", TOOLS)
def test_tool_policy_names_only_tools_the_writer_has(key: str) -> None:
    named = set(re.findall(r"`(\w+)`", whole(key)))
    assert named
    assert named <= set(READING_TOOLS)


@pytest.mark.parametrize("key", sorted((KEYS | OWN) - set(TOOLS)))
def test_no_other_text_names_a_tool_that_may_be_off(key: str) -> None:
    assert not any(tool in whole(key) for tool in EVERY_TOOL)


@pytest.mark.parametrize("key", TOOLS)
def test_without_tools_the_tool_policy_is_one_sentence_that_says_so(key: str) -> None:
    text = for_tools(instruction(key), ())
    assert text.startswith("You have no tools here: ")
    assert text.count(".") == 1 and text.endswith(".")


@pytest.mark.parametrize("key", TOOLS)
def test_the_tool_policy_names_only_tools_that_are_on(key: str) -> None:
    for size in range(len(READING_TOOLS) + 1):
        for on in combinations(READING_TOOLS, size):
            text = for_tools(instruction(key), on)
            assert set(re.findall(r"`(\w+)`", text)) <= set(on)
            assert ("search with" in text or "a search" in text) <= ("findFragments" in on)
            assert ("the story summary" in text) <= ("readStorySummary" in on)
            assert ("the prose chain" in text) <= ("readProseChain" in on)


@pytest.mark.parametrize(
    ("key", "needed", "said"),
    [
        ("generation.prewriter.system", READING_TOOLS, "look up"),
        ("generation.prewriter.system", READING_TOOLS, "check it"),
        ("generation.prewriter.reasoning-short", READING_TOOLS, "Look up"),
        ("generation.prewriter.reasoning-extensive", READING_TOOLS, "Read everything"),
        ("librarian.refine.system", ("readFragments",), "Read the fragment first"),
        ("librarian.refine.system", ("editFragments",), "your editing tools"),
        ("librarian.optimize-character.system", ("readFragments",), "Read the sheet"),
        ("librarian.optimize-character.system", ("editFragments",), "your editing tools"),
        ("librarian.chat.system", ("editFragments", "editProse"), "If an edit fails"),
        ("librarian.chat.system", ("readFragments", "findFragments", "readProseChain"), "read it"),
        ("character-chat.instructions", READING_TOOLS, "Look something up"),
        ("librarian.analyze.system", ("reportAnalysis",), "your tool calls"),
    ],
)
def test_what_takes_a_tool_is_asked_only_of_an_agent_that_has_it(key: str, needed: tuple[str, ...], said: str) -> None:
    assert said in for_tools(instruction(key), needed)
    others = EVERY_TOOL - set(needed) if "analyze" not in key else ()
    assert said not in for_tools(instruction(key), others)


def test_conditions_stand_inside_each_other_and_leave_no_empty_paragraph() -> None:
    inner = "<!-- if: y -->, C<!-- else -->, D<!-- end -->"
    text = f"A.\n\n<!-- if: x y -->B{inner}.<!-- end -->\n\nE<!-- if: any -->!<!-- end -->"
    assert for_tools(text, ("x",)) == "A.\n\nB, D.\n\nE!"
    assert for_tools(text, ("y",)) == "A.\n\nB, C.\n\nE!"
    assert for_tools(text, ("z",)) == "A.\n\nE!"
    assert for_tools(text, ()) == "A.\n\nE"
