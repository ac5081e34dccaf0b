"""Killed in the middle of applying a plan: every file is the old or the new one, whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.story_builder import StoryBuilder

ROOT = Path(__file__).parents[3]
COUNT = 3

CRASH = """
import os, sys
from pathlib import Path
from engine import disk
from engine.story import StoryFolder
from engine.tools import apply
from engine.tools.fragment_edits import EditFragments, plan_fragment_edits
path, name, when, file_number = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
folder = StoryFolder(Path(path))
operations = [
    {"op": "replace_text", "fragmentId": f"kn-{n}", "oldText": "old", "newText": "new"} for n in range(3)
]
operations.append({"op": "create_fragment", "type": "knowledge", "name": "made", "content": "new " * 500})
plan = plan_fragment_edits(folder.snapshot("main"), EditFragments.model_validate({"operations": operations}))
step, calls = getattr(disk, name), 0
def die(*arguments):
    global calls
    calls += 1
    if calls <= file_number:
        return step(*arguments)
    if when == "half":
        os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
    elif when == "after":
        step(*arguments)
    os._exit(42)
setattr(disk, name, die)
apply(plan, folder)
"""


@pytest.mark.parametrize("file_number", range(COUNT + 1))
@pytest.mark.parametrize(
    ("step", "when", "written"),
    [
        ("_write", "half", 0),
        ("_sync", "after", 0),
        ("_replace", "before", 0),
        ("_replace", "after", 1),
        ("_sync_folder", "before", 1),
    ],
)
def test_a_crash_leaves_each_file_old_or_new(
    story: StoryBuilder, step: str, when: str, written: int, file_number: int
) -> None:
    for number in range(COUNT):
        story.add(f"kn-{number}", "knowledge", content="old " + "x" * 5_000)
    before = {file.name for file in (story.root / "fragments").glob("*.json")}
    done = subprocess.run(
        [sys.executable, "-c", CRASH, str(story.path), step, when, str(file_number)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 42, done.stderr
    new = file_number + written
    snapshot = story.snapshot()
    assert snapshot.problems == ()
    for number in range(COUNT):
        document = json.loads((story.root / "fragments" / f"kn-{number}.json").read_bytes())
        is_new = number < new
        assert document["content"] == ("new " if is_new else "old ") + "x" * 5_000
        assert [item["content"][:3] for item in document.get("versions", [])] == (["old"] if is_new else [])
    made = {file.name for file in (story.root / "fragments").glob("*.json")} - before
    assert len(made) == (new > COUNT)
    assert all(item.name != "made" or item.content == "new " * 500 for item in snapshot.fragments.values())
