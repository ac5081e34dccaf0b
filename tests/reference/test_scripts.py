"""Hostile and odd scripts: the host lives, every limit holds, nothing outside is reached.

A case is `name`, `body`, `seconds`, `memory_mb`, the `outcome` the recommended sandbox gave, and for some the `value`.
The words of outcomes are compared by family, since which limit a hostile script meets first depends on the machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from engine.scripts import Limits, Outcome, ScriptEngine
from tests.reference.cases import check_known, load_cases

KNOWN = ("scripts", "torture.json")
CASES = load_cases(*KNOWN)

FAILED = {"error", "syntax"}
STOPPED = {"timeout", "memory", "stack", "error", "too_long"}
FAMILIES = {
    "ok": {"ok"},
    "nonstring": {"not_string"},
    "not_string": {"not_string"},
    "error": FAILED,
    "syntax": FAILED,
    **dict.fromkeys(("timeout", "memory", "stack", "too_long"), STOPPED),
}

FRAGMENT = {"id": "ch-1", "name": "Mara", "content": "text of Mara", "type": "character", "tags": ["hero"]}
FIELDS = {
    "story": ['{"name": "The Vault", "description": "Heist.", "summary": ""}'],
    "proseFragments": ['[{"id": "pr-1", "content": "It was night."}]', '[{"id": "pr-2", "content": "Mara ran."}]'],
    **{f"sticky{kind}": ["[]"] for kind in ("Guidelines", "Knowledge", "Characters")},
    **{f"{kind}Catalog": ["[]"] for kind in ("guideline", "knowledge", "character")},
    "authorInput": ['"Go on."'],
}


def by_tag(tag: Any) -> str:
    if tag == "RAISE":
        raise FileNotFoundError("/secret/place/ch-1.json")
    return json.dumps(FRAGMENT)


FUNCTIONS = {
    "getFragment": lambda identifier: json.dumps(FRAGMENT),
    "getFragments": lambda kind=None: json.dumps([FRAGMENT]),
    "getFragmentsByTag": lambda tag: json.dumps([FRAGMENT]),
    "getFragmentByTag": by_tag,
}


@pytest.fixture(scope="module")
def engine() -> Iterator[ScriptEngine]:
    engine = ScriptEngine()
    assert engine.warm() is None
    yield engine
    engine.close()


def test_the_cases_are_there() -> None:
    check_known(*KNOWN)


@pytest.mark.parametrize("case", [case for _, case, _ in CASES], ids=[name for name, _, _ in CASES])
def test_torture(engine: ScriptEngine, case: dict[str, Any]) -> None:
    limits = Limits(seconds=case.get("seconds", 1.0), memory=case.get("memory_mb", 128) << 20)
    outcome = engine.evaluate(case["body"], FIELDS, FUNCTIONS, limits)

    assert outcome.kind in allowed(case["outcome"], limits), outcome
    assert outcome.milliseconds / 1000 < limits.seconds * 1.2 + 2, "the time limit did not hold"
    assert 0 < outcome.memory <= limits.memory, "the memory limit did not hold"
    assert not reached_outside(outcome), outcome
    if outcome.kind == "ok" and case.get("value") is not None:
        assert_value(outcome.text, case["value"])
    assert engine.evaluate("return 'alive'", FIELDS, FUNCTIONS).text == "alive"


def allowed(word: str, limits: Limits) -> set[str]:
    family = FAMILIES[word]
    # A script that fails by using too much may run out of time first where the machine is slow.
    return family | {"timeout"} if family is FAILED and limits.seconds < 1 else family


def reached_outside(outcome: Outcome) -> bool:
    return "LEAK" in outcome.text or "/secret" in outcome.text or "Traceback" in outcome.text


def assert_value(text: str, expected: str) -> None:
    """Equal, or equal as far as the table shows it: `abc…(171)` is a text of 171 characters that starts with abc."""
    shown, cut, _ = expected.rpartition("…(")
    if cut and expected.endswith(")"):
        assert text.startswith(shown)
    else:
        assert text == expected
