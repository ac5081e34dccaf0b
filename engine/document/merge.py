"""Three-way merge of block configs, for a file that changed under an open editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.blocks.config import BlockConfig, dump_config, parse_config

_ABSENT: Any = object()


def merge_configs(base: BlockConfig, mine: BlockConfig, theirs: BlockConfig) -> BlockConfig:
    """`theirs` with what `mine` changed since `base`.

    Objects are merged key by key and custom blocks by id; where both sides changed one value, mine wins. Lists of
    plain values (`blockOrder`, `disabledTools`) are one value each.
    """
    merged = _merge(*(_keyed(dump_config(config)) for config in (base, mine, theirs)))
    merged["customBlocks"] = list(merged["customBlocks"].values())
    return parse_config(merged)


def _keyed(value: dict[str, Any]) -> dict[str, Any]:
    blocks: dict[str, Any] = {}
    for block in value["customBlocks"]:
        key, count = block["id"], 2
        while key in blocks:
            key, count = f"{block['id']}#{count}", count + 1
        blocks[key] = block
    return {**value, "customBlocks": blocks}


def _merge(base: Any, mine: Any, theirs: Any) -> Any:
    if mine == base:
        return theirs
    if theirs == base or not all(isinstance(side, Mapping) for side in (mine, theirs)):
        return mine
    origin = base if isinstance(base, Mapping) else {}
    merged = {}
    for key in [*theirs, *(key for key in mine if key not in theirs)]:
        value = _merge(origin.get(key, _ABSENT), mine.get(key, _ABSENT), theirs.get(key, _ABSENT))
        if value is not _ABSENT:
            merged[key] = value
    return merged
