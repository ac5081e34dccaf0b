"""A story with something of everything, and a host on it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.models.wire.parts import ToolCall
from engine.tools import Host, ToolResult, apply_now
from engine.tools.offering import CORE
from tests.engine.story_builder import StoryBuilder

Call = Callable[..., ToolResult]


def tool_call(call_id: str, name: str, arguments: Any = "") -> ToolCall:
    """A call with its arguments as a model writes them."""
    return ToolCall(call_id, name, arguments if isinstance(arguments, str) else json.dumps(arguments))


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def story(tmp_path: Path) -> StoryBuilder:
    story = StoryBuilder(tmp_path / "stories" / "tide-house")
    story.meta({"customFragmentTypes": [{"type": "location", "name": "Places"}]})
    story.add("ch-bafego", "character", name="Ines", description="the keeper", content="Ines keeps the light.")
    story.add("kn-mirafa", "knowledge", name="The light", content="Nine berths. It costs $5. It costs $5.")
    story.add("gl-tonare", "guideline", name="Voice", content="Past tense.", sticky=True)
    story.add("lo-harbor", "location", name="Harbour", content="Grey water.", future={"kept": [1]})
    story.add("im-rosego", "image", content="data:image/png;base64,AAAA", name="A map of the light")
    story.add("kn-oldies", "knowledge", name="Put away", content="Old tales of the light.", archived=True)
    story.add("pr-one", "prose", content="Ines lit the lamp. The lamp burned.")
    story.add("pr-two", "prose", content="An earlier version: the lamp.")
    story.add("pr-three", "prose", content="The storm put out the lamp.")
    story.add("mk-chapter", "marker", name="Part two", content="What was.")
    story.chain("pr-one", "mk-chapter", ["pr-two", "pr-three"])
    return story


@pytest.fixture
def host(story: StoryBuilder) -> Host:
    return Host(story.folder(), "main", "librarian.chat", settle=apply_now)


@pytest.fixture
def call(host: Host) -> Call:
    """Calls a tool of ours on the host."""

    def run(name: str, arguments: Any = None, **given: Any) -> ToolResult:
        return asyncio.run(CORE[name].run(tool_call("1", name, given if arguments is None else arguments), host))

    return run
