"""The order and the places of pinned fragments: `settings` in a story's meta, `placement` in a fragment's file.

Source: spec, sections 1.4, 2.4 and 12.9. A write is made of the file as it is then, and compared with what was shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import Conflict, InvalidFile
from engine.story.saving import FileEdit, edit_document

_SETTINGS, _ORDER, _MODE = "settings", "fragmentOrder", "contextOrderMode"


def set_order(meta: Path, ids: Sequence[str], shown: Sequence[str]) -> FileEdit | None:
    """Make `ids` the order; None when it is that already.

    Ids that only the file has stay behind those they stand behind. Raises `Conflict` when the file's order is not
    `shown` any more, and as writing does.
    """

    def change(document: dict[str, Any]) -> dict[str, Any]:
        settings = _settings(document, meta)
        found = settings.get(_ORDER)
        before = () if found is None else found
        if not isinstance(before, list | tuple) or not all(isinstance(item, str) for item in before):
            raise InvalidFile(
                "is not a list of texts", file=meta, field=f"{_SETTINGS}.{_ORDER}", repair="repair it in a text editor"
            )
        if list(before) != list(shown):
            raise Conflict(
                "the order of fragments was changed by another program", file=meta, repair="look at it again"
            )
        return {**document, _SETTINGS: {**settings, _ORDER: _merged(ids, before)}}

    return edit_document(meta, change)


def set_mode(meta: Path, mode: str) -> FileEdit | None:
    """Choose how the context is ordered, `simple` or `advanced`; None when it is so already."""

    def change(document: dict[str, Any]) -> dict[str, Any]:
        settings = _settings(document, meta)
        if settings.get(_MODE, "simple") == mode:
            return document
        return {**document, _SETTINGS: {**settings, _MODE: mode}}

    return edit_document(meta, change)


def set_placement(file: Path, placement: str, shown: str) -> FileEdit | None:
    """Choose the message a fragment becomes part of; None when it is that one already.

    Raises `Conflict` when its placement is not `shown` any more, and as writing does.
    """

    def change(document: dict[str, Any]) -> dict[str, Any]:
        found = document.get("placement")
        if ("user" if found is None else str(found)) != shown:
            raise Conflict("the fragment was placed elsewhere by another program", file=file, repair="look at it again")
        return document if placement == shown else {**document, "placement": placement}

    return edit_document(file, change)


def _settings(document: dict[str, Any], meta: Path) -> dict[str, Any]:
    settings = document.get(_SETTINGS)
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise InvalidFile("is not an object", file=meta, field=_SETTINGS, repair="repair it in a text editor")
    return settings


def _merged(ids: Sequence[str], before: Sequence[str]) -> list[str]:
    """`ids` with what only `before` has, each behind the one of `ids` it stood behind."""
    listed = dict.fromkeys(ids)
    followers: dict[str | None, list[str]] = {}
    anchor: str | None = None
    for item in dict.fromkeys(before):
        if item in listed:
            anchor = item
        else:
            followers.setdefault(anchor, []).append(item)
    order = list(followers.get(None, []))
    for item in listed:
        order += [item, *followers.get(item, [])]
    return order
