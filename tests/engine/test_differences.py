"""What differs between two texts: exact for every text, bounded for large ones."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import differences
from engine.differences import EDIT_LIMIT, Line, compare_lines, equal_runs, in_order, words

WORD = st.sampled_from(
    ["the", "sea", "船", "坞", "नमस्ते", "สวัสดี", "e\u0301", "👩\u200d🚀", " ", "  ", "\t", "\n", "\r\n", ".", "“"]
)
TEXTS = st.lists(WORD, max_size=60).map("".join) | st.text(max_size=60)


def side(lines: tuple[Line, ...], without: str) -> str:
    return "\n".join(line.text for line in lines if line.sign != without)


def stretches(lines: tuple[Line, ...]) -> list[list[Line]]:
    """Changed lines that stand together."""
    found: list[list[Line]] = [[]]
    for line in lines:
        if line.sign == " ":
            found.append([])
        else:
            found[-1].append(line)
    return [stretch for stretch in found if stretch]


def unmarked(lines: list[Line], sign: str) -> str:
    kept = ""
    for line in lines:
        if line.sign == sign and line.marks is not None:
            at = 0
            for start, end in (*line.marks, (len(line.text),) * 2):
                assert at <= start <= end <= len(line.text)
                kept += line.text[at:start]
                at = end
    return kept


@given(TEXTS, TEXTS)
def test_the_lines_hold_both_texts_and_what_is_not_marked_is_the_same(before: str, after: str) -> None:
    lines = compare_lines(before, after)
    assert side(lines, "+") == before and side(lines, "-") == after
    for stretch in stretches(lines):
        assert "".join(unmarked(stretch, "-").split()) == "".join(unmarked(stretch, "+").split())
        assert len({line.marks is None for line in stretch}) == 1


@given(TEXTS)
def test_nothing_differs_from_itself(text: str) -> None:
    assert all(line.sign == " " for line in compare_lines(text, text))


@given(TEXTS)
def test_words_are_the_whole_text(text: str) -> None:
    assert "".join(words(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nine  boats.\n", ["Nine", "  ", "boats", ".", "\n"]),
        ("港口的灯", ["港", "口", "的", "灯"]),
        ("नमस्ते सागर", ["नमस्ते", " ", "सागर"]),
        ("cafe\u0301s 船a", ["cafe\u0301s", " ", "船", "a"]),
        ("ที่", ["ที่"]),
        ("👩\u200d🚀!", ["👩\u200d🚀", "!"]),
    ],
)
def test_words_of_any_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.lists(st.integers(0, 6), max_size=40), st.lists(st.integers(0, 6), max_size=40))
def test_runs_are_equal_and_in_order(old: list[int], new: list[int]) -> None:
    at_old = at_new = 0
    for start, other, length in equal_runs(old, new):
        assert length and start >= at_old and other >= at_new
        assert old[start : start + length] == new[other : other + length]
        at_old, at_new = start + length, other + length


@given(st.lists(st.integers(0, 1), max_size=14), st.lists(st.integers(0, 1), max_size=14))
def test_between_unique_items_as_much_as_possible_is_the_same(old: list[int], new: list[int]) -> None:
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, one in enumerate(old):
        for j, two in enumerate(new):
            longest[i + 1][j + 1] = longest[i][j] + 1 if one == two else max(longest[i][j + 1], longest[i + 1][j])
    runs = differences._shortest(old, new, differences._Work())
    assert all(old[i : i + length] == new[j : j + length] for i, j, length in runs)
    assert sum(length for _, _, length in runs) == longest[-1][-1]


@given(st.lists(st.integers(), unique=True, max_size=30))
def test_in_order_is_a_longest_ascending_part(values: list[int]) -> None:
    found = [values[index] for index in in_order(values)]
    assert found == sorted(found)
    best = [1] * len(values)
    for i, value in enumerate(values):
        best[i] = 1 + max((best[j] for j in range(i) if values[j] < value), default=0)
    assert len(found) == max(best, default=0)


def test_one_word_is_marked() -> None:
    lines = compare_lines("One.\nNine boats lay there.\n", "One.\nTen boats lay there.\n")
    assert [(line.sign, line.differing) for line in lines if line.sign != " "] == [("-", "Nine"), ("+", "Ten")]
    assert lines[1].marks == ((0, 4),)


def test_lines_that_share_nothing_are_other_lines() -> None:
    lines = compare_lines("Nine boats lay there.", "何もない海だった")
    assert [line.marks for line in lines] == [None, None]


def steps(before: str, after: str) -> int:
    """Lines of code run by a comparison: a measure that no machine's speed changes."""
    count = 0

    def trace(frame: object, event: str, _arg: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    old = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        compare_lines(before, after)
    finally:
        sys.settrace(old)
    return count


def test_work_grows_with_the_text_not_with_its_square(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "EDIT_LIMIT", 40)
    chance = random.Random(7)

    def texts(size: int) -> tuple[str, str]:
        return tuple("".join(chance.choice(["a\n", "b b\n", "c c\n"]) for _ in range(size)) for _ in "12")  # type: ignore[return-value]

    small, large = steps(*texts(300)), steps(*texts(3000))
    assert large < 15 * small


def test_a_large_rewrite_is_found_with_the_whole_text_intact() -> None:
    chance = random.Random(3)
    old = "\n".join(" ".join(chance.choice(["ab", "cd", "ef", "gh"]) for _ in range(8)) for _ in range(4000))
    new = "\n".join(" ".join(chance.choice(["ab", "cd", "ef", "gh"]) for _ in range(8)) for _ in range(4000))
    lines = compare_lines(old, new)
    assert side(lines, "+") == old and side(lines, "-") == new
    assert len(lines) > EDIT_LIMIT
