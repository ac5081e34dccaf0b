"""`doctor`: the list, and repairs for those who ask."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, files_of
from tests.stories import config_file


@pytest.fixture
def faulty(story: Path) -> Path:
    """A story with three faults, two of which can be repaired: the second in the list, and the third."""
    file = config_file(story)
    file.parent.mkdir()
    config = {
        "customBlocks": [],
        "overrides": {
            "tools": {"contentMode": "append", "customContent": "<@kn-lost00>"},
            "prose": {"enabled": False},
        },
        "blockOrder": ["ghost"],
    }
    file.write_text(json.dumps(config, indent=2), "utf-8")
    return file


def test_the_list_is_numbered_and_says_what_can_be_repaired(run: Run, data: Path, faulty: Path) -> None:
    before = files_of(data)
    done = run("doctor", "the-quay")
    lines = done.text.splitlines()
    assert (done.code, [line[:3] for line in lines]) == (1, ["1. ", "2. ", "   ", "3. ", "   "])
    assert lines[2] == "   --repair old-id: rename the override of prose to prose-recent"
    assert "3 problems, of which 2 can be repaired: stonehand doctor the-quay --repair" in done.err
    offered = [item["offered"] and item["offered"]["kind"] for item in run("doctor", "--json").document]
    assert offered == [None, "old-id", "block-order"]
    assert files_of(data) == before


def test_nothing_is_repaired_unasked(run: Run, data: Path, faulty: Path) -> None:
    before = files_of(data)
    assert run("doctor", "--repair").code == 2, "there is nobody to ask"
    assert run("doctor", "--repair", "--json").code == 2
    dry = run("doctor", "--repair", "--dry-run")
    assert (dry.code, "2 would be repaired" in dry.err) == (1, True)
    assert run("doctor", "--repair", "--dry-run", "--json").document["changed"] is False
    for wrong in (("--yes",), ("--dry-run",), ("--repair", "the-quay"), ("--repair", "9"), ("--repair", "1")):
        assert run("doctor", *wrong).code == 2, wrong
    assert files_of(data) == before
    assert "a story is named before --repair" in run("doctor", "--repair", "the-quay", "--yes").err


def test_one_kind_or_one_number(run: Run, data: Path, faulty: Path) -> None:
    done = run("doctor", "the-quay", "--repair", "old-id", "--yes")
    assert (done.code, "repaired: 1; left: 2 problems" in done.err) == (1, True)
    value = json.loads(faulty.read_bytes())
    assert list(value["overrides"]) == ["tools", "prose-recent"]
    assert value["blockOrder"] == ["ghost"]
    assert run("doctor", "--repair", "2", "--yes").code == 1
    assert json.loads(faulty.read_bytes())["blockOrder"] == []


def test_what_an_invalid_config_hides_is_told_and_repaired_in_the_same_go(run: Run, faulty: Path) -> None:
    value = json.loads(faulty.read_bytes())
    faulty.write_text(json.dumps({**value, "blockOrder": [4, "ghost"]}, indent=2), "utf-8")
    found = run("doctor", "--json").document
    assert [(item["field"], item["line"] is not None) for item in found] == [
        ("blockOrder[0]", True),
        ("overrides.tools.customContent", True),
        ("overrides.prose", True),
        ("", False),
    ], "where ghost stands once the 4 is gone is not where it stands now"
    faulty.write_text(json.dumps({**value, "disableAutoAnalysis": "no"}, indent=2), "utf-8")
    found = run("doctor", "--json").document
    assert [(item["field"], item["line"] is not None, item["offered"] is not None) for item in found] == [
        ("disableAutoAnalysis", True, True),
        ("overrides.tools.customContent", True, False),
        ("overrides.prose", True, False),
        ("blockOrder[0]", True, False),
    ]
    before = faulty.read_bytes()
    dry = run("doctor", "--repair", "--dry-run")
    assert "3 would be repaired" in dry.err and faulty.read_bytes() == before
    ahead = dry.text.partition("then, as it comes to light by these repairs:\n")[2]
    assert "renamed, it would " in ahead and "--repair old-id: rename the override of prose to prose-recent" in ahead
    told = run("doctor", "--repair", "--dry-run", "--json").document
    offered = [item["offered"] for item in (*told["chosen"], *told["ahead"])]
    outcome = run("doctor", "--repair", "--yes", "--json").document
    assert [(item["kind"], item["description"]) for item in outcome["repaired"]] == [
        (item["kind"], item["description"]) for item in offered
    ], "all that was told, and nothing else"
    assert [item["kind"] for item in outcome["repaired"]] == ["config", "old-id", "block-order"]
    assert [item["field"] for item in outcome["left"]] == ["overrides.tools.customContent"]
    assert (Path(outcome["backup"]) / "stories").exists() and len(outcome["backups"]) == 2
    faulty.write_bytes(before)
    done = run("doctor", "--repair", "1", "--yes")
    assert "repaired: 1; left: 3 problems" in done.err, "a number asks for that one alone"


def test_everything_with_its_backup(run: Run, data: Path, faulty: Path) -> None:
    before = faulty.read_bytes()
    outcome = run("doctor", "--repair", "--yes", "--json").document
    assert (outcome["changed"], len(outcome["repaired"]), outcome["failed"]) == (True, 2, [])
    assert [item["field"] for item in outcome["left"]] == ["overrides.tools.customContent"]
    kept = Path(outcome["backup"]) / faulty.relative_to(data)
    assert kept.read_bytes() == before
    text = run("doctor", "--repair", "--yes")
    assert (text.code, "left: 1 problem\n" in text.err or "nothing can be repaired" in text.err) == (1, True)
    faulty.unlink()
    assert run("doctor", "--repair", "--yes").code == 0
