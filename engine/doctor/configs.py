"""Block configs: faults of their form, and ids, names and tags in them that mean nothing (spec, sections 8 and 15)."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Final

from engine.addresses import UNUSED, address_keys
from engine.agents import AgentDefinition, agents
from engine.agents.older_layout import renamed_block, successor
from engine.blocks.config import (
    LONGEST_NAME,
    RENAMED_TOOLS,
    BlockConfig,
    BlockOverride,
    CustomBlock,
    config_faults,
    parse_config,
)
from engine.disk import child, json_line, parse_json
from engine.doctor.config_form import mend_form
from engine.doctor.finding import Finding, JsonSource, Kind, Repair, listed, mapped, set_aside
from engine.doctor.lookups import lookup_findings
from engine.doctor.tags import lost_tags
from engine.errors import Problem, StonehandError
from engine.json_text import dotted
from engine.prompt import block_ids
from engine.scripts import Outcome
from engine.story import StorySnapshot
from engine.story.ids import new_block_id
from engine.text import cut, slug

FOLDER: Final = "agent-blocks"
_MARKER: Final = re.compile(r"^\[@block=", re.MULTILINE)


Check = Callable[[str], Outcome]
"""A script to whether it compiles (`engine.scripts.ScriptEngine.check`)."""


def config_findings(
    root: Path, snapshot: StorySnapshot | None, files: Collection[str], check: Check | None = None
) -> Iterator[Finding]:
    """What is wrong with the block configs of one branch; without a snapshot only what the files alone can tell, and
    without `check` nothing of whether scripts compile. `files` are the names of all fragment files, readable or not.
    """
    definitions = {definition.name: definition for definition in agents()}
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
            yield Finding.of(error.problem, set_aside(file, source.data, "the agent has its default config then"))
            continue
        for path in address_keys(value):
            yield source.found(UNUSED, path, "take it out")
        faults = config_faults(value)
        for fault in faults:
            line = json_line(source.data.decode("utf-8-sig", "replace"), fault.path)
            problem = Problem(fault.reason, file, dotted(fault.path), line, "repair the file or reset it")
            yield Finding.of(problem, _mended(source, value))
        if not faults:
            yield from _meanings(source, parse_config(value), definition, snapshot, files, check)
        elif isinstance(value, dict):
            yield from _behind_faults(source, value, definition, snapshot, files, check)


def _behind_faults(
    source: JsonSource,
    value: dict[str, Any],
    definition: AgentDefinition | None,
    snapshot: StorySnapshot | None,
    files: Collection[str],
    check: Check | None,
) -> Iterator[Finding]:
    """What else is wrong with a config that is not valid, as it would be found once that is mended."""
    mended = copy.deepcopy(value)
    mend_form(mended)
    # Of a list from which something has to go, the places are others then.
    moved = tuple(
        key
        for key in ("customBlocks", "blockOrder", "disabledTools")
        if isinstance(value.get(key), list) and len(value[key]) != len(listed(mended.get(key)))
    )
    made_up = _custom_ids_of(mended) - _custom_ids_of(value)
    for finding in _meanings(source, parse_config(mended), definition, snapshot, files, check):
        if any(block_id in finding.message for block_id in made_up):
            continue
        placed = not finding.field.startswith(moved)
        yield replace(
            finding,
            line=finding.line if placed else None,
            field=finding.field if placed else "",
            repair=f"{finding.repair}, once the config is valid",
            offered=None,
        )


def _custom_ids_of(value: Any) -> set[str]:
    return {
        block_id for item in listed(value.get("customBlocks")) if isinstance(block_id := mapped(item).get("id"), str)
    }


def _meanings(
    source: JsonSource,
    config: BlockConfig,
    definition: AgentDefinition | None,
    snapshot: StorySnapshot | None,
    files: Collection[str],
    check: Check | None,
) -> Iterator[Finding]:
    """What a config of valid form says that means nothing, or too much."""
    yield from _tools(source, config, None if definition is None else definition.tools)
    yield from _custom_ids(source, config)
    if snapshot is not None:
        yield from _tags(source, config, snapshot, files)
        for index, block in enumerate(config.customBlocks):
            if block.type == "script":
                place = ("customBlocks", index, "content")
                yield from lookup_findings(source, place, block.id, block.content, snapshot, files)
    known: frozenset[str] = frozenset()
    if definition is not None and snapshot is not None:
        known = block_ids(definition, snapshot)
    yield from _names(source, config, known)
    yield from _texts(source, config, known)
    if check is not None:
        yield from _scripts(source, config, check)
    if known:
        yield from _overrides(source, config, known)
        yield from _order(source, config, known)


def _mended(source: JsonSource, value: Any) -> Repair:
    """The repair of a config that is not valid: a file with no object in it has nothing that could be kept."""
    if not isinstance(value, dict):
        return set_aside(source.file, source.data or b"", "the agent has its default config then")
    return source.repair(
        Kind.CONFIG, "take out what is not valid, or make it so, and keep all the rest of the config", mend_form
    )


def _tools(source: JsonSource, config: BlockConfig, tools: Collection[str] | None) -> Iterator[Finding]:
    """Names in `disabledTools` that are old, that no tool of the agent has (`tools`; None: not known), or twice."""

    def current(name: str) -> str:
        new = RENAMED_TOOLS.get(name, name)
        return new if tools is None else successor(name, tools) or name

    def rename(value: Any) -> None:
        value["disabledTools"] = list(dict.fromkeys(map(current, value["disabledTools"])))

    renaming = source.repair(
        Kind.OLD_TOOL, "name in disabledTools the tools of this agent that do now what the old names stood for", rename
    )
    first: set[str] = set()
    for index, name in enumerate(config.disabledTools):
        path = ("disabledTools", index)
        new = current(name)
        if name in RENAMED_TOOLS:
            yield _old_tool(source, path, name, new, renaming)
        elif name in first:
            yield source.found(
                f"the tool {name} is named a second time",
                path,
                "take one of them out",
                source.repair(Kind.OLD_TOOL, f"leave only the first {name} in disabledTools", _once),
            )
        elif tools is not None and name not in tools:
            yield source.found(
                f"the agent has no tool {name} of its own, so this switches none of them off",
                path,
                "correct the name or take it out, unless a plugin brings such a tool",
            )
        first.add(name)


def _old_tool(
    source: JsonSource,
    path: tuple[str | int, ...],
    name: str,
    new: str,
    renaming: Repair,
) -> Finding:
    understood = RENAMED_TOOLS[name]
    if new == name:
        return source.found(
            f"{name} is the old name of {understood}, which this agent does not have: it switches nothing off now",
            path,
            "take it out, or name the tool of this agent that is meant",
        )
    if new != understood:
        return source.found(
            f"{name} is the old name of {understood}, which this agent does not have: it switches nothing off now; "
            f"{new} does that work, and the name does not reach it",
            path,
            f"name {new} instead, if it is to be off",
            renaming,
        )
    return source.found(
        f"{name} is the old name of a tool that is called {new} now",
        path,
        f"it is understood as it is, and all of {new} is off; rename it to be sure what is off",
        renaming,
    )


def _once(value: Any) -> None:
    value["disabledTools"] = list(dict.fromkeys(value["disabledTools"]))


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
    taken = {*known, *(slug(block.name) for block in config.customBlocks)}
    for index, block in enumerate(config.customBlocks):
        name = block.id if block.name == block.id else slug(block.name)
        place = ("customBlocks", index, "name")
        if not name:
            yield source.found(
                f"the name of {block.id} has no letter a to z and no digit, so its marker has no name",
                place,
                "put a Latin letter or a digit into the name; the block is sent all the same",
                _numbered(source, block, index, taken),
            )
            continue
        if name in holder and holder[name] != block.id:
            yield source.found(
                f"the marker of {block.id} gets the name {name}, which {holder[name]} has",
                place,
                "rename one of them, so that markers tell them apart",
                _numbered(source, block, index, taken),
            )
        holder.setdefault(name, block.id)


def _numbered(source: JsonSource, block: CustomBlock, index: int, taken: set[str]) -> Repair:
    """The repair that puts the first number behind a block's name that gives its marker a name none has in `taken`."""
    names = (f"{cut(block.name, LONGEST_NAME - 1 - len(str(number)))} {number}" for number in count(2))
    name = next(name for name in names if slug(name) not in taken)
    taken.add(slug(name))

    def rename(value: Any) -> None:
        given = value["customBlocks"][index]
        if given["id"] == block.id and given["name"] == block.name:
            given["name"] = name

    return source.repair(Kind.BLOCK_NAME, f"call it “{name}”", rename)


def _overrides(source: JsonSource, config: BlockConfig, known: frozenset[str]) -> Iterator[Finding]:
    ids = known | {block.id for block in config.customBlocks}
    taken = set(config.overrides)
    for block_id, override in config.overrides.items():
        if block_id in ids:
            continue
        new = renamed_block(block_id, known)
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
            f"this override changes nothing: the block {block_id} of the older layout is {new} now; "
            f"renamed, it would {_effect(override, new)}",
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
            new = renamed_block(block_id, known)
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


def _scripts(source: JsonSource, config: BlockConfig, check: Check) -> Iterator[Finding]:
    for index, block in enumerate(config.customBlocks):
        if block.type != "script":
            continue
        outcome = check(block.content)
        if outcome.kind in ("syntax", "too_long"):
            yield source.found(
                f"the script of {block.id} can't run: {outcome.describe()}",
                ("customBlocks", index, "content"),
                "mend it in the editor, which shows where",
            )


def _texts(source: JsonSource, config: BlockConfig, known: frozenset[str]) -> Iterator[Finding]:
    """Overrides whose text is empty (spec, bug 19), and lines that imitate a marker (bug 5)."""
    ids = known | {block.id for block in config.customBlocks}
    texts: list[tuple[tuple[str | int, ...], str]] = [
        (("customBlocks", index, "content"), block.content)
        for index, block in enumerate(config.customBlocks)
        if block.type == "simple"
    ]
    for block_id, override in config.overrides.items():
        if override.contentMode is not None and not override.customContent and (block_id in ids or not known):
            yield source.found(
                f"the content mode of {block_id} is {override.contentMode} and there is no text, so it changes nothing",
                ("overrides", block_id, "contentMode"),
                "write a text, or set the mode to none; a block that is to say nothing is switched off",
            )
        texts.append((("overrides", block_id, "customContent"), override.customContent or ""))
    for path, text in texts:
        if _MARKER.search(text):
            yield source.found(
                "a line begins with [@block=, as the marker of a block does, and may be taken for one by a model or "
                "another program",
                path,
                "put something before it, or write it otherwise",
            )


def _tags(
    source: JsonSource, config: BlockConfig, snapshot: StorySnapshot, files: Collection[str]
) -> Iterator[Finding]:
    texts: list[tuple[tuple[str | int, ...], str]] = [
        (("customBlocks", index, "content"), block.content) for index, block in enumerate(config.customBlocks)
    ]
    texts += [
        (("overrides", block_id, "customContent"), override.customContent or "")
        for block_id, override in config.overrides.items()
    ]
    for path, text in texts:
        yield from lost_tags(source, path, text, snapshot, files)


def _effect(override: BlockOverride, block_id: str) -> str:
    """What an override does to a block, as it goes on after "would"."""
    effects = []
    if override.enabled is False:
        effects.append(f"switch {block_id} off")
    if override.contentMode is not None and override.customContent:
        text = {
            "override": f"replace the text of {block_id}",
            "prepend": f"add a text before that of {block_id}",
            "append": f"add a text after that of {block_id}",
        }
        effects.append(text[override.contentMode])
    if override.order is not None:
        effects.append(f"pin {block_id} to the order {override.order:g}")
    if not effects:
        return f"change nothing about {block_id}"
    return " and ".join(effects)


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
