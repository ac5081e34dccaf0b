"""The list of blocks as the editor shows it: everything that compiles, and everything that could.

The rows of a role stand in exactly the order `compile_blocks` gives the blocks among them, because both sort by
`effective_order` with the same ties. What the list shows is what compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from engine.blocks.apply import (
    ENGINE_MISSING,
    ScriptResult,
    custom_content,
    is_enabled,
    order_ranks,
    override_content,
)
from engine.blocks.block import BUILTIN, CUSTOM, ROLES, ContextBlock, Number, Role
from engine.blocks.compile import marker
from engine.blocks.config import BlockConfig, BlockType, ContentMode, CustomBlock
from engine.text import is_blank

RowState = Literal["compiled", "disabled", "absent", "pending", "silent"]
"""compiled: in the prompt · disabled: switched off · absent: exists only under another condition ·
pending: a script that has not run yet · silent: a script that returned nothing, so it is left out"""


@dataclass(frozen=True, slots=True)
class BlockSlot:
    """A default block an agent can have. `reason` says, to a person, when it is not there."""

    id: str
    role: Role
    order: Number
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the block list.

    `key` is unique in the list (the id, with `#2` … behind a repeated one); `name` is the id of a built-in block and
    the user's name of a custom one; `content` what the block compiles to, before fragment tags; `default` what it
    would be without overrides; `note` the reason when `state` is not `compiled`, or the warning when `warning`.
    """

    key: str
    id: str
    name: str
    role: Role
    order: Number
    source: str
    type: BlockType | None
    enabled: bool
    state: RowState
    mode: ContentMode | None
    content: str | None
    default: str | None
    tokens: int | None
    note: str = ""
    warning: bool = False

    @property
    def custom(self) -> bool:
        return self.source == CUSTOM


RowMemo = dict[str, tuple[tuple[object, ...], Row]]
"""Rows by key with all they were made from, so that after an edit only the rows it changed are made anew."""


def arrange(
    slots: Sequence[BlockSlot],
    blocks: Iterable[ContextBlock],
    config: BlockConfig,
    scripts: Mapping[str, ScriptResult],
    count_tokens: Callable[[str], int],
    memo: RowMemo | None = None,
) -> tuple[Row, ...]:
    """Every row, system first, in compiled order.

    `slots` is all an agent can have, `blocks` the default blocks there are now; `count_tokens` is called with the
    text as it is sent, marker included. `memo`, kept by the caller from call to call, makes the next one cheap; it is
    for one `count_tokens` only.
    """
    memo = memo if memo is not None else {}
    ranks = order_ranks(config.blockOrder)
    overrides = config.overrides
    rows: dict[Role, list[Row]] = {role: [] for role in ROLES}
    seen: dict[str, int] = {}

    def key_of(block_id: str) -> str:
        seen[block_id] = seen.get(block_id, 0) + 1
        return block_id if seen[block_id] == 1 else f"{block_id}#{seen[block_id]}"

    def order_of(block: ContextBlock | CustomBlock) -> Number:
        override = overrides.get(block.id)
        pinned = override.order if override is not None else None
        return pinned if pinned is not None else ranks.get(block.id, block.order)

    for block, present, reason in _universe(slots, list(blocks)):
        key, order = key_of(block.id), order_of(block)
        made_of: tuple[object, ...] = (block, overrides.get(block.id), order, present, reason)
        known = memo.get(key)
        if known is None or known[0] != made_of:
            known = memo[key] = (made_of, _builtin_row(key, block, order, present, reason, config, count_tokens))
        rows[known[1].role].append(known[1])
    for custom in config.customBlocks:
        result = scripts.get(custom.content) if custom.type == "script" else None
        key, order = key_of(custom.id), order_of(custom)
        made_of = (custom, overrides.get(custom.id), order, result)
        known = memo.get(key)
        if known is None or known[0] != made_of:
            known = memo[key] = (made_of, _custom_row(key, custom, order, result, config, count_tokens))
        rows[known[1].role].append(known[1])
    if len(memo) > 2 * sum(map(len, rows.values())) + 100:
        memo.clear()
    return tuple(row for role in ROLES for row in sorted(rows[role], key=attrgetter("order")))


def _builtin_row(
    key: str,
    block: ContextBlock,
    order: Number,
    present: bool,
    reason: str,
    config: BlockConfig,
    count_tokens: Callable[[str], int],
) -> Row:
    enabled = config.override(block.id).enabled is not False
    state: RowState = "absent" if not present else "compiled" if enabled else "disabled"
    return _row(key, block, order, None, enabled, state, reason if not present else "", False, config, count_tokens)


def _custom_row(
    key: str,
    custom: CustomBlock,
    order: Number,
    result: ScriptResult | None,
    config: BlockConfig,
    count_tokens: Callable[[str], int],
) -> Row:
    enabled = is_enabled(custom, config)
    content = custom_content(custom, {} if result is None else {custom.content: result})
    state: RowState
    note, warning = "", False
    if not enabled:
        state = "disabled"
    elif custom.type == "script" and result is None:
        state, note = "pending", "not evaluated yet"
    elif result is not None and result.kind == ENGINE_MISSING:
        state = "pending"
    elif content is None:
        state, note = "silent", _silence(result)
    else:
        state = "compiled"
    if enabled and result is not None and result.error is not None:
        note, warning = _script_note(result), True
    block = ContextBlock(custom.id, custom.role, content or "", custom.order, CUSTOM, custom.name)
    return _row(key, block, order, custom.type, enabled, state, note, warning, config, count_tokens)


def _row(
    key: str,
    block: ContextBlock,
    order: Number,
    type_: BlockType | None,
    enabled: bool,
    state: RowState,
    note: str,
    warning: bool,
    config: BlockConfig,
    count_tokens: Callable[[str], int],
) -> Row:
    override = config.override(block.id)
    final = override_content(block, config)
    live = state in ("compiled", "disabled")
    if state == "compiled" and is_blank(final.content):
        note, warning = note or "empty: only its marker is sent", True
    if override.contentMode == "override" and not override.customContent:
        note, warning = note or "override without text: the default is sent", True
    return Row(
        key=key,
        id=block.id,
        name=block.name or block.id,
        role=block.role,
        order=order,
        source=block.source,
        type=type_,
        enabled=enabled,
        state=state,
        mode=override.contentMode,
        content=final.content if live else None,
        default=block.content if live else None,
        tokens=count_tokens(f"{marker(final)}\n{final.content}") if state == "compiled" else None,
        note=note,
        warning=warning,
    )


def _universe(slots: Sequence[BlockSlot], blocks: list[ContextBlock]) -> list[tuple[ContextBlock, bool, str]]:
    """Default blocks merged with the slots that have none now.

    Blocks keep their array order, which decides ties; an absent slot stands behind the slot before it.
    """
    present = {block.id for block in blocks}
    merged = [(block, True, "") for block in blocks]
    previous: str | None = None
    for slot in slots:
        if slot.id not in present:
            at = next(
                (i + 1 for i, item in enumerate(merged) if item[0].id == previous),
                0 if previous is None else len(merged),
            )
            merged.insert(at, (ContextBlock(slot.id, slot.role, "", slot.order, BUILTIN), False, slot.reason))
        previous = slot.id
    return merged


def _silence(result: ScriptResult | None) -> str:
    if result is not None and result.kind == "not_string":
        return "returned no text, so the block is left out"
    return "returned an empty text, so the block is left out"


def _script_note(result: ScriptResult) -> str:
    if result.kind == ENGINE_MISSING:
        return f"not evaluated: {result.error}"
    line = f" (line {result.line})" if result.line is not None else ""
    return f"script error{line}: {result.error}"
