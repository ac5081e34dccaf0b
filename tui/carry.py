"""Carrying a block: the list as it would be, before anything is edited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.blocks import Row


@dataclass(frozen=True, slots=True)
class Carry:
    """The row `key`, held at `index` among the rows of its role."""

    key: str
    index: int

    @classmethod
    def pick_up(cls, rows: Sequence[Row], row: Row) -> Carry:
        """Hold a row where it stands."""
        return cls(row.key, [other.key for other in rows if other.role == row.role].index(row.key))

    def shown(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """The rows with the carried one at its place; as they are when it is gone."""
        carried = next((row for row in rows if row.key == self.key), None)
        if carried is None:
            return tuple(rows)
        section = [row for row in rows if row.role == carried.role and row.key != self.key]
        section.insert(self.index, carried)
        others = [row for row in rows if row.role != carried.role]
        return tuple(section + others if carried.role == "system" else others + section)
