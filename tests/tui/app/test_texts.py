"""Writing in the inspector: what is on disk after keys, pastes, searches and the user's own editor."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual import events

from tests.tui.conftest import SCRIPT, Open
from tests.tui.editor import Editor
from tui.screens.passage import PassageScreen
from tui.widgets.text_editor import TextEditor

EXOTIC = "one\r\ntwo\u2028three\x0cfour\rfive\n\tsix\x85\x0b\x1c\u200d\u00ad\u00a0e\u0301👩\u200d👧\x1b[2J\ud800"


async def type_text(ed: Editor, text: str) -> None:
    names = {"<": "less_than_sign", "@": "at", ".": "full_stop", "(": "left_parenthesis", "'": "apostrophe"}
    await ed.press(*(names.get(char, char) for char in text))


async def test_a_pasted_text_is_on_disk_as_it_was(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("enter", "ctrl+end")
        ed.app.post_message(events.Paste(EXOTIC))
        await ed.until(lambda: ed.text.value.endswith(EXOTIC))
        await ed.press("home", "x", "escape")
        await ed.saved()
        stored = ed.custom("House style")["content"]
        assert stored == ed.text.value and stored.replace("x", "", 1) == f"Short sentences.{EXOTIC}"
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == "Short sentences."


async def test_two_megabytes_are_pasted_saved_and_taken_back(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("enter", "ctrl+end")
        pasted = "潮が満ちる。\r\n" * 80_000
        ed.app.post_message(events.Paste(pasted))
        await ed.until(lambda: ed.text.too_large)
        await ed.until(lambda: ed.shows("larger than 256 KB"), "the hint")
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == f"Short sentences.{pasted}"
        await ed.press("ctrl+z", "x", "ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == "Short sentences.x"


async def test_undo_inside_a_text_and_out_of_it(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("cb-stylea")
        await ed.press("enter", "a", "b", "escape")
        await ed.saved()
        await ed.press("enter", "ctrl+z", "ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == "Short sentences."
        await ed.press("ctrl+z")
        assert "nothing more to undo" in ed.said and ed.text.value == "Short sentences."
        await ed.press("ctrl+y", "escape")
        assert ed.text.value == "abShort sentences."
        while ed.session.document.undo_label is not None:
            await ed.press("u")
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.file().read_bytes() == before
        assert ed.text.value == "Short sentences."


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_find_and_replace(editor: Open, size: tuple[int, int]) -> None:
    async with editor(size=size) as ed:
        await ed.goto("cb-stylea")
        await ed.press("ctrl+f")
        await ed.until(lambda: ed.focus == "find-text")
        await ed.press("s")
        await ed.until(lambda: ed.shows("1 of 3"))
        await ed.press("down", "escape")
        assert ed.focus == "text" and ed.text.cursor_location == (0, 6)
        await ed.press("ctrl+f", "s", "tab", "z", "f8", "escape", "escape")
        await ed.saved()
        assert ed.custom("House style")["content"] == "zhort zentencez."
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == "Short sentences."
        await ed.press("ctrl+f", "h", "escape", "escape")
        await ed.press("home")
        await ed.press("j")
        assert ed.focus == "blocks"


async def test_find_ends_with_its_block(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("ctrl+f", "s")
        ed.desk.action_blocks()
        await ed.goto("cb-counta")
        assert not ed.inspector.parts.find.display
        await ed.goto("story-info")
        await ed.press("ctrl+f")
        assert "no text of yours" in ed.said and ed.focus == "blocks"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_is_offered_comes_from_the_story(editor: Open, size: tuple[int, int]) -> None:
    async with editor(size=size) as ed:
        await ed.goto("cb-stylea")
        await ed.press("enter", "ctrl+end")
        await ed.until(lambda: ed.text.completer is not None)
        first = ed.workspace.fragments(ed.session.story, ed.session.branch)[0]
        await type_text(ed, "<@" + first.id[:5])
        await ed.until(lambda: ed.text.completion is not None)
        await ed.press("tab", "escape")
        await ed.saved()
        assert ed.custom("House style")["content"] == f"Short sentences.<@{first.id}>"
        await ed.goto("cb-counta")
        await ed.press("enter", "ctrl+end", "enter")
        await type_text(ed, "ctx.authorIn")
        await ed.press("tab", "escape")
        await ed.saved()
        assert ed.custom("Section count")["content"] == f"{SCRIPT}\nctx.authorInput"


async def test_escape_closes_the_list_and_nothing_else(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("enter")
        await ed.until(lambda: ed.text.completer is not None)
        await type_text(ed, "<@")
        assert ed.text.completion is not None
        await ed.press("escape")
        assert ed.focus == "text" and ed.text.completion is None
        await ed.press("escape")
        assert ed.focus == "blocks"


async def test_copied_from_the_text(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("enter", "f7", "ctrl+c")
        assert ed.app.clipboard == "Short sentences." and "copied" in ed.said


def outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str) -> None:
    """Set an editor, a Python program, that needs no terminal."""
    program = tmp_path / "editor.py"
    program.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{body}")
    monkeypatch.setenv("VISUAL", f"'{sys.executable}' '{program}'")

    async def run(app: object, command: list[str]) -> int:
        from tui.external_editor import _call

        return _call(command)

    monkeypatch.setattr("tui.external_editor._run_suspended", run)


async def test_the_users_own_editor(editor: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outside(monkeypatch, tmp_path, "path.write_bytes(path.read_bytes() + 'é\\r\\n'.encode())")
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("enter", "x", "ctrl+e")
        await ed.until(lambda: ed.text.value == "xShort sentences.é")
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == "xShort sentences.é"
        await ed.press("escape", "u")
        assert ed.text.value == "xShort sentences."


async def test_an_editor_that_leaves_nothing(editor: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outside(monkeypatch, tmp_path, "path.write_bytes(b'')")
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("f4")
        await ed.until(lambda: "left the text empty" in ed.said)
        await ed.press("u")
        assert ed.session.text("cb-stylea") == "Short sentences."


async def test_a_block_that_is_gone_when_the_editor_is_left(
    editor: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outside(monkeypatch, tmp_path, "path.write_text('written outside')")
    async with editor() as ed:
        await ed.goto("cb-stylea")

        async def gone(*args: object) -> str:
            ed.session.delete("cb-stylea")
            return "written outside"

        monkeypatch.setattr("tui.external_editor.edit_text", gone)
        await ed.press("ctrl+e")
        await ed.until(lambda: any("the block is gone" in toast for toast in ed.toasts))
        toast = next(toast for toast in ed.toasts if "the block is gone" in toast)
        file = Path(toast.rpartition(" ")[2])
        assert file.read_text() == "written outside"
        file.unlink()


async def test_the_direction_in_the_users_own_editor(
    editor: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outside(monkeypatch, tmp_path, "path.write_text(path.read_text() + ' and the tide turns')")
    async with editor() as ed:
        await ed.press("g")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        await ed.type("She waits")
        direction = ed.app.screen.query_one("#direction", TextEditor)
        await ed.press("ctrl+e")
        await ed.until(lambda: direction.value == "She waits and the tide turns")
        await ed.press("ctrl+z")
        assert direction.value == "She waits"


@pytest.mark.parametrize("key", ["cb-stylea", "cb-counta"])
async def test_what_is_typed_behind_a_paste_that_is_too_large_is_no_command(editor: Open, key: str) -> None:
    async with editor() as ed:
        await ed.goto(key)
        await ed.press("e")
        pasted = "The tide turns. " * 150_000
        ed.app.post_message(events.Paste(pasted))
        await ed.until(lambda: ed.text.too_large)
        before = len(ed.session.rows), ed.blocks.key
        await ed.press("D", "X", "j", "space", "enter", "backspace", "1")
        await ed.until(lambda: "too large to be typed in" in ed.said)
        assert ed.inspector.typing and (len(ed.session.rows), ed.blocks.key) == before
        assert pasted in ed.text.value
        await ed.press("escape", "j")
        assert ed.focus == "blocks" and ed.blocks.key != key
        await ed.saved()
        assert pasted in ed.custom(ed.session.row(key).name)["content"]
