"""The tokens of a script, as far as it takes to tell its names and texts from its comments, patterns and templates.

For looking at scripts that are not run. Nothing is refused: what is no JavaScript gives tokens of some kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Token:
    """A name, word or number (`name`), a text without escapes or `${…}` by what it says (`text`), one mark (`mark`), or
    the end of any other literal (`other`). `line` is 1-based.
    """

    kind: Literal["name", "text", "mark", "other"]
    value: str
    line: int


_SPACE: Final = re.compile(r"(?:\s+|//[^\n\r\u2028\u2029]*+|/\*.*?(?:\*/|\Z))+", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""(?P<text>"(?:[^"\\\n\r]|\\.)*+"|'(?:[^'\\\n\r]|\\.)*+')|(?P<name>[\w$]+)|\?\.|.""", re.DOTALL
)
_PATTERN: Final = re.compile(r"/(?:[^/\\\[\n\r]|\\.|\[(?:[^\]\\\n\r]|\\.)*+\])++/[\w$]*")
_TEMPLATE: Final = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*+", re.DOTALL)

_OPERATORS: Final = frozenset(
    ("return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "throw", "new", "await", "yield")
)
"""Words behind which a slash begins a pattern, where behind any other it divides."""


def tokens(body: str) -> Iterator[Token]:
    """The tokens of a script in order, those of the expressions in its templates among them."""
    at, counted, line = 0, 0, 1
    braces: list[int] = []
    """For each `${` that is open, the braces opened since."""
    last: Token | None = None
    while True:
        if (space := _SPACE.match(body, at)) is not None:
            at = space.end()
        if at >= len(body):
            return
        line += body.count("\n", counted, at)
        counted = at
        char = body[at]
        if char == "`" or (char == "}" and braces and braces[-1] == 0):
            text = body[at + 1 : (end := _end(_TEMPLATE, body, at + 1))]
            if char == "}":
                braces.pop()
            if body.startswith("${", end):
                braces.append(0)
                last, at = Token("mark", "${", line), end + 2
            else:
                plain = char == "`" and "\\" not in text
                last, at = Token("text" if plain else "other", text if plain else "`", line), end + 1
        elif char == "/" and _opens_pattern(last) and (pattern := _PATTERN.match(body, at)) is not None:
            last, at = Token("other", "/", line), pattern.end()
        else:
            found = _TOKEN.match(body, at)
            assert found is not None  # its last branch is any character
            last, at = _token(found, line), found.end()
            if braces and last.value in ("{", "}") and last.kind == "mark":
                braces[-1] += 1 if last.value == "{" else -1
        yield last


def _end(pattern: re.Pattern[str], body: str, at: int) -> int:
    found = pattern.match(body, at)
    return at if found is None else found.end()


def _token(found: re.Match[str], line: int) -> Token:
    if found["name"] is not None:
        return Token("name", found[0], line)
    if found["text"] is None:
        return Token("mark", found[0], line)
    text = found[0][1:-1]
    return Token("other", found[0][0], line) if "\\" in text else Token("text", text, line)


def _opens_pattern(last: Token | None) -> bool:
    if last is None:
        return True
    if last.kind == "name":
        return last.value in _OPERATORS
    return last.kind == "mark" and last.value not in (")", "]", "}")
