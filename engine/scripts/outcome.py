"""What a script may use, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.text import Phrase, listed

Kind = Literal[
    "ok",  # it returned a string
    "not_string",  # it returned something else: the block is left out
    "syntax",  # it could not be compiled
    "error",  # it threw, or can never finish
    "timeout",
    "cancelled",
    "memory",
    "stack",
    "too_long",  # the result, or the script itself
    "engine",  # not evaluated: no engine, or a fault of the engine
]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one evaluation may use (spec scripts, section 7)."""

    seconds: float = 1.0  # wall clock, host calls included
    memory: int = 128 << 20  # bytes of the guest's linear memory
    output: int = 1_000_000  # UTF-16 units of the result
    host_calls: int = 10_000  # ctx functions called and ctx fields read
    body: int = 256 << 10  # bytes of the script in UTF-8


PREVIEW_LIMITS = Limits(seconds=1.0)
RUN_LIMITS = Limits(seconds=5.0)
PROMPT_SECONDS = 15.0
"""For all script blocks of one prompt together."""

ERROR_TEXT = 4_000
"""UTF-16 units of an error message that are kept."""
CONSOLE_LINES = 200
CONSOLE_LENGTH = 4_000
"""UTF-16 units of one console line that are kept."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one evaluation gave.

    `text` is the returned string (kind `ok`), the type of what was returned instead (`not_string`: "number",
    "undefined", "array" …), or else one message for people; for a thrown error its message alone, without `name`
    ("TypeError"), as the reference's error block shows it. `thrown` is an object that is no error and was thrown, as
    JSON. `line` is 1-based in the script's own text, None where the engine does not know it. `console` holds one entry
    per call, `memory` the bytes the guest grew to.
    """

    kind: Kind
    text: str = ""
    line: int | None = None
    milliseconds: float = 0.0
    console: tuple[str, ...] = ()
    name: str = ""
    memory: int = 0
    thrown: str = ""

    @property
    def message(self) -> str:
        """The message of a failure, without its name; empty when the script ended by itself (`ok`, `not_string`)."""
        return "" if self.kind in ("ok", "not_string") else self.text

    def describe(self) -> str:
        """One line for a preview: "TypeError: x is not a function (line 3)"; empty when a string came back."""
        if self.kind == "ok":
            return ""
        if self.kind == "not_string":
            known = _RETURNED.get(self.text)
            return known or Phrase("returned a value of type {type}, not a string", type=self.text)
        said = self.thrown or self.text
        text = listed((self.name, said), ": ") if self.name and said else self.name or said
        return Phrase("{text} (line {line})", text=text, line=self.line) if self.line is not None else text


_RETURNED = {
    "undefined": "returned nothing",
    "null": "returned null",
    "object": "returned an object, not a string",
    "array": "returned an array, not a string",
}
