"""`meta.json`: a story folder without one, settings that mean nothing, and what its fragment order names (spec,
sections 1.4 and 15, bug 32).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from engine.disk import dump_json
from engine.doctor.finding import Finding, JsonSource, Kind, Repair, listed, mapped
from engine.errors import StonehandError
from engine.json_text import dotted
from engine.story import StoryMeta
from engine.story.branches import now_iso
from engine.story.library import STORIES
from engine.story.render import type_label
from engine.text import is_blank, utf16_length

_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_TYPE_LIMITS: Final = (("name", 60), ("description", 250))
_RANGES: Final[tuple[tuple[tuple[str, ...], int, int | None], ...]] = (
    (("maxSteps",), 1, 50),
    (("generationLimits", "maxOutputTokens"), 256, 32768),
    (("summarizationThreshold",), 0, None),
    (("summaryCompact", "maxCharacters"), 100, None),
    (("summaryCompact", "targetCharacters"), 100, None),
)
"""Numbers that the format gives a range (spec, section 1.4)."""


def settings_findings(story: Path, meta: StoryMeta) -> Iterator[Finding]:
    """What the format does not allow in `meta.json`, and reading passes over: the id, a name that says nothing, types,
    numbers out of range.
    """
    source = JsonSource(story / "meta.json")
    if meta.raw.get("id") != story.name:

        def rename(value: Any) -> None:
            value["id"] = story.name

        yield source.found(
            f"differs from the folder's name, which counts: {story.name}",
            ("id",),
            "set it to the folder's name",
            source.repair(Kind.META, f"set the id to {story.name}", rename),
        )
    if isinstance(meta.raw.get("name"), str) and is_blank(meta.name):
        yield source.found("is blank, so the story has no name to be known by", ("name",), "give it one")
    settings = mapped(meta.raw.get("settings"))
    yield from _types(source, listed(settings.get("customFragmentTypes")))
    told = {problem.field for problem in meta.problems}
    for path, low, high in _RANGES:
        value: Any = settings
        for key in path:
            value = mapped(value).get(key)
        place = ("settings", *path)
        if dotted(place) in told or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if value < low or (high is not None and value > high) or value % 1:
            wanted = f"from {low} to {high}" if high is not None else f"of at least {low}"
            yield source.found(f"is {value:g}, where a whole number {wanted} is allowed", place, "correct the number")


def _types(source: JsonSource, types: list[Any]) -> Iterator[Finding]:
    first: set[str] = set()
    for index, item in enumerate(types):
        path: tuple[str | int, ...] = ("settings", "customFragmentTypes", index)
        kind = mapped(item).get("type")
        if not isinstance(kind, str) or not kind:
            continue  # reported with the field
        if kind in first:
            yield source.found(
                f"is a second type {kind}; the first one counts",
                path,
                "take it out, or give it another name",
            )
        elif not _TYPE.fullmatch(kind):
            yield source.found(
                f"{kind} can't be a type: use at most 40 of a to z, 0 to 9, - and _, a letter or digit first",
                (*path, "type"),
                "rename it, also in the fragments of this type",
            )
        for key, limit in _TYPE_LIMITS:
            text = item.get(key)
            if key == "name" and (text is None or (isinstance(text, str) and is_blank(text))):
                heading = text or type_label(kind, {})
                yield source.found(
                    f"the type {kind} has no name, so “{heading}” stands above its fragments",
                    (*path, key),
                    "give it one",
                )
            if text is None:
                continue
            if not isinstance(text, str):
                yield source.found(f"the {key} of the type {kind} is not a text", (*path, key), "make it one")
            elif utf16_length(text) > limit:
                yield source.found(
                    f"the {key} of the type {kind} is longer than {limit} characters", (*path, key), "shorten it"
                )
        first.add(kind)


def order_findings(story: Path, meta: StoryMeta, files: frozenset[str]) -> Iterator[Finding]:
    """Ids in `fragmentOrder` that no branch has a fragment of, or that stand there twice. `files`: those of all
    branches.
    """
    source = JsonSource(story / "meta.json")
    order = listed(mapped(meta.raw.get("settings")).get("fragmentOrder"))
    if not all(isinstance(item, str) for item in order):
        return  # reported with the field, which is not used
    seen: set[str] = set()
    for index, item in enumerate(order):
        path = ("settings", "fragmentOrder", index)
        if item in seen:
            yield source.found(
                f"the order names {item} a second time, which changes nothing: its first place counts",
                path,
                "take one of them out",
                source.repair(Kind.FRAGMENT_ORDER, f"leave only the first place of {item}", _once),
            )
        elif item not in files:

            def drop(value: Any, item: str = item) -> None:
                settings = value["settings"]
                settings["fragmentOrder"] = [other for other in settings["fragmentOrder"] if other != item]

            yield source.found(
                f"the order names {item}, which no branch has",
                path,
                "take it out",
                source.repair(Kind.FRAGMENT_ORDER, f"take {item} out of the order", drop),
            )
        seen.add(item)


def summary_findings(
    story: Path, meta: StoryMeta, hidden: Sequence[str], branches: Collection[str]
) -> Iterator[Finding]:
    """A summary from before there were summary fragments that is not used, as there are some (spec, section 3.3).

    `hidden` are those of `branches` with a summary fragment, archived or not.
    """
    if not hidden or is_blank(meta.summary):
        return
    where = "" if len(hidden) == len(branches) else f" in {', '.join(hidden)}"
    yield JsonSource(story / "meta.json").found(
        f"this summary is not used{where}, as there are summary fragments",
        ("summary",),
        "take over what is wanted of it into a summary fragment, and empty it",
    )


def _once(value: Any) -> None:
    settings = value["settings"]
    settings["fragmentOrder"] = list(dict.fromkeys(settings["fragmentOrder"]))


def missing_meta(data: Path) -> Iterator[Finding]:
    """Folders of a data folder's `stories` that hold something but no `meta.json`, so that they are no stories."""
    folder = data / STORIES
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name[:1] != "."
            )
    except FileNotFoundError:
        return
    except OSError as error:
        raise StonehandError(f"can't be read: {error.strerror}", file=folder) from None
    for name in names:
        story = folder / name
        file = story / "meta.json"
        if file.is_symlink() or file.exists():
            continue
        content = any(
            (story / part).exists() for part in ("branches", "branches.json", "fragments", "prose-chain.json")
        )
        repair = _new_meta(file) if content else None
        yield Finding(
            "there is no meta.json, so this folder is not seen as a story",
            story,
            repair="restore its meta.json from a backup" if content else "remove the folder if it is none",
            offered=repair,
        )


def _new_meta(file: Path) -> Repair:
    name = file.parent.name

    def edit(data: bytes | None) -> bytes | None:
        if data is not None:
            return data
        now = now_iso()
        return dump_json(
            {
                "id": name,
                "name": name,
                "description": "",
                "coverImage": None,
                "summary": "",
                "createdAt": now,
                "updatedAt": now,
                "settings": {},
            }
        )

    return Repair(Kind.META, "write a meta.json with the folder's name and default settings", file, edit, None)
