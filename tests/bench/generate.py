"""Story folders of any size for the benches: the same bytes for the same size, on every machine.

The mix is that of a long story: half of it prose in a chain (a chapter marker every forty sections, a variant of every
eighth), the rest knowledge, characters, guidelines and one custom type, of which a few dozen are pinned and most are in
the catalog. A fragment has 0.5 to 2 kB.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from engine.disk import dump_json

LONG_AGO = 1_700_000_000_000_000_123
"""Time of every file (ns): well past, so that its stamp can be trusted."""

_COMMON_TEXT = """
the a of and to in that it was her his with for on at by from as not but they she he had were said one all there when
which would could into over then time water harbour lamp stair tide house letter winter captain window stone rope hand
door night morning bell keeper silence garden road quiet salt wind shoulder market paper glass Ines Marek Oda remembered
turned opened carried listened answered waited counted walked slowly against before under between nothing something
never always almost perhaps again
"""
_SYLLABLE_TEXT = """
ab an ar bel cor den dis el en er fal for gar hal im in ken lan lor mar mon nel or pel ran ris sal sel ten tor un ver
"""
_COMMON = _COMMON_TEXT.split()
_SYLLABLES = _SYLLABLE_TEXT.split()
_ENDINGS = ("", "", "s", "ed", "ing", "er", "ly", "ness")
_RARE = [a + b + end for a in _SYLLABLES for b in _SYLLABLES for end in _ENDINGS]
_SHARE_OF_RARE = 0.2
"""Of the words: a long text has thousands of different ones, most of them seldom."""
_SCRIPT = """const words = ctx.proseFragments.reduce((sum, f) => sum + f.content.split(/\\s+/).length, 0)
return `Words so far: ${words}`"""


def write_story(folder: Path, fragments: int, blocks: int, script: bool) -> None:
    """Write a story of `fragments` fragments, whose writer has `blocks` custom blocks, the first a script if wanted."""
    _Story(folder, random.Random(fragments)).write(fragments, blocks, script)


def prose(characters: int) -> str:
    """A text of that many characters."""
    return _text(random.Random(characters), characters, characters)


def _text(chance: random.Random, shortest: int, longest: int) -> str:
    """Words in sentences and paragraphs, of a length between the two (characters)."""
    length = chance.randint(shortest, longest)
    parts: list[str] = []
    size = 0
    left_in_sentence = 0
    while size < length:
        word = chance.choice(_RARE if chance.random() < _SHARE_OF_RARE else _COMMON)
        if left_in_sentence == 0:
            left_in_sentence = chance.randint(5, 18)
            word = word.capitalize()
        left_in_sentence -= 1
        if left_in_sentence == 0 and size + len(word) < length - 4:
            word += ".\n\n" if chance.random() < 0.12 else ". "
        else:
            word += " "
        parts.append(word)
        size += len(word)
    return "".join(parts)[:length].strip() or "Tide"


class _Story:
    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder = folder
        self._root = folder / "branches" / "main"
        self._chance = chance
        self._made = 0

    def write(self, fragments: int, blocks: int, script: bool) -> None:
        (self._root / "fragments").mkdir(parents=True)
        (self._root / "agent-blocks").mkdir()
        kinds = self._kinds(fragments)
        named = [self._fragment(kind) for kind in kinds if kind not in ("prose", "marker")]
        chain: list[dict[str, Any]] = []
        for kind in kinds:
            if kind == "marker":
                section = self._fragment(kind)
                chain.append({"proseFragments": [section], "active": section})
            elif kind == "prose":
                section = self._fragment(kind, mentions=self._chance.sample(named, min(3, len(named))))
                if len(chain) % 8 == 7:
                    chain[-1] = {"proseFragments": [chain[-1]["active"], section], "active": section}
                else:
                    chain.append({"proseFragments": [section], "active": section})
        self._json(self._root / "prose-chain.json", {"entries": chain})
        self._json(self._root / "associations.json", {"tagIndex": {}, "refIndex": {}})
        self._json(self._root / "agent-blocks" / "generation.writer.json", self._config(blocks, script))
        self._json(self._folder / "branches.json", {
            "branches": [{"id": "main", "name": "Main", "order": 0, "createdAt": self._moment()}],
            "activeBranchId": "main",
        })  # fmt: skip
        self._json(self._folder / "meta.json", self._meta())

    def _kinds(self, count: int) -> list[str]:
        rest = ("knowledge", "character", "knowledge", "place", "guideline", "knowledge")
        kinds = []
        for index in range(count):
            if index % 80 == 0:
                kinds.append("marker")
            else:
                kinds.append("prose" if index % 2 else rest[index // 2 % len(rest)])
        return kinds

    def _fragment(self, kind: str, mentions: list[str] | None = None) -> str:
        self._made += 1
        number = self._made
        letters = "".join(self._chance.choice("bdfgklmnprstv") + self._chance.choice("aeiou") for _ in range(3))
        fragment_id = f"{kind[:2]}-{letters}{number:05d}"
        pinned = kind not in ("prose", "marker") and number % 20 == 0 and number <= 800
        meta: dict[str, Any] = {}
        if mentions:
            meta["annotations"] = [{"type": "mention", "fragmentId": item, "text": "…"} for item in mentions]
        self._json(self._root / "fragments" / f"{fragment_id}.json", {
            "id": fragment_id,
            "type": kind,
            "name": self._text(12, 30).title(),
            "description": self._text(40, 90),
            "content": self._text(500, 2_000),
            "tags": [f"tag-{number % 7}"],
            "refs": [],
            "sticky": pinned,
            "placement": "system" if number % 40 == 0 else "user",
            "createdAt": self._moment(),
            "updatedAt": self._moment(),
            "order": 0,
            "meta": meta,
            "version": 1,
            "versions": [],
        })  # fmt: skip
        return fragment_id

    def _meta(self) -> Mapping[str, Any]:
        return {
            "id": self._folder.name,
            "name": "The Tide House",
            "description": "A lighthouse keeper's last winter.",
            "summary": self._text(500, 900),
            "createdAt": self._moment(),
            "updatedAt": self._moment(),
            "settings": {
                "enableHierarchicalSummary": True,
                "contextCompact": {"type": "proseLimit", "value": 20},
                "customFragmentTypes": [{"type": "place", "name": "Places"}],
            },
        }

    def _config(self, count: int, script: bool) -> Mapping[str, Any]:
        blocks = [
            {
                "id": f"cb-{index:06d}",
                "name": f"Block {index:04d} {self._text(8, 16)}",
                "role": "user" if index % 2 else "system",
                "order": 700 + index,
                "enabled": True,
                "type": "script" if script and index == 0 else "simple",
                "content": _SCRIPT if script and index == 0 else self._text(120, 480),
            }
            for index in range(count)
        ]
        overrides = {"instructions": {"contentMode": "append", "customContent": self._text(100, 200)}}
        return {
            "customBlocks": blocks,
            "overrides": overrides,
            "blockOrder": [],
            "disabledTools": [],
            "disableAutoAnalysis": False,
        }

    def _text(self, shortest: int, longest: int) -> str:
        return _text(self._chance, shortest, longest)

    def _moment(self) -> str:
        moment = datetime(2026, 1, 1) + timedelta(minutes=self._made)
        return f"{moment.isoformat(timespec='milliseconds')}Z"

    @staticmethod
    def _json(file: Path, value: Any) -> None:
        file.write_bytes(dump_json(value))
        os.utime(file, ns=(LONG_AGO, LONG_AGO))
