"""What can go wrong below the editor: it says so, keeps the edit, and goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message

from engine import disk
from engine.document import SaveState
from engine.document import journal as journal_module
from engine.scripts import ScriptEngine
from engine.workspace import Workspace
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui import language
from tui.app import StonehandApp
from tui.faults import AT_MOST
from tui.screens.choice import ChoiceDialog
from tui.screens.desk import DeskScreen
from tui.widgets.block_list import BlockList

as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere"
)


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


async def edit(ed: Editor, word: str) -> None:
    """Type a word in front of the text of House style, and leave it."""
    await ed.goto("cb-stylea")
    await ed.press("e")
    await ed.until(lambda: ed.inspector.typing)
    await ed.press("ctrl+home")
    await ed.type(word)
    await ed.press("escape")
    await ed.until(lambda: ed.focus == "blocks")
    assert ed.session.text("cb-stylea").startswith(word)


async def alive(ed: Editor) -> None:
    """The editor still does what its keys say."""
    await ed.goto("story-info")
    await ed.press("space")
    await ed.until(lambda: "✗ story-info" in ed.line_of("story-info"))
    await ed.press("u")
    await ed.until(lambda: "✓ story-info" in ed.line_of("story-info"))


@pytest.mark.parametrize("step", ["_write", "_sync", "_replace"])
async def test_a_full_disk_at_each_step_of_a_save(editor: Open, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr("tui.saver.RETRY_PAUSE", 0.1)
    async with editor() as ed:
        before = ed.file().read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(disk, step, full)
            await edit(ed, "Kept ")
            await ed.press("ctrl+s")
            await ed.until(lambda: any("no space left" in toast for toast in ed.toasts), "the reason")
            assert ed.file().read_bytes() == before and ed.session.document.state is SaveState.UNSAVED
            assert not [file for file in ed.file().parent.iterdir() if ".tmp-" in file.name], "nothing half is left"
            assert ed.shows("unsaved")
            await alive(ed)
        await ed.saved()
        assert ed.custom("House style")["content"] == "Kept Short sentences."


async def test_a_full_disk_under_the_journal_is_shown_until_it_is_over(
    editor: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.saver.SAVE_PAUSE", 600)
    async with editor() as ed:
        with monkeypatch.context() as patch:
            patch.setattr(journal_module, "_write", full)
            await ed.goto("prose-recent")
            await ed.press("space")
            ed.workspace.journal.flush()
            ed.desk.show_state()
            await ed.until(lambda: ed.shows("unsaved edits can't be journalled"))
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.config()["overrides"]["prose-recent"] == {"enabled": False}
        await alive(ed)
        ed.workspace.journal.flush()
        ed.desk.show_state()
        await ed.until(lambda: not ed.shows("can't be journalled"))


async def test_a_state_folder_that_was_never_writable(editor: Open, data: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the place of the folder")
    async with editor() as ed:
        await edit(ed, "Kept ")
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.custom("House style")["content"] == "Kept Short sentences."
        await alive(ed)
        await ed.press("g")
        await ed.until(lambda: ed.app.screen is not ed.desk)
        await ed.type("She waits.")
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("keep it, discard it"), "the passage")
        await ed.press("ctrl+s")
        await ed.until(lambda: ed.shows("kept as"), "that it is kept")


@as_root
@pytest.mark.parametrize("what", ["the file", "its folder"])
async def test_what_may_not_be_written(editor: Open, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr("tui.saver.RETRY_PAUSE", 0.1)
    async with editor() as ed:
        place = ed.file() if what == "the file" else ed.file().parent
        mode = place.stat().st_mode
        place.chmod(0o555 if what == "its folder" else 0o444)
        try:
            await edit(ed, "Kept ")
            await ed.press("ctrl+s")
            if what == "its folder":
                await ed.until(lambda: any("permission denied" in toast for toast in ed.toasts))
                assert ed.session.document.state is SaveState.UNSAVED
            await alive(ed)
        finally:
            place.chmod(mode)
        await ed.saved()
        assert ed.custom("House style")["content"] == "Kept Short sentences."


async def test_a_folder_that_refuses_every_new_file(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a read-only one does, for the superuser too."""
    monkeypatch.setattr("tui.saver.RETRY_PAUSE", 0.1)
    real: Callable[..., int] = os.open

    def refused(path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        if ".tmp-" in str(path):
            raise OSError(30, "Read-only file system")
        return real(path, flags, *arguments, **named)

    async with editor() as ed:
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refused)
            await edit(ed, "Kept ")
            await ed.press("ctrl+s")
            await ed.until(lambda: any("read-only file system" in toast for toast in ed.toasts))
            assert ed.session.document.state is SaveState.UNSAVED
            await ed.press("q")
            await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
            assert ed.shows("leave now; your edits come back next time")
            await ed.press("escape")
            await alive(ed)
        await ed.saved()
        assert ed.custom("House style")["content"] == "Kept Short sentences."


async def test_a_story_that_is_renamed_under_the_editor_and_put_back(
    editor: Open, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.saver.RETRY_PAUSE", 0.1)
    monkeypatch.setattr("engine.workspace.watching.LOOKED_EVERY", 0.1)
    story, away = data / "stories/the-quay", data / "elsewhere"
    async with editor(watch=True) as ed:
        await ed.until(lambda: ed.workspace.story("the-quay")._watched, "the watch")
        story.rename(away)
        await ed.until(lambda: ed.shows("is gone. Put it back"), "the banner")
        assert "House style" in ed.listed_names(), "what was there is still to be seen"
        await ed.goto("story-info")
        await ed.press("space", "ctrl+s")
        await ed.until(lambda: ed.session.document.state is not SaveState.SAVED)
        assert not story.exists(), "nothing of it is made anew"
        away.rename(story)
        await ed.saved()
        found = ed.config()
        assert found["customBlocks"] and found["overrides"]["story-info"] == {"enabled": False}
        await ed.until(lambda: not ed.shows("is gone"))
        await alive_after(ed)


async def alive_after(ed: Editor) -> None:
    await ed.press("u")
    await ed.until(lambda: "✓ story-info" in ed.line_of("story-info"))


async def test_a_worker_that_fails_is_told_of_and_ends_nothing(
    editor: Open, monkeypatch: pytest.MonkeyPatch, faults: list[Exception]
) -> None:
    async def fails() -> None:
        raise ZeroDivisionError("a fault in the program")

    async def other_fails() -> None:
        raise ZeroDivisionError("a fault in the app's own")

    async with editor() as ed:
        ed.desk.begin(fails, "faulty")
        await ed.until(lambda: any("a fault in the program" in toast for toast in ed.toasts))
        ed.app.run_worker(other_fails(), exit_on_error=False)
        await ed.until(lambda: any("in the app's own" in toast for toast in ed.toasts))
        with monkeypatch.context() as patch:
            patch.setattr(ed.workspace, "base", lambda *_, **__: 1 / 0)
            await ed.press("1", "j", "enter")
            await ed.until(lambda: any("division by zero" in toast for toast in ed.toasts))
        await ed.press("1", "k", "enter", "2")
        await ed.until(lambda: ed.session.agent == "generation.writer")
        await ed.listed()
        await alive(ed)
    assert {type(error) for error in faults} == {ZeroDivisionError} and len(faults) == 3
    faults.clear()


class Poke(Message):
    """Anything that a widget can be sent."""


async def test_a_fault_is_told_of_wherever_it_is_and_ends_nothing(
    editor: Open, monkeypatch: pytest.MonkeyPatch, faults: list[Exception]
) -> None:
    def fails(where: str) -> Callable[..., Any]:
        def fail(*_: object) -> None:
            raise ZeroDivisionError(f"a fault in {where}")

        return fail

    async def worker() -> None:
        fails("a worker")()

    async with editor() as ed:
        await edit(ed, "Kept ")
        places: dict[str, Callable[[], object]] = {
            "a timer": lambda: ed.desk.set_timer(0.01, fails("a timer")),
            "a callback": lambda: ed.blocks.call_later(fails("a callback")),
            "what waits for a frame": lambda: ed.blocks.call_after_refresh(fails("what waits for a frame")),
            "what comes next": lambda: ed.app.call_next(fails("what comes next")),
            "a worker": lambda: ed.desk.run_worker(worker()),
            "a widget": lambda: ed.blocks.post_message(Poke()),
            "the screen": lambda: ed.desk.post_message(Poke()),
            "the app": lambda: ed.app.post_message(Poke()),
        }
        monkeypatch.setattr(BlockList, "on_poke", fails("a widget"), raising=False)
        monkeypatch.setattr(DeskScreen, "on_poke", fails("the screen"), raising=False)
        monkeypatch.setattr(StonehandApp, "on_poke", fails("the app"), raising=False)
        for place, fail in places.items():
            fail()
            await ed.until(lambda place=place: any(f"a fault in {place} — this is a bug" in said for said in ed.toasts))
        log = (ed.workspace.data.parent / "state" / "crash.log").read_text()
        assert all(f"ZeroDivisionError: a fault in {place}" in log for place in places)
        await alive(ed)
        await ed.saved()
        assert ed.custom("House style")["content"] == "Kept Short sentences."
        language.use("zh")
        try:
            ed.app.call_later(fails("another"))
            await ed.until(lambda: any("a fault in another —— 这是程序的缺陷；详情见" in said for said in ed.toasts))
        finally:
            language.use("en")
    assert len(faults) == len(places) + 1
    faults.clear()


async def test_what_fails_again_and_again_is_told_once_and_ends_the_editor_in_the_end(
    editor: Open, faults: list[Exception]
) -> None:
    times = 0

    def fail() -> None:
        nonlocal times
        times += 1
        ed.blocks.call_later(fail)
        raise ZeroDivisionError("a fault again")

    with pytest.raises(ZeroDivisionError, match="a fault again"):
        async with editor() as ed:
            await edit(ed, "Kept ")
            ed.blocks.call_later(fail)
            await ed.until(lambda: not ed.app.is_running or ed.app._exception, "the end")
    assert times >= AT_MOST
    assert [str(error) for error in faults] == ["a fault again"], "told once"
    faults.clear()
    async with editor() as ed:
        assert ed.session.text("cb-stylea") == "Kept Short sentences."


async def test_a_script_engine_that_fails_is_told_of(
    editor: Open, monkeypatch: pytest.MonkeyPatch, faults: list[Exception]
) -> None:
    def fails(*_: object) -> object:
        raise ZeroDivisionError("a fault in the script engine")

    async with editor() as ed:
        with monkeypatch.context() as patch:
            patch.setattr(ScriptEngine, "submit", fails)
            await ed.goto("cb-counta")
            await ed.press("e", "ctrl+end")
            await ed.type("  // more")
            await ed.until(lambda: any("script engine" in toast for toast in ed.toasts), "the failure")
            await ed.press("escape")
        await ed.saved()
        assert ed.custom("Section count")["content"].endswith("// more")
        await alive(ed)
    assert faults and all("script engine" in str(error) for error in faults)
    faults.clear()


async def test_that_changes_are_no_longer_told_of_is_said_and_they_are_seen_all_the_same(
    editor: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    import watchfiles

    real = watchfiles.awatch

    def refused(*folders: Any, **how: Any) -> Any:
        if not how.get("force_polling"):
            raise OSError(24, "Too many open files")
        return real(*folders, **how)

    monkeypatch.setattr("engine.workspace.watching.LOOKED_EVERY", 0.2)
    monkeypatch.setattr(watchfiles, "awatch", refused)
    async with editor(watch=True) as ed:
        await ed.until(lambda: any("no longer told of (Too many open files)" in toast for toast in ed.toasts))
        await ed.pilot.pause(1.5)
        config = ed.config()
        config["overrides"]["story-info"] = {"enabled": False}
        ed.file().write_text(json.dumps(config))
        await ed.until(lambda: "✗ story-info" in ed.line_of("story-info"), "the change")


async def test_a_save_that_ends_after_the_screen_is_no_fault(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.saver.SAVE_PAUSE", 600)
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.press("space")
        saver, session = ed.desk._saver, ed.session
    monkeypatch.setattr(Workspace, "save", lambda *_: None)
    with ed.app._context():
        await saver.now(session)
    assert saver._retry is None, "nothing is tried again"


async def test_a_direction_survives_a_crash(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("g")
        await ed.until(lambda: ed.app.screen is not ed.desk)
        await ed.type("She opens the door.")
        await ed.until(lambda: ed.workspace.passages.direction("the-quay", "main") == "She opens the door.")
    async with editor() as ed:
        await ed.press("g")
        await ed.until(lambda: ed.shows("She opens the door."), "what was typed")
