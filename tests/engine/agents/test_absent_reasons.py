"""Every block that is not there says why, for every agent, in both ways of generating, with and without its tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.disk import dump_json
from engine.workspace import Workspace
from tests.engine.conftest import STORY
from tests.stories import make_story


@pytest.mark.parametrize("mode", ["standard", "prewriter"])
@pytest.mark.parametrize("empty", [True, False])
def test_what_is_absent_says_why(data: Path, opened: Callable[..., Workspace], mode: str, empty: bool) -> None:
    story = make_story(data, prose=(), fragments=()) if empty else make_story(data)
    meta = json.loads((story / "meta.json").read_text("utf-8"))
    meta["settings"]["generationMode"] = mode
    (story / "meta.json").write_bytes(dump_json(meta))
    workspace = opened()
    absent = 0
    for definition in workspace.definitions():
        session = workspace.session(STORY, definition.name)
        for tools in ((), definition.tools):
            for tool in tools:
                session.set_tool(tool, False, definition.tools)
            session.install(session.load())
            listed = {row.key for row in session.rows}
            assert session.base is not None and listed >= {slot.id for slot in session.base.slots}
            silent = [row.key for row in session.rows if row.state == "absent" and not row.note]
            assert silent == [], definition.name
            absent += sum(row.state == "absent" for row in session.rows)
    assert absent > 10
