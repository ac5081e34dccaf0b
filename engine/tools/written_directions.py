"""Directions that a model wrote as JSON in its answer instead of calling the tool for them.

Source: spec, section 10.4 (`directions`, raw); the fields are those of `proposeDirections` (10.5, 10.7).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from json import JSONDecoder
from typing import Any, Final

from engine.text import collapse_space, cut
from engine.tools.collected import Direction
from engine.tools.planning import DIRECTIONS_LIMIT

TEXT_LIMIT: Final = 200_000
"""Characters of an answer that are looked through."""
_OPENINGS_TRIED: Final = 200
"""Places that JSON could begin at; prose has few brackets, and each is a try."""
_TITLE_LIMIT: Final = 200
_ITEM_LIMIT: Final = 2_000
_PACINGS: Final = ("linger", "continue", "end")


def written_directions(text: str) -> tuple[Direction, ...]:
    """The directions in an answer: a JSON list of objects, or an object with the list under `directions`, with any
    text around it. An object that says neither what happens nor what the writer is told is passed over; none where
    there is no such list.
    """
    for value in _values(text[:TEXT_LIMIT]):
        given = value.get("directions") if isinstance(value, Mapping) else value
        if isinstance(given, str):
            given = _parsed(given)
        if isinstance(given, list):
            found = tuple(found for item in given if (found := _direction(item)) is not None)
            if found:
                return found[:DIRECTIONS_LIMIT]
    return ()


def _values(text: str) -> Iterator[Any]:
    """The JSON lists and objects of a text that are in no other one, in order."""
    decoder, at = JSONDecoder(), 0
    for _ in range(_OPENINGS_TRIED):
        starts = [start for start in (text.find("[", at), text.find("{", at)) if start >= 0]
        if not starts:
            return
        at = min(starts)
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
        else:
            yield value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _direction(value: Any) -> Direction | None:
    if not isinstance(value, Mapping):
        return None
    title, description, instruction = (_text(value.get(key)) for key in ("title", "description", "instruction"))
    instruction = instruction or description
    if not instruction:
        return None
    pacing = value.get("pacing")
    return Direction(
        cut(collapse_space(title or instruction), _TITLE_LIMIT),
        cut(description or instruction, _ITEM_LIMIT),
        cut(instruction, _ITEM_LIMIT),
        pacing if pacing in _PACINGS else "",
    )


def _text(value: Any) -> str:
    # JSON can have half a character, which no file can hold.
    return value.strip().encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""
