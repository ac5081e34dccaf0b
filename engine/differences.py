"""What differs between two texts: lines, and the words that differ inside changed lines.

The work is bounded whatever the texts are: pieces that occur once in both divide them (patience), the shortest edit is
looked for between those (Myers), and where that would take too long the rest counts as replaced.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from engine.text import common_prefix

Sign = Literal[" ", "-", "+"]
Range = tuple[int, int]
Run = tuple[int, int, int]
"""(start in the one, start in the other, length) of what both have."""

EDIT_LIMIT: Final = 600
"""Pieces taken out and put in between two that both have, above which the stretch counts as replaced."""
WORK_LIMIT: Final = 3_000_000
"""Steps for one comparison of two texts, about a second's worth."""
LEAST_SHARED: Final = 0.25
"""The share of two passages that must be the same for their differing words to say anything."""

# Scripts without spaces between words are compared by the character: Thai to Khmer, kana, Han.
_SINGLE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_WORDS: Final = re.compile(rf"\n|[^\S\n]+|[{_SINGLE}]|[^\W{_SINGLE}]+|[^\w\s]")
_SPELLED: Final = re.compile(rf"[^\W{_SINGLE}]")
_JOINERS: Final = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of one text or of both, without its line end.

    `marks` are the ranges of a changed line that differ; None where the line as a whole is another.
    """

    sign: Sign
    text: str
    marks: tuple[Range, ...] | None = None

    @property
    def differing(self) -> str:
        """What of a changed line the other text has not."""
        return self.text if self.marks is None else "".join(self.text[start:end] for start, end in self.marks)


def compare_lines(before: str, after: str) -> tuple[Line, ...]:
    """The lines of both texts in one list: without those of `+`, joined with newlines, it is `before`, without those of
    `-` it is `after`. An empty text has no line.

    What is not marked in the words of a changed stretch is the same in both texts.
    """
    old, new = before.split("\n") if before else [], after.split("\n") if after else []
    work = _Work()
    lines: list[Line] = []
    at_old = at_new = 0
    for start_old, start_new, length in (*equal_runs(old, new, work), (len(old), len(new), 0)):
        lines += _changed(old[at_old:start_old], new[at_new:start_new], work)
        lines += [Line(" ", text) for text in old[start_old : start_old + length]]
        at_old, at_new = start_old + length, start_new + length
    return tuple(lines)


def words(text: str) -> list[str]:
    """`text` in pieces: words of any script with their combining marks, single characters of scripts without spaces
    between words, runs of white space, line ends, other characters. Joined they are `text`.
    """
    pieces = _WORDS.findall(text)
    if text.isascii():
        return pieces
    joined: list[str] = []
    for piece in pieces:
        if joined and not piece.isspace() and not joined[-1].isspace() and _continues(joined[-1], piece):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def _continues(before: str, piece: str) -> bool:
    """Whether a piece is a mark on the one before, or goes on with a word behind a mark or joiner."""
    if _is_mark(piece[0]) or before[-1] in _JOINERS:
        return True
    return _is_mark(before[-1]) and _SPELLED.match(before) is not None and _SPELLED.match(piece) is not None


def _is_mark(char: str) -> bool:
    return char in _JOINERS or unicodedata.category(char)[0] == "M"


def equal_runs(old: Sequence[Hashable], new: Sequence[Hashable], work: _Work | None = None) -> list[Run]:
    """Runs of items that both have, in order; what lies between them was taken out or put in."""
    codes: dict[Hashable, int] = {}
    one = [codes.setdefault(item, len(codes)) for item in old]
    two = [codes.setdefault(item, len(codes)) for item in new]
    merged: list[Run] = []
    for start, other, length in _runs(one, two, work or _Work()):
        if merged and merged[-1][0] + merged[-1][2] == start and merged[-1][1] + merged[-1][2] == other:
            merged[-1] = (*merged[-1][:2], merged[-1][2] + length)
        elif length:
            merged.append((start, other, length))
    return merged


class _Work:
    """Steps that are left."""

    def __init__(self) -> None:
        self.left = WORK_LIMIT

    def take(self, steps: int) -> bool:
        self.left -= steps
        return self.left > 0


def _runs(old: list[int], new: list[int], work: _Work) -> Iterator[Run]:
    """Equal runs in order, by stretches still to be looked at; the last on the stack comes first."""
    stack: list[tuple[int, int, int, int] | Run] = [(0, len(old), 0, len(new))]
    while stack:
        item = stack.pop()
        if len(item) == 3:
            yield item
            continue
        old_start, old_end, new_start, new_end = item
        one, two = old[old_start:old_end], new[new_start:new_end]
        head = common_prefix(one, two)
        tail = common_prefix(one[head:][::-1], two[head:][::-1])
        if head:
            yield old_start, new_start, head
        if tail:
            stack.append((old_end - tail, new_end - tail, tail))
        one, two = one[head : len(one) - tail], two[head : len(two) - tail]
        at_old, at_new = old_start + head, new_start + head
        if not one or not two or not work.take(len(one) + len(two)):
            continue
        found: list[tuple[int, int, int, int] | Run] = []
        anchors = _unique_pairs(one, two)
        last_old = last_new = 0
        for first, second in anchors:
            found.append((at_old + last_old, at_old + first, at_new + last_new, at_new + second))
            found.append((at_old + first, at_new + second, 1))
            last_old, last_new = first + 1, second + 1
        if anchors:
            found.append((at_old + last_old, at_old + len(one), at_new + last_new, at_new + len(two)))
        else:
            found += [(at_old + first, at_new + second, length) for first, second, length in _shortest(one, two, work)]
        stack += reversed(found)


def _unique_pairs(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    """Places of the items that occur once in both, as many as stand in the same order."""
    counts, others = Counter(old), Counter(new)
    places = {item: index for index, item in enumerate(new)}
    pairs = [(i, places[item]) for i, item in enumerate(old) if counts[item] == 1 and others.get(item) == 1]
    return [pairs[index] for index in in_order([second for _, second in pairs])]


def in_order(values: Sequence[int]) -> list[int]:
    """Indices of a longest ascending part of `values`, all different."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        at = bisect_left(tails, value)
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [value]
        ends[at : at + 1] = [index]
    found: list[int] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        found.append(index)
        index = before[index]
    return found[::-1]


def _shortest(old: list[int], new: list[int], work: _Work) -> list[Run]:
    """Equal runs of the shortest edit script (Myers' greedy algorithm); none when it is longer than `EDIT_LIMIT`."""
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(min(EDIT_LIMIT, len(old) + len(new)) + 1):
        if not work.take(edits + 1):
            return []
        now: dict[int, int] = {}
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
            )
            source = furthest.get(diagonal + 1 if down else diagonal - 1)
            if source is None:
                continue
            x = source if down else source + 1
            y = x - diagonal
            if x > len(old) or y > len(new):
                continue
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            now[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _walked_back([*trace, now], len(old), len(new))
        trace.append(now)
        furthest = now
    return []


def _walked_back(trace: list[dict[int, int]], x: int, y: int) -> list[Run]:
    """The equal runs on the way that `trace` records, from the start."""
    runs: list[Run] = []
    for edits in range(len(trace) - 1, 0, -1):
        before = trace[edits - 1]
        diagonal = x - y
        below, above = before.get(diagonal - 1, -1), before.get(diagonal + 1, -1)
        down = diagonal == -edits or (diagonal != edits and below < above)
        start_x = above if down else below
        start_y = start_x - (diagonal + 1 if down else diagonal - 1)
        behind_x = start_x if down else start_x + 1
        if x > behind_x:
            runs.append((behind_x, y - (x - behind_x), x - behind_x))
        x, y = start_x, start_y
    if x:
        runs.append((0, 0, x))
    return runs[::-1]


def _changed(old: Sequence[str], new: Sequence[str], work: _Work) -> Iterator[Line]:
    """A stretch of lines that is another one in the two texts."""
    marks = _word_marks("\n".join(old), "\n".join(new), work) if old and new else None
    sides: tuple[tuple[Sign, Sequence[str], list[Range] | None], ...] = (
        ("-", old, marks and marks[0]),
        ("+", new, marks and marks[1]),
    )
    for sign, lines, ranges in sides:
        if ranges is None:
            yield from (Line(sign, text) for text in lines)
        else:
            yield from (Line(sign, text, found) for text, found in _by_line(lines, ranges))


def _word_marks(before: str, after: str, work: _Work) -> tuple[list[Range], list[Range]] | None:
    """Ranges of the words that differ; none when too little is the same for that to say anything."""
    old, new = words(before), words(after)
    runs = equal_runs(old, new, work)
    shared = sum(
        len(piece) for start, _, length in runs for piece in old[start : start + length] if not piece.isspace()
    )
    if shared < LEAST_SHARED * max(_visible_length(before), _visible_length(after)):
        return None
    return (
        _between([(start, length) for start, _, length in runs], old),
        _between([(start, length) for _, start, length in runs], new),
    )


def _visible_length(text: str) -> int:
    return sum(map(len, text.split()))


def _between(runs: Iterable[Range], pieces: Sequence[str]) -> list[Range]:
    """The ranges of characters between runs of pieces."""
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    ranges: list[Range] = []
    at = 0
    for start, length in (*runs, (len(pieces), 0)):
        if start > at:
            ranges.append((ends[at], ends[start]))
        at = start + length
    return ranges


def _by_line(lines: Sequence[str], ranges: Sequence[Range]) -> Iterator[tuple[str, tuple[Range, ...]]]:
    """Each line with the parts of the ranges that are in it, counted from its start; the ranges count line ends too."""
    start, first = 0, 0
    for text in lines:
        end = start + len(text)
        marks: list[Range] = []
        while first < len(ranges) and ranges[first][0] < end:
            low, high = max(ranges[first][0], start), min(ranges[first][1], end)
            if high > low:
                marks.append((low - start, high - start))
            if ranges[first][1] > end:
                break
            first += 1
        yield text, tuple(marks)
        start = end + 1
