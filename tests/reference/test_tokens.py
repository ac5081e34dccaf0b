"""The token estimate against exact counts of the o200k vocabulary: ±15 % in total, ±30 % on each text."""

from __future__ import annotations

from typing import Any

import pytest

from engine.models.tokens import TEXT_MARGIN, TOTAL_MARGIN, estimate_tokens
from tests.reference.cases import check_known, load_cases

NEEDS = ("text", "o200k")
CASES = load_cases(".", "tokens.json", needs=NEEDS)


def test_the_margins_are_those_that_are_promised() -> None:
    assert (TOTAL_MARGIN, TEXT_MARGIN) == (0.15, 0.30)


def test_the_cases_are_there() -> None:
    check_known(".", "tokens.json", needs=NEEDS)


@pytest.mark.parametrize("case", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_each_text_is_within_30_percent(case: dict[str, Any]) -> None:
    exact = case["o200k"]
    assert abs(estimate_tokens(case["text"]) - exact) <= TEXT_MARGIN * exact


def test_the_total_is_within_15_percent() -> None:
    exact = sum(case["o200k"] for _, case, _ in CASES)
    estimated = sum(estimate_tokens(case["text"]) for _, case, _ in CASES)
    assert exact > 0
    assert abs(estimated - exact) <= TOTAL_MARGIN * exact
