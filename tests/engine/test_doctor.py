"""The doctor finds what is wrong, says where, and touches nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.doctor import examine
from engine.errors import Problem
from engine.library import sample_library
from engine.story import StoryFolder
from engine.workspace import Workspace
from tests.engine.story_builder import tree
from tests.stories import config_file, custom_block, make_story

WRITER = "generation.writer"


def found(story: Path) -> list[tuple[str, str, int | None, str]]:
    """File name, field, line and message of every problem; each has something to do about it, in one line."""
    problems = examine(StoryFolder(story))
    for problem in problems:
        assert problem.file is not None
        assert "\n" not in str(problem)
    return [(Path(str(p.file)).name, p.field, p.line, p.message) for p in problems]


def write_config(story: Path, value: Any, branch: str = "main") -> Path:
    file = config_file(story, branch=branch)
    file.parent.mkdir(exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value, indent=2), "utf-8")
    return file


def test_a_sound_story_has_no_problem(story: Path) -> None:
    write_config(story, {"customBlocks": [custom_block("cb-aaaa", "x")], "blockOrder": ["cb-aaaa", "tools"]})
    assert found(story) == []


def test_the_sample_library_is_clean_and_stays_as_it_is(tmp_path: Path, state: Path) -> None:
    shutil.copytree(sample_library(), tmp_path / "stories")
    before = tree(tmp_path)
    workspace = Workspace(tmp_path, state=state)
    assert workspace.doctor() == []
    workspace.close()
    assert tree(tmp_path) == before


def test_a_corrupt_fragment(story: Path) -> None:
    (story / "branches/main/fragments/kn-mirafa.json").write_text('{\n  "id": "kn-mirafa",\n  oops\n}', "utf-8")
    ((file, _, line, message),) = found(story)
    assert (file, line) == ("kn-mirafa.json", 3)
    assert message.startswith("is not valid JSON")


def test_an_invalid_config_says_field_and_line(story: Path) -> None:
    write_config(story, {"customBlocks": [custom_block("cb-aaaa", "x"), custom_block("cb-bbbb", "y", role="narrator")]})
    ((file, field, line, message),) = found(story)
    assert (file, field) == (f"{WRITER}.json", "customBlocks[1].role")
    assert line is not None
    assert '"narrator"' in config_file(story).read_text().splitlines()[line - 1]
    assert "narrator" in message


def test_an_address_or_key_that_a_story_brings_along_is_found(story: Path) -> None:
    write_config(story, '{"overrides": {"tools": {"enabled": true,\n"headers": {"A": "b"}}},\n"apiBase": "http://x"}')
    meta = json.loads((story / "meta.json").read_bytes())
    meta["settings"]["modelOverrides"] = {WRITER: {"modelId": "m", "apiKey": "sk-secret"}}
    (story / "meta.json").write_text(json.dumps(meta), "utf-8")
    problems = found(story)
    assert {(file, field, line) for file, field, line, _ in problems} == {
        (f"{WRITER}.json", "overrides.tools.headers", 2),
        (f"{WRITER}.json", "apiBase", 3),
        ("meta.json", f"settings.modelOverrides.{WRITER}.apiKey", 1),
    }
    assert all(message.startswith("is not used") for *_, message in problems)


def test_keys_that_stand_twice_are_found_in_every_file(story: Path) -> None:
    write_config(story, '{"overrides": {"tools": {\n"enabled": false,\n"enabled": true}},\n"x": [{"a": 1}, {"a": 1}]}')
    for name in (
        "meta.json",
        "branches.json",
        "branches/main/prose-chain.json",
        "branches/main/fragments/kn-mirafa.json",
    ):
        text = (story / name).read_text("utf-8")
        (story / name).write_text('{"x\\u0079": {}, "other": {"xy": 1},\n "xy": 2,' + text.strip()[1:], "utf-8")
    places = {(file, field, line) for file, field, line, _ in found(story)}
    assert places == {
        (f"{WRITER}.json", "overrides.tools.enabled", 3),
        *((name, "xy", 2) for name in ("meta.json", "branches.json", "prose-chain.json", "kn-mirafa.json")),
    }
    assert all("stands in one object more than once" in message for *_, message in found(story))


def test_a_config_that_is_no_json(story: Path) -> None:
    write_config(story, '{\n\n "blockOrder": [1,,2]}')
    ((file, _, line, _),) = found(story)
    assert (file, line) == (f"{WRITER}.json", 3)


def test_sections_that_name_no_fragment(story: Path) -> None:
    chain = {
        "entries": [
            {"proseFragments": ["pr-aaaa00"], "active": "pr-aaaa00"},
            {"proseFragments": [], "active": None},
            {"proseFragments": ["pr-aaaa01", "pr-lost01"], "active": "pr-aaaa01"},
            {"proseFragments": ["pr-lost02"], "active": "pr-lost02"},
        ]
    }
    file = story / "branches/main/prose-chain.json"
    file.write_text(json.dumps(chain, indent=2), "utf-8")
    problems = [problem for problem in found(story) if problem[1] != "entries[1]"]
    assert [(field, message) for _, field, _, message in problems] == [
        ("entries[2].proseFragments[1]", "section 3 has a variant pr-lost01, which is not there"),
        ("entries[3].active", "section 4 shows pr-lost02, which is not there"),
    ]
    lines = file.read_text().splitlines()
    for (_, _, line, _), text in zip(problems, ("pr-lost01", '"active": "pr-lost02"'), strict=True):
        assert line is not None
        assert text in lines[line - 1]


def test_overrides_order_and_ids_that_fit_nothing(story: Path) -> None:
    file = write_config(
        story,
        {
            "customBlocks": [custom_block("cb-twin", "x"), custom_block("cb-twin", "y")],
            "overrides": {"tools": {"enabled": False}, "writing-brief": {"enabled": False}, "ghost": {"order": 1}},
            "blockOrder": ["tools", "phantom", "cb-twin", "summary"],
        },
    )
    problems = found(story)
    assert [(field, message.split(" so ")[0]) for _, field, _, message in problems] == [
        ("customBlocks[1].id", "more than one custom block has the id cb-twin,"),
        ("overrides.ghost", "this override changes nothing: the agent has no block ghost"),
        ("blockOrder[1]", "the order names phantom, which the agent does not have"),
    ]
    lines = file.read_text().splitlines()
    for (_, _, line, _), text in zip(problems, ("cb-twin", "ghost", "phantom"), strict=True):
        assert line is not None
        assert text in lines[line - 1]


def test_a_broken_story_file(story: Path) -> None:
    (story / "meta.json").write_text('{"name": "x",', "utf-8")
    ((file, _, line, _),) = found(story)
    assert (file, line) == ("meta.json", 1)


def test_every_branch_is_examined_and_each_problem_told_once(data: Path) -> None:
    story = make_story(data, branches=("main", "br-two"))
    file = write_config(story, {"overrides": {"ghost": {}}}, "br-two")
    problems = examine(StoryFolder(story))
    assert [problem.file for problem in problems] == [file]
    (story / "branches.json").write_text("[]", "utf-8")
    problems = examine(StoryFolder(story))
    assert len(problems) == len(set(problems))
    assert story / "branches.json" in {problem.file for problem in problems}


def test_the_doctor_of_a_data_folder_reads_only(data: Path, opened: Callable[..., Workspace], state: Path) -> None:
    make_story(data, "old", legacy=True)
    broken = make_story(data, "broken")
    write_config(broken, "{")
    (broken / "branches/main/fragments/gl-tonare.json").write_bytes(b"\xff")
    before = tree(data)
    problems: list[Problem] = opened().doctor()
    assert {problem.file.name for problem in problems if problem.file is not None} == {
        f"{WRITER}.json",
        "gl-tonare.json",
        "old",
    }
    assert tree(data) == before
    assert opened().doctor("broken") + opened().doctor("old") == problems


@pytest.mark.parametrize("name", ["prose-chain.json", "associations.json", "branches.json"])
def test_a_broken_index_does_not_take_the_story_down(story: Path, name: str) -> None:
    root = story if name == "branches.json" else story / "branches/main"
    (root / name).write_text("nonsense", "utf-8")
    assert [file for file, *_ in found(story)].count(name) >= 1
