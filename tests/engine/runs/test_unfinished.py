"""What a passage waits for, kept between sessions and after a program that was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.runs import Answer, Unfinished, UnfinishedPassages
from engine.tools import Option, Question

OMENS = Question("Which [/] omens?", "Omens", True, (Option("gulls"), Option("fog", "It is thick.")))
WAITING = Unfinished(
    "refine", "pr-aaaa01", "The 码头", (("Who?", "Ines"),), 1, (OMENS,), (Answer((1,), "a \udc80bell"),), "Half of mi"
)


def test_it_is_read_as_it_was_written_and_forgotten(tmp_path: Path) -> None:
    kept = UnfinishedPassages(tmp_path / "unfinished")
    main, other = tmp_path / "a/branches/main", tmp_path / "b/branches/main"
    assert kept.read(main) is None
    kept.write(main, WAITING)
    found = UnfinishedPassages(tmp_path / "unfinished").read(main)
    assert found is not None and found.answers == (Answer((1,), "a \udc80bell"),) and found == WAITING
    assert kept.read(other) is None
    kept.write(main, None)
    assert kept.read(main) is None


@pytest.mark.parametrize(
    "damage", ["", "[]", "{", '{"mode": "x"}', json.dumps({"mode": "generate", "questions": 3}), "null"]
)
def test_a_damaged_file_is_nothing(tmp_path: Path, damage: str) -> None:
    kept = UnfinishedPassages(tmp_path / "unfinished")
    kept.write(tmp_path, WAITING)
    (file,) = (tmp_path / "unfinished").iterdir()
    file.write_text(damage, "utf-8")
    assert kept.read(tmp_path) is None


def test_places_of_options_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    kept = UnfinishedPassages(tmp_path)
    kept.write(tmp_path, Unfinished(questions=(OMENS,), answers=(Answer((1, 7, -1)),)))
    found = kept.read(tmp_path)
    assert found is not None and found.answers[0].text(OMENS) == "fog"


def test_a_killed_program_loses_none_of_it(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from engine.runs import Unfinished, UnfinishedPassages\n"
        "UnfinishedPassages(Path(sys.argv[1])).write(Path(sys.argv[2]), Unfinished(brief='Half of mi'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = subprocess.run([sys.executable, "-c", program, tmp_path / "kept", tmp_path], env=os.environ, check=False)
    assert child.returncode == -signal.SIGKILL
    found = UnfinishedPassages(tmp_path / "kept").read(tmp_path)
    assert found is not None and found.brief == "Half of mi"
