"""`Bases`: what prompts were built from lately, with what their scripts gave."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from operator import is_

from engine.blocks.apply import ScriptResult
from engine.prompt import Base

KEPT_BASES = 8
"""Prompt bases kept for reuse: agents and author inputs gone back to."""
KEPT_RESULTS = 200
"""Script results kept per base: bodies typed or undone to."""
PASSING = ("cancelled", "engine")
"""Kinds of script results that are not kept: the script has not run, or not to its end."""


class Bases:
    """The bases used last, by all that decides what they are. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bases: dict[tuple[object, ...], tuple[Base, dict[str, ScriptResult]]] = {}

    def known(self, key: tuple[object, ...], made_of: tuple[object, ...]) -> Base | None:
        with self._lock:
            known = self._bases.pop(key, None)
            if known is None:
                return None
            given = known[0].given
            if not all(map(is_, (given.snapshot, given.writer_config, given.instruction), made_of)):
                return None
            self._bases[key] = known  # last again: the one longest unused goes first
            return known[0]

    def results(self, base: Base) -> dict[str, ScriptResult]:
        with self._lock:
            return next((dict(results) for kept, results in self._bases.values() if kept is base), {})

    def keep_results(
        self, base: Base, results: Mapping[str, ScriptResult], *, replace: bool = False
    ) -> dict[str, ScriptResult]:
        """Remember what scripts gave and return what is remembered. Without `replace` a body's first result stands."""
        with self._lock:
            known = next((known for kept, known in self._bases.values() if kept is base), {})
            for body, result in results.items():
                if result.kind not in PASSING and (replace or body not in known):
                    known[body] = result
            while len(known) > KEPT_RESULTS:
                known.pop(next(iter(known)))
            return {body: known[body] for body in results if body in known}

    def add(self, key: tuple[object, ...], made_of: tuple[object, ...], base: Base) -> Base:
        """Remember a base and return it, or the one another thread built meanwhile: its scripts may have run."""
        with self._lock:
            if (known := self.known(key, made_of)) is not None:
                return known
            self._bases[key] = (base, {})
            while len(self._bases) > KEPT_BASES:
                self._bases.pop(next(iter(self._bases)))
        return base
