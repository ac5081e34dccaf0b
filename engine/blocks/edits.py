"""Edits of a block config: each takes a config and returns another. Nothing is changed in place.

An order is always written whole (spec, bug 16): every id the agent can have, conditional ones and those of its other
mode included, so that a block which appears later takes the place the list showed for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from engine.blocks.block import ROLES, Number, Role
from engine.blocks.config import (
    BlockConfig,
    BlockOverride,
    BlockType,
    ContentMode,
    CustomBlock,
    checked,
    dump_config,
    parse_config,
)
from engine.blocks.rows import BlockSlot, Row
from engine.blocks.weaving import shown_ids, woven

_UNSET: Any = object()


def set_enabled(config: BlockConfig, block_id: str, enabled: bool) -> BlockConfig:
    """Switch a block on or off.

    Off is an override, for custom blocks too, so that the reference's own toggle can switch it on again; on also
    mends a custom block that is off in its definition (spec, bug 20).
    """
    config = _override(config, block_id, enabled=_UNSET if enabled else False)
    if enabled and any(block.id == block_id and not block.enabled for block in config.customBlocks):
        config = _each_custom(config, block_id, enabled=True)
    return config


def set_mode(config: BlockConfig, block_id: str, mode: ContentMode | None, default: str) -> BlockConfig:
    """Choose how a block's text is changed; `default` is the block's own content.

    Override without a text starts from the default; leaving it again drops a text that is still the default. Any
    other text is kept across modes, None included (spec, section 12.4).
    """
    override = config.override(block_id)
    text = override.customContent
    if mode == "override" and not text:
        text = default
    elif mode != "override" and override.contentMode == "override" and text == default:
        text = None
    if mode is None and not text:
        return _override(config, block_id, contentMode=_UNSET, customContent=_UNSET)
    return _override(config, block_id, contentMode=mode, customContent=_UNSET if text is None else text)


def custom_at(config: BlockConfig, key: str) -> CustomBlock | None:
    """The custom block of a row's key: of several with one id, `cb-a1b2#2` is the second."""
    index = _index_of(config, key)
    return None if index is None else config.customBlocks[index]


def set_text(config: BlockConfig, key: str, text: str) -> BlockConfig:
    """The text of a block: the body of a custom one, the custom content of a built-in one."""
    index = _index_of(config, key)
    if index is not None:
        return _replace_custom(config, index, config.customBlocks[index].model_copy(update={"content": text}))
    return _override(config, key, customContent=text)


def text_of(config: BlockConfig, key: str) -> str:
    """What `set_text` sets; the empty string when there is none yet."""
    custom = custom_at(config, key)
    return custom.content if custom is not None else config.override(key).customContent or ""


def set_order_override(config: BlockConfig, block_id: str, order: Number | None) -> BlockConfig:
    """Pin a block to a numeric order, which wins over `blockOrder`; None takes the pin away."""
    return _override(config, block_id, order=_UNSET if order is None else order)


def move_block(config: BlockConfig, rows: Sequence[Row], key: str, index: int) -> BlockConfig:
    """Put the block of row `key` at `index` among the rows of its role, which `rows` lists as shown.

    Nothing else moves: the whole sequence becomes `blockOrder`, and numeric order overrides of its blocks, now
    contained in it, are dropped. A place outside the role is its nearest end. Raises `ValueError` for an unknown key or
    when the id is not unique, since then one of two blocks can't be moved.
    """
    row = next((row for row in rows if row.key == key), None)
    if row is None:
        raise ValueError(f"there is no block {key}")
    if [other.id for other in rows].count(row.id) > 1:
        raise ValueError(f"two blocks share the id {row.id}, so neither can be moved alone")
    sequence = [other.id for other in rows if other.role == row.role and other.key != key]
    sequence.insert(max(0, min(index, len(sequence))), row.id)
    sequences = {role: sequence if role == row.role else _ids(rows, role) for role in ROLES}
    return write_order(config, sequences)


def rearrange(
    config: BlockConfig,
    rows: Sequence[Row],
    keys: Sequence[str],
    moved: Collection[str],
) -> BlockConfig:
    """Show `rows` in the order of `keys`, which names each of them once; `moved` are the keys that change their places.

    As for `move_block`, the whole sequence becomes `blockOrder`. Raises `ValueError` when `keys` are not those of the
    rows, or when the id of one of `moved` is not unique.
    """
    by_key = {row.key: row for row in rows}
    if len(keys) != len(by_key) or by_key.keys() != set(keys):
        raise ValueError("the order does not name every block once")
    counts = Counter(row.id for row in rows)
    shared = next((by_key[key].id for key in keys if key in moved and counts[by_key[key].id] > 1), None)
    if shared is not None:
        raise ValueError(f"two blocks share the id {shared}, so neither can be moved alone")
    ordered = [by_key[key] for key in keys]
    return write_order(config, {role: _ids(ordered, role) for role in ROLES})


def write_order(config: BlockConfig, sequences: Mapping[Role, list[str]]) -> BlockConfig:
    """Make `sequences` the order of every block they list. Ids that only the file knows keep their neighbour."""
    listed = list(dict.fromkeys(block_id for role in ROLES for block_id in sequences.get(role, [])))
    known = set(listed)
    order = listed if known.issuperset(config.blockOrder) else _with_unlisted(listed, known, config.blockOrder)
    for block_id, override in config.overrides.items():
        if override.order is not None and block_id in known:
            config = _override(config, block_id, order=_UNSET)
    return config.model_copy(update={"blockOrder": tuple(order)})


def _with_unlisted(listed: list[str], known: set[str], before: Sequence[str]) -> list[str]:
    """`listed` with what only the order `before` has, each behind the known id it stood behind there."""
    followers: dict[str | None, list[str]] = {}
    anchor: str | None = None
    # Of duplicates the last counts: walk backwards once to keep only those.
    for block_id in list(dict.fromkeys(reversed(before)))[::-1]:
        if block_id in known:
            anchor = block_id
        else:
            followers.setdefault(anchor, []).append(block_id)
    order = list(followers.get(None, []))
    for block_id in listed:
        order += [block_id, *followers.get(block_id, [])]
    return order


def fit_agent(
    config: BlockConfig, slots: Sequence[BlockSlot], other_mode: Sequence[BlockSlot] = ()
) -> tuple[BlockConfig, tuple[str, ...], tuple[str, ...]]:
    """The config of one agent for another, whose default blocks are `slots`, and `other_mode` in the other mode.

    Overrides and places of blocks that it can't have are left out; an order, if any is left, becomes whole: blocks
    that it does not name are put where they stand by default. Returns also the ids whose overrides, and those whose
    places, were left out.
    """
    customs = frozenset(block.id for block in config.customBlocks)
    known = customs.union(slot.id for slot in (*slots, *other_mode))
    # Of duplicates the last counts.
    named = list(dict.fromkeys(reversed(config.blockOrder)))[::-1]
    default = config.model_copy(update={"overrides": {}, "blockOrder": ()})
    order: list[str] = []
    for role in ROLES if known.intersection(named) else ():
        orders = [shown_ids(default, each, role) for each in (slots, other_mode)]
        mine = {block_id for ids in orders for block_id in ids}
        listed = [block_id for block_id in named if block_id in mine]
        for ids in orders:
            listed = woven(listed, ids, customs)
        order += listed
    overrides = {block_id: override for block_id, override in config.overrides.items() if block_id in known}
    fitted = config.model_copy(update={"overrides": overrides, "blockOrder": tuple(dict.fromkeys(order))})
    lost = tuple(block_id for block_id in config.overrides if block_id not in known)
    return fitted, lost, tuple(block_id for block_id in named if block_id not in known)


def add_block(
    config: BlockConfig,
    rows: Sequence[Row],
    block: CustomBlock,
    after: str | None = None,
) -> BlockConfig:
    """Append a custom block, shown behind row `after`, or last in its role.

    `blockOrder` stays empty while it is empty and no place was asked for: then the block's own `order` puts it last.
    """
    return add_blocks(config, rows, [(block, after)])


def add_blocks(
    config: BlockConfig,
    rows: Sequence[Row],
    added: Sequence[tuple[CustomBlock, str | None]],
) -> BlockConfig:
    """Append custom blocks, each behind a row of its role or last in it, as `add_block` does with one."""
    blocks = [block for block, _ in added]
    config = config.model_copy(update={"customBlocks": (*config.customBlocks, *blocks)})
    if not config.blockOrder and all(after is None for _, after in added):
        return config
    sequences: dict[Role, list[str]] = {}
    for role in ROLES:
        members = [row for row in rows if row.role == role]
        behind: dict[str, list[str]] = {row.key: [] for row in members}
        last: list[str] = []
        for block, after in added:
            if block.role == role:
                behind.get(after or "", last).append(block.id)
        sequences[role] = [block_id for row in members for block_id in (row.id, *behind[row.key])] + last
    return write_order(config, sequences)


def next_order(rows: Iterable[Row], role: Role) -> Number:
    """The order of a new custom block: 100 behind the last of its role (spec, section 12.6)."""
    return max((row.order for row in rows if row.role == role), default=0) + 100


def set_custom(
    config: BlockConfig,
    key: str,
    *,
    name: str | None = None,
    role: Role | None = None,
    type: BlockType | None = None,
    order: Number | None = None,
) -> BlockConfig:
    """Rename a custom block or change its role, type or own order. Raises `ConfigFault` for a bad value."""
    index = _index_of(config, key)
    if index is None:
        return config
    given = {"name": name, "role": role, "type": type, "order": order}
    values = config.customBlocks[index].model_dump(exclude_unset=True)
    values |= {field: value for field, value in given.items() if value is not None}
    return _replace_custom(config, index, checked(CustomBlock, values))


def delete_block(config: BlockConfig, key: str) -> BlockConfig:
    """Remove a custom block; with the last of its id also its override and its place in the order."""
    return delete_blocks(config, [key])


def delete_blocks(config: BlockConfig, keys: Iterable[str]) -> BlockConfig:
    """Remove custom blocks, as `delete_block` does with one; other keys are passed over."""
    indices = {index for key in keys if (index := _index_of(config, key)) is not None}
    left = tuple(block for index, block in enumerate(config.customBlocks) if index not in indices)
    gone = {config.customBlocks[index].id for index in indices} - {block.id for block in left}
    if not gone:
        return config.model_copy(update={"customBlocks": left})
    return config.model_copy(
        update={
            "customBlocks": left,
            "overrides": {key: value for key, value in config.overrides.items() if key not in gone},
            "blockOrder": tuple(item for item in config.blockOrder if item not in gone),
        }
    )


def reset_block(config: BlockConfig, block_id: str) -> BlockConfig:
    """Drop everything overridden about a block. Its place in a written order stays, and so do keys that this program
    does not know.
    """
    return reset_blocks(config, {block_id})


def reset_blocks(config: BlockConfig, block_ids: Collection[str]) -> BlockConfig:
    """As `reset_block`, of some blocks."""
    overrides: dict[str, BlockOverride] = {}
    for block_id, override in config.overrides.items():
        if block_id not in block_ids:
            overrides[block_id] = override
        elif unknown := override.model_extra:
            overrides[block_id] = checked(BlockOverride, dict(unknown))
    return config if overrides == config.overrides else config.model_copy(update={"overrides": overrides})


def reset_agent(config: BlockConfig) -> BlockConfig:
    """The default config; keys this program does not know are kept."""
    extra = {key: value for key, value in dump_config(config).items() if key not in BlockConfig.model_fields}
    return parse_config(extra)


def set_tool(config: BlockConfig, tool: str, enabled: bool) -> BlockConfig:
    """Switch one tool of the agent on or off; tools that the list calls by an older name get the one they have now."""
    disabled = config.disabled_tools
    if enabled != (tool in disabled):
        return config
    tools = tuple(name for name in disabled if name != tool) if enabled else (*disabled, tool)
    return config.model_copy(update={"disabledTools": tools})


def set_auto_analysis(config: BlockConfig, enabled: bool) -> BlockConfig:
    """Let the analysis run by itself after a save, or not. Only that of `librarian.analyze` counts (spec, 8.1)."""
    return config.model_copy(update={"disableAutoAnalysis": not enabled})


def _ids(rows: Iterable[Row], role: Role) -> list[str]:
    return [row.id for row in rows if row.role == role]


def _index_of(config: BlockConfig, key: str) -> int | None:
    block_id, _, number = key.partition("#")
    left = int(number) if number.isdecimal() else 1
    for index, block in enumerate(config.customBlocks):
        if block.id == block_id:
            left -= 1
            if left == 0:
                return index
    return None


def _replace_custom(config: BlockConfig, index: int, block: CustomBlock) -> BlockConfig:
    blocks = config.customBlocks
    return config.model_copy(update={"customBlocks": (*blocks[:index], block, *blocks[index + 1 :])})


def _each_custom(config: BlockConfig, block_id: str, **changes: Any) -> BlockConfig:
    return config.model_copy(
        update={
            "customBlocks": tuple(
                block.model_copy(update=changes) if block.id == block_id else block for block in config.customBlocks
            )
        }
    )


def _override(config: BlockConfig, block_id: str, **changes: Any) -> BlockConfig:
    """The override of one block with keys set, or removed with `_UNSET`; an override without keys is removed.

    Raises `ConfigFault` for a value that no config may hold.
    """
    values = config.override(block_id).model_dump(exclude_unset=True)
    for key, value in changes.items():
        if value is _UNSET:
            values.pop(key, None)
        else:
            values[key] = value
    overrides = dict(config.overrides)
    if values:
        overrides[block_id] = checked(BlockOverride, values)
    else:
        overrides.pop(block_id, None)
    return config if overrides == config.overrides else config.model_copy(update={"overrides": overrides})
