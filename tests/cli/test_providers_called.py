"""providers test, models and detect, and generate with a provider: what is printed, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.models.wire import detection
from engine.models.wire.profiles import LocalServer
from tests.cli.conftest import Run
from tests.mock_provider.scripts import DONE, chunk, plain, plain_message
from tests.mock_provider.server import Reply
from tests.mock_provider.serving import Serve

KEY = "sk-do-not-show-me-789"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_KEY", KEY)


def add(run: Run, base_url: str) -> None:
    arguments = ("--base-url", base_url, "--model", "m-1", "--key-env", "MINE_KEY")
    assert run("providers", "add", "mine", *arguments).code == 0


def test_a_provider_that_answers(run: Run, story: Path, serve: Serve) -> None:
    mock = serve(plain("yes", "\x1b[31m!"))
    add(run, mock.base_url)
    done = run("providers", "test", "mine", "--model", "m-2")
    assert (done.code, done.text) == (0, "")
    assert "mine answers: m-1" in done.err and "\x1b" not in done.err
    assert mock.received[0].document["model"] == "m-2"
    assert mock.received[0].headers["authorization"] == f"Bearer {KEY}"
    document = run("providers", "test", "mine", "--json").document
    assert (document["ok"], document["failure"], document["inputTokens"]) == (True, None, 9)


def test_a_provider_that_does_not(run: Run, story: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    mock = serve([Reply(401, {"error": {"message": f"Incorrect API key: {KEY}"}}, {"x-request-id": "req-7"})])
    add(run, mock.base_url)
    done = run("providers", "test", "mine")
    assert (done.code, done.text) == (1, "")
    for part in ("the key was refused", "HTTP 401", "req-7", "check MINE_KEY"):
        assert part in done.err
    assert KEY not in done.err
    done = run("providers", "test", "mine", "--json")
    failure = done.document["failure"]
    assert (done.code, failure["kind"], failure["status"], failure["requestId"]) == (1, "auth", 401, "req-7")
    monkeypatch.delenv("MINE_KEY")
    done = run("providers", "test", "mine")
    assert done.code == 1 and "MINE_KEY" in done.err and "not set" in done.err
    assert run("providers", "test", "nobody").code != 0
    assert run("providers", "test", "rehearsal").code == 2


def test_what_a_provider_has(run: Run, story: Path, serve: Serve) -> None:
    listed: dict[str, Any] = {"data": [{"id": "m-1", "context_length": 32768}, {"id": "m-2", "name": "\x1b[2JTwo"}]}
    mock = serve([Reply(200, listed)])
    add(run, mock.base_url)
    rows = run("providers", "models", "mine").text.splitlines()
    assert rows[1].split() == ["m-1", "32,768"]
    assert rows[2].split()[0] == "m-2" and "\x1b" not in rows[2]
    document = run("providers", "models", "mine", "--json").document
    assert document[0] == {"id": "m-1", "name": None, "context": 32768, "maxOutput": None}


def test_trials_and_lists_of_the_messages_api(run: Run, story: Path, serve: Serve) -> None:
    def failing(status: int, kind: str) -> list[Any]:
        error = {"type": "error", "error": {"type": kind, "message": "model: m"}}
        return [Reply(status, error, {"x-should-retry": "false"})]

    mock = serve(
        plain_message("yes"),
        [Reply(200, {"data": [{"id": "claude-b", "display_name": "B"}], "has_more": True, "last_id": "claude-b"})],
        [Reply(200, {"data": [{"id": "claude-a", "display_name": "A"}], "has_more": False})],
        failing(404, "not_found_error"),
        failing(404, "not_found_error"),
        failing(529, "overloaded_error"),
    )
    arguments = ("--preset", "anthropic", "--base-url", mock.base_url, "--model", "claude-b", "--key-env", "MINE_KEY")
    assert run("providers", "add", "mine", *arguments).code == 0
    done = run("providers", "test", "mine")
    assert (done.code, done.text) == (0, "") and "mine answers: claude-x" in done.err and "yes" in done.err
    rows = run("providers", "models", "mine").text.splitlines()
    assert [row.split() for row in rows[1:]] == [["claude-b", "B"], ["claude-a", "A"]]
    done = run("providers", "test", "mine")
    assert done.code == 1 and "there is no model 'claude-b' there" in done.err
    done = run("providers", "models", "mine")
    assert done.code == 1 and "there is no list of models at this address" in done.err
    assert "claude-b" not in done.err and "providers models" not in done.err
    done = run("providers", "test", "mine")
    assert done.code == 1 and "HTTP 529, overloaded_error" in done.err and KEY not in done.err
    trial, first, second = "/v1/messages", "/v1/models", "/v1/models?after_id=claude-b"
    assert [sent.path for sent in mock.received] == [trial, first, second, trial, first, trial]
    assert {sent.headers["x-api-key"] for sent in mock.received} == {KEY}
    assert {sent.headers["anthropic-version"] for sent in mock.received} == {"2023-06-01"}


def test_servers_that_are_found(run: Run, story: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    mock = serve([Reply(200, {"data": [{"id": "qwen3", "owned_by": "library"}]})])
    port = int(mock.base_url.removesuffix("/v1").rsplit(":")[-1])
    monkeypatch.setattr(detection, "local_servers", lambda: (LocalServer("ollama", port, ("library",)),))
    done = run("providers", "detect")
    assert "qwen3" in done.text and mock.base_url in done.text
    command = f"providers add ollama --preset ollama --base-url {mock.base_url} --model qwen3"
    assert command in done.err
    assert run(*command.split()).code == 0
    assert run("providers", "detect", "--json").document[0]["preset"] == "ollama"
    closed = serve([Reply(401, {"error": "Unauthorized"})])
    port = int(closed.base_url.removesuffix("/v1").rsplit(":")[-1])
    monkeypatch.setattr(detection, "local_servers", lambda: (LocalServer("vllm", port, ("vllm",)),))
    done = run("providers", "detect")
    assert "it wants a key" in done.text and "--model MODEL --key-env NAME" in done.err
    monkeypatch.setattr(detection, "local_servers", lambda: ())
    done = run("providers", "detect")
    assert (done.code, done.text, "nothing answers" in done.err) == (0, "", True)


def test_a_passage_of_a_provider(run: Run, story: Path, serve: Serve) -> None:
    mock = serve(plain("The tide ", "turned."))
    add(run, mock.base_url)
    arguments = ("generate", "the-quay", "--input", "Go.", "--provider", "mine")
    done = run(*arguments, "--save")
    assert (done.code, done.text) == (0, "The tide turned.\n")
    assert "saved as pr-" in done.err
    run(*arguments, "--model", "m-9", "--max-tokens", "77")
    assert (mock.received[-1].document["model"], mock.received[-1].document["max_tokens"]) == ("m-9", 77)


def test_a_passage_that_breaks_off(run: Run, story: Path, serve: Serve) -> None:
    mock = serve([chunk({"content": "The tide "})])
    add(run, mock.base_url)
    done = run("generate", "the-quay", "--input", "Go.", "--provider", "mine", "--save")
    assert (done.code, done.text) == (1, "The tide \n")
    assert "broke off" in done.err and "saved" not in done.err
    done = run("generate", "the-quay", "--input", "Go.", "--provider", "mine", "--json")
    assert (done.code, done.document["finish"]) == (1, "error") and "broke off" in done.document["failure"]


def test_a_passage_that_was_cut_off_at_its_limit(run: Run, story: Path, serve: Serve) -> None:
    mock = serve([chunk({"content": "The tide"}), chunk({}, finish="length"), DONE])
    add(run, mock.base_url)
    arguments = ("generate", "the-quay", "--input", "Go.", "--provider", "mine")
    done = run(*arguments, "--save")
    assert done.code == 0 and "saved as pr-" in done.err
    assert "cut off at its limit of 8,192 tokens: a higher generationLimits.maxOutputTokens" in done.err
    assert "cut off at its limit of 77 tokens\n" in run(*arguments, "--max-tokens", "77").err


def test_two_models_at_work_are_both_named(run: Run, story: Path, serve: Serve) -> None:
    mock = serve(plain("A storm."), plain("It came."))
    add(run, mock.base_url)
    settings = {"generationMode": "prewriter"}
    own = {"modelOverrides": {"generation.prewriter": {"providerId": "mine", "modelId": "m-9"}}}
    go = ("generate", "the-quay", "--input", "Go.", "--provider", "mine", "--model", "m-2", "--json")
    meta = story / "meta.json"
    document = json.loads(meta.read_bytes())
    meta.write_text(json.dumps({**document, "settings": settings}), "utf-8")
    assert "plans the passage" not in run(*go).err
    meta.write_text(json.dumps({**document, "settings": {**settings, **own}}), "utf-8")
    done = run(*go)
    assert "mine · m-9 plans the passage, mine · m-2 writes it" in done.err
    assert (done.document["prewriterModel"], done.document["model"]) == ("m-9", "m-2"), "as they were asked for"
    assert done.document["answeredBy"] == "m-1"
    assert [sent.document["model"] for sent in mock.received] == ["m-2", "m-2", "m-9", "m-2"]
