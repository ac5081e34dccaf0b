"""User-perceived characters and words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.graphemes import boundary, joins, next_boundary, previous_boundary, start_of_deletion
from tui.words import word_at, word_left, word_right

FAMILY = "👨\u200d👩\u200d👧"
CHARACTERS = [
    "a", "é", "e\u0301\u0323", FAMILY, "🇩🇪", "🇫🇷", "👍🏽", "❤\ufe0f", "각", "\u1100\u1161\u11a8", "ป้", "漢", "\r\n",
    "🏴\U000e0067\U000e007f",
]  # fmt: skip


@pytest.mark.parametrize("char", CHARACTERS)
def test_a_character_is_one(char: str) -> None:
    text = f"x{char}y"
    assert next_boundary(text, 1) == 1 + len(char)
    assert previous_boundary(text, 1 + len(char)) == 1
    assert start_of_deletion(text, 1 + len(char)) == 1


@given(st.lists(st.sampled_from([char for char in CHARACTERS if char != "\u1100\u1161\u11a8"])))
def test_characters_one_after_the_other(characters: list[str]) -> None:
    text = "".join(characters)
    ends = []
    index = 0
    while index < len(text):
        index = next_boundary(text, index)
        ends.append(index)
    assert [text[start:end] for start, end in zip([0, *ends], ends, strict=False)] == characters
    assert all(boundary(text, place) in {0, *ends} for place in range(len(text) + 1))


@given(st.text())
def test_boundaries_are_never_inside(text: str) -> None:
    for index in range(len(text) + 1):
        assert not joins(text, previous_boundary(text, index)) and not joins(text, next_boundary(text, index))


def test_a_joiner_can_be_taken_back_alone() -> None:
    assert start_of_deletion("می\u200c", 3) == 2


@pytest.mark.parametrize(
    ("line", "stops"),
    [
        ("The tide, at six.", [3, 8, 9, 12, 16, 17]),
        ("夜，她走进花园。", [1, 2, 7, 8]),
        ("東京タワーへ行く", [2, 5, 6, 7, 8]),
        ("cafe\u0301 noir", [5, 10]),
        ("  a  ", [3, 5]),
    ],
)
def test_word_moves(line: str, stops: list[int]) -> None:
    found, column = [], 0
    while column < len(line):
        column = word_right(line, column)
        found.append(column)
    assert found == stops
    lefts, column = [], len(line)
    while column > 0:
        column = word_left(line, column)
        lefts.append(column)
    assert lefts[-1] == 0 and len(lefts) >= len(line.split())


@pytest.mark.parametrize(
    ("line", "column", "word"),
    [
        ("The tide", 5, "tide"),
        ("夜，她走", 2, "她走"),
        ("a  b", 1, "  "),
        ("", 0, ""),
        ("end", 3, "end"),
        ("e\u0301a", 0, "e\u0301a"),
    ],
)
def test_the_word_at_a_place(line: str, column: int, word: str) -> None:
    start, end = word_at(line, column)
    assert line[start:end] == word
