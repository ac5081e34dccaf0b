"""The list of blocks as the editor shows it: everything that compiles, and everything that could.

The rows of a role stand in exactly the order `compile_blocks` gives the blocks among them, because both sort by
`effective_order` with the same ties. What the list shows is what compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, is_
from typing import Literal, NamedTuple

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
from engine.blocks.config import BlockConfig, BlockOverride, BlockType, ContentMode, CustomBlock
from engine.blocks.weaving import shown_ids, woven
from engine.text import Phrase, is_blank

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
    would be without overrides; `note` the reason when `state` is not `compiled`, or the warning when `warning`;
    `pinned` whether `order` is that of an override, which wins over the place in the list.
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
    pinned: bool = False

    @property
    def custom(self) -> bool:
        return self.source == CUSTOM


class _Source(NamedTuple):
    """What a row is made of besides its override and its place: a default block, there or absent, or a custom one."""

    key: str
    block: ContextBlock | CustomBlock
    present: bool = True
    reason: str = ""
    result: ScriptResult | None = None


@dataclass(frozen=True, slots=True)
class _Arranged:
    """Rows in array order, and what they were made from; `places` are the indices of an id in `sources` and `rows`."""

    made_from: tuple[object, ...]
    sources: tuple[_Source, ...]
    places: Mapping[str, Sequence[int]]
    overrides: Mapping[str, BlockOverride]
    ranks: Mapping[str, int]
    rows: Sequence[Row]

    def touched(self, overrides: Mapping[str, BlockOverride], ranks: Mapping[str, int]) -> list[int]:
        """Indices of the rows whose override or place in the order is another one."""
        ids = _differing(self.overrides, overrides) | _differing(self.ranks, ranks)
        return [index for block_id in ids for index in self.places.get(block_id, ())]


class RowMemo:
    """What `arrange` made and from what, so that after an edit only the rows it changed are looked at.

    For one `count_tokens` only. What `arrange` was given must not be changed in place.
    """

    def __init__(self) -> None:
        self.made: dict[str, tuple[tuple[object, ...], Row]] = {}
        self.last: _Arranged | None = None


def arrange(
    slots: Sequence[BlockSlot],
    blocks: Sequence[ContextBlock],
    config: BlockConfig,
    scripts: Mapping[str, ScriptResult],
    count_tokens: Callable[[str], int],
    memo: RowMemo | None = None,
    other_mode: Sequence[BlockSlot] = (),
) -> tuple[Row, ...]:
    """Every row, system first, in compiled order.

    `slots` is all an agent can have, `blocks` the default blocks there are now; `count_tokens` is called with the
    text as it is sent, marker included. `memo`, kept by the caller from call to call, makes the next one cheap.
    `other_mode` is every default block of the story's other mode: those of them that this one has not are absent, and
    stand between the others as they do there, so that an order made of the rows is right in both.
    """
    memo = memo if memo is not None else RowMemo()
    made = memo.made
    overrides = config.overrides
    ranks = order_ranks(config.blockOrder)

    def row_of(source: _Source) -> Row:
        override = overrides.get(source.block.id)
        pinned = override.order if override is not None else None
        order = pinned if pinned is not None else ranks.get(source.block.id, source.block.order)
        made_of = (source, override, order)
        known = made.get(source.key)
        if known is None or known[0] != made_of:
            known = made[source.key] = (made_of, _make_row(source, order, config, count_tokens))
        return known[1]

    foreign = _foreign(slots, blocks, other_mode)
    made_from = (slots, blocks, config.customBlocks, scripts, other_mode)
    last = memo.last
    rows: list[Row]
    if last is not None and all(map(is_, last.made_from, made_from)):
        sources, places, rows = last.sources, last.places, list(last.rows)
        for index in last.touched(overrides, ranks):
            rows[index] = row_of(sources[index])
    else:
        sources = tuple(_sources(slots, list(blocks), foreign.values(), config.customBlocks, scripts))
        places = _places(sources)
        rows = [row_of(source) for source in sources]
        if len(made) > 2 * len(rows) + 100:
            made.clear()
    memo.last = _Arranged(made_from, sources, places, overrides, ranks, rows)
    # An order that has all of them holds in both modes.
    apart = {} if all(slot.id in ranks for slot in other_mode) else foreign
    return tuple(row for role in ROLES for row in _in_order(rows, role, config, apart, other_mode))


def _foreign(
    slots: Sequence[BlockSlot], blocks: Iterable[ContextBlock], other_mode: Sequence[BlockSlot]
) -> dict[str, BlockSlot]:
    """The blocks that only the story's other mode has."""
    if not other_mode:
        return {}
    mine = {slot.id for slot in slots} | {block.id for block in blocks}
    return {slot.id: slot for slot in other_mode if slot.id not in mine}


def _in_order(
    rows: Sequence[Row],
    role: Role,
    config: BlockConfig,
    apart: Mapping[str, BlockSlot],
    other_mode: Sequence[BlockSlot],
) -> list[Row]:
    """The rows of a role in the order they are shown, those `apart` woven in."""
    members = sorted((row for row in rows if row.role == role), key=attrgetter("order"))
    strangers = {row.key: row for row in members if row.key in apart}
    if not strangers:
        return members
    mine = [row for row in members if row.key not in strangers]
    customs = {block.id for block in config.customBlocks}
    ids = woven(list(dict.fromkeys(row.id for row in mine)), shown_ids(config, other_mode, role), customs)
    # What is woven in stands behind the last of mine before it.
    ordered: list[Row] = []
    rest = iter(mine)
    waiting: list[Row] = []
    for block_id in ids:
        if block_id in strangers:
            waiting.append(strangers[block_id])
            continue
        for row in rest:
            first = row.id == block_id
            ordered += [*waiting, row] if first else [row]
            if first:
                waiting = []
                break
    return [*ordered, *rest, *waiting]


def _sources(
    slots: Sequence[BlockSlot],
    blocks: list[ContextBlock],
    foreign: Iterable[BlockSlot],
    customs: Iterable[CustomBlock],
    scripts: Mapping[str, ScriptResult],
) -> Iterator[_Source]:
    """What there is a row for, in array order, each with a key of its own."""
    seen: dict[str, int] = {}

    def key_of(block_id: str) -> str:
        seen[block_id] = seen.get(block_id, 0) + 1
        return block_id if seen[block_id] == 1 else f"{block_id}#{seen[block_id]}"

    for block, present, reason in _universe(slots, blocks):
        yield _Source(key_of(block.id), block, present, reason)
    for slot in foreign:
        yield _Source(key_of(slot.id), _absent(slot), False, slot.reason)
    for custom in customs:
        result = scripts.get(custom.content) if custom.type == "script" else None
        yield _Source(key_of(custom.id), custom, result=result)


def _places(sources: Iterable[_Source]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for index, source in enumerate(sources):
        places.setdefault(source.block.id, []).append(index)
    return places


def _differing(old: Mapping[str, object], new: Mapping[str, object]) -> set[str]:
    """Keys with another value in one of the two, or with none."""
    if old is new:
        return set()
    changed = {key for key, value in new.items() if (before := old.get(key)) is not value and before != value}
    return changed | (old.keys() - new.keys())


def _make_row(source: _Source, order: Number, config: BlockConfig, count_tokens: Callable[[str], int]) -> Row:
    key, block, present, reason, result = source
    if isinstance(block, CustomBlock):
        return _custom_row(key, block, order, result, config, count_tokens)
    return _builtin_row(key, block, order, present, reason, config, count_tokens)


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
    elif result is not None and result.cut_short:
        state, note = "pending", result.described
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
        pinned=override.order is not None,
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
            merged.insert(at, (_absent(slot), False, slot.reason))
        previous = slot.id
    return merged


def _absent(slot: BlockSlot) -> ContextBlock:
    return ContextBlock(slot.id, slot.role, "", slot.order, BUILTIN)


def _silence(result: ScriptResult | None) -> str:
    if result is not None and result.kind == "not_string":
        return "returned no text, so the block is left out"
    return "returned an empty text, so the block is left out"


def _script_note(result: ScriptResult) -> str:
    if result.kind == ENGINE_MISSING:
        return Phrase("not evaluated: {error}", error=result.error)
    if result.line is None:
        return Phrase("script error: {error}", error=result.error)
    return Phrase("script error (line {line}): {error}", line=result.line, error=result.error)
