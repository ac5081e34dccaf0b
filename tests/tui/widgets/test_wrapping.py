"""Rows of a text: none too wide, no character cut in two, and broken anew after an edit as from the start."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Offset

from tui.graphemes import joins
from tui.widgets.exact_document import ExactDocument
from tui.widgets.wrapping import DrawnWrap, cells_of, wrap

CHARACTERS = "ab  \t漢字，。「」é\u0301👩\u200d🇩🇪❤\ufe0f각\x1b\u2028"
lines = st.text(st.sampled_from(CHARACTERS), max_size=60)
TAB = 4


def rows(line: str, width: int) -> list[str]:
    cuts = [0, *wrap(line, width, TAB), len(line)]
    return [line[start:end] for start, end in pairwise(cuts)]


@pytest.mark.parametrize(
    ("line", "width", "expected"),
    [
        ("the quick brown fox", 10, ["the quick ", "brown fox"]),
        ("unbreakable", 4, ["unbr", "eaka", "ble"]),
        ("潮が満ちる。船は出た。", 12, ["潮が満ちる。", "船は出た。"]),
        ("潮が満ちた。", 10, ["潮が満ち", "た。"]),
        ("他说：「走吧」", 8, ["他说：", "「走吧」"]),
        ("Hello 世界你好", 9, ["Hello 世", "界你好"]),
        ("ab 👩\u200d👧\u200d👦👩\u200d👧\u200d👦", 6, ["ab 👩\u200d👧\u200d👦", "👩\u200d👧\u200d👦"]),
        ("a\tb\tc", 6, ["a\t", "b\tc"]),
        ("", 5, [""]),
    ],
)
def test_rows(line: str, width: int, expected: list[str]) -> None:
    assert rows(line, width) == expected


@given(lines, st.integers(2, 20))
def test_every_row_fits_and_no_character_is_cut(line: str, width: int) -> None:
    document = ExactDocument(line.replace("\u2028", "x"))
    line = document[0]
    for row in rows(line, width):
        assert cells_of(row, TAB) <= max(width, TAB), row
    for place in wrap(line, width, TAB):
        assert not joins(line, place)


@given(lines, lines, st.integers(1, 12), st.data())
def test_an_edit_is_broken_as_the_whole_would_be(line: str, new: str, width: int, data: st.DataObject) -> None:
    document = ExactDocument(f"above\n{line * 4}\nbelow")
    wrapped = DrawnWrap(document, TAB)
    wrapped.wrap(width)
    for _ in range(3):
        start = data.draw(st.integers(0, len(document[1])))
        end = data.draw(st.integers(start, len(document[1])))
        result = document.replace_range((1, start), (1, end), new)
        wrapped.wrap_range((1, start), (1, end), result.end_location)
        fresh = DrawnWrap(document, TAB)
        fresh.wrap(width)
        for index in range(document.line_count):
            assert wrapped.get_offsets(index) == fresh.get_offsets(index)
        assert wrapped.height == sum(len(wrapped.get_offsets(index)) + 1 for index in range(document.line_count))


texts = st.lists(lines, min_size=1, max_size=6).map("\n".join)


@given(texts, texts, st.integers(1, 12), st.integers(1, 12), st.lists(st.booleans(), min_size=2, max_size=2))
def test_a_text_like_another_is_broken_as_by_itself(
    one: str, other: str, width: int, width_after: int, narrowed: list[bool]
) -> None:
    before = DrawnWrap(ExactDocument(one), TAB)
    before.wrap(width)
    document = ExactDocument(one + other[len(other) // 2 :])
    like, fresh = DrawnWrap(document, TAB, before), DrawnWrap(document, TAB)
    for change in narrowed:
        for wrapped in (like, fresh):
            wrapped.wrap(width_after if change else width)
        rows = [(index, part) for index in range(document.line_count) for part in range(len(like.get_sections(index)))]
        assert [like.get_offsets(index) for index in range(document.line_count)] == [
            fresh.get_offsets(index) for index in range(document.line_count)
        ]
        assert [like.line_of_row(y) for y in range(like.height)] == rows


@pytest.mark.parametrize("letters", ["a bc d ", "狐狸跳过懒狗。"])
def test_showing_an_edited_text_again_breaks_only_what_changed(letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = f"above\n{''.join(random.Random(1).choices(letters, k=30_000))}\nbelow"
    before = DrawnWrap(ExactDocument(one), TAB)
    before.wrap(40)
    broken: list[int] = []

    def counted(line: str, width: int, tab: int, start: int = 0) -> Iterator[int]:
        for place in wrap(line, width, tab, start):
            broken.append(place)
            yield place

    monkeypatch.setattr("tui.widgets.wrapping.wrap", counted)
    for at in (6, len(one) // 2, len(one) - 7):
        again = DrawnWrap(ExactDocument(f"{one[:at]}x{one[at:]}"), TAB, before)
        again.wrap(40)
        assert len(broken) < 100
        broken.clear()


@given(lines, st.integers(2, 20))
def test_what_is_drawn_somewhere_is_found_there(line: str, width: int) -> None:
    document = ExactDocument(line)
    wrapped = DrawnWrap(document, TAB)
    wrapped.wrap(width)
    for row in range(document.line_count):
        text = document[row]
        for column in range(len(text)):
            if joins(text, column):
                continue
            place = wrapped.location_to_offset((row, column))
            found = wrapped.offset_to_location(place)
            shown = cells_of(wrapped.line(row)[column : found[1] + 1], TAB) if found[1] > column else 0
            assert found == (row, column) or shown == 0 or found[1] > column, (column, place, found)


def test_beside_and_below_the_text_is_its_nearest_place() -> None:
    wrapped = DrawnWrap(ExactDocument("one two\nthree"), TAB)
    wrapped.wrap(5)
    assert wrapped.offset_to_location(Offset(40, 99)) == (1, 5)
    assert wrapped.offset_to_location(Offset(40, 0)) == (0, 3)
    assert wrapped.offset_to_location(Offset(-1, -1)) == (0, 0)
