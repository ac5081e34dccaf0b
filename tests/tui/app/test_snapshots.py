"""Every screen and dialog at three sizes, compared with text files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets._toast import Toast

from engine.blocks.apply import ScriptResult
from engine.document import SaveState
from engine.models.wire.replay import ReplayWire
from engine.runs import Run, RunView
from engine.tools.offering import CORE
from engine.workspace.generation import Generation
from engine.workspace.wires import Wires
from tests.chatting import Scripted, calling
from tests.engine.runs.test_history import write_log
from tests.tui.app.providers import TEXT as PROVIDERS
from tests.tui.app.providers import write_providers
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tests.tui.snapshots import SIZES, Snapshots
from tui import language
from tui.keymap import Keymap
from tui.screens.agent_run import AgentRunScreen
from tui.screens.branch_name import BranchNameDialog
from tui.screens.budget import BudgetDialog
from tui.screens.bundle_file import BundleFileDialog
from tui.screens.chat import ChatScreen
from tui.screens.choice import ChoiceDialog
from tui.screens.compare import CompareScreen
from tui.screens.conflict import ConflictScreen
from tui.screens.directions import DirectionsDialog
from tui.screens.help import HelpScreen
from tui.screens.jump import JumpDialog
from tui.screens.model import ModelDialog
from tui.screens.name import NameDialog
from tui.screens.passage import PassageScreen
from tui.screens.pick import PickDialog
from tui.screens.plan import PlanDialog
from tui.screens.preview import PreviewDialog
from tui.screens.prompt import PromptScreen
from tui.screens.question import QuestionDialog
from tui.screens.replay import ReplayScreen
from tui.screens.report import ReportDialog
from tui.screens.run_diff import RunDiffScreen
from tui.screens.runs import RunsScreen
from tui.screens.story import StoryScreen
from tui.screens.target import TargetDialog
from tui.screens.tools import ToolsDialog
from tui.screens.why import WhyDialog
from tui.widgets.prompt_view import PromptView


@pytest.fixture
def snapshots(request: pytest.FixtureRequest) -> Snapshots:
    return Snapshots(request.config.getoption("update_snapshots", default=False))


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What differs from run to run: times, and the ids of what is new."""
    from engine.workspace import door, jobs

    result: Callable[..., ScriptResult] = jobs.script_result
    view: Callable[[Run], RunView] = Run.view
    for module in (door, jobs):
        monkeypatch.setattr(module, "script_result", lambda outcome: replace(result(outcome), milliseconds=3.0))
    monkeypatch.setattr(Run, "view", lambda self: replace(view(self), seconds=1.5))
    monkeypatch.setattr("tui.widgets.bars.MESSAGE_SECONDS", 3600)


async def on(ed: Editor, screen: type) -> None:
    await ed.until(lambda: isinstance(ed.app.screen, screen), screen.__name__)


async def test_block_list(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        await snapshots.check(ed, "desk/open")
        await ed.goto("new-story")
        await snapshots.check(ed, "desk/absent-block")
        await ed.goto("story-info")
        await ed.press("space")
        await ed.until(lambda: ed.shows("off: it is not sent"))
        await ed.saved()
        await snapshots.check(ed, "desk/disabled-block")
        await ed.press("m", "j", "j")
        await snapshots.check(ed, "desk/carrying", said=True)
        await ed.press("escape", "slash")
        await ed.type("story")
        await snapshots.check(ed, "desk/filter")
        await ed.type("zzz")
        await snapshots.check(ed, "desk/filter-without-match")
        await ed.press("escape", "1")
        await snapshots.check(ed, "desk/agents")


async def test_writing(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("ctrl+f")
        await ed.type("s")
        await ed.until(lambda: ed.shows("1 of 3"))
        await ed.press("tab")
        await ed.type("sh")
        await snapshots.check(ed, "writing/find-and-replace")
        await ed.press("escape", "ctrl+end")
        await ed.until(lambda: ed.text.completer is not None)
        await ed.press("space", "less_than_sign", "at")
        await ed.until(lambda: ed.text.completion is not None)
        await ed.saved()
        await snapshots.check(ed, "writing/references")
        await ed.press("escape", "escape")
        await ed.goto("cb-counta")
        await ed.press("e", "ctrl+end", "enter")
        await ed.type("ctx")
        await ed.press("full_stop", "s")
        await ed.until(lambda: ed.text.completion is not None)
        await ed.saved()
        await ed.until(lambda: ed.shows("preview: no text") or ed.shows("preview ·"))
        await snapshots.check(ed, "writing/members")


async def test_inspector(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        await ed.press("e")
        await snapshots.check(ed, "inspector/appended-text")
        await ed.press("escape", "n")
        await ed.until(lambda: ed.shows("kept but not used"))
        await ed.saved()
        await ed.press("enter")
        await snapshots.check(ed, "inspector/text-kept-but-unused", said=True)
        await ed.press("escape")
        await ed.goto("cb-stylea")
        await ed.press("e")
        await snapshots.check(ed, "inspector/text")
        await ed.press("escape")
        await ed.goto("cb-counta")
        await ed.press("e")
        await ed.until(lambda: ed.shows("Sections so far: 2"))
        await snapshots.check(ed, "inspector/script")
        await ed.press("f3")
        await ed.until(lambda: ed.shows("ch-bafego"))
        await snapshots.check(ed, "inspector/fragments")
        await ed.press("f3")
        await ed.type("console.log('a line')\nreturn nothing.at.all\n")
        await ed.until(lambda: ed.shows("preview: no text") and ed.shows("a line"))
        await ed.press("escape")
        await ed.listed()
        await ed.until(lambda: "!" in ed.line_of("Section count"))
        await ed.saved()
        await ed.press("e")
        await snapshots.check(ed, "inspector/script-error")


async def test_dialogs(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        await ed.press("a")
        await ed.type("Tides")
        await snapshots.check(ed, "dialogs/add")
        await ed.press(*["backspace"] * 5, "enter")
        await snapshots.check(ed, "dialogs/add-without-a-name")
        await ed.press("escape")
        await ed.goto("cb-stylea")
        await ed.press("r")
        await snapshots.check(ed, "dialogs/properties")
        await ed.press("escape", "R")
        await snapshots.check(ed, "dialogs/reset")
        await ed.press("escape", "s")
        await on(ed, StoryScreen)
        await snapshots.check(ed, "dialogs/story")
        await ed.press("escape", "question_mark")
        await on(ed, HelpScreen)
        await ed.pilot.resize_terminal(80, 24)
        await ed.press("escape", "question_mark")
        await snapshots.check(ed, "help/main-screen", ((80, 24),))


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
async def test_help(editor: Open, snapshots: Snapshots, size: tuple[int, int]) -> None:
    async with editor(size=size) as ed:
        await ed.press("question_mark")
        await snapshots.check(ed, "help/main-screen", (size,))
        await ed.press("end")
        await snapshots.check(ed, "help/main-screen-end", (size,))


async def test_effect_of_edits(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        await ed.press("d")
        await on(ed, CompareScreen)
        await ed.until(lambda: ed.shows("3 blocks change"))
        await snapshots.check(ed, "compare/default")
        await ed.press("1")
        await ed.until(lambda: ed.shows("Nothing changes."))
        await snapshots.check(ed, "compare/nothing-changes")
        await ed.press("escape")
        await ed.goto("cb-stylea")
        await ed.press("e")
        await ed.type("Very ")
        await ed.press("escape")
        await ed.saved()
        await ed.goto("story-info")
        await ed.press("space", "d")
        await on(ed, CompareScreen)
        await ed.until(lambda: ed.shows("2 blocks change"))
        await snapshots.check(ed, "compare/edits")


async def test_reasons(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        await ed.press("w")
        await on(ed, WhyDialog)
        await snapshots.check(ed, "why/block")
        await ed.press("escape", "p")
        await on(ed, PromptScreen)
        await ed.until(lambda: ed.shows("tokens") and ed.app.screen.query_one(PromptView).blocks)
        await ed.press("w")
        await ed.until(lambda: ed.app.screen.query_one(PromptView).pointing)
        await ed.press("j")
        await ed.until(lambda: ed.shows("the fixed text"))
        await snapshots.check(ed, "why/line")
        await ed.press("w", "i")
        await on(ed, PreviewDialog)
        await snapshots.check(ed, "dialogs/preview-inputs")


async def test_compiled_prompt(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        await ed.press("p")
        await on(ed, PromptScreen)
        await snapshots.check(ed, "prompt/open")
        await ed.press("slash")
        await ed.type("quay")
        await snapshots.check(ed, "prompt/searching", said=True)
        await ed.press("enter", "n")
        await snapshots.check(ed, "prompt/match", said=True)
        await ed.press("b")
        await on(ed, JumpDialog)
        await ed.type("s")
        await snapshots.check(ed, "prompt/jump")


async def test_generating(editor: Open, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Rain came in off the bar before noon.\n\nInes counted the boats again, and there were nine."
    monkeypatch.setattr(Wires, "of", lambda *_, **__: ReplayWire({"generatedText": text}, words_per_second=2_000.0))
    async with editor() as ed:
        await ed.press("g")
        await on(ed, PassageScreen)
        await ed.type("Let it rain.")
        await snapshots.check(ed, "passage/direction")
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("keep it, discard it"))
        await snapshots.check(ed, "passage/written")
        await ed.press("escape")
        await on(ed, ChoiceDialog)
        await snapshots.check(ed, "passage/leaving")
        await ed.press("escape")
        await on(ed, PassageScreen)
        await ed.press("ctrl+o")
        await on(ed, PickDialog)
        await snapshots.check(ed, "passage/provider")


async def test_chatting(editor: Open, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Nine, and there should have been ten.\n\nInes counted them twice."
    monkeypatch.setattr(Wires, "of", lambda *_, **__: ReplayWire({"generatedText": text}, words_per_second=0))
    async with editor() as ed:
        await ed.desk.open_story("the-quay", None, "librarian.chat")
        await ed.until(lambda: ed.desk.session is not None and ed.session.agent == "librarian.chat" and ed.session.rows)
        await ed.press("c")
        await on(ed, ChatScreen)
        await ed.until(lambda: ed.app.screen._model, "the conversations")
        await snapshots.check(ed, "chat/empty")
        await ed.type("How many boats?")
        await ed.press("enter")
        await ed.until(lambda: ed.shows("counted them twice") and ed.app.screen._turn is None)
        ed.app.screen._show_state()
        await snapshots.check(ed, "chat/answered", ((40, 12), *SIZES))
        language.use("zh")
        try:
            ed.app.screen.say_again()
            await snapshots.check(ed, "chat/chinese", ((40, 12), (80, 24)))
        finally:
            language.use("en")


async def test_past_runs(editor: Open, snapshots: Snapshots, data: Path) -> None:
    story = data / "stories" / "the-quay"
    write_log(story, "gen-mab1")
    own = {
        "agent": "librarian.chat",
        "provider": "nearby",
        "error": {"message": "HTTP 529: the provider is overloaded"},
    }
    failed = {"finishReason": "error", "generatedText": "", "stonehand": own, "input": "Ask about the lamp."}
    write_log(story, "gen-mab2", createdAt="2026-02-05T08:00:00.000Z", **failed)
    later = {"generatedText": "The calm.\n\nNobody saw it.", "input": "Let it pass.", "model": "another-model"}
    write_log(story, "gen-mab3", createdAt="2026-03-05T08:00:00.000Z", **later)
    async with editor() as ed:
        await ed.press("L")
        await on(ed, RunsScreen)
        await ed.until(lambda: ed.shows("3 runs") and ed.app.screen.run_view.sections)
        await ed.press("v")
        await snapshots.check(ed, "runs/list")
        await ed.press("j", "enter")
        await ed.until(lambda: ed.shows("What went wrong"))
        await snapshots.check(ed, "runs/failed")
        await ed.press("p")
        await snapshots.check(ed, "runs/prompt")
        await ed.press("escape", "j", "d")
        await on(ed, RunDiffScreen)
        await ed.press("2")
        await ed.until(lambda: ed.shows("The calm."))
        await snapshots.check(ed, "runs/compared")
        await ed.press("escape", "r")
        await on(ed, ReplayScreen)
        await ed.press("e")
        await snapshots.check(ed, "runs/replayed")


async def test_no_story(editor: Open, snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty" / "stories").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    async with editor(folder=Path("empty"), ready=False) as ed:
        await ed.until(lambda: ed.shows("there is no story in"))
        await snapshots.check(ed, "trouble/no-story")


async def test_nothing_written_yet(editor: Open, snapshots: Snapshots, tmp_path: Path) -> None:
    from tests.stories import make_story

    make_story(tmp_path / "new", prose=(), fragments=())
    async with editor(folder=tmp_path / "new") as ed:
        await snapshots.check(ed, "desk/empty-story")


async def test_invalid_file(editor: Open, snapshots: Snapshots, data: Path) -> None:
    file = data / "stories/the-quay/branches/main/agent-blocks/generation.writer.json"
    config = json.loads(file.read_text("utf-8"))
    config["customBlocks"][1]["role"] = "narrator"
    file.write_text(json.dumps(config, indent=2), "utf-8")
    async with editor() as ed:
        await ed.until(lambda: ed.shows("It is left as it is"))
        await snapshots.check(ed, "trouble/invalid-file")
        await ed.press("R")
        await snapshots.check(ed, "trouble/reset-invalid-file")


async def test_conflict(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        file = ed.file()
        file.write_bytes(file.read_bytes() + b"\n")
        await ed.press("space", "ctrl+s")
        await ed.until(lambda: ed.session.document.state is SaveState.CONFLICT and ed.shows("press ! to choose"))
        await ed.desk.workers.wait_for_complete()
        await snapshots.check(ed, "trouble/conflict")
        await ed.press("exclamation_mark")
        await on(ed, ChoiceDialog)
        await snapshots.check(ed, "trouble/conflict-choices")


async def test_tools_and_budget(editor: Open, snapshots: Snapshots, tmp_path: Path) -> None:
    write_providers(tmp_path / "config")
    async with editor() as ed:
        await ed.until(lambda: ed.desk.budget is not None)
        await ed.press("B")
        await on(ed, BudgetDialog)
        await snapshots.check(ed, "agent/budget")
        await ed.press("escape", "t")
        await on(ed, ToolsDialog)
        await ed.press("j", "space")
        await ed.saved()
        await ed.listed()
        await snapshots.check(ed, "agent/tools", said=True)


async def test_model(editor: Open, snapshots: Snapshots, tmp_path: Path) -> None:
    write_providers(tmp_path / "config")
    async with editor() as ed:
        await ed.until(lambda: ed.desk.budget is not None)
        await ed.press("M")
        await on(ed, ModelDialog)
        await snapshots.check(ed, "agent/model")
        await ed.press("enter")
        await on(ed, PickDialog)
        await snapshots.check(ed, "agent/providers")
        await ed.press("escape", "down", "enter")
        await on(ed, NameDialog)
        await ed.type("gpt-4")
        await snapshots.check(ed, "agent/models")


async def test_a_prompt_that_does_not_fit(editor: Open, snapshots: Snapshots, tmp_path: Path) -> None:
    write_providers(tmp_path / "config", 'default = "near"\n' + PROVIDERS.partition("\n")[2].replace("4096", "512"))
    async with editor() as ed:
        await ed.until(lambda: ed.desk.budget is not None)
        await ed.press("B")
        await on(ed, BudgetDialog)
        await snapshots.check(ed, "agent/budget-over")
        await ed.press("escape", "g")
        await on(ed, PassageScreen)
        await ed.press("ctrl+g")
        await on(ed, ChoiceDialog)
        await snapshots.check(ed, "agent/not-sent")


async def test_help_and_choices(editor: Open, snapshots: Snapshots) -> None:
    async with editor(keymap=Keymap({"fly": "z", "add": "p"})) as ed:
        ed.app.clear_notifications()
        await ed.until(lambda: not ed.app.screen.query(Toast))
        await ed.press("f1")
        await on(ed, HelpScreen)
        await snapshots.check(ed, "help/problems", ((80, 24),))
        await ed.press("slash")
        await ed.type("undo")
        await snapshots.check(ed, "help/narrowed", ((80, 24),))
        await ed.press("escape", "escape")
        ed.app.action_change_language()
        await on(ed, PickDialog)
        await ed.until(lambda: ed.shows("中文"))
        await snapshots.check(ed, "language/choose", ((80, 24),))


async def test_chinese(editor: Open, snapshots: Snapshots) -> None:
    sizes = ((40, 12), (80, 24), (120, 40))
    language.use("zh")
    try:
        async with editor() as ed:
            await snapshots.check(ed, "chinese/open", sizes)
            assert {cell_len(line) for line in ed.lines()} == {120}
            await ed.press("n")
            await ed.until(lambda: "：默认文本" in ed.said)
            await ed.saved()
            await snapshots.check(ed, "chinese/edited", ((80, 24),), said=True)
            await ed.press("f1")
            await on(ed, HelpScreen)
            await snapshots.check(ed, "chinese/help", sizes)
            await ed.press("escape", "p")
            await on(ed, PromptScreen)
            await ed.until(lambda: ed.app.screen.query_one(PromptView).blocks)
            await snapshots.check(ed, "chinese/prompt", sizes)
            await ed.press("escape", "g")
            await on(ed, PassageScreen)
            await snapshots.check(ed, "chinese/passage", sizes)
    finally:
        language.use("en")


async def test_whole_configs_and_branches(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        ed.desk._exchange_folder = Path("/srv/letters")
        await ed.press("x")
        await on(ed, BundleFileDialog)
        await snapshots.check(ed, "exchange/export")
        await ed.press("escape", "i")
        await on(ed, BundleFileDialog)
        await snapshots.check(ed, "exchange/import")
        await ed.press("escape", "C")
        await on(ed, TargetDialog)
        await snapshots.check(ed, "exchange/copy-to")
        await ed.press("enter")
        await on(ed, ReportDialog)
        await snapshots.check(ed, "exchange/what-changes")
        await ed.press("escape", "s")
        await on(ed, StoryScreen)
        await ed.until(lambda: ed.shows("stormy"))
        await ed.press("j", "n")
        await on(ed, BranchNameDialog)
        await snapshots.check(ed, "branches/new")
        await ed.press("escape")
        await on(ed, StoryScreen)
        await ed.until(lambda: ed.shows("stormy"))
        await ed.press("X")
        await on(ed, ReportDialog)
        await snapshots.check(ed, "branches/delete")


async def test_a_conflict_block_by_block(editor: Open, snapshots: Snapshots) -> None:
    async with editor() as ed:
        theirs = ed.config()
        theirs["customBlocks"][0]["content"] = "Their sentences."
        theirs["overrides"]["prose-recent"] = {"enabled": False}
        ed.file().write_text(json.dumps(theirs), "utf-8")
        ed.session.set_text("cb-stylea", "My own words.")
        await ed.goto("story-info")
        await ed.press("space", "ctrl+s")
        await ed.until(lambda: ed.session.document.state is SaveState.CONFLICT)
        await ed.press("exclamation_mark")
        await on(ed, ChoiceDialog)
        await ed.press("b")
        await on(ed, ConflictScreen)
        await ed.until(lambda: ed.shows("My own words."))
        await snapshots.check(ed, "conflict/by-block")


async def test_author_and_agents_ask_each_other(
    editor: Open, snapshots: Snapshots, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = data / "stories/the-quay/meta.json"
    document = json.loads(file.read_bytes())
    document["settings"] |= {"generationMode": "prewriter", "clarifyBeforeGenerate": True}
    file.write_text(json.dumps(document), "utf-8")
    write_providers(tmp_path / "config")
    questions = [
        {"question": "Who sees the storm come in?", "header": "Witness",
         "options": [{"label": "Ines", "description": "from the office"}, {"label": "Nobody"}]},
        {"question": "Which omens are there?", "header": "Omens", "multiSelect": True,
         "options": [{"label": "gulls"}, {"label": "fog"}]},
    ]  # fmt: skip
    direction = {"description": "They wait for the tide.", "instruction": "Let them wait until the light fails."}
    directions = [
        {"title": title, "pacing": pacing, **direction}
        for title, pacing in (("Wait", "linger"), ("The storm", "continue"), ("Home", "end"))
    ]
    change = {"op": "replace_text", "fragmentId": "kn-mirafa", "oldText": "Nine", "newText": "Ten"}
    wires = {
        "generation.prewriter": Scripted(
            calling("askClarifyingQuestions", questions=questions),
            ["The storm comes in from the west. End on the bell."],
        ),
        "generation.writer": Scripted(
            calling("editFragments", rationale="She counted again.", operations=[change]), ["The storm came."]
        ),
        "directions.suggest": Scripted([json.dumps(directions)]),
    }
    monkeypatch.setattr(Wires, "of", lambda _self, prompt, *_given, **_named: wires[prompt.agent])
    monkeypatch.setattr(Generation, "_tools", lambda *_, **__: (CORE["askClarifyingQuestions"], CORE["editFragments"]))
    async with editor() as ed:
        await ed.press("g")
        await on(ed, PassageScreen)
        await ed.until(lambda: "far · gpt-4" in ed.lines()[0])
        await ed.press("ctrl+n")
        await on(ed, DirectionsDialog)
        await snapshots.check(ed, "passage/directions")
        await ed.press("escape")
        await on(ed, PassageScreen)
        await ed.type("A storm.")
        await ed.press("ctrl+g")
        await on(ed, QuestionDialog)
        await snapshots.check(ed, "passage/question")
        await ed.press("enter")
        await ed.until(lambda: ed.shows("Which omens are there?"))
        await ed.press("space")
        await snapshots.check(ed, "passage/question-several")
        await ed.press("enter")
        await ed.until(lambda: ed.shows("End on the bell."), "the brief")
        await snapshots.check(ed, "passage/brief")
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("one change to the story waits"), "the changes")
        await ed.press("f2")
        await on(ed, PlanDialog)
        await snapshots.check(ed, "passage/change")
        await ed.press("a")
        await ed.until(lambda: ed.shows("The storm came.") and ed.shows("f7 undo changes"), "the passage")
        await snapshots.check(ed, "passage/changed")


async def test_agents_on_fragments(editor: Open, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    async def opened(agent: str) -> AgentRunScreen:
        await ed.desk.open_story("the-quay", None, agent)
        await ed.until(lambda: ed.desk.session is not None and ed.session.agent == agent and ed.session.rows)
        await ed.press("g")
        await on(ed, AgentRunScreen)
        screen = ed.app.screen
        assert isinstance(screen, AgentRunScreen)
        await ed.until(lambda: screen._fragment is not None, "the passage")
        return screen

    found = {
        "summary": "Ines counts the boats and finds one missing.",
        "events": ["Ines counts nine boats."],
        "mentions": [{"fragmentId": "ch-bafego", "text": "Ines"}],
        "contradictions": [{"description": "There are nine berths.", "fragmentIds": ["kn-mirafa"]}],
    }
    change = {"op": "replace_text", "fragmentId": "kn-mirafa", "oldText": "Nine", "newText": "Ten"}
    wires = [
        Scripted(["Ines counted the boats once more."]),
        Scripted(
            [
                *calling("reportAnalysis", **found),
                *calling("proposeFragmentChanges", title="The berths", operations=[change]),
            ],
            ["Done."],
        ),
    ]
    monkeypatch.setattr(Wires, "of", lambda *_, **__: wires[0])
    monkeypatch.setattr("engine.story.librarian.new_analysis_id", lambda _: "la-snapshot")
    async with editor() as ed:
        screen = await opened("librarian.prose-transform")
        await ed.press(*["ctrl+shift+right"] * 5)
        await snapshots.check(ed, "agent-run/span")
        await ed.press("ctrl+g")
        await on(ed, PlanDialog)
        await snapshots.check(ed, "agent-run/change")
        await ed.press("a")
        await ed.until(lambda: ed.app.screen is screen and ed.shows("Changed:"))
        await snapshots.check(ed, "agent-run/changed")
        await ed.press("f7")
        await ed.until(lambda: ed.shows("Changed, and taken back:"))
        await snapshots.check(ed, "agent-run/taken-back")
        await ed.press("f2")
        await on(ed, PromptScreen)
        await ed.until(lambda: ed.app.screen.query_one(PromptView).blocks)
        await snapshots.check(ed, "agent-run/prompt")
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is screen)
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        wires.pop(0)
        screen = await opened("librarian.analyze")
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("The berths"))
        await snapshots.check(ed, "agent-run/analysis", ((40, 12), *SIZES))
        await ed.press("f8")
        await on(ed, PlanDialog)
        await snapshots.check(ed, "agent-run/proposal")
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is screen)
        language.use("zh")
        try:
            screen.say_again()
            await snapshots.check(ed, "agent-run/chinese", ((40, 12), (80, 24)))
        finally:
            language.use("en")
