"""What one config does differently from another, told in lines for people: what an import or a copy would change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from engine.blocks.config import RENAMED_TOOLS, BlockConfig, CustomBlock, dump_config
from engine.text import Phrase, listed


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
            yield _added(block)
        elif block != old[key]:
            yield from _custom_block(old[key], block)
    for key, block in old.items():
        if key not in new:
            text = "removes the script block {name}" if block.type == "script" else "removes the text block {name}"
            yield Phrase(text, name=repr(block.name))


def _added(block: CustomBlock) -> str:
    name, role = repr(block.name), block.role if block.enabled else Phrase("{role}, off", role=block.role)
    if block.type == "script":
        return Phrase("adds the script block {name} ({role})", name=name, role=role)
    return Phrase("adds the text block {name} ({role})", name=name, role=role)


def _custom_block(old: CustomBlock, new: CustomBlock) -> Iterator[str]:
    name = repr(new.name)
    if old.name != new.name:
        yield Phrase("renames {name} to {new}", name=repr(old.name), new=name)
    if old.role != new.role:
        yield Phrase("moves {name} to the {role} message", name=name, role=new.role)
    if old.type != new.type:
        script = new.type == "script"
        yield Phrase("makes {name} a script block" if script else "makes {name} a text block", name=name)
    if old.content != new.content:
        yield Phrase("changes the text of {name}", name=name)
    if old.enabled != new.enabled:
        yield _switched(name, new.enabled)
    if old.order != new.order:
        yield Phrase("gives {name} the order {order}", name=name, order=new.order)


def _overrides(before: BlockConfig, after: BlockConfig) -> Iterator[str]:
    for block_id in dict.fromkeys([*before.overrides, *after.overrides]):
        old, new = before.override(block_id), after.override(block_id)
        if old == new:
            continue
        custom = after.custom(block_id) or before.custom(block_id)
        name = repr(custom.name) if custom is not None else block_id
        if old.enabled != new.enabled and (old.enabled is False) != (new.enabled is False):
            yield _switched(name, new.enabled is not False)
        if old.contentMode != new.contentMode:
            yield Phrase("sets the content mode of {name} to {mode}", name=name, mode=new.contentMode or "none")
        if old.customContent != new.customContent:
            yield Phrase("changes the text that is put to {name}", name=name)
        if old.order != new.order:
            pinned = "unpins {name}" if new.order is None else "pins {name} to the order {order}"
            yield Phrase(pinned, name=name, order=new.order)


def _order(before: BlockConfig, after: BlockConfig) -> Iterator[str]:
    if before.blockOrder != after.blockOrder:
        back = Phrase("puts the blocks back into their default order")
        yield Phrase("changes the order of the blocks") if after.blockOrder else back


def _tools(before: BlockConfig, after: BlockConfig, tools: Collection[str] | None) -> Iterator[str]:
    off = [tool for tool in after.disabledTools if tool not in before.disabledTools]
    on = [tool for tool in before.disabledTools if tool not in after.disabledTools]
    # What a name stands for now counts: an old one switches off the tool that it was renamed to.
    if off:
        already = before.disabled_tools
        yield Phrase("takes away the tools {tools}", tools=listed([_told(tool, already, tools) for tool in off]))
    if on:
        still = after.disabled_tools
        yield Phrase("gives back the tools {tools}", tools=listed([_told(tool, still, tools) for tool in on]))
    if before.disableAutoAnalysis != after.disableAutoAnalysis:
        yield _switched(Phrase("the analysis after a save"), not after.disableAutoAnalysis)


def _told(name: str, off: Collection[str], tools: Collection[str] | None) -> str:
    """A tool of `disabledTools`, and what an old name of one means now; `off`: the tools that are off either way."""
    new = RENAMED_TOOLS.get(name, name)
    notes = []
    if new != name:
        notes.append(Phrase("under its old name {name}", name=name))
    if tools is not None and new not in tools:
        notes.append(Phrase("which this agent does not have"))
    elif new in off:
        notes.append(Phrase("which is off either way"))
    return Phrase("{name} ({notes})", name=new, notes=listed(notes)) if notes else new


def _other_keys(before: BlockConfig, after: BlockConfig) -> Iterator[str]:
    old, new = _extra(before), _extra(after)
    differing = [key for key in dict.fromkeys([*old, *new]) if key not in old or key not in new or old[key] != new[key]]
    if differing:
        yield Phrase("changes keys that are not used here: {keys}", keys=", ".join(differing))


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


def _switched(name: str, on: bool) -> str:
    return Phrase("switches {name} on" if on else "switches {name} off", name=name)
