"""Changing a fragment the way the reference does: what it was is kept as a version (spec, section 1.6).

A write is made of the file as it is then. Of what another program changed meanwhile, only the fields that are to change
count: those it changed too are a conflict, the rest is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engine.errors import Conflict, InvalidFile
from engine.story.branches import now_iso
from engine.story.fragment import Fragment, fragment_of
from engine.story.saving import FileEdit, edit_document
from engine.text import Phrase

VERSIONED: Final = ("name", "description", "content")
"""The fields whose change makes a version."""


@dataclass(frozen=True, slots=True)
class FragmentState:
    """What can be changed about a fragment."""

    name: str
    description: str
    content: str
    archived: bool = False

    @classmethod
    def of(cls, fragment: Fragment) -> FragmentState:
        return cls(fragment.name, fragment.description, fragment.content, fragment.archived)

    def changed_to(self, other: FragmentState) -> dict[str, str | bool]:
        """The fields in which `other` differs, with its values."""
        fields: dict[str, str | bool] = {}
        for name in (*VERSIONED, "archived"):
            value = getattr(other, name)
            if value != getattr(self, name):
                fields[name] = value
        return fields


def revise(file: Path, before: FragmentState, after: FragmentState, reason: str) -> FileEdit | None:
    """Change a fragment from what was shown to what it is to be; None when it is so already.

    `reason` stands in the version that keeps what it was. Raises `NotFound` when the file is gone, `Conflict` when a
    field that is to change is not as it was shown, and as writing does.
    """
    fields = before.changed_to(after)

    def change(document: dict[str, Any]) -> dict[str, Any]:
        found = FragmentState.of(fragment_of(document, file))
        if found == replace(found, **fields):  # type: ignore[arg-type]
            return document
        for name in fields:
            if getattr(found, name) != getattr(before, name):
                raise Conflict(
                    Phrase("the fragment's {name} was changed by another program; nothing was overwritten", name=name),
                    file=file,
                    field=name,
                    repair="look at it again",
                )
        return revised(document, fields, reason, now_iso(), file)

    return edit_document(file, change)


def revised(
    document: Mapping[str, Any], fields: Mapping[str, Any], reason: str, now: str, file: Path
) -> dict[str, Any]:
    """`document` with other values of `fields`, and its version before if one of the versioned fields differs.

    `now` is the time of the change. Raises `InvalidFile` for versions that are no list, which would be lost.
    """
    changed = {**document, **fields}
    if all(changed.get(name) == document.get(name) for name in VERSIONED):
        return changed
    versions = document.get("versions")
    if versions is not None and not isinstance(versions, list | tuple):
        raise InvalidFile("is not a list", file=file, field="versions", repair="repair it in a text editor")
    number = document.get("version")
    if not isinstance(number, int | float) or isinstance(number, bool):
        number = 1
    kept = {
        "version": number,
        **{name: document.get(name, "") for name in VERSIONED},
        "createdAt": now,
        **({"reason": reason} if reason else {}),
    }
    return {**changed, "version": number + 1, "versions": [*(versions or ()), kept]}
