"""Role shaping: nothing lost, order kept, shaping twice is shaping once."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.wire.base import ChatMessage
from engine.models.wire.conversation import NO_RESULT, answered
from engine.models.wire.parts import TextPart, ThinkingPart, ToolCall, assistant_message
from engine.models.wire.profiles import Shaping
from engine.models.wire.shaping import JOINT, shape

SHAPINGS: tuple[Shaping, ...] = get_args(Shaping)
WORDS = st.text("abc ", max_size=4)


@st.composite
def messages(draw: st.DrawFn, tools: bool = True) -> tuple[ChatMessage, ...]:
    """Messages of all roles; each text is unlike any other, so that order shows."""
    found: list[ChatMessage] = []
    for number in range(draw(st.integers(0, 8))):
        text = draw(st.sampled_from(["", f"<{number}>", f"<{number}>\n\nmore"]))
        role = draw(
            st.sampled_from(["system", "user", "assistant", "call"] if tools else ["system", "user", "assistant"])
        )
        if role == "call":
            calls = tuple(ToolCall(f"c{number}.{n}", "f", "{}") for n in range(draw(st.integers(1, 2))))
            texts = (TextPart(text),) if text else ()
            found.append(assistant_message((ThinkingPart("hm", "sig"), *texts, *calls)))
            found += [ChatMessage("tool", f"={call.id}", call_id=call.id) for call in calls]
        else:
            points = draw(st.sets(st.integers(0, len(text)), max_size=2))
            found.append(ChatMessage(role, text, breakpoints=tuple(sorted(points))))
    return tuple(found)


def text_of(found: tuple[ChatMessage, ...]) -> list[str]:
    return [piece for message in found for piece in message.content.split(JOINT) if piece]


@given(messages(), st.sampled_from(SHAPINGS))
def test_text_calls_and_order_stay(given_messages: tuple[ChatMessage, ...], shaping: Shaping) -> None:
    shaped = shape(given_messages, shaping, "PUT IN")
    kept = [piece for piece in text_of(shaped) if piece != "PUT IN"]
    assert kept == text_of(given_messages)
    assert [call for m in shaped for call in m.calls] == [call for m in given_messages for call in m.calls]
    assert answered(shaped) == shaped
    for message in shaped:
        text = "".join(part.text for part in message.in_parts() if isinstance(part, TextPart))
        assert text == message.content


@given(messages(), st.sampled_from(SHAPINGS))
def test_shaping_what_is_shaped_changes_nothing(given_messages: tuple[ChatMessage, ...], shaping: Shaping) -> None:
    once = shape(given_messages, shaping)
    assert shape(once, shaping) == once


@given(messages(), st.sampled_from(SHAPINGS))
def test_breakpoints_stay_where_they_stood(given_messages: tuple[ChatMessage, ...], shaping: Shaping) -> None:
    def before(found: tuple[ChatMessage, ...]) -> list[str]:
        texts, so_far = [], ""
        for message in found:
            for point in message.breakpoints:
                texts.append((so_far + message.content[:point]).replace("\n", ""))
            if message.content != "PUT IN":
                so_far += message.content
        return texts

    assert before(shape(given_messages, shaping, "PUT IN")) == before(given_messages)


@given(messages())
def test_what_each_promises(given_messages: tuple[ChatMessage, ...]) -> None:
    strict = shape(given_messages, "strict")
    semi = shape(given_messages, "semi-strict")
    for shaped in (strict, semi):
        assert all(message.role != "system" for message in shaped[1:])
        assert all(a.role != b.role or a.role == "tool" or a.calls for a, b in pairwise(shaped))
    first = next(message for message in strict if message.role != "system")
    assert first.role == "user"
    assert shape(given_messages, "none") == given_messages


@given(messages(tools=False))
def test_single_is_one_users_message(given_messages: tuple[ChatMessage, ...]) -> None:
    shaped = shape(given_messages, "single")
    assert [message.role for message in shaped] == ["user"] * bool(given_messages)


@pytest.mark.parametrize(
    ("shaping", "expected"),
    [
        ("none", ["system:A", "system:B", "assistant:C", "system:D", "user:E", "user:F"]),
        ("merge", ["system:A\n\nB", "assistant:C", "system:D", "user:E\n\nF"]),
        ("semi-strict", ["system:A\n\nB", "assistant:C", "user:D\n\nE\n\nF"]),
        ("strict", ["system:A\n\nB", "user:[Start]", "assistant:C", "user:D\n\nE\n\nF"]),
        ("single", ["user:A\n\nB\n\nC\n\nD\n\nE\n\nF"]),
    ],
)
def test_by_example(shaping: Shaping, expected: list[str]) -> None:
    roles = ["system", "system", "assistant", "system", "user", "user"]
    found = shape([ChatMessage(role, text) for role, text in zip(roles, "ABCDEF", strict=True)], shaping)
    assert [f"{message.role}:{message.content}" for message in found] == expected


def test_calls_get_their_results_and_stray_results_stay_as_text() -> None:
    asks = assistant_message((ToolCall("a", "f"), ToolCall("b", "g")))
    found = answered(
        [
            ChatMessage("tool", "early", call_id="x"),
            asks,
            ChatMessage("tool", "of b", call_id="b"),
            ChatMessage("tool", "of nobody", call_id="z"),
            ChatMessage("user", "Go on."),
        ]
    )
    assert found == (
        ChatMessage("user", "early"),
        asks,
        ChatMessage("tool", NO_RESULT, call_id="a"),
        ChatMessage("tool", "of b", call_id="b"),
        ChatMessage("user", "of nobody"),
        ChatMessage("user", "Go on."),
    )
