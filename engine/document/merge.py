"""Three-way merge of block configs, for a file that changed under an open editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.blocks.config import BlockConfig, dump_config, parse_config
from engine.document.text_merge import merge_texts

_ABSENT: Any = object()
_TEXTS = frozenset(("content", "customContent"))


def merge_configs(base: BlockConfig, mine: BlockConfig, theirs: BlockConfig) -> tuple[BlockConfig, tuple[str, ...]]:
    """`theirs` with what `mine` changed since `base`, and where both changed the same: ids of blocks, or keys.

    There mine stands. Objects are merged key by key, custom blocks by id, and the texts of blocks by their words.
    Lists of plain values (`blockOrder`, `disabledTools`) are one value each.
    """
    origin, own, other = (keyed(dump_config(config)) for config in (base, mine, theirs))
    clashes: list[str] = []
    merged = _merge(origin, own, other, (), clashes)
    merged["customBlocks"] = list(merged["customBlocks"].values())
    return parse_config(merged), tuple(dict.fromkeys(clashes))


def keyed(value: dict[str, Any]) -> dict[str, Any]:
    """A dumped config with its custom blocks by key: of several with one id, `cb-a1b2#2` is the second."""
    blocks: dict[str, Any] = {}
    for block in value["customBlocks"]:
        key, count = block["id"], 2
        while key in blocks:
            key, count = f"{block['id']}#{count}", count + 1
        blocks[key] = block
    return {**value, "customBlocks": blocks}


def _merge(base: Any, mine: Any, theirs: Any, path: tuple[str, ...], clashes: list[str]) -> Any:
    if mine in (base, theirs):
        return theirs
    if theirs == base:
        return mine
    if not all(isinstance(side, Mapping) for side in (mine, theirs)):
        clash = True
        if path[-1] in _TEXTS and all(isinstance(side, str) for side in (base, mine, theirs)):
            mine, clash = merge_texts(base, mine, theirs)
        if clash:
            clashes.append(path[1] if len(path) > 1 else path[0])
        return mine
    origin = base if isinstance(base, Mapping) else {}
    merged = {}
    for key in [*theirs, *(key for key in mine if key not in theirs)]:
        sides = (origin.get(key, _ABSENT), mine.get(key, _ABSENT), theirs.get(key, _ABSENT))
        value = _merge(*sides, (*path, key), clashes)
        if value is not _ABSENT:
            merged[key] = value
    return merged
