"""What a preview shows is what a provider receives, byte for byte, tools among it."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any, get_args

import pytest

from engine.agents import agent, agents
from engine.models.wire.http_wire import payload
from engine.models.wire.profiles import Shaping
from engine.workspace import Workspace
from tests.engine.conftest import STORY
from tests.mock_provider.scripts import plain, plain_message
from tests.mock_provider.serving import Serve
from tests.stories import make_story

ROLES = ("system", "user")
CHAT = ("openai", "deepseek", "ollama", "openrouter")
SHAPINGS = get_args(Shaping)


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


def providers_of(base_urls: dict[str, str]) -> str:
    """The user's file of providers: for each preset and each way to shape roles one, named so."""
    return "".join(
        f'[providers.{preset}-{shaping}]\nname = "M"\npreset = "{preset}"\nbase_url = "{url}"\n'
        f'default_model = "m"\nprofile = {{ shaping = "{shaping}" }}\n'
        for preset, url in base_urls.items()
        for shaping in SHAPINGS
    )


@pytest.mark.parametrize("name", [item.name for item in agents()])
def test_what_is_previewed_is_what_is_received(
    data: Path, tmp_path: Path, opened: Any, serve: Serve, name: str
) -> None:
    """Of every agent, with a config made at random, over both APIs and with every way to shape roles."""
    definition = agent(name)
    rng = random.Random(name)
    ids = ["instructions", "tools", "story-info", "prose-recent", "author-input", "fragment-catalog", "story-summary"]
    make_story(data, configs={name: random_config(rng, ids, definition.tools)})
    chat, messages = serve(plain("Hi")), serve(plain_message("Hi"))
    config = tmp_path / "config"
    config.mkdir()
    presets = dict.fromkeys(rng.sample(CHAT, 1), chat.base_url) | {"anthropic": messages.base_url}
    (config / "providers.toml").write_text(providers_of(presets), "utf-8")
    workspace: Workspace = opened()
    target = None
    if definition.subject is not None:
        target = "ch-bafego" if "character" in definition.subject.types else "pr-aaaa00"
    session = workspace.session(STORY, name, target=target)
    session.author_input = rng.choice(("Go on.", "Ünïcode 字 \U0001f600"))
    session.install(session.load())
    for preset, shaping in itertools.product(presets, SHAPINGS):
        provider = f"{preset}-{shaping}"
        mock = messages if preset == "anthropic" else chat
        prompt = workspace.generation.prompt_like(session)
        shown = workspace.wires.request_body(prompt, provider)
        assert shown is not None
        run = workspace.generation.prepare(session, provider=provider)
        view = workspace.generation.start(run).result(20)
        assert view.phase == "done", view.failure
        sent = mock.received[-1]
        assert sent.body == payload(shown.body)
        log = workspace.runs.log(STORY, "main", run.log_id)
        assert log["stonehand"]["requestHashes"] == [shown.hash]
        offered = {tool.name for tool in workspace.generation.tools_of(prompt)}
        named = {tool.get("name") or tool["function"]["name"] for tool in sent.document.get("tools", [])}
        assert named == offered and not offered & set(prompt.disabled_tools)
        roles = [message["role"] for message in sent.document["messages"]]
        if shaping == "single":
            assert roles == ["user"] and "system" not in sent.document
        if shaping in ("merge", "semi-strict", "strict"):
            assert all(one != two for one, two in itertools.pairwise(roles))
    assert len(chat.received) + len(messages.received) == 2 * len(SHAPINGS)


def test_what_tools_cost_counts(workspace: Workspace) -> None:
    prompt = workspace.prompt(STORY)
    session = workspace.session(STORY, "generation.writer")
    session.install(session.load())
    for tool in prompt.tools:
        session.set_tool(tool, False, prompt.tools)
    session.install(session.load())
    assert workspace.generation.tool_tokens(prompt) > 100 and workspace.generation.tool_tokens(session.prompt()) == 0
