"""The replay wire: a generation log streamed once more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.tokens import estimate_tokens
from engine.models.wire.base import ChatMessage, Failure, Request, Start, Stop, Text, Thinking, Usage
from engine.models.wire.events import Event
from engine.models.wire.pacing import pieces_of
from engine.models.wire.replay import ReplayWire

ASKED = Request((ChatMessage("user", "Write what happens next."),), model="any", max_output_tokens=1)
LOG: dict[str, Any] = {
    "id": "gen-bafego",
    "generatedText": "The lamp went out.\n\nNobody  saw it; 灯塔 🌊.\n",
    "reasoning": "A short scene is wanted.",
    "totalUsage": {"inputTokens": 1200, "outputTokens": 34},
    "finishReason": "length",
    "model": "some-model",
}


async def events(log: dict[str, Any]) -> list[Event]:
    return [event async for event in ReplayWire(log, words_per_second=0).stream(ASKED)]


async def test_everything_of_the_log_is_streamed() -> None:
    got = await events(LOG)
    assert got[0] == Start("some-model")
    assert "".join(event.text for event in got if isinstance(event, Thinking)) == LOG["reasoning"]
    assert "".join(event.text for event in got if isinstance(event, Text)) == LOG["generatedText"]
    assert sum(isinstance(event, Text) for event in got) > 5
    assert got[-2:] == [Usage(1200, 34), Stop("max_tokens", "length")]
    kinds = [type(event) for event in got]
    assert kinds.index(Text) > len(kinds) - 1 - kinds[::-1].index(Thinking)


def test_its_name_and_label_say_which_log() -> None:
    wire = ReplayWire(LOG)
    assert (wire.name, wire.label) == ("replay:gen-bafego", "replay of gen-bafego")


@pytest.mark.parametrize("text", [{}, {"generatedText": ""}, {"generatedText": None}, {"generatedText": 5}])
async def test_a_log_without_text_is_one_failure(text: dict[str, Any]) -> None:
    log = {key: value for key, value in LOG.items() if key != "generatedText"} | text
    (failure,) = await events(log)
    assert isinstance(failure, Failure)
    assert failure.message.startswith("replay of gen-bafego: the log holds no text")


@pytest.mark.parametrize("usage", [None, "many", {}, {"inputTokens": 3}, {"inputTokens": "3", "outputTokens": 4}])
async def test_usage_that_the_log_lacks_is_estimated(usage: object) -> None:
    got = await events({**LOG, "totalUsage": usage})
    assert got[-2] == Usage(estimate_tokens("Write what happens next."), estimate_tokens(LOG["generatedText"]))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [("stop", "end_turn"), ("tool-calls", "tool_use"), ("content-filter", "refusal"), ("other", "end_turn")],
)
async def test_the_end_is_the_logs(raw: str, reason: str) -> None:
    assert (await events({**LOG, "finishReason": raw}))[-1] == Stop(reason, raw)  # type: ignore[arg-type]


async def test_odd_fields_count_as_absent() -> None:
    got = await events({"generatedText": "Rain.", "model": 7, "reasoning": ["x"], "finishReason": None})
    assert got[0] == Start("")
    assert got[1] == Text("Rain.")
    assert got[-1] == Stop("end_turn")


@given(st.text())
def test_pieces_are_the_text(text: str) -> None:
    assert "".join(pieces_of(text)) == text
    assert all(len(piece.strip()) <= 12 for piece in pieces_of(text))
