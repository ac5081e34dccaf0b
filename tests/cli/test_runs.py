"""`runs`: list, show, replay, diff, usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, files_of
from tests.engine.runs.test_history import OLD, write_log

STORY = "the-quay"


@pytest.fixture
def logs(story: Path) -> Path:
    own = {"agent": "librarian.chat", "error": {"message": "HTTP 529: overloaded"}, "provider": "nearby"}
    write_log(story, "gen-mab1")
    write_log(story, "gen-mab2", createdAt="2026-02-05T08:00:00.000Z", generatedText="The calm.", input="Calm.")
    write_log(story, "gen-mac1", createdAt="2026-01-20T08:00:00.000Z", finishReason="error", stonehand=own)
    return story


def test_runs_are_listed_and_filtered(run: Run, data: Path, logs: Path) -> None:
    write_log(logs, "gen-bad", b"{")
    before = files_of(data)
    done = run("runs", "list", STORY)
    lines = done.text.splitlines()
    assert (done.code, lines[0].split()[:3]) == (0, ["ID", "AT", "AGENT"])
    assert [line.split()[0] for line in lines[1:]] == ["gen-mab2", "gen-mac1", "gen-mab1"]
    assert "failed" in lines[2] and "librarian.chat" in lines[2]
    assert "gen-bad.json:1: is not valid JSON" in done.err
    document = run("runs", "list", STORY, "agent:chat", "is:failed", "--json").document
    assert [(item["id"], item["failed"], item["error"]) for item in document] == [
        ("gen-mac1", True, "HTTP 529: overloaded")
    ]
    assert document[0]["usage"] == {"inputTokens": 1200, "outputTokens": 34, "cachedTokens": None}
    assert len(run("runs", "list", STORY, "--limit", 1, "--json").document) == 1
    assert [item["id"] for item in run("runs", "list", STORY, "= the calm", "--json").document] == ["gen-mab2"]
    none = run("runs", "list", STORY, "nowhere")
    assert (none.code, none.out) == (0, b"") and "no run meets the filter" in none.err
    wrong = run("runs", "list", STORY, "is:wrong")
    assert wrong.code == 2 and "is:failed" in wrong.err
    assert files_of(data) == before


def test_a_run_is_shown(run: Run, logs: Path) -> None:
    text = run("runs", "show", STORY, "mab1").text
    for told in (
        "run:       gen-mab1",
        "1200 in, 34 out",
        "-- brief\nBring the storm",
        "rewrote: failed, it is locked",
    ):
        assert told in text
    assert "    arguments:\n      id: ch-bafego" in text
    assert "HTTP 529: overloaded" in run("runs", "show", STORY, "mac1").text
    assert run("runs", "show", STORY, "last", "--answer").text == "The calm.\n"
    prompt = run("runs", "show", STORY, "last", "--prompt").text
    assert prompt == "You write.\n\n## Recent\n\nThe quay.\n"
    document = run("runs", "show", STORY, "mab1", "--json").document
    assert document["blocks"] is None and document["messages"] == OLD["messages"]
    assert [call["did"] for call in document["toolCalls"]][:2] == ["read gl-tonare", "read ch-bafego"]


def test_a_run_is_named_so_that_it_is_one(run: Run, logs: Path) -> None:
    for given, code, told in (("mab", 2, "gen-mab1, gen-mab2"), ("zz", 1, "no run 'zz'"), ("../x", 1, "no run")):
        done = run("runs", "show", STORY, given)
        assert (done.code, done.out) == (code, b"") and told in done.err
    write_log(logs, "gen-mad1", b"[]")
    assert run("runs", "show", STORY, "mad1").code == 1
    assert run("runs", "show", STORY, "mab1", "--json", "--answer").code == 2
    assert run("runs", "replay", STORY, "mab1", "--json", "--events").code == 2


def test_a_run_is_replayed(run: Run, data: Path, logs: Path) -> None:
    before = files_of(data)
    done = run("runs", "replay", STORY, "mab1", "--pace", 0)
    assert done.text == f"{OLD['generatedText']}\n"
    assert "read gl-tonare" in done.err and "rewrote: failed, it is locked" in done.err
    lines = run("runs", "replay", STORY, "mab1", "--pace", 0, "--events").text.splitlines()
    events = [json.loads(line) for line in lines]
    assert "".join(event["text"] for event in events if event["type"] == "text") == OLD["generatedText"]
    assert events[0] == {"type": "phase", "phase": "prewriting"}
    assert events[-1] == {"type": "finish", "finishReason": "stop", "stepCount": 3}
    calls = [event for event in events if event["type"] == "tool-call"]
    assert calls[1] == {"type": "tool-call", "id": "call-2", "toolName": "getFragment", "args": {"id": "ch-bafego"}}
    assert run("runs", "replay", STORY, "mab1", "--json").document == events
    assert "the run failed: HTTP 529" in run("runs", "replay", STORY, "mac1", "--pace", 0).err
    assert files_of(data) == before


def test_runs_are_compared(run: Run, logs: Path) -> None:
    done = run("runs", "diff", STORY, "mab1", "mab2")
    assert done.code == 0 and "[assistant] answer" in done.text and "+ The calm." in done.text
    assert "whole messages are compared" in done.err
    document = run("runs", "diff", STORY, "mab1", "mab2", "--json").document
    assert document["prompt"]["same"] is True
    assert [change["id"] for change in document["answer"]["changed"]] == ["answer"]
    assert run("runs", "diff", STORY, "mab1", "mab1").out == b""


def test_a_run_is_compared_with_the_prompt_as_it_is_now(run: Run, story: Path) -> None:
    assert run("generate", STORY, "--input", "Rain.", "--pace", 0, "--save").code == 0
    document = run("runs", "diff", STORY, "last", "--json").document
    assert document["after"] is None and document["answer"] is None
    assert [change["id"] for change in document["prompt"]["changed"]] == ["prose-recent"]
    blocks = run("runs", "show", STORY, "last", "--json").document["blocks"]
    assert {"instructions", "prose-recent", "author-input"} <= {block["id"] for block in blocks}


def test_usage_is_told(run: Run, story: Path) -> None:
    none = run("runs", "usage", STORY)
    assert (none.code, none.out) == (0, b"") and "no usage" in none.err
    counts = {"inputTokens": 10, "outputTokens": 5, "calls": 2}
    value = {"sources": {"generation.writer": {**counts, "byModel": {"m": counts}}, "bad": 1}, "total": counts}
    (story / "token-usage.json").write_text(json.dumps(value))
    done = run("runs", "usage", STORY)
    assert [line.split() for line in done.text.splitlines()][1:3] == [
        ["generation.writer", "all", "models", "2", "10", "5"],
        ["m", "2", "10", "5"],
    ]
    assert "sources.bad" in done.err
    document = run("runs", "usage", STORY, "--json").document
    assert document["total"] == {"calls": 2, "inputTokens": 10, "outputTokens": 5}
    assert document["agents"][0]["byModel"] == {"m": document["total"]}
    (story / "token-usage.json").write_text("[")
    broken = run("runs", "usage", STORY)
    assert broken.code == 1 and "token-usage.json" in broken.err
