"""The fixed texts of the agents, one Markdown file a key (spec, section 11, for the keys)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from engine.errors import Problem

# A plain folder: the resource machinery would cost a first compile more than reading its texts.
_FOLDER = Path(__file__).with_name("instructions")


@cache
def instruction(key: str) -> str:
    """Our own text of a key such as `generation.system`, without a final line end. Raises `KeyError` for another."""
    if key not in instruction_keys():
        raise KeyError(f"there is no instruction {key}")
    return (_FOLDER / f"{key}.md").read_text(encoding="utf-8").rstrip("\n")


@cache
def instruction_keys() -> frozenset[str]:
    """Every key there is a text for."""
    return frozenset(file.stem for file in _FOLDER.glob("*.md"))


@dataclass(frozen=True, slots=True, eq=False)
class Instructions:
    """The texts an agent gets: those in `texts`, made for its model, before our own.

    `problems` is what is wrong with the files that `texts` comes from.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def __call__(self, key: str) -> str:
        """The text of a key. Raises `KeyError` for one there is none of."""
        text = self.texts.get(key)
        return instruction(key) if text is None else text


DEFAULTS = Instructions()


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with each `{{name}}` replaced by its value, in one pass; a name without a value stays as it is."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values.get(match[1], match[0]), text)
