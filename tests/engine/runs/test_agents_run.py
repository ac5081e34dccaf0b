"""Every agent at work: tools, the prewriter, decisions of the author, records."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.agents import agents
from engine.errors import NotFound, StonehandError, WrongInput
from engine.models.wire.base import Failure, Start, Stop, Text, Usage
from engine.models.wire.events import Retry, ToolArgs, ToolStart
from engine.runs import Run, UnkeptPassages, read_log
from engine.runs.records import RunRecords
from engine.runs.replaying import replay_steps
from engine.tools import Span
from engine.tools.collected import analysis_of
from engine.workspace import Workspace
from engine.workspace.generation import AnalysisNotice, planning_steps
from tests.engine.conftest import STORY, WRITER
from tests.engine.runs.scripted import Scripted, Step, calls, says
from tests.stories import fragment

DIRECTION = {"title": "Leave", "description": "They go.", "instruction": "Let them go."}
PACED = [{**DIRECTION, "pacing": pacing} for pacing in ("linger", "continue", "end")]
QUESTION = {"questions": [{"question": "Who sees it?", "header": "Witness"}]}


@pytest.fixture
def rich(story: Path) -> Path:
    """The story with a character and something known."""
    folder = story / "branches/main/fragments"
    for document in (
        fragment("ch-bafego", "character", name="Ines", content="Ines keeps the light."),
        fragment("kn-mirafa", "knowledge", name="The light", content="It costs $5."),
    ):
        (folder / f"{document['id']}.json").write_text(json.dumps(document), "utf-8")
    return story


Begin = Callable[..., Run]


@pytest.fixture
def begin(workspace: Workspace, rich: Path, monkeypatch: pytest.MonkeyPatch) -> Begin:
    """Prepares a run of an agent over scripted wires: one for it, and others by agent."""

    def prepare(
        agent: str, wire: Scripted, said: str = "", others: dict[str, Scripted] | None = None, **options: Any
    ) -> Run:
        wires = {agent: wire, **(others or {})}
        monkeypatch.setattr(workspace.wires, "of", lambda prompt, *_given, **_named: wires[prompt.agent])
        session = workspace.session(STORY, agent)
        session.author_input = said
        return workspace.generation.prepare(session, **options)

    return prepare


def settings(story: Path, **more: Any) -> None:
    file = story / "meta.json"
    document = json.loads(file.read_bytes())
    document["settings"] = {**document["settings"], **more}
    file.write_text(json.dumps(document), "utf-8")


def logs(story: Path) -> list[dict[str, Any]]:
    root = story / "branches/main"
    return [dict(read_log(root, run.id)) for run in RunRecords(root).all().runs]


def content(story: Path, fragment_id: str) -> str:
    return json.loads((story / f"branches/main/fragments/{fragment_id}.json").read_bytes())["content"]


@pytest.mark.parametrize("name", [item.name for item in agents()])
def test_every_agent_runs_and_is_on_record(workspace: Workspace, rich: Path, begin: Begin, name: str) -> None:
    subject = workspace.agent(name).subject
    target = None
    if subject is not None:
        target = {"character": "ch-bafego", "prose": "pr-aaaa00"}.get((*subject.types, "")[0], "kn-mirafa")
    wire = Scripted(says("An answer."))
    run = begin(name, wire, "Do it.", fragment=target)
    view = workspace.generation.start(run).result(20)
    assert (view.phase, view.text, view.step) == ("done", "An answer.", 1)
    assert {tool.name for tool in wire.requests[0].tools} >= set(run.prompt.tools)
    (log,) = logs(rich)
    assert (log["generatedText"], log["fragmentId"], log["stonehand"]["agent"]) == ("An answer.", None, name)
    assert log["stonehand"]["usage"]["cachedTokens"] == 40 and log["stonehand"]["requestHashes"] == ["hash"]
    assert len(log["stonehand"]["configHash"]) == 64 and log["id"] == view.log_id


def test_the_tool_loop(workspace: Workspace, rich: Path, begin: Begin) -> None:
    told: list[dict[str, Any]] = []
    wire = Scripted(
        calls(("readFragments", {"fragmentIds": ["kn-mirafa"]}), ("noSuchTool", {}), text="Let me look."),
        says("It costs five."),
    )
    run = begin(WRITER, wire, "Go.", on_event=lambda event: told.append(event.as_json()))
    view = workspace.generation.start(run).result(20)
    assert (view.text, view.step, view.input_tokens, view.output_tokens, view.cached_tokens) == (
        "Let me look.\n\nIt costs five.",
        2,
        200,
        20,
        80,
    )
    assert [(call.name, call.failed) for call in view.calls] == [("readFragments", False), ("noSuchTool", True)]
    first, second = wire.requests
    added = second.messages[len(first.messages) :]
    assert [message.role for message in added] == ["assistant", "tool", "tool"]
    assert [message.call_id for message in added[1:]] == ["call-0", "call-1"]
    assert "It costs $5." in added[1].content and added == run.added[:3]
    kinds = [event["type"] for event in told if event["type"] != "progress"]
    assert kinds == ["text", "tool-call", "tool-result", "tool-call", "tool-result", "text", "finish"]
    assert told[-1] == {"type": "finish", "finishReason": "stop", "stepCount": 2}
    saved = workspace.passages.keep(run)
    assert saved.fragment.meta["writerContextIds"][-1] == "kn-mirafa"
    (log,) = logs(rich)
    assert (log["fragmentId"], log["stepCount"], log["stepsExceeded"]) == (saved.fragment.id, 2, False)
    assert log["toolCalls"][0]["args"] == {"fragmentIds": ["kn-mirafa"]}


def test_steps_are_bounded_by_the_story(workspace: Workspace, rich: Path, begin: Begin) -> None:
    settings(rich, maxSteps=2)
    run = begin(WRITER, Scripted(calls(("readStorySummary", {}))))
    view = workspace.generation.start(run).result(20)
    assert (view.step, view.max_steps, view.steps_exceeded, run.finish_reason) == (2, 2, True, "tool-calls")
    assert logs(rich)[0]["stepsExceeded"] is True


def test_a_call_that_is_cut_off_is_told_of_and_the_turn_goes_on(workspace: Workspace, begin: Begin) -> None:
    cut: list[Step] = [
        Start("m"),
        Text("So"),
        ToolStart(0, "a", "readFragments"),
        ToolArgs(0, '{"fragm'),
        Stop("max_tokens"),
    ]
    wire = Scripted(cut, says("Done."))
    view = workspace.generation.start(begin(WRITER, wire)).result(20)
    assert (view.text, view.phase) == ("SoDone.", "done")
    assistant, note = wire.requests[1].messages[-2:]
    assert (assistant.content, assistant.calls) == ("So", ()) and "readFragments was cut off" in note.content


def test_a_paused_answer_goes_on_where_it_stopped(workspace: Workspace, begin: Begin) -> None:
    wire = Scripted(says("Half a ", reason="pause"), says("sentence."))
    view = workspace.generation.start(begin(WRITER, wire)).result(20)
    assert view.text == "Half a sentence." and wire.requests[1].messages[-1].content == "Half a "


def test_a_refusal_is_told(workspace: Workspace, begin: Begin) -> None:
    refused: list[Step] = [Start("m"), Stop("refusal", "refusal", "not this")]
    run = begin(WRITER, Scripted(refused))
    view = workspace.generation.start(run).result(20)
    assert run.finish_reason == "content-filter" and "refused to answer: not this" in view.warnings[0]


def test_a_model_that_takes_no_tools_goes_without(workspace: Workspace, begin: Begin) -> None:
    refusal = Failure("bad_request", "refused", 400, said="m does not support tools")
    wire = Scripted([refusal], says("Text."))
    view = workspace.generation.start(begin(WRITER, wire)).result(20)
    assert (view.phase, view.text, view.step) == ("done", "Text.", 1)
    assert wire.requests[0].tools and not wire.requests[1].tools and "takes no tools" in view.warnings[0]


def test_a_failure_is_told_whole_and_recorded(workspace: Workspace, rich: Path, begin: Begin) -> None:
    told: list[dict[str, Any]] = []
    failure = Failure("throttled", "too fast", 429, 20.0, "req-9", "slow down", cause="a limit", advice="wait")
    retried = Retry(Failure("overloaded", "busy"), 0.0, 1)
    run = begin(
        WRITER, Scripted([retried, Start("m"), Text("Half"), failure]), on_event=lambda e: told.append(e.as_json())
    )
    view = workspace.generation.start(run).result(20)
    assert (view.phase, view.failure, view.error) == ("failed", "too fast", failure)
    error = next(event for event in told if event["type"] == "error")
    assert (error["status"], error["retryAfter"], error["requestId"], error["said"]) == (
        429,
        20.0,
        "req-9",
        "slow down",
    )
    (log,) = logs(rich)
    assert log["stonehand"]["error"]["advice"] == "wait" and log["finishReason"] == "error"
    assert log["stonehand"]["retries"] == [{"reason": "busy", "seconds": 0.0}] and log["generatedText"] == "Half"


def test_stopped_in_a_tool_its_call_is_answered(
    workspace: Workspace, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.tools.offering import CORE

    reached, go_on = threading.Event(), threading.Event()

    def slow(_given: Any, _host: Any) -> Any:
        reached.set()
        go_on.wait(20)

    monkeypatch.setitem(CORE["readStorySummary"].__dict__, "handle", slow)
    run = begin(WRITER, Scripted(calls(("readStorySummary", {}), ("listFragmentTypes", {}))))
    future = workspace.generation.start(run)
    assert reached.wait(10) and run.view().phase == "tool" and run.view().tool == "readStorySummary"
    run.stop()
    view = future.result(10)
    go_on.set()
    assert view.phase == "stopped"
    assert [message.role for message in run.added] == ["assistant", "tool", "tool"]
    assert all("no result" in message.content for message in run.added[1:])


# -- changes


EDIT = (
    "editFragments",
    {"operations": [{"op": "replace_text", "fragmentId": "kn-mirafa", "oldText": "$5", "newText": "$6"}]},
)


def waits_for(workspace: Workspace, run: Run, phase: str) -> Any:
    import time

    future = workspace.generation.start(run)
    end = time.monotonic() + 10
    while run.view().phase != phase and time.monotonic() < end:
        time.sleep(0.005)
    assert run.view().phase == phase, run.view()
    return future


@pytest.mark.parametrize("accept", [True, False])
def test_changes_wait_for_the_author(workspace: Workspace, rich: Path, begin: Begin, accept: bool) -> None:
    wire = Scripted(calls(EDIT), says("Done."))
    run = begin("librarian.refine", wire, "Dearer.", fragment="kn-mirafa")
    future = waits_for(workspace, run, "asking")
    (plan,) = run.view().waiting_plans
    assert plan.waits and plan.plan.changes[0].after.content == "It costs $6."
    assert content(rich, "kn-mirafa") == "It costs $5."
    with pytest.raises(NotFound):
        run.decide("plan-7", True)
    run.decide(plan.id, accept)
    view = future.result(10)
    assert view.plans[0].decision == ("applied" if accept else "declined")
    assert content(rich, "kn-mirafa") == ("It costs $6." if accept else "It costs $5.")
    assert ("declined" in wire.requests[1].messages[-1].content) is not accept
    with pytest.raises(WrongInput):
        run.decide(plan.id, True)


def test_a_plan_of_a_run_that_was_stopped_can_still_be_accepted(workspace: Workspace, rich: Path, begin: Begin) -> None:
    run = begin("librarian.refine", Scripted(calls(EDIT)), "Dearer.", fragment="kn-mirafa")
    future = waits_for(workspace, run, "asking")
    run.stop()
    assert future.result(10).phase == "stopped" and content(rich, "kn-mirafa") == "It costs $5."
    run.decide("plan-1", True)
    assert content(rich, "kn-mirafa") == "It costs $6." and run.view().plans[0].decision == "applied"


@pytest.mark.parametrize("at_once", [False, True])
def test_a_plan_can_be_decided_as_soon_as_it_is_seen(
    workspace: Workspace, rich: Path, begin: Begin, at_once: bool
) -> None:
    settings(rich, autoApplyLibrarianSuggestions=at_once)
    run = begin("librarian.chat", Scripted(calls(EDIT), says("Done.")), "Go.")
    refused: list[str] = []

    class Seen(dict[str, Any]):
        def __setitem__(self, plan_id: str, planned: Any) -> None:
            super().__setitem__(plan_id, planned)
            try:
                run.decide(plan_id, True)
            except WrongInput as error:
                refused.append(str(error))

    run._plans = Seen()
    view = workspace.generation.start(run).result(10)
    assert view.text == "Done." and [plan.decision for plan in view.plans] == ["applied"]
    assert content(rich, "kn-mirafa") == "It costs $6." and bool(refused) is at_once, "what applies itself is decided"


@pytest.mark.parametrize("at_once", [False, True])
def test_what_was_changed_is_taken_back_once(workspace: Workspace, rich: Path, begin: Begin, at_once: bool) -> None:
    settings(rich, autoApplyLibrarianSuggestions=at_once)
    changes, refine = workspace.changes, (STORY, "main", "librarian.refine")
    run = begin("librarian.refine", Scripted(calls(EDIT), says("Done.")), "Dearer.", fragment="kn-mirafa")
    if at_once:
        workspace.generation.start(run).result(10)
    else:
        future = waits_for(workspace, run, "asking")
        assert changes.last(*refine) is None
        run.decide("plan-1", True)
        future.result(10)
    applied = run.view().plans[0].applied
    assert applied is not None and changes.last(*refine) is applied and not changes.is_taken_back(applied)
    with pytest.raises(NotFound):
        changes.take_back(STORY, "main", "librarian.chat")
    undone = changes.take_back(*refine)
    assert content(rich, "kn-mirafa") == "It costs $5." and not undone.problems
    assert changes.is_taken_back(applied) and changes.last(*refine) is None
    with pytest.raises(NotFound):
        changes.take_back(*refine)


def test_what_was_changed_since_stays(workspace: Workspace, rich: Path, begin: Begin) -> None:
    settings(rich, autoApplyLibrarianSuggestions=True)
    run = begin("librarian.refine", Scripted(calls(EDIT), says("Done.")), "Dearer.", fragment="kn-mirafa")
    workspace.generation.start(run).result(10)
    file = rich / "branches/main/fragments/kn-mirafa.json"
    file.write_text(file.read_text("utf-8").replace("$6.", "$7."), "utf-8")
    undone = workspace.changes.take_back(STORY, "main", "librarian.refine")
    assert undone.problems and not undone.edits and content(rich, "kn-mirafa") == "It costs $7."


def test_a_brief_that_only_a_log_has_is_left_over(workspace: Workspace, rich: Path, begin: Begin) -> None:
    settings(rich, generationMode="prewriter")
    passages = workspace.passages
    assert passages.unfinished(STORY, "main") is None

    def failing() -> None:
        broken = Scripted((Failure("overloaded", "too busy"),))
        run = begin(WRITER, broken, "Go on.", {"generation.prewriter": Scripted(says("Light it."))})
        assert workspace.generation.start(run).result(10).phase == "failed"

    failing()
    left = passages.unfinished(STORY, "main")
    assert left is not None and (left.mode, left.target, left.brief) == ("generate", None, "Light it.")
    passages.remember_unfinished(STORY, "main", None)
    assert passages.unfinished(STORY, "main") is None, "it was put away"
    failing()
    assert passages.unfinished(STORY, "main") is not None
    settings(rich, generationMode="standard")
    assert passages.unfinished(STORY, "main") is None, "nothing is written from a brief"
    settings(rich, generationMode="prewriter")
    run = begin(WRITER, Scripted(says("It is lit.")), "Go on.", {"generation.prewriter": Scripted(says("Light it."))})
    workspace.generation.start(run).result(10)
    assert passages.unfinished(STORY, "main") is None, "something was written since"


def test_changes_are_applied_at_once_where_the_story_says_so(workspace: Workspace, rich: Path, begin: Begin) -> None:
    settings(rich, autoApplyLibrarianSuggestions=True)
    run = begin("librarian.refine", Scripted(calls(EDIT), says("Done.")), "Dearer.", fragment="kn-mirafa")
    assert workspace.generation.start(run).result(20).plans[0].decision == "applied"
    assert content(rich, "kn-mirafa") == "It costs $6."


# -- the prewriter


@pytest.fixture
def planned(rich: Path) -> Path:
    settings(rich, generationMode="prewriter", clarifyBeforeGenerate=True)
    return rich


PLANNER = "generation.prewriter"


def test_the_prewriter_plans_and_the_writer_writes(workspace: Workspace, planned: Path, begin: Begin) -> None:
    told: list[dict[str, Any]] = []
    planner = Scripted(
        calls(("readFragments", {"fragmentIds": ["kn-mirafa"]}), text="Looking."),
        says("## Writing Brief\n\nThe lamp fails."),
    )
    writer = Scripted(says("It went dark."))
    run = begin(WRITER, writer, "Put it out.", {PLANNER: planner}, on_event=lambda event: told.append(event.as_json()))
    view = workspace.generation.start(run).result(20)
    assert (view.text, view.brief, view.input_tokens) == ("It went dark.", "The lamp fails.", 300)
    planning = "".join(message.content for message in planner.requests[0].messages)
    sent = "".join(message.content for message in writer.requests[0].messages)
    assert "CONTINUE" in planning and "Put it out." in planning and "## Full Story Context" in planning
    assert "## Writing Brief\n\nThe lamp fails." in sent and "Put it out." not in sent
    kinds = [event["type"] for event in told if event["type"] not in ("progress", "tool-call", "tool-result")]
    assert kinds == ["phase", "prewriter-text", "prewriter-reset", "prewriter-text", "phase", "text", "finish"]
    saved = workspace.passages.keep(run)
    assert "kn-mirafa" in saved.fragment.meta["writerContextIds"]
    (log,) = logs(planned)
    assert log["prewriterBrief"] == "The lamp fails." and log["prewriterModel"] == "m-1"
    assert log["prewriterUsage"] == {"inputTokens": 200, "outputTokens": 20}
    assert log["totalUsage"] == {"inputTokens": 100, "outputTokens": 10}
    assert log["prewriterToolCalls"][0]["toolName"] == "readFragments" and log["stepCount"] == 3


def test_an_empty_brief_leaves_the_whole_context(workspace: Workspace, planned: Path, begin: Begin) -> None:
    writer = Scripted(says("Text."))
    run = begin(WRITER, writer, "Put it out.", {PLANNER: Scripted(says("Writing Brief:\n"))})
    view = workspace.generation.start(run).result(20)
    sent = "".join(message.content for message in writer.requests[0].messages)
    assert "Put it out." in sent and "## Writing Brief" not in sent and "brief is empty" in view.warnings[0]


def test_the_author_can_rewrite_the_brief(workspace: Workspace, planned: Path, begin: Begin) -> None:
    writer = Scripted(says("Text."))
    run = begin(WRITER, writer, "", {PLANNER: Scripted(says("Theirs."))}, review_brief=True)
    future = waits_for(workspace, run, "asking")
    assert run.view().reviewing and run.view().brief == "Theirs."
    run.use_brief("Mine.")
    assert future.result(10).brief == "Mine."
    assert "Mine." in writer.requests[0].messages[-1].content
    with pytest.raises(WrongInput):
        run.use_brief("late")


def test_a_passage_is_written_from_a_brief_without_another_plan(
    workspace: Workspace, planned: Path, begin: Begin
) -> None:
    writer, planner = Scripted(says("Text.")), Scripted(says("Never."))
    run = begin(WRITER, writer, "Put it out.", {PLANNER: planner}, brief="Mine.\n")
    view = workspace.generation.start(run).result(20)
    sent = "".join(message.content for message in writer.requests[0].messages)
    assert "## Writing Brief\n\nMine." in sent and "Put it out." not in sent and not planner.requests
    assert (view.brief, logs(planned)[0]["prewriterBrief"]) == ("Mine.", "Mine.")
    settings(planned, generationMode="standard")
    with pytest.raises(WrongInput, match="plans its passages"):
        begin(WRITER, writer, brief="Mine.")


def test_a_brief_that_was_being_changed_is_not_lost(
    workspace: Workspace, planned: Path, begin: Begin, tmp_path: Path
) -> None:
    run = begin(WRITER, Scripted(says("Text.")), "", {PLANNER: Scripted(says("Theirs."))}, review_brief=True)
    run.draft_brief("too early")
    future = waits_for(workspace, run, "asking")
    run.draft_brief("Half of mi")
    unkept = UnkeptPassages(tmp_path / "passages")
    unkept.write(run)
    (part,) = (tmp_path / "passages").glob("*.part")
    assert part.read_text("utf-8") == "Half of mi", "whose program is killed now finds it"
    unkept.close()
    run.stop()
    assert future.result(10).brief == "Half of mi" and logs(planned)[0]["prewriterBrief"] == "Half of mi"


def test_questions_end_the_run_and_the_answers_begin_another(workspace: Workspace, planned: Path, begin: Begin) -> None:
    writer = Scripted(says("Text."))
    told: list[dict[str, Any]] = []
    asks = Scripted(calls(("askClarifyingQuestions", QUESTION)))
    run = begin(WRITER, writer, "Go.", {PLANNER: asks}, on_event=lambda event: told.append(event.as_json()))
    view = workspace.generation.start(run).result(20)
    assert (view.phase, view.finish, view.questions[0].question, writer.requests) == (
        "done",
        "clarify",
        "Who sees it?",
        [],
    )
    assert told[-2]["type"] == "clarify-questions" and told[-2]["round"] == 1
    assert told[-1]["finishReason"] == "clarify"
    steps = [step.data for step in replay_steps(workspace.runs.detail(STORY, None, run.log_id))]
    assert steps[-2:] == told[-2:] and [step["phase"] for step in steps if step["type"] == "phase"] == ["prewriting"]
    with pytest.raises(StonehandError):
        workspace.passages.keep(run)
    last = Scripted(says("Plan."))
    again = begin(
        WRITER, writer, "Go.", {PLANNER: last}, clarifications=(("Who sees it?", "Nobody."),), clarify_round=3
    )
    assert workspace.generation.start(again).result(20).text == "Text."
    assert "A: Nobody." in last.requests[0].messages[-1].content
    assert "askClarifyingQuestions" not in {tool.name for tool in last.requests[0].tools}


def test_directions_of_the_prewriter_end_its_planning(workspace: Workspace, planned: Path, begin: Begin) -> None:
    planner = Scripted(calls(("proposeDirections", {"directions": PACED}), text="The plan."))
    run = begin(WRITER, Scripted(says("Text.")), "", {PLANNER: planner})
    view = workspace.generation.start(run).result(20)
    assert [item.pacing for item in view.directions] == ["linger", "continue", "end"] and view.brief == "The plan."
    assert [item["pacing"] for item in logs(planned)[0]["prewriterDirections"]] == ["linger", "continue", "end"]


@pytest.mark.parametrize(
    ("reasoning", "steps"), [("short", (1, 2, 2)), ("normal", (1, 2, 5)), ("extensive", (1, 5, 10))]
)
def test_the_prewriters_steps(reasoning: str, steps: tuple[int, int, int]) -> None:
    assert tuple(planning_steps(most, reasoning) for most in (1, 5, 10)) == steps


# -- another version


def test_a_run_for_a_passage_is_compared_with_the_prompt_for_it(workspace: Workspace, rich: Path, begin: Begin) -> None:
    run = begin(WRITER, Scripted(says("Another.")), "Shorter.", mode="refine", fragment="pr-aaaa01")
    workspace.generation.start(run).result(20)
    assert run.target == "pr-aaaa01"
    detail = workspace.runs.detail(STORY, None, logs(rich)[0]["id"])
    assert (detail.mode, detail.target) == ("refine", "pr-aaaa01")
    assert workspace.runs.compare_with_now(STORY, None, detail).prompt.same
    (rich / "branches/main/fragments/pr-aaaa01.json").unlink()
    with pytest.raises(NotFound, match="no passage pr-aaaa01"):
        workspace.runs.compare_with_now(STORY, None, detail)


def test_a_run_from_a_brief_is_compared_with_the_prompt_from_it(
    workspace: Workspace, planned: Path, begin: Begin
) -> None:
    run = begin(WRITER, Scripted(says("Text.")), "Go.", {PLANNER: Scripted(says("The plan."))})
    workspace.generation.start(run).result(20)
    detail = workspace.runs.detail(STORY, None, logs(planned)[0]["id"])
    assert workspace.runs.compare_with_now(STORY, None, detail).prompt.same


@pytest.mark.parametrize("mode", ["regenerate", "refine"])
def test_another_version_joins_its_section(workspace: Workspace, rich: Path, begin: Begin, mode: Any) -> None:
    file = rich / "branches/main/fragments/pr-aaaa01.json"
    document = json.loads(file.read_bytes())
    document |= {"tags": ["kept"], "meta": {"mine": 1, "_librarian": {"summary": "stale"}}}
    file.write_text(json.dumps(document), "utf-8")
    old = content(rich, "pr-aaaa01")
    wire = Scripted(says("Another."))
    run = begin(WRITER, wire, "Shorter.", mode=mode, fragment="pr-aaaa01")
    workspace.generation.start(run).result(20)
    sent = wire.requests[0].messages[-1].content
    assert (f"---\n\n{old}\n\n---" in sent) is (mode == "refine") and sent.count(old) == (mode == "refine")
    saved = workspace.passages.keep(run).fragment
    title = {"regenerate": "Regenerate", "refine": "Refine"}[mode]
    assert (saved.name, saved.tags, saved.meta["generatedFrom"]) == (f"[{title}] Shorter.", ("kept",), "Shorter.")
    assert (saved.meta["variationOf"], saved.meta["previousFragmentId"], saved.meta["generationMode"]) == (
        "pr-aaaa01",
        "pr-aaaa01",
        mode,
    )
    assert saved.meta["mine"] == 1 and "_librarian" not in saved.meta
    chain = json.loads((rich / "branches/main/prose-chain.json").read_bytes())["entries"]
    assert chain[-1] == {"proseFragments": ["pr-aaaa01", saved.id], "active": saved.id} and len(chain) == 2


def test_what_does_not_fit_is_refused(begin: Begin) -> None:
    wire = Scripted(says("x"))
    for agent, options, told in (
        (WRITER, {"mode": "refine", "fragment": "pr-aaaa01"}, "say what is to be changed"),
        (WRITER, {"mode": "regenerate"}, "a passage has to be chosen"),
        (WRITER, {"mode": "regenerate", "fragment": "ch-bafego"}, "no passage ch-bafego"),
        ("librarian.refine", {}, "needs a fragment"),
    ):
        with pytest.raises(StonehandError, match=told):
            begin(agent, wire, **options)


# -- agents below agents, and the analysis

REPORT = ("reportAnalysis", {"summary": "The lamp burns.", "mentions": [{"fragmentId": "ch-bafego", "text": "Ines"}]})


def test_an_agent_invokes_another(workspace: Workspace, rich: Path, begin: Begin) -> None:
    chat = Scripted(calls(("invokeAgent", {"agent": "directions.suggest", "input": "Ideas?"})), says("There."))
    below = Scripted(calls(("proposeDirections", {"directions": [DIRECTION] * 3})))
    run = begin("librarian.chat", chat, "What next?", {"directions.suggest": below})
    view = workspace.generation.start(run).result(20)
    assert view.text == "There." and not view.calls[0].failed
    assert json.loads(chat.requests[1].messages[-1].content)["directions"][0]["title"] == "Leave"
    assert chat.requests[0].messages[-1].content == "What next?"
    assert {log["stonehand"]["agent"] for log in logs(rich)} == {"librarian.chat", "directions.suggest"}


def test_directions_that_are_written_instead_of_called_for(workspace: Workspace, rich: Path, begin: Begin) -> None:
    told: list[str] = []
    wire = Scripted(says("Three:\n", json.dumps([DIRECTION] * 3)))
    run = begin("directions.suggest", wire, on_event=lambda event: told.append(event.as_json()["type"]))
    view = workspace.generation.start(run).result(20)
    assert [item.document() for item in view.directions] == [DIRECTION] * 3 and "directions" in told
    run = begin("directions.suggest", Scripted(says("They leave.")))
    assert workspace.generation.start(run).result(20).directions == ()


def test_an_analysis_is_saved(workspace: Workspace, rich: Path, begin: Begin) -> None:
    run = begin("librarian.analyze", Scripted(calls(REPORT, ("finishAnalysis", {}))), fragment="pr-aaaa01")
    view = workspace.generation.start(run).result(20)
    assert (view.step, run.finish_reason) == (1, "stop") and run.analysis_id
    written = json.loads((rich / f"branches/main/librarian/analyses/{run.analysis_id}.json").read_bytes())
    assert (written["fragmentId"], written["summaryUpdate"]) == ("pr-aaaa01", "The lamp burns.")
    assert logs(rich)[0]["stonehand"]["analysisId"] == run.analysis_id


def test_after_a_save_the_latest_passage_is_analyzed(
    workspace: Workspace, rich: Path, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.workspace.generation.ANALYZE_AFTER", 0.05)
    wire = Scripted(calls(REPORT, ("finishAnalysis", {})))
    begin("librarian.analyze", wire, fragment="pr-aaaa01")  # the wire is in place
    generation = workspace.generation
    assert not generation.analyze_after_save(STORY, "main", "pr-aaaa00")  # nobody to do it
    provider = {"id": "mine", "name": "M", "baseURL": "http://127.0.0.1:9/v1", "apiKey": "k", "defaultModel": "m"}
    config = {"providers": [provider], "defaultProviderId": "mine"}
    (workspace.data / "config.json").write_text(json.dumps(config), "utf-8")
    told: list[AnalysisNotice] = []
    ended = threading.Event()
    workspace.watching.listen_to_analyses(lambda notice: (told.append(notice), ended.set()))
    assert generation.analyze_after_save(STORY, "main", "pr-aaaa00")
    assert generation.analyze_after_save(STORY, "main", "pr-aaaa01")
    assert ended.wait(10) and len(wire.requests) == 1
    assert [(notice.fragment_id, notice.problem) for notice in told] == [("pr-aaaa01", None)]
    settings(rich, disableLibrarianAutoAnalysis=True)
    workspace.story(STORY).invalidate()
    assert not generation.analyze_after_save(STORY, "main", "pr-aaaa01")
    settings(rich, disableLibrarianAutoAnalysis=False)
    workspace.story(STORY).invalidate()
    monkeypatch.setattr("engine.workspace.generation.ANALYZE_AFTER", 60.0)
    assert generation.analyze_after_save(STORY, "main", "pr-aaaa01")
    generation.drop_analysis(STORY, "main", "pr-aaaa00")
    _, waiting = generation._due[STORY, "main"]
    generation.drop_analysis(STORY, "main", "pr-aaaa01")
    assert waiting.cancelled() and not generation._due, "a passage that was taken back is not analyzed"
    workspace.edit(STORY, "librarian.analyze", None, lambda session: session.set_auto_analysis(False))
    assert not generation.analyze_after_save(STORY, "main", "pr-aaaa01")


def test_a_pending_analysis_does_not_hold_up_closing(workspace: Workspace, rich: Path) -> None:
    provider = {"id": "mine", "name": "M", "baseURL": "http://127.0.0.1:9/v1", "apiKey": "k", "defaultModel": "m"}
    (workspace.data / "config.json").write_text(
        json.dumps({"providers": [provider], "defaultProviderId": "mine"}), "utf-8"
    )
    assert workspace.generation.analyze_after_save(STORY, "main", "pr-aaaa01")
    workspace.close()
    assert not (rich / "branches/main/librarian").exists() and logs(rich) == []


def test_closing_stops_and_records_what_runs(workspace: Workspace, rich: Path, begin: Begin) -> None:
    reached = threading.Event()
    run = begin(WRITER, Scripted([Start("m"), Text("Half"), Usage(50, 5), reached]))
    workspace.generation.start(run)
    assert reached.wait(10)
    workspace.close()
    (log,) = logs(rich)
    assert (log["generatedText"], log["stopped"], log["fragmentId"]) == ("Half", True, None)
    usage = json.loads((rich / "token-usage.json").read_bytes())
    assert usage["sources"][WRITER]["byModel"]["m"] == {"inputTokens": 50, "outputTokens": 5, "calls": 1}


TRANSFORM = "librarian.prose-transform"


def passage(story: Path, text: str, **more: Any) -> None:
    file = story / "branches/main/fragments/pr-aaaa01.json"
    document = {**json.loads(file.read_bytes()), "content": text, **more}
    file.write_text(json.dumps(document), "utf-8")


def test_a_span_is_transformed_when_the_author_accepts(workspace: Workspace, rich: Path, begin: Begin) -> None:
    passage(rich, "It rained. \n\n The lamp burned low. \nNobody came.")
    start = len("It rained.")
    wire = Scripted(says("\nThe lamp ", "guttered.\n"))
    span = Span(start, start + len(" \n\n The lamp burned low. \n"), "compress")
    run = begin(TRANSFORM, wire, "Shorter.", fragment="pr-aaaa01", span=span)
    sent = wire_text(run)
    assert "compress" in sent and "Shorter." in sent and "The lamp burned low." in sent
    assert sent.index("### Context Before") < sent.rindex("It rained.") < sent.rindex("Nobody came.")
    view = workspace.generation.start(run).result(20)
    (waiting,) = view.waiting_plans
    assert not waiting.waits and content(rich, "pr-aaaa01").startswith("It rained. \n\n The lamp burned")
    run.decide(waiting.id, True)
    file = json.loads((rich / "branches/main/fragments/pr-aaaa01.json").read_bytes())
    assert file["content"] == "It rained. \n\n The lamp guttered. \nNobody came."
    assert [(kept["content"], kept["reason"]) for kept in file["versions"]] == [
        ("It rained. \n\n The lamp burned low. \nNobody came.", "llm-proseTransform")
    ]
    assert logs(rich)[0]["stonehand"]["agent"] == TRANSFORM


def wire_text(run: Run) -> str:
    return "\n".join(message.content for message in run.prompt.messages)


@pytest.mark.parametrize(
    ("said", "more", "why"),
    [
        ("It rained.", {}, "the passage is so already"),
        ("  ", {}, "the answer holds no text"),
        ("It snowed.", {"meta": {"locked": True}}, "locked by the author"),
    ],
)
def test_an_answer_that_changes_nothing_is_told(
    workspace: Workspace, rich: Path, begin: Begin, said: str, more: dict[str, Any], why: str
) -> None:
    passage(rich, "It rained.", **more)
    run = begin(TRANSFORM, Scripted(says(said)), fragment="pr-aaaa01")
    view = workspace.generation.start(run).result(20)
    assert not view.plans and any(why in warning for warning in view.warnings)


def test_a_transformation_is_applied_at_once_where_that_is_asked(
    workspace: Workspace, rich: Path, begin: Begin
) -> None:
    passage(rich, "It rained.")
    run = begin(TRANSFORM, Scripted(says("It poured.")), fragment="pr-aaaa01", edits="apply")
    assert workspace.generation.start(run).result(20).plans[0].decision == "applied"
    assert content(rich, "pr-aaaa01") == "It poured."
    run = begin(TRANSFORM, Scripted(says("It snowed.")), fragment="pr-aaaa01", edits="apply")
    passage(rich, "The sun shone.")  # another program, meanwhile
    view = workspace.generation.start(run).result(20)
    assert content(rich, "pr-aaaa01") == "The sun shone." and "was changed by another program" in view.warnings[-1]


@pytest.mark.parametrize(
    ("span", "why"),
    [
        (Span(0, 99), "outside of the passage"),
        (Span(9, 10), "holds no text"),
        (Span(0, 4, "custom"), "say what is to be done"),
    ],
)
def test_a_span_that_can_not_be_transformed(begin: Begin, rich: Path, span: Span, why: str) -> None:
    passage(rich, "It rained ")
    with pytest.raises(WrongInput, match=why):
        begin(TRANSFORM, Scripted(says("Never.")), fragment="pr-aaaa01", span=span)
    with pytest.raises(WrongInput, match="needs a fragment of prose"):
        begin(TRANSFORM, Scripted(says("Never.")), fragment="ch-bafego")


def test_an_analysis_is_read_again_and_its_proposals_decided_on(workspace: Workspace, rich: Path, begin: Begin) -> None:
    passage(rich, "Ines lit the lamp. It cost $6.")
    change = {"op": "replace_text", "fragmentId": "kn-mirafa", "oldText": "$5", "newText": "$6"}
    other = {"op": "replace_text", "fragmentId": "ch-bafego", "oldText": "keeps", "newText": "lit"}
    found = {
        "summary": "The lamp is lit.",
        "events": ["Ines lights it."],
        "mentions": [{"fragmentId": "ch-bafego", "text": "Ines"}],
        "contradictions": [{"description": "The price.", "fragmentIds": ["kn-mirafa"]}],
        "timelineEvents": [{"event": "The lamp is lit.", "position": "during"}],
    }
    wire = Scripted(
        calls(
            ("reportAnalysis", found),
            ("proposeFragmentChanges", {"title": "The price", "operations": [change]}),
            ("proposeFragmentChanges", {"title": "Ines", "operations": [other]}),
            ("proposeDirections", {"directions": [DIRECTION]}),
            ("finishAnalysis", {}),
        )
    )
    analyses = workspace.analyses
    assert analyses.latest(STORY, "main") is None
    run = begin("librarian.analyze", wire, fragment="pr-aaaa01")
    workspace.generation.start(run).result(20)
    known = analyses.latest(STORY, "main", "pr-aaaa01")
    assert known is not None and known == analyses.read(STORY, "main", run.analysis_id)
    assert known == analyses.latest(STORY, "main") and analyses.latest(STORY, "main", "pr-aaaa00") is None
    findings = known.findings
    assert (findings.summary, findings.events) == ("The lamp is lit.", ("Ines lights it.",))
    assert [(item.fragment_id, item.text) for item in findings.mentions] == [("ch-bafego", "Ines")]
    assert findings.contradictions[0].fragment_ids == ("kn-mirafa",)
    assert findings.timeline[0].position == "during" and findings.directions[0].title == "Leave"
    assert known.names == {"ch-bafego": "Ines", "kn-mirafa": "The light"}
    assert known.open_proposals == (0, 1)
    assert analyses.plan(STORY, "main", known.id, 0).changes[0].after.content == "It costs $6."
    assert analyses.decide(STORY, "main", known.id, 0, True) == ()
    analyses.decide(STORY, "main", known.id, 1, False)
    assert content(rich, "kn-mirafa") == "It costs $6." and content(rich, "ch-bafego") == "Ines keeps the light."
    assert analyses.read(STORY, "main", known.id).open_proposals == ()
    workspace.changes.take_back(STORY, "main", "librarian.analyze")
    assert content(rich, "kn-mirafa") == "It costs $5."
    assert analyses.read(STORY, "main", known.id).open_proposals == (0,), "open again"
    with pytest.raises(NotFound, match="no proposal 9"):
        analyses.plan(STORY, "main", known.id, 8)


def test_an_analysis_of_another_program_is_read_as_far_as_it_can_be() -> None:
    found = analysis_of(
        {
            "summaryUpdate": 3,
            "structuredSummary": {"events": ["a", 1, ""], "openThreads": "no"},
            "mentions": [{"characterId": "ch-one", "text": "she"}, "no"],
            "timelineEvents": [{"event": "b", "position": ["odd"]}],
        }
    )
    assert (found.summary, found.events, found.open_threads, found.directions) == ("", ("a",), (), ())
    assert found.mentions[0].fragment_id == "ch-one" and found.timeline[0].position == "during"
