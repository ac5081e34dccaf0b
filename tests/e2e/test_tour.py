"""The script that makes the pictures of the README."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOUR = Path(__file__).resolve().parents[2] / "docs" / "tour.py"
ONE = """
import asyncio, runpy, sys
from pathlib import Path
tour = runpy.run_path(sys.argv[1])
tour["freeze"]()
print(asyncio.run(tour["take"](tour["PICTURES"][0], Path(sys.argv[2]))))
"""


def test_a_picture_is_made_anew(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ONE, str(TOUR), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Stonehand" in Path(done.stdout.strip()).read_text("utf-8")
