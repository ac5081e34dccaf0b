"""The writer's instruction texts: plain paragraphs, no headings, and only tools that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "engine" / "agents" / "instructions"
READING_TOOLS = {
    *("readFragments", "findFragments", "listFragments"),
    *("readProseChain", "listFragmentTypes", "readStorySummary"),
}
SYSTEM = ("generation.system", "generation.writer-brief.system")
TOOLS = ("generation.tools-suffix", "generation.writer-brief.tools-suffix")


def text_of(key: str) -> str:
    return (FOLDER / f"{key}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", [*SYSTEM, *TOOLS])
def test_plain_paragraphs_without_headings_lists_or_markers(key: str) -> None:
    text = text_of(key)
    assert text == text.strip() + "\n"
    assert "\r" not in text
    assert not re.search(r"^\s*(#|[-*] |\d+\. |\[@)", text, re.MULTILINE)
    assert "\n\n\n" not in text


@pytest.mark.parametrize("key", SYSTEM)
def test_system_texts_are_compact(key: str) -> None:
    assert 120 <= len(text_of(key).split()) <= 350


@pytest.mark.parametrize("key", TOOLS)
def test_tool_policy_names_only_tools_the_writer_has(key: str) -> None:
    named = set(re.findall(r"`(\w+)`", text_of(key)))
    assert named
    assert named <= READING_TOOLS
