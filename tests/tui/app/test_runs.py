"""Past runs: list, filter, one of them whole, its prompt, comparisons, replay, usage."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tests.engine.runs.test_history import OLD, write_log
from tests.tui.app.providers import TEXT as PROVIDERS
from tests.tui.app.providers import write_providers
from tests.tui.app.test_screen_reader import READER, says
from tests.tui.conftest import Open
from tests.tui.editor import Editor, control_characters
from tui import language
from tui.screens.name import NameDialog
from tui.screens.passage import PassageScreen
from tui.screens.pick import PickDialog
from tui.screens.replay import ReplayScreen
from tui.screens.run_diff import RunDiffScreen
from tui.screens.runs import RunsScreen
from tui.screens.usage import UsageDialog
from tui.widgets.bars import KeyBar
from tui.widgets.fold_view import FoldView
from tui.widgets.prompt_view import PromptView
from tui.widgets.stream_view import StreamView

HOSTILE = "\x1b[31m[red]\u202eevil\x07 [@block=x]"
FAILED: dict[str, Any] = {
    "createdAt": "2026-02-05T08:00:00.000Z",
    "input": "Ask about the lamp.",
    "finishReason": "error",
    "generatedText": "",
    "stonehand": {"agent": "librarian.chat", "error": {"message": f"HTTP 529: overloaded {HOSTILE}"}},
}


@pytest.fixture
def logs(data: Path) -> Path:
    story = data / "stories" / "the-quay"
    write_log(story, "gen-mab1")
    write_log(story, "gen-mab2", **FAILED)
    write_log(story, "gen-mab3", createdAt="2026-03-05T08:00:00.000Z", generatedText="The calm.", input="Let it pass.")
    return story


async def runs_of(ed: Editor) -> RunsScreen:
    await ed.press("L")
    await ed.until(lambda: isinstance(ed.app.screen, RunsScreen), "the runs")
    screen = ed.app.screen
    assert isinstance(screen, RunsScreen)
    await ed.until(lambda: screen._complete, "the list")
    return screen


async def shown(ed: Editor, screen: RunsScreen, run_id: str) -> None:
    await ed.until(lambda: screen._detail is not None and screen._detail.record.id == run_id, run_id)
    await ed.pilot.pause()


def ids(screen: RunsScreen) -> list[str]:
    return [run.id for run in screen.runs.runs]


async def test_runs_are_listed_and_read(editor: Open, logs: Path) -> None:
    async with editor() as ed:
        screen = await runs_of(ed)
        assert ids(screen) == ["gen-mab3", "gen-mab2", "gen-mab1"]
        assert ed.shows("3 runs")
        await shown(ed, screen, "gen-mab3")
        assert ed.shows("The calm.")
        await ed.press("j")
        await shown(ed, screen, "gen-mab2")
        assert ed.shows("What went wrong") and ed.shows("HTTP 529: overloaded") and ed.shows("No answer")
        assert not control_characters(ed.lines())
        await ed.press("j", "enter")
        await shown(ed, screen, "gen-mab1")
        assert ed.focus == "run" and not ed.shows("A storm is wanted.")
        view = ed.app.screen.query_one(FoldView)
        call = next(section for section in view.sections if "ch-bafego" in section.title)
        while view.current is not call:
            await ed.press("J")
        await ed.press("z")
        assert ed.shows("id: ch-bafego") and not view.folded(call)
        await ed.press("Z")
        assert ed.shows("A storm is wanted.") and ed.shows("log gen-mab1")
        await ed.press("Z")
        assert not ed.shows("A storm is wanted.")
        await ed.press("p")
        assert ed.focus == "sent" and ed.shows("Its blocks were not recorded")
        assert ed.app.screen.query_one(PromptView).text == "You write.\n\n## Recent\n\nThe quay."
        await ed.press("escape")
        assert ed.focus == "runs"
        await ed.press("escape")
        assert ed.app.screen is ed.desk


async def test_headings_fold_with_the_mouse_and_rows_are_marked(editor: Open, logs: Path) -> None:
    async with editor() as ed:
        screen = await runs_of(ed)
        await shown(ed, screen, "gen-mab3")
        view = screen.run_view
        assert view.folded(view.sections[0])
        await ed.pilot.click(view, offset=(3, 0))
        assert not view.folded(view.sections[0]) and ed.shows("log gen-mab3")
        await ed.pilot.click(screen.runs, offset=(2, 2))
        assert screen.runs.marked == ("gen-mab2",)
        await ed.pilot.click(screen.runs, offset=(20, 3))
        await shown(ed, screen, "gen-mab1")
        await ed.pilot.click(screen.runs, offset=(20, 3))
        assert ed.focus == "run"
        await ed.press("escape", "escape")
        assert screen.runs.marked == () and ed.app.screen is screen


async def test_the_filter(editor: Open, logs: Path) -> None:
    async with editor() as ed:
        screen = await runs_of(ed)
        for text, found in (
            ("is:failed", ["gen-mab2"]),
            ("agent:writer pass", ["gen-mab3"]),
            ("= nobody saw", ["gen-mab1"]),
            ("nowhere", []),
        ):
            await ed.press("slash")
            ed.app.screen.query_one("#filter", Input).value = text
            await ed.until(lambda found=found: ids(screen) == found, text)
        assert ed.shows("no run meets the filter")
        await ed.press("enter")
        assert ed.focus == "runs"
        await ed.press("escape")
        await ed.until(lambda: len(ids(screen)) == 3)
        assert not screen.query_one("#filter").display


async def test_two_runs_are_compared(editor: Open, logs: Path) -> None:
    async with editor() as ed:
        screen = await runs_of(ed)
        await ed.press("v", "j", "j", "d")
        await ed.until(lambda: isinstance(ed.app.screen, RunDiffScreen), "the comparison")
        await ed.until(lambda: ed.shows("Nothing differs between 2026-01-05"))
        await ed.press("2")
        await ed.until(lambda: ed.shows("+ The calm."))
        assert ed.shows("− The storm came.") and ed.shows("answer")
        await ed.press("y")
        assert ed.said
        await ed.press("escape")
        assert ed.app.screen is screen and screen.runs.marked == ("gen-mab3",)


async def test_a_run_is_compared_with_the_prompt_as_it_is_now(editor: Open, logs: Path) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("e")
        await ed.type("Very ")
        await ed.press("escape")
        screen = await runs_of(ed)
        await ed.press("d")
        await ed.until(lambda: isinstance(ed.app.screen, RunDiffScreen), "the comparison")
        await ed.until(lambda: ed.shows("2 blocks differ"))
        assert ed.shows("were not recorded") and ed.shows("the prompt as it is now")
        assert ed.app.screen.comparison is not None
        assert "Very Short sentences." in ed.app.screen.comparison.text
        await ed.press("2")
        assert "no answer yet" in ed.said
        await ed.press("escape")
        assert ed.app.screen is screen


async def test_a_run_is_replayed(editor: Open, logs: Path) -> None:
    async with editor() as ed:
        screen = await runs_of(ed)
        await ed.press("end", "r")
        await ed.until(lambda: isinstance(ed.app.screen, ReplayScreen), "the replay")
        view = ed.app.screen.query_one(StreamView)
        await ed.press("p")
        assert ed.shows("paused")
        await ed.press("e")
        assert ed.shows("at the end")
        places = [
            view.text.index(text)
            for text in ("readFragments", "read gl-tonare", OLD["prewriterBrief"], OLD["reasoning"], "it is locked")
        ]
        assert places == sorted(places) and view.text.endswith(OLD["generatedText"])
        await ed.press("r", "s")
        assert ed.shows("6 words a second")
        await ed.press(*["f"] * 6)
        await ed.until(lambda: ed.shows("at the end"), "the end")
        assert view.text.endswith(OLD["generatedText"])
        await ed.press("escape")
        assert ed.app.screen is screen


async def test_usage_is_shown_and_a_bad_file_told_of(editor: Open, logs: Path) -> None:
    counts = {"inputTokens": 12000, "outputTokens": 5, "calls": 2}
    file = logs / "token-usage.json"
    file.write_text(json.dumps({"sources": {"generation.writer": {**counts, "byModel": {"m": counts}}, "x": 1}}))
    async with editor(size=(80, 24)) as ed:
        screen = await runs_of(ed)
        await ed.press("u")
        await ed.until(lambda: isinstance(ed.app.screen, UsageDialog), "the usage")
        await ed.until(lambda: ed.shows("generation.writer"), "what it shows")
        assert ed.shows("12,000") and ed.shows("sources.x")
        await ed.press("escape")
        file.write_text("{")
        await ed.press("u")
        await ed.until(lambda: any("token-usage.json" in toast for toast in ed.toasts))
        assert ed.app.screen is screen


async def test_a_run_is_made_again(editor: Open, logs: Path) -> None:
    async with editor() as ed:
        screen = await runs_of(ed)
        await ed.press("g")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog), "the choice")
        assert ed.shows("as it is set now: the rehearsal")
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen), "the generate screen")
        await ed.until(lambda: ed.shows("Let it pass."))
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("keep it, discard it"))
        await ed.press("ctrl+s")
        await ed.until(lambda: "kept as" in ed.said)
        await ed.press("escape")
        if ed.app.screen is not screen:
            await ed.press("escape")
        await ed.until(lambda: ed.app.screen is screen and len(ids(screen)) == 4, "the new run")
        assert screen.runs.current is not None and screen.runs.current.id == "gen-mab3"
        assert screen.runs.runs[0].input == "Let it pass."


async def test_a_run_is_made_again_with_another_model(editor: Open, logs: Path, tmp_path: Path) -> None:
    write_providers(tmp_path / "config", f"{PROVIDERS}\n[providers.bad]\nbase_url = 7\n")
    async with editor() as ed:
        await runs_of(ed)
        await ed.press("g")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog), "the choice")
        await ed.until(lambda: ed.shows("! ") and ed.shows("providers.bad"), "what is wrong with the file")
        providers = [provider for provider in ed.workspace.models.providers().all if provider.enabled and provider.file]
        other = providers[-1]
        await ed.press(*["down"] * len(providers), "enter")
        await ed.until(lambda: isinstance(ed.app.screen, NameDialog), "the models")
        await ed.type("my-model")
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen), "the generate screen")
        await ed.until(lambda: ed.shows(f"{other.id} · my-model"))


async def test_copying(editor: Open, logs: Path) -> None:
    async with editor() as ed:
        await runs_of(ed)
        await ed.press("y")
        await ed.until(lambda: ed.said.startswith("answer: "))
        assert ed.app.clipboard == "The calm."
        await ed.press("Y")
        await ed.until(lambda: ed.said.startswith("prompt: "))
        assert ed.app.clipboard.startswith("You write.")


async def test_bad_logs_are_told_of_and_little_room_is_enough(editor: Open, logs: Path) -> None:
    (logs / "branches/main/generation-logs/gen-bad.json").write_text("{")
    language.use("zh")
    try:
        async with editor(size=(40, 12)) as ed:
            screen = await runs_of(ed)
            await ed.until(lambda: "gen-bad.json" in ed.said)
            assert "过往运行" in ed.grid() or ed.shows("3")
            await ed.press("enter")
            await shown(ed, screen, "gen-mab3")
            await ed.press("end")
            assert ed.shows("The calm.") and not screen.query_one("#left").display
            for width, height in ((10, 3), (80, 24), (200, 60), (40, 12)):
                await ed.pilot.resize_terminal(width, height)
                await ed.pilot.pause()
            if ed.said:  # a click takes a message away
                await ed.pilot.click(KeyBar, offset=(40 - 6, 0))
            await ed.pilot.click(KeyBar, offset=(40 - 6, 0))  # the keys end with the way back
            await ed.until(lambda: ed.focus == "runs" and screen.query_one("#left").display, "the list")
    finally:
        language.use("en")


async def test_whatever_stands_in_a_log_is_shown_inert(editor: Open, logs: Path) -> None:
    nasty = f"a\n{HOSTILE}\r\t{{x}} [b]"
    call = {"toolName": nasty, "args": {nasty: nasty}, "result": {"error": nasty}}
    texts = (
        "createdAt",
        "input",
        "model",
        "generatedText",
        "finishReason",
        "reasoning",
        "prewriterBrief",
        "fragmentId",
    )
    values: dict[str, Any] = {
        **dict.fromkeys(texts, nasty),
        "messages": [{"role": nasty, "content": nasty}],
        "toolCalls": [call],
        "prewriterDirections": [{"title": nasty, "instruction": nasty}],
        "stonehand": {
            "agent": nasty,
            "provider": nasty,
            "mode": nasty,
            "error": {"message": nasty, "cause": nasty},
            "warnings": [nasty],
            "retries": [{"reason": nasty}],
            "requestHashes": [nasty],
        },
    }
    write_log(logs, "gen-nasty", **values)
    async with editor() as ed:
        screen = await runs_of(ed)
        assert ids(screen)[0] == "gen-nasty"
        await shown(ed, screen, "gen-nasty")
        for keys in (("enter", "Z"), ("end",), ("p",), ("escape", "d"), ("escape", "r", "e"), ("escape", "g")):
            await ed.press(*keys)
            await ed.pilot.pause()
            assert not control_characters(ed.lines()), keys
        await ed.until(lambda: ed.toasts, "the trouble with the agent")
        assert ed.app.screen is screen


async def test_runs_are_said(editor: Open, logs: Path) -> None:
    async with editor(size=(80, 24), profile=READER) as ed:
        screen = await runs_of(ed)
        await says(ed, "run 1 of 3: 2026-03-05")
        await ed.press("j")
        await says(ed, "chat, failed, some-model, 1200 in, 34 out, Ask about the lamp.")
        assert "Ask about the" in ed.lines()[ed.app.cursor_position.y]
        await ed.press("v")
        await says(ed, "run 2 of 3: marked")
        await shown(ed, screen, "gen-mab2")
        await ed.press("enter")
        await says(ed, "section 1 of 10: What went wrong")
        await ed.press("J")
        await says(ed, "section 2 of 10: chat")
        await ed.press("escape", "r")
        await ed.until(lambda: isinstance(ed.app.screen, ReplayScreen), "the replay")
        await ed.press("e")
        await ed.until(lambda: ed.shows("at the end") and ed.shows("read gl-tonare"))


async def test_no_run_yet(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        await runs_of(ed)
        assert ed.shows("there is no run yet")
        await ed.press("d", "r", "g", "y", "v", "enter", "p", "z", "J", "escape", "escape")
        assert not ed.toasts


async def test_runs_that_end_elsewhere_appear(editor: Open, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with editor() as ed:
        screen = await runs_of(ed)
        await ed.press("j")
        await shown(ed, screen, "gen-mab2")
        watching, story = ed.workspace.watching, ed.workspace.story("the-quay")
        drawn: list[int] = []
        show = screen.runs.show
        monkeypatch.setattr(screen.runs, "show", lambda runs: (drawn.append(len(runs)), show(runs)))

        async def changed(*files: Path) -> None:
            """As the watch tells it; what it leads to is over when this is."""
            read = asyncio.Event()
            follow = screen._follow

            async def followed() -> None:
                await follow()
                read.set()

            monkeypatch.setattr(screen, "_follow", followed)
            await asyncio.to_thread(watching._tell, story, frozenset(files))
            await asyncio.wait_for(read.wait(), 10)
            monkeypatch.setattr(screen, "_follow", follow)

        await changed(write_log(logs, "gen-mab4", createdAt="2026-04-05T08:00:00.000Z"))
        assert ids(screen) == ["gen-mab4", "gen-mab3", "gen-mab2", "gen-mab1"] and drawn == [4]
        assert screen.runs.current is not None and screen.runs.current.id == "gen-mab2"
        assert "4 runs" in ed.lines()[0]
        await changed(write_log(logs, "gen-mab4", createdAt="2026-04-05T08:00:00.000Z"))
        assert drawn == [4], "nothing is drawn where nothing changed"
        file = write_log(logs, "gen-mab2", **{**FAILED, "input": "Ask again."})
        await changed(file)
        await ed.until(lambda: screen._detail is not None and screen._detail.record.input == "Ask again.")
        file.unlink()
        await changed(file.parent)
        assert "gen-mab2" not in ids(screen)
        posted = screen.post_message
        monkeypatch.setattr(screen, "post_message", lambda message: pytest.fail(f"{message}"))
        watching._tell(story, frozenset({logs / "branches/main/fragments/pr-aaaa00.json"}))
        monkeypatch.setattr(screen, "post_message", posted)
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.until(lambda: screen._on_engine_change not in watching._listeners)
