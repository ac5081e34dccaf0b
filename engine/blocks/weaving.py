"""One order for the blocks of both of a story's modes, which share `blockOrder` and some of their blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from engine.blocks.apply import effective_order, order_ranks
from engine.blocks.block import Number, Role
from engine.blocks.config import BlockConfig


class Placed(Protocol):
    """What has a place of its own among the blocks of a role."""

    @property
    def id(self) -> str: ...
    @property
    def role(self) -> Role: ...
    @property
    def order(self) -> Number: ...


def shown_ids(config: BlockConfig, blocks: Iterable[Placed], role: Role) -> list[str]:
    """Ids of a role as the list shows them for these default blocks and the custom ones of the config."""
    ranks = order_ranks(config.blockOrder)
    every: list[Placed] = [*blocks, *config.customBlocks]
    members = [block for block in every if block.role == role]
    members.sort(key=lambda block: effective_order(block.id, block.order, config, ranks))
    return list(dict.fromkeys(block.id for block in members))


def woven(listed: Sequence[str], shown: Sequence[str], customs: Collection[str]) -> list[str]:
    """`listed` with what only `shown` has: each behind the ids it stands behind there, and so before the others.

    As an id has one place in both modes, a custom block can't keep two: where the two show it on different sides of a
    default block that both have, `listed` decides, and what only `shown` has still keeps its order.
    """
    place = {block_id: index for index, block_id in enumerate(listed)}
    end = len(listed)
    # For each of `shown`: the first place of what comes later, of default blocks alone, and of none.
    limits: list[tuple[int, int]] = []
    default = end
    for block_id in reversed(shown):
        limits.append((default, end))
        if block_id in place and block_id not in customs:
            default = min(default, place[block_id])
    before: dict[int, list[str]] = {}
    passed: list[str] = []
    at = 0
    for block_id, limit in zip(shown, reversed(limits), strict=True):
        if block_id in place:
            passed.append(block_id)
            continue
        # Never back again: what only `shown` has keeps its own order in any case.
        at = max([at, *(place[other] + 1 for other in passed if place[other] < limit[other not in customs])])
        before.setdefault(at, []).append(block_id)
    order: list[str] = []
    for index, block_id in enumerate(listed):
        order += [*before.get(index, []), block_id]
    return order + before.get(end, [])
