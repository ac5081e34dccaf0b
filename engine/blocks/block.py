"""`ContextBlock`, the unit a prompt is built of, and the six pure edits on a list of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Role = Literal["system", "user"]
Number = int | float
ROLES: tuple[Role, ...] = ("system", "user")

BUILTIN = "builtin"
CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """One addressable piece of a prompt (seed, "ContextBlock").

    `order` sorts inside the role only and may be any number; `source` is `builtin`, `custom` or a plugin's name;
    `content` carries no marker, `compile_blocks` adds it.
    """

    id: str
    role: Role
    content: str
    order: Number
    source: str = BUILTIN
    name: str | None = None


def find_block(blocks: Iterable[ContextBlock], block_id: str) -> ContextBlock | None:
    """The first block with this id, or None."""
    return next((block for block in blocks if block.id == block_id), None)


def replace_block_content(blocks: Iterable[ContextBlock], block_id: str, content: str) -> list[ContextBlock]:
    """A new list in which every block with this id has `content`; an unknown id changes nothing."""
    return [replace(block, content=content) if block.id == block_id else block for block in blocks]


def remove_block(blocks: Iterable[ContextBlock], block_id: str) -> list[ContextBlock]:
    """A new list without the blocks of this id."""
    return [block for block in blocks if block.id != block_id]


def insert_block_before(blocks: Sequence[ContextBlock], target_id: str, new: ContextBlock) -> list[ContextBlock]:
    """A new list with `new` before the first block of `target_id`, or at the end when there is none.

    Array position only decides ties: `order` decides the place in the compiled prompt.
    """
    return _insert(blocks, target_id, new, 0)


def insert_block_after(blocks: Sequence[ContextBlock], target_id: str, new: ContextBlock) -> list[ContextBlock]:
    """As `insert_block_before`, behind the target."""
    return _insert(blocks, target_id, new, 1)


def _insert(blocks: Sequence[ContextBlock], target_id: str, new: ContextBlock, offset: int) -> list[ContextBlock]:
    at = next((i + offset for i, block in enumerate(blocks) if block.id == target_id), len(blocks))
    return [*blocks[:at], new, *blocks[at:]]


def reorder_block(blocks: Iterable[ContextBlock], block_id: str, order: Number) -> list[ContextBlock]:
    """A new list in which every block with this id has `order`."""
    return [replace(block, order=order) if block.id == block_id else block for block in blocks]
