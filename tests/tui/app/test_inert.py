"""Foreign text on every screen: shown, never obeyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.stories import custom_block, make_story
from tests.tui.conftest import Open
from tests.tui.editor import Editor, control_characters

NASTY = "[/] [$1] [foo=] [b]x\x1b]0;title\x07\x1b[31m\x9b5m \u202eesrever \u2066iso [@click=app.quit]go[/]"


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    """A story in which every text is hostile."""
    fragments = [
        {"id": "ch-bafego", "type": "character", "name": NASTY, "description": NASTY, "content": NASTY},
        {"id": "gl-tonare", "type": "guideline", "name": "two\nlines\t" + NASTY, "content": NASTY, "sticky": True},
    ]
    script = f"console.log({json.dumps(NASTY)})\nreturn {json.dumps(NASTY + chr(10) + NASTY)}"
    config = {
        "customBlocks": [
            custom_block("cb-nastya", NASTY, name=NASTY[:100]),
            custom_block("cb-nastyb", script, name="[/]\n" + NASTY[:90], type="script"),
            custom_block("cb-nastyc", f"throw new Error({json.dumps(NASTY)})", name="[", type="script"),
            custom_block("cb-nastyd", "text", name="[/red]"),
        ],
        "overrides": {"instructions": {"contentMode": "override", "customContent": NASTY}},
        "blockOrder": [],
    }
    folder = make_story(
        tmp_path / "nasty", "[nasty]", name=NASTY, prose=[NASTY, "plain"], fragments=fragments,
        configs={"generation.writer": config}, branches=("main", "[br]"),
    )  # fmt: skip
    log = {
        "createdAt": "2026-01-05T08:00:00.000Z", "input": NASTY, "messages": [], "generatedText": NASTY,
        "model": NASTY, "durationMs": 5, "finishReason": "stop",
    }  # fmt: skip
    logs = folder / "branches/main/generation-logs"
    logs.mkdir()
    (logs / "gen-[foo=][a].json").write_text(json.dumps(log), "utf-8")
    return tmp_path / "nasty"


def check(ed: Editor, shown: str = "") -> None:
    assert control_characters(ed.lines()) == []
    assert not shown or ed.shows(shown), ed.grid()


async def test_main_screen_and_dialogs(editor: Open, nasty: Path) -> None:
    async with editor(size=(160, 45), folder=nasty) as ed:
        check(ed, "[/] [$1] [foo=]")
        for row in ed.blocks.rows:
            ed.blocks.key = row.key
            await ed.until(lambda row=row: ed.inspector.row is not None and ed.inspector.row.key == row.key)
            await ed.pilot.pause()
            check(ed)
        await ed.goto("cb-nastyb")
        await ed.until(lambda: ed.shows("console"))
        check(ed)
        await ed.press("e", "f3")
        await ed.until(lambda: ed.shows("ch-bafego"))
        check(ed, "[/] [$1] [foo=]")
        await ed.press("escape")
        for key, wanted in [("R", "this block"), ("r", "Order"), ("s", "Story and branch"), ("a", "Add a block")]:
            await ed.press(key)
            await ed.until(lambda wanted=wanted: ed.shows(wanted))
            check(ed)
            await ed.press("escape")
        for key in ("space", "space", "J", "D", "escape", "X", "y", "u"):
            await ed.press(key)
            check(ed)
        await ed.press("slash")
        await ed.type("[/]")
        check(ed)
        await ed.press("escape")


async def test_prompt(editor: Open, nasty: Path) -> None:
    async with editor(size=(120, 45), folder=nasty) as ed:
        await ed.press("p")
        await ed.until(lambda: ed.shows("Compiled prompt"))
        await ed.until(lambda: ed.shows("@block="))
        check(ed, "[/] [$1] [foo=]")
        for key in ("J", "J", "J", "J", "J", "J", "y", "b"):
            await ed.press(key)
            check(ed)
        await ed.press("escape", "slash")
        await ed.type("[$1]")
        check(ed)
        await ed.press("enter", "end")
        check(ed)


async def test_passage(editor: Open, nasty: Path) -> None:
    async with editor(size=(120, 45), folder=nasty) as ed:
        await ed.press("g")
        await ed.until(lambda: ed.shows("direction:"))
        await paste(ed.pilot, NASTY)
        check(ed, "[/] [$1] [foo=]")
        await ed.press("ctrl+o")
        await ed.until(lambda: ed.shows("replay of 2026-01-05 "))
        check(ed, "[/] [$1] [foo=]")
        await ed.press("down", "enter")
        await ed.until(lambda: ed.shows("replay:gen-[foo=][a]") and ed.shows("direction:"))
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("keep it, discard it"))
        check(ed, "[/] [$1] [foo=]")
        await ed.press("ctrl+s")
        await ed.until(lambda: ed.said.startswith("kept as"))
        check(ed)


async def test_a_failure_and_a_banner(editor: Open, nasty: Path) -> None:
    file = nasty / "stories/[nasty]/branches/main/agent-blocks/generation.writer.json"
    file.write_text(json.dumps({"overrides": {NASTY: {"order": NASTY}}}), "utf-8")
    async with editor(folder=nasty) as ed:
        await ed.until(lambda: ed.shows("It is left as it is"))
        check(ed)
        ed.app.report(ValueError(NASTY))
        ed.desk.say(NASTY)
        await ed.pilot.pause()
        check(ed, "ValueError: [/] [$1] [foo=]")


async def paste(pilot: Pilot[int], text: str) -> None:
    from textual import events

    pilot.app.post_message(events.Paste(text))
    await pilot.pause()
