"""What is left over in the config: listed last, looked at, removed, renamed, and taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.stories import config_file, custom_block
from tests.tui.app.test_editing import save
from tests.tui.conftest import WRITER_CONFIG, Open
from tests.tui.editor import Editor
from tui.screens.choice import ChoiceDialog

LEFT: dict[str, Any] = {
    **WRITER_CONFIG,
    "overrides": {
        "gone": {"enabled": False, "customContent": "The old\ntext.", "contentMode": "append"},
        "prose": {"enabled": False},
    },
    "blockOrder": ["lost"],
    "future": [1],
}


@pytest.fixture
def left(data: Path) -> Path:
    file = config_file(data / "stories/the-quay", "generation.writer")
    file.write_text(json.dumps(LEFT), "utf-8")
    return file


async def to_left(ed: Editor, name: str) -> None:
    await ed.press("end")
    for _ in range(6):
        if ed.blocks.leftover is not None and ed.blocks.leftover.id == name:
            return
        await ed.press("k")
    raise AssertionError(name)


async def test_it_is_listed_below_the_blocks(editor: Open, left: Path) -> None:
    async with editor() as ed:
        lines = ed.list_lines()
        at = next(index for index, line in enumerate(lines) if "LEFT OVER" in line)
        assert [line.split()[0:2] for line in lines[at + 1 : at + 4]] == [["?", "gone"], ["!?", "prose"], ["?", "lost"]]
        assert "now called prose-recent" in lines[at + 2]
        await ed.press("end")
        assert ed.blocks.leftover is not None and ed.blocks.current is None
        await ed.press("space", "J", "D", "v", "n", "y", "a", "escape", "3")
        assert ed.session.document.undo_label is None, "what is for blocks does nothing here"
        assert left.read_text("utf-8") == json.dumps(LEFT)


async def test_its_text_is_shown_and_it_is_removed(editor: Open, left: Path) -> None:
    async with editor(size=(80, 24)) as ed:
        await to_left(ed, "gone")
        await ed.press("enter")
        assert isinstance(ed.app.screen, ChoiceDialog)
        assert ed.shows("The old") and ed.shows("text.") and ed.shows("switched off · text after the default")
        await ed.press("escape", "X")
        await save(ed)
        assert "gone" not in ed.config()["overrides"] and ed.config()["future"] == [1]
        assert ed.blocks.leftover is not None and ed.blocks.leftover.id == "prose"
        await to_left(ed, "lost")
        await ed.press("R")
        await save(ed)
        assert "lost" not in ed.config()["blockOrder"]
        await ed.press("u", "u")
        await save(ed)
        assert ed.file().read_text("utf-8") == json.dumps(LEFT)


async def test_the_inspector_tells_what_it_is(editor: Open, left: Path) -> None:
    async with editor() as ed:
        await to_left(ed, "gone")
        await ed.until(lambda: ed.inspector.border_title == "gone")
        await ed.until(lambda: ed.shows("The config holds changes") and ed.shows("R or X removes"))
        assert ed.shows("The old") and ed.inspector.editor is None
        await ed.press("w")
        assert isinstance(ed.app.screen, ChoiceDialog)
        await ed.press("escape")
        await ed.goto("instructions")
        await ed.until(lambda: ed.shows("Your text: none."))
        assert not ed.shows("R or X removes")
        assert left.read_text("utf-8") == json.dumps(LEFT)


async def test_an_old_name_is_taken_for_what_it_is_now(editor: Open, left: Path) -> None:
    async with editor() as ed:
        await to_left(ed, "prose")
        await ed.press("enter", "r")
        assert "✗ prose-recent" in ed.line_of("prose-recent")
        await save(ed)
        assert ed.config()["overrides"]["prose-recent"] == {"enabled": False}
        await to_left(ed, "gone")
        await ed.press("enter", "a")
        assert not ed.shows("LEFT OVER")
        await ed.press("u", "u")
        await save(ed)
        assert ed.file().read_text("utf-8") == json.dumps(LEFT)


async def test_blocks_that_share_an_id_get_their_own(editor: Open, data: Path) -> None:
    twins = [custom_block("cb-aaaa", "1", name="One"), custom_block("cb-aaaa", "2", name="Two")]
    config = {**WRITER_CONFIG, "customBlocks": twins}
    config_file(data / "stories/the-quay", "generation.writer").write_text(json.dumps(config), "utf-8")
    async with editor() as ed:
        await ed.press("end")
        assert "2 of your blocks share this id" in ed.line_of("cb-aaaa")
        await ed.press("X")
        assert isinstance(ed.app.screen, ChoiceDialog)
        await ed.press("p")
        assert ed.session.leftovers == ()
        await save(ed)
        ids = [block["id"] for block in ed.config()["customBlocks"]]
        assert ids[0] == "cb-aaaa" and len(set(ids)) == 2


async def test_the_mouse_opens_it(editor: Open, left: Path) -> None:
    async with editor() as ed:
        at = next(y for y, line in enumerate(ed.list_lines()) if "gone" in line)
        region = ed.blocks.content_region
        await ed.pilot.click(offset=(region.x + 8, region.y + at), times=2)
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
