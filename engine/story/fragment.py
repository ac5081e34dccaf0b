"""`Fragment`: one JSON document of story material (spec, sections 1.2 and 1.6).

Reading is tolerant: what is missing or of the wrong kind gets its default and is reported, unknown keys are
kept, and only a document without a usable type or content is given up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.disk import compact_json, json_line, parse_json
from engine.errors import InvalidFile, Problem
from engine.text import Phrase

PLACEMENTS: Final = ("system", "user")
STICKY_TYPES: Final = frozenset(("guideline",))
"""The types whose new fragments are pinned."""
NO_META: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """One fragment as it was read.

    `id` is the file's name without `.json`, which is what addresses it; `placement` any string (only
    `system` and `user` mean something); `order` any number; `raw` the whole document with its unknown keys,
    not to be changed.
    """

    id: str
    type: str
    name: str
    description: str
    content: str
    tags: tuple[str, ...]
    sticky: bool
    placement: str
    created_at: str
    order: int | float
    meta: Mapping[str, Any]
    archived: bool
    raw: Mapping[str, Any]

    @property
    def sort_key(self) -> tuple[int | float, str]:
        """The order inside a type (spec, section 2.4): `order`, then the time of creation as text."""
        return (self.order, self.created_at)


def json_text(fragment: Fragment) -> str:
    """The fragment as a script sees it: the document with the three fields that reading normalises (spec,
    1.2).
    """
    raw = fragment.raw
    versions = raw.get("versions")
    return compact_json(
        {
            **raw,
            "id": fragment.id,
            "archived": fragment.archived,
            "version": 1 if raw.get("version") is None else raw["version"],
            "versions": versions if isinstance(versions, list) else [],
        }
    )


def parse_fragment(file: Path, data: bytes) -> tuple[Fragment, tuple[Problem, ...]]:
    """The fragment in a file, and what is wrong with it but does not stand in the way.

    Raises `InvalidFile` when it is no JSON object or has no usable type or content.
    """
    raw = parse_json(data, file)
    stem = file.name.removesuffix(".json")
    if not isinstance(raw, dict):
        raise InvalidFile(
            "is not a fragment: a JSON object was expected", file=file, line=1, repair="repair or delete it"
        )
    return _Reader(file, data, raw).fragment(stem)


def fragment_of(raw: Mapping[str, Any], file: Path) -> Fragment:
    """The fragment a document gives when written to `file`. Raises as `parse_fragment`."""
    return _Reader(file, b"", raw).fragment(file.name.removesuffix(".json"))[0]


def new_document(
    fragment_id: str,
    fragment_type: str,
    name: str,
    description: str,
    content: str,
    now: str,
    *,
    meta: Mapping[str, Any] = NO_META,
) -> dict[str, Any]:
    """The document of a new fragment, with every field the reference writes; `now` is the time of its creation.

    One of a type that is pinned from the start (spec, section 2.1) is pinned.
    """
    return {
        "id": fragment_id,
        "type": fragment_type,
        "name": name,
        "description": description,
        "content": content,
        "tags": [],
        "refs": [],
        "sticky": fragment_type in STICKY_TYPES,
        "placement": "user",
        "createdAt": now,
        "updatedAt": now,
        "order": 0,
        "meta": dict(meta),
        "archived": False,
        "version": 1,
        "versions": [],
    }


class _Reader:
    """Takes the fields of one document, collecting problems; lines are looked up only when there is one."""

    def __init__(self, file: Path, data: bytes, raw: Mapping[str, Any]) -> None:
        self._file = file
        self._data = data
        self._raw = raw
        self._problems: list[Problem] = []

    def fragment(self, stem: str) -> tuple[Fragment, tuple[Problem, ...]]:
        raw = self._raw
        type_, content = raw.get("type"), raw.get("content")
        if not isinstance(type_, str) or not type_:
            raise self._unusable("type")
        if not isinstance(content, str):
            raise self._unusable("content")
        if raw.get("id") != stem:
            self._report("id", Phrase("differs from the file's name, which counts: {stem}", stem=stem))
        tags = raw.get("tags")
        if tags is not None and (not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags)):
            self._report("tags", "is not a list of texts; what is no text was left out")
            tags = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else None
        placement = raw.get("placement")
        if placement is None:
            placement = "user"
        elif placement not in PLACEMENTS:
            self._report("placement", "is neither system nor user, so the fragment is in neither message when pinned")
            placement = str(placement)
        order = raw.get("order")
        if order is None or isinstance(order, bool) or not isinstance(order, int | float):
            if order is not None:
                self._report("order", "is not a number; 0 was used")
            order = 0
        meta = raw.get("meta")
        if not isinstance(meta, dict):
            if meta is not None:
                self._report("meta", "is not an object; it was left out")
            meta = NO_META
        fragment = Fragment(
            id=stem,
            type=type_,
            name=self._text("name", stem),
            description=self._text("description", ""),
            content=content,
            tags=tuple(tags) if tags else (),
            sticky=self._flag("sticky"),
            placement=placement,
            created_at=self._text("createdAt", "", required=False),
            order=order,
            meta=meta,
            archived=self._flag("archived"),
            raw=raw,
        )
        return fragment, tuple(self._problems)

    def _text(self, key: str, default: str, *, required: bool = True) -> str:
        value = self._raw.get(key)
        if isinstance(value, str):
            return value
        if required or value is not None:
            shown = Phrase("{default!r} was used", default=default) if default else Phrase("it was left empty")
            self._report(
                key,
                Phrase(
                    "{value}; {shown}", value=Phrase("is missing" if value is None else "is not a text"), shown=shown
                ),
            )
        return default

    def _flag(self, key: str) -> bool:
        value = self._raw.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        self._report(key, Phrase("is neither true nor false; {reason} was used", reason=str(bool(value)).lower()))
        return bool(value)

    def _report(self, key: str, message: str) -> None:
        self._problems.append(Problem(message, self._file, key, self._line(key)))

    def _unusable(self, key: str) -> InvalidFile:
        what = "must be a text" if key in self._raw else "is missing"
        if self._raw.get(key) == "":
            what = "is empty"
        return InvalidFile(
            Phrase("{what}, so the fragment was skipped", what=Phrase.of(what)),
            file=self._file,
            field=key,
            line=self._line(key),
            repair="repair it in a text editor",
        )

    def _line(self, key: str) -> int | None:
        return json_line(self._data.decode("utf-8-sig", "replace"), (key,)) if self._data else None
