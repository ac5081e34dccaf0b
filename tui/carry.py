"""Carrying blocks: the list as it would be, before anything is edited."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.blocks.moves import shifted

if TYPE_CHECKING:
    from engine.blocks import Row


@dataclass(frozen=True, slots=True)
class Carry:
    """The rows `moved`, held where `order`, the keys of all rows, has them; `key` is the one under the cursor."""

    key: str
    moved: frozenset[str]
    order: tuple[str, ...]

    @classmethod
    def pick_up(cls, rows: Sequence[Row], key: str, moved: Collection[str]) -> Carry:
        """Hold rows where they stand."""
        return cls(key, frozenset(moved), tuple(row.key for row in rows))

    def on(self, rows: Sequence[Row], step: int, shown: Collection[str]) -> Carry:
        """Held `step` of the rows in `shown` further down, or up when it is negative."""
        return replace(self, order=tuple(shifted(self.shown(rows), self.moved, step, shown)))

    def shown(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """The rows with the carried ones at their places. Rows that came meanwhile stand behind their neighbours."""
        by_key = {row.key: row for row in rows}
        order = [key for key in self.order if key in by_key]
        held = set(order)
        for index, row in enumerate(rows):
            if row.key not in held:
                order.insert(order.index(rows[index - 1].key) + 1 if index else 0, row.key)
                held.add(row.key)
        return tuple(by_key[key] for key in order)
