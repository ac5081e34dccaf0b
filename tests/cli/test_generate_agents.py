"""generate with the other agents and modes: what they change, propose, ask, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.workspace.wires import Wires
from tests.cli.conftest import Run, files_of
from tests.engine.runs.scripted import Scripted, calls, says
from tests.stories import make_story
from tui.commands import generating

GO = ("generate", "the-quay")
REPLACE = {"op": "replace_text", "fragmentId": "ch-bafego", "oldText": "everything twice", "newText": "once"}
REPORT = ("reportAnalysis", {"summary": "The lamp burns."})
PROPOSE = ("proposeFragmentChanges", {"title": "Her habit", "rationale": "She said so.", "operations": [REPLACE]})
QUESTIONS = [
    {"question": "Who sees it?", "header": "Witness"},
    {"question": "Which end?", "header": "End", "options": [{"label": "Flood"}, {"label": "Fire"}]},
]
ASK = calls(("askClarifyingQuestions", {"questions": QUESTIONS}))
BRIEF = says("### Scene\nThe quay at night.")

Give = Callable[..., dict[str, Scripted]]


@pytest.fixture
def wires(monkeypatch: pytest.MonkeyPatch) -> Give:
    """Gives agents scripted wires."""

    def give(**scripts: list[Any]) -> dict[str, Scripted]:
        found = {name: Scripted(*steps) for name, steps in scripts.items()}

        def wire(_self: Wires, prompt: Any, *_given: Any, **_named: Any) -> Scripted:
            return found[prompt.agent.rpartition(".")[2].replace("-", "_")]

        monkeypatch.setattr(Wires, "of", wire)
        return found

    return give


def ines(story: Path) -> str:
    return str(json.loads((story / "branches/main/fragments/ch-bafego.json").read_bytes())["content"])


@pytest.mark.parametrize("automatic", [False, True])
def test_what_an_agent_changes_is_shown_and_applied_only_with_accept_edits(
    run: Run, data: Path, wires: Give, automatic: bool
) -> None:
    story = make_story(data, settings={"autoApplyLibrarianSuggestions": automatic})
    before = ines(story)
    refine = (*GO, "refine", "--fragment", "ch-bafego", "--input", "She counts once.")
    script = [calls(("editFragments", {"operations": [REPLACE]})), says("Done.")]
    wires(refine=script)
    done = run(*refine)
    lines = done.err.splitlines()
    assert (done.code, done.text, ines(story)) == (0, "Done.\n", before)
    assert "stonehand: change character ch-bafego (Ines)" in lines
    assert [line[11:14] for line in lines if line.startswith("stonehand:   ")] == ["  c", "  -", "  +"]
    assert "--accept-edits" in lines[-1]
    wires(refine=script)
    (change,) = run(*refine, "--json").document["changes"]
    assert (change["decision"], change["changes"][0]["fragmentId"]) == ("waiting", "ch-bafego")
    assert {line["sign"] for line in change["changes"][0]["fields"]["content"]} >= {"+", "-"}
    wires(refine=script)
    done = run(*refine, "--accept-edits", "--json")
    assert (done.document["changes"][0]["decision"], done.code) == ("applied", 0)
    assert "once" in ines(story) and "changed: change character ch-bafego" in done.err


@pytest.mark.parametrize("automatic", [False, True])
def test_what_an_analysis_proposes_stays_open_until_it_is_accepted(
    run: Run, data: Path, wires: Give, automatic: bool
) -> None:
    story = make_story(data, settings={"autoApplyLibrarianSuggestions": automatic})
    before = ines(story)
    script = [calls(REPORT, PROPOSE, ("finishAnalysis", {}))]
    wires(analyze=script)
    done = run(*GO, "analyze", "--json")
    (proposal,) = done.document["proposals"]
    assert (proposal["title"], proposal["status"], proposal["changes"][0]["fragmentId"]) == (
        "Her habit",
        "open",
        "ch-bafego",
    )
    assert "Her habit: She said so." in done.err and ines(story) == before
    file = story / f"branches/main/librarian/analyses/{done.document['analysisId']}.json"
    assert "status" not in json.loads(file.read_bytes())["fragmentChangeProposals"][0]
    wires(analyze=script)
    done = run(*GO, "analyze", "--accept-edits")
    assert "once" in ines(story) and "applied: Her habit" in done.err and "not changed" not in done.err


def test_a_run_that_ends_by_its_limit_says_so(run: Run, story: Path, wires: Give) -> None:
    wires(analyze=[calls(REPORT)])
    done = run(*GO, "analyze", "--json")
    assert (done.document["steps"], done.document["stepsExceeded"]) == (3, True)
    assert "when its 3 steps were used up" in done.err


def test_as_many_directions_as_are_asked_for(run: Run, story: Path, wires: Give) -> None:
    direction = {"title": "Leave", "description": "They go.", "instruction": "Let them go."}
    wire = wires(suggest=[calls(("proposeDirections", {"directions": [direction] * 5}))])["suggest"]
    done = run(*GO, "directions.suggest", "--directions", "5", "--json")
    assert [item["title"] for item in done.document["directions"]] == ["Leave"] * 5
    assert "5" in wire.requests[0].messages[-1].content
    done = run(*GO, "directions.suggest", "--directions", "5", "--events")
    events = [json.loads(line)["type"] for line in done.text.splitlines()]
    assert events[-4:] == ["tool-call", "tool-result", "directions", "finish"]
    assert run(*GO, "directions.suggest", "--directions", "13").code == 2


def test_questions_are_told_and_answers_go_on_from_there(run: Run, data: Path, wires: Give) -> None:
    make_story(data, settings={"generationMode": "prewriter", "clarifyBeforeGenerate": True})
    write = (*GO, "--input", "A storm.")
    wires(prewriter=[ASK], writer=[says("Rain.")])
    before = files_of(data)
    done = run(*write, "--save")
    assert (done.code, done.text) == (1, "")
    assert "asked: Which end? (Flood / Fire)" in done.err and "--answer" in done.err.splitlines()[-1]
    kept = {name: text for name, text in files_of(data).items() if "logs" not in name and "usage" not in name}
    assert kept == before
    done = run(*write, "--events")
    asked = next(event for event in map(json.loads, done.text.splitlines()) if event["type"] == "clarify-questions")
    assert (asked["round"], len(asked["questions"])) == (1, 2)
    given = wires(prewriter=[BRIEF], writer=[says("Rain.")])
    done = run(*write, "--answer", "Who sees it?", "Ines", "--answer", "Which end?", "Flood", "--round", "2", "--json")
    assert (done.document["text"], done.code) == ("Rain.", 0)
    request = given["prewriter"].requests[0]
    assert "Q: Who sees it?\nA: Ines" in request.messages[-1].content
    assert "askClarifyingQuestions" in [tool.name for tool in request.tools]
    run(*write, "--answer", "Who sees it?", "Ines", "--round", "9")
    assert "askClarifyingQuestions" not in [tool.name for tool in given["prewriter"].requests[1].tools]


def test_on_a_terminal_the_questions_are_asked_at_once(
    run: Run, data: Path, wires: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_story(data, settings={"generationMode": "prewriter", "clarifyBeforeGenerate": True})
    monkeypatch.setattr(generating, "_at_terminal", lambda: True)
    given = wires(prewriter=[ASK, BRIEF], writer=[says("Rain.")])
    done = run(*GO, "--input", "A storm.", stdin=b"\n2\n")
    assert (done.code, done.text) == (0, "Rain.\n")
    assert "stonehand:   2. Fire" in done.err
    planned = given["prewriter"].requests[1].messages[-1].content
    assert "Q: Which end?\nA: Fire" in planned and "Who sees it?" not in planned
    given = wires(prewriter=[ASK], writer=[says("Rain.")])
    done = run(*GO, "--input", "A storm.", stdin=b"\n\n")
    assert (done.code, len(given["prewriter"].requests)) == (0, 1), "what nobody answers is not asked for ever"


def test_the_prewriter_by_itself(run: Run, data: Path, wires: Give) -> None:
    make_story(data, settings={"clarifyBeforeGenerate": True})
    plan = (*GO, "prewriter", "--input", "A storm.")
    wires(prewriter=[ASK, BRIEF])
    done = run(*plan, "--events")
    events = [json.loads(line) for line in done.text.splitlines()]
    assert [event["type"] for event in events][-2:] == ["clarify-questions", "finish"]
    assert (events[-2]["round"], events[-1]["finishReason"]) == (1, "clarify")
    wires(prewriter=[BRIEF])
    assert run(*plan).text == "### Scene\nThe quay at night.\n"


@pytest.mark.parametrize("mode", ["regenerate", "refine"])
def test_another_version_of_a_passage(run: Run, story: Path, wires: Give, mode: str) -> None:
    given = wires(writer=[says("Another.")])
    again = (*GO, "--mode", mode, "--fragment", "pr-aaaa00", "--input", "Shorter.")
    saved = run(*again, "--save", "--json").document["saved"]["fragmentId"]
    sent = "".join(message.content for message in given["writer"].requests[0].messages)
    assert "Shorter." in sent
    chain = json.loads((story / "branches/main/prose-chain.json").read_bytes())
    assert chain["entries"][0] == {"proseFragments": ["pr-aaaa00", saved], "active": saved}


def test_a_passage_is_transformed(run: Run, story: Path, wires: Give) -> None:
    wire = wires(prose_transform=[says("Brief.")])["prose_transform"]
    file = story / "branches/main/fragments/pr-aaaa00.json"
    before = file.read_bytes()
    transform = (*GO, "prose-transform", "--fragment", "pr-aaaa00", "--input", "Shorter.")
    done = run(*transform)
    assert (done.code, done.text, file.read_bytes()) == (0, "Brief.\n", before)
    assert "Shorter." in "".join(message.content for message in wire.requests[0].messages)
    assert "stonehand:   + Brief." in done.err.splitlines()
    assert run(*transform, "--accept-edits").code == 0
    assert json.loads(file.read_bytes())["content"] == "Brief."


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "--input"),
        (("librarian.chat",), 2, "--input"),
        (("--mode", "refine", "--input", "x"), 2, "--fragment"),
        (("--fragment", "pr-aaaa00", "--input", "x"), 2, "--mode"),
        (("analyze", "--answer", "Who?", "Ines"), 2, "asks nothing"),
        (("analyze", "--save"), 2, "--save is for"),
        (("analyze", "--fragment", "pr-none"), 1, "pr-none"),
        (("refine", "--input", "x"), 2, "choose one"),
        (("analyze", "--mode", "refine", "--fragment", "pr-aaaa00"), 2, "writes no passages"),
        (("--mode", "regenerate", "--fragment", "ch-bafego"), 1, "no passage ch-bafego"),
    ],
)
def test_what_does_not_go_together_is_told_in_a_line(
    run: Run, data: Path, story: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    before = files_of(data)
    done = run(*GO, *arguments)
    assert (done.code, done.text) == (code, "")
    assert len(done.err.splitlines()) == 1 and said in done.err
    assert files_of(data) == before


@pytest.mark.parametrize("agent", ["optimize-character", "refine"])
def test_what_has_guidance_of_its_own_needs_no_input(run: Run, story: Path, wires: Give, agent: str) -> None:
    asked = wires(**{agent.replace("-", "_"): [says("Done.")]})
    done = run(*GO, agent, "--fragment", "ch-bafego")
    (sent,) = asked[agent.replace("-", "_")].requests
    assert done.code == 0 and any("### Default Guidance" in message.content for message in sent.messages)


def test_a_refusal_is_not_saved_and_its_text_is_put_aside(run: Run, story: Path, wires: Give) -> None:
    wires(writer=[says("I can't write that.", reason="refusal"), says("", reason="refusal")])
    before = sorted((story / "branches/main/fragments").iterdir())
    done = run(*GO, "--input", "A storm.", "--save")
    told = done.err.splitlines()[-1]
    assert (done.code, done.text) == (1, "I can't write that.\n")
    assert "the model refused, so nothing was saved" in told
    assert Path(told.rpartition(" is in ")[2]).read_text("utf-8") == "I can't write that."
    assert run(*GO, "--input", "A storm.", "--save").code == 1
    assert sorted((story / "branches/main/fragments").iterdir()) == before


def test_an_empty_answer_is_told_of(run: Run, story: Path, wires: Give) -> None:
    wires(writer=[says(" ")])
    done = run(*GO, "--input", "A storm.")
    assert done.code == 1 and "the answer holds no text" in done.err
    done = run(*GO, "--input", "A storm.", "--json")
    assert done.code == 1 and done.document["text"] == " "
