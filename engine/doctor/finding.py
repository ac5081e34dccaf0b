"""What the doctor finds: a problem, and with it the repair it offers where there is a safe one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import EllipsisType
from typing import Any, Self

from engine.disk import dump_json, json_line, parse_json, read_bytes
from engine.errors import Problem, StonehandError
from engine.json_text import dotted
from engine.text import collapse_space

LONGEST = 300
"""Characters of a message; ids in a file can be any text."""

Edit = Callable[[bytes | None], bytes | None]
"""The bytes a file is to have instead of those it has; None is no file."""


class Kind(StrEnum):
    """The repairs there are, by the name they are asked for."""

    OLD_ID = "old-id"
    OLD_TOOL = "old-tool"
    OVERRIDE = "override"
    BLOCK_ORDER = "block-order"
    BLOCK_ID = "block-id"
    BLOCK_NAME = "block-name"
    CONFIG = "config"
    CHAIN = "chain"
    ASSOCIATIONS = "associations"
    FRAGMENT_ORDER = "fragment-order"
    FRAGMENT_ID = "fragment-id"
    PLACEMENT = "placement"
    REFERENCES = "references"
    BRANCHES = "branches"
    META = "meta"
    LEFTOVER = "leftover"
    UNREADABLE = "unreadable"
    LAYOUT = "layout"


@dataclass(frozen=True, slots=True)
class Repair:
    """A change that mends one fault. Nothing happens until it is carried out (`engine.doctor.repair`).

    `edit` is pure and finds what it changes by its value, so that the repairs of one file can follow each other in any
    order; `seen` is what the file held when it was examined (left out: whatever it holds). A repair that moves a file
    or a whole folder has `act` instead, which is called once `file` was copied to the backups.
    """

    kind: Kind
    description: str
    file: Path
    edit: Edit | None = None
    seen: bytes | EllipsisType | None = ...
    act: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Finding(Problem):
    """A problem, and the repair that is offered for it."""

    offered: Repair | None = field(default=None, compare=False)

    @classmethod
    def of(cls, problem: Problem, offered: Repair | None = None, message: str = "", advice: str = "") -> Self:
        """A problem that reading reported; with another message or advice where the doctor knows better."""
        what = offered.description if offered is not None else "correct it in a text editor"
        return cls(
            one_line(message or problem.message),
            problem.file,
            one_line(problem.field),
            problem.line,
            advice or problem.repair or what,
            offered,
        )


class JsonSource:
    """A JSON file as it is examined: makes findings with the line of a value, and repairs that edit it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self.data = read_bytes(file)
        except StonehandError:
            self.data = None  # whoever reads the file for its content reports it
        self._text = (self.data or b"").decode("utf-8-sig", "replace")

    def found(self, message: str, path: tuple[str | int, ...], advice: str, offered: Repair | None = None) -> Finding:
        """A finding at the value that `path` leads to."""
        return Finding(
            one_line(message), self.file, one_line(dotted(path)), json_line(self._text, path), advice, offered
        )

    def repair(self, kind: Kind, description: str, change: Callable[[Any], None], new: Any = None) -> Repair:
        """A repair that changes the parsed document in place; what it does not touch is written as it was read.

        Where there is no file, the document `new` is changed and written, if one is given.
        """
        file = self.file

        def edit(data: bytes | None) -> bytes | None:
            if data is None and new is None:
                return None
            value = copy.deepcopy(new) if data is None else parse_json(data, file)
            before = None if data is None else dump_json(value)
            change(value)
            after = dump_json(value)  # not compared by `==`, to which false is 0
            return data if after == before else after

        return Repair(kind, one_line(description), file, edit, self.data)


def set_aside(file: Path, seen: bytes, what: str) -> Repair:
    """The repair that takes a file away that nobody can read; as before every repair, a copy is kept."""
    return Repair(Kind.UNREADABLE, f"set it aside: {what}", file, lambda data: None, seen)


def one_line(text: str) -> str:
    """A text with names from a file in it, on one line of a length that can be read."""
    text = collapse_space(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def listed(values: Any) -> list[Any]:
    """A value of a JSON document that should be a list; an empty one when it is something else."""
    return values if isinstance(values, list) else []


def mapped(values: Any) -> dict[str, Any]:
    """A value of a JSON document that should be an object; an empty one when it is something else."""
    return values if isinstance(values, dict) else {}
