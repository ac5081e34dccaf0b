"""Case files of the reference tests: tables of inputs and expected outcomes, one JSON document each.

They are read from the folder that the environment variable STONEHAND_CASES names (default: `tests/data`), so that the
same rules can be tried on further tables. A module of reference tests looks like this:

    CASES = load_cases("golden", "apply.json", needs=("blocks", "config"))

    def test_the_cases_are_there() -> None:
        check_known("golden", "apply.json", needs=("blocks", "config"))

    @pytest.mark.parametrize(("case", "document"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
    def test_case(case, document): ...

The first test is not decoration: pytest *skips* a parametrized test without parameters.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

DEFAULT_FOLDER = Path(__file__).parent.parent / "data"

Case = tuple[str, dict[str, Any], dict[str, Any]]


def cases_folder() -> Path:
    """The folder that holds all case files."""
    named = os.environ.get("STONEHAND_CASES")
    return Path(named) if named else DEFAULT_FOLDER


def case_files(folder: str) -> list[Path]:
    """Every JSON file directly in `folder` (relative to the cases folder, "." for itself), by name."""
    place = cases_folder() / folder
    return sorted(place.glob("*.json")) if place.is_dir() else []


def load_cases(folder: str, known: str, needs: Collection[str] = ()) -> list[Case]:
    """(id, case, whole document) for every case of every file in `folder` that has the form of `known`.

    A file counts when it is an object with a list `cases`, and its first case has all keys in `needs`; `known` is
    read first. The id is the file's stem and the case's name (or its story or number). Raises ValueError, naming the
    file, when one isn't JSON.
    """
    files = sorted(case_files(folder), key=lambda file: (file.name != known, file.name))
    return [case for file in files for case in _cases_of(file, needs)]


def check_known(folder: str, known: str, needs: Collection[str] = ()) -> None:
    """Fail the running test when the file every suite must have is missing, or holds no case of its form."""
    file = cases_folder() / folder / known
    if not file.is_file():
        pytest.fail(f"{file} is missing: STONEHAND_CASES must name a folder laid out like tests/data", pytrace=False)
    if not _cases_of(file, needs):
        keys = f" with {', '.join(needs)}" if needs else ""
        pytest.fail(f"{file} holds no case{keys}", pytrace=False)


def _cases_of(file: Path, needs: Collection[str]) -> list[Case]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    cases = document.get("cases") if isinstance(document, dict) else None
    if not isinstance(cases, list) or not cases:
        return []
    if not isinstance(cases[0], dict) or not set(needs) <= cases[0].keys():
        return []
    return [(f"{file.stem}-{_name(case, number)}", case, document) for number, case in enumerate(cases)]


def _name(case: dict[str, Any], number: int) -> str:
    for key in ("name", "story"):
        if isinstance(case.get(key), str):
            return str(case[key])
    return f"{number:03}"
