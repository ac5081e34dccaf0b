"""generate: the stream, the document, saving."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import Workspace
from engine.hooks import Hooks
from engine.runs import Run as Passage
from engine.runs import RunView
from tests.cli.conftest import Run, files_of
from tests.stories import make_story

GO = ("generate", "the-quay", "--pace", "0", "--input")


def test_the_text_is_streamed_and_the_same_prompt_gives_the_same(run: Run, data: Path, story: Path) -> None:
    before = files_of(data)
    done = run(*GO, "Go on.")
    assert (done.code, done.err) == (0, "")
    assert done.text.endswith("\n") and len(done.text.split()) > 50
    assert run(*GO, "Go on.").out == done.out
    assert run(*GO, "Go back.").out != done.out
    assert files_of(data) == before


def test_one_document_at_the_end(run: Run, story: Path) -> None:
    text = run(*GO, "Go on.").text
    document = run(*GO, "-", "--json", stdin=b"Go on.").document
    keys = ["text", "provider", "model", "finish", "inputTokens", "outputTokens", "seconds", "steps", "saved"]
    assert list(document) == keys
    assert text in (document["text"], document["text"] + "\n")
    assert (document["provider"], document["saved"]) == ("rehearsal", None)
    prompt = run("compile", "the-quay", "--input", "Go on.", "--json").document
    assert document["inputTokens"] > 0.9 * prompt["tokens"]["total"]


def test_max_tokens_ends_the_passage(run: Run, story: Path) -> None:
    document = run(*GO, "Go on.", "--max-tokens", "15", "--json").document
    assert 0 < document["outputTokens"] <= 15
    assert document["finish"] == "max_tokens"


def test_the_storys_own_limit_counts_where_none_is_given(run: Run, data: Path) -> None:
    make_story(data, settings={"generationLimits": {"maxOutputTokens": 15}})
    assert run(*GO, "Go on.", "--json").document["finish"] == "max_tokens"
    assert run(*GO, "Go on.", "--json", "--max-tokens", "5000").document["finish"] != "max_tokens"


def test_save_appends_to_the_story_and_replay_repeats_it(run: Run, story: Path) -> None:
    done = run(*GO, "Go on.", "--save", "--json")
    saved = done.document["saved"]
    main = story / "branches" / "main"
    fragment = json.loads((main / "fragments" / f"{saved['fragmentId']}.json").read_bytes())
    assert fragment["content"] == done.document["text"]
    chain = json.loads((main / "prose-chain.json").read_bytes())
    assert chain["entries"][-1]["active"] == saved["fragmentId"]
    log = json.loads((main / "generation-logs" / f"{saved['logId']}.json").read_bytes())
    assert (log["generatedText"], log["fragmentId"]) == (fragment["content"], saved["fragmentId"])
    assert saved["fragmentId"] in done.err
    again = run(*GO, "Anything", "--provider", f"replay:{saved['logId']}", "--json").document
    assert again["text"] == fragment["content"]


def test_an_interrupt_gives_the_document_of_the_text_so_far(
    run: Run, data: Path, story: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Workspace.generate

    def interrupted(self: Workspace, started: Passage) -> Future[RunView]:
        future = begin(self, started)
        seen: list[bool] = []

        def done() -> bool:
            while not started.view().text:
                time.sleep(0.01)
            if not seen:
                seen.append(True)
                raise KeyboardInterrupt
            return Future.done(future)

        future.done = done  # type: ignore[method-assign]
        return future

    monkeypatch.setattr(Workspace, "generate", interrupted)
    before = files_of(data)
    done = run("generate", "the-quay", "--pace", "5", "--input", "Go on.", "--save", "--json")
    assert (done.code, done.err) == (130, "stonehand: stopped; nothing was saved\n")
    assert (done.document["finish"], done.document["saved"]) == ("cancelled", None)
    assert 0 < len(done.document["text"].split()) < 50
    assert files_of(data) == before


def test_a_provider_that_is_not_there_fails(run: Run, data: Path, story: Path) -> None:
    before = files_of(data)
    for provider in ("replay:gen-none", "oracle"):
        done = run(*GO, "Go on.", "--provider", provider, "--save")
        assert (done.code, done.out) == (1, b"")
        assert "there is no" in done.err
    assert files_of(data) == before


def test_a_text_that_cannot_be_saved_is_still_given(run: Run, story: Path) -> None:
    (story / "branches" / "main" / "prose-chain.json").write_text("[]", encoding="utf-8")
    done = run(*GO, "Go on.", "--save", "--json")
    assert done.code == 1
    assert len(done.document["text"].split()) > 50 and done.document["saved"] is None
    assert "prose-chain.json" in done.err.splitlines()[-1]


def test_a_passage_saved_without_its_log_says_so(run: Run, story: Path) -> None:
    (story / "branches" / "main" / "generation-logs").write_text("in the way", encoding="utf-8")
    done = run(*GO, "Go on.", "--save", "--json")
    assert done.code == 0
    assert done.document["saved"]["fragmentId"] and done.document["saved"]["logId"] is None
    assert "without a log" in done.err and "warning: " in done.err


def test_input_is_required_and_numbers_are_checked(run: Run, story: Path) -> None:
    for wrong in (("generate", "the-quay"), (*GO, "x", "--max-tokens", "0"), (*GO, "x", "--pace", "-1")):
        assert run(*wrong).code == 2


def test_what_hooks_did_is_told_of(run: Run, story: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no good")

    opened = Workspace.__init__

    def with_hooks(self: Workspace, *arguments: Any, **options: Any) -> None:
        opened(self, *arguments, **options)
        self.hooks.add(Hooks("short", after_generation=lambda passage, _: replace(passage, text="Two words.")))
        self.hooks.add(Hooks("bad", before_blocks=broken, after_save=broken))  # type: ignore[arg-type]

    monkeypatch.setattr(Workspace, "__init__", with_hooks)
    done = run(*GO, "Go on.", "--save")
    assert done.code == 0
    lines = done.err.splitlines()
    parts = ("beforeBlocks of 'bad'", "changed the passage", "saved as", "afterSave of 'bad'")
    assert [part in line for part, line in zip(parts, lines, strict=True)] == [True] * 4
    document = run(*GO, "Go on.", "--json").document
    assert document["text"] == "Two words."


def test_the_prewriter_plans_before_the_writer_writes(run: Run, data: Path) -> None:
    make_story(data, settings={"generationMode": "prewriter"})
    done = run(*GO, "Let it rain.", "--save", "--json")
    assert done.code == 0 and done.err.startswith("stonehand: saved as")
    log = next(file for file in files_of(data) if "generation-logs" in str(file))
    document = json.loads((data / log).read_text("utf-8"))
    planned = "".join(message["content"] for message in document["prewriterMessages"])
    sent = "".join(message["content"] for message in document["messages"])
    assert "Let it rain." in planned and "## Writing Brief" in sent and "Let it rain." not in sent
    assert done.document["brief"] == document["prewriterBrief"] and document["prewriterBrief"] in sent


def test_an_override_of_the_brief_is_sent_and_nothing_is_said_against_it(run: Run, data: Path) -> None:
    override = {"contentMode": "append", "customContent": "Keep to it."}
    config = {"overrides": {"writing-brief": override, "summary": {"enabled": False}, "ghost": {"enabled": False}}}
    make_story(data, settings={"generationMode": "prewriter"}, configs={"generation.writer": config})
    done = run(*GO, "Let it rain.", "--save", "--json")
    assert [line for line in done.err.splitlines() if "no such block" in line] == [
        "stonehand: warning: override for ghost: this agent has no such block"
    ]
    log = next(file for file in files_of(data) if "generation-logs" in str(file))
    assert "Keep to it." in json.loads((data / log).read_text("utf-8"))["messages"][-1]["content"]


def test_events_are_streamed_a_line_each(run: Run, data: Path) -> None:
    make_story(data, settings={"generationMode": "prewriter"})
    done = run(*GO, "Let it rain.", "--events")
    events = [json.loads(line) for line in done.text.splitlines()]
    kinds = [event["type"] for event in events if event["type"] != "progress"]
    assert kinds[0] == "phase" and kinds[-1] == "finish" and {"prewriter-text", "text"} <= set(kinds)
    assert [event["phase"] for event in events if event["type"] == "phase"] == ["prewriting", "writing"]
    assert events[-1] == {"type": "finish", "finishReason": "stop", "stepCount": 2}
