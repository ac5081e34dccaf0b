"""Directions in a plain answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.tools.planning import DIRECTIONS_LIMIT
from engine.tools.written_directions import TEXT_LIMIT, written_directions

LEAVE = {"title": "Leave", "description": "They go.", "instruction": "Let them go."}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([LEAVE]),
        json.dumps({"directions": [LEAVE]}),
        json.dumps({"directions": json.dumps([LEAVE])}),
        f"Here are some [ideas]:\n\n```json\n{json.dumps([LEAVE], indent=2)}\n```\nTell me {{which}}.",
        json.dumps([{"n": 1}]) + json.dumps([LEAVE]),
        json.dumps(["nothing", None, {"title": "Empty"}, LEAVE]),
    ],
)
def test_where_they_stand(text: str) -> None:
    assert [item.document() for item in written_directions(text)] == [LEAVE]


def test_what_is_missing_is_taken_from_the_rest() -> None:
    (found,) = written_directions('[{"description": " Ines \\n leaves. ", "pacing": "end", "title": 3}]')
    assert (found.title, found.instruction, found.pacing) == ("Ines leaves.", "Ines \n leaves.", "end")


@pytest.mark.parametrize("text", ["", "Let it rain.", "[", "[[[[", '{"directions": {}}', "[1, 2]", "[" * 100_000])
def test_none(text: str) -> None:
    assert written_directions(text) == ()


def test_not_more_than_can_be_asked_for_nor_half_a_character() -> None:
    many = written_directions(json.dumps([{**LEAVE, "title": "\ud800"}] * 40))
    assert len(many) == DIRECTIONS_LIMIT and many[0].title.encode() == b"?"
    assert written_directions(" " * TEXT_LIMIT + json.dumps([LEAVE])) == ()


@given(st.text(st.sampled_from('[]{}":, aé\\\ud800'), max_size=60))
def test_any_text(text: str) -> None:
    assert isinstance(written_directions(text), tuple)
