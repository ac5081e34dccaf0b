"""The wire over real sockets, against the mock provider: errors, retries, timeouts, and that nothing secret is told."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.models.providers import Key
from engine.models.wire.base import EFFORTS, ChatMessage, Failure, Request, Start, Stop, Text, Usage, Warned
from engine.models.wire.events import Event, Retry
from engine.models.wire.http_wire import CallFailed, Defaults, HttpWire, payload, request_hash
from engine.models.wire.listing import ListedModel
from engine.models.wire.parts import OpaquePart, TextPart, ThinkingPart, Tool, ToolCall, assistant_message
from tests.engine.models.wire.making import KEY, answer, provider
from tests.mock_provider.scripts import DONE, begin, block, call, chunk, end, event, plain, plain_message, text_block
from tests.mock_provider.server import Close, MockProvider, Raw, Reply, Script, Sleep, Sse, mock_provider

GO = Request((ChatMessage("system", "You write."), ChatMessage("user", "Go on.")), "")
RATE = {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}
JSON = {"content-type": "application/json"}
APIS = ("openai", "anthropic")
PATIENCE = 15.0
"""Seconds to wait for something that has to happen; scripts pause for longer."""
SHOWN = {"openai": 2, "anthropic": 4}
"""Steps of an answer after which its first text is there, and not its end."""


def said(api: str, *pieces: str) -> Script:
    return plain(*pieces) if api == "openai" else plain_message(*pieces)


class Asking:
    """A wire to a mock provider, without waiting; what it would have waited is in `waited`."""

    def __init__(self, mock: MockProvider, preset: str = "openai", **more: Any) -> None:
        self.mock = mock
        self.waited: list[float] = []
        environ = more.pop("environ", {})
        defaults = more.pop("defaults", None)
        mine = provider(preset, more.pop("base_url", mock.base_url), **more)
        self.wire = HttpWire(
            mine, defaults=defaults, environ=environ, chance=lambda: 0.0, now=lambda: 1_000_000_000.0, sleep=self._sleep
        )

    async def _sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    async def events(self, request: Request = GO) -> list[Event]:
        return [event async for event in self.wire.stream(request)]

    async def failure(self, request: Request = GO) -> Failure:
        last = (await self.events(request))[-1]
        assert isinstance(last, Failure)
        return last


@asynccontextmanager
async def asking(*scripts: Script, preset: str = "openai", **more: Any) -> AsyncIterator[Asking]:
    async with mock_provider(*scripts) as mock:
        found = Asking(mock, preset, **more)
        try:
            yield found
        finally:
            await found.wire.aclose()


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_and_what_was_sent_for_it(api: str) -> None:
    async with asking(said(api, "Once ", "upon"), preset=api, headers={"X-Mine": "yes"}) as ask:
        got = await ask.events()
        (sent,) = ask.mock.received
        assert answer(got).text == "Once upon"
        assert isinstance(got[-1], Stop)
        assert sent.body == payload(ask.wire.body(GO))
        start = next(event for event in got if isinstance(event, Start))
        assert start.request_hash == request_hash(ask.wire.body(GO))
        assert start.request_id == "req-mock"
    assert sent.path == ("/v1/chat/completions" if api == "openai" else "/v1/messages")
    assert sent.headers["x-mine"] == "yes"
    if api == "openai":
        assert sent.headers["authorization"] == f"Bearer {KEY}"
    else:
        assert (sent.headers["x-api-key"], sent.headers["anthropic-version"]) == (KEY, "2023-06-01")
        assert "authorization" not in sent.headers


TEXTS = st.text(max_size=12)
PARTS = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(ThinkingPart, TEXTS, st.sampled_from(["", "sig"])),
    st.builds(ToolCall, st.sampled_from(["a", "b"]), st.just("look"), st.sampled_from(["{}", '{"x": "é"}', "{bad"])),
    st.builds(
        OpaquePart, st.sampled_from(["anthropic", "openrouter"]), st.just({"type": "redacted_thinking", "data": "x"})
    ),
)
MESSAGES = st.one_of(
    st.builds(
        ChatMessage,
        st.sampled_from(["system", "user", "assistant"]),
        st.text(st.characters(), max_size=30),
        breakpoints=st.sets(st.integers(0, 30), max_size=3).map(lambda points: tuple(sorted(points))),
    ),
    st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: assistant_message(tuple(parts))),
    st.builds(ChatMessage, st.just("tool"), TEXTS, call_id=st.sampled_from(["a", "b"])),
)
REQUESTS = st.builds(
    Request,
    st.lists(MESSAGES, max_size=6).map(tuple),
    st.sampled_from(["", "gpt-5", "claude-opus-5", "claude-sonnet-4-5", "anthropic/claude-x"]),
    st.none() | st.integers(1, 100_000),
    st.none() | st.floats(0, 2),
    st.lists(TEXTS, max_size=2).map(tuple),
    top_k=st.none() | st.integers(1, 90),
    reasoning=st.none() | st.sampled_from(EFFORTS),
    tools=st.just(()) | st.just((Tool("look", "Looks. 灯", {"type": "object"}),)),
    tool_choice=st.sampled_from([None, "auto", "required"]),
    parallel_tool_calls=st.none() | st.booleans(),
    cache=st.booleans(),
)


@pytest.mark.parametrize("preset", ["custom", "openai", "anthropic", "openrouter", "deepseek", "ollama", "llamacpp"])
async def test_the_previewed_body_is_the_received_one_byte_for_byte(preset: str) -> None:
    script = said("anthropic" if preset == "anthropic" else "openai", "Hi")
    async with asking(script, preset=preset) as ask:
        loop = asyncio.get_running_loop()

        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        @given(REQUESTS)
        def check(request: Request) -> None:
            shown = ask.wire.body(request)
            future = asyncio.run_coroutine_threadsafe(ask.events(request), loop)
            assert isinstance(future.result(10)[-1], Stop)
            assert ask.mock.received[-1].body == payload(shown)
            assert ask.mock.received[-1].document == json.loads(payload(shown)) == json.loads(json.dumps(shown))

        await asyncio.to_thread(check)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("at", range(6))
async def test_a_connection_that_breaks_at_each_event_keeps_the_text_and_is_not_tried_again(api: str, at: int) -> None:
    whole = said(api, "Once ", "upon ", "a time")
    cut = [*whole[: at + 1], Close()]
    async with asking(cut, preset=api) as ask:
        got = await ask.events()
        last = got[-1]
        assert "Once upon a time".startswith(answer(got).text)
        assert sum(isinstance(event, Stop | Failure) for event in got) == 1
        if isinstance(last, Failure):
            assert (last.kind, last.truncated) == ("network", True)
            assert "broke off" in last.message
        assert (len(ask.mock.received), ask.waited) == (1, [])


@pytest.mark.parametrize("api", APIS)
async def test_a_connection_that_breaks_before_a_byte_is_tried_again(api: str) -> None:
    async with asking([Close()], [Close()], said(api, "Hi"), preset=api) as ask:
        got = await ask.events()
        assert answer(got).text == "Hi"
        assert ask.waited == [0.5, 1.0]
        assert [event.attempt for event in got if isinstance(event, Retry)] == [1, 2]


async def test_nobody_there() -> None:
    async with mock_provider(plain("Hi")) as mock:
        gone = mock.base_url
    ask = Asking(mock, base_url=gone)
    failure = await ask.failure()
    assert failure.kind == "network"
    assert "can't be reached" in failure.message and "start the server" in failure.message
    assert ask.waited == [0.5, 1.0]
    await ask.wire.aclose()


@pytest.mark.parametrize(
    ("reply", "kind", "waited", "words"),
    [
        (Reply(401, {"error": {"message": f"Incorrect API key provided: {KEY}."}}), "auth", [], "key was refused"),
        (Reply(402, {"error": {"message": "Insufficient Balance"}}), "credits", [], "no credit"),
        (Reply(429, {"error": {"message": "quota", "code": "insufficient_quota"}}), "credits", [], "no credit"),
        (Reply(429, RATE), "throttled", [0.5, 1.0], "too many requests"),
        (Reply(429, RATE, {"retry-after": "7"}), "throttled", [7.0, 7.0], "asks to wait 7 s"),
        (Reply(429, RATE, {"retry-after-ms": "1500", "retry-after": "9"}), "throttled", [1.5, 1.5], "1.5 s"),
        (Reply(429, RATE, {"retry-after": "600"}), "throttled", [], "asks to wait 600 s"),
        (Reply(429, RATE, {"retry-after": "Sun, 09 Sep 2001 01:46:45 GMT"}), "throttled", [5.0, 5.0], "wait 5 s"),
        (Reply(429, RATE, {"x-should-retry": "false"}), "throttled", [], "too many requests"),
        (Reply(400, {"error": {"message": "odd"}}, {"x-should-retry": "true"}), "bad_request", [0.5, 1.0], "odd"),
        (
            Reply(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
            "overloaded",
            [0.5, 1.0],
            "loading the model",
        ),
        (
            Reply(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "overloaded",
            [0.5, 1.0],
            "the provider is overloaded",
        ),
        (
            Reply(502, "<html><head><title>502 Bad Gateway</title></head></html>"),
            "upstream",
            [0.5, 1.0],
            "502 Bad Gateway",
        ),
        (Reply(404, {"error": {"message": "model 'm-1' not found"}}), "not_found", [], "providers models"),
        (Reply(413, {"error": {"message": "big"}}), "too_large", [], "longer than the model takes"),
        (
            Reply(
                400,
                {
                    "error": {
                        "code": 400,
                        "message": "x",
                        "type": "exceed_context_size_error",
                        "n_prompt_tokens": 9000,
                        "n_ctx": 4096,
                    }
                },
            ),
            "too_large",
            [],
            "9,000 tokens and the server takes 4,096",
        ),
        (
            Reply(
                403,
                {
                    "error": {
                        "code": 403,
                        "message": "Flagged by moderation",
                        "metadata": {"provider_name": "P", "raw": "r"},
                    }
                },
            ),
            "auth",
            [],
            "refused by a filter",
        ),
        (
            Reply(308, {}, {"location": "https://elsewhere.example/v1?k=1"}),
            "bad_request",
            [],
            "https://elsewhere.example/v1",
        ),
        (Reply(200, "<html><title>Sign in</title></html>"), "upstream", [], "Sign in"),
        (Reply(200, {"error": {"message": "no such model", "code": 404}}), "not_found", [], "no such model"),
        (Reply(200, {"hello": "world"}), "upstream", [0.5, 1.0], "provider's side"),
    ],
)
async def test_errors_are_told_whole_and_tried_again_by_the_rules(
    reply: Reply, kind: str, waited: list[float], words: str
) -> None:
    async with asking([reply]) as ask:
        failure = await ask.failure()
        assert (failure.kind, ask.waited) == (kind, waited)
        assert words in failure.message
        assert "\n" not in failure.message and KEY not in failure.message
        if reply.status != 200:
            assert failure.status == reply.status and f"HTTP {reply.status}" in failure.message
        assert len(ask.mock.received) == 1 + len(waited)


async def test_a_busy_provider_that_answers_in_the_end() -> None:
    busy = [Reply(429, RATE, {"retry-after": "2", "x-request-id": "req-9"})]
    async with asking(busy, plain("Hi")) as ask:
        got = await ask.events()
        assert (answer(got).text, ask.waited) == ("Hi", [2.0])
        (retry,) = [event for event in got if isinstance(event, Retry)]
        assert (retry.failure.request_id, retry.failure.said) == ("req-9", "Rate limit reached")


async def test_an_error_in_the_stream_is_tried_again_only_before_anything_is_shown() -> None:
    overloaded = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    async with asking([begin(), overloaded], plain_message("Hi"), preset="anthropic") as ask:
        assert answer(await ask.events()).text == "Hi"
    async with asking([begin(), *text_block(0, "Once"), overloaded], plain_message("Hi"), preset="anthropic") as ask:
        got = await ask.events()
        assert (answer(got).text, ask.waited) == ("Once", [])
        assert isinstance(got[-1], Failure) and got[-1].request_id == "req-mock"


async def test_a_field_that_is_refused_is_left_out_told_of_and_remembered() -> None:
    refusal = {"error": {"message": "Unsupported value: 'temperature' does not support 0.5.", "param": "temperature"}}
    request = Request(GO.messages, "m-1", temperature=0.5)
    async with asking([Reply(400, refusal)], plain("Hi")) as ask:
        assert "temperature" in ask.wire.body(request)
        got = await ask.events(request)
        assert answer(got).text == "Hi"
        (warned,) = [event for event in got if isinstance(event, Warned)]
        assert warned.field == "temperature" and "does not support 0.5" in warned.message
        assert [("temperature" in sent.document) for sent in ask.mock.received] == [True, False]
        assert "temperature" not in ask.wire.body(request)
        assert ask.mock.received[-1].body == payload(ask.wire.body(request))


@pytest.mark.parametrize(
    ("message", "left_out"),
    [
        ("temperature: Extra inputs are not permitted", "temperature"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options')}]", "stream_options"),
        ("Unrecognized request argument supplied: stream_options", "stream_options"),
        ("The temperature of the sea is no reason", ""),
        ("messages: roles must alternate", ""),
    ],
)
async def test_which_field_a_refusal_names(message: str, left_out: str) -> None:
    request = Request(GO.messages, "m-1", temperature=0.5)
    async with asking([Reply(400, {"error": {"message": message}})], plain("Hi"), preset="custom") as ask:
        got = await ask.events(request)
        assert [event.field for event in got if isinstance(event, Warned)] == ([left_out] if left_out else [])
        assert isinstance(got[-1], Stop if left_out else Failure)


async def test_a_refusal_that_does_not_end_is_given_up() -> None:
    async with asking(
        [Reply(400, {"error": {"message": "'stream_options' and 'temperature' are bad"}})], preset="custom"
    ) as ask:
        failure = await ask.failure(Request(GO.messages, "m-1", temperature=0.5))
        assert failure.kind == "bad_request"
        assert len(ask.mock.received) == 3


async def test_the_limit_is_sent_under_its_other_name() -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    request = Request(GO.messages, "m-1", 50)
    async with asking([Reply(400, {"error": {"message": message}})], plain("Hi"), preset="custom") as ask:
        got = await ask.events(request)
        assert answer(got).text == "Hi"
        last = ask.mock.received[-1].document
        assert (last.get("max_completion_tokens"), "max_tokens" in last) == (50, False)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("pause", ["before", "within", "retry"])
async def test_closing_the_stream_ends_the_call_at_once(api: str, pause: str) -> None:
    script: Script = [Sleep(60)] if pause == "before" else [*said(api, "Once")[: SHOWN[api]], Sleep(60)]
    async with asking(script if pause != "retry" else [Reply(503, {})], preset=api) as ask:
        if pause == "retry":
            ask.wire._sleep = asyncio.sleep  # type: ignore[assignment]
        seen = asyncio.Event()

        async def read() -> None:
            async with aclosing(ask.wire.stream(GO)) as events:
                async for got in events:
                    if isinstance(got, Text | Retry):
                        seen.set()

        task = asyncio.create_task(read())
        if pause == "before":
            while not ask.mock.received:
                await asyncio.sleep(0.005)
        else:
            await asyncio.wait_for(seen.wait(), PATIENCE)
        task.cancel()
        await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), PATIENCE)
        assert task.cancelled()
        if pause != "retry":
            await asyncio.wait_for(ask.mock.closed_by_client.wait(), PATIENCE)


async def test_leaving_the_generator_closes_the_socket() -> None:
    async with asking([*plain("Once")[:2], Sleep(60)]) as ask:
        async with aclosing(ask.wire.stream(GO)) as events:
            async for got in events:
                if isinstance(got, Text):
                    break
        await asyncio.wait_for(ask.mock.closed_by_client.wait(), PATIENCE)


@pytest.mark.parametrize("api", APIS)
async def test_silence_is_given_up_and_comments_are_no_silence(api: str) -> None:
    keep = [Raw(b": keep-alive\n\n"), Sleep(0.2)] * 6
    async with asking([*keep, *said(api, "Hi")], preset=api, profile={"idle_timeout": 1.0}) as ask:
        assert answer(await ask.events()).text == "Hi"
    async with asking([*said(api, "Once")[: SHOWN[api]], Sleep(60)], preset=api, profile={"idle_timeout": 0.1}) as ask:
        got = await ask.events()
        last = got[-1]
        assert isinstance(last, Failure)
        assert (answer(got).text, last.kind, ask.waited) == ("Once", "network", [])
        assert "nothing came for too long" in last.message
    async with asking([Sleep(60)], preset=api, profile={"idle_timeout": 0.1}) as ask:
        assert (await ask.failure()).kind == "network"
        assert ask.waited == [0.5, 1.0]


@pytest.mark.parametrize("reported", [9000, 2048, 0])
async def test_a_prompt_cut_off_at_the_front_is_told_of(reported: int) -> None:
    prompt = Request((ChatMessage("user", "The tide comes in over the stones. " * 1200),), "")
    usage = {"prompt_tokens": reported, "completion_tokens": 2}
    script = [chunk({"content": "Hi"}), chunk({}, "stop"), chunk(None, usage=usage), DONE]
    async with asking(script, preset="ollama") as ask:
        got = await ask.events(prompt)
        warned = [event.message for event in got if isinstance(event, Warned)]
        assert len(warned) == (reported == 2048)
        assert all("cut off" in message and "2,048" in message for message in warned)
        assert isinstance(got[-1], Stop)
    async with asking(script, preset="openai") as ask:
        assert not any(isinstance(event, Warned) for event in await ask.events(prompt))


async def test_an_answer_in_one_piece_is_taken() -> None:
    document = {
        "model": "m",
        "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    async with asking([Reply(200, document)]) as ask:
        got = await ask.events()
        assert (answer(got).text, answer(got).usage, got[-1]) == ("Hi", Usage(1, 2), Stop("end_turn", "stop"))
    misnamed = [Reply(200, "data: " + json.dumps({"choices": [{"delta": {"content": "Hi"}}]}) + "\n\ndata: [DONE]\n\n")]
    async with asking(misnamed) as ask:
        assert answer(await ask.events()).text == "Hi"


async def test_what_a_request_leaves_open_the_wire_decides() -> None:
    defaults = Defaults(max_output_tokens=123, temperature=0.3, reasoning_off=True)
    async with asking(plain("Hi"), preset="custom", defaults=defaults) as ask:
        body = ask.wire.body(GO)
        assert (body["model"], body["max_tokens"], body["temperature"]) == ("m-1", 123, 0.3)
        assert body["reasoning_effort"] == "none"
        asked = Request(GO.messages, "m-2", 5, 1.0, reasoning="low")
        body = ask.wire.body(asked)
        assert (body["model"], body["max_tokens"], body["temperature"]) == ("m-2", 5, 1.0)
        assert body["reasoning_effort"] == "low"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000])
async def test_documents_no_one_can_read_are_failures(api: str, deep: str) -> None:
    for script in ([Sse(deep)], [Raw(deep.encode() + b"\n")], [Reply(500, deep)], [Reply(200, deep, JSON)]):
        async with asking(script, preset=api) as ask:
            assert isinstance((await ask.events())[-1], Failure)


@pytest.mark.parametrize("api", APIS)
async def test_two_calls_at_once_do_not_mix(api: str) -> None:
    async with asking(*[said(api, "one ", "answer")] * 2, preset=api) as ask:
        both = await asyncio.gather(ask.events(), ask.events())
        assert [answer(got).text for got in both] == ["one answer"] * 2


@pytest.mark.parametrize("api", APIS)
async def test_a_loop_of_tools(api: str) -> None:
    if api == "openai":
        asks: Script = [
            chunk({"reasoning_content": "Where?"}),
            call(0, "c1", "look", '{"at": '),
            call(0, None, None, '"sea"}'),
            chunk({}, "tool_calls"),
            DONE,
        ]
    else:
        signed = {"type": "signature_delta", "signature": "S=="}
        tool = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
        asks = [
            begin(),
            *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Where?"}, signed),
            *block(1, tool, {"type": "input_json_delta", "partial_json": '{"at": "sea"}'}),
            *end("tool_use"),
        ]
    async with asking(asks, said(api, "Calm."), preset="deepseek" if api == "openai" else api) as ask:
        request = Request(GO.messages, "", tools=(Tool("look", "Looks.", {"type": "object"}),))
        first = answer(await ask.events(request))
        assert first.stop is not None and first.stop.reason == "tool_use"
        (asked,) = first.calls
        assert (asked.name, asked.parsed()) == ("look", {"at": "sea"})
        result = ChatMessage("tool", "no wind", call_id=asked.id)
        second = dataclasses.replace(request, messages=(*request.messages, first.message(), result))
        assert answer(await ask.events(second)).text == "Calm."
        before, after = (sent.document for sent in ask.mock.received)
    told, answered = after["messages"][-2:]
    if api == "openai":
        assert after["messages"][:-2] == before["messages"]
        assert told["reasoning_content"] == "Where?"
        assert told["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": "sea"}'}
        assert answered == {"role": "tool", "tool_call_id": "c1", "content": "no wind"}
    else:
        assert told["content"] == [
            {"type": "thinking", "thinking": "Where?", "signature": "S=="},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "sea"}},
        ]
        (given,) = answered["content"]
        assert given.pop("cache_control") == {"type": "ephemeral"}
        assert given == {"type": "tool_result", "tool_use_id": "c1", "content": "no wind"}


# --- models

LIST = {"object": "list", "data": [{"id": "a", "context_length": 4096}, {"id": "b"}, {"id": "a"}, {"no": "id"}, None]}


async def test_the_models_a_provider_lists() -> None:
    async with asking([Reply(200, LIST)]) as ask:
        assert await ask.wire.models() == (ListedModel("a", context=4096), ListedModel("b"))
        assert (ask.mock.received[0].method, ask.mock.received[0].path) == ("GET", "/v1/models")
    gemini = {"data": [{"id": "models/gemini-x", "display_name": "X"}]}
    async with asking([Reply(200, gemini)], preset="gemini") as ask:
        assert await ask.wire.models() == (ListedModel("gemini-x", "X"),)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(401, {"error": {"message": KEY}}), "auth"),
        (Reply(200, "<html>hi</html>"), "upstream"),
        (Reply(200, {"x": 1}), "upstream"),
    ],
)
async def test_a_list_that_can_not_be_had(reply: Reply, kind: str) -> None:
    async with asking([reply]) as ask:
        with pytest.raises(CallFailed) as caught:
            await ask.wire.models()
        assert caught.value.failure.kind == kind
        assert KEY not in str(caught.value)


async def test_a_list_in_pages() -> None:
    first = {"data": [{"id": "a"}, {"id": "b"}], "has_more": True, "last_id": "b"}
    async with asking(
        [Reply(200, first)], [Reply(200, {"data": [{"id": "c"}], "has_more": False})], preset="anthropic"
    ) as ask:
        assert [listed.id for listed in await ask.wire.models()] == ["a", "b", "c"]
        assert [sent.path for sent in ask.mock.received] == ["/v1/models", "/v1/models?after_id=b"]


# --- keys


async def test_a_key_from_the_environment_is_looked_up_for_each_call() -> None:
    environ: dict[str, str] = {}
    async with asking(plain("Hi"), environ=environ) as ask:
        ask.wire._provider = dataclasses.replace(ask.wire._provider, key=Key("MINE_KEY"))
        failure = await ask.failure()
        assert (failure.kind, len(ask.mock.received)) == ("auth", 0)
        assert "MINE_KEY" in failure.message and "not set" in failure.message
        environ["MINE_KEY"] = " first-secret\n"
        await ask.events()
        environ["MINE_KEY"] = "second-secret"
        await ask.events()
        assert [sent.headers["authorization"] for sent in ask.mock.received] == [
            "Bearer first-secret",
            "Bearer second-secret",
        ]


async def test_a_server_without_a_key_gets_none_and_a_bad_key_is_not_told() -> None:
    async with asking(plain("Hi"), key=None) as ask:
        await ask.events()
        assert "authorization" not in ask.mock.received[0].headers
    async with asking(plain("Hi"), key="sk-\u2026é-broken\nkey") as ask:
        failure = await ask.failure()
        assert (failure.kind, len(ask.mock.received)) == ("auth", 0)
        assert "broken" not in failure.message


SECRET_URL = "://user:url-password-1@"


@pytest.mark.parametrize("api", APIS)
async def test_secrets_are_nowhere(api: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    header = "header-secret-1"
    echo = f"bad key {KEY}, header {header}, Bearer abcdefgh12345 and url-password-1; sk-proj-other0key"
    shown: list[str] = []
    replies: list[Script] = [
        [Reply(401, {"error": {"message": echo}})],
        [Reply(500, f"<html><title>{echo}</title></html>")],
        [Reply(200, {"error": echo})],
        [Reply(400, {"error": {"message": f"temperature: {echo}"}})],
        [Sse({"error": {"message": echo, "type": "api_error"}}, "error")],
        [Close()],
        said(api, "Hi"),
    ]
    for script in replies:
        async with mock_provider(script) as mock:
            url = mock.base_url.replace("://", SECRET_URL) + "?api_key=query-secret-1"
            ask = Asking(mock, api, base_url=url, headers={"X-Auth": header})
            for event_ in await ask.events(Request(GO.messages, "m-1", temperature=0.4)):
                shown += [repr(event_), str(event_)]
            shown += [repr(ask.wire), str(vars(ask.wire)["_provider"]), ask.wire.label, json.dumps(ask.wire.body(GO))]
            try:
                await ask.wire.models()
            except CallFailed as error:
                shown += [str(error), repr(error), repr(error.failure)]
            assert mock.received[0].path.endswith("?api_key=query-secret-1")
            await ask.wire.aclose()
    ask = Asking(mock, api, base_url="http://user:url-password-1@no-such-host.invalid/v1?api_key=query-secret-1")
    shown += [repr(event_) for event_ in await ask.events()]
    await ask.wire.aclose()
    shown += [record.getMessage() for record in caplog.records]
    for secret in (KEY, header, "url-password-1", "query-secret-1", "abcdefgh12345", "other0key"):
        assert not [text for text in shown if secret in text], secret


async def test_redirects_are_not_followed_with_the_key() -> None:
    async with (
        mock_provider(plain("Hi")) as elsewhere,
        asking([Reply(307, {}, {"location": elsewhere.base_url})]) as ask,
    ):
        failure = await ask.failure()
        assert "redirects" in failure.message
        assert elsewhere.received == []


async def test_proxies_of_the_environment_are_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with asking(plain("Hi")) as ask:
        assert answer(await ask.events()).text == "Hi"


def test_a_wire_serves_one_loop_after_another() -> None:
    async def ask_twice() -> None:
        async with mock_provider(plain("Hi")) as mock:
            wire.append(wire[0] if wire else HttpWire(provider("openai", mock.base_url)))
            wire[-1]._provider = provider("openai", mock.base_url)
            assert answer([event async for event in wire[-1].stream(GO)]).text == "Hi"

    wire: list[HttpWire] = []
    asyncio.run(ask_twice())
    asyncio.run(ask_twice())
    gc.collect()


@pytest.mark.parametrize("api", APIS)
async def test_a_refusal_and_a_long_end(api: str) -> None:
    script: Script = (
        [begin(), *end("refusal")] if api == "anthropic" else [chunk({"refusal": "No."}), chunk({}, "stop"), DONE]
    )
    async with asking(script, preset=api) as ask:
        last = (await ask.events())[-1]
        assert isinstance(last, Stop) and last.reason == "refusal"
