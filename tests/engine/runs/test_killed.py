"""Killed at each write of a run that is carried out and kept: history, logs and prose hold together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.story import StoryFolder
from tests.engine.conftest import STORY
from tests.stories import make_story

ROOT = Path(__file__).parents[3]
WRITES = 5
"""The log, the prose, the chain, the fragment's id in the log, the account of tokens."""

# One process that forks for each point: starting an interpreter takes longer than all the rest.
SCRIPT = """
import os, shutil, sys
from pathlib import Path
import engine.workspace.generation, engine.tools.tool, filelock
from engine import disk
from engine.workspace import Workspace
from engine.runs import Run
from tests.engine.runs.scripted import Scripted, says

source = Path(sys.argv[1])
for when in ("before", "after"):
    for number in range(int(sys.argv[2]) + 1):
        data = source.with_name(f"{when}-{number}")
        shutil.copytree(source, data)
        child = os.fork()
        if child:
            print(when, number, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            continue
        replace, calls = disk._replace, 0
        def die(*arguments):
            global calls
            calls += 1
            if calls <= number:
                return replace(*arguments)
            if when == "after":
                replace(*arguments)
            os._exit(42)
        disk._replace = die
        workspace = Workspace(data, state=data / "state")
        run = Run(workspace.prompt("the-quay"), Scripted(says("A new passage.")))
        workspace.generation.start(run).result(20)
        workspace.passages.keep(run)
        workspace.close()
        os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_each_write_everything_holds_together(tmp_path: Path) -> None:
    source = tmp_path / "source"
    make_story(source)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(source), str(WRITES)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "STONEHAND_STATE": str(tmp_path / "state")},
    )
    assert done.returncode == 0, done.stderr
    codes = [int(line.split()[-1]) for line in done.stdout.splitlines()]
    assert codes == [*[42] * WRITES, 0] * 2, done.stdout + done.stderr
    for when in ("before", "after"):
        for number in range(WRITES + 1):
            check(tmp_path / f"{when}-{number}" / "stories" / STORY, number + (when == "after"))


def check(story: Path, written: int) -> None:
    """What must hold when as many of the files had been put in place."""
    root = story / "branches/main"
    snapshot = StoryFolder(story).snapshot("main")
    assert snapshot.problems == ()
    assert len(snapshot.chain.entries) == (3 if written >= 3 else 2)
    assert all(snapshot.get(item) is not None for item in snapshot.chain.active_ids)
    logs: list[dict[str, Any]] = [json.loads(file.read_bytes()) for file in root.glob("generation-logs/*.json")]
    assert [log["generatedText"] for log in logs] == ["A new passage."] * min(1, written)
    kept = [log["fragmentId"] for log in logs if log["fragmentId"] is not None]
    assert kept == ([snapshot.chain.active_ids[-1]] if written >= 4 else [])
    assert (story / "token-usage.json").exists() is (written >= 5)
