"""What a preview shows is what a provider receives, byte for byte, tools among it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from engine.agents import agents
from engine.models.wire.http_wire import payload
from engine.workspace import Workspace
from tests.engine.conftest import STORY
from tests.mock_provider.scripts import plain, plain_message
from tests.mock_provider.serving import Serve
from tests.stories import make_story

ROLES = ("system", "user")
PRESETS = ("openai", "anthropic", "deepseek", "ollama")


def random_config(rng: random.Random, ids: list[str], tools: tuple[str, ...]) -> dict[str, Any]:
    blocks = [
        {
            "id": f"cb-aaaa{index}",
            "name": rng.choice(("Notes", "Anmerkung ü", "备注")),
            "role": rng.choice(ROLES),
            "order": rng.randrange(0, 900),
            "enabled": rng.random() < 0.8,
            "type": rng.choice(("simple", "script")),
            "content": rng.choice(("'plain ' + 1", "'<@ch-bafego>'", "'[@block=author-input] \\u2028 ü'")),
        }
        for index in range(rng.randrange(0, 4))
    ]
    overrides = {
        block: {
            "contentMode": rng.choice(("prepend", "append", "override")),
            "customContent": "Mine: <@kn-mirafa:short>",
        }
        for block in ids
        if rng.random() < 0.3
    }
    for block in ids:
        if rng.random() < 0.2:
            overrides.setdefault(block, {})["enabled"] = False
    order = rng.sample(ids, len(ids)) if rng.random() < 0.5 else []
    off = [tool for tool in tools if rng.random() < 0.3]
    return {
        "customBlocks": blocks,
        "overrides": overrides,
        "blockOrder": order,
        "disabledTools": off,
        "disableAutoAnalysis": False,
    }


@pytest.mark.parametrize("seed", range(8))
def test_what_is_previewed_is_what_is_received(
    data: Path, opened: Any, serve: Serve, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    definition = rng.choice([item for item in agents() if item.subject is None])
    ids = ["instructions", "tools", "story-info", "prose-recent", "author-input", "fragment-catalog", "story-summary"]
    make_story(data, configs={definition.name: random_config(rng, ids, definition.tools)})
    preset = rng.choice(PRESETS)
    mock = serve(plain_message("Hi") if preset == "anthropic" else plain("Hi"))
    entry = {"id": "mine", "name": "M", "baseURL": mock.base_url, "apiKey": "k", "defaultModel": "m", "preset": preset}
    (data / "config.json").write_text(json.dumps({"providers": [entry], "defaultProviderId": "mine"}), "utf-8")
    workspace: Workspace = opened()
    session = workspace.session(STORY, definition.name)
    session.author_input = rng.choice(("Go on.", "", "Ünïcode 字 \U0001f600"))
    session.install(session.load())
    shown = workspace.wires.request_body(session.prompt())
    assert shown is not None
    view = workspace.generation.start(workspace.generation.prepare(session)).result(20)
    assert view.phase == "done", view.failure
    (sent,) = mock.received
    assert sent.body == payload(shown.body)
    log = json.loads(next((data / "stories" / STORY / "branches/main/generation-logs").glob("*.json")).read_bytes())
    assert log["stonehand"]["requestHashes"] == [shown.hash]
    offered = {tool.name for tool in workspace.generation.tools_of(session.prompt())}
    named = {tool.get("name") or tool["function"]["name"] for tool in sent.document.get("tools", [])}
    assert named == offered and not offered & set(session.prompt().disabled_tools)


def test_what_tools_cost_counts(workspace: Workspace) -> None:
    prompt = workspace.prompt(STORY)
    session = workspace.session(STORY, "generation.writer")
    session.install(session.load())
    for tool in prompt.tools:
        session.set_tool(tool, False, prompt.tools)
    session.install(session.load())
    assert workspace.generation.tool_tokens(prompt) > 100 and workspace.generation.tool_tokens(session.prompt()) == 0
