"""A config that is not valid is made so by the least change: what is valid of it stays."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.blocks.config import config_faults, parse_config
from engine.doctor.config_form import mend_form

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
BLOCK = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["cb-aaaa", "cb-bbbb"]) | JSON,
        "name": st.text(max_size=120) | JSON,
        "role": st.sampled_from(["system", "user"]) | JSON,
        "type": st.sampled_from(["simple", "script"]) | JSON,
        "order": st.integers() | JSON,
        "enabled": st.booleans() | JSON,
        "content": st.text(max_size=5) | JSON,
        "x-future": JSON,
    },
)
OVERRIDE = st.fixed_dictionaries(
    {}, optional={"enabled": JSON, "order": JSON, "contentMode": JSON, "customContent": JSON, "x": JSON}
)
CONFIG = st.fixed_dictionaries(
    {},
    optional={
        "customBlocks": st.lists(BLOCK | JSON, max_size=4) | JSON,
        "overrides": st.dictionaries(st.text(max_size=5), OVERRIDE | JSON, max_size=3) | JSON,
        "blockOrder": st.lists(st.text(max_size=5) | JSON, max_size=4) | JSON,
        "disabledTools": st.lists(st.text(max_size=5) | JSON, max_size=4) | JSON,
        "disableAutoAnalysis": JSON,
        "x-future": JSON,
    },
)


@given(CONFIG)
def test_whatever_is_in_a_config_it_is_valid_afterwards_and_every_block_is_there(value: dict[str, Any]) -> None:
    before = copy.deepcopy(value)
    faults = config_faults(before)
    mend_form(value)
    parse_config(value)
    if not faults:
        assert repr(value) == repr(before)
    assert repr(value.get("x-future")) == repr(before.get("x-future"))
    blocks = before.get("customBlocks")
    if isinstance(blocks, list):
        assert len(value["customBlocks"]) == len([block for block in blocks if isinstance(block, dict)])


def test_only_what_is_wrong_changes() -> None:
    block = {"id": "cb-aaaa", "name": "x", "role": "user", "type": "simple", "content": "words", "y": 1}
    value = {
        "customBlocks": [
            {**block, "role": "boss", "order": "first"},
            7,
            {**block, "id": "Z", "type": "poem"},
            {**block, "content": ["a"], "name": "", "enabled": "yes"},
        ],
        "overrides": {"tools": {"enabled": None, "customContent": "kept"}, "summary": 3},
        "blockOrder": [1, "tools"],
        "disabledTools": "all",
        "disableAutoAnalysis": "no",
        "x": 1,
    }
    mend_form(value)
    first, second, third = value["customBlocks"]
    assert first == {**block, "role": "user"}
    assert second["id"].startswith("cb-")
    assert {**second, "id": ""} == {**block, "id": "", "type": "simple", "enabled": False}
    assert third == {**block, "content": '["a"]', "name": "cb-aaaa", "enabled": False}
    assert value["overrides"] == {"tools": {"customContent": "kept"}}
    assert value["blockOrder"] == ["tools"]
    assert "disabledTools" not in value and "disableAutoAnalysis" not in value
    assert value["x"] == 1
