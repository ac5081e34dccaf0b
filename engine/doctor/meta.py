"""`meta.json`: a story folder without one, and what its fragment order names (spec, sections 1.4 and 15, bug 32)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.disk import dump_json
from engine.doctor.finding import Finding, JsonSource, Kind, Repair, listed, mapped
from engine.errors import StonehandError
from engine.story import StoryMeta
from engine.story.branches import now_iso
from engine.story.library import STORIES


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
                f"the order names {item} a second time, so it would be sent twice",
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
