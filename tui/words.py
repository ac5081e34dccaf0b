"""Words, as ctrl+arrow and a double click know them.

A word is a run of letters and digits of one script: in a text without spaces, as Chinese and Japanese, the runs of Han,
Hiragana, Katakana and Hangul and the punctuation between them are where one stops.
"""

from __future__ import annotations

from tui.graphemes import joins

_SCRIPTS = (
    ("han", ((0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
             (0xF900, 0xFAFF), (0x20000, 0x3FFFF))),
    ("hiragana", ((0x3041, 0x309F),)),
    ("katakana", ((0x30A0, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F))),
    ("thai", ((0x0E00, 0x0E7F),)),
)  # fmt: skip


def word_left(line: str, column: int) -> int:
    """The start of the word before `column`; white space on the way is passed."""
    while column > 0 and line[column - 1].isspace():
        column -= 1
    if column > 0:
        kind = _kind(line, column - 1)
        while column > 0 and _kind(line, column - 1) == kind:
            column -= 1
    return column


def word_right(line: str, column: int) -> int:
    """The end of the word at or behind `column`; white space on the way is passed."""
    while column < len(line) and line[column].isspace():
        column += 1
    return _end(line, column)


def word_at(line: str, column: int) -> tuple[int, int]:
    """Where the word, the punctuation or the space under `column` begins and ends."""
    if not line:
        return 0, 0
    column = min(column, len(line) - 1)
    start, kind = column, _kind(line, column)
    while start > 0 and _kind(line, start - 1) == kind:
        start -= 1
    return start, _end(line, column)


def _end(line: str, column: int) -> int:
    if column < len(line):
        kind = _kind(line, column)
        while column < len(line) and _kind(line, column) == kind:
            column += 1
    return column


def _kind(line: str, column: int) -> str:
    """What run a character belongs to; a mark goes with what it stands on."""
    while joins(line, column):
        column -= 1
    char = line[column]
    if char.isspace():
        return "space"
    code = ord(char)
    if code >= 0x0E00:
        for name, ranges in _SCRIPTS:
            if any(first <= code <= last for first, last in ranges):
                return name
    return "word" if char.isalnum() or char == "_" else "other"
