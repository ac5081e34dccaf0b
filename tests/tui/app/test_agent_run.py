"""Agents on fragments: what they are about, how far they have come, and what becomes of what they change or note."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Button

from engine.models.wire.base import Failure
from engine.workspace.generation import AnalysisNotice
from engine.workspace.wires import Wires
from tests.chatting import RENAMING, Scripted, calling
from tests.mock_provider.scripts import DONE, call, chunk
from tests.mock_provider.serving import Serve
from tests.tui.app.providers import write_providers
from tests.tui.conftest import Open
from tests.tui.editor import Editor, control_characters
from tui.screens.agent_run import AgentRunScreen
from tui.screens.chat import ChatScreen
from tui.screens.choice import ChoiceDialog
from tui.screens.fragment_order import FragmentOrderScreen
from tui.screens.passage import PassageScreen
from tui.screens.pick import PickDialog
from tui.screens.plan import PlanDialog
from tui.screens.prompt import PromptScreen
from tui.screens.target import TargetDialog
from tui.widgets.choice_bar import ChoiceBar

REFINE, ANALYZE, TRANSFORM = "librarian.refine", "librarian.analyze", "librarian.prose-transform"
LAST = "Ines counted the boats. There were nine of them, and there should have been ten."
REPORT = {
    "summary": "Ines counts the boats and finds one missing.",
    "events": ["Ines counts nine boats."],
    "openThreads": ["Where is the tenth boat?"],
    "mentions": [{"fragmentId": "ch-bafego", "text": "Ines"}],
}
PROPOSAL = {
    "title": "The berths",
    "operations": [{"op": "replace_text", "fragmentId": "kn-mirafa", "oldText": "Nine", "newText": "Ten"}],
}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    def use(*scripts: list[Any]) -> Scripted:
        wire = Scripted(*scripts)
        monkeypatch.setattr(Wires, "of", lambda *_, **__: wire)
        return wire

    return use


def screen(ed: Editor) -> AgentRunScreen:
    front = ed.app.screen
    assert isinstance(front, AgentRunScreen)
    return front


def document(ed: Editor, fragment_id: str) -> dict[str, Any]:
    file = ed.workspace.data / f"stories/the-quay/branches/main/fragments/{fragment_id}.json"
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found


async def open_agent(ed: Editor, agent: str) -> None:
    await ed.desk.open_story("the-quay", None, agent)
    await ed.until(lambda: ed.desk.session is not None and ed.session.agent == agent and ed.session.rows)
    await ed.press("g")


async def on_fragment(ed: Editor, agent: str) -> AgentRunScreen:
    """The screen of an agent, on the fragment it proposes, or on Ines where it asks for one."""
    await open_agent(ed, agent)
    await ed.until(lambda: isinstance(ed.app.screen, AgentRunScreen | TargetDialog), "the agent")
    if agent in (REFINE, "librarian.optimize-character"):
        await ed.until(lambda: isinstance(ed.app.screen, TargetDialog), "the fragments")
        await ed.type("ines")
        await ed.until(lambda: ed.shows("Ines · ch-bafego"))
        await ed.press("enter")
    await ed.until(lambda: isinstance(ed.app.screen, AgentRunScreen) and screen(ed)._fragment, "the fragment")
    return screen(ed)


async def changes_shown(ed: Editor, line: str) -> None:
    """The dialog has its place, which depends on what it shows."""
    await ed.until(lambda: isinstance(ed.app.screen, PlanDialog) and ed.shows(line) and ed.shows("later (esc)"), line)
    await ed.pilot.pause()


async def over(ed: Editor) -> None:
    await ed.until(
        lambda: screen(ed)._run is not None and not screen(ed).running and screen(ed)._timer is None, "an end"
    )


async def test_refined_shown_accepted_and_back(editor: Open, scripted: Callable[..., Scripted]) -> None:
    wire = scripted(RENAMING, ["Done \x1b[31mso."])
    async with editor(size=(80, 24)) as ed:
        shown = await on_fragment(ed, REFINE)
        place = ed.blocks.key
        await ed.until(lambda: ed.shows("Harbour clerk. Counts everything twice."))
        assert ed.focus == "instruction"
        await ed.type("Once is enough.")
        await ed.press("ctrl+g")
        await changes_shown(ed, "+ Harbour clerk. Counts.")
        assert ed.shows("She said so.")
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is shown and ed.shows("waiting for you"))
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.until(lambda: ed.shows("Changes wait for you"))
        await ed.press("escape", "enter")
        await changes_shown(ed, "+ Harbour clerk. Counts.")
        await ed.press("a")
        await ed.until(lambda: ed.app.screen is shown)
        await over(ed)
        await ed.until(lambda: ed.shows("Done ") and ed.shows("Changed:") and ed.shows("step 2 of at most 10"))
        assert not control_characters(ed.lines())
        assert document(ed, "ch-bafego")["content"] == "Harbour clerk. Counts."
        assert [kept["reason"] for kept in document(ed, "ch-bafego")["versions"]] == ["llm-editFragments"]
        assert "Once is enough." in "".join(message.content for message in wire.requests[0].messages)
        await ed.until(lambda: shown.source.value == "Harbour clerk. Counts.")
        await ed.press("f6")
        await ed.until(lambda: ed.focus == "source" and ed.shows("Harbour clerk. Counts."))
        await ed.until(lambda: ed.shows("f7 take back"))
        await ed.press("f7")
        await ed.until(lambda: ed.said == "taken back: Ines (ch-bafego)")
        assert document(ed, "ch-bafego")["content"] == "Harbour clerk. Counts everything twice."
        await ed.until(lambda: shown.source.value == "Harbour clerk. Counts everything twice.")
        await ed.press("f6")
        await ed.until(lambda: ed.shows("Changed, and taken back:"))
        assert not ed.shows("f7 take back") and not shown.check_action("agent_take_back", ())
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk, "the way back")
        assert ed.session.author_input == "" and ed.blocks.key == place


async def test_a_selected_span_is_transformed(editor: Open, scripted: Callable[..., Scripted]) -> None:
    wire = scripted(["She counted again."], ["The whole."])
    async with editor(size=(80, 24)) as ed:
        shown = await on_fragment(ed, TRANSFORM)
        assert ed.focus == "source" and shown.source.value == LAST and ed.shows("pr-aaaa01")
        await ed.press(*["ctrl+shift+right"] * 5)
        await ed.until(lambda: ed.shows("23 characters selected"))
        shown.query_one("#operation", ChoiceBar).focus()
        await ed.press("right")
        await ed.press("f5")
        await changes_shown(ed, "+ She counted again. There were nine")
        await ed.press("d")
        await ed.until(lambda: ed.app.screen is shown)
        await ed.until(lambda: ed.shows("You declined:"))
        assert document(ed, "pr-aaaa01")["content"] == LAST
        sent = "".join(message.content for message in wire.requests[0].messages)
        assert "expand" in sent and "### Text to Transform\n\nInes counted the boats.\n" in sent
        await ed.press("f6", "ctrl+home", "ctrl+g")
        await changes_shown(ed, "+ The whole.")
        await ed.pilot.click("#later")
        await ed.until(lambda: ed.app.screen is shown)
        await ed.press("ctrl+t")
        await ed.until(lambda: isinstance(ed.app.screen, TargetDialog))
        await ed.press("escape", "f8")
        await changes_shown(ed, "+ The whole.")
        await ed.pilot.click("#accept")
        await ed.until(lambda: document(ed, "pr-aaaa01")["content"] == "The whole.")
        await ed.until(lambda: shown.source.value == "The whole.")


async def test_the_prompt_of_a_run_is_shown_before_it(editor: Open, scripted: Callable[..., Scripted]) -> None:
    wire = scripted(["The boats."])
    async with editor(size=(80, 24)) as ed:
        await ed.press("H")
        await ed.until(lambda: isinstance(ed.app.screen, TargetDialog))
        await ed.type("pr-aaaa01")
        await ed.until(lambda: ed.shows("Ines counted"))
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog) and ed.shows("Prose Transform"))
        names = ed.app.screen
        assert isinstance(names, PickDialog)
        names.dismiss(TRANSFORM)
        await ed.until(lambda: isinstance(ed.app.screen, AgentRunScreen) and screen(ed)._with is not None)
        shown = screen(ed)
        await ed.until(lambda: shown.source.value == LAST)
        await ed.press(*["ctrl+shift+right"] * 5)
        await ed.press("shift+tab")
        await ed.type("Louder!")
        await ed.press("f2")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen) and ed.app.screen.view.blocks, "the prompt")
        prompt = ed.app.screen
        assert isinstance(prompt, PromptScreen)
        text = prompt.view.text
        assert "Louder!" in text and "### Text to Transform\n\nInes counted the boats.\n" in text
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is shown)
        assert ed.focus == "instruction" and not wire.requests
        await ed.press("ctrl+g")
        await changes_shown(ed, "+ The boats.")
        sent = "\n\n".join(message.content for message in wire.requests[0].messages)
        assert sent == text, "what was shown is what was sent"
        await ed.press("escape", "p")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen) and ed.app.screen.view.blocks, "the prompt")
        # From there to a block: what waits is asked about first, and it is this agent's block.
        await ed.press("J", "e")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog) and ed.shows("Changes wait for you"))
        await ed.press("d")
        await ed.until(lambda: ed.app.screen is ed.desk and ed.session.agent == TRANSFORM, "its blocks")


async def test_what_does_not_fit_is_said(editor: Open, scripted: Callable[..., Scripted]) -> None:
    scripted([Failure("network", "the line is [/] dead \x1b[31m", advice="mend it")])
    async with editor(size=(80, 24)) as ed:
        shown = await on_fragment(ed, TRANSFORM)
        shown.query_one("#operation", ChoiceBar).value = "custom"
        await ed.press("ctrl+g")
        await ed.until(lambda: "say what is to be done" in ed.said)
        shown.query_one("#operation", ChoiceBar).value = "compress"
        await ed.press("ctrl+g")
        await over(ed)
        await ed.until(lambda: any("the line is [/] dead" in toast for toast in ed.toasts))
        await ed.until(lambda: ed.shows("mend it"))
        assert not control_characters(ed.lines())
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)


async def test_a_run_is_stopped_and_leaving_one_asks(editor: Open, scripted: Callable[..., Scripted]) -> None:
    scripted(["Half", ...], ["More", ...])
    async with editor(size=(80, 24)) as ed:
        shown = await on_fragment(ed, TRANSFORM)
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("Half") and ed.shows("writing"))
        await ed.press("ctrl+g")
        await ed.until(lambda: "still at work" in ed.said)
        await ed.press("ctrl+t", "ctrl+x")
        await over(ed)
        await ed.until(lambda: ed.app.screen is shown and ed.shows("stopped"))
        assert not shown._run.view().plans  # type: ignore[union-attr]
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("More"))
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is shown)
        assert shown.running
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("s")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.until(lambda: not shown.running)


async def test_an_analysis_over_http_with_a_chosen_model(editor: Open, serve: Serve, tmp_path: Path) -> None:
    used = [
        chunk({"role": "assistant", "content": "Let me note it."}),
        call(0, "call-1", "reportAnalysis", json.dumps(REPORT)),
        call(1, "call-2", "proposeFragmentChanges", json.dumps(PROPOSAL)),
        call(2, "call-3", "finishAnalysis", "{}"),
        chunk({}, "tool_calls"),
        DONE,
    ]
    mock = serve(used)
    text = f'[providers.mock]\nbase_url = "{mock.base_url}"\ndefault_model = "m-1"\nmodels = ["m-1", "m-2"]\n'
    write_providers(tmp_path / "config", text)
    async with editor(size=(120, 40)) as ed:
        shown = await on_fragment(ed, ANALYZE)
        assert not shown.query("#instruction")
        await ed.press("ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("down", "enter")
        await ed.until(lambda: ed.shows("Model of mock"))
        await ed.type("m-2")
        await ed.press("enter")
        await ed.until(lambda: ed.app.screen is shown and "mock · m-2" in ed.lines()[0])
        await ed.press("ctrl+g")
        await over(ed)
        await ed.until(lambda: ed.shows("Ines counts the boats and finds one missing."))
        assert mock.received[0].document["model"] == "m-2"
        assert ed.shows("Mentions") and ed.shows("Ines (ch-bafego): Ines") and ed.shows("Where is the tenth boat?")
        await ed.until(lambda: ed.shows("The berths · not decided") and ed.shows("f8 changes"))
        assert len(list((ed.workspace.data / "stories/the-quay/branches/main/librarian/analyses").iterdir())) == 1
        await ed.press("f8")
        await changes_shown(ed, "+ Ten berths")
        await ed.press("a")
        await ed.until(lambda: ed.shows("The berths · applied"))
        assert document(ed, "kn-mirafa")["content"].startswith("Ten berths")
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        # What was noted can be looked at later, from any agent; the chosen model is still chosen.
        await ed.desk.open_story("the-quay", None, "generation.writer")
        await ed.press("N")
        await ed.until(lambda: ed.shows("The berths · applied") and "mock · m-2" in ed.lines()[0])


async def test_an_analysis_after_a_save_is_told_of(editor: Open, scripted: Callable[..., Scripted]) -> None:
    report = [*calling("reportAnalysis", **REPORT), *[]]
    scripted(report, ["Noted."])
    async with editor() as ed:
        session = ed.workspace.session("the-quay", ANALYZE, "main")
        run = ed.workspace.generation.prepare(session, fragment="pr-aaaa01")
        ed.workspace.generation.start(run).result(10)
        ed.desk.on_engine_analysis(AnalysisNotice("the-quay", "main", "pr-aaaa01", run))
        await ed.until(lambda: any("pr-aaaa01 was analyzed: one mention" in toast for toast in ed.toasts))
        scripted(["Nothing."])
        idle = ed.workspace.generation.prepare(session, fragment="pr-aaaa01")
        ed.workspace.generation.start(idle).result(10)
        ed.desk.on_engine_analysis(AnalysisNotice("the-quay", "main", "pr-aaaa01", idle))
        await ed.until(lambda: any("nothing was reported" in toast for toast in ed.toasts))


async def test_each_agent_opens_the_screen_that_fits_it(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        for agent, expected in (
            ("generation.writer", PassageScreen),
            ("directions.suggest", PassageScreen),
            ("librarian.chat", ChatScreen),
        ):
            await open_agent(ed, agent)
            await ed.until(lambda kind=expected: isinstance(ed.app.screen, kind), agent)  # type: ignore[misc]
            await ed.press("escape")
            await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.press("N")
        await ed.until(lambda: "no passage of this branch was analyzed" in ed.said)
        await ed.press("H")
        await ed.until(lambda: isinstance(ed.app.screen, TargetDialog))
        await ed.type("mirafa")
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.until(lambda: ed.shows("Librarian Refine"))
        assert not ed.shows("Optimize")
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, AgentRunScreen) and ed.shows("Nine berths"))
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.press("O")
        await ed.until(lambda: isinstance(ed.app.screen, FragmentOrderScreen) and ed.app.screen.fragments.rows)
        order = ed.app.screen
        await ed.press("H")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, AgentRunScreen) and ed.shows("Past tense."))
        assert "Tense" in str(ed.app.screen.query_one("#subject", Button).label)
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is order)
