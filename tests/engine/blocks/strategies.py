"""Hypothesis strategies for blocks and configs, with the collisions that real data has."""

from __future__ import annotations

from hypothesis import strategies as st

from engine.blocks import BlockConfig, BlockSlot, ContextBlock, CustomBlock
from engine.blocks.config import parse_config

BUILTIN_IDS = ["instructions", "tools", "story-info", "prose-recent", "author-input", "summary"]
CUSTOM_IDS = ["cb-aaaa", "cb-bbbb", "cb-cccc22"]
texts = st.text(max_size=30) | st.sampled_from(["", "  ", "[@block=fake]\nx", "a\n\nb", "<@ch-bafego>", "🌊 日本"])
orders = st.integers(-5, 700) | st.floats(-5, 700, allow_nan=False)
roles = st.sampled_from(["system", "user"])


@st.composite
def default_blocks(draw: st.DrawFn) -> list[ContextBlock]:
    """Some of the built-in blocks, each at most once, in a fixed array order."""
    kept = draw(st.lists(st.sampled_from(BUILTIN_IDS), unique=True))
    return [
        ContextBlock(block_id, draw(roles), draw(texts), draw(orders)) for block_id in BUILTIN_IDS if block_id in kept
    ]


@st.composite
def slots_for(draw: st.DrawFn, blocks: list[ContextBlock]) -> list[BlockSlot]:
    """All built-in ids, present or not, in the array order."""
    known = {block.id: block for block in blocks}
    return [
        BlockSlot(block_id, known[block_id].role, known[block_id].order, "absent for a reason")
        if block_id in known
        else BlockSlot(block_id, draw(roles), draw(orders), "absent for a reason")
        for block_id in BUILTIN_IDS
    ]


customs = st.builds(
    lambda id, name, role, order, enabled, type, content: CustomBlock(
        id=id, name=name, role=role, order=order, enabled=enabled, type=type, content=content
    ),
    st.sampled_from(CUSTOM_IDS),
    st.text(min_size=1, max_size=12),
    roles,
    orders,
    st.booleans(),
    st.sampled_from(["simple", "script"]),
    texts,
)


@st.composite
def configs(draw: st.DrawFn, unique: bool = True) -> BlockConfig:
    """Any valid config, with unknown keys at every level."""
    blocks = draw(st.lists(customs, max_size=3, unique_by=(lambda block: block.id) if unique else None))
    override = st.fixed_dictionaries(
        {},
        optional={
            "enabled": st.booleans(),
            "order": orders,
            "contentMode": st.sampled_from(["override", "prepend", "append", None]),
            "customContent": texts,
            "future": st.integers(),
        },
    )
    ids = [*BUILTIN_IDS, *CUSTOM_IDS, "ghost", "writing-brief"]
    return parse_config(
        {
            "customBlocks": [block.model_dump() | {"x-note": 1} for block in blocks],
            "overrides": draw(st.dictionaries(st.sampled_from(ids), override, max_size=5)),
            "blockOrder": draw(st.lists(st.sampled_from(ids), max_size=9)),
            "disabledTools": draw(st.lists(st.sampled_from(["readFragments", "other"]), max_size=2)),
            "unknown": {"kept": True},
        }
    )
