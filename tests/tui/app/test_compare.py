"""The effect of edits: what the compiled prompt says now against an earlier one, the default, another branch."""

from __future__ import annotations

import json
from pathlib import Path

from engine.runs import Run
from tests.stories import config_file, custom_block, make_story
from tests.tui.conftest import Open
from tests.tui.editor import Editor, control_characters
from tui import language
from tui.screens.compare import CompareScreen
from tui.screens.pick import PickDialog
from tui.screens.prompt import PromptScreen
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.compare_view import CompareView


async def comparing(ed: Editor, key: str = "d") -> CompareView:
    await ed.press(key)
    await ed.until(lambda: isinstance(ed.app.screen, CompareScreen), "the comparison")
    await compared(ed)
    return ed.app.screen.query_one(CompareView)


async def compared(ed: Editor) -> None:
    await ed.until(lambda: not ed.shows("comparing …"), "the outcome")
    await ed.pilot.pause()


def view_lines(ed: Editor) -> list[str]:
    return [line.strip() for line in ed.lines()[3:-1] if line.strip()]


async def test_nothing_changes(editor: Open) -> None:
    async with editor() as ed:
        await comparing(ed)
        assert ed.app.screen.query_one("#against", ChoiceBar).value == "default"
        await ed.press("1")
        await ed.until(lambda: ed.shows("Nothing changes."))
        assert ed.shows("as the config was when this session began")
        assert "blocks as they were" in view_lines(ed)[0]
        await ed.press("y")
        assert ed.said == "there is no difference to copy"
        await ed.press("escape")
        assert ed.focus == "blocks"


async def test_edits_are_shown_by_block_and_word(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e")
        await ed.type("Very ")
        await ed.press("escape")
        await ed.goto("story-info")
        await ed.press("space")
        view = await comparing(ed)
        assert ed.app.screen.query_one("#against", ChoiceBar).value == "opened"
        assert ed.shows("2 blocks change")
        lines = view_lines(ed)
        assert any(line.startswith("~ ▾ House style") for line in lines)
        assert "− Short sentences." in lines and "+ Very Short sentences." in lines
        assert any(line.startswith("− ▾ story-info") for line in lines)
        row = next(y for y in range(view.size.height) if "Very Short" in view.render_line(y).text)
        marked = [
            segment.text
            for segment in view.render_line(row)
            if segment.style is not None and segment.style.bold and segment.style.underline
        ]
        assert "".join(marked).strip() == "Very"
        await ed.press("y")
        assert ed.app.clipboard.splitlines()[1:3] == ["    - Short sentences.", "    + Very Short sentences."]
        await ed.press("n", "n")
        assert ed.said == "change 2 of 2"
        await ed.press("n")
        assert ed.said == "change 1 of 2"
        await ed.press("N")
        assert ed.said == "change 2 of 2" and view.current is not None and view.current.key == "story-info"
        await ed.press("e")
        await ed.until(lambda: ed.blocks.key == "story-info" and ed.focus == "blocks", "the block in the list")


async def test_folding_with_keys_and_mouse(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.press("space")
        view = await comparing(ed)
        before = view_lines(ed)
        await ed.press("J")
        assert view.current is not None and view.current.key == "story-info"
        await ed.press("enter")
        assert any(line.startswith("− ▸ story-info") for line in view_lines(ed))
        await ed.press("z")
        assert view_lines(ed) == before
        row = next(y for y in range(view.size.height) if "as they were" in view.render_line(y).text)
        await ed.pilot.click(CompareView, offset=(10, row))
        assert len(view_lines(ed)) > len(before) and any("House style" in line for line in view_lines(ed))
        await ed.pilot.click(CompareView, offset=(10, row))
        assert view_lines(ed) == before
        await ed.press("Z")
        assert any("House style" in line for line in view_lines(ed))
        await ed.press("Z")
        assert view_lines(ed) == before


async def test_every_reference_by_key_and_mouse(editor: Open, data: Path) -> None:
    file = config_file(data / "stories/the-quay", branch="stormy")
    file.write_text(json.dumps({"customBlocks": [custom_block("cb-waves", "High waves.")]}), "utf-8")
    async with editor() as ed:
        await comparing(ed)
        await ed.press("3")
        await compared(ed)
        assert ed.shows("the default, with no config") and ed.shows("3 blocks change")
        await ed.press("2")
        await ed.until(lambda: ed.shows("Nothing changes. Against: as the config is in its file."))
        await ed.press("4")
        await ed.until(lambda: ed.shows("was sent nothing on branch main yet"))
        await ed.press("5")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("enter")
        await ed.until(lambda: ed.shows("branch stormy"))
        assert ed.shows("cb-waves") and ed.shows("High waves.")
        await ed.pilot.click("#against", offset=(22, 0))
        await ed.until(lambda: ed.shows("in its file"))
        await ed.press("3", "escape")
        await ed.until(lambda: not isinstance(ed.app.screen, CompareScreen))
        await comparing(ed)
        assert ed.app.screen.query_one("#against", ChoiceBar).value == "default"


async def test_against_what_was_sent(editor: Open) -> None:
    async with editor() as ed:
        prompt = ed.workspace.prompt("the-quay")
        run = Run(prompt, ed.workspace.wires.of(prompt, words_per_second=0))
        ed.workspace.generate(run).result(10)
        ed.workspace.passages.keep(run)
        await ed.goto("tools")
        await ed.press("space")
        await comparing(ed)
        await ed.press("4")
        await ed.until(lambda: ed.shows("as it was sent last, 20"))
        lines = view_lines(ed)
        assert any(line.startswith("− ▾ tools") for line in lines)
        assert any(line.startswith("~ ▾ prose-recent") for line in lines)


async def test_from_the_compiled_prompt_and_back(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("p")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen) and ed.shows("tokens"))
        await comparing(ed)
        await ed.press("3", "n", "e")
        await ed.until(lambda: ed.focus == "blocks" and ed.blocks.key == "instructions", "the block in the list")


async def test_ten_thousand_lines_of_any_text_at_any_size(editor: Open, tmp_path: Path) -> None:
    text = "".join(f"第{n}行 的灯 \x1b]0;title\x07 {'word ' * (n % 30)}\n" for n in range(10_000))
    configs = {"generation.writer": {"customBlocks": [custom_block("cb-large", text, name="大块")]}}
    make_story(tmp_path / "large", configs=configs)
    async with editor(folder=tmp_path / "large", size=(80, 24)) as ed:
        view = await comparing(ed)
        await ed.press("end")
        assert ed.shows("第9999行") and not control_characters(ed.lines())
        await ed.pilot.resize_terminal(30, 8)
        await ed.press("home", "n")
        assert ed.said.startswith("change 1 of")
        await ed.pilot.resize_terminal(1, 1)
        await ed.pilot.resize_terminal(200, 60)
        await ed.press("space")
        assert view.scroll_offset.y > 0 and not control_characters(ed.lines())


async def test_in_chinese(editor: Open) -> None:
    language.use("zh")
    try:
        async with editor() as ed:
            await ed.press("d")
            await ed.until(lambda: ed.shows("个块有变化"))
            assert ed.shows("会话开始")
    finally:
        language.use("en")
