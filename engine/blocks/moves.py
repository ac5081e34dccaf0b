"""Where several blocks come to stand when they are moved together: keys in the order the list is to show them.

Each role is moved for itself, the moved blocks stay in their own order, and so do all others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from engine.blocks.block import ROLES

if TYPE_CHECKING:
    from engine.blocks.rows import Row


def shifted(rows: Sequence[Row], moved: Collection[str], step: int, shown: Collection[str] | None = None) -> list[str]:
    """The keys of `rows` after those of `moved` went `step` rows down, or up when it is negative.

    A block steps over the rows in `shown` (all, when left out), and with them over those hidden before them; one that
    stands at the end of its role, or behind another that can't move on, stays where it is.
    """
    keys: list[str] = []
    for role in ROLES:
        section = [row.key for row in rows if row.role == role]
        for _ in range(abs(step)):
            section = _step_down(section[::-1], moved, shown)[::-1] if step < 0 else _step_down(section, moved, shown)
        keys += section
    return keys


def _step_down(keys: list[str], moved: Collection[str], shown: Collection[str] | None) -> list[str]:
    keys = list(keys)
    following: int | None = None
    for index in range(len(keys) - 1, -1, -1):
        key = keys[index]
        if key not in moved:
            following = index if shown is None or key in shown else following
        elif following is None or keys[following] in moved:
            following = index
        else:
            keys.insert(following, keys.pop(index))
            following -= 1
    return keys


def gathered(rows: Sequence[Row], moved: Collection[str], key: str, index: int) -> list[str]:
    """The keys of `rows` after block `key` of `moved` was put at `index` of its role, and the others of its role behind
    or before it as they stand: they come to stand together. Those of the other role stay where they are.
    """
    role = next(row.role for row in rows if row.key == key)
    keys: list[str] = []
    for each in ROLES:
        section = [row.key for row in rows if row.role == each]
        if each == role:
            start = section.index(key)
            passed = section[: index + 1] if index > start else section[:index]
            at = sum(item not in moved for item in passed)
            left = [item for item in section if item not in moved]
            section = [*left[:at], *(item for item in section if item in moved), *left[at:]]
        keys += section
    return keys
