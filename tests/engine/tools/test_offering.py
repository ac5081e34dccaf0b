"""What each agent is offered."""

from __future__ import annotations

from typing import Any

import pytest

from engine.agents import agent, agents
from engine.agents.definition import READING_TOOLS
from engine.agents.tools import TOOLS
from engine.blocks import BlockConfig
from engine.story import Settings
from engine.tools import Host, Tool, ToolInput, ToolResult, offered, shadowing
from engine.tools.offering import CORE

EMPTY = BlockConfig()
NONE = Settings()


class Nothing(ToolInput):
    pass


def plugin(name: str) -> Tool[Any]:
    def handle(given: Nothing, host: Host) -> ToolResult:
        return ToolResult({})

    return Tool(name, Nothing, handle, "A plugin's.")


def names(name: str, config: BlockConfig = EMPTY, settings: Settings = NONE, **more: Any) -> list[str]:
    return [tool.name for tool in offered(agent(name), config, settings, **more)]


def test_there_is_a_tool_for_every_name() -> None:
    assert set(CORE) == set(TOOLS)
    for definition in agents():
        assert names(definition.name)[: len(definition.tools)] == list(definition.tools)


def test_what_the_config_takes_away_by_whatever_name() -> None:
    config = BlockConfig(disabledTools=("getFragment", "findFragments", "nothing"))
    assert names("generation.writer", config) == [
        name for name in READING_TOOLS if name not in ("readFragments", "findFragments")
    ]
    assert names("generation.prewriter", BlockConfig(disabledTools=("suggestDirections",))) == list(READING_TOOLS)


def test_what_the_story_takes_away() -> None:
    settings = Settings(disable_librarian_directions=True, disable_librarian_suggestions=True)
    assert names("librarian.analyze", settings=settings) == ["reportAnalysis", *READING_TOOLS, "finishAnalysis"]
    assert "proposeDirections" in names("librarian.analyze")


@pytest.mark.parametrize(
    ("clarify", "round", "asks"), [(False, 0, False), (True, 0, True), (True, 2, True), (True, 3, False)]
)
def test_the_prewriter_may_ask_three_times(clarify: bool, round: int, asks: bool) -> None:
    found = names("generation.prewriter", settings=Settings(clarify_before_generate=clarify), clarify_round=round)
    assert found == [*READING_TOOLS, "proposeDirections", *(["askClarifyingQuestions"] if asks else [])]


def test_the_prewriter_has_directions_of_its_own() -> None:
    *_, tool = offered(agent("generation.prewriter"), EMPTY, NONE)
    assert "pacing" in tool.schema["properties"]["directions"]["items"]["properties"]


def test_the_directions_agent_has_a_tool_when_it_is_asked_for() -> None:
    assert names("directions.suggest") == []
    (tool,) = offered(agent("directions.suggest"), EMPTY, NONE, directions=4)
    assert tool.schema["properties"]["directions"]["maxItems"] == 4


def test_a_plugin_shadows_nothing() -> None:
    plugins = [plugin("notes"), plugin("readFragments"), plugin("getFragment"), plugin("editProse"), plugin("notes")]
    found = offered(agent("generation.writer"), EMPTY, NONE, plugins=plugins)
    assert [tool.name for tool in found] == [*READING_TOOLS, "notes"]
    assert found[0] is CORE["readFragments"]
    assert found[-1] is plugins[0]
    assert shadowing(plugins) == tuple(plugins[1:])
    assert names("librarian.chat", plugins=plugins) == list(agent("librarian.chat").tools)
    assert names("generation.writer", BlockConfig(disabledTools=("notes",)), plugins=plugins) == list(READING_TOOLS)
