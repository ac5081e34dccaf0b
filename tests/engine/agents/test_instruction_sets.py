"""Instructions for particular models (spec, section 11)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from engine.agents.instruction_sets import MATCHING_SECONDS, InstructionSets, Match, parse_set
from engine.agents.instructions import DEFAULTS, Instructions, for_tools, instruction
from engine.errors import InvalidFile
from engine.workspace import Workspace

SYSTEM, SUFFIX = "generation.system", "generation.tools-suffix"


def python_matcher(pattern: str, flags: str, model: str) -> Match:
    try:
        return Match(re.search(pattern, model, re.IGNORECASE if "i" in flags else 0) is not None)
    except re.error as error:
        return Match(False, 0.0, str(error))


def write(folder: Path, stem: str, **values: Any) -> Path:
    file = folder / f"{stem}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"name": stem, **values}, indent=2), "utf-8")
    return file


def texts(folder: Path, model: str) -> Instructions:
    return InstructionSets(folder, python_matcher).for_model(model)


def test_without_sets_or_without_a_model_the_texts_are_our_own(tmp_path: Path) -> None:
    assert texts(tmp_path / "nowhere", "m") is DEFAULTS
    write(tmp_path, "all", modelMatch="/./", instructions={SYSTEM: "Mine."})
    sets = InstructionSets(tmp_path, python_matcher)
    assert sets.for_model(None) is DEFAULTS
    assert sets.for_model("m")(SYSTEM) == "Mine."
    assert sets.for_model("m")(SUFFIX) == instruction(SUFFIX)
    with pytest.raises(KeyError):
        sets.for_model("m")("none")


@pytest.mark.parametrize(
    ("match", "model", "fits"),
    [
        ("gpt-4", "gpt-4", True),
        ("gpt-4", "gpt-4o", False),
        ("/gpt-4/", "openai/gpt-4o", True),
        ("/^GPT/i", "gpt-4", True),
        ("/^GPT/", "gpt-4", False),
        ("/a/b/", "a/b", True),
        ("/home", "/home", True),
        ("/a/ii", "/a/ii", True),
        ("/a/Q", "a", False),
        ("/models/Llama", "/models/Llama", True),
        ("//", "//", True),
    ],
)
def test_a_model_is_named_or_matched(tmp_path: Path, match: str, model: str, fits: bool) -> None:
    write(tmp_path, "one", modelMatch=match, instructions={SYSTEM: "Mine."})
    assert (texts(tmp_path, model)(SYSTEM) == "Mine.") is fits


@pytest.mark.parametrize("flags", ["Q", "gg", "uv", "ix"])
def test_flags_that_are_none_are_told_with_their_line(tmp_path: Path, flags: str) -> None:
    file = write(tmp_path, "odd", modelMatch=f"/x/{flags}", instructions={SYSTEM: "Mine."})
    found = texts(tmp_path, "x")
    assert found(SYSTEM) == instruction(SYSTEM)
    (problem,) = found.problems
    assert (problem.file, problem.field, problem.line) == (file, "modelMatch", 3)
    assert problem.message.startswith(f"{flags} are no flags of a pattern")


def test_all_patterns_of_a_model_share_their_time(tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path, f"set-{number}", modelMatch="/./", instructions={SYSTEM: str(number)}, priority=6 - number)
    write(tmp_path, "exact", modelMatch="m", instructions={SUFFIX: "Exact."}, priority=99)
    asked: list[str] = []

    def slow(pattern: str, flags: str, model: str) -> Match:
        asked.append(model)
        return Match(False, MATCHING_SECONDS / 2, "stopped")

    found = InstructionSets(tmp_path, slow).for_model("m")
    assert asked == ["m", "m"]
    assert found(SUFFIX) == "Exact.", "an exact id needs no time"
    assert [problem.message.split(":")[0] for problem in found.problems[2:]] == ["the pattern was not tried"] * 4
    assert {problem.line for problem in found.problems} == {3}
    assert [problem.file.stem for problem in found.problems if problem.file] == [f"set-{n}" for n in (5, 4, 3, 2, 1, 0)]


def test_the_lowest_number_first_and_key_by_key(tmp_path: Path) -> None:
    write(tmp_path, "a-late", modelMatch="/./", instructions={SYSTEM: "late", SUFFIX: "late"})
    write(tmp_path, "b-early", modelMatch="/./", priority=1, instructions={SYSTEM: ""})
    write(tmp_path, "c-never", modelMatch="other", priority=0, instructions={SYSTEM: "never"})
    write(tmp_path, "d-same", modelMatch="m", instructions={SUFFIX: "behind the file before it"})
    found = texts(tmp_path, "m")
    assert (found(SYSTEM), found(SUFFIX)) == ("", "late")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"modelMatch": "m"}, "instructions"),
        ({"modelMatch": "m", "instructions": {SYSTEM: 1}}, f"instructions.{SYSTEM}"),
        ({"modelMatch": "", "instructions": {}}, "modelMatch"),
        ({"modelMatch": "m", "instructions": {}, "name": ""}, "name"),
        ({"modelMatch": "m", "instructions": {}, "priority": "1"}, "priority"),
        ({"modelMatch": "m", "instructions": {}, "priority": 1.5}, "priority"),
        ({"modelMatch": "m", "instructions": {}, "priority": True}, "priority"),
    ],
)
def test_a_bad_set_is_reported_with_its_place_and_skipped(tmp_path: Path, values: dict[str, Any], field: str) -> None:
    file = write(tmp_path, "bad", **values)
    write(tmp_path, "good", modelMatch="m", instructions={SUFFIX: "Good."})
    found = texts(tmp_path, "m")
    assert found(SUFFIX) == "Good."
    assert [(problem.file, problem.field) for problem in found.problems] == [(file, field)]


@pytest.mark.parametrize(
    "data",
    [
        *(b"{", b"[]", b'"x"', b"\xff"),
        b'{"name": "x", "modelMatch": "m", "priority": 1e999, "instructions": {}}',
    ],
)
def test_what_is_no_set_at_all(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InvalidFile):
        parse_set(tmp_path / "x.json", data)


def test_a_key_there_is_none_of_is_told(tmp_path: Path) -> None:
    write(tmp_path, "one", modelMatch="m", instructions={"generation.sistem": "x", SYSTEM: "Mine."})
    found = texts(tmp_path, "m")
    assert found(SYSTEM) == "Mine."
    assert "there is no instruction generation.sistem" in str(found.problems[0])


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    file = write(tmp_path, "one", modelMatch="m", instructions={SYSTEM: "Mine."})
    os.utime(file, (1, 1))
    sets = InstructionSets(tmp_path, python_matcher)
    assert sets.for_model("m") is sets.for_model("m")
    write(tmp_path, "one", modelMatch="m", instructions={SYSTEM: "Another."})
    assert sets.for_model("m")(SYSTEM) == "Another."


# -- in a workspace: matched by the sandbox


def test_a_prompt_for_a_model(quay: Workspace, data: Path) -> None:
    write(data / "instruction-sets", "one", modelMatch=r"/^claude-(?<n>\d)\b/", instructions={SYSTEM: "For Claude."})
    plain = quay.prompt("the-quay")
    own = quay.prompt("the-quay", model="claude-4-x")
    assert own.messages[0].content.startswith("[@block=instructions]\nFor Claude.\n\n[@block=tools]\n")
    assert quay.prompt("the-quay", model="gpt-4").messages == plain.messages
    base = quay.base("the-quay", "generation.writer", model="claude-4-x")
    assert quay.base("the-quay", "generation.writer", model="claude-4-x") is base
    assert quay.run_script(base, "return ctx.modelId").text == "claude-4-x"


def test_an_endless_pattern_is_stopped_and_told(quay: Workspace, data: Path) -> None:
    file = write(data / "instruction-sets", "bad", modelMatch=r"/^(a+)+$/", instructions={SYSTEM: "Never."})
    write(data / "instruction-sets", "odd", modelMatch="/(/", instructions={SYSTEM: "Never."})
    write(data / "instruction-sets", "tail", modelMatch="/b$/", instructions={SUFFIX: "Tail."})
    prompt = quay.prompt("the-quay", model="a" * 60 + "b")
    assert "Never." not in prompt.messages[0].content and "Tail." in prompt.messages[0].content
    told = [warning for warning in prompt.warnings if "can't be matched" in warning]
    assert len(told) == 2
    assert str(file) in told[0]
    assert any("odd.json" in str(problem) for problem in quay.doctor())


def test_a_text_of_a_set_has_conditions_too(tmp_path: Path) -> None:
    text = "Write.<!-- if: findFragments --> Search with `findFragments`.<!-- else --> Search nothing.<!-- end -->"
    found, problems = parse_set(*_set_of(tmp_path, {SUFFIX: text}))
    assert not problems
    assert for_tools(found.texts[SUFFIX], ("findFragments",)) == "Write. Search with `findFragments`."
    assert for_tools(found.texts[SUFFIX], ("readFragments",)) == "Write. Search nothing."


@pytest.mark.parametrize(
    "text",
    [
        "a <!-- if: any -->b",
        "a<!-- end --> b",
        "a <!-- else --> b",
        "<!-- if: x, y -->a<!-- end -->",
        "<!-- if: x -->a<!-- else -->b<!-- else -->c<!-- end -->",
    ],
)
def test_a_marker_of_no_whole_condition_is_reported_and_sent_as_it_stands(tmp_path: Path, text: str) -> None:
    _, (problem,) = parse_set(*_set_of(tmp_path, {SYSTEM: "Fine.", SUFFIX: text}))
    assert "belongs to no whole condition" in problem.message
    assert (problem.field, problem.line) == (f"instructions.{SUFFIX}", 6)
    assert "<!-- " in for_tools(text, ("x",)) or "<!-- " in for_tools(text, ())


def test_other_comments_are_text(tmp_path: Path) -> None:
    _, problems = parse_set(*_set_of(tmp_path, {SYSTEM: "<!-- note -->"}))
    assert not problems
    assert for_tools("<!-- note -->", ()) == "<!-- note -->"


def _set_of(folder: Path, texts: dict[str, str]) -> tuple[Path, bytes]:
    file = write(folder, "own", modelMatch="m", instructions=texts)
    return file, file.read_bytes()


def test_the_doctor_of_a_story_tries_the_patterns_with_its_models(quay: Workspace, data: Path) -> None:
    model = "a" * 60 + "b"
    provider = {"id": "p", "name": "P", "baseURL": "http://h/v1", "apiKey": "", "defaultModel": model}
    (data / "config.json").write_text(json.dumps({"providers": [provider], "defaultProviderId": "p"}), "utf-8")
    for number in range(8):
        write(data / "instruction-sets", f"slow-{number}", modelMatch=r"/^(a+)+$/", instructions={SYSTEM: "Never."})
    write(data / "instruction-sets", "odd", modelMatch="/x/Q", instructions={SYSTEM: "Never."}, priority=1)
    found = [str(problem) for problem in quay.doctor("the-quay")]
    assert "odd.json" in found[0]
    assert any("slow-0.json" in line and "can't be matched" in line for line in found)
    assert any("slow-7.json" in line and "was not tried" in line for line in found)
    assert set(map(str, quay.doctor())) == set(found)
