"""Providers reached through the workspace: wires, previews of what is sent, lists of models, trials."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from engine.errors import NotFound, StonehandError, WrongInput
from engine.models.wire.detection import detect
from engine.models.wire.http_wire import payload
from engine.models.wire.profiles import LocalServer
from engine.runs import Run, read_log
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.mock_provider.scripts import DONE, chunk, plain, plain_message
from tests.mock_provider.server import MockProvider, Reply, Sleep, mock_provider
from tests.mock_provider.serving import Serve

KEY = "sk-do-not-show-me-456"


def configure(data: Path, base_url: str, **more: Any) -> None:
    """The data folder's providers: `mine`, the default one, and `other`, which must not be called."""
    entry = {"id": "mine", "name": "Mine", "baseURL": base_url, "apiKey": KEY, "defaultModel": "m-1", **more}
    other = {"id": "other", "name": "Other", "baseURL": "http://127.0.0.1:9/v1", "apiKey": "x", "defaultModel": "o"}
    off = {**other, "id": "off", "enabled": False}
    document = {"providers": [entry, other, off], "defaultProviderId": "mine"}
    (data / "config.json").write_text(json.dumps(document), "utf-8")


def choose(story: Path, **override: Any) -> None:
    file = story / "meta.json"
    document = json.loads(file.read_bytes())
    document["settings"] = {**document["settings"], "modelOverrides": {WRITER: override}}
    file.write_text(json.dumps(document), "utf-8")


def test_a_passage_from_a_provider(workspace: Workspace, data: Path, story: Path, serve: Serve) -> None:
    mock = serve(plain("The tide ", "turned."))
    configure(data, mock.base_url, temperature=0.4)
    choose(story, providerId="mine", modelId="m-2")
    prompt = workspace.prompt(STORY, author_input="Go on.")
    shown = workspace.wires.request_body(prompt)
    assert shown is not None
    session = workspace.session(STORY, WRITER)
    session.author_input = "Go on."
    run = workspace.generation.prepare(session)
    view = workspace.generate(run).result(20)
    assert (view.phase, view.text, view.finish) == ("done", "The tide turned.", "end_turn")
    assert (view.model, view.answered_by) == ("m-2", "m-1")
    assert (view.input_tokens, view.output_tokens) == (9, 3)
    (sent,) = mock.received
    assert sent.body == payload(shown.body)
    assert (sent.document["model"], sent.document["temperature"], sent.document["max_tokens"]) == ("m-2", 0.4, 8192)
    assert [message["content"] for message in sent.document["messages"]] == [m.content for m in prompt.messages]
    assert shown.address == f"{mock.base_url}/chat/completions" and len(shown.hash) == 64


@pytest.mark.parametrize(
    ("override", "own", "sent", "named"),
    [
        ({"providerId": "other", "temperature": 0.7}, None, None, "left out: the story sets 0.7 for other"),
        ({"providerId": "other", "temperature": 0.7}, 0.4, 0.4, "for other, and mine has its own, 0.4"),
        ({"providerId": "other", "temperature": 0.7}, 0.7, 0.7, ""),
        ({"providerId": "mine", "temperature": 0.7}, 0.4, 0.7, ""),
        ({"temperature": 0.7}, None, 0.7, ""),
        ({"providerId": "other"}, 0.4, 0.4, ""),
    ],
)
def test_a_temperature_that_is_another_providers_is_named(
    workspace: Workspace,
    data: Path,
    story: Path,
    serve: Serve,
    override: dict[str, Any],
    own: float | None,
    sent: float | None,
    named: str,
) -> None:
    mock = serve(plain("Ok."))
    configure(data, mock.base_url, **({} if own is None else {"temperature": own}))
    choose(story, **override)
    told: list[Any] = []
    session = workspace.session(STORY, WRITER)
    session.author_input = "Go on."
    run = workspace.generation.prepare(session, provider="mine", on_event=told.append)
    shown = workspace.wires.request_body(run.prompt, "mine")
    assert shown is not None
    view = workspace.generate(run).result(20)
    assert mock.received[0].document.get("temperature") == sent == shown.body.get("temperature")
    log = read_log(story / "branches/main", run.log_id)
    for warnings in (view.warnings, shown.warnings, log["stonehand"].get("warnings", ())):
        assert [named in text for text in warnings] == [True] * bool(named), warnings
    events = [event.as_json() for event in told if event.as_json()["type"] == "warning"]
    assert [(item["message"], item["field"]) for item in events] == [(text, "temperature") for text in view.warnings]


def test_the_breakpoint_is_before_the_authors_input(
    workspace: Workspace, data: Path, story: Path, serve: Serve
) -> None:
    mock = serve(plain_message("Hi"))
    configure(data, mock.base_url, preset="anthropic")
    prompt = workspace.prompt(STORY, author_input="[@block=author-input]\nGo on.")
    assert workspace.generate(Run(prompt, workspace.wires.of(prompt, None))).result(20).phase == "done"
    document = mock.received[0].document
    (system,) = document["system"]
    stable, volatile = document["messages"][0]["content"]
    assert "cache_control" in system and "cache_control" in stable and "cache_control" not in volatile
    assert volatile["text"].lstrip().startswith("[@block=author-input]")
    assert stable["text"] + volatile["text"] == prompt.messages[1].content


def test_a_failure_keeps_the_text_and_says_what_to_do(
    workspace: Workspace, data: Path, story: Path, serve: Serve
) -> None:
    mock = serve([chunk({"content": "Once "}), chunk({"content": "upon"})])
    configure(data, mock.base_url)
    prompt = workspace.prompt(STORY, author_input="Go on.")
    view = workspace.generate(Run(prompt, workspace.wires.of(prompt, "mine"))).result(20)
    assert (view.phase, view.text) == ("failed", "Once upon")
    assert "broke off" in view.failure


def test_the_model_that_is_asked_for_is_named_before_it_answers(
    workspace: Workspace, data: Path, story: Path, serve: Serve
) -> None:
    mock = serve([Reply(401, {"error": {"message": "no"}})])
    configure(data, mock.base_url)
    meta = story / "meta.json"
    document = json.loads(meta.read_bytes())
    planner = {"generation.prewriter": {"providerId": "mine", "modelId": "m-9"}}
    for settings, named in (({}, "m-1"), ({"generationMode": "prewriter", "modelOverrides": planner}, "m-9")):
        meta.write_text(json.dumps({**document, "settings": {**document["settings"], **settings}}), "utf-8")
        told: list[Any] = []
        session = workspace.session(STORY, WRITER)
        session.author_input = "Go on."
        run = workspace.generation.prepare(session, on_event=told.append)
        view = workspace.generate(run).result(20)
        (log,) = (workspace.runs.log(STORY, "main", run.log_id),)
        events = [event.as_json() for event in told]
        models = {event["model"] for event in events if event["type"] == "progress"}
        assert (view.phase, view.model, log["model"], models) == ("failed", named, named, {named})


@pytest.mark.parametrize("preset", ["custom", "anthropic"])
def test_a_run_goes_by_the_model_that_was_asked_and_tells_the_name_it_answers_under(
    workspace: Workspace, data: Path, story: Path, serve: Serve, preset: str
) -> None:
    dated = "claude-x" if preset == "anthropic" else "m-1"
    mock = serve(plain_message("Hi") if preset == "anthropic" else plain("Hi"))
    configure(data, mock.base_url, preset=preset)
    for asked in ("m-latest", dated):
        choose(story, providerId="mine", modelId=asked)
        told: list[Any] = []
        session = workspace.session(STORY, WRITER)
        session.author_input = "Go on."
        run = workspace.generation.prepare(session, on_event=told.append)
        view = workspace.generate(run).result(20)
        other = "" if asked == dated else dated
        log = workspace.runs.log(STORY, "main", run.log_id)
        (record,) = (record for record in workspace.runs.all(STORY, "main").runs if record.id == run.log_id)
        progress = [event for event in (event.as_json() for event in told) if event["type"] == "progress"]
        assert (view.model, view.answered_by) == (record.model, record.answered_by) == (asked, other)
        assert (log["model"], log["stonehand"].get("answeredBy", "")) == (asked, other)
        assert {event["model"] for event in progress} == {asked}
        assert progress[-1].get("answeredBy", "") == other
    workspace.close()
    assert set(json.loads((story / "token-usage.json").read_bytes())["byModel"]) == {"m-latest", dated}


@pytest.mark.parametrize(
    ("override", "provider", "plans"),
    [
        ({}, "mine", "m-7"),
        ({}, None, "m-7"),
        ({"providerId": "mine"}, "mine", "m-7"),
        ({"providerId": "mine", "modelId": "m-9"}, "mine", "m-9"),
        ({"modelId": "m-9"}, None, "m-9"),
        ({"providerId": "other", "modelId": "o-2"}, "mine", "m-7"),
        ({"providerId": "other", "modelId": "o-2"}, None, "o-2"),
    ],
)
def test_a_model_that_is_named_plans_too_unless_the_prewriter_has_its_own_of_that_provider(
    workspace: Workspace, data: Path, story: Path, override: dict[str, str], provider: str | None, plans: str
) -> None:
    configure(data, "http://127.0.0.1:9/v1")
    meta = story / "meta.json"
    document = json.loads(meta.read_bytes())
    document["settings"] |= {"generationMode": "prewriter", "modelOverrides": {"generation.prewriter": override}}
    meta.write_text(json.dumps(document), "utf-8")
    run = workspace.generation.prepare(workspace.session(STORY, WRITER), provider=provider, model="m-7")
    assert run.planner is not None
    assert (run.planner.asked, run.turn.asked) == (plans, "m-7")


def test_a_run_is_stopped_and_the_workspace_closed_while_it_streams(
    workspace: Workspace, data: Path, story: Path, serve: Serve
) -> None:
    mock = serve([chunk({"content": "Once "}), Sleep(60)])
    configure(data, mock.base_url)
    prompt = workspace.prompt(STORY, author_input="Go on.")
    arrived = threading.Event()
    run = Run(prompt, workspace.wires.of(prompt, "mine"), on_text=lambda _: arrived.set())
    future = workspace.generate(run)
    assert arrived.wait(20)
    run.stop()
    assert future.result(20).phase == "stopped"
    arrived.clear()
    last = Run(prompt, workspace.wires.of(prompt, "mine"), on_text=lambda _: arrived.set())
    workspace.generate(last)
    assert arrived.wait(20)
    workspace.close()
    assert last.view().text == "Once "


def test_an_answers_limit_is_no_more_than_the_model_can_give(workspace: Workspace, data: Path, story: Path) -> None:
    configure(
        data, "http://127.0.0.1:9/v1", models=[{"id": "m-1", "maxOutput": 1000}, {"id": "m-2", "maxOutput": 90000}]
    )
    prompt = workspace.prompt(STORY)
    limits = {}
    for model in ("m-1", "m-2"):
        shown = workspace.wires.request_body(prompt, "mine", model=model)
        assert shown is not None
        limits[model] = shown.body["max_tokens"]
    assert limits == {"m-1": 1000, "m-2": 8192}


def test_who_can_not_be_called(workspace: Workspace, data: Path, story: Path) -> None:
    prompt = workspace.prompt(STORY)
    assert workspace.wires.of(prompt, None).name == "rehearsal"
    assert workspace.wires.request_body(prompt) is None
    configure(data, "http://127.0.0.1:9/v1")
    assert workspace.wires.of(prompt, None).name == "mine"
    assert workspace.wires.request_body(prompt, "rehearsal") is None
    with pytest.raises(WrongInput, match="is disabled"):
        workspace.wires.of(prompt, "off")
    with pytest.raises(WrongInput, match="is no model"):
        workspace.models.test("rehearsal")
    with pytest.raises(NotFound, match="no provider 'x' — providers: mine, other, off"):
        workspace.models.listed("x")
    assert workspace.models.model_with(STORY, WRITER, "other") == "o"
    assert workspace.models.model_with(STORY, WRITER, "other", "p") == "p"


def test_trials_and_lists(workspace: Workspace, data: Path, story: Path, serve: Serve) -> None:
    mock = serve(
        plain("yes"), [Reply(200, {"data": [{"id": "a"}]})], [Reply(401, {"error": {"message": f"bad {KEY}"}})]
    )
    configure(data, mock.base_url)
    trial = workspace.models.test("mine").result(20)
    assert (trial.text, trial.model, trial.failure) == ("yes", "m-1", None)
    assert mock.received[0].document["max_tokens"] == 64
    assert [listed.id for listed in workspace.models.listed("mine").result(20)] == ["a"]
    failed = workspace.models.test("mine").result(20).failure
    assert failed is not None and failed.kind == "auth" and KEY not in repr(failed)
    with pytest.raises(StonehandError, match="key was refused"):
        workspace.models.listed("mine").result(20)


async def test_servers_of_this_machine() -> None:
    listed = [Reply(200, {"object": "list", "data": [{"id": "q", "owned_by": "library"}]})]
    async with (
        mock_provider(listed) as ollama,
        mock_provider([Reply(200, "<html>a printer</html>")]) as page,
        mock_provider([Reply(404, {})]) as other,
        mock_provider([DONE]) as odd,
    ):
        ports = [port_of(mock) for mock in (ollama, page, other, odd)]
        found = await detect([LocalServer("vllm", port, ()) for port in (*ports, 9)])
        assert [(server.preset, server.base_url) for server in found] == [("ollama", ollama.base_url)]
        assert [model.id for model in found[0].models] == ["q"]
        assert {sent.path for sent in ollama.received} == {"/v1/models"}


SERVERS: dict[str, Any] = {
    "ollama": {
        "object": "list",
        "data": [
            {"id": "hf.co/x/y:Q4", "object": "model", "created": 1, "owned_by": "bartowski"},
            {"id": "qwen3:8b", "object": "model", "created": 1, "owned_by": "library"},
        ],
    },
    "lmstudio": {
        "data": [
            {"id": "text-embedding-nomic-embed-text-v1.5", "object": "model", "owned_by": "organization_owner"},
            {"id": "qwen2.5-7b-instruct", "object": "model", "owned_by": "organization_owner"},
        ],
        "object": "list",
    },
    "llamacpp": {
        "models": [{"name": "/models/q.gguf", "model": "/models/q.gguf", "type": "model"}],
        "object": "list",
        "data": [
            {
                "id": "/models/q.gguf",
                "object": "model",
                "created": 1,
                "owned_by": "llamacpp",
                "meta": {"vocab_type": 2, "n_ctx": 8192, "n_ctx_train": 131072},
            }
        ],
    },
    "vllm": {
        "object": "list",
        "data": [
            {
                "id": "Qwen/Qwen3-8B",
                "object": "model",
                "created": 1,
                "owned_by": "vllm",
                "root": "Qwen/Qwen3-8B",
                "parent": None,
                "max_model_len": 32768,
                "permission": [{"id": "modelperm-1", "object": "model_permission"}],
            }
        ],
    },
}
"""What each server answers to a request for its models."""


@pytest.mark.parametrize("preset", SERVERS)
async def test_a_server_is_known_by_what_it_says_of_itself(preset: str) -> None:
    async with mock_provider([Reply(200, SERVERS[preset])]) as mock:
        other = next(name for name in SERVERS if name != preset)
        (found,) = await detect([LocalServer(other, port_of(mock), ())])
        assert (found.preset, found.base_url, found.wants_key) == (preset, mock.base_url, False)
        assert [model.id for model in found.models] == [entry["id"] for entry in SERVERS[preset]["data"]]
        assert found.models[0].context == {"llamacpp": 8192, "vllm": 32768}.get(preset)
        (sent,) = mock.received
        assert (sent.method, sent.path) == ("GET", "/v1/models") and "authorization" not in sent.headers


async def test_a_server_without_a_model_and_one_that_wants_a_key_are_there_too() -> None:
    async with (
        mock_provider([Reply(200, {"object": "list", "data": None})]) as empty,
        mock_provider([Reply(401, {"error": "Unauthorized"})]) as closed,
        mock_provider([Reply(403, {"detail": "log in"})]) as other,
        mock_provider([Reply(503, {"error": {"message": "Loading model", "code": 503}})]) as loading,
    ):
        servers = zip(("ollama", "vllm", "vllm", "llamacpp"), (empty, closed, other, loading), strict=True)
        found = await detect([LocalServer(preset, port_of(mock), ()) for preset, mock in servers])
    assert [(server.preset, server.base_url, server.models, server.wants_key) for server in found] == [
        ("ollama", empty.base_url, (), False),
        ("vllm", closed.base_url, (), True),
    ]


def port_of(mock: MockProvider) -> int:
    return int(mock.base_url.rsplit(":")[-1].removesuffix("/v1"))
