"""Ids."""

from __future__ import annotations

import random
import re

import pytest

from engine.story.ids import FRAGMENT_ID, new_block_id, new_fragment_id, new_log_id


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [("prose", "pr"), ("marker", "mk"), ("summary", "sm"), ("location", "loca"), ("A1_b", "a1_b"), ("hq", "hq")],
)
def test_a_prefix_and_three_syllables(kind: str, prefix: str) -> None:
    made = new_fragment_id(kind, ())
    assert re.fullmatch(re.escape(prefix) + "-([bdfgkmnprstvz][aeiou]){3}", made)
    assert FRAGMENT_ID.fullmatch(made) or prefix == "a1_b"


def test_a_taken_id_is_not_given_again() -> None:
    first = new_fragment_id("prose", (), random.Random(7))
    assert new_fragment_id("prose", {first}, random.Random(7)) != first
    block = new_block_id((), random.Random(7))
    assert re.fullmatch("cb-[a-z0-9]{6}", block)
    assert new_block_id({block}, random.Random(7)) != block


def test_logs_of_one_millisecond_do_not_collide() -> None:
    assert new_log_id((), 36**3) == "gen-1000"
    assert new_log_id({"gen-1000", "gen-1001"}, 36**3) == "gen-1002"
