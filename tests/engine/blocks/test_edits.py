"""Edits of a config, and that a move moves one block and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.blocks import BlockConfig, BlockSlot, CustomBlock, arrange, edits
from engine.blocks.config import EMPTY, ConfigFault, dump_config, parse_config
from tests.engine.blocks.test_rows import situations


@given(situations(), st.data())
def test_a_move_moves_one_row_inside_its_role_and_nothing_else(situation: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    rows = arrange(slots, blocks, config, scripts, len)
    row = data.draw(st.sampled_from(rows))
    index = data.draw(st.integers(-1, len(rows)))
    moved = arrange(slots, blocks, edits.move_block(config, rows, row.key, index), scripts, len)

    expected = {role: [r.key for r in rows if r.role == role] for role in ("system", "user")}
    section = expected[row.role]
    section.remove(row.key)
    section.insert(max(0, min(index, len(section))), row.key)
    assert {role: [r.key for r in moved if r.role == role] for role in ("system", "user")} == expected
    assert {r.key: (r.state, r.content, r.mode) for r in moved} == {r.key: (r.state, r.content, r.mode) for r in rows}


@given(situations(), st.data())
def test_a_move_keeps_every_id_the_file_had_and_every_unknown_key(situation: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    rows = arrange(slots, blocks, config, scripts, len)
    row = data.draw(st.sampled_from(rows))
    moved = edits.move_block(config, rows, row.key, 0)
    assert set(config.blockOrder) <= set(moved.blockOrder)
    assert set(moved.blockOrder) >= {r.id for r in rows}
    assert len(set(moved.blockOrder)) == len(moved.blockOrder)
    assert dump_config(moved)["unknown"] == {"kept": True}
    assert parse_config(dump_config(moved)) == moved


def test_move_refuses_what_it_cannot_do_alone() -> None:
    twin = {"id": "cb-aaaa", "name": "N", "role": "user", "order": 1, "type": "simple", "content": "x"}
    config = parse_config({"customBlocks": [twin, twin]})
    rows = arrange([], [], config, {}, len)
    with pytest.raises(ValueError, match="share the id cb-aaaa"):
        edits.move_block(config, rows, "cb-aaaa#2", 0)
    with pytest.raises(ValueError, match="no block"):
        edits.move_block(config, rows, "nope", 0)


def test_disable_and_enable_leave_no_trace() -> None:
    off = edits.set_enabled(EMPTY, "tools", False)
    assert dump_config(off)["overrides"] == {"tools": {"enabled": False}}
    assert edits.set_enabled(off, "tools", True) == EMPTY


def test_enable_mends_a_custom_block_that_is_off_in_its_definition() -> None:
    block = CustomBlock(id="cb-aaaa", name="N", role="user", type="simple", content="x", enabled=False)
    config = EMPTY.model_copy(update={"customBlocks": (block,)})
    assert edits.set_enabled(config, "cb-aaaa", True).customBlocks[0].enabled


def test_mode_seeds_override_with_the_default_and_drops_it_when_left_unchanged() -> None:
    over = edits.set_mode(EMPTY, "tools", "override", "the default")
    assert over.override("tools").customContent == "the default"
    assert edits.set_mode(over, "tools", "append", "the default").override("tools").customContent is None
    mine = edits.set_text(over, "tools", "mine")
    assert edits.set_mode(mine, "tools", "prepend", "the default").override("tools").customContent == "mine"
    none = edits.set_mode(mine, "tools", None, "the default")
    assert dump_config(none)["overrides"] == {"tools": {"contentMode": None, "customContent": "mine"}}
    assert edits.set_mode(over, "tools", None, "the default") == EMPTY


def test_delete_removes_override_and_place() -> None:
    config = parse_config(
        {
            "customBlocks": [{"id": "cb-aaaa", "name": "N", "role": "user", "type": "simple", "content": "x"}],
            "overrides": {"cb-aaaa": {"enabled": False}, "tools": {"enabled": False}},
            "blockOrder": ["tools", "cb-aaaa"],
        }
    )
    left = edits.delete_block(config, "cb-aaaa")
    assert (left.customBlocks, list(left.overrides), left.blockOrder) == ((), ["tools"], ("tools",))


@given(situations(), st.data())
def test_a_new_block_stands_behind_the_chosen_row(situation: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    rows = arrange(slots, blocks, config, scripts, len)
    row = data.draw(st.sampled_from(rows))
    new = CustomBlock(
        id="cb-new1",
        name="New",
        role=row.role,
        type="simple",
        content="x",
        order=edits.next_order(rows, row.role),
    )
    after = arrange(slots, blocks, edits.add_block(config, rows, new, row.key), scripts, len)
    keys = [r.key for r in rows]
    keys.insert(keys.index(row.key) + 1, "cb-new1")
    assert [r.key for r in after] == keys


@given(situations(), st.sampled_from(["system", "user"]))
def test_a_new_block_without_a_place_stands_last_in_its_role(situation: tuple, role: str) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    rows = arrange(slots, blocks, config, scripts, len)
    new = CustomBlock(
        id="cb-new1", name="New", role=role, type="simple", content="x", order=edits.next_order(rows, role)
    )  # type: ignore[arg-type]
    after = arrange(slots, blocks, edits.add_block(config, rows, new), scripts, len)
    assert [r.key for r in after if r.role == role] == [*(r.key for r in rows if r.role == role), "cb-new1"]


def test_set_custom_validates() -> None:
    config = parse_config(
        {"customBlocks": [{"id": "cb-aaaa", "name": "N", "role": "user", "type": "simple", "content": "x"}]}
    )
    assert edits.set_custom(config, "cb-aaaa", name="Better", role="system").customBlocks[0].name == "Better"
    with pytest.raises(ConfigFault, match="name: must be at most 100"):
        edits.set_custom(config, "cb-aaaa", name="x" * 101)


def test_reset_keeps_unknown_keys() -> None:
    config = parse_config({"overrides": {"tools": {"enabled": False, "order": 4}}, "theirs": 1})
    assert edits.reset_block(config, "tools").overrides == {}
    assert dump_config(edits.reset_agent(config)) == dump_config(parse_config({"theirs": 1}))


def test_tools() -> None:
    off = edits.set_tool(EMPTY, "readFragments", False)
    assert off.disabledTools == ("readFragments",)
    assert edits.set_tool(off, "readFragments", True).disabledTools == ()
    assert edits.set_tool(off, "readFragments", False) is off


def test_tools_by_older_names_are_rewritten_when_tools_are_edited_and_not_before() -> None:
    old = parse_config({"disabledTools": ["getFragment", "deleteFragment", "createFragment", "mine", "getFragment"]})
    assert old.disabled_tools == ("readFragments", "editFragments", "mine")
    assert edits.set_enabled(old, "tools", False).disabledTools == old.disabledTools
    assert edits.set_tool(old, "findFragments", True) is old
    assert edits.set_tool(old, "findFragments", False).disabledTools == (*old.disabled_tools, "findFragments")
    assert edits.set_tool(old, "editFragments", True).disabledTools == ("readFragments", "mine")


STANDARD = (
    *(BlockSlot("instructions", "system", 100), BlockSlot("tools", "system", 200), BlockSlot("pinned", "system", 300)),
    *(BlockSlot("story-info", "user", 100), BlockSlot("summary", "user", 400), BlockSlot("lore", "user", 200)),
    *(BlockSlot("prose", "user", 500), BlockSlot("new-story", "user", 500), BlockSlot("author-input", "user", 600)),
)
BRIEF = (
    *(BlockSlot("instructions", "system", 100), BlockSlot("tools", "system", 200)),
    *(BlockSlot("prose", "user", 100), BlockSlot("new-story", "user", 100), BlockSlot("brief", "user", 200)),
)


def shown(slots: Sequence[BlockSlot], config: BlockConfig, *without: str) -> list[str]:
    return [row.id for row in arrange(slots, (), config, {}, len) if row.id not in without]


def test_an_order_written_in_one_mode_holds_the_blocks_of_the_other_where_they_stood() -> None:
    rows = arrange(BRIEF, (), EMPTY, {}, len, other_mode=STANDARD)
    moved = edits.move_block(EMPTY, rows, "brief", 0)
    assert shown(BRIEF, moved) == ["instructions", "tools", "brief", "prose", "new-story"]
    assert shown(STANDARD, moved) == shown(STANDARD, EMPTY)
    assert set(moved.blockOrder) == {slot.id for slot in (*STANDARD, *BRIEF)}


def test_a_block_of_both_modes_takes_nothing_of_the_other_mode_with_it() -> None:
    rows = arrange(BRIEF, (), EMPTY, {}, len, other_mode=STANDARD)
    moved = edits.move_block(EMPTY, rows, "prose", 4)
    assert shown(BRIEF, moved) == ["instructions", "tools", "new-story", "prose", "brief"]
    assert shown(STANDARD, moved)[3:] == ["story-info", "lore", "summary", "new-story", "prose", "author-input"]


def test_a_custom_block_that_stands_elsewhere_in_the_other_mode_does_not_part_the_default_blocks() -> None:
    custom = {"id": "cb-aaaa", "name": "N", "role": "user", "order": 300, "type": "simple", "content": "x"}
    config = parse_config({"customBlocks": [custom]})
    rows = arrange(BRIEF, (), config, {}, len, other_mode=STANDARD)
    moved = edits.move_block(config, rows, "brief", 0)
    assert shown(BRIEF, moved) == ["instructions", "tools", "brief", "prose", "new-story", "cb-aaaa"]
    assert shown(STANDARD, moved, "cb-aaaa") == shown(STANDARD, config, "cb-aaaa")


def test_a_pin_on_a_block_of_the_other_mode_becomes_its_place_there() -> None:
    config = parse_config({"overrides": {"summary": {"order": 150}}})
    moved = edits.move_block(config, arrange(BRIEF, (), config, {}, len, other_mode=STANDARD), "brief", 0)
    assert shown(STANDARD, moved) == shown(STANDARD, config)
    assert not moved.overrides


@given(st.data(), st.lists(st.sampled_from([-5, 50, 150, 250, 450, 1000]), max_size=3))
def test_what_was_not_moved_keeps_its_order_in_both_modes(data: st.DataObject, orders: list[int]) -> None:
    customs = [
        {"id": f"cb-aaa{n}", "name": "N", "role": "user", "order": order, "type": "simple", "content": "x"}
        for n, order in enumerate(orders)
    ]
    config = parse_config({"customBlocks": customs})
    ids = {block.id for block in config.customBlocks}
    for _ in range(data.draw(st.integers(1, 4))):
        here, there = data.draw(st.permutations([STANDARD, BRIEF]))
        rows = arrange(here, (), config, {}, len, other_mode=there)
        row = data.draw(st.sampled_from(rows))
        moved = edits.move_block(config, rows, row.key, data.draw(st.integers(0, len(rows))))
        after = [other.key for other in arrange(here, (), moved, {}, len, other_mode=there) if other.role == row.role]
        assert set(after) == {other.key for other in rows if other.role == row.role}
        assert after == list(dict.fromkeys(key for key in moved.blockOrder if key in after))
        assert shown(here, moved, row.id) == shown(here, config, row.id)
        # A custom block can have stood on two sides of the prose while nothing had a place.
        free = () if config.blockOrder else ids
        assert shown(there, moved, row.id, *free) == shown(there, config, row.id, *free)
        config = moved


@given(situations(), st.data())
def test_several_blocks_are_deleted_as_one_after_the_other(situation: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    keys = [row.key for row in arrange(slots, blocks, config, scripts, len) if row.custom]
    chosen = data.draw(st.sets(st.sampled_from(keys))) if keys else set()
    single = config
    for key in sorted(chosen, reverse=True):  # later twins first, so that keys stay what they are
        single = edits.delete_block(single, key)
    assert edits.delete_blocks(config, chosen) == single


@given(situations(), st.data())
def test_several_blocks_are_added_each_behind_its_row(situation: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    rows = arrange(slots, blocks, config, scripts, len)
    behind = data.draw(st.lists(st.sampled_from(rows), unique_by=lambda row: row.key, min_size=1, max_size=4))
    added = [
        (CustomBlock(id=f"cb-new{n}", name="N", role=row.role, type="simple", content="x"), row.key)
        for n, row in enumerate(behind)
    ]
    after = [row.key for row in arrange(slots, blocks, edits.add_blocks(config, rows, added), scripts, len)]
    assert [key for key in after if not key.startswith("cb-new")] == [row.key for row in rows]
    for block, key in added:
        assert after[after.index(key) + 1] == block.id
