"""Packages that load their modules when a name of theirs is first used (PEP 562).

The config's models take longer to import than the editor may take to appear, and most commands need few of the names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """A `__getattr__` for `package`, whose names live in its modules as `homes` says (module to names)."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home}"), name)

    return find
