"""Validation and writing of block configs (spec, section 8.1)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from engine.blocks import BlockConfig
from engine.blocks.config import ConfigFault, dump_config, parse_config
from tests.engine.blocks.strategies import configs

GOOD = {
    "id": "cb-a1b2c3",
    "name": "N",
    "role": "user",
    "order": 1,
    "enabled": True,
    "type": "simple",
    "content": "",
}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "must be an object"),
        ({"customBlocks": [GOOD | {"id": "x"}]}, "customBlocks[0].id: must look like cb-a1b2c3"),
        ({"customBlocks": [GOOD | {"id": "cb-aaaa\n"}]}, "customBlocks[0].id: must look like"),
        (
            {"customBlocks": [GOOD, GOOD | {"role": "assistant"}]},
            "customBlocks[1].role: must be 'system' or 'user'",
        ),
        ({"customBlocks": [GOOD | {"name": ""}]}, "customBlocks[0].name: must not be empty"),
        ({"customBlocks": [GOOD | {"order": True}]}, "customBlocks[0].order: must be a number, not true"),
        ({"customBlocks": [{"id": "cb-aaaa"}]}, "customBlocks[0].name: is missing"),
        ({"overrides": {"int": {"contentMode": 3}}}, "overrides.int.contentMode: must be"),
        ({"overrides": {"tools": {"order": None}}}, "overrides.tools.order: null is not allowed"),
        ({"overrides": {"tools": {"enabled": "yes"}}}, "overrides.tools.enabled: must be true or false"),
        ({"overrides": {"tools": []}}, "overrides.tools: must be an object"),
        ({"blockOrder": "tools"}, "blockOrder: must be a list"),
        ({"blockOrder": [1]}, "blockOrder[0]: must be a string"),
        ({"disableAutoAnalysis": 1}, "disableAutoAnalysis: must be true or false"),
    ],
)
def test_faults_say_where_and_what(value: Any, message: str) -> None:
    with pytest.raises(ConfigFault) as caught:
        parse_config(value)
    assert str(caught.value).startswith(message)


def test_the_five_keys_are_always_written_and_numbers_look_like_javascripts() -> None:
    assert dump_config(parse_config({"overrides": {"a": {"order": 1.0}, "b": {"order": 1.5}}})) == {
        "customBlocks": [],
        "overrides": {"a": {"order": 1}, "b": {"order": 1.5}},
        "blockOrder": [],
        "disabledTools": [],
        "disableAutoAnalysis": False,
    }
    assert str(dump_config(parse_config({"overrides": {"a": {"order": 2.0}}}))["overrides"]) == "{'a': {'order': 2}}"


@given(configs(unique=False))
def test_what_is_written_reads_back_the_same(config: BlockConfig) -> None:
    assert parse_config(dump_config(config)) == config
