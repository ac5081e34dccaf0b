"""Blocks and a config to applied blocks to messages, against the reference implementation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from engine.blocks import ContextBlock, apply_config, compile_blocks
from engine.blocks.apply import is_evaluated
from engine.blocks.config import parse_config
from engine.prompt import script_result
from engine.scripts import RUN_LIMITS, ScriptEngine
from tests.reference.cases import check_known, load_cases

KNOWN, NEEDS = "apply.json", ("blocks", "config", "applied", "messages")
CASES = load_cases("golden", KNOWN, NEEDS)


def test_the_known_file_is_there() -> None:
    check_known("golden", KNOWN, NEEDS)


@pytest.fixture(scope="module")
def engine() -> Iterator[ScriptEngine]:
    engine = ScriptEngine()
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("case", "document"), [(case, doc) for _, case, doc in CASES], ids=[name for name, _, _ in CASES]
)
def test_apply_and_compile(case: dict[str, Any], document: dict[str, Any], engine: ScriptEngine) -> None:
    config = parse_config(case["config"])
    fields = {name: [json.dumps(value, ensure_ascii=False)] for name, value in document["ctx"].items()}
    functions = helpers(document["fragments"])
    results = {
        block.content: script_result(engine.evaluate(block.content, fields, functions, RUN_LIMITS))
        for block in config.customBlocks
        if is_evaluated(block, config)
    }
    applied = apply_config([block(given) for given in case["blocks"]], config, results)
    assert [as_json(one) for one in applied] == case["applied"]
    assert [{"role": one.role, "content": one.content} for one in compile_blocks(applied)] == case["messages"]


def block(given: dict[str, Any]) -> ContextBlock:
    return ContextBlock(
        given["id"], given["role"], given["content"], given["order"], given["source"], given.get("name")
    )


def as_json(one: ContextBlock) -> dict[str, Any]:
    value = {"id": one.id, "role": one.role, "content": one.content, "order": one.order, "source": one.source}
    return {**value, "name": one.name} if one.name is not None else value


def helpers(fragments: list[dict[str, Any]]) -> dict[str, Any]:
    """The ctx helpers over the table's fragments (spec, section 7)."""

    def dump(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    def tagged(tag: Any) -> list[dict[str, Any]]:
        return [one for one in fragments if tag in one["tags"] and not one["archived"]]

    return {
        "getFragment": lambda wanted: dump(next((one for one in fragments if one["id"] == wanted), None)),
        "getFragments": lambda kind=None: dump([one for one in fragments if kind is None or one["type"] == kind]),
        "getFragmentsByTag": lambda tag: dump(tagged(tag)),
        "getFragmentByTag": lambda tag: dump(next(iter(tagged(tag)), None)),
    }
