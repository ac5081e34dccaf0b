"""Builds story folders for tests, in the reference's format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.disk import dump_json
from engine.story import StoryFolder, StorySnapshot

MOMENT = "2026-03-01T00:00:00.000Z"


class StoryBuilder:
    """A story on disk; fragments of one branch are made with `add`, their times in the order of the calls."""

    def __init__(self, path: Path, *, legacy: bool = False) -> None:
        self.path = path
        self.root = path if legacy else path / "branches" / "main"
        self._made = 0
        if not legacy:
            (path / "branches" / "main").mkdir(parents=True)
        self.meta()

    def write(self, name: str, value: Any) -> Path:
        """Write a JSON value, or bytes as they are, below the story's folder."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(value if isinstance(value, bytes) else dump_json(value))
        return file

    def meta(self, settings: dict[str, Any] | None = None, **fields: Any) -> None:
        base = {"id": self.path.name, "name": "Tide House", "description": "A last winter.", "summary": ""}
        self.write("meta.json", {**base, **fields, "settings": settings or {}})

    def add(self, fragment_id: str, fragment_type: str, **fields: Any) -> Path:
        """Write a fragment; every field can be given, one given as None is left out."""
        self._made += 1
        base: dict[str, Any] = {
            "id": fragment_id,
            "type": fragment_type,
            "name": f"Name of {fragment_id}",
            "description": f"About {fragment_id}",
            "content": f"Text of {fragment_id}",
            "tags": [],
            "sticky": False,
            "placement": "user",
            "createdAt": f"2026-03-01T00:{self._made // 60:02}:{self._made % 60:02}.000Z",
            "order": 0,
            "meta": {},
        }
        value = {key: item for key, item in {**base, **fields}.items() if item is not None}
        file = self.root / "fragments" / f"{fragment_id}.json"
        return self.write(str(file.relative_to(self.path)), value)

    def chain(self, *sections: str | list[str], **extra: Any) -> Path:
        """Write the chain: an id is a section, a list one with variants, of which the last is shown."""
        lists = [[section] if isinstance(section, str) else section for section in sections]
        entries = [{"proseFragments": ids, "active": ids[-1]} for ids in lists]
        return self.write(str((self.root / "prose-chain.json").relative_to(self.path)), {"entries": entries, **extra})

    def folder(self) -> StoryFolder:
        return StoryFolder(self.path)

    def snapshot(self) -> StorySnapshot:
        return self.folder().snapshot()


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder with its bytes and time."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}
