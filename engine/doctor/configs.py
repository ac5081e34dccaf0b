"""Block configs: faults of their form, and ids, names and tags in them that mean nothing (spec, sections 8 and 15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from engine.agents import AgentInput, agents
from engine.blocks.config import RENAMED_TOOLS, BlockConfig, config_faults, current_tools, dotted, parse_config
from engine.context import build_context
from engine.disk import child, json_line, parse_json
from engine.doctor.finding import Finding, JsonSource, Kind, listed, mapped
from engine.doctor.tags import lost_tags
from engine.errors import Problem, StonehandError
from engine.prompt import known_ids
from engine.story import StorySnapshot
from engine.story.ids import new_block_id
from engine.text import slug

FOLDER: Final = "agent-blocks"

_CATALOG: Final = ("fragment-catalog", "fragment-pinned-catalog")
OLD_IDS: Final[Mapping[str, tuple[str, ...]]] = {
    "prose": ("prose-recent",),
    "recent-prose": ("prose-recent",),
    "new-prose": ("prose-new",),
    "shortlist": _CATALOG,
    "shortlist-guidelines": _CATALOG,
    "shortlist-knowledge": _CATALOG,
    "shortlist-characters": _CATALOG,
    "fragment-shortlist": _CATALOG,
    "fragment-shortlist-guidelines": _CATALOG,
    "fragment-shortlist-knowledge": _CATALOG,
    "fragment-shortlist-characters": _CATALOG,
    "sticky-fragments": ("fragment-pinned-catalog", "fragment-catalog"),
    "all-characters": ("character-catalog",),
    "characters": ("fragment-pinned", "fragment-catalog"),
    "knowledge": ("fragment-pinned", "fragment-catalog"),
}
"""Blocks of the older layout, and those that hold the same now; an agent has the first of them that it knows (spec,
sections 4.1, 4.4 and 14)."""


def config_findings(root: Path, snapshot: StorySnapshot | None) -> Iterator[Finding]:
    """What is wrong with the block configs of one branch; without a snapshot only what the files alone can tell."""
    definitions = {definition.name: definition for definition in agents()}
    state = build_context(snapshot, "") if snapshot is not None else None
    for file in sorted((root / FOLDER).glob("*.json")):
        try:
            source = JsonSource(child(root, FOLDER, file.name))
        except StonehandError as error:  # a link that leads out, which is not followed
            yield Finding(error.problem.message, file, repair="put a copy of what it leads to in its place")
            continue
        if source.data is None:
            yield Finding("can't be read, or is a link that leads nowhere", file, repair="see what it is")
            continue
        definition = definitions.get(file.stem)
        if definition is None:
            close = "remove it, or give it the name of the agent that was meant"
            yield Finding(f"there is no agent {file.stem}, so this config is not used", file, repair=close)
        try:
            value = parse_json(source.data, file)
        except StonehandError as error:
            yield Finding.of(error.problem)
            continue
        faults = config_faults(value)
        for fault in faults:
            line = json_line(source.data.decode("utf-8-sig", "replace"), fault.path)
            problem = Problem(fault.reason, file, dotted(fault.path), line, "repair the file or reset it")
            yield Finding.of(problem)
        if faults:
            continue
        config = parse_config(value)
        yield from _tools(source, config)
        yield from _custom_ids(source, config)
        if snapshot is not None:
            yield from _tags(source, config, snapshot)
        known: frozenset[str] = frozenset()
        if definition is not None and snapshot is not None and state is not None:
            known = known_ids(definition, AgentInput(snapshot, state, (), definition.tools))
        yield from _names(source, config, known)
        if known:
            yield from _overrides(source, config, known)
            yield from _order(source, config, known)


def _tools(source: JsonSource, config: BlockConfig) -> Iterator[Finding]:
    def rename(value: Any) -> None:
        value["disabledTools"] = list(current_tools(value["disabledTools"]))

    repair = source.repair(Kind.OLD_TOOL, "give all tools of disabledTools the names they have now", rename)
    for index, name in enumerate(config.disabledTools):
        if name in RENAMED_TOOLS:
            yield source.found(
                f"{name} is the old name of a tool that is called {RENAMED_TOOLS[name]} now",
                ("disabledTools", index),
                "it is understood as it is; rename it to be sure what is off",
                repair,
            )


def _custom_ids(source: JsonSource, config: BlockConfig) -> Iterator[Finding]:
    repair = source.repair(
        Kind.BLOCK_ID, "give the later blocks ids of their own, with the same override and place", _part_twins
    )
    first: set[str] = set()
    for index, block in enumerate(config.customBlocks):
        if block.id in first:
            yield source.found(
                f"more than one custom block has the id {block.id}, so they share overrides and place",
                ("customBlocks", index, "id"),
                "duplicate this one in the editor and delete the original",
                repair,
            )
        first.add(block.id)


def _part_twins(value: Any) -> None:
    """Give every custom block whose id an earlier one has an id of its own; nothing else about it changes."""
    overrides, order = mapped(value.get("overrides")), listed(value.get("blockOrder"))
    taken = {block["id"] for block in value["customBlocks"]} | set(overrides) | set(order)
    first: set[str] = set()
    for block in value["customBlocks"]:
        old = block["id"]
        if old not in first:
            first.add(old)
            continue
        new = new_block_id(taken)
        taken.add(new)
        block["id"] = new
        if old in overrides:
            overrides[new] = dict(overrides[old])
        if old in order:
            # Of a repeated id the last place counts.
            order.insert(len(order) - order[::-1].index(old), new)


def _names(source: JsonSource, config: BlockConfig, known: frozenset[str]) -> Iterator[Finding]:
    """Names that give one marker twice, or none (spec, bug 23)."""
    holder: dict[str, str] = {block_id: f"the built-in block {block_id}" for block_id in known}
    for index, block in enumerate(config.customBlocks):
        name = block.id if block.name == block.id else slug(block.name)
        place = ("customBlocks", index, "name")
        if not name:
            yield source.found(
                f"the name of {block.id} has no letter a to z and no digit, so its marker has no name",
                place,
                "put a Latin letter or a digit into the name; the block is sent all the same",
            )
            continue
        if name in holder and holder[name] != block.id:
            yield source.found(
                f"the marker of {block.id} gets the name {name}, which {holder[name]} has",
                place,
                "rename one of them, so that markers tell them apart",
            )
        holder.setdefault(name, block.id)


def _overrides(source: JsonSource, config: BlockConfig, known: frozenset[str]) -> Iterator[Finding]:
    ids = known | {block.id for block in config.customBlocks}
    taken = set(config.overrides)
    for block_id in config.overrides:
        if block_id in ids:
            continue
        new = _renamed(block_id, known)
        if new is None:
            yield source.found(
                f"this override changes nothing: the agent has no block {block_id}",
                ("overrides", block_id),
                "remove it, or rename it to the block that was meant",
                source.repair(Kind.OVERRIDE, f"remove the override of {block_id}", _without_override(block_id)),
            )
            continue
        advice = f"rename it to {new}"
        repair = None
        if new in taken:
            advice = f"{new} has an override too: take over by hand what is wanted of this one, and remove it"
        else:
            taken.add(new)
            repair = source.repair(
                Kind.OLD_ID, f"rename the override of {block_id} to {new}", _rename_override(block_id, new)
            )
        yield source.found(
            f"this override changes nothing: the block {block_id} of the older layout is {new} now",
            ("overrides", block_id),
            advice,
            repair,
        )


def _order(source: JsonSource, config: BlockConfig, known: frozenset[str]) -> Iterator[Finding]:
    ids = known | {block.id for block in config.customBlocks}
    order = config.blockOrder
    for index, block_id in enumerate(order):
        place = ("blockOrder", index)
        if block_id not in ids:
            new = _renamed(block_id, known)
            if new is not None:
                yield source.found(
                    f"the order names {block_id} of the older layout, which is {new} now",
                    place,
                    f"rename it to {new}",
                    source.repair(
                        Kind.OLD_ID, f"rename {block_id} to {new} in the order", _rename_in_order(block_id, new)
                    ),
                )
            else:
                yield source.found(
                    f"the order names {block_id}, which the agent does not have",
                    place,
                    "it does no harm; the next move in the editor keeps it behind its neighbour",
                    source.repair(Kind.BLOCK_ORDER, f"take {block_id} out of the order", _out_of_order(block_id)),
                )
        elif block_id in order[index + 1 :]:
            yield source.found(
                f"the order names {block_id} again further down, which is the place that counts",
                place,
                "take it out here",
                source.repair(Kind.BLOCK_ORDER, f"leave only the last place of {block_id}", _last_place(block_id)),
            )


def _tags(source: JsonSource, config: BlockConfig, snapshot: StorySnapshot) -> Iterator[Finding]:
    texts: list[tuple[tuple[str | int, ...], str]] = [
        (("customBlocks", index, "content"), block.content) for index, block in enumerate(config.customBlocks)
    ]
    texts += [
        (("overrides", block_id, "customContent"), override.customContent or "")
        for block_id, override in config.overrides.items()
    ]
    for path, text in texts:
        for tag in lost_tags(text, snapshot):
            yield source.found(f"the tag {tag} names no fragment", path, "correct the id, or take the tag out")


def _renamed(block_id: str, known: frozenset[str]) -> str | None:
    """What a block of the older layout is called now, None when it is none that this agent had."""
    return next((new for new in OLD_IDS.get(block_id, ()) if new in known), None)


def _rename_override(old: str, new: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        if new not in value["overrides"]:
            value["overrides"] = {(new if key == old else key): item for key, item in value["overrides"].items()}

    return change


def _without_override(block_id: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        value["overrides"].pop(block_id, None)

    return change


def _rename_in_order(old: str, new: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        order = value["blockOrder"]
        if new in order:
            _out_of_order(old)(value)
        elif old in order:
            # As for any repeated id, the last place counts.
            last = len(order) - 1 - order[::-1].index(old)
            order[last] = new
            _out_of_order(old)(value)

    return change


def _out_of_order(block_id: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        value["blockOrder"] = [item for item in value["blockOrder"] if item != block_id]

    return change


def _last_place(block_id: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        order = value["blockOrder"]
        while order.count(block_id) > 1:
            order.remove(block_id)

    return change
