"""Chat completions: the events of every stream of the checklist, however it is cut, and the bodies of requests."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.wire.base import ChatMessage, Failure, Request, Start, Stop, Text, Thinking, Usage
from engine.models.wire.events import Event, Opaque, ToolArgs, ToolEnd, ToolStart
from engine.models.wire.openai_chat import DETAILS, build
from engine.models.wire.parts import ForcedTool, OpaquePart, TextPart, ThinkingPart, Tool, ToolCall, assistant_message
from tests.engine.models.wire.making import answer, parsed, parser, profile
from tests.mock_provider.scripts import COUNTED, DONE, USAGE, bytes_of, call, chunk, plain
from tests.mock_provider.server import Raw, Script, Sse, Step

COUNT = Usage(9, 3, cached_tokens=4, reasoning_tokens=1)
LINE = "Ü 灯塔 🌊 \u2028 \u2029 \x85 end"


def events(script: Script, preset: str = "custom") -> list[Event]:
    return parsed([bytes_of(script)], preset)


def failure_in(script: Script, preset: str = "custom") -> Failure:
    last = events(script, preset)[-1]
    assert isinstance(last, Failure)
    return last


def test_a_plain_answer() -> None:
    assert events(plain("Hi", LINE)) == [
        Start("m-1", "chatcmpl-1"),
        Text("Hi"),
        Text(LINE),
        COUNT,
        Stop("end_turn", "stop"),
    ]


DETAIL = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
STREAMS: dict[str, Script] = {
    "plain": plain("Hi", LINE, "there"),
    "crlf": [Sse(step.data, newline="\r\n") for step in plain("Hi", LINE) if isinstance(step, Sse)],
    "comments": [Raw(b": OPENROUTER PROCESSING\n\n"), *plain("Hi")[:2], Raw(b": keep-alive\n\n"), *plain("Hi")[2:]],
    "interleaved": [
        call(0, "a", "f", '{"x"'),
        call(1, "b", "g", "{"),
        call(0, None, None, ": 1}"),
        call(1, None, None, "}"),
        chunk({}, "tool_calls"),
        DONE,
    ],
    "per character": [
        call(0, "a", "f", ""),
        *(call(0, None, None, c) for c in '{"é": "\\n"}'),
        chunk({}, "tool_calls"),
        DONE,
    ],
    "details": [
        chunk({"reasoning_details": [{**DETAIL, "text": "I "}]}),
        chunk({"reasoning_details": [{**DETAIL, "text": "see.", "signature": "S"}]}),
        chunk({"content": "Yes."}),
        chunk({}, "stop"),
        DONE,
    ],
    "error": [chunk({"content": "Once"}), Sse({"error": {"message": "x", "code": 502}})],
    "bare error": [chunk({"content": "Once"}), Raw(b'{"error":"model runner has stopped"}\n')],
    "truncated": [chunk({"content": "Once"}), chunk({"content": " upon"})],
    "cut in an event": [chunk({"content": "Once"}), Raw(b'data: {"choices":[{"delta"')],
}


@pytest.mark.parametrize("name", STREAMS)
@given(data=st.data())
def test_chunks_make_no_difference(name: str, data: st.DataObject) -> None:
    stream = bytes_of(STREAMS[name])
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream)), max_size=20)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parsed(chunks) == parsed([stream])


def test_byte_by_byte() -> None:
    for stream in map(bytes_of, STREAMS.values()):
        assert parsed([stream[at : at + 1] for at in range(len(stream))]) == parsed([stream])


@pytest.mark.parametrize(
    "ending",
    [
        [chunk({}, "stop", usage=USAGE), DONE],
        [chunk({}, "stop"), COUNTED, DONE],
        [chunk({}, "stop"), Sse({"choices": None, "usage": USAGE}), DONE],
        [chunk({}, "stop"), Sse({"usage": USAGE, "obfuscation": "xyz"}), Sse("null"), DONE],
        [chunk({"content": None}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 1}), COUNTED],
        [chunk({}, "stop"), chunk(None, usage={**USAGE, "completion_tokens": -1}), COUNTED, DONE],
    ],
)
def test_usage_may_ride_anywhere_and_the_last_word_may_lack(ending: list[Step]) -> None:
    got = events([chunk({"content": "Hi"}), *ending])
    assert [event for event in got if isinstance(event, Usage)][-1] == COUNT
    assert got[-1] == Stop("end_turn", "stop")


def test_without_usage_there_is_none_and_llama_cpps_timings_stand_in() -> None:
    got = events([chunk({"content": "Hi"}), chunk({}, "stop"), DONE])
    assert not any(isinstance(event, Usage) for event in got)
    timings = {"prompt_n": 5, "cache_n": 20, "predicted_n": 3, "predicted_per_second": 11.5}
    got = events([chunk({"content": "Hi"}), chunk({}, "stop", timings=timings), DONE])
    assert Usage(25, 3, cached_tokens=20) in got


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal"), ("new_word", "end_turn")],
)
def test_why_it_ended(finish: str, reason: str) -> None:
    assert events(plain("Hi", finish=finish))[-1] == Stop(reason, finish)  # type: ignore[arg-type]


def test_a_refusal_is_one_and_says_why() -> None:
    got = events([chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"), DONE])
    assert got[-1] == Stop("refusal", "stop", "I cannot.")


def test_calls_that_are_interleaved() -> None:
    found = answer(events(STREAMS["interleaved"]))
    assert found.calls == (ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "g", "{}"))
    assert found.stop == Stop("tool_use", "tool_calls")


def test_a_whole_call_ids_that_lack_and_a_forced_call_that_ends_in_stop() -> None:
    got = events([call(0, None, "f", '{"x":1}'), call(1, "b", "g", None), chunk({}, "stop"), DONE])
    assert got[1:] == [
        ToolStart(0, "call-1", "f"),
        ToolArgs(0, '{"x":1}'),
        ToolStart(1, "b", "g"),
        ToolEnd(0),
        ToolEnd(1),
        Stop("tool_use", "stop"),
    ]
    assert answer(got).calls == (ToolCall("call-1", "f", '{"x":1}'), ToolCall("b", "g", "{}"))


def test_indexes_that_lack_and_indexes_that_are_all_0() -> None:
    lacking = [
        call(None, "a", "f", "{}"),
        call(None, "b", "g", "{"),
        call(None, None, None, "}"),
        chunk({}, "stop"),
        DONE,
    ]
    equal = [call(0, "a", "f", "{}"), call(0, "b", "g", "{}"), chunk({}, "stop"), DONE]
    repeated = [call(0, "a", "f", "{"), call(0, "a", "f", "}"), call(1, "b", "g", "{}"), chunk({}, "stop"), DONE]
    for script in (lacking, equal, repeated):
        assert answer(events(script)).calls == (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))


def test_the_older_function_call_and_arguments_that_are_an_object() -> None:
    got = events([chunk({"function_call": {"name": "f", "arguments": "{}"}}), chunk({}, "function_call"), DONE])
    assert answer(got).calls == (ToolCall("call-1", "f", "{}"),)
    call_whole = chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"é": 1}}}]})
    assert answer(events([call_whole, chunk({}, "tool_calls"), DONE])).calls == (ToolCall("a", "f", '{"é": 1}'),)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_by_either_field_and_never_twice(field: str) -> None:
    got = events([chunk({field: "Hm"}), chunk({field: "."}), chunk({"content": "Hi"}), chunk({}, "stop"), DONE])
    assert got[1:4] == [Thinking("Hm"), Thinking("."), Text("Hi")]
    both = [chunk({"reasoning": "Hm", "reasoning_content": "Hm"}), chunk({}, "stop"), DONE]
    for preset in ("custom", "openrouter"):
        assert answer(events(both, preset)).thoughts == "Hm"


def test_reasoning_details_are_merged_and_kept_as_they_are() -> None:
    got = events(STREAMS["details"])
    merged = {**DETAIL, "text": "I see.", "signature": "S"}
    assert Opaque(OpaquePart(DETAILS, merged)) in got
    found = answer(got)
    assert (found.thoughts, found.text) == ("I see.", "Yes.")
    back = Request((found.message(), ChatMessage("user", "Go on.")), "m-1")
    (first, _) = build(back, profile("openrouter")).body["messages"]
    assert first == {"role": "assistant", "content": "Yes.", "reasoning_details": [merged]}


@pytest.mark.parametrize(
    ("last", "kind", "status", "said"),
    [
        (
            Sse({"error": {"message": "Overloaded", "type": "server_error", "code": None}}),
            "upstream",
            500,
            "Overloaded",
        ),
        (chunk({"content": ""}, "error", error={"code": 429, "message": "slow down"}), "throttled", 429, "slow down"),
        (Sse({"error": {"code": 500, "message": "boom", "type": "server_error"}}), "upstream", 500, "boom"),
        (Raw(b'error: {"code":503,"message":"loading","type":"unavailable_error"}\n\n'), "overloaded", 503, "loading"),
        (Raw(b'{"error":"model runner has stopped"}\n'), "upstream", None, "model runner has stopped"),
        (chunk({}, "insufficient_system_resource"), "upstream", None, ""),
        (chunk({}, "error"), "upstream", None, ""),
        (Sse("{not json}"), "upstream", None, "{not json}"),
        (Raw(b"<html><title>Bad gateway</title></html>\n"), "upstream", None, "Bad gateway"),
    ],
)
def test_an_error_in_the_stream_ends_it_and_the_text_stays(
    last: Step, kind: str, status: int | None, said: str
) -> None:
    got = events([chunk({"content": "Once"}), last, chunk({"content": "never"}), DONE])
    failure = got[-1]
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.status, failure.said) == (kind, status, said)
    assert answer(got).text == "Once"


@pytest.mark.parametrize("name", ["truncated", "cut in an event"])
def test_an_end_without_a_reason_is_a_truncation(name: str) -> None:
    failure = failure_in(STREAMS[name])
    assert (failure.kind, failure.truncated, failure.keeps_progress) == ("network", True, True)
    assert failure_in([]).truncated
    assert failure_in([chunk({"content": ""})]).truncated


def test_a_call_that_broke_off_is_no_call() -> None:
    found = answer(events([call(0, "a", "f", '{"x": '), Raw(b": bye\n\n")]))
    assert (found.calls, found.failure is not None) == ((), True)


def test_an_answer_in_one_piece() -> None:
    message = {"role": "assistant", "content": "Hi", "reasoning_content": "Hm", "tool_calls": None}
    document = {"id": "c", "model": "m-1", "choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE}
    whole = parser().whole(document)
    assert whole == [Start("m-1", "c"), Thinking("Hm"), Text("Hi"), COUNT, Stop("end_turn", "stop")]
    assert parsed([json.dumps(document, indent=1).encode()]) == whole
    (failure,) = parser().whole({"error": {"message": "no", "code": 401}})
    assert isinstance(failure, Failure) and failure.kind == "auth"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "choices",
                        "delta",
                        "content",
                        "tool_calls",
                        "usage",
                        "index",
                        "function",
                        "id",
                        "reasoning_details",
                        "finish_reason",
                        "arguments",
                        "name",
                        "error",
                        "message",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_nothing_a_server_sends_raises(document: Any) -> None:
    got = parsed([f"data: {json.dumps(document)}\n\n".encode(), b"data: [DONE]\n\n"])
    assert isinstance(got[-1], Stop | Failure)
    assert isinstance(parser().whole(document)[-1], Stop | Failure)


# --- bodies

ASKED = Request((ChatMessage("system", "You write."), ChatMessage("user", "Go.")), "m-1")
TOOL = Tool("look", "Looks.", {"type": "object", "properties": {}})


def test_the_smallest_body() -> None:
    assert build(ASKED, profile()).body == {
        "model": "m-1",
        "messages": [{"role": "system", "content": "You write."}, {"role": "user", "content": "Go."}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_parameters_by_the_names_of_each_provider() -> None:
    request = Request(ASKED.messages, "gpt-5", 99, 0.7, ("END",), reasoning="high", repetition_penalty=1.1, seed=4)
    body = build(request, profile()).body
    assert {key: body[key] for key in ("max_tokens", "temperature", "stop", "seed", "reasoning_effort")} == {
        "max_tokens": 99,
        "temperature": 0.7,
        "stop": ["END"],
        "seed": 4,
        "reasoning_effort": "high",
    }
    assert "repetition_penalty" not in body
    prepared = build(request, profile("openai", "gpt-5"))
    assert prepared.body["max_completion_tokens"] == 99
    assert prepared.body["messages"][0]["role"] == "developer"
    assert not {"temperature", "stop", "max_tokens"} & prepared.body.keys()
    assert {warning.field for warning in prepared.warnings} == {"temperature", "repetition_penalty", "stop"}
    assert build(request, profile("llamacpp")).body["repeat_penalty"] == 1.1


@pytest.mark.parametrize(
    ("preset", "model", "effort", "expected"),
    [
        ("openai", "gpt-5", "none", {"reasoning_effort": "minimal"}),
        ("openai", "gpt-5.1", "none", {"reasoning_effort": "none"}),
        ("openai", "gpt-5", "max", {"reasoning_effort": "high"}),
        ("openai", "gpt-5.1", "max", {"reasoning_effort": "high"}),
        ("openai", "gpt-5.2", "max", {"reasoning_effort": "xhigh"}),
        ("openai", "gpt-5-pro", "none", {"reasoning_effort": "high"}),
        ("openai", "gpt-4o", "high", {}),
        ("openrouter", "x/y", "low", {"reasoning": {"effort": "low"}}),
        ("openrouter", "x/y", "none", {"reasoning": {"enabled": False}}),
        ("deepseek", "deepseek-chat", "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("deepseek", "deepseek-chat", "none", {"thinking": {"type": "disabled"}}),
        ("zai", "glm-5", "medium", {"thinking": {"type": "enabled"}}),
        ("vllm", "q", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("ollama", "q", "minimal", {"reasoning_effort": "low"}),
    ],
)
def test_how_each_is_asked_to_think(preset: str, model: str, effort: Any, expected: dict[str, Any]) -> None:
    body = build(Request(ASKED.messages, model, reasoning=effort), profile(preset, model)).body
    keys = ("reasoning_effort", "reasoning", "thinking", "chat_template_kwargs")
    assert {key: body[key] for key in keys if key in body} == expected


def test_tools_and_their_results() -> None:
    asks = assistant_message((ThinkingPart("Hm"), TextPart("Let me see."), ToolCall("a", "look", '{"x":1}')))
    messages = (ChatMessage("user", "Go."), asks, ChatMessage("tool", "nothing", call_id="a"))
    request = Request(messages, "m-1", tools=(TOOL,), tool_choice=ForcedTool("look"), parallel_tool_calls=False)
    body = build(request, profile()).body
    function = {"name": "look", "description": "Looks.", "parameters": TOOL.parameters}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    assert body["parallel_tool_calls"] is False
    (_, said, result) = body["messages"]
    assert said["tool_calls"] == [{"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"x":1}'}}]
    assert (said["content"], result) == ("Let me see.", {"role": "tool", "tool_call_id": "a", "content": "nothing"})
    assert "tool_choice" not in build(Request(ASKED.messages, "m-1", tool_choice="none"), profile()).body


@pytest.mark.parametrize(
    ("preset", "with_calls", "without"),
    [
        ("custom", {}, {}),
        ("deepseek", {"reasoning_content": "Hm"}, {}),
        ("zai", {"reasoning_content": "Hm"}, {"reasoning_content": "Hm"}),
        ("ollama", {"reasoning": "Hm"}, {"reasoning": "Hm"}),
    ],
)
def test_reasoning_is_sent_back_as_each_wants_it(preset: str, with_calls: Any, without: Any) -> None:
    calls = assistant_message((ThinkingPart("Hm"), ToolCall("a", "look")))
    plain_answer = assistant_message((ThinkingPart("Hm"), TextPart("Hi")))
    result = ChatMessage("tool", "x", call_id="a")
    request = Request((ChatMessage("user", "1"), calls, result, plain_answer, ChatMessage("user", "2")), "m-1")
    messages = build(request, profile(preset)).body["messages"]
    found = [{k: v for k, v in m.items() if k.startswith("reasoning")} for m in messages if m["role"] == "assistant"]
    assert found == [with_calls, without]


def test_deepseek_gets_its_reasoning_back_even_when_it_is_empty() -> None:
    calls = assistant_message((ToolCall("a", "look"),))
    request = Request((ChatMessage("user", "1"), calls, ChatMessage("tool", "x", call_id="a")), "m-1")
    assert build(request, profile("deepseek")).body["messages"][1]["reasoning_content"] == ""


@pytest.mark.parametrize(
    ("system", "roles"),
    [
        ("anywhere", ["system", "system", "user", "system"]),
        ("first", ["system", "user", "user"]),
        ("developer", ["developer", "developer", "user", "developer"]),
        ("user", ["user", "user", "user", "user"]),
    ],
)
def test_system_messages_by_the_profiles_rule(system: str, roles: list[str]) -> None:
    messages = tuple(ChatMessage(role, role) for role in ("system", "system", "user", "system"))
    body = build(Request(messages, "m-1"), profile(system=system)).body
    assert [message["role"] for message in body["messages"]] == roles


def test_breakpoints_are_parts_of_a_text_where_the_provider_takes_them() -> None:
    message = ChatMessage("user", "stable volatile", breakpoints=(6,))
    request = Request((message,), "anthropic/claude-x")
    (content,) = [m["content"] for m in build(request, profile("openrouter", "anthropic/claude-x")).body["messages"]]
    assert content == [
        {"type": "text", "text": "stable", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": " volatile"},
    ]
    for other in (profile("openrouter", "x/y"), profile()):
        assert build(request, other).body["messages"][0]["content"] == "stable volatile"


def test_extra_fields_and_fields_that_were_refused() -> None:
    mine = profile(extra_body={"provider": {"order": ["a"]}, "temperature": 0.1})
    assert build(ASKED, mine).body["provider"] == {"order": ["a"]}
    body = build(ASKED, mine, without={"temperature", "stream_options"}).body
    assert not {"temperature", "stream_options"} & body.keys()
