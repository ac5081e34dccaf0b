"""The budget on the command line: what is told of it, and that a prompt which can't fit is not sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, files_of
from tests.stories import fragment, make_story

GO = ("generate", "the-quay", "--pace", "0", "--input", "Go on.")


@pytest.fixture
def long_story(data: Path) -> Path:
    """A story whose prompt has several thousand tokens."""
    text = "The lamp on the quay had burned all night, and nobody came to put it out. " * 400
    return make_story(data, fragments=[fragment("kn-mirafa", "knowledge", text, name="The quay", sticky=True)])


@pytest.fixture
def small(run: Run) -> None:
    """A provider whose models take 4,096 tokens."""
    given = ("--base-url", "https://api.example.com/v1", "--model", "small", "--context", "4096")
    done = run("providers", "add", "far", *given)
    assert done.code == 0, done.err


def test_the_request_of_a_prompt(run: Run, story: Path, small: None) -> None:
    body = run("compile", "the-quay", "--request").document
    said = run("compile", "the-quay", "--json").document["messages"]
    assert (body["model"], body["messages"]) == ("small", said) and body["tools"]


def test_a_rehearsal_has_no_request(run: Run, story: Path) -> None:
    done = run("compile", "the-quay", "--request")
    assert done.code == 1 and "the rehearsal is no model" in done.err


def test_the_compiled_prompt_comes_with_its_budget(run: Run, story: Path, small: None) -> None:
    document = run("compile", "the-quay", "--json").document
    budget = document["budget"]
    assert (budget["model"], budget["context"], budget["reserve"], budget["room"]) == ("small", 4096, 1024, 3072)
    assert budget["used"] == document["tokens"]["total"] + document["tokens"]["tools"]
    assert (budget["fits"], budget["excess"], budget["reserved"]) == ("yes", 0, "quarter")
    assert budget["share"] == pytest.approx(budget["used"] / 4096, abs=1e-4)
    assert "providers.far" in budget["source"]
    unknown = run("compile", "the-quay", "--json", "--model", "nobody-knows-it").document["budget"]
    assert unknown["context"] == 4096, "what its provider says holds for every model"


def test_an_unknown_window_is_said_to_be_unknown(run: Run, story: Path) -> None:
    run("providers", "add", "local", "--base-url", "http://localhost:1/v1", "--model", "gpt-4")
    budget = run("compile", "the-quay", "--json").document["budget"]
    assert (budget["context"], budget["room"], budget["share"], budget["fits"]) == (None, None, None, "unknown")
    done = run("blocks", "the-quay", "generation.writer")
    assert "not known" in done.err and "providers.toml" in done.err
    assert run(*GO).code == 0


def test_blocks_have_their_share(run: Run, story: Path, small: None) -> None:
    rows = run("blocks", "the-quay", "generation.writer", "--json").document
    for row in rows:
        assert row["share"] == (None if row["tokens"] is None else pytest.approx(row["tokens"] / 4096, abs=1e-4))
    assert "of the 4,096 tokens of small" in run("blocks", "the-quay", "generation.writer").err


def test_a_prompt_that_cannot_fit_is_not_sent(run: Run, data: Path, long_story: Path, small: None) -> None:
    before = files_of(data)
    done = run(*GO, "--save")
    assert (done.code, done.out) == (1, b"")
    for part in ("does not fit small", "too long", "user-fragments ~", "--over-budget"):
        assert part in done.err, done.err
    assert done.err.count("\n") == 1
    assert files_of(data) == before
    sent = run(*GO, "--over-budget")
    assert sent.code == 0 and len(sent.text) > 100
    assert "may not fit" in sent.err or "does not fit" in sent.err


def test_a_model_that_is_named_counts(run: Run, long_story: Path) -> None:
    assert run(*GO).code == 0
    done = run(*GO, "--model", "llama-2-13b")
    assert done.code == 1 and "llama-2-13b" in done.err


def test_a_prompt_that_may_not_fit_is_sent_with_a_warning(run: Run, long_story: Path) -> None:
    used = run("compile", "the-quay", "--input", "Go on.", "--json").document["tokens"]["total"]
    given = ("--base-url", "https://api.example.com/v1", "--model", "m", "--context", str(used + 1000))
    run("providers", "add", "edge", *given)
    done = run(*GO, "--max-tokens", "1000")
    assert done.code == 0 and "may not fit m" in done.err
    assert run(*GO, "--max-tokens", str(used)).code == 1, "what is kept for the answer counts"


def test_the_prewriters_own_prompt_counts(run: Run, data: Path, long_story: Path, small: None) -> None:
    run("providers", "add", "wide", "--base-url", "https://b.example.com/v1", "--model", "m", "--context", "100000")
    meta = data / "stories/the-quay/meta.json"
    document = json.loads(meta.read_bytes())
    document["settings"]["generationMode"] = "prewriter"
    for planner, fits in (("far", False), ("wide", True)):
        models = {"generation.prewriter": {"providerId": planner}, "generation.writer": {"providerId": "far"}}
        document["settings"]["modelOverrides"] = models
        meta.write_text(json.dumps(document), "utf-8")
        done = run(*GO)
        assert (done.code == 0) is fits, done.err
        assert ("does not fit small" in done.err) is not fits


def test_a_replay_sends_nothing_and_is_not_stopped(run: Run, long_story: Path, small: None) -> None:
    saved = run(*GO, "--over-budget", "--save", "--json").document["saved"]
    assert run(*GO, "--provider", f"replay:{saved['logId']}").code == 0


def test_the_model_command_says_the_window(run: Run, story: Path, small: None) -> None:
    rows = {line.split()[0]: line for line in run("model", "the-quay", "generation.writer").text.splitlines()}
    assert "4,096" in rows["context"] and "providers.far" in rows["context"]
    document = run("model", "the-quay", "generation.writer", "--json").document
    assert document["budget"]["context"] == 4096
    listed = run("providers", "list", "--json").document[0]
    assert (listed["context"], listed["models"]) == (4096, [])
