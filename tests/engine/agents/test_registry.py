"""The registry."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.agents import agent, agents, registry
from engine.agents.instructions import filled, instruction
from engine.agents.tools import TOOLS, describe
from engine.errors import NotFound
from engine.workspace import Workspace

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


NEW_FAMILY = """
from engine.agents.definition import AgentDefinition
from engine.blocks import BlockSlot, ContextBlock

ORDER = 35

AGENTS = (
    AgentDefinition(
        "critic.read", "Critic", "Says what is weak.", "Other", ("readFragments",),
        lambda given: [ContextBlock("instructions", "system", given.state.story.name, 100)],
        lambda given: (BlockSlot("instructions", "system", 100),),
    ),
)
"""


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One more folder of the agents' package, with a module of a new agent."""
    package = importlib.import_module(registry.PACKAGE)
    module = tmp_path / "families" / "critic.py"
    module.parent.mkdir()
    module.write_text(NEW_FAMILY, "utf-8")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(module.parent)])
    registry._by_name.cache_clear()
    yield module
    registry._by_name.cache_clear()
    sys.modules.pop("engine.agents.critic", None)
    if hasattr(package, "critic"):
        delattr(package, "critic")


def test_a_new_agent_is_one_new_file(family: Path, quay: Workspace) -> None:
    names = [definition.name for definition in agents()]
    assert names == [*SEED_ORDER[:7], "critic.read", *SEED_ORDER[7:]]
    assert quay.prompt("the-quay", "critic.read").messages[0].content == "[@block=instructions]\nThe Quay"
    assert "Critic" in {summary.display_name for summary in quay.agents("the-quay")}


def test_two_agents_of_one_name_are_a_mistake(family: Path) -> None:
    family.write_text(NEW_FAMILY.replace("critic.read", "directions.suggest"), "utf-8")
    with pytest.raises(ValueError, match=r"another agent directions\.suggest"):
        agents()


def test_every_tool_is_described() -> None:
    assert {tool for definition in agents() for tool in definition.tools} <= set(TOOLS)
    assert describe("fly") == ""


def test_an_unknown_agent_names_those_there_are() -> None:
    assert agent("generation.writer") is agents()[0]
    with pytest.raises(NotFound, match=r"generation\.writer, .*directions\.suggest"):
        agent("../writer")


def test_instructions() -> None:
    text = instruction("generation.system")
    assert text
    assert not text.endswith("\n")
    for key in ("none", "../registry", "generation"):
        with pytest.raises(KeyError, match="there is no instruction"):
            instruction(key)


def test_filling_is_one_pass_and_leaves_what_it_does_not_know() -> None:
    values = {"name": "{{prompt}} \\1 $&", "prompt": "never"}
    assert filled("{{name}}, {{other}} and { {name} }", values) == "{{prompt}} \\1 $&, {{other}} and { {name} }"
