"""Looking back on runs: the list, its filter, whole logs, comparisons, usage. Logs may be anything."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import InvalidFile, NotFound, StonehandError, WrongInput
from engine.models.wire.base import Start, Stop, Text, Thinking, Usage
from engine.runs import Run
from engine.runs.details import RunDetail, value_lines
from engine.runs.filtering import FILTER_WORDS, RunFilter
from engine.runs.records import RunRecords, record_of, usage_of
from engine.runs.replaying import TEXTS, replay_steps
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.engine.runs.test_runs import Script, prompt_of
from tests.stories import config_file, custom_block

Open = Callable[..., Workspace]

OLD: dict[str, Any] = {
    "id": "gen-old",
    "createdAt": "2026-01-05T08:00:00.000Z",
    "input": "Let the storm come.",
    "messages": [{"role": "system", "content": "You write."}, {"role": "user", "content": "## Recent\n\nThe quay."}],
    "toolCalls": [
        {"toolName": "getFragment", "args": {"id": "ch-bafego"}, "result": {"name": "Ines"}},
        {"toolName": "updateFragment", "args": {}, "result": {"error": "it is locked"}},
    ],
    "generatedText": "The storm came.\n\nNobody saw it.",
    "fragmentId": "pr-aaaa01",
    "model": "some-model",
    "durationMs": 4200,
    "stepCount": 3,
    "finishReason": "stop",
    "stepsExceeded": False,
    "totalUsage": {"inputTokens": 1200, "outputTokens": 34},
    "reasoning": "A storm is wanted.",
    "prewriterBrief": "Bring the storm in from the west.",
    "prewriterToolCalls": [{"toolName": "readFragments", "args": {"fragmentIds": ["gl-tonare"]}, "result": {}}],
    "prewriterDirections": [{"pacing": "end", "title": "Landfall", "description": "", "instruction": "End it."}],
}


def folder(story: Path) -> Path:
    return story / "branches" / "main" / "generation-logs"


def write_log(story: Path, name: str, log: Any = None, **changes: Any) -> Path:
    file = folder(story) / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    value = {**OLD, "id": name, **changes} if log is None else log
    file.write_bytes(value if isinstance(value, bytes) else json.dumps(value, indent=2).encode())
    return file


def test_runs_are_listed_newest_first_and_bad_logs_are_told_of(workspace: Workspace, story: Path) -> None:
    assert workspace.runs.all(STORY).runs == ()
    write_log(story, "gen-a", createdAt="2026-01-05T08:00:00.000Z")
    write_log(story, "gen-b", createdAt="2026-01-07T08:00:00.000Z", finishReason="error")
    write_log(story, "gen-c", createdAt="2026-01-06T08:00:00.000Z")
    write_log(story, "gen-bad", b'{"createdAt": ')
    write_log(story, "gen-list", [1])
    found = workspace.runs.all(STORY)
    assert [run.id for run in found.runs] == ["gen-b", "gen-c", "gen-a"]
    assert [problem.file and problem.file.name for problem in found.problems] == ["gen-bad.json", "gen-list.json"]
    run = found.runs[2]
    assert (run.agent, run.model, run.calls, run.steps, run.seconds) == (WRITER, "some-model", 3, 3, 4.2)
    assert run.tokens is not None and (run.tokens.sent, run.tokens.received, run.tokens.cached) == (1200, 34, None)
    assert [run.failed for run in found.runs] == [True, False, False]


def test_only_what_changed_is_read_again(workspace: Workspace, story: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [write_log(story, f"gen-{number}") for number in range(5)]
    for file in files:
        os.utime(file, (1_700_000_000.123456, 1_700_000_000.123456))
    root = story / "branches" / "main"
    read: list[str] = []
    real = record_of
    monkeypatch.setattr("engine.runs.records.record_of", lambda name, log: read.append(name) or real(name, log))
    records = RunRecords(root)
    first = records.all()
    assert len(read) == 5
    assert records.all() is first and len(read) == 5
    write_log(story, "gen-3", input="Another.")
    files[0].unlink()
    after = records.all()
    assert read[5:] == ["gen-3"]
    assert {run.id: run.input for run in after.runs}["gen-3"] == "Another."
    assert len(after.runs) == 4
    read.clear()
    assert [run.id for run in records.newest(2).runs] == ["gen-4", "gen-3"]
    assert read == ["gen-4", "gen-3"]


def test_whoever_looks_at_runs_shares_what_was_read(
    workspace: Workspace, story: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, agent in enumerate((None, "librarian.chat", "")):
        own = {} if agent is None else {"stonehand": {"agent": agent}}
        file = write_log(story, f"gen-{number}", createdAt=f"2026-01-0{number + 1}T00:00:00.000Z", **own)
        os.utime(file, (1_700_000_000.123456, 1_700_000_000.123456))
    read: list[str] = []
    real = record_of
    monkeypatch.setattr("engine.runs.records.record_of", lambda name, log: read.append(name) or real(name, log))
    replays = workspace.wires.replays(STORY)
    assert [replay.provider for replay in replays] == ["replay:gen-2", "replay:gen-1", "replay:gen-0"]
    for agent, day in ((WRITER, 3), ("librarian.chat", 2)):
        log = workspace.runs.last_log(STORY, None, agent)
        assert log is not None and log["createdAt"].startswith(f"2026-01-0{day}")
    assert workspace.runs.last_log(STORY, None, "librarian.refine") is None
    assert [run.agent for run in workspace.runs.all(STORY).runs] == [WRITER, "librarian.chat", WRITER]
    assert len(read) == 3


def test_a_run_is_named_by_the_beginning_of_its_id(workspace: Workspace, story: Path) -> None:
    with pytest.raises(NotFound, match="no run yet"):
        workspace.runs.find(STORY, None, "last")
    write_log(story, "gen-mab1", createdAt="2026-03-05T08:00:00.000Z")
    write_log(story, "gen-mab2")
    write_log(story, "gen-mac")
    for asked, meant in (("gen-mac", "gen-mac"), ("mac", "gen-mac"), ("gen-mab1", "gen-mab1"), ("last", "gen-mab1")):
        assert workspace.runs.find(STORY, None, asked) == meant
    with pytest.raises(WrongInput, match=r"more than one run.*gen-mab1, gen-mab2"):
        workspace.runs.find(STORY, None, "mab")
    for nothing in ("x", "", "../meta", "gen-mac.json"):
        with pytest.raises(NotFound):
            workspace.runs.find(STORY, None, nothing)
    with pytest.raises(NotFound, match="no run gen-x"):
        workspace.runs.detail(STORY, None, "gen-x")
    with pytest.raises(WrongInput):
        workspace.runs.detail(STORY, None, "../meta")


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("", "abc"),
        ("storm", "abc"),
        ("STORM come", "abc"),
        ("storm absent", ""),
        ("is:failed", "b"),
        ("is:cut", "c"),
        ("is:kept", "ab"),
        ("is:stopped", "c"),
        ("is:tools", "abc"),
        ("agent:writer", "ac"),
        ("agent:chat is:failed", "b"),
        ("model:other", "c"),
        ("provider:near", "b"),
        ("finish:len", "c"),
        ("fragment:pr-aaaa01", "ab"),
        ("since:2026-02", "bc"),
        ("until:2026-02", "ab"),
        ("on:2026-02", "b"),
        ("= nobody SAW", "abc"),
        ("is:failed = nobody", "b"),
        ("= nowhere", ""),
        ("agent:", "abc"),
        ("is:fai", "abc"),
        ("is:nothing", ""),
    ],
)
def test_a_filter_is_met(workspace: Workspace, story: Path, text: str, met: str) -> None:
    write_log(story, "gen-a", createdAt="2026-01-15T12:00:00.000Z")
    own = {"agent": "librarian.chat", "provider": "nearby", "error": {"message": "HTTP 529: overloaded"}}
    write_log(story, "gen-b", createdAt="2026-02-15T12:00:00.000Z", stonehand=own)
    changes = {"model": "another", "fragmentId": None, "finishReason": "length", "stopped": True}
    write_log(story, "gen-c", createdAt="2026-03-15T12:00:00.000Z", **{**changes, "model": "the-other"})
    found = workspace.runs.filtered(STORY, None, RunFilter(text))
    assert sorted(run.id[-1] for run in found.runs) == sorted(met)


def test_a_state_there_is_not_is_refused() -> None:
    RunFilter("is:failed agent:x storm").check()
    with pytest.raises(WrongInput, match=r"no filter 'is:nothing'.*is:failed"):
        RunFilter("is:nothing").check()


def test_an_old_log_is_shown_whole(workspace: Workspace, story: Path) -> None:
    write_log(story, "gen-old")
    detail = workspace.runs.detail(STORY, None, "gen-old")
    assert not detail.by_block
    assert [(message.role, message.content) for message in detail.messages] == [
        (message["role"], message["content"]) for message in OLD["messages"]
    ]
    assert [(call.line, call.failed, call.planning) for call in detail.calls] == [
        ("read gl-tonare", False, True),
        ("read ch-bafego", False, False),
        ("rewrote: failed, it is locked", True, False),
    ]
    assert [(call.logged_name, call.name) for call in detail.calls][1] == ("getFragment", "readFragments")
    assert detail.directions == (("Landfall", "End it."),)
    steps = list(replay_steps(detail))
    joined = {kind: "".join(step.text for step in steps if step.type == kind) for kind in TEXTS}
    assert joined == {
        "prewriter-text": OLD["prewriterBrief"],
        "reasoning": OLD["reasoning"],
        "text": OLD["generatedText"],
    }
    order = list(dict.fromkeys(step.type for step in steps))
    assert order == [
        "phase",
        "tool-call",
        "tool-result",
        "prewriter-text",
        "prewriter-directions",
        "reasoning",
        "text",
        "finish",
    ]
    assert steps[-1].data == {"type": "finish", "finishReason": "stop", "stepCount": 3}


def finished_run(workspace: Workspace, text: str, asked: str = "Let the storm come.") -> str:
    events = (Start("some-model"), Thinking("hm"), Text(text), Usage(12, 3), Stop("end_turn"))
    run = Run(prompt_of(workspace, asked), Script(*events))
    workspace.generate(run).result(20)
    return workspace.passages.keep(run).log_id


def test_our_own_log_gives_back_the_prompt_with_its_blocks(workspace: Workspace) -> None:
    prompt = prompt_of(workspace)
    run_id = finished_run(workspace, "The storm.")
    detail = workspace.runs.detail(STORY, None, run_id)
    assert detail.by_block
    assert len(detail.messages) == len(prompt.messages)
    for logged, sent in zip(detail.messages, prompt.messages, strict=True):
        assert (logged.role, logged.content) == (sent.role, sent.content)
        assert [
            (span.block.id, span.start, span.content_start, span.content_end, span.end) for span in logged.spans
        ] == [(span.block.id, span.start, span.content_start, span.content_end, span.end) for span in sent.spans]


def test_two_runs_are_compared_by_block_and_answer(workspace: Workspace, story: Path) -> None:
    one = finished_run(workspace, "The storm.")
    two = finished_run(workspace, "The calm.", "Let it pass.")
    runs = workspace.runs
    compared = runs.compare(runs.detail(STORY, None, one), runs.detail(STORY, None, two))
    assert not compared.prompt.by_message
    changed = {change.key: change.sign for change in compared.prompt.changed}
    assert changed["author-input"] == "~" and changed["prose-recent"] == "~"
    assert "instructions" not in changed
    assert compared.answer is not None
    assert [(change.key, change.sign) for change in compared.answer.changes] == [("reasoning", "="), ("answer", "~")]
    write_log(story, "gen-0old")
    mixed = runs.compare(runs.detail(STORY, None, "gen-0old"), runs.detail(STORY, None, one))
    assert mixed.prompt.by_message and {change.key for change in mixed.prompt.changes} == {"system", "user"}


def test_a_run_is_compared_with_the_prompt_as_it_is_now(workspace: Workspace, story: Path) -> None:
    run_id = finished_run(workspace, "The storm.")
    runs = workspace.runs
    detail = runs.detail(STORY, None, run_id)
    changed = {change.key for change in runs.compare_with_now(STORY, None, detail).prompt.changed}
    assert "author-input" not in changed and "prose-recent" in changed
    config = config_file(story)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        json.dumps({"customBlocks": [custom_block("cb-newone", "New.")], "overrides": {}, "blockOrder": []})
    )
    workspace.document(STORY, WRITER).check_file()
    changed = {change.key: change.sign for change in runs.compare_with_now(STORY, None, detail).prompt.changed}
    assert changed["cb-newone"] == "+"
    write_log(story, "gen-0other", stonehand={"agent": "chapters.summarize"})
    with pytest.raises(StonehandError, match="no agent"):
        runs.compare_with_now(STORY, None, runs.detail(STORY, None, "gen-0other"))


def test_the_fields_of_our_richer_logs_are_read(story: Path, workspace: Workspace) -> None:
    own = {
        "agent": "librarian.chat",
        "provider": "nearby",
        "requestHashes": ["abc123", 4],
        "prewriter": {"requestHashes": ["first"], "retries": [{"reason": "HTTP 503: busy", "seconds": 2}]},
        "usage": {"inputTokens": 1200, "outputTokens": 34, "cachedTokens": 1000, "reasoningTokens": 9, "cost": 0.25},
        "estimated": True,
        "retries": [{"reason": "HTTP 529: overloaded", "seconds": 1.5}],
        "warnings": ["no top_k here", 7],
        "error": {"kind": "auth", "message": "HTTP 401: no such key", "status": 401, "requestId": "req-1"},
    }
    write_log(story, "gen-own", stonehand=own)
    detail = workspace.runs.detail(STORY, None, "gen-own")
    record = detail.record
    assert (record.agent, record.provider, record.error, record.retries) == (
        "librarian.chat",
        "nearby",
        "HTTP 401: no such key",
        2,
    )
    assert record.tokens is not None and record.tokens.cached == 1000
    assert detail.warnings == ("no top_k here",)
    assert detail.retries == ("HTTP 503: busy", "HTTP 529: overloaded")
    assert detail.request_hashes == ("first", "abc123")
    assert (detail.reasoning_tokens, detail.cost, detail.estimated) == (9, 0.25, True)
    error, end = list(replay_steps(detail))[-2:]
    assert error.data == {"type": "error", **own["error"]} and end.type == "finish"


def test_values_are_told_line_by_line() -> None:
    assert value_lines({"id": "ch-bafego", "list": [1, "a\nb", {"x": None}], "text": "one\ntwo"}) == (
        "id: ch-bafego\nlist:\n  - 1\n  - a\nb\n  -\n    x:\ntext:\n  one\n  two"
    )
    assert value_lines(None) == ""
    assert value_lines("plain") == "plain"


# -- usage


def test_usage_is_told_by_agent_and_model(workspace: Workspace, story: Path) -> None:
    assert workspace.runs.usage(STORY).total.calls == 0
    counts = {"inputTokens": 10, "outputTokens": 5, "calls": 2}
    more = {"inputTokens": 100, "outputTokens": 50, "calls": 3, "byModel": {"m": {"inputTokens": 100}, "bad": 3}}
    value = {
        "sources": {"librarian.chat": counts, "generation.writer": more, "broken": "x"},
        "total": {"inputTokens": 110, "outputTokens": 55, "calls": 5},
        "byModel": {"m": {"inputTokens": 110, "outputTokens": 55, "calls": 5}},
        "updatedAt": "2026-01-05T08:00:00.000Z",
    }
    (story / "token-usage.json").write_text(json.dumps(value))
    usage = workspace.runs.usage(STORY)
    assert [agent.used.name for agent in usage.agents] == ["generation.writer", "librarian.chat"]
    assert [(used.name, used.tokens.sent) for used in usage.agents[0].models] == [("m", 100)]
    assert (usage.total.tokens.sent, usage.total.tokens.received, usage.total.calls) == (110, 55, 5)
    assert [problem.field for problem in usage.problems] == ["sources.generation.writer.byModel.bad", "sources.broken"]
    (story / "token-usage.json").write_text("{")
    with pytest.raises(InvalidFile, match=r"token-usage\.json"):
        workspace.runs.usage(STORY)


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ({"inputTokens": 3, "outputTokens": 1}, 3),
        ({"usage": {"prompt_tokens": 4}}, 4),
        ({"input_tokens": 5, "cached_tokens": 2}, 5),
        ({"outputTokens": 5}, 0),
        ({"inputTokens": -1}, None),
        ({"inputTokens": True}, None),
        ({"inputTokens": 10**30}, None),
        ([], None),
    ],
)
def test_usage_goes_by_many_names(value: Any, sent: int | None) -> None:
    tokens = usage_of(value)
    assert (None if tokens is None else tokens.sent) == sent


# -- anything at all

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from([*OLD, "stonehand", "stopped", "error", "prewriterReasoning", "prewriterMessages"])
OWN = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("agent", "blocks", "usage", "retries", "warnings", "error", "provider", "requestHashes", "prewriter"), JSON
    ),
)
LOGS = st.dictionaries(KEYS, JSON).flatmap(
    lambda log: st.just({**OLD, **log}) | OWN.map(lambda own: {**OLD, **log, "stonehand": own})
)


def everything_of(detail: RunDetail) -> None:
    """Ask a run for all it can tell."""
    for run_filter in ("storm", "is:failed agent:w", "since:2026 = x"):
        list(RunFilter(run_filter).through([detail.record], lambda _: detail.log))
    for call in detail.calls:
        assert isinstance(call.line, str)
        value_lines(call.arguments)
        value_lines(call.result)
    told = (
        detail.warnings,
        detail.retries,
        detail.directions,
        detail.request_hashes,
        detail.planning_messages,
        detail.error,
    )
    assert all(value is not None for value in told)
    for message in detail.messages:
        places = [place for span in message.spans for place in (span.start, span.content_end, span.end)]
        assert places == sorted(places) and all(place <= len(message.content) for place in places)
    steps = list(replay_steps(detail))
    assert "".join(step.text for step in steps if step.type == "text") == detail.answer
    json.dumps([step.data for step in steps])


@given(log=LOGS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_log_can_be_looked_at(workspace: Workspace, log: dict[str, Any]) -> None:
    detail = RunDetail(record_of("gen-any", log), log)
    everything_of(detail)
    old = RunDetail(record_of("gen-old", OLD), OLD)
    workspace.runs.compare(old, detail)
    workspace.runs.compare(detail, old)


@given(text=st.text(max_size=40) | st.lists(st.sampled_from(FILTER_WORDS), max_size=4).map(" ".join), log=LOGS)
@settings(max_examples=60)
def test_any_filter_can_be_typed(text: str, log: dict[str, Any]) -> None:
    wanted, run = RunFilter(text), record_of("gen-any", log)
    found = list(wanted.through([run], lambda _: log))
    assert found in ([], [run])
    assert wanted or found == [run]


@given(damage=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_a_problem_or_a_log(workspace: Workspace, story: Path, damage: st.DataObject) -> None:
    data = bytearray(json.dumps(OLD).encode())
    at = damage.draw(st.integers(0, len(data) - 1))
    data[at : at + damage.draw(st.integers(0, 40))] = damage.draw(st.binary(max_size=10))
    write_log(story, "gen-x", bytes(data))
    found = workspace.runs.all(STORY)
    assert len(found.runs) + len(found.problems) == 1
    try:
        everything_of(workspace.runs.detail(STORY, None, "gen-x"))
    except InvalidFile as error:
        assert "Traceback" not in str(error)
    (story / "token-usage.json").write_bytes(bytes(data))
    try:
        workspace.runs.usage(STORY)
    except InvalidFile as error:
        assert error.problem.file is not None
