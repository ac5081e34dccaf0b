"""Which line of a script an error belongs to.

The guest compiles a script as `async function anonymous(ctx\\n) {\\n` + body, so the body starts on line 3. QuickJS-NG
0.15 notes no place for reading a variable or a property in a `return` and some other expressions: it then gives the
place before, or that of the function (spec scripts, section 4.11). The name in the message helps to find the line,
and where it doesn't, no line is better than a wrong one.
"""

from __future__ import annotations

import re

_BEFORE_BODY = 2
_FRAME = re.compile(r"^\s*at (.*?) ?\(<input>:(\d+):\d+\)\s*$", re.MULTILINE)
_SYNTAX = re.compile(r"^\s*at <input>:(\d+):\d+\s*$", re.MULTILINE)
_NAMED = re.compile(
    r"([\w$]+) is not defined$"
    r"|cannot (?:read|set) property '([\w$]+)' of "
    r"|ctx\.([\w$]+) (?:failed|can't be read) \("
)


def error_line(body: str, message: str, stack: str) -> int | None:
    """The 1-based line of `body` where an error arose, or None."""
    reported = _reported(stack)
    lines = body.split("\n")
    if reported is not None and not 1 <= reported <= len(lines):
        reported = None
    named = _NAMED.match(message)
    if named is None:
        return reported
    word = re.compile(rf"(?<![\w$]){re.escape(named[named.lastindex or 0])}(?![\w$])")
    first = reported or 1
    places = [number for number, line in enumerate(lines[first - 1 :], first) if word.search(line)]
    if not places or reported in places:
        return reported
    return places[0] if len(places) == 1 else None


def syntax_line(body: str, stack: str) -> tuple[int | None, bool]:
    """The 1-based line of a syntax error, and whether the script ended before it was complete."""
    found = _SYNTAX.search(stack)
    if found is None:
        return None, False
    number, last = int(found[1]) - _BEFORE_BODY, body.count("\n") + 1
    return (number, False) if 1 <= number <= last else (last, number > last)


def _reported(stack: str) -> int | None:
    frames = _FRAME.findall(stack)
    # Code made with eval or new Function counts its own lines: the script's own frame, the last `anonymous`, counts.
    evaluated = [index for index, (name, _) in enumerate(frames) if name == "<eval>"]
    if evaluated:
        frames = frames[evaluated[-1] + 1 :]
    if sum(name == "anonymous" for name, _ in frames) > 1:
        frames = [frame for frame in frames if frame[0] == "anonymous"][-1:]
    return int(frames[0][1]) - _BEFORE_BODY if frames else None
