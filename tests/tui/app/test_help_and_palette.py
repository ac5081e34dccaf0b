"""Help, the command palette and other keys: all made from the registry."""

from __future__ import annotations

import asyncio

from textual.app import SystemCommand
from textual.command import CommandPalette

from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.actions import ACTIONS, key_name
from tui.app import Actions
from tui.keymap import Keymap
from tui.screens.help import HelpScreen
from tui.screens.passage import PassageScreen
from tui.screens.prompt import PromptScreen
from tui.widgets.stream_view import StreamView


def commands(ed: Editor) -> dict[str, SystemCommand]:
    return {command.title: command for command in ed.app.get_system_commands(ed.app.screen)}


async def help_of(ed: Editor) -> str:
    """What the help says, once it is laid out."""
    await ed.until(lambda: isinstance(ed.app.screen, HelpScreen) and ed.app.screen.query_one(StreamView).text)
    return ed.app.screen.query_one(StreamView).text


async def run(ed: Editor, title: str) -> None:
    result = commands(ed)[title].callback()
    if asyncio.iscoroutine(result):
        await result
    await ed.pilot.pause()


async def test_help_lists_every_key(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("question_mark")
        text = await help_of(ed)
        words = " ".join(text.split())
        for action in ACTIONS:
            assert action.title in words, action.id
            for key in action.keys:
                assert key_name(key) in words, (action.id, key)
        assert text.startswith("Block list")
        assert "Delete to the start of the word" in words, "the keys of the widgets"
        await ed.press("pagedown", "end")
        assert ed.shows("quit") and "mode-override" in words, "the names for keymap.toml"
        await ed.press("f1")
        assert ed.app.screen is ed.desk
        await ed.press("f1", "escape")
        assert ed.app.screen is ed.desk


async def test_help_is_narrowed_down(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("question_mark", "slash")
        await ed.type("undo ctrl")
        view = ed.app.screen.query_one(StreamView)
        await ed.until(lambda: "Block list" in view.text)
        found = [line.split() for line in view.text.splitlines() if line]
        assert found[:2] == [["Block", "list"], ["u", "ctrl+z", "Undo"]] and ["ctrl+z", "Undo"] in found[2:]
        assert "Redo" not in view.text.split() and len(found) < 12
        await ed.press("enter")
        assert ed.app.focused is view and "Undo" in view.text
        await ed.press("slash", "ctrl+u")
        await ed.type("no such thing")
        assert view.text == "nothing matches “no such thing”"
        await ed.press("escape")
        assert ed.app.focused is view and view.text.startswith("Block list")
        await ed.press("escape")
        assert ed.app.screen is ed.desk


async def test_help_shows_the_keys_in_force(editor: Open) -> None:
    async with editor(keymap=Keymap({"add": "f6", "find": "f10", "copy": "a", "duplicate": "enter"})) as ed:
        await ed.press("f1")
        lines = (await help_of(ed)).splitlines()
        assert "  f6              Add a block behind this one" in lines
        assert "  a               Copy the block's text" in lines


async def test_help_begins_with_the_screen_in_front(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("p")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen))
        await ed.press("question_mark")
        assert (await help_of(ed)).startswith("Compiled prompt")
        await ed.press("question_mark", "escape", "g")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        await ed.press("f1")
        assert (await help_of(ed)).startswith("Generate")


async def test_the_palette_has_every_action_of_the_screen(editor: Open) -> None:
    async with editor() as ed:
        wanted = {action.title for action in ACTIONS if action.place in ("app", "desk", "list")}
        assert wanted - {"Command palette"} <= set(commands(ed))
        titles = [command.title for command in ed.app.get_system_commands(ed.app.screen)]
        assert sorted(titles) == sorted(set(titles)), "no two are called the same"
        assert commands(ed)["Quit"].help == "q, ctrl+q" and commands(ed)["Help"].help == "?, f1"
        await ed.press("p")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen))
        assert {action.title for action in ACTIONS if action.place == "prompt"} <= set(commands(ed))
        assert "Delete the block" not in commands(ed)


async def test_the_palette_runs_them(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await run(ed, "Enable or disable the block")
        assert "✗ story-info" in ed.line_of("story-info")
        await run(ed, "Move the block down")
        assert [row.key for row in ed.blocks.rows][5] == "story-info"
        await run(ed, "Undo")
        await run(ed, "Undo")
        assert ed.session.document.undo_label is None
        await run(ed, "Content mode override: your text instead of the default")
        await ed.until(lambda: ed.inspector.typing)
        await run(ed, "Go to the agents")
        assert ed.focus == "agents"
        await run(ed, "Read the compiled prompt")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen))
        await run(ed, "Next block")
        await run(ed, "Help")
        assert isinstance(ed.app.screen, HelpScreen)


async def test_the_palette_by_keys(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("ctrl+p")
        assert isinstance(ed.app.screen, CommandPalette)
        hits = sorted([hit async for hit in Actions(ed.desk).search("undo")], key=lambda hit: -hit.score)
        assert len(hits) > 1 and hits[0].text == "Undo", "the best match is first"
        await ed.type("compiled prompt")
        await ed.until(lambda: ed.shows("Read the compiled prompt"))
        await ed.until(lambda: ed.app.screen.query_one("OptionList").option_count)  # type: ignore[attr-defined]
        await ed.press("down", "enter")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen), "what was chosen")


async def test_other_keys(editor: Open) -> None:
    keymap = Keymap({"cursor-down": "ctrl+n", "next-match": "ctrl+n", "help": "h", "fly": "z", "add": "p"})
    async with editor(keymap=keymap) as ed:
        assert len(ed.toasts) == 1, "one notice, however many problems"
        assert ed.toasts[0] == "there is no action fly (and 1 more: f1 lists them)"
        await ed.press("f1")
        assert (await help_of(ed)).startswith(
            "Settings and keys\n! there is no action fly\n! p is already the key of “Read the"
        )
        await ed.press("escape")
        await ed.press("ctrl+n")
        assert ed.blocks.key == "tools"
        await ed.press("j")
        assert ed.blocks.key == "tools", "the default key is free"
        assert "h help" in ed.lines()[-1]
        await ed.press("h")
        assert isinstance(ed.app.screen, HelpScreen)
        await ed.press("escape", "p")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen))
        await ed.press("slash")
        await ed.type("the")
        await ed.press("enter", "n")
        assert ed.said.startswith("match 1 of")
        await ed.press("ctrl+n")
        assert ed.said.startswith("match 2 of")


async def test_redraw_and_typing_it(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("ctrl+l")
        assert ed.app.screen is ed.desk
        await ed.goto("cb-stylea")
        await ed.press("e", "question_mark", "f1")
        assert isinstance(ed.app.screen, HelpScreen)
        await ed.press("escape")
        assert ed.text.value == "?Short sentences." and ed.inspector.typing
