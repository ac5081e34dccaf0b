"""`associations.json`: which fragments carry a tag, and which refer to which (spec, section 1.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.disk import json_line, parse_json
from engine.errors import InvalidFile, Problem


@dataclass(frozen=True, slots=True)
class Associations:
    """The two indexes. They may disagree with `Fragment.tags`, which is what scripts look at."""

    tag_index: Mapping[str, tuple[str, ...]]
    ref_index: Mapping[str, tuple[str, ...]]


NO_ASSOCIATIONS = Associations({}, {})


def parse_associations(file: Path, data: bytes | None) -> tuple[Associations, tuple[Problem, ...]]:
    """The indexes in a file, empty ones when there is none, and what in it could not be read.

    Raises `InvalidFile` when it holds no object.
    """
    if data is None:
        return NO_ASSOCIATIONS, ()
    raw = parse_json(data, file)
    if not isinstance(raw, dict):
        raise InvalidFile("is not a tag index: a JSON object was expected", file=file, line=1)
    problems: list[Problem] = []

    def index(key: str) -> Mapping[str, tuple[str, ...]]:
        given: Any = raw.get(key, {})
        if not isinstance(given, dict):
            line = json_line(data.decode("utf-8-sig"), (key,))
            problems.append(Problem("is not an object; it was left out", file, key, line))
            return {}
        result = {}
        for name, ids in given.items():
            if isinstance(ids, list) and all(isinstance(item, str) for item in ids):
                result[name] = tuple(ids)
            else:
                line = json_line(data.decode("utf-8-sig"), (key, name))
                problems.append(Problem("is not a list of ids; it was left out", file, f"{key}.{name}", line))
        return result

    return Associations(index("tagIndex"), index("refIndex")), tuple(problems)
