"""Answers put together from events, and the rules of trying again."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import WrongInput
from engine.models.wire.answer import Answer
from engine.models.wire.base import Failure, FailureKind, Text, Thinking
from engine.models.wire.events import Signature, ToolArgs, ToolEnd, ToolStart
from engine.models.wire.failures import hide_secrets, kind_of
from engine.models.wire.parts import OpaquePart, Part, TextPart, ThinkingPart, ToolCall, assistant_message
from engine.models.wire.retry import CAP_SECONDS, RETRIES, retry_delay

WORDS = st.text("ab ", min_size=1, max_size=3)
PIECES = st.lists(
    st.one_of(
        st.builds(Text, WORDS),
        st.builds(Thinking, WORDS),
        st.builds(Signature, WORDS),
        st.sampled_from(["call", "cut"]),
    ),
    max_size=12,
)


@given(PIECES)
def test_parts_keep_their_order_and_every_character(pieces: list[Text | Thinking | Signature | str]) -> None:
    answer = Answer()
    said = thought = ""
    signatures, calls = [], []
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            answer.add(ToolStart(index, f"id{index}", "f"))
            answer.add(ToolArgs(index, "{}"))
            if piece == "call":
                answer.add(ToolEnd(index))
                calls.append(ToolCall(f"id{index}", "f", "{}"))
            continue
        answer.add(piece)
        if isinstance(piece, Text):
            said += piece.text
        elif isinstance(piece, Thinking):
            thought += piece.text
        else:
            signatures.append(piece.signature)
    assert (answer.text, answer.thoughts, list(answer.calls)) == (said, thought, calls)
    assert [p.signature for p in answer.parts if isinstance(p, ThinkingPart) and p.signature] == signatures
    message = answer.message()
    assert (message.role, message.content, list(message.calls)) == ("assistant", said, calls)


def test_a_plain_answer_is_a_plain_message() -> None:
    assert assistant_message((TextPart("a"), TextPart("b"))).parts == ()
    parts: tuple[Part, ...] = (OpaquePart("anthropic", {}), TextPart("a"))
    assert assistant_message(parts).parts == parts


@pytest.mark.parametrize("arguments", ["{bad", "[1]", "5", '"x"'])
def test_arguments_that_are_no_object_are_for_the_model_to_mend(arguments: str) -> None:
    with pytest.raises(WrongInput, match="the arguments of f are not"):
        ToolCall("a", "f", arguments).parsed()


def test_arguments() -> None:
    assert ToolCall("a", "f", '{"x": 1}').parsed() == {"x": 1}
    assert ToolCall("a", "f", "").parsed() == {}


KINDS = st.sampled_from(get_args(FailureKind))


@given(
    KINDS,
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
    st.floats(0, 1, exclude_max=True),
    st.none() | st.floats(0, 1000),
    st.none() | st.booleans(),
)
def test_when_a_call_is_tried_again(
    kind: FailureKind,
    attempt: int,
    shown: bool,
    received: bool,
    chance: float,
    after: float | None,
    should: bool | None,
) -> None:
    failure = Failure(kind, "", retry_after=after, should_retry=should)
    seconds = retry_delay(failure, attempt, shown=shown, received=received, chance=lambda: chance)
    if seconds is None:
        return
    assert not shown and attempt < RETRIES and should is not False
    assert kind in ("throttled", "overloaded", "upstream", "network") or should is True
    assert not (kind == "network" and received)
    if after is None:
        assert 0.5 * 2**attempt * 0.75 <= seconds <= min(0.5 * 2**attempt, CAP_SECONDS)
    else:
        assert seconds == after <= 60


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (429, "insufficient_quota", "credits"),
        (400, "Your credit balance is too low to access the API", "credits"),
        (403, "Monthly spend limit reached", "credits"),
        (429, "rate_limit_exceeded", "throttled"),
        (400, "context_length_exceeded", "too_large"),
        (400, "This model's maximum context length is 8192 tokens", "too_large"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "too_large"),
        (401, "", "auth"),
        (403, "", "auth"),
        (404, "", "not_found"),
        (408, "", "upstream"),
        (409, "", "upstream"),
        (503, "", "overloaded"),
        (529, "", "overloaded"),
        (504, "", "upstream"),
        (422, "", "bad_request"),
        (None, "", "upstream"),
    ],
)
def test_the_classes_of_errors(status: int | None, words: str, kind: str) -> None:
    assert kind_of(status, "", words) == kind


def test_what_looks_like_a_key_is_hidden_and_other_words_are_not() -> None:
    told = "model claude-sonnet-4-5-20250929 at req_011CSHoEeqs5C35K2UUqR7Fy, risk-averse, task_limit"
    assert hide_secrets(told) == told
    for key in (
        "sk-proj-abc123def",
        "sk-ab****cdef",
        "gsk_abcdefgh1234",
        "AIzaSyAbcdefghijk123",
        "Bearer abcdefgh.ijk",
    ):
        assert key not in hide_secrets(f"the key '{key}' is bad")
