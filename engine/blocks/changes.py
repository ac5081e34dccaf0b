"""What one config does differently from another, told in lines for people: what an import or a copy would change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from engine.blocks.config import RENAMED_TOOLS, BlockConfig, CustomBlock, dump_config

_KINDS = {"simple": "text", "script": "script"}


def describe_changes(before: BlockConfig, after: BlockConfig, tools: Collection[str] | None = None) -> tuple[str, ...]:
    """One line for each difference, in the order of the file; none when both configs say the same.

    `tools` are those the agent has, where it is known which one the config is for.
    """
    return (
        *_custom_blocks(before, after),
        *_overrides(before, after),
        *_order(before, after),
        *_tools(before, after, tools),
        *_other_keys(before, after),
    )


def _custom_blocks(before: BlockConfig, after: BlockConfig) -> Iterator[str]:
    old, new = _by_key(before), _by_key(after)
    for key, block in new.items():
        if key not in old:
            off = "" if block.enabled else ", off"
            yield f"adds the {_KINDS[block.type]} block {block.name!r} ({block.role}{off})"
        elif block != old[key]:
            yield from _custom_block(old[key], block)
    for key, block in old.items():
        if key not in new:
            yield f"removes the {_KINDS[block.type]} block {block.name!r}"


def _custom_block(old: CustomBlock, new: CustomBlock) -> Iterator[str]:
    if old.name != new.name:
        yield f"renames {old.name!r} to {new.name!r}"
    if old.role != new.role:
        yield f"moves {new.name!r} to the {new.role} message"
    if old.type != new.type:
        yield f"makes {new.name!r} a {_KINDS[new.type]} block"
    if old.content != new.content:
        yield f"changes the text of {new.name!r}"
    if old.enabled != new.enabled:
        yield f"switches {new.name!r} {_switch(new.enabled)}"
    if old.order != new.order:
        yield f"gives {new.name!r} the order {new.order}"


def _overrides(before: BlockConfig, after: BlockConfig) -> Iterator[str]:
    for block_id in dict.fromkeys([*before.overrides, *after.overrides]):
        old, new = before.override(block_id), after.override(block_id)
        if old == new:
            continue
        custom = after.custom(block_id) or before.custom(block_id)
        name = repr(custom.name) if custom is not None else block_id
        if old.enabled != new.enabled and (old.enabled is False) != (new.enabled is False):
            yield f"switches {name} {_switch(new.enabled is not False)}"
        if old.contentMode != new.contentMode:
            yield f"sets the content mode of {name} to {new.contentMode or 'none'}"
        if old.customContent != new.customContent:
            yield f"changes the text that is put to {name}"
        if old.order != new.order:
            yield f"unpins {name}" if new.order is None else f"pins {name} to the order {new.order}"


def _order(before: BlockConfig, after: BlockConfig) -> Iterator[str]:
    if before.blockOrder == after.blockOrder:
        return
    yield "changes the order of the blocks" if after.blockOrder else "puts the blocks back into their default order"


def _tools(before: BlockConfig, after: BlockConfig, tools: Collection[str] | None) -> Iterator[str]:
    off = [tool for tool in after.disabledTools if tool not in before.disabledTools]
    on = [tool for tool in before.disabledTools if tool not in after.disabledTools]
    # What a name stands for now counts: an old one switches off the tool that it was renamed to.
    if off:
        already = before.disabled_tools
        yield f"takes away the tools {', '.join(_told(tool, already, tools) for tool in off)}"
    if on:
        still = after.disabled_tools
        yield f"gives back the tools {', '.join(_told(tool, still, tools) for tool in on)}"
    if before.disableAutoAnalysis != after.disableAutoAnalysis:
        yield f"switches the analysis after a save {_switch(not after.disableAutoAnalysis)}"


def _told(name: str, off: Collection[str], tools: Collection[str] | None) -> str:
    """A tool of `disabledTools`, and what an old name of one means now; `off`: the tools that are off either way."""
    new = RENAMED_TOOLS.get(name, name)
    notes = []
    if new != name:
        notes.append(f"under its old name {name}")
    if tools is not None and new not in tools:
        notes.append("which this agent does not have")
    elif new in off:
        notes.append("which is off either way")
    return f"{new} ({', '.join(notes)})" if notes else new


def _other_keys(before: BlockConfig, after: BlockConfig) -> Iterator[str]:
    old, new = _extra(before), _extra(after)
    differing = [key for key in dict.fromkeys([*old, *new]) if key not in old or key not in new or old[key] != new[key]]
    if differing:
        yield f"changes keys that are not used here: {', '.join(differing)}"


def _extra(config: BlockConfig) -> Mapping[str, object]:
    return {key: value for key, value in dump_config(config).items() if key not in BlockConfig.model_fields}


def _by_key(config: BlockConfig) -> dict[tuple[str, int], CustomBlock]:
    """Custom blocks by id and, where several share one, by which of them they are."""
    found: dict[tuple[str, int], CustomBlock] = {}
    for block in config.customBlocks:
        number = 0
        while (block.id, number) in found:
            number += 1
        found[block.id, number] = block
    return found


def _switch(on: bool) -> str:
    return "on" if on else "off"
