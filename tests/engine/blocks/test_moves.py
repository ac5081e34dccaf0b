"""Several blocks moved together: none lost, none doubled, the others as they stood, and the file says what is shown."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.blocks import arrange, edits
from engine.blocks.config import parse_config
from engine.blocks.moves import gathered, shifted
from engine.blocks.rows import BlockSlot, Row
from tests.engine.blocks.test_rows import situations


def rows_of(system: str, user: str) -> tuple[Row, ...]:
    """A row for each letter, which is its id and its key."""
    slots = [BlockSlot(key, "system", 10 * n) for n, key in enumerate(system)]
    slots += [BlockSlot(key, "user", 10 * n) for n, key in enumerate(user)]
    return arrange(slots, (), parse_config({}), {}, len)


def without(keys: Sequence[str], moved: set[str]) -> list[str]:
    return [key for key in keys if key not in moved]


@pytest.mark.parametrize(
    ("moved", "step", "expected"),
    [
        ("b", 1, "acbdef"),
        ("bc", 1, "adbcef"),
        ("bc", -1, "bcadef"),
        ("bd", 1, "acbedf"),
        ("ab", -1, "abcdef"),
        ("ac", -1, "acbdef"),
        ("ef", 1, "abcdef"),
        ("df", 1, "abcedf"),
        ("bd", 9, "acefbd"),
        ("abcdef", 1, "abcdef"),
    ],
)
def test_blocks_step_together_and_stop_at_the_end(moved: str, step: int, expected: str) -> None:
    rows = rows_of("xyz", "abcdef")
    assert "".join(shifted(rows, set(moved), step)) == f"xyz{expected}"


def test_each_role_moves_for_itself() -> None:
    assert "".join(shifted(rows_of("xyz", "abcd"), {"x", "b"}, 1)) == "yxzacbd"


def test_hidden_blocks_are_stepped_over_with_the_shown_one_behind_them() -> None:
    rows = rows_of("", "abcdef")
    assert "".join(shifted(rows, {"a"}, 1, {"a", "d"})) == "bcdaef"
    assert "".join(shifted(rows, {"e"}, -1, {"b", "e"})) == "aebcdf"
    assert "".join(shifted(rows, {"e"}, 1, {"a", "e"})) == "abcdef", "nothing that is shown stands behind it"


@pytest.mark.parametrize(
    ("moved", "key", "index", "expected"),
    [("bd", "b", 4, "acebdf"), ("bd", "d", 0, "bdacef"), ("bd", "b", 3, "acbdef"), ("bd", "b", 1, "abdcef")],
)
def test_gathered_blocks_stand_where_one_of_them_was_put(moved: str, key: str, index: int, expected: str) -> None:
    assert "".join(gathered(rows_of("xy", "abcdef"), set(moved) | {"x"}, key, index)) == f"xy{expected}"


@given(situations(), st.data())
def test_a_shift_changes_nothing_but_the_places_of_what_is_moved(situation: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    rows = arrange(slots, blocks, config, scripts, len)
    keys = [row.key for row in rows]
    moved = set(data.draw(st.lists(st.sampled_from(keys), unique=True, min_size=1)))
    shown = data.draw(st.none() | st.sets(st.sampled_from(keys)))
    if data.draw(st.booleans()):
        order = shifted(rows, moved, data.draw(st.integers(-3, 3)), shown)
    else:
        key = data.draw(st.sampled_from(sorted(moved)))
        role = next(row.role for row in rows if row.key == key)
        section = [row.key for row in rows if row.role == role]
        order = gathered(rows, moved, key, data.draw(st.integers(0, len(section) - 1)))
    assert sorted(order) == sorted(keys)
    assert without(order, moved) == without(keys, moved)
    for role in ("system", "user"):
        inside = [row.key for row in rows if row.role == role and row.key in moved]
        assert [key for key in order if key in inside] == inside

    changed = edits.rearrange(config, rows, order, moved)
    after = arrange(slots, blocks, changed, scripts, len)
    assert [row.key for row in after] == order
    assert {row.key: (row.state, row.content) for row in after} == {row.key: (row.state, row.content) for row in rows}
    assert len(set(changed.blockOrder)) == len(changed.blockOrder)
    assert set(config.blockOrder) <= set(changed.blockOrder)
    assert changed.customBlocks == config.customBlocks


def test_an_order_that_is_not_one_of_all_blocks_is_refused() -> None:
    rows = rows_of("x", "ab")
    for order in ("xa", "xabb", "xac", "xaab"):
        with pytest.raises(ValueError, match="every block once"):
            edits.rearrange(parse_config({}), rows, order, {"a"})
