"""Where things stand in the text of a JSON document: what parsing it doesn't tell.

Pure: text in, places out. A place is the path to a value, as keys and indices.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_CONSTANT: Final = re.compile(r"NaN|-?Infinity")


@dataclass(frozen=True, slots=True)
class Place:
    """The path of a key or value, the 1-based line it is on, and the word that stands there."""

    path: tuple[str | int, ...]
    line: int
    word: str


def dotted(path: tuple[str | int, ...]) -> str:
    """`customBlocks[0].role` for ("customBlocks", 0, "role")."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text


def unquoted(word: str) -> str:
    """The text of a string as it stands in a document; the word itself where it is none."""
    try:
        return str(json.loads(word))
    except ValueError:
        return word


def bad_number(text: str) -> Place | None:
    """The first number of a document that no file may hold: NaN, or one that JavaScript reads as infinite."""
    for path, word, at, kind in _words(text):
        if kind != "value" or word[0] == '"':
            continue
        number = _NUMBER.match(word)
        if _CONSTANT.match(word) or (number is not None and math.isinf(float(number.group()))):
            return Place(path, text.count("\n", 0, at) + 1, word)
    return None


def repeated_key_places(text: str) -> tuple[Place, ...]:
    """The keys of a valid JSON document that stand in their object once more: what stood there first does not count."""
    if not _repeats(text):
        return ()
    words = _words(text)
    return tuple(Place(path, text.count("\n", 0, at) + 1, word) for path, word, at, kind in words if kind == "again")


def _repeats(text: str) -> bool:
    """Whether any object has a key twice; a tenth of the time it takes to find out where."""
    repeats = False

    def look(pairs: list[tuple[str, object]]) -> None:
        nonlocal repeats
        repeats = repeats or len({key for key, _ in pairs}) != len(pairs)

    try:
        json.JSONDecoder(object_pairs_hook=look, parse_int=len).decode(text)
    except (ValueError, RecursionError):
        return False
    return repeats


def _words(text: str) -> Iterator[tuple[tuple[str | int, ...], str, int, Literal["key", "again", "value"]]]:
    """Each key and each value that is no list or object: its path, the word, where that starts, and what it is.

    A key that its object has had before comes "again".
    """
    path: list[str | int] = []
    keys: list[set[str] | None] = []
    """Of each object and list that is open; of a list None."""
    expects_key = False
    for token in TOKEN.finditer(text):
        word = token.group()
        if word in "{[":
            keys.append(set() if word == "{" else None)
            path.append("" if word == "{" else 0)
            expects_key = word == "{"
        elif word in "}]":
            if keys:
                keys.pop()
                path.pop()
            expects_key = False
        elif word == ",":
            expects_key = bool(keys) and keys[-1] is not None
            if path and isinstance(path[-1], int):
                path[-1] += 1
        elif word == ":":
            expects_key = False
        elif expects_key and (known := keys[-1]) is not None:
            path[-1] = key = unquoted(word)
            yield tuple(path), word, token.start(), "again" if key in known else "key"
            known.add(key)
            expects_key = False
        else:
            yield tuple(path), word, token.start(), "value"
