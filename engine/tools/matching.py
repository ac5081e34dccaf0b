"""Replacing passages of a text. What is looked for and what is put in are plain text: no pattern, no `$` (bug 22)."""

from __future__ import annotations


def count(text: str, old: str) -> int:
    """How often `old` occurs in `text`, none overlapping another."""
    return text.count(old)


def replace_all(text: str, old: str, new: str) -> str:
    """`text` with every occurrence replaced; what was put in is not looked at again."""
    return text.replace(old, new)


def replace_one(text: str, old: str, new: str, occurrence: int) -> str:
    """`text` with the occurrence of that number (from 1) replaced, of those `count` counts. It must be there."""
    at = -len(old)
    for _ in range(occurrence):
        at = text.index(old, at + len(old))
    return text[:at] + new + text[at + len(old) :]
