"""Rows for tests of the list."""

from __future__ import annotations

from typing import Any

from engine.blocks.block import Role
from engine.blocks.rows import Row


def make_row(key: str, role: Role = "user", **changes: Any) -> Row:
    """A compiled built-in block of 100 tokens, with `changes`."""
    fields: dict[str, Any] = {
        "key": key, "id": key, "name": key, "role": role, "order": 100, "source": "builtin", "type": None,
        "enabled": True, "state": "compiled", "mode": None, "content": "text", "default": "text", "tokens": 100,
    }  # fmt: skip
    return Row(**(fields | changes))


def make_rows(system: int, user: int) -> list[Row]:
    """Rows `s0`, `s1` … and `u0`, `u1` …, each with other tokens."""
    return [make_row(f"s{i}", "system", tokens=10 + i) for i in range(system)] + [
        make_row(f"u{i}", "user", tokens=20 + i) for i in range(user)
    ]
