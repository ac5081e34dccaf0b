"""The fixed texts of the agents, one Markdown file a key (spec, section 11, for the keys).

What only an agent with certain tools is to be told stands between markers, in our own texts and in those of other sets:

    <!-- if: readFragments findFragments -->any of these tools<!-- else -->none of them<!-- end -->

`any` stands for every tool there is; the other part may be left out, and conditions may stand inside each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from engine.errors import Problem
from engine.provenance import substitute

# A plain folder: the resource machinery would cost a first compile more than reading its texts.
_FOLDER = Path(__file__).with_name("instructions")

ANY_TOOL: Final = "any"
_ELSE: Final = "<!-- else -->"
_MARKER: Final = re.compile(r"<!-- (?:if: [^<>]*|else|end) -->")
_CONDITION: Final = re.compile(
    r"<!-- if: (?P<tools>\w+(?: \w+)*) -->(?P<text>(?:(?!<!-- if: ).)*?)<!-- end -->", re.DOTALL
)
"""A condition with no other inside."""
_FIELD: Final = re.compile(r"\{\{(\w+)\}\}")


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


@lru_cache(maxsize=64)
def for_tools(text: str, tools: tuple[str, ...] | frozenset[str]) -> str:
    """`text` as an agent with these tools is told it: its conditions resolved, and no paragraph left empty.

    A marker that belongs to no whole condition stays as it is (see `stray_marker`).
    """
    if "<!-- if: " not in text:
        return text

    def chosen(match: re.Match[str]) -> str:
        there = any(tool in tools or (tool == ANY_TOOL and tools) for tool in match["tools"].split())
        text, _, otherwise = match["text"].partition(_ELSE)
        return text if there else otherwise

    found = 1
    while found:
        text, found = _CONDITION.subn(chosen, text)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def stray_marker(text: str) -> str | None:
    """The first marker in `text` that belongs to no whole condition; None when there is none."""
    found = 1
    while found:
        text, found = _CONDITION.subn(lambda match: match["text"].replace(_ELSE, "", 1), text)
    marker = _MARKER.search(text)
    return marker[0] if marker is not None else None


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with each `{{name}}` replaced by its value, in one pass; a name without a value stays as it is."""
    return substitute(_FIELD, lambda match: values.get(match[1], match[0]), text)
