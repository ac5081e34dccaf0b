"""The compiled prompt: exactly what is sent."""

from __future__ import annotations

import asyncio

from engine.blocks import ContextBlock
from engine.hooks import HookContext, Hooks
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.jump import JumpDialog
from tui.screens.prompt import PromptScreen
from tui.widgets.cells import short_count
from tui.widgets.prompt_view import PromptView


async def reading(ed: Editor) -> PromptView:
    await ed.press("p")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen), "the prompt")
    view = ed.app.screen.query_one(PromptView)
    await ed.until(lambda: view.blocks)
    return view


async def test_it_is_the_text_of_the_messages(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.press("J", "o")
        await ed.until(lambda: ed.inspector.typing)
        await ed.type("Nine boats. ")
        await ed.press("escape")
        view = await reading(ed)
        prompt = ed.workspace.prompt("the-quay")
        assert view.text == "\n\n".join(message.content for message in prompt.messages)
        assert [block.id for block in view.blocks] == [block.id for block in prompt.blocks]
        assert [block.tokens for block in view.blocks] == [block.tokens for block in prompt.blocks]
        assert "Nine boats. " in view.text
        total = prompt.tokens.total + ed.workspace.generation.tool_tokens(prompt)
        assert f"rehearsal   ~{short_count(total)}/1M ▓░░░░ 0%" in ed.lines()[0]
        await ed.press("escape")
        assert ed.focus == "blocks"
        assert ed.listed_names() == [block.name for block in prompt.blocks]


async def test_search(editor: Open) -> None:
    async with editor(size=(100, 20)) as ed:
        view = await reading(ed)
        await ed.press("slash")
        await ed.type("INES")
        count = view.text.casefold().count("ines")
        assert ed.said == f"{count} matches"
        await ed.press("enter")
        assert ed.focus == "prompt" and ed.said == f"match 1 of {count}"
        await ed.press("n")
        assert ed.said == f"match 2 of {count}"
        await ed.press("N", "N")
        assert ed.said == f"match {count} of {count}"
        await ed.press("slash")
        await ed.type("zzz")
        assert ed.said == "0 matches"
        await ed.press("escape")
        assert isinstance(ed.app.screen, PromptScreen) and view.match_count == 0
        await ed.press("q")
        await ed.until(lambda: not isinstance(ed.app.screen, PromptScreen))


async def test_blocks_jump_and_copy(editor: Open) -> None:
    async with editor(size=(100, 20)) as ed:
        view = await reading(ed)
        assert view.current_block and view.current_block.id == "instructions"
        await ed.press("J", "right_square_bracket")
        assert view.current_block.id == "cb-stylea"
        await ed.press("y")
        assert ed.app.clipboard == "Short sentences." and "House style" in ed.said
        await ed.press("K")
        assert view.current_block.id == "tools"
        await ed.press("b")
        await ed.type("section")
        await ed.press("enter")
        assert view.current_block.id == "cb-counta"
        await ed.press("y")
        assert ed.app.clipboard == "Sections so far: 2"
        await ed.press("Y")
        assert ed.app.clipboard == view.text
        await ed.press("b", "escape")
        assert isinstance(ed.app.screen, PromptScreen)


async def test_edit_goes_back_to_the_block(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("slash")
        await ed.type("instr")
        await ed.press("enter")
        view = await reading(ed)
        await ed.press("b")
        await ed.type("House")
        await ed.press("enter")
        assert view.current_block and view.current_block.id == "cb-stylea"
        await ed.press("e")
        await ed.until(lambda: ed.blocks.key == "cb-stylea", "the block, though a filter hid it")
        assert ed.focus == "blocks"
        await ed.press("e", "A")
        assert ed.text.value == "AShort sentences."


async def test_a_script_that_fails_is_told_of(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await ed.press("e")
        await ed.type("throw 1;")
        await ed.press("escape")
        view = await reading(ed)
        assert "Section count" in ed.said
        assert "[Script error in" in view.text


async def test_the_prompt_is_as_hooks_make_it_and_blocks_of_one_id_can_be_listed(editor: Open) -> None:
    async def twice(blocks: list[ContextBlock], _where: HookContext) -> list[ContextBlock]:
        await asyncio.sleep(0)
        more = ContextBlock("more", "user", "From a plugin.", 9000, "plugin")
        return [*blocks, more, more]

    async with editor() as ed:
        ed.workspace.hooks.add(Hooks("plugin", before_blocks=twice))
        ed.desk.show_rows()
        await ed.until(lambda: ed.desk.session is not None and not ed.desk.session.waiting, "the hooks taken in")
        view = await reading(ed)
        assert view.text.count("From a plugin.") == 2
        await ed.press("b")
        await ed.until(lambda: isinstance(ed.app.screen, JumpDialog), "the list of blocks")
        await ed.type("more")
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen), "the prompt")
