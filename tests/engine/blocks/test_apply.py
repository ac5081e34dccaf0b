"""What holds of applying any config to any blocks (seed, "Application Order"; spec, section 5)."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from engine.blocks import BlockConfig, ContextBlock, apply_config
from engine.blocks.apply import ScriptResult, is_enabled
from engine.blocks.config import parse_config
from tests.engine.blocks.strategies import BUILTIN_IDS, configs, default_blocks, orders, texts


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[ContextBlock], BlockConfig, dict[str, ScriptResult]]:
    """Blocks, a config, and a result for each of its scripts."""
    config = draw(configs(unique=draw(st.booleans())))
    results = st.builds(ScriptResult, text=texts | st.none()) | st.builds(ScriptResult, error=st.just("failed"))
    scripts = {block.content: draw(results) for block in config.customBlocks if block.type == "script"}
    return draw(default_blocks()), config, scripts


override = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "order": orders,
        "contentMode": st.sampled_from(["override", "prepend", "append"]),
        "customContent": texts,
    },
)


@given(situations())
def test_no_id_is_lost_or_doubled(situation: tuple) -> None:  # type: ignore[type-arg]
    blocks, config, scripts = situation
    given_ids = Counter(block.id for block in blocks)
    for block in config.customBlocks:
        silent = block.type == "script" and scripts[block.content].block_content(block.name) is None
        if is_enabled(block, config) and not silent:
            given_ids[block.id] += 1
    off = {block_id for block_id, item in config.overrides.items() if item.enabled is False}
    kept = Counter({block_id: count for block_id, count in given_ids.items() if block_id not in off})
    assert Counter(block.id for block in apply_config(blocks, config, scripts)) == kept


@given(situations())
def test_only_content_and_order_change(situation: tuple) -> None:  # type: ignore[type-arg]
    blocks, config, scripts = situation
    known = {block.id: block for block in blocks}
    built_in = [block for block in apply_config(blocks, config, scripts) if block.source == "builtin"]
    for block in built_in:
        before = known[block.id]
        assert (block.role, block.name, block.source) == (before.role, before.name, before.source)
    ids = [block.id for block in built_in]
    assert ids == [block.id for block in blocks if block.id in ids], "they keep their array order"


@given(situations())
def test_the_same_twice_gives_the_same_and_leaves_its_inputs(situation: tuple) -> None:  # type: ignore[type-arg]
    blocks, config, scripts = situation
    before, dumped = list(blocks), config.model_dump()
    assert apply_config(blocks, config, scripts) == apply_config(blocks, config, scripts)
    assert blocks == before
    assert config.model_dump() == dumped


@given(default_blocks(), configs())
def test_disabling_ordering_and_replacing_are_idempotent(blocks: list[ContextBlock], config: BlockConfig) -> None:
    """Applied to its own result such a config changes nothing; one that adds text or blocks does, of course."""
    overrides = {
        block_id: {
            key: value
            for key, value in item.model_dump(exclude_unset=True).items()
            if not (key == "contentMode" and value in ("prepend", "append"))
        }
        for block_id, item in config.overrides.items()
    }
    only = parse_config({"overrides": overrides, "blockOrder": list(config.blockOrder)})
    once = apply_config(blocks, only, {})
    assert apply_config(once, only, {}) == once


@given(default_blocks(), st.dictionaries(st.sampled_from(BUILTIN_IDS), override, max_size=6), st.randoms())
def test_unrelated_overrides_do_not_depend_on_their_order(
    blocks: list[ContextBlock], overrides: dict[str, object], chance: random.Random
) -> None:
    items = list(overrides.items())
    chance.shuffle(items)
    together = apply_config(blocks, parse_config({"overrides": overrides}), {})
    assert apply_config(blocks, parse_config({"overrides": dict(items)}), {}) == together
    one_by_one = blocks
    for block_id, item in items:
        one_by_one = apply_config(one_by_one, parse_config({"overrides": {block_id: item}}), {})
    assert one_by_one == together


@given(situations(), st.sampled_from(BUILTIN_IDS), override)
def test_an_override_reaches_its_own_block_alone(
    situation: tuple,  # type: ignore[type-arg]
    block_id: str,
    change: dict[str, object],
) -> None:
    blocks, config, scripts = situation
    value = config.model_dump(exclude_unset=True)
    changed = parse_config({**value, "overrides": {**value.get("overrides", {}), block_id: change}})

    def others(config: BlockConfig) -> list[ContextBlock]:
        return [block for block in apply_config(blocks, config, scripts) if block.id != block_id]

    assert others(changed) == others(config)
