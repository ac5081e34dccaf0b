"""A prompt previewed with a direction, a fragment and a branch of one's own: nothing of it is stored."""

from __future__ import annotations

import json
from pathlib import Path

from tests.stories import config_file, custom_block
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.compare import CompareScreen
from tui.screens.desk import DeskScreen
from tui.screens.pick import PickDialog
from tui.screens.preview import PreviewDialog, SubjectDialog
from tui.screens.prompt import PromptScreen
from tui.widgets.prompt_view import PromptView


async def reading(ed: Editor) -> PromptView:
    await ed.press("p")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen), "the prompt")
    view = ed.app.screen.query_one(PromptView)
    await ed.until(lambda: view.blocks)
    return view


async def asked(ed: Editor) -> None:
    await ed.press("i")
    await ed.until(lambda: isinstance(ed.app.screen, PreviewDialog), "the dialog")
    await ed.pilot.pause()


def stored(data: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(data.rglob("*")) if file.is_file()}


async def test_a_direction_is_for_the_preview_and_its_comparison_alone(editor: Open, data: Path) -> None:
    async with editor() as ed:
        before = stored(data)
        await ed.until(lambda: ed.desk.tool_tokens and "rehearsal" in ed.lines()[0], "the budget")
        tokens = ed.lines()[0]
        view = await reading(ed)
        assert "Author Direction" not in view.text
        await asked(ed)
        await ed.type("Let the storm\ncome.")
        await ed.press("ctrl+s")
        await ed.until(lambda: "Let the storm\ncome." in view.text, "the direction in the prompt")
        assert "Preview with a direction" in ed.lines()[0]
        await ed.press("d")
        await ed.until(lambda: isinstance(ed.app.screen, CompareScreen) and ed.shows("block"))
        await ed.press("3")
        await ed.until(lambda: ed.shows("the default, with no config"))
        await ed.press("Z")
        assert not ed.shows("+ ▾ author-input")
        await ed.press("escape")
        await asked(ed)
        await ed.press("escape", "tab")
        await ed.until(lambda: ed.focus == "back")
        await ed.press("enter")
        await ed.until(lambda: "Author Direction" not in view.text and "Compiled prompt" in ed.lines()[0])
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, DeskScreen))
        assert ed.lines()[0] == tokens and ed.session.author_input == "" and stored(data) == before


async def test_a_fragment(editor: Open, data: Path) -> None:
    async with editor(size=(80, 24)) as ed:
        await ed.desk.open_story("the-quay", "main", "character-chat.chat")
        await ed.listed()
        view = await reading(ed)
        assert "character" not in [block.id for block in view.blocks]
        await asked(ed)
        await ed.pilot.click("#target")
        await ed.until(lambda: isinstance(ed.app.screen, SubjectDialog))
        await ed.type("ines")
        await ed.press("enter", "enter")
        await ed.until(lambda: isinstance(ed.app.screen, PreviewDialog) and ed.shows("About: ch-bafego Ines"))
        await ed.pilot.click("#done")
        await ed.until(lambda: "character" in [block.id for block in view.blocks])
        assert "ch-bafego" in ed.lines()[0]
        await ed.press("d")
        await ed.until(lambda: isinstance(ed.app.screen, CompareScreen) and ed.shows("Nothing changes"))
        await ed.press("escape", "w")
        await ed.until(lambda: view.pointing and ed.shows("Why ·"))
        await ed.press("w")
        await asked(ed)
        await ed.pilot.click("#target")
        await ed.until(lambda: isinstance(ed.app.screen, SubjectDialog))
        await ed.pilot.click("#none")
        await ed.until(lambda: ed.shows("About no fragment"))
        await ed.press("ctrl+s")
        await ed.until(lambda: "character" not in [block.id for block in view.blocks])


async def test_a_branch_has_its_own_config(editor: Open, data: Path) -> None:
    file = config_file(data / "stories/the-quay", branch="stormy")
    file.write_text(json.dumps({"customBlocks": [custom_block("cb-waves", "High waves.")]}), "utf-8")
    async with editor() as ed:
        view = await reading(ed)
        await asked(ed)
        await ed.pilot.click("#branch")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("down", "enter")
        await ed.until(lambda: ed.shows("Branch: stormy"))
        await ed.press("ctrl+s")
        await ed.until(lambda: "High waves." in view.text)
        assert "Preview of another branch › Stormy" in ed.lines()[0]
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, DeskScreen))
        assert ed.session.branch == "main" and "cb-waves" not in ed.listed_names()
