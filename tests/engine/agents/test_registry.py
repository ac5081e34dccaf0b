"""The registry."""

from __future__ import annotations

import pytest

from engine.agents import agent, agents
from engine.agents.instructions import instruction
from engine.errors import NotFound

SEED_ORDER = [
    "generation.writer",
    "generation.prewriter",
    "librarian.analyze",
    "librarian.chat",
    "librarian.refine",
    "librarian.optimize-character",
    "librarian.prose-transform",
    "character-chat.chat",
    "directions.suggest",
]


def test_all_nine_in_the_seeds_order() -> None:
    assert [definition.name for definition in agents()] == SEED_ORDER
    assert {definition.group for definition in agents()} == {"Generation", "Directions", "Librarian", "Character"}
    assert all(definition.display_name and definition.description for definition in agents())
    assert all(len(set(definition.tools)) == len(definition.tools) for definition in agents())


def test_tools() -> None:
    count = {definition.name: len(definition.tools) for definition in agents()}
    assert count == dict(zip(SEED_ORDER, (6, 6, 10, 10, 8, 8, 0, 6, 0), strict=True))


def test_an_unknown_agent_names_those_there_are() -> None:
    assert agent("generation.writer") is agents()[0]
    with pytest.raises(NotFound, match=r"generation\.writer, .*directions\.suggest"):
        agent("../writer")


def test_instructions() -> None:
    text = instruction("generation.system")
    assert text
    assert not text.endswith("\n")
    with pytest.raises(KeyError, match="none"):
        instruction("none")
