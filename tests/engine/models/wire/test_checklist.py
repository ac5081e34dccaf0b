"""The checklist for mock servers (spec provider-wire, C5), case by case over real sockets and for both APIs.

A case has the number of its place in the list; those about HTTP alone are the same for both APIs.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from engine.models.wire.base import Failure, Stop, Text, Usage
from engine.models.wire.events import Retry
from engine.models.wire.parts import OpaquePart, ThinkingPart
from tests.engine.models.wire.making import answer
from tests.engine.models.wire.test_http_wire import GO, PATIENCE, SHOWN, asking, said
from tests.mock_provider.scripts import (
    COUNTED,
    DONE,
    USAGE,
    begin,
    block,
    bytes_of,
    call,
    chunk,
    end,
    event,
    plain,
    plain_message,
    text_block,
)
from tests.mock_provider.server import Close, Raw, Reply, Script, Sleep, Sse

LINE = "Ü 灯塔 🌊 \u2028 end"
COUNT = Usage(9, 3, cached_tokens=4, reasoning_tokens=1)
OPENAI, ANTHROPIC = "openai", "anthropic"


@dataclass(frozen=True)
class Case:
    """What a server sends, and what is to come of it; the fields that are None are not looked at."""

    number: str
    name: str
    api: str
    script: Script
    text: str = ""
    thoughts: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    parts: tuple[Any, ...] = ()
    reason: str = "end_turn"
    detail: str = ""
    fails: str = ""
    usage: Usage | None = None
    waited: tuple[float, ...] = ()
    then: Script = field(default_factory=list)

    def __str__(self) -> str:
        return f"C5.{self.number} {self.name} ({self.api})"


def cut(script: Script, size: int) -> list[Any]:
    """The same bytes in pieces of `size`, as the network may deliver them."""
    data = bytes_of(script)
    return [Raw(data[at : at + size]) for at in range(0, len(data), size)]


def crlf(script: Script) -> list[Any]:
    return [Sse(step.data, step.event, "\r\n") for step in script if isinstance(step, Sse)]


def commented(script: Script) -> list[Any]:
    return [Raw(b": first\n\n"), *(piece for step in script for piece in (step, Raw(b": keep-alive\n\n")))]


def tool_use(index: int, identity: str, name: str, *pieces: str) -> list[Any]:
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, {"type": "tool_use", "id": identity, "name": name, "input": {}}, *deltas)


def thinking(text: str, signature: str) -> list[Any]:
    deltas = [{"type": "thinking_delta", "thinking": text}] if text else []
    start = {"type": "thinking", "thinking": "", "signature": ""}
    return block(0, start, *deltas, {"type": "signature_delta", "signature": signature})


ARGUMENTS = '{"é": "\\n"}'
CALLED = [chunk({}, "tool_calls"), DONE]
HI = chunk({"content": "Hi"})
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
REDACTED = {"type": "redacted_thinking", "data": "opaque=="}

CASES = [
    Case("1", "plain text", OPENAI, plain("Hi", LINE), f"Hi{LINE}", usage=COUNT),
    Case("1", "plain text", ANTHROPIC, plain_message("Hi", LINE), f"Hi{LINE}", usage=Usage(10, 42)),
    *(
        Case("2", f"split every {size} bytes, within characters and lines", api, cut(said(api, LINE), size), LINE)
        for api in (OPENAI, ANTHROPIC)
        for size in (7, 61)
    ),
    *(Case("3", "CRLF", api, crlf(said(api, LINE)), LINE) for api in (OPENAI, ANTHROPIC)),
    *(Case("4", "comments before and between", api, commented(said(api, LINE)), LINE) for api in (OPENAI, ANTHROPIC)),
    *(Case("5", "U+2028 in JSON", api, said(api, "a\u2028b\u2029c"), "a\u2028b\u2029c") for api in (OPENAI, ANTHROPIC)),
    Case(
        "6",
        "two interleaved tool indices",
        OPENAI,
        [
            call(0, "a", "f", '{"x"'),
            call(1, "b", "g", "{"),
            call(0, None, None, ": 1}"),
            call(1, None, None, "}"),
            *CALLED,
        ],
        calls=(("f", '{"x": 1}'), ("g", "{}")),
        reason="tool_use",
    ),
    Case(
        "6",
        "two calls in blocks that are interleaved",
        ANTHROPIC,
        [
            begin(),
            *tool_use(0, "a", "f", '{"x"')[:-1],
            *tool_use(1, "b", "g", "{}"),
            event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": ": 1}"}),
            event("content_block_stop", index=0),
            *end("tool_use"),
        ],
        calls=(("f", '{"x": 1}'), ("g", "{}")),
        reason="tool_use",
    ),
    Case(
        "7",
        "a whole call",
        OPENAI,
        [call(0, "a", "f", '{"x": 1}'), *CALLED],
        calls=(("f", '{"x": 1}'),),
        reason="tool_use",
    ),
    Case(
        "8",
        "arguments by character",
        OPENAI,
        [call(0, "a", "f", ""), *(call(0, None, None, char) for char in ARGUMENTS), *CALLED],
        calls=(("f", ARGUMENTS),),
        reason="tool_use",
    ),
    Case(
        "8",
        "arguments by character",
        ANTHROPIC,
        [begin(), *tool_use(0, "a", "f", *ARGUMENTS), *end("tool_use")],
        calls=(("f", ARGUMENTS),),
        reason="tool_use",
    ),
    Case("9", "empty arguments", OPENAI, [call(0, "a", "f", ""), *CALLED], calls=(("f", "{}"),), reason="tool_use"),
    Case(
        "9",
        "empty arguments",
        ANTHROPIC,
        [begin(), *tool_use(0, "a", "f"), *end("tool_use")],
        calls=(("f", "{}"),),
        reason="tool_use",
    ),
    Case(
        "10", "bad arguments", OPENAI, [call(0, "a", "f", '{"x":'), *CALLED], calls=(("f", '{"x":'),), reason="tool_use"
    ),
    Case(
        "10",
        "bad arguments",
        ANTHROPIC,
        [begin(), *tool_use(0, "a", "f", '{"x":'), *end("tool_use")],
        calls=(("f", '{"x":'),),
        reason="tool_use",
    ),
    *(
        Case("11", f"reasoning as {name}", OPENAI, [chunk({name: "I see."}), *plain("Hi")], "Hi", "I see.")
        for name in ("reasoning_content", "reasoning")
    ),
    Case(
        "11",
        "reasoning as details, mirrored",
        OPENAI,
        [
            chunk(
                {"reasoning": "I see.", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "I see."}]}
            ),
            *plain("Hi"),
        ],
        "Hi",
        "I see.",
    ),
    Case("12", "usage on the finish chunk", OPENAI, [HI, chunk({}, "stop", usage=USAGE), DONE], "Hi", usage=COUNT),
    Case("12", "usage in a chunk of its own", OPENAI, [HI, chunk({}, "stop"), COUNTED, DONE], "Hi", usage=COUNT),
    Case(
        "12",
        "usage with null choices",
        OPENAI,
        [HI, chunk({}, "stop"), Sse({"choices": None, "usage": USAGE}), DONE],
        "Hi",
        usage=COUNT,
    ),
    Case("12", "usage never", OPENAI, [HI, chunk({}, "stop"), DONE], "Hi"),
    Case(
        "13",
        "an error before the body",
        OPENAI,
        [Reply(400, {"error": {"message": "odd", "type": "x"}})],
        fails="bad_request",
    ),
    Case(
        "13",
        "an error before the body",
        ANTHROPIC,
        [Reply(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "odd"}})],
        fails="bad_request",
    ),
    Case(
        "13",
        "an error in the stream",
        OPENAI,
        [HI, Sse({"error": {"message": "x", "type": "server_error"}})],
        "Hi",
        fails="upstream",
    ),
    Case(
        "13",
        "an error in the stream (OpenRouter)",
        OPENAI,
        [
            HI,
            Sse(
                {
                    "error": {"code": 502, "message": "x"},
                    "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
                }
            ),
        ],
        "Hi",
        fails="upstream",
    ),
    Case(
        "13",
        "an error event",
        ANTHROPIC,
        [begin(), *text_block(0, "Hi"), Sse(OVERLOADED, "error")],
        "Hi",
        fails="overloaded",
    ),
    Case(
        "13",
        "an error in the stream (llama.cpp)",
        OPENAI,
        [HI, Sse({"error": {"code": 500, "message": "x", "type": "server_error"}})],
        "Hi",
        fails="upstream",
    ),
    Case(
        "13",
        "an old error field (llama.cpp)",
        OPENAI,
        [HI, Raw(b'error: {"code":500,"message":"x","type":"server_error"}\n\n')],
        "Hi",
        fails="upstream",
    ),
    Case(
        "13",
        "a bare line of JSON (Ollama)",
        OPENAI,
        [HI, Raw(b'{"error":"model runner has stopped"}\n')],
        "Hi",
        fails="upstream",
    ),
    Case("14", "an end without a terminal", OPENAI, [HI], "Hi", fails="network"),
    Case("14", "an end without a terminal", ANTHROPIC, [begin(), *text_block(0, "Hi")], "Hi", fails="network"),
    Case("14", "an empty chunk, then the end (Ollama)", OPENAI, [HI, chunk({"content": ""})], "Hi", fails="network"),
    Case("14", "a connection that breaks", OPENAI, [HI, Close()], "Hi", fails="network"),
    Case("14", "a connection that breaks", ANTHROPIC, [begin(), *text_block(0, "Hi"), Close()], "Hi", fails="network"),
    Case("15", "no [DONE] after the finish", OPENAI, [HI, chunk({}, "stop"), COUNTED], "Hi", usage=COUNT),
    Case("15", "no message_stop after the reason", ANTHROPIC, [begin(), *text_block(0, "Hi"), *end()[:1]], "Hi"),
    Case(
        "16",
        "thinking and its signature",
        ANTHROPIC,
        [begin(), *thinking("I see.", "Sig=="), *text_block(1, "Hi"), *end()],
        "Hi",
        "I see.",
        parts=(ThinkingPart("I see.", "Sig=="),),
    ),
    Case(
        "17",
        "a signature alone",
        ANTHROPIC,
        [begin(), *thinking("", "only"), *text_block(1, "Hi"), *end()],
        "Hi",
        parts=(ThinkingPart("", "only"),),
    ),
    Case(
        "18",
        "redacted thinking",
        ANTHROPIC,
        [begin(), *block(0, REDACTED), *text_block(1, "Hi"), *end()],
        "Hi",
        parts=(OpaquePart("anthropic", REDACTED),),
    ),
    Case(
        "19",
        "cumulative usage",
        ANTHROPIC,
        [
            begin(cache_read_input_tokens=900, cache_creation_input_tokens=90),
            *text_block(0, "Hi"),
            event("message_delta", delta={}, usage={"output_tokens": 20}),
            *end(output_tokens=30),
        ],
        "Hi",
        usage=Usage(1000, 30, 900, 90),
    ),
    Case("20", "a pause", ANTHROPIC, [begin(), *text_block(0, "Hi"), *end("pause_turn")], "Hi", reason="pause"),
    Case(
        "21",
        "a refusal with details",
        ANTHROPIC,
        [begin(), *end("refusal", stop_details={"category": "cyber", "explanation": "It may not."})],
        reason="refusal",
        detail="cyber: It may not.",
    ),
    Case(
        "21",
        "a refusal",
        OPENAI,
        [chunk({"refusal": "I cannot."}), chunk({}, "stop"), DONE],
        reason="refusal",
        detail="I cannot.",
    ),
    *(
        case
        for api in (OPENAI, ANTHROPIC)
        for case in (
            Case(
                "22",
                "429 with retry-after, then an answer",
                api,
                [Reply(429, {"error": {"type": "rate_limit_error", "message": "slow"}}, {"retry-after": "2"})],
                "Hi",
                waited=(2.0,),
                then=said(api, "Hi"),
            ),
            Case(
                "23",
                "no credit is no throttling",
                api,
                [
                    Reply(
                        429, {"error": {"code": "insufficient_quota", "type": "insufficient_quota", "message": "quota"}}
                    )
                ],
                fails="credits",
            ),
            Case("24", "529, then an answer", api, [Reply(529, OVERLOADED)], "Hi", waited=(0.5,), then=said(api, "Hi")),
            Case(
                "25",
                "503 while loading, then an answer",
                api,
                [Reply(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})],
                "Hi",
                waited=(0.5,),
                then=said(api, "Hi"),
            ),
            Case(
                "26",
                "an HTML page of 502",
                api,
                [Reply(502, "<html><title>502 Bad Gateway</title></html>")],
                fails="upstream",
                waited=(0.5, 1.0),
            ),
        )
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_checklist(case: Case) -> None:
    async with asking(case.script, *([case.then] if case.then else []), preset=case.api) as ask:
        got = await ask.events()
    found, last = answer(got), got[-1]
    assert (found.text, found.thoughts) == (case.text, case.thoughts)
    assert tuple((made.name, made.arguments) for made in found.calls) == case.calls
    assert all(part in found.parts for part in case.parts)
    assert sum(isinstance(told, Stop | Failure) for told in got) == 1
    if case.fails:
        assert isinstance(last, Failure)
        assert (last.kind, last.truncated) == (case.fails, case.number == "14")
        assert last.message and "\n" not in last.message
    else:
        assert isinstance(last, Stop)
        assert (last.reason, last.detail) == (case.reason, case.detail)
    if case.usage is not None:
        assert found.usage == case.usage
    elif case.name == "usage never":
        assert found.usage is None
    assert ask.waited == list(case.waited)
    assert len(ask.mock.received) == 1 + len(case.waited)


def test_every_case_of_the_list_is_here() -> None:
    here = {case.number for case in CASES}
    assert here == {str(number) for number in range(1, 27)}
    missing = {api: {case.number for case in CASES if case.api == api} ^ here for api in (OPENAI, ANTHROPIC)}
    # What only one API has: signatures and pauses; indices, fields of reasoning, usage that rides anywhere.
    assert missing == {OPENAI: {"16", "17", "18", "19", "20"}, ANTHROPIC: {"7", "11", "12"}}


@pytest.mark.parametrize("api", [OPENAI, ANTHROPIC])
async def test_a_hang_is_given_up(api: str) -> None:
    """C5.27: after silence, tried again before the first byte only."""
    async with asking([Sleep(60)], said(api, "Hi"), preset=api, profile={"idle_timeout": 0.1}) as ask:
        got = await asyncio.wait_for(ask.events(), PATIENCE)
        assert (answer(got).text, ask.waited) == ("Hi", [0.5])
        assert sum(isinstance(told, Retry) for told in got) == 1
    hangs = [*said(api, "Once")[: SHOWN[api]], Sleep(60)]
    async with asking(hangs, preset=api, profile={"idle_timeout": 0.1}) as ask:
        got = await asyncio.wait_for(ask.events(), PATIENCE)
        assert isinstance(got[-1], Failure)
        assert (answer(got).text, got[-1].kind, ask.waited) == ("Once", "network", [])


@pytest.mark.parametrize("api", [OPENAI, ANTHROPIC])
async def test_leaving_closes_the_socket(api: str) -> None:
    """C5.28: a client that leaves ends the call, so that nothing more is paid for."""
    async with asking([*said(api, "Once")[: SHOWN[api]], Sleep(60)], preset=api) as ask:
        async with aclosing(ask.wire.stream(GO)) as events:
            async for told in events:
                if isinstance(told, Text):
                    break
        await asyncio.wait_for(ask.mock.closed_by_client.wait(), PATIENCE)
