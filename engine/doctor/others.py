"""Generation logs, and the files that belong to others: only whether they can be read at all; and, of all files, keys
that are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.disk import parse_json, read_bytes, repeated_keys
from engine.doctor.finding import Finding, set_aside
from engine.errors import StonehandError

_LOGS: Final = "generation-logs/gen-*.json"
_BRANCH: Final = ("librarian/**/*.json", "character-chat/**/*.json")
_STORY: Final = ("folders.json", "token-usage.json")


def log_findings(root: Path) -> Iterator[Finding]:
    """Generation logs of a branch that can't be replayed, and files of the librarian and the chats that are no JSON."""
    for file in sorted(root.glob(_LOGS)):
        value, finding = _read(file)
        if finding is not None:
            yield finding
        elif not isinstance(value, dict) or not isinstance(value.get("messages"), list):
            yield Finding(
                "is not a generation log: an object with a list of messages was expected",
                file,
                "messages",
                1,
                "restore it from a backup, or remove it",
                set_aside(file, read_bytes(file) or b"", "generations go on without it"),
            )
    for pattern in _BRANCH:
        yield from _unreadable(sorted(root.glob(pattern)))


def story_file_findings(story: Path) -> Iterator[Finding]:
    """Files beside `meta.json` that are no JSON."""
    yield from _unreadable([story / name for name in _STORY])


def repeated_key_findings(story: Path) -> Iterator[Finding]:
    """Keys that stand in an object twice, in every JSON file of a story; links are left to those they lead to."""
    for file in sorted(story.rglob("*.json")):
        if file.is_symlink() or not file.is_file():
            continue
        try:
            data = read_bytes(file)
        except StonehandError:  # told where it is read for its content
            continue
        yield from map(Finding.of, repeated_keys(file, data or b""))


def _unreadable(files: list[Path]) -> Iterator[Finding]:
    for file in files:
        _, finding = _read(file)
        if finding is not None:
            yield finding


def _read(file: Path) -> tuple[object, Finding | None]:
    data = None
    try:
        data = read_bytes(file)
        return (None if data is None else parse_json(data, file)), None
    except StonehandError as error:
        offered = None if data is None else set_aside(file, data, "its program makes a new one when it needs it")
        return None, Finding.of(error.problem, offered)
