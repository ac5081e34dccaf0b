"""How case files are found: every file of the known one's form, and a failure when that one is missing."""

import json
from pathlib import Path

import pytest

from tests.reference.cases import case_files, check_known, load_cases


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STONEHAND_CASES", str(tmp_path))
    (tmp_path / "golden").mkdir()
    return tmp_path


def write(file: Path, value: object) -> None:
    file.write_text(json.dumps(value), encoding="utf-8")


def test_files_of_one_form_are_told_from_others(folder: Path) -> None:
    golden = folder / "golden"
    write(golden / "apply.json", {"ctx": 1, "cases": [{"blocks": [], "config": {}}, {"blocks": [], "config": {}}]})
    write(golden / "further.json", {"ctx": 2, "cases": [{"blocks": [], "config": {}, "name": "odd"}]})
    write(golden / "default_blocks.json", {"cases": [{"story": "s-1", "files": {}}]})
    write(golden / "notes.json", ["no cases"])
    (golden / "readme.txt").write_text("no JSON")
    assert [file.name for file in case_files("golden")] == [
        "apply.json", "default_blocks.json", "further.json", "notes.json",
    ]  # fmt: skip
    applied = load_cases("golden", "apply.json", needs=("blocks", "config"))
    assert [(name, document["ctx"]) for name, _, document in applied] == [
        ("apply-000", 1), ("apply-001", 1), ("further-odd", 2),
    ]  # fmt: skip
    assert [name for name, _, _ in load_cases("golden", "default_blocks.json", needs=("files",))] == [
        "default_blocks-s-1"
    ]
    check_known("golden", "apply.json", needs=("blocks",))
    assert load_cases(".", "tokens.json") == []


@pytest.mark.parametrize("document", [None, [], {"cases": []}, {"cases": [{"other": 1}]}])
def test_a_known_file_without_cases_fails(folder: Path, document: object) -> None:
    if document is not None:
        write(folder / "golden" / "apply.json", document)
    with pytest.raises(pytest.fail.Exception, match=r"apply\.json"):
        check_known("golden", "apply.json", needs=("blocks",))


def test_a_broken_file_is_named(folder: Path) -> None:
    (folder / "golden" / "broken.json").write_text("{")
    with pytest.raises(ValueError, match=r"broken\.json"):
        load_cases("golden", "apply.json")
