"""What the command line writes: results on standard output, messages on standard error.

Results are UTF-8 whatever the locale, byte for byte when they go to a file or pipe. On a terminal the text of stories,
models and scripts is made inert first. It loads neither Textual nor Rich, so that a command starts at once.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from engine.errors import StonehandError

PROGRAM = "stonehand"
DONE, FAILED, WRONG_USAGE, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143
"""Exit codes."""

# C0 without tab and line feed, DEL, C1, what reorders the text around it, and halves of characters.
_ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = re.compile("\r\n|[\n\r\v\f\x85\u2028\u2029]")


class OutputClosed(Exception):
    """Whoever read standard output has gone (`… | head`): there is nothing to do and nothing to say."""


def write(text: str) -> None:
    """Write a result to standard output and flush it.

    A lone surrogate is written as its escape, which is also what JSON needs. Raises `OutputClosed` when the reader has
    gone, `StonehandError` when it can't be written.
    """
    stream = sys.stdout
    if stream is None:
        raise StonehandError("standard output is closed")
    if stream.isatty():
        text = inert(text)
    try:
        stream.flush()
        _write_all(stream.buffer, text.encode("utf-8", "backslashreplace"))
        stream.buffer.flush()
    except OSError as error:
        _abandon(stream.buffer)
        # Windows says EINVAL where others say EPIPE.
        if error.errno == errno.EPIPE or (os.name == "nt" and error.errno == errno.EINVAL):
            raise OutputClosed from None
        raise StonehandError(f"standard output can't be written: {(error.strerror or str(error)).lower()}") from None


def write_json(value: Any) -> None:
    """Write one JSON document to standard output."""
    write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def message(text: str) -> None:
    """One line on standard error; nowhere when that is closed."""
    if sys.stderr is None:
        return
    with suppress(OSError):
        sys.stderr.write(f"{PROGRAM}: {one_line(text)}\n")
        sys.stderr.flush()


def inert(text: str) -> str:
    """`text` with a stand-in for every character that acts on a terminal; line feeds and tabs stay."""
    return _ACTIVE.sub(_stand_in, text)


def one_line(text: str) -> str:
    """`text` made inert and on one line: `␊` for line breaks, a space for a tab."""
    return inert(_BREAKS.sub("␊", text).replace("\t", " "))


def cell_width(text: str) -> int:
    """Terminal cells that `text` (of one line) takes: none for marks, two for wide characters."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows under their header in aligned columns two spaces apart; those of the indexes `right` flush right.

    On a terminal the last column is cut to its width.
    """
    lines = [header, *([one_line(cell) for cell in row] for row in rows)]
    last = len(header) - 1
    widths = [max(cell_width(line[column]) for line in lines) for column in range(last + 1)]
    room = None
    if sys.stdout is not None and sys.stdout.isatty():
        room = shutil.get_terminal_size().columns - sum(widths[:last]) - 2 * last
    text = ""
    for line in lines:
        cells = [_pad(line[column], widths[column], column in right) for column in range(last)]
        end = line[last] if room is None else _cut(line[last], max(room, 8))
        text += "  ".join([*cells, _pad(end, widths[last], True) if last in right else end]).rstrip() + "\n"
    return text


def _stand_in(match: re.Match[str]) -> str:
    char = match[0]
    if char < " ":
        return chr(0x2400 + ord(char))
    return "␡" if char == "\x7f" else "�"


def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_width(text))
    return space + text if right else text + space


def _cut(text: str, width: int) -> str:
    if cell_width(text) <= width:
        return text
    used, kept = 1, ""
    for char in text:
        used += _cells(char)
        if used > width:
            break
        kept += char
    return kept + "…"


def _write_all(stream: BinaryIO, data: bytes) -> None:
    # With PYTHONUNBUFFERED the stream is the bare file, which may take a part and say so.
    rest = memoryview(data)
    while rest:
        written = stream.write(rest)
        if written is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        rest = rest[written:]


def _abandon(stream: BinaryIO) -> None:
    """Send what is still buffered to nowhere, or the interpreter would complain about it when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
