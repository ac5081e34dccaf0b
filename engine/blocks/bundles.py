"""Block configs on their way to another story: the exchange formats of the reference (spec, section 8.3).

An agent's config travels as `{agentName, displayName, config}`, a story's as `{agentBlockConfigs: {name: config}}`.
Each is accepted where the other is expected as long as it says what is meant; a config without an envelope is one, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.blocks.apply import is_evaluated
from engine.blocks.config import EMPTY, BlockConfig, ConfigFault, CustomBlock, dump_config, parse_config
from engine.text import Phrase

_STORY = "agentBlockConfigs"
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


@dataclass(frozen=True, slots=True)
class Bundle:
    """The configs of a bundle by agent, and what was passed over in it."""

    configs: Mapping[str, BlockConfig]
    notes: tuple[str, ...] = ()


def agent_bundle(name: str, display_name: str, config: BlockConfig) -> dict[str, Any]:
    """One agent's config, as a JSON value."""
    return {"agentName": name, "displayName": display_name, "config": dump_config(config)}


def story_bundle(configs: Mapping[str, BlockConfig]) -> dict[str, Any]:
    """The configs of a story that are not the default, as a JSON value; the empty object when there is none.

    One that says no more than `disableAutoAnalysis` is among them (spec, bug 11).
    """
    kept = {name: dump_config(config) for name, config in configs.items() if is_customised(config)}
    return {_STORY: kept} if kept else {}


def is_customised(config: BlockConfig) -> bool:
    """Whether a config says anything that the default one does not, keys unknown here included."""
    return dump_config(config) != dump_config(BlockConfig())


def parse_bundle(value: Any, agent: str | None = None) -> Bundle:
    """What a bundle holds: for `agent` its one config, else every agent's that is named.

    Raises `ConfigFault` with the path and reason of the first fault; then nothing of it is to be used. A name that
    could be anything but an agent's is a fault (spec, bug 3).
    """
    if not isinstance(value, Mapping):
        raise ConfigFault((), "must be an object")
    notes = []
    if "blockConfig" in value:
        notes.append("the story-wide blockConfig of an older version was left out")
    if _STORY in value:
        found = _story_configs(value[_STORY])
        if agent is None:
            return Bundle(found, tuple(notes))
        source, config = _one(found, agent)
        return Bundle({agent: config}, (*notes, *_exported_from(source, agent)))
    named = value.get("agentName")
    if "config" in value:
        config = _parsed(value["config"], ("config",))
        if agent is None:
            if not isinstance(named, str):
                raise ConfigFault(("agentName",), "is missing; say which agent the config is for")
            return Bundle({_checked_name(named, ("agentName",)): config}, tuple(notes))
        source = named if isinstance(named, str) else agent
        return Bundle({agent: config}, (*notes, *_exported_from(source, agent)))
    if agent is None and not set(value) - {"blockConfig"}:
        return Bundle({}, tuple(notes))  # what a story without configs is exported as
    if not set(value) & set(BlockConfig.model_fields):
        raise ConfigFault(
            (),
            Phrase(
                "holds no block config: no config, no {story}, no customBlocks, overrides or blockOrder", story=_STORY
            ),
        )
    if agent is None:
        raise ConfigFault((), "is the config of one agent and does not name it; say which agent it is for")
    return Bundle({agent: _parsed(value, ())}, tuple(notes))


def disarmed(config: BlockConfig, known: BlockConfig = EMPTY) -> tuple[BlockConfig, tuple[str, ...]]:
    """A config from elsewhere with its script blocks switched off, and the names of those it had switched on.

    A script is a program of somebody else: it runs once its user has seen it (spec, bug 2). One that is switched on in
    `known`, with the same id and the same code, is none.
    """
    running = {_code(block) for block in known.customBlocks if is_evaluated(block, known)}
    off = [block.type == "script" and block.enabled and _code(block) not in running for block in config.customBlocks]
    names = tuple(block.name for block, is_off in zip(config.customBlocks, off, strict=True) if is_off)
    blocks = tuple(
        block.model_copy(update={"enabled": False}) if is_off else block
        for block, is_off in zip(config.customBlocks, off, strict=True)
    )
    return (config.model_copy(update={"customBlocks": blocks}) if names else config), names


def _code(block: CustomBlock) -> tuple[str, str]:
    return block.id, block.content


def _story_configs(value: Any) -> dict[str, BlockConfig]:
    if not isinstance(value, Mapping):
        raise ConfigFault((_STORY,), "must be an object of agent names and configs")
    return {_checked_name(name, (_STORY, name)): _parsed(config, (_STORY, name)) for name, config in value.items()}


def _exported_from(source: str, agent: str) -> tuple[str, ...]:
    return (Phrase("it was exported from {agent}", agent=source),) if source != agent else ()


def _one(configs: Mapping[str, BlockConfig], agent: str) -> tuple[str, BlockConfig]:
    """The config for an agent, or the only one there is, and whose it is."""
    if agent in configs:
        return agent, configs[agent]
    if len(configs) == 1:
        return next(iter(configs.items()))
    known = ", ".join(configs) or Phrase("none")
    raise ConfigFault((_STORY,), Phrase("holds no config for {agent}, only for {known}", agent=agent, known=known))


def _checked_name(name: str, path: tuple[str | int, ...]) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigFault(path, Phrase("{name!r} can't be the name of an agent", name=name))
    return name


def _parsed(value: Any, path: tuple[str | int, ...]) -> BlockConfig:
    try:
        return parse_config(value)
    except ConfigFault as fault:
        raise ConfigFault((*path, *fault.path), fault.reason) from None
