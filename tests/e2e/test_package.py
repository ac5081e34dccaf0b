"""The distribution: what the program needs is in it, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from engine.library import sample_library
from tests.tui.pty.harness import ROOT

pytestmark = [pytest.mark.install, pytest.mark.xdist_group("wheel")]  # which is built once


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    offline = ["--no-build-isolation"] if find_spec("hatchling") else []
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--retries=1", *offline, "-w", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if not offline and "No matching distribution found for hatchling" in built.stderr:
        pytest.skip("the build backend is not installed and can't be downloaded")
    assert built.returncode == 0, built.stderr
    (file,) = folder.glob("*.whl")
    return file


def test_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sample = {f"engine/sample/stories/{file.relative_to(sample_library())}" for file in files(sample_library())}
    sources = {
        str(file.relative_to(ROOT))
        for package in ("engine", "tui")
        for file in files(ROOT / package)
        if file.suffix in (".py", ".md", ".js", ".tcss", ".toml", ".json") or file.name == "py.typed"
    }
    info = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    assert sample and {"engine/scripts/prelude.js", "tui/styles/app.tcss"} <= sources
    assert any(name.startswith("engine/agents/instructions/") and name.endswith(".md") for name in sources)
    assert names - info == sample | sources, "nothing is missing and nothing is stray"
    assert {name.partition("/")[2] for name in info} >= {"METADATA", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def test_it_runs_from_the_package_alone(wheel: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    environ = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("STONEHAND", "XDG_"))},
        "PYTHONPATH": str(unpacked),
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
    }
    (tmp_path / "home").mkdir()
    run = [sys.executable, "-P", "-m", "tui"]
    done = subprocess.run(
        [*run, "stories", "--json"], cwd=tmp_path, env=environ, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    (story,) = json.loads(done.stdout)
    assert story["name"] == "Foot Passengers"
    compiled = subprocess.run(
        [*run, "compile", story["id"]], cwd=tmp_path, env=environ, capture_output=True, timeout=120, check=True
    )
    assert "House style." in compiled.stdout.decode()


def files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
