"""The six pure helpers (seed, "Block Manipulation")."""

from __future__ import annotations

from engine.blocks import (
    ContextBlock,
    find_block,
    insert_block_after,
    insert_block_before,
    remove_block,
    reorder_block,
    replace_block_content,
)

A = ContextBlock("a", "user", "one", 100)
B = ContextBlock("b", "user", "two", 200)
NEW = ContextBlock("n", "user", "new", 150, "my-plugin")


def test_find() -> None:
    assert find_block([A, B], "b") is B
    assert find_block([A, B], "z") is None


def test_replace_and_reorder_touch_only_the_named_block() -> None:
    blocks = [A, B]
    assert [block.content for block in replace_block_content(blocks, "a", "x")] == ["x", "two"]
    assert [block.order for block in reorder_block(blocks, "b", 5)] == [100, 5]
    assert blocks == [A, B]
    assert replace_block_content(blocks, "z", "x") == blocks


def test_remove() -> None:
    assert remove_block([A, B, A], "a") == [B]


def test_insert_before_and_after_and_at_the_end_for_an_unknown_target() -> None:
    assert insert_block_before([A, B], "b", NEW) == [A, NEW, B]
    assert insert_block_after([A, B], "a", NEW) == [A, NEW, B]
    assert insert_block_before([A, B], "z", NEW) == [A, B, NEW]
    assert insert_block_after([A, B], "z", NEW) == [A, B, NEW]
