"""The token estimate: properties of any text, and the classes it tells apart."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.models import tokens
from engine.models.tokens import _PIECE, estimate_tokens

ANY_TEXT = st.text()
WORDS = [
    "The", "lamp", "burned", "since", "dusk,", "and", "nobody", "slept.", "didn't", "«Où", "vas-tu", "?»", "Złota",
    '{"id":', "12}", "灯塔的灯", "かすかに", "등대의", "Лампа", "مدينة", "हवा", "🌊", "∑x²", "`ch-bafego`", "camelCase",
    "https://example.com/a?b=1", "\n\n", "",
]  # fmt: skip
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)


@given(ANY_TEXT)
def test_it_is_zero_for_the_empty_text_only(text: str) -> None:
    assert (estimate_tokens(text) == 0) == (text == "")


@given(ANY_TEXT)
def test_the_pieces_are_the_text(text: str) -> None:
    assert "".join(_PIECE.findall(text)) == text


@given(SENTENCES, SENTENCES)
def test_it_is_about_additive(first: str, second: str) -> None:
    parts = estimate_tokens(first) + estimate_tokens(second)
    assert parts - 3 <= estimate_tokens(first + second) <= parts + 2


@given(ANY_TEXT, ANY_TEXT)
def test_joining_any_texts_costs_little(first: str, second: str) -> None:
    assert estimate_tokens(first + second) <= estimate_tokens(first) + estimate_tokens(second) + 2


@given(SENTENCES, SENTENCES)
def test_more_text_costs_no_less(first: str, second: str) -> None:
    assert estimate_tokens(first + second) >= estimate_tokens(first) - 1


@given(st.text(min_size=1))
def test_no_text_costs_more_than_its_bytes(text: str) -> None:
    # A byte-pair vocabulary holds every single byte, so this is the ceiling of any count; the rates of scripts that a
    # vocabulary hardly knows, and rounding, may pass it by a little.
    assert estimate_tokens(text) <= 1.5 * len(text.encode("utf-8", "surrogatepass")) + 2


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("the old lamp by the door", 6, 7),
        ("1234567890", 4, 4),
        ("-" * 80, 1, 12),
        (" " * 64, 1, 1),
        ("\n\n\n\n", 1, 1),
        ("def", 1, 2),
        ("👩‍👩‍👧", 6, 10),
        ("灯塔的灯从黄昏一直亮到现在", 9, 14),
        ("Donaudampfschifffahrtsgesellschaftskapitän", 9, 15),
        ("SCREAMING_SNAKE_CASE", 4, 9),
    ],
)
def test_classes(text: str, low: int, high: int) -> None:
    assert low <= estimate_tokens(text) <= high


def test_script_matters_and_not_the_length() -> None:
    english = "The keeper of the light walked down the iron stair and wrote one line in the book."
    chinese = "看" * len(english)
    assert estimate_tokens(english) * 2 < estimate_tokens(chinese)


def test_a_long_run_without_a_break_is_costed_in_proportion() -> None:
    for char in ("x", "X", "灯", "ж", "-", "7", " ", "\n", "🌊"):
        short, long = estimate_tokens(char * 1_000), estimate_tokens(char * 10_000)
        assert 8 * short <= long <= 12 * short


@given(SENTENCES | ANY_TEXT, SENTENCES | ANY_TEXT, SENTENCES | ANY_TEXT, SENTENCES | ANY_TEXT)
@example("lamp" + " " * 40 + "\n", "", "x", "dusk")
@example("!!!\n", "", "//x", "dusk")
@example("灯塔。", "", "灯", "的")
def test_an_edited_text_costs_what_it_costs_alone(head: str, old: str, new: str, tail: str) -> None:
    """Wherever the cut is made: it is looked for in the whole of what both texts begin and end with."""
    before, text = head + old + tail, head + new + tail
    for reach in (8, 64):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tokens, "_REACH", reach)
            cost = tokens._cost_of_edited(text, before, tokens._cost(before))
        assert cost is None or cost == tokens._cost(text)


@pytest.mark.parametrize("words", [" ".join(WORDS), "灯塔的灯，从黄昏亮到天明。", "lamp\n"])
def test_typing_in_a_long_text_costs_only_what_is_around_the_cursor(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = words * (80_000 // len(words))
    estimate_tokens(text)
    whole, costed = tokens._cost, []
    monkeypatch.setattr(tokens, "_cost", lambda part: costed.append(len(part)) or whole(part))
    rng = random.Random(1)
    for at in (0, 40_000, len(text)):
        for letter in "ab c\n":
            at = max(0, min(len(text), at + rng.randint(-1, 1)))
            text = text[:at] + letter + text[at:]
            costed.clear()
            found = estimate_tokens(text)
            assert sum(costed) < 20_000
            assert found == max(1, round(whole(text)))
