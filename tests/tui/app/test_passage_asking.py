"""The generate screen where author and agents ask each other: targets, briefs, questions, directions, changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.models.wire.base import Failure
from engine.runs import Answer
from engine.tools import Question
from engine.tools.collected import Option
from engine.tools.offering import CORE
from engine.workspace.generation import Generation
from engine.workspace.wires import Wires
from tests.engine.runs.scripted import Scripted, calls, says
from tests.tui.app.providers import write_providers
from tests.tui.app.test_passage_screen import finished, generating, screen
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.keymap import Keymap
from tui.screens.choice import ChoiceDialog
from tui.screens.directions import DirectionsDialog
from tui.screens.passage import PassageScreen
from tui.screens.plan import PlanDialog
from tui.screens.question import QuestionDialog
from tui.screens.target import TargetDialog
from tui.widgets.text_editor import TextEditor

WRITER, PLANNER, DIRECTIONS = "generation.writer", "generation.prewriter", "directions.suggest"
QUESTIONS = {
    "questions": [
        {"question": "Who sees it?", "header": "Witness", "options": [{"label": "Ines"}, {"label": "Nobody"}]},
        {"question": "Which [/] omens?", "header": "Omens", "multiSelect": True,
         "options": [{"label": "gulls"}, {"label": "fog"}]},
        {"question": "How does it end?", "header": "End"},
    ]
}  # fmt: skip


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[dict[str, Scripted]], None]:
    """A provider is set up; each agent's is a script."""
    write_providers(tmp_path / "config")

    def use(wires: dict[str, Scripted]) -> None:
        monkeypatch.setattr(Wires, "of", lambda _self, prompt, *_given, **_named: wires[prompt.agent])

    return use


@pytest.fixture
def planned(data: Path) -> Path:
    """The story plans its passages, and its prewriter may ask."""
    file = data / "stories/the-quay/meta.json"
    document = json.loads(file.read_bytes())
    document["settings"] = {**document["settings"], "generationMode": "prewriter", "clarifyBeforeGenerate": True}
    file.write_text(json.dumps(document), "utf-8")
    return data


async def fronted(ed: Editor, kind: type[Any]) -> Any:
    await ed.until(lambda: isinstance(ed.app.screen, kind) and ed.app.screen.is_mounted, kind.__name__)
    await ed.pilot.pause()  # until it is drawn
    return ed.app.screen


def logs(ed: Editor) -> list[dict[str, Any]]:
    folder = ed.workspace.data / "stories/the-quay/branches/main/generation-logs"
    return [json.loads(file.read_bytes()) for file in sorted(folder.glob("gen-*.json"))]


async def test_questions_then_a_brief_then_the_passage(
    editor: Open, planned: Path, scripted: Callable[[dict[str, Scripted]], None]
) -> None:
    planner = Scripted(calls(("askClarifyingQuestions", QUESTIONS)), says("Theirs."))
    writer = Scripted(says("The storm came."))
    scripted({WRITER: writer, PLANNER: planner})
    async with editor((80, 24)) as ed:
        await generating(ed)
        assert ed.shows("far · gpt-4"), "what the writer is set to"
        await ed.type("A storm.")
        await ed.press("ctrl+g")
        await fronted(ed, QuestionDialog)
        await ed.until(lambda: ed.shows("Who sees it?") and ed.shows("question 1 of 3"))
        await ed.press("down", "enter")
        await ed.until(lambda: ed.shows("Which [/] omens?"))
        await ed.press("space", "down", "space", "tab")
        await ed.type("a bell")
        await ed.press("escape")
        await fronted(ed, PassageScreen)
        assert ed.shows("3 questions wait") and not writer.requests
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await generating(ed)
        await ed.until(lambda: ed.shows("3 questions wait"), "the questions, of which no answer is lost")
        await ed.press("f2")
        await fronted(ed, QuestionDialog)
        await ed.until(lambda: ed.shows("Who sees it?"))
        await ed.press("down", "enter")
        await ed.until(lambda: ed.shows("[x] gulls") and ed.shows("a bell"))
        await ed.press("enter")
        await ed.until(lambda: ed.shows("How does it end?"))
        await ed.press("ctrl+n")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen) and ed.focus == "brief", "the brief to look at")
        sent = planner.requests[1].messages[-1].content
        assert "A: Nobody" in sent and "A: gulls; fog; a bell" in sent and "How does it end?" not in sent
        brief = screen(ed).query_one("#brief", TextEditor)
        assert brief.value == "Theirs." and ed.shows("ctrl+g writes from it")
        await ed.press("ctrl+end")
        await ed.type(" Mine.")
        await ed.until(lambda: screen(ed)._run and screen(ed)._run.view().brief == "Theirs. Mine.", "the draft")
        assert not writer.requests
        await ed.press("ctrl+g")
        await finished(ed)
        assert ed.shows("The storm came.") and "Theirs. Mine." in writer.requests[0].messages[-1].content
        await ed.press("f3")
        assert ed.shows("Theirs. Mine.") and ed.shows("ctrl+g writes from it")
        await ed.press("f3")
        assert ed.shows("The storm came.")
        await ed.press("ctrl+s")
        await ed.until(lambda: ed.said.startswith("kept as pr-"))


async def test_the_keys_of_a_question_are_those_of_the_key_map(editor: Open) -> None:
    given: list[object] = []
    question = Question("Who sees it?", "Witness", options=(Option("Ines"), Option("Nobody")), several=True)
    keys = Keymap({"question-skip": "f7", "question-write": "f6", "question-choose": "c"})
    async with editor((80, 24), keymap=keys) as ed:
        for key, then in (("f7", "next"), ("f6", "write"), ("escape", "later")):
            ed.app.push_screen(QuestionDialog(question, Answer(), 1, 1, lambda _: None), given.append)
            await fronted(ed, QuestionDialog)
            assert ed.shows("skip (f7)") and ed.shows("write now (f6)") and ed.shows("c chooses")
            await ed.press("c")
            await ed.until(lambda: ed.shows("[x] Ines"))
            titles = [entry.title for entry in ed.app.get_system_commands(ed.app.screen)]
            assert "Leave the question without an answer" in titles
            await ed.press("f1")
            await ed.until(lambda: ed.shows("A question before writing") and ed.shows("Write now, with the answers"))
            await ed.press("escape")
            await fronted(ed, QuestionDialog)
            await ed.press(key)
            await ed.until(lambda then=then: given and given[-1][1] == then)  # type: ignore[index]
        assert [answer.chosen for answer, _ in given] == [(), (0,), (0,)]  # type: ignore[misc]


async def test_a_brief_that_waits_can_be_stopped_and_is_on_record(
    editor: Open, planned: Path, scripted: Callable[[dict[str, Scripted]], None]
) -> None:
    writer = Scripted(says("Never."))
    scripted({WRITER: writer, PLANNER: Scripted(says("Theirs."))})
    async with editor() as ed:
        await generating(ed)
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.focus == "brief", "the brief")
        await ed.type("X")
        await ed.press("escape")
        await fronted(ed, ChoiceDialog)
        assert ed.shows("waits for your answer") and not ed.shows("keep it")
        await ed.press("escape")
        await fronted(ed, PassageScreen)
        await ed.press("f2")
        assert ed.focus == "brief"
        await ed.press("ctrl+x")
        await finished(ed)
        await ed.until(lambda: logs(ed), "the log")
        assert logs(ed)[0]["prewriterBrief"] == "XTheirs." and not writer.requests
        await ed.until(lambda: ed.shows("stopped") and ed.shows("ctrl+g writes from it, f3 puts it aside"))
        assert ed.focus == "brief" and ed.shows("XTheirs.")


async def test_a_brief_is_written_from_after_a_failure_and_in_another_session(
    editor: Open, planned: Path, scripted: Callable[[dict[str, Scripted]], None]
) -> None:
    planner = Scripted(says("Theirs."))
    writer = Scripted((Failure("overloaded", "too busy"),), says("It came."))
    scripted({WRITER: writer, PLANNER: planner})
    async with editor((80, 24)) as ed:
        await generating(ed)
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.focus == "brief", "the brief")
        await ed.press("ctrl+g")
        await finished(ed)
        await ed.until(lambda: ed.shows("failed") and ed.shows("ctrl+g writes from it") and ed.focus == "brief")
        await ed.press("ctrl+end")
        await ed.type("!")
        waiting = ed.workspace.passages.unfinished
        await ed.until(
            lambda: (left := waiting("the-quay", "main")) is not None and left.brief == "Theirs.!", "the disk"
        )
    async with editor((80, 24)) as ed:
        await generating(ed)
        await ed.until(lambda: ed.shows("Theirs.!") and ed.shows("ctrl+g writes from it"))
        await ed.press("ctrl+g")
        await finished(ed)
        assert ed.shows("It came.") and "Theirs.!" in writer.requests[1].messages[-1].content
        assert len(planner.requests) == 1, "nothing is planned twice"
        await ed.press("ctrl+s")
        await ed.until(lambda: ed.said.startswith("kept as pr-"))
        await ed.until(lambda: ed.workspace.passages.unfinished("the-quay", "main") is None, "the end of it")


async def test_a_passage_is_revised(editor: Open, scripted: Callable[[dict[str, Scripted]], None]) -> None:
    writer = Scripted(says("Another."))
    scripted({WRITER: writer})
    async with editor((80, 24)) as ed:
        await generating(ed)
        shown = ed.workspace.passages.shown("the-quay", "main")
        await ed.press("ctrl+t")
        await fronted(ed, ChoiceDialog)
        await ed.press("r")
        await fronted(ed, TargetDialog)
        await ed.press("enter")
        await fronted(ed, PassageScreen)
        assert ed.shows("revising ") and ed.focus == "direction"
        await ed.press("ctrl+g")
        await ed.until(lambda: "say first what is to be changed" in ed.said)
        await ed.type("Shorter.")
        await ed.press("ctrl+g")
        await finished(ed)
        assert shown[-1].content in writer.requests[0].messages[-1].content and ed.shows("revision of ")
        await ed.press("ctrl+s")
        await ed.until(lambda: "another version of" in ed.said)
        (log,) = logs(ed)
        assert (log["stonehand"]["mode"], log["stonehand"]["target"]) == ("refine", shown[-1].id)
        (now,) = ed.workspace.passages.shown("the-quay", "main")[-1:]
        assert now.content == "Another." and now.meta["variationOf"] == shown[-1].id
        await ed.until(lambda: ed.focus == "direction")
        await ed.press("f8")
        await ed.until(lambda: f"taken back, the story shows {shown[-1].id} again" in ed.said)
        assert [item.id for item in ed.workspace.passages.shown("the-quay", "main")] == [item.id for item in shown]
        await ed.until(lambda: ed.shows("revision of ") and ed.shows("Another."))
        await ed.press("ctrl+s")
        await ed.until(lambda: "another version of" in ed.said)
        assert ed.workspace.passages.shown("the-quay", "main")[-1].id == now.id


async def test_a_direction_is_taken_and_undone(editor: Open, scripted: Callable[[dict[str, Scripted]], None]) -> None:
    one = {"title": "Leave", "description": "They go.", "instruction": "Let them [b]go[/b]."}
    suggests = Scripted(says(json.dumps([one, {**one, "instruction": "Stay."}])), says("I have none."))
    scripted({DIRECTIONS: suggests, WRITER: Scripted(says("Never."))})
    async with editor((80, 24)) as ed:
        await generating(ed)
        direction = screen(ed).query_one("#direction", TextEditor)
        await ed.type("Mine.")
        await ed.press("ctrl+n")
        await fronted(ed, DirectionsDialog)
        assert "Mine." in suggests.requests[0].messages[-1].content and ed.shows("Let them [b]go[/b].")
        await ed.press("enter")
        await fronted(ed, PassageScreen)
        await ed.until(lambda: direction.value == "Let them [b]go[/b].")
        assert direction.has_focus and screen(ed)._run is None, "nothing is sent by it"
        await ed.press("ctrl+z")
        assert direction.value == "Mine."
        await ed.press("ctrl+n")
        await fronted(ed, DirectionsDialog)
        assert len(suggests.requests) == 1, "they are still there"
        await ed.press("n")
        await ed.until(lambda: ed.said == "no directions were proposed")
        await ed.press("ctrl+n")
        await fronted(ed, DirectionsDialog)
        await ed.press("escape")
        await fronted(ed, PassageScreen)
        assert direction.value == "Mine."


@pytest.mark.parametrize("accept", [True, False])
async def test_changes_are_decided_while_it_runs(
    editor: Open, scripted: Callable[[dict[str, Scripted]], None], monkeypatch: pytest.MonkeyPatch, accept: bool
) -> None:
    monkeypatch.setattr(Generation, "_tools", lambda *_, **__: (CORE["editFragments"],))
    operation = {
        "op": "create_fragment",
        "type": "knowledge",
        "name": "Bell",
        "description": "It rings.",
        "content": "Loud.",
    }
    scripted({WRITER: Scripted(calls(("editFragments", {"operations": [operation]})), says("It rang."))})
    async with editor((80, 24)) as ed:
        await generating(ed)
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("one change to the story waits"))
        await ed.press("ctrl+g")
        assert screen(ed).running, "and waits on"
        await ed.press("f2")
        await fronted(ed, PlanDialog)
        assert ed.shows("Loud.")
        await ed.press("a" if accept else "d")
        await fronted(ed, PassageScreen)
        await finished(ed)
        names = {item.name for item in ed.workspace.fragments("the-quay")}
        assert ed.shows("It rang.") and ("Bell" in names) is accept
        assert ed.shows("one change to the story made") is accept
        if accept:
            await ed.press("f7")
            await ed.until(lambda: ed.said.startswith("taken back: Bell ("))
        assert "Bell" not in {item.name for item in ed.workspace.fragments("the-quay")}
        await ed.until(lambda: not ed.shows("one change to the story made"))
