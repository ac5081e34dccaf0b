"""The request a prompt becomes, shown before it is sent."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tui.app.providers import write_providers
from tests.tui.conftest import Open
from tui.screens.prompt import PromptScreen
from tui.screens.request import RequestScreen, content_text
from tui.widgets.fold_view import FoldView

SHAPED = """\
default = "mine"
[providers.mine]
base_url = "https://api.example.com/v1"
default_model = "m"
profile = { shaping = "single", extra_body = { top_k = 20 } }
"""


async def test_it_is_the_body_that_is_sent(editor: Open, tmp_path: Path) -> None:
    write_providers(tmp_path / "config", SHAPED)
    async with editor() as ed:
        await ed.press("p")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen) and ed.app.screen.view.blocks, "the prompt")
        await ed.press("r")
        await ed.until(lambda: isinstance(ed.app.screen, RequestScreen), "the request")
        body = ed.workspace.wires.request_body(ed.session.prompt()).body
        view = ed.app.screen.query_one(FoldView)
        shown = {section.key: section.text for section in view.sections}
        (message,) = body["messages"]
        assert message["role"] == "user", "both roles are one, as the profile asks"
        assert shown["message-0"] == message["content"]
        assert json.loads(shown["tools"]) == body["tools"]
        rest = json.loads(shown["rest"])
        assert rest["top_k"] == 20 and rest | {"messages": body["messages"], "tools": body["tools"]} == body
        assert ed.shows("https://api.example.com/v1/chat/completions") and ed.shows("user message")
        await ed.press("enter", "Y", "escape")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen), "the prompt again")


async def test_the_rehearsal_sends_none(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("p")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen) and ed.app.screen.view.blocks, "the prompt")
        await ed.press("r")
        await ed.until(lambda: ed.shows("no request is sent"), "why not")


def test_marks_for_the_cache_are_shown() -> None:
    parts = [
        {"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "New."},
    ]
    assert content_text(parts) == 'Long.\n{"cache_control": {"type": "ephemeral"}}\nNew.'
