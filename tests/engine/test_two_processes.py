"""Two real processes edit one config in turns: every edit is in the file, or was told to be a conflict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.folders import STATE_VARIABLE
from tests.engine.conftest import STORY
from tests.stories import config_file
from tests.thorough import times

ROUNDS = times(500, 2_000)
"""Of each of the two."""

PROGRAM = """
import json, sys, time
from pathlib import Path
from engine import disk
from engine.document import SaveState
from engine.errors import Conflict
from engine.workspace import WRITER, Workspace

data, state, story, who, rounds, manner, start = sys.argv[1:]
# What is shown is that nothing is lost between the two, not in a power cut; waiting for the disk is most of the time.
disk._sync = disk._sync_folder = lambda handle: None
done, conflicts = [], []

def opened():
    return Workspace(Path(data), state=Path(state), journal=False)

editor = opened()

def append(config, mark):
    return config.model_copy(update={"blockOrder": (*config.blockOrder, mark)})

def edit(mark):
    def change(session):
        here = [item for item in session.document.config.blockOrder if item.startswith(who)]
        assert here == done, "an edit of ours is gone"
        session.document.apply("mark", lambda config: append(config, mark))
    # Anew each time, as a command does it.
    command = opened()
    command.edit(story, WRITER, None, change)
    command.close()

def save(mark):
    # As an open editor does, which looks at the file only when it saves: the other is in its way most of the time.
    session = editor.session(story, WRITER)
    session.document.apply("mark", lambda config: append(config, mark))
    try:
        editor.save_now(session)
    except Conflict:
        if session.document.state is SaveState.CONFLICT:
            session.document.take_theirs()
        raise

while not Path(start).exists():
    time.sleep(0.001)
for number in range(int(rounds)):
    mark = f"{who}{number}"
    try:
        (edit if manner == "edit" else save)(mark)
    except Conflict:
        conflicts.append(mark)
    else:
        done.append(mark)
editor.close()
print(json.dumps({"done": done, "conflicts": conflicts}))
"""


@pytest.mark.parametrize(
    ("manner", "apart"),
    [
        ("edit", False),
        pytest.param("edit", True, marks=pytest.mark.skipif(os.name == "nt", reason="folders can't be locked there")),
        ("save", False),
    ],
)
def test_hundreds_of_edits_of_two_processes(
    story: Path, data: Path, state: Path, tmp_path: Path, manner: str, apart: bool
) -> None:
    """`apart`: with state folders of their own, as two users of one data folder have them."""
    file = config_file(story)
    if not apart:  # else its folder is not there either when the first of the two writes
        file.parent.mkdir()
        file.write_text(json.dumps({"blockOrder": ["tools"], "x-future": {"kept": True}}), "utf-8")
    start = tmp_path / "start"
    rounds = ROUNDS if manner == "edit" and not apart else ROUNDS // 5  # a thousand in turns, and 200

    def begin(who: str, manner: str) -> subprocess.Popen[str]:
        own = state / who if apart else state
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(data), str(own), STORY, who, str(rounds), manner, str(start)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, STATE_VARIABLE: str(own)},
        )

    programs = {"a": begin("a", "edit"), "b": begin("b", manner)}
    time.sleep(0.5)  # both have loaded the engine, or one waits for the other a little less
    start.touch()
    told = {}
    for who, program in programs.items():
        out, errors = program.communicate(timeout=300)
        assert program.returncode == 0, errors
        told[who] = json.loads(out)
    value = json.loads(file.read_bytes())
    for who, outcome in told.items():
        marks = [f"{who}{number}" for number in range(rounds)]
        assert sorted([*outcome["done"], *outcome["conflicts"]]) == sorted(marks), "each was done or told of"
        assert [item for item in value["blockOrder"] if item.startswith(who)] == outcome["done"], "and is there, once"
    assert told["a"]["conflicts"] == [], "those who ask first wait for each other"
    assert told["b"]["conflicts"] == [] or manner == "save"
    assert told["b"]["done"]
    if not apart:
        assert value["blockOrder"][0] == "tools"
        assert value["x-future"] == {"kept": True}
    assert [path.name for path in file.parent.iterdir()] == [file.name], "nothing is left behind"
