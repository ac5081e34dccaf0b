"""What a config says of blocks that are not there, and ids that two of its blocks share; and edits that settle it.

Such things are kept in the file as they are until someone decides otherwise (spec, sections 8 and 15, bugs 10 and 15).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from engine.blocks.config import BlockConfig, BlockOverride


@dataclass(frozen=True, slots=True)
class Leftover:
    """An id in a config that means nothing, or too much.

    `kind`: `override` and `order` for an id that no block has, `old` for one of the older layout, whose block is called
    `successor` now, `shared` for one that several custom blocks have (`count`). `override` is what is stored for the
    id, `ordered` whether the order names it; `renamable` whether it can take its successor's name: not when both have
    an override and the order does not name it.
    """

    id: str
    kind: Literal["override", "order", "old", "shared"]
    override: BlockOverride | None = None
    ordered: bool = False
    successor: str | None = None
    renamable: bool = False
    count: int = 0

    @property
    def text(self) -> str:
        """The text that is stored for the id."""
        return (self.override.customContent if self.override is not None else None) or ""


def find_leftovers(
    config: BlockConfig, known: Collection[str], successor: Callable[[str], str | None]
) -> tuple[Leftover, ...]:
    """What is left over in a config, overrides first.

    `known` are the ids of the default blocks an agent can have; `successor` says what the block of an id of the older
    layout is called now.
    """
    counts = Counter(block.id for block in config.customBlocks)
    there = counts.keys() | set(known)
    order = set(config.blockOrder)
    found: list[Leftover] = []
    for block_id in dict.fromkeys((*config.overrides, *config.blockOrder)):
        if block_id in there:
            continue
        override, new = config.overrides.get(block_id), successor(block_id)
        ordered = block_id in order
        if new is not None:
            free = ordered or new not in config.overrides
            found.append(Leftover(block_id, "old", override, ordered, new, free))
        else:
            found.append(Leftover(block_id, "order" if override is None else "override", override, ordered))
    found += [
        Leftover(block_id, "shared", config.overrides.get(block_id), block_id in order, count=count)
        for block_id, count in counts.items()
        if count > 1
    ]
    return tuple(found)


def drop_ids(config: BlockConfig, ids: Collection[str]) -> BlockConfig:
    """The config without the overrides and places of these ids."""
    return config.model_copy(
        update={
            "overrides": {key: value for key, value in config.overrides.items() if key not in ids},
            "blockOrder": tuple(item for item in config.blockOrder if item not in ids),
        }
    )


def rename_id(config: BlockConfig, old: str, new: str) -> BlockConfig:
    """Give an override and a place in the order the name of another block, as far as that has none of its own."""
    overrides = config.overrides
    if new not in overrides:
        overrides = {(new if key == old else key): value for key, value in overrides.items()}
    order = config.blockOrder
    if old in order:
        # Of a repeated id the last place counts.
        last = len(order) - 1 - order[::-1].index(old)
        order = tuple(
            new if index == last else item
            for index, item in enumerate(order)
            if item != old or (index == last and new not in order)
        )
    return config.model_copy(update={"overrides": overrides, "blockOrder": order})


def part_shared(config: BlockConfig, block_id: str, new_id: Callable[[Collection[str]], str]) -> BlockConfig:
    """Give every custom block of an id but the first an id of its own, with the same override and a place behind it.

    `new_id` makes an id that is none of those it is given.
    """
    taken = {block.id for block in config.customBlocks} | set(config.overrides) | set(config.blockOrder)
    blocks, overrides, order = [], dict(config.overrides), list(config.blockOrder)
    first = True
    for block in config.customBlocks:
        if block.id == block_id and not first:
            fresh = new_id(taken)
            taken.add(fresh)
            if block_id in overrides:
                overrides[fresh] = overrides[block_id]
            if block_id in order:
                order.insert(len(order) - order[::-1].index(block_id), fresh)
            block = block.model_copy(update={"id": fresh})
        first = first and block.id != block_id
        blocks.append(block)
    return config.model_copy(update={"customBlocks": tuple(blocks), "overrides": overrides, "blockOrder": tuple(order)})
