"""Three-way merge of a text that two programs changed: by words, so that two edits of one paragraph both stand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from engine.text import common_prefix

_WORDS = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
WORD_LIMIT = 1_500
"""Changed words, from the first to the last, above which whole lines are compared: words would take too long."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """Pieces `start` to `end` of the base become `pieces`."""

    start: int
    end: int
    pieces: list[str]


def merge_texts(base: str, mine: str, theirs: str) -> tuple[str, bool]:
    """`theirs` with what `mine` changed since `base`, and whether both changed one place.

    There mine stands and theirs is left out.
    """
    if mine in (base, theirs):
        return theirs, False
    if theirs == base:
        return mine, False
    pieces = [_WORDS.findall(text) for text in (base, mine, theirs)]
    if max(_changed(pieces[0], pieces[1]), _changed(pieces[0], pieces[2])) > WORD_LIMIT:
        pieces = [_LINES.findall(text) for text in (base, mine, theirs)]
    own, other = _edits(pieces[0], pieces[1]), _edits(pieces[0], pieces[2])
    kept = [edit for edit in other if not any(_meet(edit, one) for one in own)]
    clash = any(edit not in kept and edit not in own for edit in other)
    merged: list[str] = []
    at = 0
    for edit in sorted([*own, *kept], key=lambda edit: (edit.start, edit.end)):
        merged += pieces[0][at : edit.start] + edit.pieces
        at = edit.end
    return "".join(merged + pieces[0][at:]), clash


def _ends(before: list[str], after: list[str]) -> tuple[int, int]:
    """How many pieces both have in common at the beginning and, behind those, at the end."""
    head = common_prefix(before, after)
    return head, common_prefix(before[head:][::-1], after[head:][::-1])


def _changed(before: list[str], after: list[str]) -> int:
    return max(len(before), len(after)) - sum(_ends(before, after))


def _edits(before: list[str], after: list[str]) -> list[_Edit]:
    head, tail = _ends(before, after)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [_Edit(head + b1, head + b2, new[a1:a2]) for tag, b1, b2, a1, a2 in opcodes if tag != "equal"]


def _meet(one: _Edit, other: _Edit) -> bool:
    """Whether two edits touch the same words, or put something in at the same place."""
    if one.start == one.end or other.start == other.end:
        return one.start <= other.end and other.start <= one.end
    return one.start < other.end and other.start < one.end
