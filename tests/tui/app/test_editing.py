"""What the keys of the main screen do to the blocks: on the screen, and in the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual import events

from tests.tui.conftest import SCRIPT, Open
from tests.tui.editor import Editor
from tui.app import StonehandApp
from tui.screens.choice import ChoiceDialog
from tui.screens.properties import PropertiesDialog
from tui.widgets.cells import short_count
from tui.widgets.inspector import GLANCE

DEFAULT_ORDER = [
    "instructions", "tools", "system-fragments", "cb-stylea",
    "story-info", "user-fragments", "fragment-recent", "fragment-catalog", "summary", "chapter-summaries",
    "prose-recent", "new-story", "writing-brief", "cb-counta", "author-input",
]  # fmt: skip


async def save(ed: Editor) -> None:
    await ed.press("ctrl+s")
    await ed.saved()


def keys_of(ed: Editor) -> list[str]:
    return [row.key for row in ed.blocks.rows]


async def test_what_is_open_can_be_seen(editor: Open) -> None:
    async with editor() as ed:
        assert ed.blocks.key == "instructions"
        assert ed.focus == "blocks"
        assert ed.line_of("instructions").startswith("› ✓ instructions +app sys")
        assert ed.line_of("Section count").startswith("✓ Section count ◆ usr")
        assert ed.line_of("new-story").startswith("· new-story only until")
        await ed.until(lambda: ed.desk.tool_tokens and "writer · rehearsal" in ed.lines()[0], "the budget")
        total = sum(row.tokens or 0 for row in ed.blocks.rows) + ed.desk.tool_tokens
        assert "The Quay › Main" in ed.lines()[0] and f"~{short_count(total)}/1M" in ed.lines()[0]
        assert ed.shows("Writer · 15 blocks · 2 custom")


async def test_cursor(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("j", "j", "down")
        assert ed.blocks.key == "cb-stylea"
        await ed.press("j")
        assert ed.blocks.key == "story-info", "the heading of a role is stepped over"
        await ed.press("k", "up")
        assert ed.blocks.key == "system-fragments"
        await ed.press("end")
        assert ed.blocks.key == "author-input"
        await ed.press("j")
        assert ed.blocks.key == "author-input"
        await ed.press("home", "k")
        assert ed.blocks.key == "instructions"
        await ed.until(lambda: ed.inspector.row and ed.inspector.row.key == "instructions")
        assert ed.session.document.undo_label is None


@pytest.mark.parametrize(("down", "up"), [("J", "K"), ("alt+down", "alt+up")])
async def test_move(editor: Open, down: str, up: str) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("story-info")
        await ed.press(down)
        assert keys_of(ed)[4:6] == ["user-fragments", "story-info"]
        assert ed.blocks.key == "story-info", "the cursor goes along"
        await save(ed)
        moved = [*DEFAULT_ORDER[:4], "user-fragments", "story-info", *DEFAULT_ORDER[6:]]
        order = ed.config()["blockOrder"]
        assert [key for key in order if key in moved] == moved, "the whole order, conditional blocks included"
        assert set(order) == set(moved), "with what there is in the story's other mode"
        await ed.press(up)
        assert keys_of(ed) == DEFAULT_ORDER
        await ed.press(up)
        assert keys_of(ed) == DEFAULT_ORDER, "a move stays inside its role"
        await ed.press("u", "u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_carry_and_drop(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("story-info")
        await ed.press("m", "j", "j", "j")
        assert "≡" in ed.line_of("story-info")
        assert keys_of(ed)[4:8] == ["user-fragments", "fragment-recent", "fragment-catalog", "story-info"]
        assert ed.session.document.undo_label is None, "nothing is edited before it is dropped"
        await ed.press("k", "enter")
        assert keys_of(ed)[4:8] == ["user-fragments", "fragment-recent", "story-info", "fragment-catalog"]
        assert "≡" not in ed.grid()
        await save(ed)
        assert ed.config()["blockOrder"][4:8] == keys_of(ed)[4:8]
        await ed.press("u")
        await save(ed)
        assert ed.file().read_bytes() == before, "one step, however far it was carried"


async def test_carry_and_put_back(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.press("m", "J", "J", "escape")
        assert keys_of(ed) == DEFAULT_ORDER
        assert ed.desk.carry is None and ed.blocks.carry is None
        assert ed.blocks.key == "story-info"
        assert ed.session.document.undo_label is None
        await ed.press("m", "j", "m")
        assert keys_of(ed)[4:6] == ["user-fragments", "story-info"], "m drops too"


async def test_toggle(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("story-info")
        await ed.press("space")
        assert "✗ story-info off usr –" in ed.line_of("story-info")
        assert keys_of(ed) == DEFAULT_ORDER, "it stays in its place"
        await ed.until(lambda: ed.shows("off: it is not sent; space"))
        await save(ed)
        assert ed.config()["overrides"]["story-info"] == {"enabled": False}
        await ed.press("space")
        await save(ed)
        assert "story-info" not in ed.config()["overrides"]
        await ed.press("u", "u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_content_modes(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.until(lambda: ed.shows("Your text: none."))
        default = ed.inspector.row.default if ed.inspector.row else None
        assert default
        await ed.press("b")
        await ed.until(lambda: ed.inspector.typing, "the focus in the text")
        await ed.until(lambda: ed.shows("your text, before the default") and ed.shows("[before]"))
        await ed.type("Low water at six.")
        await ed.press("escape")
        assert ed.focus == "blocks"
        await save(ed)
        wanted = {"contentMode": "prepend", "customContent": "Low water at six."}
        assert ed.config()["overrides"]["story-info"] == wanted
        assert "+pre" in ed.line_of("story-info")
        await ed.press("f", "escape")
        await save(ed)
        assert ed.config()["overrides"]["story-info"]["contentMode"] == "append"
        assert "+app" in ed.line_of("story-info")
        await ed.press("o", "escape")
        await save(ed)
        assert ed.config()["overrides"]["story-info"]["customContent"] == "Low water at six.", "it is kept"
        assert "ovr" in ed.line_of("story-info")
        await ed.press("n")
        await save(ed)
        assert ed.config()["overrides"]["story-info"] == {"contentMode": None, "customContent": "Low water at six."}
        await ed.until(lambda: ed.shows("Your text is kept but not used"))
        assert ed.focus == "blocks"


async def test_override_begins_with_the_default(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("story-info")
        row = ed.inspector.row
        assert row is not None and row.default
        await ed.press("o")
        await ed.until(lambda: ed.inspector.typing)
        assert ed.text.value == row.default
        await ed.press("escape")
        await save(ed)
        assert ed.config()["overrides"]["story-info"] == {"contentMode": "override", "customContent": row.default}
        await ed.press("n")
        await save(ed)
        assert "story-info" not in ed.config()["overrides"], "a text that is still the default is dropped"
        await ed.press("u", "u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_modes_are_for_built_in_blocks(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("b")
        assert "built-in" in ed.said
        assert ed.session.document.undo_label is None
        assert ed.focus == "blocks"


async def test_enter_on_a_block_without_a_text_of_ones_own(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        await ed.goto("story-info")
        await ed.press("enter")
        assert ed.focus == "mode", "the content modes are where to go on"
        assert "choose what your text does" in ed.said
        await ed.press("right")
        await ed.until(lambda: ed.inspector.row and ed.inspector.row.mode == "prepend")
        assert ed.focus == "mode", "the next mode can be chosen too"
        await ed.press("right")
        await ed.until(lambda: ed.inspector.row and ed.inspector.row.mode == "append")
        await ed.press("enter")
        await ed.until(lambda: ed.inspector.typing)
        await ed.type("x")
        await ed.press("escape")
        await save(ed)
        assert ed.config()["overrides"]["story-info"] == {"contentMode": "append", "customContent": "x"}


async def test_edit_a_text(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("enter")
        assert ed.focus == "text"
        await ed.press("ctrl+end")
        await ed.type(" jkJKuXq/")
        assert ed.text.value == "Short sentences. jkJKuXq/", "letters are text here"
        await ed.press("escape")
        assert ed.focus == "blocks"
        await ed.saved()
        assert ed.custom("House style")["content"] == "Short sentences. jkJKuXq/"
        tokens = next(row.tokens for row in ed.blocks.rows if row.key == "cb-stylea")
        assert str(tokens) in ed.line_of("House style")


async def test_saved_after_a_pause_without_leaving_the_text(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e", "X")
        await ed.until(lambda: ed.custom("House style")["content"] == "XShort sentences.", "the save by itself")
        assert ed.focus == "text"


async def test_leaving_the_text_by_tab_saves(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e", "X", "shift+tab")
        await ed.saved()
        assert ed.custom("House style")["content"] == "XShort sentences."


async def test_add_a_text_block(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("story-info")
        await ed.press("a")
        assert isinstance(ed.app.screen, PropertiesDialog)
        await ed.type("  The  tides ")
        await ed.press("enter")
        await ed.until(lambda: ed.inspector.typing, "the new block's text")
        await ed.type("High water at noon.")
        await ed.press("escape")
        await save(ed)
        block = ed.custom("The tides")
        assert (block["role"], block["type"], block["content"]) == ("user", "simple", "High water at noon.")
        assert keys_of(ed)[4:6] == ["story-info", block["id"]], "behind the block the cursor was on"
        assert ed.config()["blockOrder"][4:6] == ["story-info", block["id"]]
        assert "◇" in ed.line_of("The tides")
        assert ed.blocks.key == block["id"]
        for _ in range(5):
            await ed.press("u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_add_a_script_block_elsewhere(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.press("a")
        await ed.type("Mood")
        await ed.press("tab", "left", "tab", "right", "enter")
        await ed.until(lambda: ed.inspector.typing)
        await ed.type("return 'grey'")
        await ed.press("escape")
        await save(ed)
        block = ed.custom("Mood")
        assert (block["role"], block["type"], block["content"]) == ("system", "script", "return 'grey'")
        await ed.listed()
        row = next(row for row in ed.blocks.rows if row.name == "Mood")
        assert row.content == "grey" and row.role == "system"
        assert keys_of(ed)[4] == row.key, "last in its role, for the cursor was in the other"


async def test_add_asks_for_a_name(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("a", "enter")
        assert isinstance(ed.app.screen, PropertiesDialog)
        assert ed.shows("a block needs a name")
        await ed.press("escape")
        assert ed.session.document.undo_label is None


async def test_duplicate(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("cb-counta")
        await ed.press("D")
        await save(ed)
        assert not ed.inspector.typing, "the next key is another command, not a letter of the copy"
        copy = ed.custom("Section count copy")
        assert (copy["type"], copy["content"]) == ("script", SCRIPT)
        at = keys_of(ed).index("cb-counta")
        assert keys_of(ed)[at + 1] == copy["id"] == ed.blocks.key
        await ed.press("u")
        assert ed.blocks.key == "cb-counta", "back on the block that was duplicated"
        await save(ed)
        assert ed.file().read_bytes() == before
        await ed.press("X", "u")
        assert ed.blocks.key == "cb-counta", "on the block that came back"


async def test_an_action_that_fails_is_told_of_and_the_editor_goes_on(
    editor: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: list[Exception]
) -> None:
    def fails(_: object) -> None:
        raise ModuleNotFoundError("No module named 'tui.gone'")

    monkeypatch.setattr(StonehandApp, "action_keys", fails)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("space", "question_mark")
        assert any("No module named 'tui.gone'" in told and "crash.log" in told for told in ed.toasts)
        assert "Traceback" in next((tmp_path / "state").rglob("crash.log")).read_text()
        await ed.press("j")
        assert ed.blocks.key != "cb-stylea"
        assert ed.session.document.undo_label is not None
    assert len(faults) == 1
    faults.clear()


async def test_duplicate_of_a_built_in_block_is_its_text(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("instructions")
        content = ed.blocks.current.content if ed.blocks.current else ""
        await ed.press("D", "escape")
        await save(ed)
        assert ed.custom("instructions copy")["content"] == content
        assert content and content.endswith("Keep the tide tables right.")


async def test_properties(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("cb-stylea")
        await ed.press("r")
        assert ed.field("#name") == "House style" and ed.field("#order") == "400"
        await ed.press("end")
        await ed.type(" II")
        await ed.press("tab", "right", "tab", "right", "tab", "end", *["backspace"] * 3)
        await ed.type("12.5")
        await ed.press("enter")
        await save(ed)
        block = ed.custom("House style II")
        assert (block["role"], block["type"], block["order"]) == ("user", "script", 12.5)
        assert ed.blocks.key == "cb-stylea", "the cursor follows into the other role"
        assert ed.line_of("House style II").split()[-3] != "sys"
        await ed.press("u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_properties_refuse_what_is_no_number(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("f2", "tab", "tab", "tab")
        await ed.type("x")
        await ed.press("enter")
        assert ed.shows("must be a number")
        await ed.press("escape")
        await ed.goto("story-info")
        await ed.press("r")
        assert ed.shows("A built-in block"), "which has only its order pinned"
        await ed.press("escape")
        assert ed.session.document.undo_label is None


async def test_delete(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("cb-counta")
        await ed.press("X")
        assert "cb-counta" not in keys_of(ed)
        assert ed.blocks.key == "author-input", "the block that took its place"
        assert ed.focus == "blocks"
        assert "undo brings it back" in ed.said
        await save(ed)
        assert [block["id"] for block in ed.config()["customBlocks"]] == ["cb-stylea"]
        await ed.press("u")
        await save(ed)
        assert ed.file().read_bytes() == before
        await ed.goto("story-info")
        await ed.press("delete")
        assert "built-in" in ed.said and keys_of(ed) == DEFAULT_ORDER


async def test_reset_a_block(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("R")
        assert isinstance(ed.app.screen, ChoiceDialog)
        assert ed.shows("this block (instructions)")
        await ed.press("escape")
        assert ed.session.document.undo_label is None
        await ed.press("R", "b")
        assert "+app" not in ed.line_of("instructions")
        await save(ed)
        assert ed.config()["overrides"] == {}
        assert len(ed.config()["customBlocks"]) == 2


async def test_reset_the_agent(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.press("R", "a")
        await save(ed)
        assert (ed.config()["overrides"], ed.config()["customBlocks"]) == ({}, [])
        assert ed.shows("Writer · 13 blocks")
        await ed.press("u")
        await save(ed)
        assert ed.file().read_bytes() == before
        assert ed.shows("2 custom")


async def test_undo_and_redo_over_all_of_it(editor: Open) -> None:
    async with editor() as ed:
        first = ed.file().read_bytes()
        await ed.goto("story-info")
        await ed.press("space", "J", "b", "h", "i", "escape")
        await ed.goto("cb-stylea")
        await ed.press("e", "Z", "escape", "D", "escape", "X", "R", "b")
        await save(ed)
        last = ed.file().read_bytes()
        assert last != first
        steps = 0
        while ed.session.document.undo_label is not None:
            await ed.press("u" if steps % 2 else "ctrl+z")
            steps += 1
        assert steps >= 7
        await save(ed)
        assert ed.file().read_bytes() == first
        assert keys_of(ed) == DEFAULT_ORDER
        await ed.press("u")
        assert ed.said == "nothing to undo"
        for step in range(steps):
            await ed.press("ctrl+r" if step % 2 else "ctrl+y")
        await save(ed)
        assert ed.file().read_bytes() == last
        await ed.press("ctrl+r")
        assert ed.said == "nothing to redo"


async def test_undo_inside_a_text_is_the_texts_own(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e", "A", "ctrl+z")
        assert ed.text.value == "Short sentences."
        assert ed.focus == "text"
        await ed.press("escape")
        await save(ed)
        assert ed.custom("House style")["content"] == "Short sentences."


async def test_undo_shows_the_text_it_brought_back(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e", "A", "B", "escape", "u")
        await ed.until(lambda: ed.text.value == "Short sentences.")
        await ed.press("ctrl+r")
        await ed.until(lambda: ed.text.value == "ABShort sentences.")


async def test_filter(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("slash")
        await ed.type("story")
        shown = [row for y in range(ed.blocks.size.height) if (row := ed.blocks.row_at(y))]
        assert [row.key for row in shown][:1] == ["story-info"] and len(shown) < 6
        assert all("story" in f"{row.name} {row.note}" for row in shown)
        assert ed.blocks.key == "story-info"
        await ed.press("enter")
        assert ed.focus == "blocks" and ed.blocks.filter == "story"
        await ed.press("space")
        assert "✗ story-info" in ed.line_of("story-info")
        await ed.press("escape")
        assert ed.blocks.filter == "" and ed.blocks.key == "story-info"
        assert len([line for line in ed.list_lines() if line]) == 17
        await ed.press("slash")
        await ed.type("zzz")
        assert ed.shows("nothing matches")
        await ed.press("escape")
        assert ed.focus == "blocks" and ed.field("#filter") == ""


async def test_a_filter_does_not_hide_what_is_added(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("slash")
        await ed.type("story")
        await ed.press("enter", "a")
        await ed.type("Tides")
        await ed.press("enter")
        await ed.until(lambda: ed.inspector.typing)
        assert ed.blocks.current is not None and ed.blocks.current.name == "Tides"
        assert ed.blocks.filter == "" and ed.field("#filter") == ""


async def test_escape_in_the_text_leaves_the_filter_alone(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("slash")
        await ed.type("House")
        await ed.press("enter", "e", "Q", "escape")
        assert ed.focus == "blocks" and ed.blocks.filter == "House"


async def test_copy(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await ed.press("y")
        assert ed.app.clipboard == SCRIPT and "copied" in ed.said
        await ed.goto("instructions")
        await ed.press("y")
        assert ed.app.clipboard.endswith("\nKeep the tide tables right.")
        await ed.goto("new-story")
        await ed.press("y")
        assert "no text to copy" in ed.said
        assert ed.app.clipboard.endswith("\nKeep the tide tables right.")


async def test_fragments_beside_a_script(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await ed.press("e", "f3")
        await ed.until(lambda: ed.shows("ch-bafego") and ed.shows("Ines"), "the fragments")
        await ed.type("ines")
        await ed.until(lambda: not ed.shows("kn-mirafa"))
        await ed.press("enter", "enter")
        await ed.until(lambda: ed.inspector.typing, "the text again")
        assert ed.text.value == f"ch-bafego{SCRIPT}"
        await ed.press("f3")
        assert not ed.shows("kn-mirafa")
        await ed.press("escape")
        await ed.goto("instructions")
        await ed.press("f3")
        await ed.until(lambda: ed.shows("ch-bafego"))
        await ed.press("enter", "enter")
        await ed.until(lambda: "<@" in ed.text.value)
        assert ed.text.value.startswith("<@"), "in a text, a tag"
        await ed.press("escape")
        await ed.goto("story-info")
        await ed.press("f3")
        assert "beside a text of yours" in ed.said


async def test_panes_by_key(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("1")
        assert ed.focus == "agents"
        await ed.press("tab")
        assert ed.focus == "blocks"
        await ed.press("3")
        assert ed.focus == "text"
        await ed.press("escape", "2")
        assert ed.focus == "blocks"
        await ed.press("shift+tab")
        assert ed.focus == "agents"
        await ed.press("escape")
        assert ed.focus == "blocks"
        await ed.press("tab")
        assert ed.focus in ("text", "mode")
        await ed.press("shift+tab", "shift+tab", "shift+tab")
        assert ed.focus == "blocks"


async def test_escape_never_discards(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e")
        await ed.type("kept ")
        await ed.press("escape", "escape", "escape")
        await ed.press("escape", "up", "escape", "up")  # alt+up as some terminals send it
        await save(ed)
        assert ed.custom("House style")["content"] == "kept Short sentences."
        assert ed.app.is_running


async def test_what_is_typed_is_taken_before_anything_is_shown_or_saved(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e")
        ed.text.insert("A")  # no message of it has arrived anywhere yet
        ed.desk.show_rows()
        assert ed.text.value == "AShort sentences." == ed.session.text("cb-stylea")
        ed.text.insert("B")
        ed.app.flush()
        assert ed.custom("House style")["content"] == "ABShort sentences."
        ed.text.insert("C")
        ed.desk.action_undo()
        assert ed.session.text("cb-stylea") != "ABCShort sentences."
        assert ed.text.value == ed.session.text("cb-stylea")


async def test_two_blocks_of_one_id_have_each_its_own_text(editor: Open, data: Path) -> None:
    file = data / "stories/the-quay/branches/main/agent-blocks/generation.writer.json"
    config = json.loads(file.read_text("utf-8"))
    config["customBlocks"].append({**config["customBlocks"][0], "name": "Twin", "content": "The second."})
    file.write_text(json.dumps(config), "utf-8")
    async with editor() as ed:
        await ed.goto("cb-stylea#2")
        assert ed.text.value == "The second."
        await ed.press("e", "X", "escape")
        await save(ed)
        assert [block["content"] for block in ed.config()["customBlocks"]][::2] == ["Short sentences.", "XThe second."]


async def test_a_paste_into_a_field_keeps_every_line(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("a")
        ed.app.post_message(events.Paste("Tide\r\n  tables\nof 1911\n"))
        await ed.until(lambda: ed.field("#name") == "Tide tables of 1911")


async def test_the_beginning_of_a_text_is_shown_first(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.screens.desk.STAY_PAUSE", 60)
    async with editor() as ed:
        await ed.goto("cb-stylea")
        parts = ed.inspector.parts
        await ed.until(lambda: parts.text.glance is not None)
        assert "".join(parts.text.render_line(GLANCE).text.split()) == "", "the rest is not drawn yet"
        await ed.press("e")
        assert parts.text.glance is None, "who goes there sees all of it"
        await ed.press("escape", "k")
        await ed.until(lambda: parts.default.glance is not None)
        parts.default.go_to_row(0)
        assert parts.default.glance is not None
        ed.desk._stay()
        assert parts.default.glance is None
