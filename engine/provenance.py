"""Where the characters of a text come from, followed through the making of a prompt when somebody asks.

Whoever renders something says so with `sourced`, and whoever puts texts together uses `join`, `strip` and `substitute`.
Inside `tracing` these texts carry their origins along; outside it, they are the plain texts and nothing is remembered.
The characters are the same either way.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from operator import itemgetter
from typing import NamedTuple

_tracing: ContextVar[bool] = ContextVar("tracing", default=False)


class Origin(NamedTuple):
    """Characters `start` to `end` of a text were made of something: a `kind` of thing, its `name`, and the `form` it
    was given (see `sourced`).
    """

    start: int
    end: int
    kind: str
    name: str
    form: str = ""


class TracedText(str):
    """A text that knows its origins, an outer one before those inside it."""

    __slots__ = ("origins",)
    origins: tuple[Origin, ...]


@contextmanager
def tracing() -> Iterator[None]:
    """Have texts that are made inside, on this thread, carry their origins."""
    token = _tracing.set(True)
    try:
        yield
    finally:
        _tracing.reset(token)


def origins_of(text: str) -> tuple[Origin, ...]:
    """The origins a text carries; none for one that was not traced."""
    return text.origins if isinstance(text, TracedText) else ()


def sourced(text: str, kind: str, name: str, form: str = "") -> str:
    """`text`, which was made of the thing of this kind and name: a fragment in a form, an instruction, a script …"""
    if not _tracing.get() or not text:
        return text
    return _traced(text, (Origin(0, len(text), kind, name, form), *origins_of(text)))


def join(separator: str, parts: Iterable[str]) -> str:
    """`separator.join(parts)`."""
    if not _tracing.get():
        return separator.join(parts)
    pieces = list(parts)
    origins: list[Origin] = []
    at = 0
    for piece in pieces:
        origins += (_shifted(origin, at) for origin in origins_of(piece))
        at += len(piece) + len(separator)
    return _traced(separator.join(pieces), origins)


def strip(text: str, characters: str) -> str:
    """`text.strip(characters)`."""
    stripped = text.strip(characters)
    if not isinstance(text, TracedText):
        return stripped
    gone = len(text) - len(text.lstrip(characters))
    cut = (
        origin._replace(start=max(0, origin.start - gone), end=min(len(stripped), origin.end - gone))
        for origin in text.origins
    )
    return _traced(stripped, [origin for origin in cut if origin.start < origin.end])


def substitute(pattern: re.Pattern[str], insert: Callable[[re.Match[str]], str], text: str) -> str:
    """`pattern.sub(insert, text)`, for a pattern that does not match the empty text."""
    if not _tracing.get():
        return pattern.sub(insert, text)
    pieces: list[str] = []
    inserted: list[Origin] = []
    steps: list[_Step] = []
    at = length = 0
    for match in pattern.finditer(text):
        new = insert(match)
        pieces += (text[at : match.start()], new)
        length += match.start() - at
        inserted += (_shifted(origin, length) for origin in origins_of(new))
        steps.append((match.start(), match.end(), length, length + len(new)))
        at, length = match.end(), length + len(new)
    pieces.append(text[at:])
    moved = (
        origin._replace(start=_moved(origin.start, steps, False), end=_moved(origin.end, steps, True))
        for origin in origins_of(text)
    )
    return _traced("".join(pieces), [*(origin for origin in moved if origin.start < origin.end), *inserted])


_Step = tuple[int, int, int, int]
"""A replacement: its start and end in the old text, and in the new one."""


def _moved(offset: int, steps: list[_Step], end: bool) -> int:
    """Where a place of the old text is in the new one; inside what was replaced, its start or its end."""
    before = bisect_left(steps, offset, key=itemgetter(0)) - 1
    if before < 0:
        return offset
    _, old_end, new_start, new_end = steps[before]
    if offset < old_end:
        return new_end if end else new_start
    return offset + new_end - old_end


def _shifted(origin: Origin, by: int) -> Origin:
    start, end, kind, name, form = origin
    return Origin(start + by, end + by, kind, name, form) if by else origin


def _traced(text: str, origins: Iterable[Origin]) -> str:
    traced = TracedText(text)
    traced.origins = tuple(origins)
    return traced
