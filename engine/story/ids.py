"""Ids as the reference makes and recognises them (spec, section 1.3)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Container
from random import Random, SystemRandom
from typing import Final

from engine.disk import base36

FRAGMENT_ID: Final = re.compile(r"[a-z]{2,4}-[a-z0-9]{4,12}")
"""What a fragment id looks like. For recognising one in a text: no file is ever refused because of its id."""

PREFIXES: Final = {
    "prose": "pr",
    "character": "ch",
    "guideline": "gl",
    "knowledge": "kn",
    "image": "im",
    "icon": "ic",
    "marker": "mk",
    "summary": "sm",
}

_CONSONANTS: Final = "bdfgkmnprstvz"
_VOWELS: Final = "aeiou"
_ALPHANUMERIC: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_SYSTEM: Final = SystemRandom()


def prefix_of(fragment_type: str) -> str:
    """The id prefix of a fragment type; a custom type gives its first four characters in lower case."""
    return PREFIXES.get(fragment_type) or fragment_type[:4].lower()


def new_fragment_id(fragment_type: str, taken: Container[str], rng: Random = _SYSTEM) -> str:
    """An id such as `ch-bafego` (three syllables of consonant and vowel) that is not in `taken`."""
    prefix = prefix_of(fragment_type)
    return _untaken(lambda: f"{prefix}-{_syllables(rng)}", taken)


def new_block_id(taken: Container[str], rng: Random = _SYSTEM) -> str:
    """An id such as `cb-a1b2c3` for a custom block, not in `taken`."""
    return _untaken(lambda: "cb-" + "".join(rng.choice(_ALPHANUMERIC) for _ in range(6)), taken)


def new_branch_id(taken: Container[str], rng: Random = _SYSTEM) -> str:
    """An id such as `br-bafego` for a branch, not in `taken`."""
    return _untaken(lambda: f"br-{_syllables(rng)}", taken)


def new_log_id(taken: Container[str], now_ms: int | None = None) -> str:
    """An id of a generation log: `gen-` and the time in milliseconds, base 36; see `_moment_id`."""
    return _moment_id("gen", taken, now_ms)


def new_analysis_id(taken: Container[str], now_ms: int | None = None) -> str:
    """An id of an analysis: `la-` and the time in milliseconds, base 36; see `_moment_id`."""
    return _moment_id("la", taken, now_ms)


def _moment_id(prefix: str, taken: Container[str], now_ms: int | None) -> str:
    """A taken one is passed over for that of a later millisecond, where the reference would overwrite it (spec,
    bug 13).
    """
    moment = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    while (found := f"{prefix}-{base36(moment)}") in taken:
        moment += 1
    return found


def _syllables(rng: Random) -> str:
    return "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(3))


def _untaken(make: Callable[[], str], taken: Container[str]) -> str:
    while (candidate := make()) in taken:
        pass
    return candidate
