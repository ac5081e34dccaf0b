"""What is typed finds the best match first, in lists of any kind."""

from __future__ import annotations

import pytest

from tui.ranking import ranked

NAMES = ["the old harbour", "Harbour master", "barharbour", "harbour", "Quay by the harbour", "storm"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("harbour", ["harbour", "Harbour master", "the old harbour", "Quay by the harbour", "barharbour"]),
        ("HARBOUR the", ["the old harbour", "Quay by the harbour"]),
        ("st", ["storm", "Harbour master"]),
        ("gale", []),
        ("", NAMES),
    ],
)
def test_the_best_match_is_first(wanted: str, found: list[str]) -> None:
    assert ranked(wanted, NAMES, lambda name: (name,)) == found


def test_as_many_as_are_wanted_and_of_any_of_the_names() -> None:
    pairs = [("ch-one", "Ines"), ("kn-ines", "The boat"), ("ch-two", "Ines's brother")]
    assert ranked("ines", pairs, lambda pair: pair) == [pairs[0], pairs[2], pairs[1]]
    assert ranked("ines", pairs, lambda pair: pair, 1) == [pairs[0]]
    assert ranked("", pairs, lambda pair: pair, 2) == pairs[:2]
