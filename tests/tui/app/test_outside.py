"""Other programs change the files: nothing of theirs and nothing of ours is lost."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from engine import disk
from engine.document import SaveState
from engine.story import StoryFolder
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.choice import ChoiceDialog
from tui.screens.conflict import ConflictScreen
from tui.screens.passage import PassageScreen


def change(file: Path, edit: Callable[[dict[str, Any]], object]) -> bytes:
    """Change a config as another program does; returns what it wrote."""
    config = json.loads(file.read_text("utf-8"))
    edit(config)
    data = json.dumps(config, indent=1).encode()
    other = file.with_name("other-program.tmp")
    other.write_bytes(data)
    other.replace(file)
    return data


def disable(block: str) -> Callable[[dict[str, Any]], object]:
    return lambda config: config["overrides"].update({block: {"enabled": False}})


async def conflict(ed: Editor) -> bytes:
    """Our story-info is off and unsaved, the other program's prose-recent is off."""
    await ed.goto("story-info")
    data = change(ed.file(), disable("prose-recent"))
    await ed.press("space", "ctrl+s")
    await ed.until(lambda: ed.session.document.state is SaveState.CONFLICT, "the conflict")
    await ed.until(lambda: ed.shows("was changed by another program"))
    return data


async def choose(ed: Editor, key: str) -> None:
    await ed.press("exclamation_mark")
    await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
    await ed.press(key)
    await ed.until(lambda: not isinstance(ed.app.screen, ChoiceDialog))


async def test_a_change_outside_is_taken_in(editor: Open) -> None:
    async with editor(watch=True) as ed:
        await ed.goto("cb-stylea")
        await ed.press("space")
        await ed.saved()
        await ed.pilot.pause(0.5)  # the watch has to be in place
        change(ed.file(), disable("story-info"))
        await ed.until(lambda: "✗ story-info off" in ed.line_of("story-info"), "the change")
        assert ed.blocks.key == "cb-stylea" and ed.focus == "blocks"
        await ed.press("u", "ctrl+s")
        await ed.saved()
        overrides = ed.config()["overrides"]
        assert overrides["story-info"] == {"enabled": False}, "undo leaves what another program changed"
        assert "enabled" not in overrides.get("cb-stylea", {}), "and takes back the own edit below it"


async def test_a_story_that_grows_outside(editor: Open, data: Path) -> None:
    async with editor(watch=True) as ed:
        await ed.goto("cb-counta")
        await ed.until(lambda: ed.shows("Sections so far: 2"))
        await ed.pilot.pause(0.5)
        branch = data / "stories/the-quay/branches/main"
        section = json.loads((branch / "fragments/pr-aaaa01.json").read_text("utf-8")) | {"id": "pr-aaaa02"}
        (branch / "fragments/pr-aaaa02.json").write_text(json.dumps(section), "utf-8")
        chain = json.loads((branch / "prose-chain.json").read_text("utf-8"))
        chain["entries"].append({"proseFragments": ["pr-aaaa02"], "active": "pr-aaaa02"})
        (branch / "prose-chain.json").write_text(json.dumps(chain), "utf-8")
        await ed.until(lambda: ed.shows("Sections so far: 3"), "the preview of the new story")
        assert ed.blocks.key == "cb-counta"


async def test_conflict_mine(editor: Open) -> None:
    async with editor() as ed:
        data = await conflict(ed)
        assert ed.file().read_bytes() == data, "nothing is overwritten unasked"
        assert ed.shows("conflict")
        await choose(ed, "escape")
        assert ed.session.document.state is SaveState.CONFLICT
        await choose(ed, "m")
        await ed.saved()
        assert set(ed.config()["overrides"]) == {"instructions", "story-info"}
        assert not ed.shows("was changed by another program")


async def test_what_came_in_while_a_conflict_was_asked_about_is_not_decided_on(editor: Open) -> None:
    async with editor() as ed:
        await conflict(ed)
        for key in ("m", "t", "g", "b"):
            await ed.press("exclamation_mark")
            await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
            change(ed.file(), disable(f"cb-{key}"))
            ed.session.document.check_file()  # as the watcher does
            data = ed.file().read_bytes()
            await ed.press(key)
            await ed.until(lambda: ed.app.screen is ed.desk and ed.shows("changed once more"), key)
            assert ed.session.document.state is SaveState.CONFLICT and ed.file().read_bytes() == data


async def test_conflict_theirs(editor: Open) -> None:
    async with editor() as ed:
        data = await conflict(ed)
        await choose(ed, "t")
        await ed.saved()
        assert ed.file().read_bytes() == data
        assert "off" in ed.line_of("prose-recent") and "off" not in ed.line_of("story-info")
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert "story-info" in ed.config()["overrides"], "undo brings mine back"


async def test_conflict_merge(editor: Open) -> None:
    async with editor() as ed:
        await conflict(ed)
        await choose(ed, "g")
        await ed.saved()
        assert {"story-info", "prose-recent"} <= set(ed.config()["overrides"])
        assert "off" in ed.line_of("prose-recent") and "off" in ed.line_of("story-info")


async def by_block(ed: Editor) -> None:
    await ed.press("exclamation_mark")
    await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
    await ed.press("b")
    await ed.until(lambda: isinstance(ed.app.screen, ConflictScreen))
    await ed.pilot.pause()


async def two_texts(ed: Editor) -> None:
    """Mine and theirs differ in the text of House style, and each has switched off a block."""
    await ed.goto("cb-stylea")

    def theirs(config: dict[str, Any]) -> None:
        config["customBlocks"][0]["content"] = "Their sentences."
        disable("prose-recent")(config)

    change(ed.file(), theirs)
    ed.session.set_text("cb-stylea", "My own words.")
    await ed.goto("story-info")
    await ed.press("space", "ctrl+s")
    await ed.until(lambda: ed.session.document.state is SaveState.CONFLICT, "the conflict")


async def test_conflict_block_by_block(editor: Open) -> None:
    async with editor((80, 24)) as ed:
        await two_texts(ed)
        await by_block(ed)
        lines = {name: next(line for line in ed.lines() if name in line) for name in ("House style", "story-info")}
        assert "[mine]" in lines["House style"] and "theirs" in lines["House style"]
        assert "[mine]" in lines["story-info"] and ed.shows("you: changes the text of 'House style'")
        assert ed.shows("My own words.")
        await ed.press("space")
        await ed.until(lambda: ed.shows("Their sentences.") and not ed.shows("My own words."))
        await ed.press("j", "j")
        await ed.press("left")
        await ed.press("enter")
        await ed.saved()
        assert ed.custom("House style")["content"] == "Their sentences."
        overrides = ed.config()["overrides"]
        assert "prose-recent" in overrides and "story-info" not in overrides
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == "My own words.", "undo leads to the merge"
        assert {"story-info", "prose-recent"} <= set(ed.config()["overrides"])


async def test_a_version_in_a_conflict_is_taken_by_a_click_on_it(editor: Open) -> None:
    async with editor((80, 24)) as ed:
        await two_texts(ed)
        await by_block(ed)

        async def click(name: str, word: str) -> None:
            row = next(y for y, line in enumerate(ed.lines()) if name in line)
            await ed.pilot.click(offset=(ed.lines()[row].index(word) + 1, row))

        for _ in range(2):
            await click("House style", "theirs")
            await ed.until(lambda: ed.shows("Their sentences."), "what is taken stays so")
        await click("House style", "mine")
        await ed.until(lambda: ed.shows("My own words."))
        await click("House style", "House")
        await ed.until(lambda: ed.shows("Their sentences."), "beside the versions it is the next one")
        await click("prose-recent", "mine")
        await ed.pilot.click("#done")
        await ed.saved()
        assert ed.custom("House style")["content"] == "Their sentences."
        assert set(ed.config()["overrides"]) & {"prose-recent", "story-info"} == {"story-info"}


@pytest.mark.parametrize(("button", "mine"), [("all-mine", True), ("all-theirs", False)])
async def test_conflict_one_side_everywhere_by_mouse(editor: Open, button: str, mine: bool) -> None:
    async with editor() as ed:
        await two_texts(ed)
        await by_block(ed)
        await ed.pilot.click(f"#{button}")
        await ed.pilot.click("#done")
        await ed.saved()
        overrides = ed.config()["overrides"]
        assert ("story-info" in overrides, "prose-recent" in overrides) == (mine, not mine)
        assert ed.custom("House style")["content"] == ("My own words." if mine else "Their sentences.")


async def test_conflict_put_off_block_by_block(editor: Open) -> None:
    async with editor() as ed:
        await two_texts(ed)
        before = ed.file().read_bytes()
        await by_block(ed)
        await ed.press("space", "escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        assert ed.session.document.state is SaveState.CONFLICT and ed.file().read_bytes() == before
        assert ed.session.text("cb-stylea") == "My own words."
        await by_block(ed)
        change(ed.file(), disable("tools"))
        ed.session.document.check_file()
        await ed.press("enter")
        await ed.until(lambda: any("changed once more" in toast for toast in ed.toasts))
        assert ed.session.document.state is SaveState.CONFLICT and ed.session.text("cb-stylea") == "My own words."


async def test_leaving_with_a_conflict_asks(editor: Open) -> None:
    async with editor() as ed:
        data = await conflict(ed)
        await ed.press("ctrl+q")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("escape")
        await ed.until(lambda: not isinstance(ed.app.screen, ChoiceDialog))
        assert ed.app.is_running and ed.app._exit is False
        await ed.press("q")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("l")
        await ed.until(lambda: ed.app._exit)
        assert ed.file().read_bytes() == data
    async with editor() as ed:
        assert ed.session.document.state is SaveState.CONFLICT, "the edits are back"
        assert "off" in ed.line_of("story-info")
        await choose(ed, "g")
        await ed.saved()
        assert {"story-info", "prose-recent"} <= set(ed.config()["overrides"])


async def test_quitting_saves(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e", "Q", "ctrl+q")
        await ed.until(lambda: ed.app._exit)
        assert ed.custom("House style")["content"] == "QShort sentences."
        assert ed.app.return_code == 0


async def test_an_invalid_file_is_shown_and_left_alone(editor: Open, data: Path) -> None:
    file = data / "stories/the-quay/branches/main/agent-blocks/generation.writer.json"
    config = json.loads(file.read_text("utf-8"))
    config["customBlocks"][1]["role"] = "narrator"
    broken = json.dumps(config, indent=2).encode()
    file.write_bytes(broken)
    line = next(n for n, text in enumerate(broken.decode().splitlines(), 1) if "narrator" in text)
    async with editor() as ed:
        await ed.until(lambda: ed.shows(f"generation.writer.json:{line} customBlocks[1].role"))
        assert ed.shows("invalid")
        for key in ("space", "J", "b", "D"):
            await ed.press(key)
            assert "repair" in ed.said and str(data) not in ed.said, key
        await ed.press("ctrl+s")
        assert file.read_bytes() == broken
        fixed = json.dumps(config | {"customBlocks": config["customBlocks"][:1]}).encode()
        file.write_bytes(fixed)
        await ed.press("s")
        await ed.until(lambda: ed.shows("Story and branch"))
        await ed.press("enter")
        await ed.until(lambda: "House style" in ed.listed_names(), "the repaired file")
        await ed.until(lambda: not ed.shows("invalid"))
        await ed.press("space", "ctrl+s")
        await ed.saved()


async def test_keys_that_stand_twice_are_told_before_an_edit_drops_them(editor: Open, data: Path) -> None:
    file = data / "stories/the-quay/branches/main/agent-blocks/generation.writer.json"
    file.write_text('{"disableAutoAnalysis": true,\n"disableAutoAnalysis": false}', "utf-8")
    async with editor() as ed:
        told = "generation.writer.json:2 disableAutoAnalysis stands there more than once"
        await ed.until(lambda: ed.shows(told))
        await ed.press("space")
        await ed.saved()
        await ed.until(lambda: not ed.shows(told))


async def test_an_invalid_file_repaired_outside_is_taken_in(editor: Open, data: Path) -> None:
    file = data / "stories/the-quay/branches/main/agent-blocks/generation.writer.json"
    good = file.read_bytes()
    async with editor(watch=True) as ed:
        await ed.pilot.pause(0.5)
        file.write_bytes(good[:-20])
        await ed.until(lambda: ed.session.document.state is SaveState.INVALID)
        await ed.until(lambda: ed.shows("It is left as it is"))
        file.write_bytes(good)
        await ed.until(lambda: "House style" in ed.listed_names(), "the repaired file")
        assert not ed.shows("It is left as it is")
        assert file.read_bytes() == good


async def test_an_invalid_file_can_be_reset_and_is_kept(editor: Open, data: Path) -> None:
    file = data / "stories/the-quay/branches/main/agent-blocks/generation.writer.json"
    file.write_bytes(b'{"customBlocks": 7}')
    async with editor() as ed:
        await ed.press("R", "escape")
        assert file.read_bytes() == b'{"customBlocks": 7}'
        await ed.press("R", "r")
        await ed.saved()
        copies = list(file.parent.glob("generation.writer.json.invalid-*"))
        assert [copy.read_bytes() for copy in copies] == [b'{"customBlocks": 7}']
        assert ed.config()["customBlocks"] == [] and "kept as" in ed.said
        await ed.press("space", "ctrl+s")
        await ed.saved()
        assert ed.config()["overrides"] == {"instructions": {"enabled": False}}


async def test_a_corrupt_fragment_does_not_take_the_story_down(editor: Open, data: Path) -> None:
    (data / "stories/the-quay/branches/main/fragments/kn-mirafa.json").write_text("{", "utf-8")
    async with editor() as ed:
        assert "prose-recent" in ed.listed_names()
        await ed.press("p")
        await ed.until(lambda: "kn-mirafa.json" in ed.said, "the report")


async def test_edits_that_were_not_saved_come_back(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        monkeypatch.setattr("tui.saver.SAVE_PAUSE", 600)
        await ed.goto("cb-stylea")
        await ed.press("e")
        await ed.type("typed before the end ")
        ed.desk.collect()
        ed.workspace.journal.flush()
        assert ed.file().read_bytes() == before
        # As if killed: neither the saver nor the workspace gets to do anything more.
        monkeypatch.setattr("tui.saver.Saver.begin", lambda *_: None)
    async with editor() as ed:
        assert "edits of the last session" in ed.said
        await ed.goto("cb-stylea")
        assert ed.text.value == "typed before the end Short sentences."
        monkeypatch.undo()
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == "typed before the end Short sentences."
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.file().read_bytes() == before


async def test_two_editors_at_once(editor: Open) -> None:
    async with editor(watch=True) as one, editor(watch=True) as two:
        await one.pilot.pause(0.5)
        await one.goto("story-info")
        await one.press("space", "ctrl+s")
        await one.saved()
        await two.until(lambda: "✗ story-info" in two.line_of("story-info"), "the other's edit")
        await two.goto("prose-recent")
        await two.press("space", "ctrl+s")
        await two.saved()
        await one.until(lambda: "✗ prose-recent" in one.line_of("prose-recent"))
        assert {"story-info", "prose-recent"} <= set(one.config()["overrides"])
        assert one.config() == two.config()


def script_editor(folder: Path, text: str, code: int = 0) -> str:
    """An editor program that puts `text` in front of its file."""
    program = folder / "editor.sh"
    lines = [
        "#!/bin/sh",
        f'printf "%s" "{text}" > "$1.new"',
        'cat "$1" >> "$1.new"',
        'mv "$1.new" "$1"',
        f"exit {code}",
    ]
    program.write_text("\n".join(lines))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.fixture
def lent_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A headless app has no terminal to lend: run the program as if it had."""
    import contextlib

    monkeypatch.setattr(App, "suspend", lambda self: contextlib.nullcontext())


@pytest.mark.skipif(os.name == "nt", reason="the editor is a shell script")
async def test_external_editor(
    editor: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lent_terminal: None
) -> None:
    monkeypatch.setenv("EDITOR", script_editor(tmp_path, "From outside. "))
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("ctrl+e")
        await ed.until(lambda: ed.text.value == "From outside. Short sentences.")
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == "From outside. Short sentences."
        await ed.press("e", "A", "f4")
        await ed.until(lambda: ed.text.value == "From outside. AFrom outside. Short sentences.")
        await ed.press("escape")
        await ed.goto("story-info")
        await ed.press("ctrl+e")
        assert "choose a content mode first" in ed.said
        monkeypatch.setenv("EDITOR", script_editor(tmp_path, "lost? ", code=3))
        await ed.goto("cb-stylea")
        await ed.press("ctrl+e")
        await ed.until(lambda: any("ended with code 3" in toast for toast in ed.toasts))
        assert "lost?" not in ed.text.value
        monkeypatch.delenv("EDITOR")
        await ed.press("ctrl+e")
        await ed.until(lambda: any("no external editor is set" in toast for toast in ed.toasts))


@pytest.mark.skipif(os.name == "nt", reason="the editor is a shell script")
async def test_an_invalid_file_opens_in_the_external_editor(
    editor: Open, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lent_terminal: None
) -> None:
    file = data / "stories/the-quay/branches/main/agent-blocks/generation.writer.json"
    good = file.read_bytes()
    file.write_bytes(good[1:])
    monkeypatch.setenv("EDITOR", script_editor(tmp_path, "{"))
    async with editor() as ed:
        await ed.until(lambda: ed.shows("It is left as it is: ctrl+e opens it"))
        await ed.press("ctrl+e")
        await ed.until(lambda: "House style" in ed.listed_names())
        assert file.read_bytes() == good


async def test_typing_while_everything_else_happens(editor: Open, data: Path) -> None:
    text = "The tide tables were wrong by a day, and nobody at the quay said so. "
    async with editor(watch=True) as ed:
        await ed.goto("cb-counta")
        await ed.press("e", "ctrl+end", "enter")
        await ed.type("// ")
        fragment = data / "stories/the-quay/branches/main/fragments/kn-mirafa.json"
        for n, char in enumerate(text):
            await ed.type(char)
            if n % 9 == 0:
                fragment.write_text(fragment.read_text("utf-8").replace("Nine berths", f"Nine berths{n}"), "utf-8")
            if n % 23 == 0:
                ed.desk.action_save()
            if n % 31 == 0:
                ed.desk.show_rows()
        assert ed.inspector.typing, "the focus has stayed"
        assert ed.text.value.endswith("// " + text)
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.custom("Section count")["content"].endswith("// " + text)
        assert ed.inspector.typing


async def test_an_invalid_file_in_a_conflict_is_replaced_only_with_a_copy(editor: Open) -> None:
    async with editor() as ed:
        await conflict(ed)
        ed.file().write_bytes(b'{"a')
        ed.session.document.check_file()
        await ed.press("exclamation_mark")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        assert ed.shows("Made invalid by another program") and not ed.shows("theirs:") and not ed.shows("merge:")
        await ed.press("t", "g", "m")
        await ed.saved()
        assert set(ed.config()["overrides"]) == {"instructions", "story-info"}
        assert [copy.read_bytes() for copy in ed.file().parent.glob("*.invalid-*")] == [b'{"a']


async def test_a_deleted_file_is_called_deleted(editor: Open) -> None:
    async with editor() as ed:
        await conflict(ed)
        ed.file().unlink()
        await ed.until(lambda: ed.shows("was deleted by another program"), "the banner")
        await choose(ed, "m")
        await ed.saved()
        assert "story-info" in ed.config()["overrides"]


async def test_what_was_in_a_deleted_file_comes_back(editor: Open) -> None:
    async with editor(watch=True) as ed:
        before = ed.config()
        await ed.pilot.pause(0.5)  # the watch has to be in place
        ed.file().unlink()
        await ed.until(lambda: "was deleted by another program" in ed.said, "the message")
        assert ed.session.document.state is SaveState.SAVED and not ed.file().exists()
        await ed.press("u")
        await ed.saved()
        assert ed.config() == before


async def test_what_could_not_be_saved_is_saved_when_the_obstacle_is_gone(
    editor: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.saver.RETRY_PAUSE", 0.05)
    async with editor() as ed:
        await ed.goto("story-info")
        before = ed.file().read_bytes()

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(disk, "_write", full)
            await ed.press("space", "ctrl+s")
            await ed.until(lambda: ed.toasts, "the failure")
            await ed.pilot.pause(0.3)
            assert len(ed.toasts) == 1, "it is told once"
            assert ed.file().read_bytes() == before
            assert ed.session.document.state is SaveState.UNSAVED
        await ed.saved()
        assert "story-info" in ed.config()["overrides"]
        # A file that vanishes while there are unsaved edits, and comes back.
        saved = ed.file().read_bytes()
        ed.file().unlink()
        await ed.press("space", "ctrl+s")
        await ed.until(lambda: ed.session.document.state is SaveState.CONFLICT, "the conflict")
        ed.file().write_bytes(saved)
        await ed.saved()
        assert "story-info" not in ed.config()["overrides"]


@pytest.mark.parametrize("damage", ["invalid", "deleted"])
async def test_typing_on_does_not_become_commands_when_the_text_is_taken_away(editor: Open, damage: str) -> None:
    async with editor(watch=True) as ed:
        await ed.goto("cb-stylea")
        await ed.press("e")
        await ed.until(lambda: ed.inspector.typing)
        await ed.type("Once ")
        await ed.saved()
        await ed.pilot.pause(0.5)  # the watch has to be in place
        if damage == "invalid":
            ed.file().write_bytes(b'{"a')
        else:
            change(ed.file(), lambda config: config["customBlocks"].clear())
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog), "the message")
        await ed.until(lambda: ed.shows("can't be edited now"))
        await ed.type("a quiet R D")
        assert isinstance(ed.app.screen, ChoiceDialog)
        await ed.press("escape")
        await ed.until(lambda: not isinstance(ed.app.screen, ChoiceDialog))
        assert ed.focus == "blocks"


async def test_the_cursor_of_a_text_stays_beside_its_words(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e", "ctrl+end")
        await ed.type(" And then")
        await ed.press("escape")
        await ed.saved()
        await ed.press("u", "e")
        await ed.until(lambda: ed.inspector.typing)
        assert ed.text.text == "Short sentences."
        await ed.type("!")
        assert ed.text.text == "Short sentences.!", "behind what was taken back"
        await ed.press("escape")
        await ed.saved()
        change(ed.file(), lambda config: config["customBlocks"][0].update(content="Please: Short sentences.!"))
        ed.session.document.check_file()
        ed.desk.show_rows()
        await ed.press("e")
        await ed.until(lambda: ed.inspector.typing and ed.text.text.startswith("Please"))
        await ed.type("?")
        assert ed.text.text == "Please: Short sentences.!?"


def delete_branch(ed: Editor, branch: str) -> None:
    """Delete a branch as another program does."""
    folder = StoryFolder(ed.workspace.data / "stories" / ed.session.story)
    folder.delete_branch(branch)
    ed.workspace.story(ed.session.story).invalidate()
    ed.desk.post_message(ed.desk.StoryChanged(ed.session.story, frozenset()))


async def on_a_branch(ed: Editor) -> str:
    """The editor on a new branch, its writer's blocks listed."""
    branch = ed.workspace.story(ed.session.story).create_branch("Fork").id
    ed.desk.begin(lambda: ed.desk.open_story(ed.session.story, branch, "generation.writer"), "open", exclusive=True)
    await ed.until(lambda: ed.session.branch == branch)
    await ed.listed()
    return branch


async def test_a_deleted_branch_stays_on_the_screen_and_edits_can_be_taken_elsewhere(editor: Open) -> None:
    async with editor() as ed:
        branch = await on_a_branch(ed)
        await ed.goto("cb-stylea")
        delete_branch(ed, branch)
        await ed.until(lambda: ed.shows("was deleted. s goes to another one."), "the banner")
        assert ed.line_of("House style"), "what was there is still to be seen"
        await ed.press("e")
        await ed.until(lambda: ed.inspector.typing)
        await ed.type("Rescued. ")
        await ed.press("escape")
        await ed.until(lambda: ed.shows("Press ! for the edits that can't be saved there."), "that it can't be saved")
        assert not (ed.workspace.data / "stories/the-quay/branches" / branch).exists(), "nothing of it comes back"
        await ed.press("q")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.until(lambda: ed.shows(f"The branch {branch} was deleted"))
        await ed.press("w")
        await ed.until(lambda: ed.app._exit)
    (file,) = (ed.workspace.state / "rescued").iterdir()
    blocks = json.loads(file.read_bytes())["config"]["customBlocks"]
    assert blocks[0]["content"].startswith("Rescued. ")


async def test_a_passage_of_a_deleted_branch_is_written_to_a_file(editor: Open) -> None:
    async with editor() as ed:
        branch = await on_a_branch(ed)
        await ed.press("g")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("keep it, discard it"), "the passage")
        delete_branch(ed, branch)
        await ed.press("ctrl+s")
        await ed.until(lambda: any("The passage is written to" in toast for toast in ed.toasts), "where it is")
        (file,) = (ed.workspace.state / "rescued").iterdir()
        screen = ed.app.screen
        assert isinstance(screen, PassageScreen) and screen._run is not None
        assert file.read_text("utf-8") == screen._run.view().text != ""


async def test_a_broken_index_of_branches_is_told_and_edits_go_to_the_branch_shown(editor: Open, data: Path) -> None:
    index = data / "stories" / "the-quay" / "branches.json"
    index.write_text(index.read_text("utf-8").replace('"main",', '"main",,'), "utf-8")
    before = index.read_bytes()
    async with editor() as ed:
        await ed.until(lambda: any("branches.json:" in toast and "main is shown" in toast for toast in ed.toasts))
        await ed.goto("story-info")
        await ed.press("space")
        await ed.saved()
        assert ed.config(branch="main")["overrides"]["story-info"] == {"enabled": False}
    assert index.read_bytes() == before
