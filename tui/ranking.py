"""What matches a text that was typed, the best match first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from typing import TypeVar

T = TypeVar("T")


def ranked(wanted: str, items: Iterable[T], names_of: Callable[[T], Sequence[str]], most: int | None = None) -> list[T]:
    """The items that have each word of `wanted` in one of their names, at most `most`.

    First those that are called so, then those whose name begins so, then those in which a word begins so; among equals
    they stay in the order they came in. Case does not matter.
    """
    words = wanted.casefold().split()
    if not words:
        listed = list(items)
        return listed if most is None else listed[:most]
    whole = " ".join(words)
    found: list[tuple[int, int, T]] = []
    for place, item in enumerate(items):
        names = [name.casefold() for name in names_of(item)]
        if all(any(word in name for name in names) for word in words):
            found.append((_rank(whole, words, names), place, item))
    best = nsmallest(len(found) if most is None else most, found, key=lambda hit: hit[:2])
    return [item for _, _, item in best]


def _rank(whole: str, words: Sequence[str], names: Iterable[str]) -> int:
    ranks = [4]
    for name in names:
        if name == whole:
            return 0
        if name.startswith(whole):
            ranks.append(1)
        elif _begins_word(name, whole):
            ranks.append(2)
        elif all(name.startswith(word) or _begins_word(name, word) for word in words):
            ranks.append(3)
    return min(ranks)


def _begins_word(name: str, part: str) -> bool:
    at = name.find(part, 1)
    while at > 0:
        if not name[at - 1].isalnum():
            return True
        at = name.find(part, at + 1)
    return False
