"""Anthropic's Messages: the events of every stream of the checklist, however it is cut, and the bodies of requests."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.wire.anthropic_messages import FORMAT, build
from engine.models.wire.base import ChatMessage, Failure, Request, Start, Stop, Text, Thinking, Usage
from engine.models.wire.events import Event, Signature, ToolArgs, ToolEnd, ToolStart
from engine.models.wire.parts import ForcedTool, OpaquePart, TextPart, ThinkingPart, Tool, ToolCall, assistant_message
from tests.engine.models.wire.making import answer, parsed, parser, profile
from tests.mock_provider.scripts import begin, block, bytes_of, end, event, plain_message, text_block
from tests.mock_provider.server import Raw, Script, Sse, Step

CACHED = {"cache_creation_input_tokens": 90, "cache_read_input_tokens": 900}
TOOL_BLOCK = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
REDACTED = {"type": "redacted_thinking", "data": "Eqq/+="}
SEARCH = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}


def fragment(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


def thought(index: int, text: str, signature: str) -> list[Step]:
    deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": piece} for piece in text.split("|") if piece]
    signed = {"type": "signature_delta", "signature": signature}
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)


def events(script: Script) -> list[Event]:
    return parsed([bytes_of(script)], "anthropic")


STREAMS: dict[str, Script] = {
    "plain": plain_message("Hi", " é\u2028灯🌊"),
    "tools": [
        begin(**CACHED),
        *thought(0, "Let me| see.", "Sig=="),
        *text_block(1, "I look."),
        *block(2, TOOL_BLOCK, *map(fragment, '{"x": "é"}')),
        event("ping"),
        *block(3, {**TOOL_BLOCK, "id": "toolu_2"}),
        *end("tool_use"),
    ],
    "error": [
        begin(),
        *text_block(0, "Once"),
        event("error", error={"type": "overloaded_error", "message": "Overloaded"}),
    ],
    "truncated": [begin(), *text_block(0, "Once")],
    "crlf": [Sse(step.data, step.event, "\r\n") for step in plain_message("Hi") if isinstance(step, Sse)],
}


@pytest.mark.parametrize("name", STREAMS)
@given(data=st.data())
def test_chunks_make_no_difference(name: str, data: st.DataObject) -> None:
    stream = bytes_of(STREAMS[name])
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream)), max_size=20)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parsed(chunks, "anthropic") == parsed([stream], "anthropic")


def test_a_plain_answer() -> None:
    assert events(plain_message("Hi", " there")) == [
        Start("claude-x", "msg_1"),
        Usage(10, 1),
        Text("Hi"),
        Text(" there"),
        Usage(10, 42),
        Stop("end_turn", "end_turn"),
    ]


def test_thinking_calls_and_the_cache() -> None:
    got = events(STREAMS["tools"])
    assert got[:6] == [
        Start("claude-x", "msg_1"),
        Usage(1000, 1, 900, 90),
        Thinking("Let me"),
        Thinking(" see."),
        Signature("Sig=="),
        Text("I look."),
    ]
    assert got[6] == ToolStart(2, "toolu_1", "look")
    assert "".join(e.fragment for e in got if isinstance(e, ToolArgs)) == '{"x": "é"}'
    assert got[-5:-2] == [ToolEnd(2), ToolStart(3, "toolu_2", "look"), ToolEnd(3)]
    found = answer(got)
    assert found.usage == Usage(1000, 42, 900, 90)
    assert found.parts == (
        ThinkingPart("Let me see.", "Sig=="),
        TextPart("I look."),
        ToolCall("toolu_1", "look", '{"x": "é"}'),
        ToolCall("toolu_2", "look", "{}"),
    )


def test_signatures_alone_and_what_is_opaque_are_sent_back_as_they_came() -> None:
    script = [
        begin(),
        *thought(0, "", "only"),
        *block(1, REDACTED),
        *thought(2, "A", "a"),
        *thought(3, "B", "b"),
        *block(4, SEARCH, fragment('{"query": '), fragment('"tide"}')),
        *block(5, {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}),
        *block(
            6,
            {"type": "text", "text": ""},
            {"type": "citations_delta", "citation": {}},
            {"type": "text_delta", "text": "Hi"},
        ),
        *end("pause_turn"),
    ]
    got = events(script)
    assert got[-1] == Stop("pause", "pause_turn")
    back = build(Request((ChatMessage("user", "Go."), answer(got).message()), "claude-x"), profile("anthropic")).body
    assert back["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "", "signature": "only"},
        REDACTED,
        {"type": "thinking", "thinking": "A", "signature": "a"},
        {"type": "thinking", "thinking": "B", "signature": "b"},
        {**SEARCH, "input": {"query": "tide"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []},
        {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}},
    ]


def test_usage_is_cumulative_and_null_leaves_it() -> None:
    delta = event(
        "message_delta", delta={}, usage={"input_tokens": None, "output_tokens": 20, "cache_read_input_tokens": 5}
    )
    got = events([begin(), *text_block(0, "Hi"), delta, *end(output_tokens=30)])
    assert [e for e in got if isinstance(e, Usage)] == [Usage(10, 1), Usage(15, 20, 5), Usage(15, 30, 5)]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_full"),
        ("something_new", "end_turn"),
    ],
)
def test_why_it_ended(raw: str, reason: str) -> None:
    assert events([begin(), *text_block(0, "Hi"), *end(raw)])[-1] == Stop(reason, raw)  # type: ignore[arg-type]


def test_details_of_a_refusal_and_a_stop_without_the_last_word() -> None:
    details = {"category": "cyber", "explanation": "It may not."}
    assert events([begin(), *end("refusal", stop_details=details)])[-1] == Stop(
        "refusal", "refusal", "cyber: It may not."
    )
    assert events([begin(), *text_block(0, "Hi"), *end()[:1]])[-1] == Stop("end_turn", "end_turn")


@pytest.mark.parametrize(
    ("last", "kind", "status"),
    [
        (event("error", error={"type": "overloaded_error", "message": "x"}), "overloaded", 529),
        (event("error", error={"type": "rate_limit_error", "message": "x"}), "throttled", 429),
        (event("error", error={"type": "api_error", "message": "x"}), "upstream", 500),
        (event("error", error={"type": "billing_error", "message": "x"}), "credits", 402),
        (Sse({"error": {"type": "timeout_error", "message": "x"}}, "error"), "upstream", 504),
        (Raw(b'{"type":"error","error":{"type":"api_error","message":"x"}}\n'), "upstream", 500),
        (Raw(b"event: error\ndata: gone\n\n"), "upstream", None),
    ],
)
def test_an_error_in_the_stream(last: Step, kind: str, status: int | None) -> None:
    got = events([begin(), *text_block(0, "Once"), last, *text_block(1, "never"), *end()])
    failure = got[-1]
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.status, answer(got).text) == (kind, status, "Once")


def test_an_end_without_a_reason_is_a_truncation() -> None:
    for script in (STREAMS["truncated"], [], [begin()], [begin(), Raw(b'event: content_block_start\ndata: {"ty')]):
        failure = events(script)[-1]
        assert isinstance(failure, Failure)
        assert (failure.kind, failure.truncated) == ("network", True)


def test_an_answer_in_one_piece() -> None:
    content = [{"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "text", "text": "Hi"}]
    content.append({"type": "tool_use", "id": "t", "name": "look", "input": {"x": 1}})  # type: ignore[dict-item]
    usage = {"input_tokens": 3, "output_tokens": 2}
    document = {
        "id": "msg",
        "type": "message",
        "model": "c",
        "content": content,
        "stop_reason": "tool_use",
        "usage": usage,
    }
    found = answer(parser("anthropic").whole(document))
    assert found.parts == (ThinkingPart("Hm", "s"), TextPart("Hi"), ToolCall("t", "look", '{"x": 1}'))
    assert (found.usage, found.stop) == (Usage(3, 2), Stop("tool_use", "tool_use"))
    assert parsed([json.dumps(document, indent=1).encode()], "anthropic") == parser("anthropic").whole(document)


@given(
    st.recursive(
        st.none()
        | st.integers(-1, 3)
        | st.text(max_size=4)
        | st.sampled_from(
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "tool_use",
                "thinking",
                "text",
                "thinking_delta",
                "input_json_delta",
            ]
        ),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "index",
                        "delta",
                        "content_block",
                        "message",
                        "usage",
                        "content",
                        "text",
                        "error",
                        "input",
                        "stop_reason",
                        "partial_json",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_nothing_a_server_sends_raises(document: Any) -> None:
    assert isinstance(parsed([f"data: {json.dumps(document)}\n\n".encode()], "anthropic")[-1], Stop | Failure)
    assert isinstance(parser("anthropic").whole(document)[-1], Stop | Failure)


# --- bodies

EPHEMERAL = {"type": "ephemeral"}


def test_the_system_field_and_its_breakpoint() -> None:
    request = Request((ChatMessage("system", "You write."), ChatMessage("user", "Go.")), "claude-x", 77)
    assert build(request, profile("anthropic", "claude-x")).body == {
        "model": "claude-x",
        "max_tokens": 77,
        "stream": True,
        "system": [{"type": "text", "text": "You write.", "cache_control": EPHEMERAL}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Go."}]}],
    }
    plain = build(Request(request.messages, "claude-x", cache=False), profile("anthropic", "claude-x")).body
    assert (plain["system"], plain["max_tokens"]) == ("You write.", 8192)


def test_a_breakpoint_before_the_volatile_part() -> None:
    message = ChatMessage("user", "The story so far.\n\nNow this.", breakpoints=(17,))
    body = build(Request((ChatMessage("system", "S"), message), "claude-x"), profile("anthropic")).body
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "The story so far.", "cache_control": EPHEMERAL},
        {"type": "text", "text": "\n\nNow this."},
    ]


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text("ab \n", max_size=9)), max_size=7), st.data())
def test_at_most_four_breakpoints_no_empty_text_and_every_word(
    pairs: list[tuple[str, str]], data: st.DataObject
) -> None:
    messages = [ChatMessage("system", "S x", breakpoints=(1,))]
    for role, text in pairs:
        points = tuple(sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=4))))
        messages.append(ChatMessage(role, text, breakpoints=points))
    body = build(Request(tuple(messages), "claude-x"), profile("anthropic", shaping="none")).body
    blocks = [*body["system"], *(b for message in body["messages"] for b in message["content"])]
    assert sum("cache_control" in b for b in blocks) <= 4
    assert all(b["text"].strip() for b in blocks)
    assert all(set(b) <= {"type", "text", "cache_control"} for b in blocks)
    roles = [message["role"] for message in body["messages"]]
    assert roles[0] == "user"
    assert all(a != b for a, b in pairwise(roles))
    words = [b["text"] for b in blocks if b["text"] != "[Start]"]
    assert "".join("".join(words).split()) == "".join("".join(m.content for m in messages).split())


def test_results_come_first_and_roles_take_turns() -> None:
    asks = assistant_message(
        (ThinkingPart("unsigned"), ToolCall("a", "look", '{"x":1}'), ToolCall("b", "look", "{bad"))
    )
    messages = (
        ChatMessage("user", "Go."),
        asks,
        ChatMessage("tool", "of b", call_id="b"),
        ChatMessage("tool", "of a", call_id="a"),
        ChatMessage("user", "And?"),
    )
    (_, said, results) = build(Request(messages, "claude-x", cache=False), profile("anthropic")).body["messages"]
    assert said["content"] == [
        {"type": "tool_use", "id": "a", "name": "look", "input": {"x": 1}},
        {"type": "tool_use", "id": "b", "name": "look", "input": {"_malformed": "{bad"}},
    ]
    assert results["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "of a"},
        {"type": "tool_result", "tool_use_id": "b", "content": "of b"},
        {"type": "text", "text": "And?"},
    ]


def test_reasoning_of_another_provider_is_not_sent() -> None:
    other = assistant_message((OpaquePart("openrouter", {"x": 1}), ThinkingPart("Hm"), TextPart("Hi")))
    assert FORMAT == "anthropic"
    body = build(
        Request((ChatMessage("user", "1"), other, ChatMessage("user", "2")), "claude-x", cache=False),
        profile("anthropic"),
    )
    assert body.body["messages"][1]["content"] == [{"type": "text", "text": "Hi"}]


GO = (ChatMessage("user", "Go."),)


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("claude-sonnet-4-5-20250929", "medium", {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
        ("claude-sonnet-4-5", "none", {}),
        ("claude-3-5-haiku-latest", "high", {}),
        (
            "claude-opus-4-6",
            "high",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
        ),
        ("claude-opus-4-7", "none", {}),
        ("claude-opus-5", "none", {"thinking": {"type": "disabled"}}),
    ],
)
def test_how_each_model_is_asked_to_think(model: str, effort: Any, expected: dict[str, Any]) -> None:
    body = build(Request(GO, model, 20_000, reasoning=effort), profile("anthropic", model)).body
    assert {key: body[key] for key in ("thinking", "output_config") if key in body} == expected


def test_what_a_model_refuses_is_left_out_and_named() -> None:
    old = build(Request(GO, "claude-sonnet-4-5", temperature=0.5, top_k=3), profile("anthropic", "claude-sonnet-4-5"))
    assert (old.body["temperature"], old.body["top_k"], old.warnings) == (0.5, 3, ())
    request = Request(GO, "claude-sonnet-4-5", 20_000, temperature=0.5, reasoning="low")
    thinking = build(request, profile("anthropic", "claude-sonnet-4-5"))
    assert "temperature" not in thinking.body
    assert [warning.field for warning in thinking.warnings] == ["temperature"]
    new = build(Request(GO, "claude-opus-5", temperature=0.5, seed=1), profile("anthropic", "claude-opus-5"))
    assert not {"temperature", "seed"} & new.body.keys()
    assert {warning.field for warning in new.warnings} == {"temperature", "seed"}
    short = build(Request(GO, "claude-sonnet-4-5", 500, reasoning="high"), profile("anthropic", "claude-sonnet-4-5"))
    assert ("thinking" in short.body, len(short.warnings)) == (False, 1)


def test_a_prefill_where_it_is_taken_and_where_it_is_not() -> None:
    request = Request((*GO, ChatMessage("assistant", "Once")), "claude-x")
    assert build(request, profile("anthropic", "claude-sonnet-4-5")).body["messages"][-1]["role"] == "assistant"
    refused = build(request, profile("anthropic", "claude-opus-5"))
    assert [message["role"] for message in refused.body["messages"]] == ["user", "assistant", "user"]
    assert len(refused.warnings) == 1


def test_tools_and_choices() -> None:
    tool = Tool("look", "Looks.", {"type": "object"})

    def choice(wanted: Any, model: str = "claude-sonnet-4-5", **more: Any) -> Any:
        request = Request(GO, model, 9000, tools=(tool,), tool_choice=wanted, stop=("END",), **more)
        body = build(request, profile("anthropic", model)).body
        assert body["tools"] == [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
        assert body["stop_sequences"] == ["END"]
        return body.get("tool_choice")

    assert choice("auto") == {"type": "auto"}
    assert choice("none") == {"type": "none"}
    assert choice("required") == {"type": "any"}
    assert choice(ForcedTool("look")) == {"type": "tool", "name": "look"}
    assert choice("required", reasoning="low") == {"type": "auto"}
    assert choice("required", model="claude-opus-5") == {"type": "auto"}
    assert choice("required", model="claude-opus-5", reasoning="none") == {"type": "any"}
    assert choice(None, parallel_tool_calls=False) == {"type": "auto", "disable_parallel_tool_use": True}
