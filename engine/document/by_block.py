"""A conflict settled block by block: what two versions of a config say differently, and the config that takes one side
here and the other there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.blocks.changes import describe_changes
from engine.blocks.config import BlockConfig, dump_config, parse_config
from engine.document.merge import keyed, merge_configs

Side = Literal["mine", "theirs", "both"]
"""Whose version is taken; `both` is the one that has the changes of either."""
Key = tuple[Literal["block", "setting"], str]
"""A block by its key (of several custom blocks with one id, `cb-a1b2#2` is the second), or a key of the config."""

_BLOCKS, _OVERRIDES = "customBlocks", "overrides"
_Unit = tuple[Any, Any]
"""Of a block, its definition and its override, None for what there is not; of a key, its value."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One block, or key of the config, that two versions say differently.

    `name` is a custom block's own name, else the id or key. `mine` and `theirs` say in words what each side has changed
    since both were the same, nothing for a side that has changed nothing. `sides` are what can be chosen, the first
    being what a merge takes; `texts` the block's text on each of them, None where it has none.
    """

    key: Key
    name: str
    mine: tuple[str, ...]
    theirs: tuple[str, ...]
    sides: tuple[Side, ...]
    texts: Mapping[Side, str | None]


class Versions:
    """A config as it was changed here and by another program since it was `base`."""

    def __init__(self, base: BlockConfig, mine: BlockConfig, theirs: BlockConfig) -> None:
        merged = merge_configs(base, mine, theirs)[0]
        self._base = _units(base)
        self._units: dict[Side, dict[Key, _Unit]] = {
            "mine": _units(mine),
            "theirs": _units(theirs),
            "both": _units(merged),
        }

    def differences(self) -> tuple[Difference, ...]:
        """What mine and theirs say differently, in the order of the file."""
        mine, theirs = self._units["mine"], self._units["theirs"]
        keys = dict.fromkeys([*theirs, *mine])
        return tuple(self._difference(key) for key in keys if mine.get(key) != theirs.get(key))

    def combine(self, chosen: Mapping[Key, Side]) -> BlockConfig:
        """The config in which each difference is as chosen; one that is not named is as a merge has it."""
        config: dict[str, Any] = {_BLOCKS: [], _OVERRIDES: {}}
        for key in dict.fromkeys(key for side in ("both", "theirs", "mine") for key in self._of(side)):
            unit = self._of(chosen.get(key, "both")).get(key)
            if unit is None:
                continue
            first, override = unit
            kind, name = key
            if kind == "setting":
                config[name] = first
            elif first is not None:
                config[_BLOCKS].append(first)
            if override is not None:
                config[_OVERRIDES][name] = override
        return parse_config(config)

    def _of(self, side: Side) -> dict[Key, _Unit]:
        return self._units[side]

    def _difference(self, key: Key) -> Difference:
        base = self._base.get(key)
        mine, theirs, both = (self._units[side].get(key) for side in ("mine", "theirs", "both"))
        sides: tuple[Side, ...] = ("theirs", "mine") if both == theirs else ("mine", "theirs")
        if both not in (mine, theirs):
            sides = ("both", *sides)
        units: dict[Side, _Unit | None] = {"mine": mine, "theirs": theirs, "both": both}
        custom = next((unit[0] for unit in (mine, theirs) if unit is not None and unit[0] is not None), None)
        return Difference(
            key,
            custom["name"] if key[0] == "block" and custom is not None else key[1],
            _told(key, base, mine),
            _told(key, base, theirs),
            sides,
            {side: _text(key, units[side]) for side in sides},
        )


def _units(config: BlockConfig) -> dict[Key, _Unit]:
    value = keyed(dump_config(config))
    overrides = dict(value.pop(_OVERRIDES))
    units: dict[Key, _Unit] = {
        ("block", key): (block, overrides.pop(key, None)) for key, block in value.pop(_BLOCKS).items()
    }
    units |= {("block", key): (None, override) for key, override in overrides.items()}
    return units | {("setting", key): (item, None) for key, item in value.items()}


def _told(key: Key, base: _Unit | None, unit: _Unit | None) -> tuple[str, ...]:
    return () if unit == base else describe_changes(_alone(key, base), _alone(key, unit))


def _alone(key: Key, unit: _Unit | None) -> BlockConfig:
    """A config that holds nothing else."""
    if unit is None:
        return BlockConfig()
    first, override = unit
    kind, name = key
    if kind == "setting":
        return parse_config({name: first})
    return parse_config(
        {_BLOCKS: [] if first is None else [first], _OVERRIDES: {} if override is None else {name: override}}
    )


def _text(key: Key, unit: _Unit | None) -> str | None:
    if unit is None or key[0] == "setting":
        return None
    block, override = unit
    return block["content"] if block is not None else (override or {}).get("customContent")
