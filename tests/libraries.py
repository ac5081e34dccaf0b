"""A data folder with every sort of story: the samples, a generated one, one of the old layout, a damaged one."""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.library import sample_library
from tests.bench.generate import write_story
from tests.stories import custom_block, make_story

GENERATED, LEGACY, DAMAGED = "generated", "legacy", "damaged"


def make_library(data: Path) -> tuple[str, ...]:
    """Write the stories and return their ids, in the order they are listed."""
    shutil.copytree(sample_library(), data / "stories", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    write_story(data / "stories" / GENERATED, 90, 8, script=True)
    script = custom_block("cb-count", "return String(ctx.proseFragments.length)", type="script")
    make_story(data, LEGACY, name="Legacy", legacy=True, configs={"generation.writer": {"customBlocks": [script]}})
    config = {"overrides": {"prose": {}, "ghost": {}}, "blockOrder": ["ghost"], "disabledTools": ["getFragment"]}
    damaged = make_story(data, DAMAGED, name="Damaged", configs={"generation.writer": config})
    root = damaged / "branches" / "main"
    (root / "fragments" / "kn-broken.json").write_text("{", "utf-8")
    (root / "fragments" / "kn-copied.json").write_bytes((root / "fragments" / "kn-mirafa.json").read_bytes())
    (root / "agent-blocks" / "librarian.chat.json").write_text('{"blockOrder": 7}', "utf-8")
    (root / "associations.json").write_text("nonsense", "utf-8")
    (damaged / "branches" / "br-hidden").mkdir()
    return tuple(sorted(folder.name for folder in (data / "stories").iterdir()))


def state_of(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Every file and folder below a folder with its time (ns) and content (None for folders)."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in (folder, *folder.rglob("*"))
    }
