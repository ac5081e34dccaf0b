"""Generating: begin, stop, and what becomes of a passage."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engine.errors import StonehandError
from engine.hooks import Hooks
from engine.models.wire.base import Failure, Text
from engine.workspace.passages import Passages
from engine.workspace.wires import Wires
from tests.engine.runs.scripted import Scripted, says
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.keymap import Keymap
from tui.screens.choice import ChoiceDialog
from tui.screens.passage import PassageScreen
from tui.screens.pick import PickDialog
from tui.widgets.bars import KeyBar
from tui.widgets.stream_view import StreamView
from tui.widgets.text_editor import TextEditor


def branch(ed: Editor) -> Path:
    return ed.workspace.data / "stories/the-quay/branches/main"


def files(ed: Editor) -> dict[str, bytes]:
    return {str(path.relative_to(branch(ed))): path.read_bytes() for path in branch(ed).rglob("*") if path.is_file()}


async def generating(ed: Editor) -> StreamView:
    await ed.press("g")
    await ed.until(lambda: isinstance(ed.app.screen, PassageScreen) and ed.app.screen.query("#passage"), "the screen")
    return ed.app.screen.query_one("#passage", StreamView)


async def begun(ed: Editor, key: str = "ctrl+g") -> None:
    await ed.press(key)
    await ed.until(lambda: screen(ed)._run is not None, "a run")


async def finished(ed: Editor) -> None:
    await ed.until(lambda: not screen(ed).running and screen(ed)._timer is None, "the end of the passage")


def screen(ed: Editor) -> PassageScreen:
    front = ed.app.screen
    assert isinstance(front, PassageScreen)
    return front


async def test_keep(editor: Open) -> None:
    async with editor() as ed:
        before = files(ed)
        view = await generating(ed)
        assert ed.focus == "direction" and ed.shows("rehearsal (not a model)")
        await ed.type("Let it rain.")
        await begun(ed)
        assert ed.focus == "passage"
        await finished(ed)
        text = view.text
        assert text.strip() and ed.shows("keep it, discard it, or begin again")
        assert files(ed) == before, "nothing is saved before it is kept"
        await ed.press("ctrl+s")
        await ed.until(lambda: ed.said.startswith("kept as pr-"))
        fragment_id = ed.said.split(";")[0].removeprefix("kept as ")
        fragment = json.loads((branch(ed) / "fragments" / f"{fragment_id}.json").read_text("utf-8"))
        assert fragment["content"] == text and fragment["meta"]["generatedFrom"] == "Let it rain."
        chain = json.loads((branch(ed) / "prose-chain.json").read_text("utf-8"))
        assert chain["entries"][-1]["active"] == fragment_id
        logs = list((branch(ed) / "generation-logs").glob("gen-*.json"))
        assert [json.loads(log.read_text("utf-8"))["fragmentId"] for log in logs] == [fragment_id]
        await ed.press("ctrl+s")
        assert ed.said == "there is no passage to keep"
        assert len(list((branch(ed) / "generation-logs").glob("gen-*.json"))) == 1
        direction = screen(ed).query_one("#direction", TextEditor)
        await ed.until(lambda: ed.focus == "direction" and direction.value == "", "the next direction")
        await ed.type("x")
        assert direction.value == "x"
        await ed.press("backspace", "escape")
        await ed.until(lambda: ed.app.screen is ed.desk, "the main screen, unasked")
        await ed.listed()
        await ed.until(lambda: ed.session.row("cb-counta").content == "Sections so far: 3", "the story as it is now")


async def test_what_was_kept_is_taken_back_and_kept_after_all(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with editor((80, 24)) as ed:
        chain_file = branch(ed) / "prose-chain.json"
        before = json.loads(chain_file.read_text("utf-8"))
        view = await generating(ed)
        await ed.press("f8")
        assert ed.said == "nothing was kept here that could be taken back"
        direction = screen(ed).query_one("#direction", TextEditor)
        await ed.type("Let it rain.")
        await begun(ed)
        await finished(ed)
        await ed.press("u")
        assert ed.said == "the passage is not kept: ctrl+s keeps it, ctrl+d discards it"
        text = view.text
        await ed.press("ctrl+s")
        await ed.until(lambda: "; f8 takes it back" in ed.said and direction.value == "" and ed.focus == "direction")
        ed.app.screen.query_one(KeyBar).say("")
        await ed.until(lambda: "f8 unkeep" in ed.lines()[-1])
        kept = json.loads(chain_file.read_text("utf-8"))["entries"][-1]["active"]
        fragment = branch(ed) / "fragments" / f"{kept}.json"
        await ed.press("f8")
        await ed.until(lambda: ed.said.startswith("out of the story again"))
        assert json.loads(chain_file.read_text("utf-8")) == before
        document = json.loads(fragment.read_text("utf-8"))
        assert document["archived"] and document["content"] == text
        assert view.text == text and direction.value == "Let it rain." and ed.focus == "passage"
        await ed.until(lambda: ed.shows("keep it, discard it, or begin again"))
        with monkeypatch.context() as patch:
            patch.setattr(Passages, "keep", refused)
            await ed.press("ctrl+s")
            await ed.until(lambda: any("no room" in toast for toast in ed.toasts))
        await ed.press("ctrl+s")
        await ed.until(lambda: "; f8 takes it back" in ed.said)
        assert json.loads(chain_file.read_text("utf-8"))["entries"][-1]["active"] == kept
        assert not json.loads(fragment.read_text("utf-8"))["archived"]
        await ed.until(lambda: ed.focus == "direction")
        with monkeypatch.context() as patch:
            patch.setattr(Passages, "take_back", refused)
            await ed.press("f8")
            await ed.until(lambda: sum("no room" in toast for toast in ed.toasts) == 2)
        await ed.press("f8")
        await ed.until(lambda: ed.said.startswith("out of the story again"))
        await ed.press("ctrl+d", "f8")
        assert ed.said == "nothing was kept here that could be taken back"


def refused(*_: object, **__: object) -> None:
    raise StonehandError("no room")


async def test_stop_and_again(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with editor() as ed:
        monkeypatch.setattr("engine.workspace.wires.WORDS_PER_SECOND", 40.0)
        view = await generating(ed)
        await begun(ed, "f5")
        await ed.until(lambda: view.text.strip())
        await ed.press("ctrl+s")
        assert "still writing" in ed.said
        await ed.press("ctrl+g")
        assert "still writing" in ed.said
        await ed.press("ctrl+x")
        await finished(ed)
        assert ed.shows("stopped")
        first = screen(ed)._run
        assert first is not None and view.text == first.view().text
        await begun(ed)
        await ed.until(lambda: screen(ed)._run is not first, "another run")
        await ed.until(lambda: view.text.strip())
        await ed.press("ctrl+x")
        await finished(ed)
        await ed.press("ctrl+d")
        assert view.text == "" and ed.focus == "direction"


async def test_what_is_written_is_stopped_under_a_dialog(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with editor(keymap=Keymap({"stop": "f6"})) as ed:
        monkeypatch.setattr("engine.workspace.wires.WORDS_PER_SECOND", 40.0)
        view = await generating(ed)
        front = screen(ed)
        await begun(ed)
        await ed.until(lambda: view.text.strip())
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog), "whether to stay")
        await ed.press("ctrl+x")
        assert front.running, "the key in force is another"
        await ed.press("f6")
        await ed.until(lambda: not front.running)
        assert isinstance(ed.app.screen, ChoiceDialog), "the dialog stays"
        await ed.press("f6", "escape")
        await finished(ed)
        assert ed.shows("stopped")


async def test_discard(editor: Open) -> None:
    async with editor() as ed:
        before = files(ed)
        await generating(ed)
        await begun(ed)
        await finished(ed)
        await ed.press("ctrl+d")
        assert ed.app.screen.query_one("#passage", StreamView).text == ""
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        assert files(ed) == before


async def test_keys_of_a_text_stay_with_the_direction(editor: Open) -> None:
    async with editor() as ed:
        view = await generating(ed)
        await ed.type("Let it rain.")
        await begun(ed)
        await finished(ed)
        await ed.press("tab" if ed.focus != "passage" else "shift+tab")
        assert ed.focus == "direction"
        await ed.press("home", "ctrl+d", "shift+right", "ctrl+x")
        assert screen(ed).query_one("#direction").value == "t it rain."  # type: ignore[attr-defined]
        assert view.text.strip(), "the passage is still there"


async def test_find_in_the_direction(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        await generating(ed)
        direction = ed.app.screen.query_one("#direction", TextEditor)
        await ed.type("The gale, then the gale again.")
        await ed.press("ctrl+f")
        await ed.type("gale")
        await ed.until(lambda: ed.shows("of 2"))
        await ed.press("tab")
        await ed.type("calm")
        await ed.press("f8", "escape")
        assert direction.value == "The calm, then the calm again." and direction.has_focus


@pytest.mark.parametrize("leave", ["escape", "ctrl+q"])
async def test_leaving_with_a_passage_asks(editor: Open, leave: str) -> None:
    async with editor() as ed:
        before = files(ed)
        view = await generating(ed)
        await begun(ed)
        await finished(ed)
        await ed.press(leave)
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        assert ed.shows("The passage is not kept yet")
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        assert view.text.strip() and files(ed) == before
        await ed.press(leave)
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("k")
        if leave == "escape":
            await ed.until(lambda: ed.app.screen is ed.desk)
        else:
            await ed.until(lambda: ed.app._exit)
        assert len(files(ed)) == len(before) + 2, "a fragment and a log"


async def test_escape_while_writing_stops_nothing(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with editor() as ed:
        monkeypatch.setattr("engine.workspace.wires.WORDS_PER_SECOND", 30.0)
        view = await generating(ed)
        await ed.type("Let it rain.")
        await begun(ed)
        await ed.until(lambda: view.text.strip())
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        assert ed.shows("Still writing")
        await ed.press("enter")  # alt+enter over a slow link is an escape and an enter
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        assert screen(ed).running or (screen(ed)._run and screen(ed)._run.view().phase == "done")
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        assert ed.shows("stop and keep what is there")
        await ed.press("k")
        await ed.until(lambda: ed.app.screen is ed.desk)
        (told,) = ed.toasts
        assert told.startswith("kept as pr-") and told.endswith(", on the branch Main")
        await generating(ed)
        assert screen(ed).query_one("#direction", TextEditor).value == "", "another direction for the next one"


async def test_a_log_can_be_replayed(editor: Open) -> None:
    async with editor() as ed:
        view = await generating(ed)
        await begun(ed)
        await finished(ed)
        text = view.text
        await ed.press("ctrl+s")
        await ed.until(lambda: ed.said.startswith("kept as"))
        await ed.press("ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        assert ed.shows("rehearsal")
        written = datetime.now().astimezone()
        assert ed.shows(f"replay of {written:%Y-%m-%d} ")
        await ed.press("down", "enter")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        await ed.until(lambda: "replay:gen-" in ed.lines()[0])
        first = screen(ed)._run
        await begun(ed)
        await ed.until(lambda: screen(ed)._run is not first)
        await finished(ed)
        assert view.text == text
        await ed.press("ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))


async def test_the_direction_is_remembered_and_shown(editor: Open) -> None:
    async with editor() as ed:
        await generating(ed)
        await ed.type("Let it rain.")
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.until(lambda: "author-input" in ed.listed_names(), "the block of the direction")
        await generating(ed)
        assert screen(ed).query_one("#direction").value == "Let it rain."  # type: ignore[attr-defined]


async def test_an_empty_passage_is_not_kept(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    class SilentWire:
        name = "replay:silent"

        async def stream(self, request: object):  # type: ignore[no-untyped-def]
            return
            yield

    monkeypatch.setattr(Wires, "of", lambda *_, **__: SilentWire())
    async with editor() as ed:
        before = files(ed)
        await generating(ed)
        await begun(ed)
        await finished(ed)
        await ed.press("ctrl+s")
        assert ed.said == "there is no passage to keep"
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        assert files(ed) == before


async def test_a_failure_is_told_and_saves_nothing(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    class FailingWire:
        name = "replay:failing"
        calls = 0

        async def stream(self, request: object):  # type: ignore[no-untyped-def]
            FailingWire.calls += 1
            if FailingWire.calls > 1:
                await asyncio.sleep(60)
            yield Failure("network", "the line is [/] dead \x1b[31m")

    monkeypatch.setattr(Wires, "of", lambda *_, **__: FailingWire())
    async with editor() as ed:
        before = files(ed)
        await generating(ed)
        await begun(ed)
        await finished(ed)
        assert ed.said.startswith("the line is [/] dead")
        assert ed.shows("the line is [/] dead ␛[31m")
        await begun(ed)
        await ed.until(lambda: FailingWire.calls == 2, "another run")
        assert not ed.shows("the line is"), "what was said of the run before is gone"
        await ed.press("ctrl+x")
        await finished(ed)
        assert not ed.shows("the line is")
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        assert files(ed) == before


async def test_what_a_broken_passage_came_to_can_be_kept(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaking:
        name = "replay:breaking"

        async def stream(self, request: object):  # type: ignore[no-untyped-def]
            yield Text("The tide was")
            yield Failure("network", "the answer broke off")

    monkeypatch.setattr(Wires, "of", lambda *_, **__: Breaking())
    async with editor() as ed:
        await generating(ed)
        await begun(ed)
        await finished(ed)
        assert ed.said == "the answer broke off"
        await ed.press("escape")
        await ed.until(lambda: ed.shows("k keep"), "the question what becomes of it")
        await ed.press("escape", "ctrl+s")
        await ed.until(lambda: ed.said.startswith("kept as") and "as far as it goes" in ed.said)
        assert ed.workspace.passages.shown("the-quay", "main")[-1].content == "The tide was"


async def test_a_passage_that_can_not_be_written(editor: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StonehandError("the disk is full", repair="make room, then keep it again")

    async with editor() as ed:
        view = await generating(ed)
        await begun(ed)
        await finished(ed)
        with monkeypatch.context() as patch:
            patch.setattr(Passages, "keep", refuse)
            await ed.press("ctrl+s")
            await ed.until(lambda: any("the disk is full" in toast for toast in ed.toasts))
        assert view.text.strip()
        await ed.press("ctrl+s")
        await ed.until(lambda: ed.said.startswith("kept as"), "the second attempt")


async def test_a_direction_that_was_being_written_comes_back_in_another_session(editor: Open) -> None:
    async with editor() as ed:
        await generating(ed)
        await ed.type("Let the storm")
        kept = ed.workspace.passages
        await ed.until(lambda: kept.direction("the-quay", "main") == "Let the storm", "the direction on disk")
        folder = ed.workspace.data
    async with editor(folder=folder) as ed:
        await generating(ed)
        await ed.until(lambda: ed.shows("Let the storm"), "the direction of the last session")


async def test_what_a_hook_makes_of_a_passage_is_what_is_shown_and_kept(editor: Open) -> None:
    def broken(*_: object) -> Any:
        raise ValueError("no good")

    async with editor() as ed:
        ed.workspace.hooks.add(Hooks("short", after_generation=lambda passage, _: replace(passage, text="Two words.")))
        ed.workspace.hooks.add(Hooks("bad", after_generation=broken))
        view = await generating(ed)
        await begun(ed)
        await finished(ed)
        assert view.text == "Two words."
        assert "'bad'" in ed.said
        await ed.press("ctrl+s")
        await ed.until(lambda: ed.said.startswith("kept as pr-"))
        fragment_id = ed.said.split(";")[0].removeprefix("kept as ")
        fragment = json.loads((branch(ed) / "fragments" / f"{fragment_id}.json").read_text("utf-8"))
        assert fragment["content"] == "Two words."


async def test_what_is_no_passage_is_told_of_and_a_refusal_is_asked_about(
    editor: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Scripted(says("I can't.", reason="refusal"), says(" "))
    monkeypatch.setattr(Wires, "of", lambda *_, **__: wire)
    async with editor() as ed:
        before = set(files(ed))
        await generating(ed)
        await begun(ed)
        await finished(ed)
        await ed.press("ctrl+s")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog) and ed.shows("The model refused to answer"))
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        assert not [name for name in set(files(ed)) - before if name.startswith("fragments")]
        await ed.press("ctrl+s")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("k")
        await ed.until(lambda: ed.said.startswith("kept as pr-"))
        await begun(ed)
        await ed.until(lambda: ed.said.startswith("no text came"), "what became of it")
