"""Looking at earlier runs: bounded, without secrets, and whatever is in the file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.runs import read_log
from engine.runs.records import RunRecord, RunRecords, record_of
from engine.tools import Host, describe_call
from engine.tools.inspecting import TEXT_LIMIT, TOTAL_LIMIT, InspectRun, inspect_run, redacted
from engine.tools.offering import CORE, RESERVED
from engine.tools.older import _LINES
from tests.engine.story_builder import StoryBuilder
from tests.engine.tools.conftest import tool_call


class Logs:
    def __init__(self, root: Path) -> None:
        self._root = root

    def list(self) -> Sequence[RunRecord]:
        return RunRecords(self._root).all().runs

    def read(self, log_id: str) -> Mapping[str, Any]:
        return read_log(self._root, log_id)


LOG: dict[str, Any] = {
    "id": "gen-b",
    "createdAt": "2026-03-02T00:00:00.000Z",
    "input": "go on",
    "messages": [{"role": "system", "content": "Write."}, {"role": "user", "content": "The quay."}],
    "toolCalls": [
        {"toolName": "getFragment", "args": {"id": "ch-bafego"}, "result": {"id": "ch-bafego"}},
        {"toolName": "readFragments", "args": {}, "result": {"error": "fragmentIds: is missing"}},
    ],
    "generatedText": "The storm came.",
    "fragmentId": "pr-three",
    "model": "m",
    "durationMs": 1200,
    "stepCount": 2,
    "finishReason": "stop",
    "stepsExceeded": False,
    "totalUsage": {"inputTokens": 10, "outputTokens": 5, "secret": "x"},
    "reasoning": "Hm.",
    "headers": {"x-api-key": "hidden"},
}


@pytest.fixture
def inspector(story: StoryBuilder, host: Host) -> Host:
    story.write("branches/main/generation-logs/gen-a.json", {**LOG, "createdAt": "2026-03-01", "fragmentId": "pr-one"})
    story.write("branches/main/generation-logs/gen-b.json", LOG)
    host.logs = Logs(story.root)
    return host


def inspect(host: Host, **arguments: Any) -> Any:
    return asyncio.run(CORE["inspectRun"].run(tool_call("1", "inspectRun", arguments), host)).value


def test_an_overview_of_the_newest_run(inspector: Host) -> None:
    assert inspect(inspector) == {
        "run": {
            "id": "gen-b",
            "createdAt": "2026-03-02T00:00:00.000Z",
            "fragmentId": "pr-three",
            "model": "m",
            "durationMs": 1200,
            "stepCount": 2,
            "finishReason": "stop",
            "stepsExceeded": False,
            "input": "go on",
        },
        "calls": ["read ch-bafego", "read fragments: failed, fragmentIds: is missing"],
        "usage": {"inputTokens": 10, "outputTokens": 5},
    }
    assert inspect(inspector, fragmentId="pr-one")["run"]["id"] == "gen-a"
    assert inspect(inspector, runId="gen-a")["run"]["fragmentId"] == "pr-one"


def test_the_other_aspects(inspector: Host) -> None:
    assert inspect(inspector, aspect="prompt")["messages"] == LOG["messages"]
    assert inspect(inspector, aspect="output")["generatedText"] == "The storm came."
    assert inspect(inspector, aspect="output")["reasoning"] == "Hm."
    assert "no brief" in inspect(inspector, aspect="brief")["note"]
    first, _ = inspect(inspector, aspect="tools")["toolCalls"]
    assert first == {
        "toolName": "readFragments",
        "did": "read ch-bafego",
        "args": {"id": "ch-bafego"},
        "result": {"id": "ch-bafego"},
    }


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            {"runId": "gen-nothing"},
            "there is no run gen-nothing — leave runId out for the newest; the newest first: gen-b",
        ),
        ({"runId": "../../../meta"}, "there is no run ../../../meta — leave runId out"),
        ({"fragmentId": "pr-nobody"}, "there is no earlier run that wrote pr-nobody"),
        ({"aspect": "all"}, "aspect: must be one of"),
    ],
)
def test_what_is_not_there(inspector: Host, arguments: dict[str, str], error: str) -> None:
    assert error in inspect(inspector, **arguments)["error"]


@pytest.mark.parametrize("run_id", ["last", "latest", "newest", ""])
def test_the_newest_run_by_the_words_models_use_for_it(inspector: Host, run_id: str) -> None:
    assert inspect(inspector, runId=run_id)["run"]["id"] == "gen-b"
    assert inspect(inspector, runId=run_id, fragmentId="pr-one")["run"]["id"] == "gen-a"
    assert inspect(inspector, runId="a")["run"]["id"] == "gen-a"


def test_a_log_of_no_use_is_told_of_as_the_run_it_is(inspector: Host, story: StoryBuilder) -> None:
    story.write("branches/main/generation-logs/gen-c.json", b"{")
    assert inspect(inspector, runId="gen-c")["error"].startswith("run gen-c: is not valid JSON")


def test_no_logs(story: StoryBuilder, host: Host) -> None:
    assert "can't look" in inspect(host)["error"]
    host.logs = Logs(story.root)
    assert inspect(host) == {"error": "there is no earlier run"}
    assert inspect(host, runId="gen-a") == {"error": "there is no run gen-a — there is no run yet"}


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdefghijklmnop.qrstuv",
        "sk-proj-abcdefghijklmnopqrstuvwxyz0123",
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
        'x-api-key": "abcdef1234567"',
        "AIzaSyA1234567890abcdefghijklmnopqrs",
        "access_token=abcdef1234567",
    ],
)
def test_what_looks_like_a_key_is_blotted_out(text: str) -> None:
    shown = redacted(f"before {text} after")
    assert shown.startswith("before ")
    assert "[redacted]" in shown
    assert not any(part in shown for part in ("abcdef", "1234567890"))


def test_prose_is_not_taken_for_a_key() -> None:
    prose = "The bearer of news kept the password: swordfish. The key-keeper asked on whose authorization."
    assert redacted(prose) == prose


def test_keys_in_a_log_and_sizes(story: StoryBuilder, inspector: Host) -> None:
    key = "sk-abcdefghijklmnopqrstuvwxyz"
    long = [{"role": "user", "content": f"{key} " + "x" * 3 * TEXT_LIMIT}] * 20
    deep: Any = "end"
    for _ in range(50):
        deep = {"a": deep}
    calls = [{"toolName": "readFragments", "args": {"k": key, "deep": deep}, "result": {"error": key}}] * 500
    story.write("branches/main/generation-logs/gen-b.json", {**LOG, "input": key, "messages": long, "toolCalls": calls})
    for aspect in ("overview", "prompt", "tools", "brief", "output"):
        value = inspect(inspector, aspect=aspect)
        text = json.dumps(value)
        assert key not in text
        assert "hidden" not in text
        assert len(text) < TOTAL_LIMIT + 40_000
    assert inspect(inspector, aspect="prompt")["textsCut"] is True


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from(["op", "id"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(log=st.fixed_dictionaries({}, optional=dict.fromkeys((*LOG, "prewriterBrief", "prewriterToolCalls"), JSON)))
def test_whatever_is_in_the_file(log: dict[str, Any]) -> None:
    class One:
        def list(self) -> list[RunRecord]:
            return [record_of("gen-x", log)]

        def read(self, log_id: str) -> dict[str, Any]:
            return log

    for aspect in ("overview", "prompt", "tools", "brief", "output"):
        value = inspect_run(One(), InspectRun(aspect=aspect))  # type: ignore[arg-type]
        json.dumps(value)


# -- calls in a line


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("readFragments", {"fragmentIds": ["a", "b", "c", "d"]}, "read a, b, c and 1 more"),
        ("findFragments", {"query": "tide\n house"}, "searched the fragments for “tide house”"),
        ("listFragments", {"type": "character"}, "listed the fragments of type character"),
        ("editProse", {"edits": [{}, {}]}, "made 2 edits to the prose"),
        ("editFragments", {"operations": [{}, {}]}, "made 2 changes to fragments"),
        (
            "editFragments",
            {"operations": [{"op": "archive_fragment", "fragmentId": "kn-a"}]},
            "made a change to fragments: archive kn-a",
        ),
        ("reportAnalysis", {"mentions": [1], "timelineEvents": [1, 2]}, "reported on the passage: 1 mention, 2 events"),
        ("askClarifyingQuestions", {"questions": [1]}, "asked the author 1 question"),
        ("invokeAgent", {"agent": "librarian.analyze", "fragmentId": "pr-a"}, "had librarian.analyze work on pr-a"),
        ("getFragment", {"id": "ch-a"}, "read ch-a"),
        ("getFragment", {}, "read"),
        ("searchFragments", {"query": "x"}, "searched the fragments for “x”"),
        ("searchFragments", {}, "searched the fragments"),
        ("createFragment", {"type": "character", "name": "Ines"}, "created the character “Ines”"),
        ("createFragment", {}, "created a fragment"),
        ("updateFragment", {"fragmentId": "ch-a", "newContent": "x"}, "rewrote ch-a"),
        ("deleteFragment", {"fragmentId": "ch-a"}, "deleted ch-a"),
        ("editProse", {"oldText": "a", "newText": ""}, "replaced “a” by nothing in the prose"),
        ("reportMentions", {"mentions": []}, "reported mentions"),
        ("suggestDirections", {"directions": [1, 2, 3]}, "proposed 3 directions"),
        ("theirs_do", {"x": 1}, "called theirs_do"),
        ("", None, "called a tool"),
    ],
)
def test_a_call_in_a_line(name: str, arguments: Any, line: str) -> None:
    assert describe_call(name, arguments) == line


def test_every_name_there_ever_was_has_a_line() -> None:
    assert set(_LINES) >= RESERVED


@given(st.sampled_from(sorted(RESERVED)), JSON, JSON)
def test_a_line_is_a_line_whatever_is_in_the_log(name: str, arguments: Any, result: Any) -> None:
    line = describe_call(name, arguments, result)
    assert line
    assert "\n" not in line
    assert len(line) < 500
