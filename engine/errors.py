"""Errors and problems a person reads: what is wrong, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from engine.text import Phrase


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file, found while reading; never raised, always reported.

    `message` says what, in one line; `file`, `field` (dotted path inside the file) and `line`
    (1-based) say where; `repair` says what to do.
    """

    message: str
    file: Path | None = None
    field: str = ""
    line: int | None = None
    repair: str = ""

    def where(self) -> str:
        """`file:line (field)`, as much of it as is known, or the empty string."""
        place = str(self.file) if self.file is not None else ""
        if place and self.line is not None:
            place += f":{self.line}"
        if self.field:
            place += f" ({self.field})" if place else self.field
        return place

    def __str__(self) -> str:
        return str(self.told())

    def told(self) -> Phrase:
        """Where, what and what to do about it in one line, as a text that can be told in another language."""
        where, message = self.where(), Phrase.of(self.message)
        text = Phrase("{where}: {message}", where=where, message=message) if where else message
        return Phrase("{text} — {repair}", text=text, repair=Phrase.of(self.repair)) if self.repair else text


class StonehandError(Exception):
    """A failure that is the user's to understand: its text is one clear line, never a traceback.

    Raised with the same parts as a `Problem`, which is kept as `problem`.
    """

    def __init__(
        self,
        message: str,
        *,
        file: Path | None = None,
        field: str = "",
        line: int | None = None,
        repair: str = "",
    ) -> None:
        self.problem = Problem(message, file, field, line, repair)
        super().__init__(str(self.problem))

    @classmethod
    def of(cls, problem: Problem, repair: str = "") -> Self:
        """A reported problem as the failure it has become, with another way to mend it if one is given."""
        return cls(
            problem.message,
            file=problem.file,
            field=problem.field,
            line=problem.line,
            repair=repair or problem.repair,
        )


class NotFound(StonehandError):
    """A story, branch, agent or block that was named does not exist."""


class InvalidFile(StonehandError):
    """A file can't be used as it is; it was left alone."""


class Conflict(StonehandError):
    """Another program changed a file since it was loaded; nothing was overwritten."""


class WrongInput(StonehandError):
    """A value given by the caller is not acceptable (wrong usage: exit code 2)."""
