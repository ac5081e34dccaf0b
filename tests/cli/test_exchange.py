"""export, import, copy and branch: what they print, ask and leave on disk."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run, files_of
from tests.stories import config_file, custom_block, make_story
from tui.commands.frame import LARGEST_FILE

WRITER = "generation.writer"
CHAT = "librarian.chat"
STORY = "the-quay"
CONFIG = {
    "customBlocks": [custom_block("cb-aaaa11", "return 1", type="script", name="Count")],
    "overrides": {"summary": {"enabled": False}},
}


@pytest.fixture
def bundle(run: Run, data: Path, tmp_path: Path) -> Path:
    """A bundle that was exported from another story."""
    make_story(data, "the-mill", configs={WRITER: CONFIG})
    file = tmp_path / "writer.json"
    file.write_bytes(run("export", "the-mill", WRITER).out)
    return file


def test_a_bundle_is_told_done_and_taken_back(run: Run, story: Path, bundle: Path) -> None:
    before = files_of(story)
    told = run("import", STORY, WRITER, bundle, "--dry-run")
    assert told.code == 0 and files_of(story) == before
    assert told.text.splitlines() == [
        WRITER,
        "  adds the script block 'Count' (user, off)",
        "  switches summary off",
        "  scripts are off until you have read them and switched them on: 'Count'",
    ]
    refused = run("import", STORY, WRITER, bundle)
    assert refused.code == 2 and "--yes" in refused.err and files_of(story) == before
    assert run("import", STORY, bundle, "--yes").code == 0, "the bundle names its agent"
    assert json.loads(config_file(story).read_bytes())["overrides"] == CONFIG["overrides"]
    imported = files_of(story)
    dry = run("import", STORY, "--undo", "--dry-run")
    assert dry.code == 0 and files_of(story) == imported
    assert dry.text.splitlines() == [WRITER, "  removes the script block 'Count'", "  switches summary on"]
    assert run("import", STORY, "--undo", "--dry-run", "--json").document["changed"] is False
    for asked in (("--undo",), ("--undo", "--json")):
        refused = run("import", STORY, *asked)
        assert refused.code == 2 and "--yes" in refused.err and files_of(story) == imported
    undone = run("import", STORY, "--undo", "--yes", "--json")
    assert undone.document == {"changed": True, "agents": [WRITER], "left": []}
    assert files_of(story) == before


def test_an_invalid_config_is_left_out_of_an_export_and_replaced_by_an_import(
    run: Run, story: Path, bundle: Path
) -> None:
    run("config", STORY, CHAT, "disable", "instructions")
    bad = b'{\n"customBlocks": 5}'
    config_file(story).write_bytes(bad)
    done = run("export", STORY)
    assert done.code == 1 and done.document["agentBlockConfigs"].keys() == {CHAT}
    assert f"left out: {config_file(story)}:2 (customBlocks)" in done.err
    assert run("export", STORY, CHAT).code == 0 and run("export", STORY, WRITER).code == 1
    refused = run("import", STORY, bundle)
    assert refused.code == 2 and config_file(story).read_bytes() == bad
    assert "no valid config" in refused.text
    done = run("import", STORY, bundle, "--yes")
    kept = Path(done.err.split("as it was is kept: ")[1].splitlines()[0])
    assert done.code == 0 and kept.read_bytes() == bad
    assert json.loads(config_file(story).read_bytes())["overrides"] == CONFIG["overrides"]
    assert run("import", STORY, "--undo", "--yes").code == 0
    assert config_file(story).read_bytes() == bad


def test_undo_names_the_files_it_leaves_alone_and_the_way_back(run: Run, story: Path, bundle: Path) -> None:
    assert run("config", STORY, WRITER, "disable", "story-info").code == 0
    assert run("import", STORY, bundle, "--yes").code == 0
    assert run("config", STORY, WRITER, "enable", "summary").code == 0
    before = files_of(story)
    dry = run("import", STORY, "--undo", "--dry-run")
    assert dry.code == 0 and f"{config_file(story)}: has changed since" in dry.err
    undone = run("import", STORY, "--undo", "--yes", "--json")
    assert undone.code == 1 and files_of(story) == before
    (left,) = undone.document["left"]
    assert undone.document["changed"] is False and left["file"] == str(config_file(story))
    assert f"import {STORY} {WRITER} {left['before']}" in undone.err
    assert run("import", STORY, WRITER, left["before"], "--yes").code == 0
    assert json.loads(config_file(story).read_bytes())["overrides"] == {"story-info": {"enabled": False}}


def test_help_of_import_says_what_stays(run: Run) -> None:
    assert "keys that this program does not know" in " ".join(run("import", "--help").text.split())


def test_import_as_json(run: Run, story: Path, bundle: Path) -> None:
    done = run("import", STORY, WRITER, "-", "--json", "--yes", stdin=bundle.read_bytes())
    assert done.document == {
        "changed": True,
        "notes": [],
        "agents": [
            {
                "agent": WRITER,
                "changes": ["adds the script block 'Count' (user, off)", "switches summary off"],
                "scriptsOff": ["Count"],
            }
        ],
    }
    again = run("import", STORY, WRITER, "-", "--json", "--yes", stdin=bundle.read_bytes())
    assert again.document["changed"] is False


def test_a_whole_story_travels(run: Run, data: Path, story: Path, bundle: Path) -> None:
    exported = run("export", "the-mill").document
    assert list(exported) == ["agentBlockConfigs"] and list(exported["agentBlockConfigs"]) == [WRITER]
    assert run("export", STORY).document == {}
    assert run("import", STORY, "-", "--yes", stdin=json.dumps(exported).encode()).code == 0
    assert list(run("export", STORY).document["agentBlockConfigs"]) == [WRITER]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "bundle.json:1: is not valid JSON"),
        (b'{\n "agentBlockConfigs": {\n  "../evil": {}}}', "bundle.json:3 (agentBlockConfigs.../evil): "),
        (b'{"customBlocks": []}', "bundle.json:1: is the config of one agent"),
    ],
)
def test_a_bad_bundle_is_one_clear_line(run: Run, story: Path, tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "bundle.json"
    file.write_bytes(content)
    ran = run("import", STORY, file, "--yes")
    assert ran.code == 1 and says in ran.err and ran.err.count("\n") == 1


def test_keys_that_stand_twice_in_a_bundle_are_told(run: Run, story: Path, tmp_path: Path) -> None:
    file = tmp_path / "bundle.json"
    agent = '"generation.writer": {"blockOrder": ["tools"]}'
    file.write_text(f'{{"agentBlockConfigs": {{{agent},\n{agent}}}}}', "utf-8")
    told = run("import", "the-quay", file, "--dry-run")
    assert told.code == 0
    assert f"{file}:2 (agentBlockConfigs.generation.writer): the key" in told.err


@pytest.mark.skipif(os.name != "posix", reason="has no such devices")
def test_a_device_or_an_endless_file_is_not_read(run: Run, story: Path, tmp_path: Path) -> None:
    for ran in (run("import", STORY, WRITER, "/dev/zero", "--yes"), run("eval", STORY, "/dev/zero")):
        assert ran.code == 1 and "/dev/zero: is not a regular file" in ran.err and ran.err.count("\n") == 1
    large = tmp_path / "large.json"
    with large.open("wb") as stream:
        stream.truncate(LARGEST_FILE + 1)
    ran = run("import", STORY, WRITER, large, "--yes")
    assert ran.code == 1 and "large.json: is larger than 64 MiB" in ran.err


def test_wrong_usage_of_import(run: Run, story: Path, tmp_path: Path) -> None:
    assert run("import", STORY).code == 2
    assert run("import", STORY, WRITER, "--undo").code == 2
    nothing = run("import", STORY, "--undo")
    assert nothing.code == 1 and "no import is on record" in nothing.err
    missing = run("import", STORY, tmp_path / "none.json")
    assert missing.code == 1 and "none.json: there is no such file" in missing.err


def test_copy(run: Run, data: Path, story: Path, bundle: Path) -> None:
    same = run("copy", "the-mill", WRITER)
    assert same.code == 2 and "the same config" in same.err
    done = run("copy", "the-mill", WRITER, "--to-story", STORY, "--to-agent", CHAT, "--yes")
    assert done.code == 0 and "the overrides of summary were left out" in done.err
    copied = json.loads(config_file(story, CHAT).read_bytes())
    assert copied["customBlocks"][0]["enabled"] is True and copied["overrides"] == {}
    assert run("import", STORY, "--undo", "--yes").code == 0
    assert not config_file(story, CHAT).exists()


def test_branches(run: Run, story: Path) -> None:
    made = run("branch", STORY, "create", "What if", "--after", 1).text.strip()
    listed = run("branch", STORY, "list", "--json").document
    assert [(item["id"], item["active"], item["parent"]) for item in listed] == [
        ("main", False, None),
        (made, True, "main"),
    ]
    assert run("compile", STORY, WRITER).text != run("compile", STORY, WRITER, "--branch", "main").text
    assert run("branch", STORY, "rename", made, "She stays").code == 0
    assert "She stays" in run("branch", STORY, "list").text
    refused = run("branch", STORY, "delete", made)
    assert refused.code == 2 and "--yes" in refused.err
    assert run("branch", STORY, "delete", made, "--yes", "--json").document == {"changed": True}
    assert [item["id"] for item in run("branch", STORY, "list", "--json").document] == ["main"]
    assert run("branch", STORY, "delete", "main", "--yes").code == 2
    assert run("branch", STORY, "switch", "nowhere").code == 1
    assert run("branch", STORY, "switch", "main", "--json").document == {"changed": False}
    assert run("branch", STORY, "create", "Too far", "--after", 9).code == 2


def test_nothing_is_written_to_a_branch_that_may_not_be_the_active_one(run: Run, data: Path, bundle: Path) -> None:
    story = make_story(data, branches=("main", "br-bafego"), active="br-bafego")
    index = story / "branches.json"
    index.write_text(index.read_text().replace('"activeBranchId": "br-bafego"', '"activeBranchId": "br-bafego",'))
    before = files_of(story)
    for command in (
        ("config", STORY, WRITER, "disable", "story-info"),
        ("config", STORY, WRITER, "reset", "--yes"),
        ("import", STORY, bundle, "--yes"),
        ("import", STORY, "--undo", "--yes"),
        ("copy", "the-mill", WRITER, "--to-story", STORY, "--yes"),
        ("generate", STORY, "--input", "Go on.", "--pace", 0, "--save"),
        ("branch", STORY, "create", "What if"),
    ):
        refused = run(*command)
        assert refused.code == 1 and refused.out == b"", command
        assert refused.err.count("\n") == 1 and f"{index}:" in refused.err, refused.err
        assert files_of(story) == before
    for reading in (("compile", STORY), ("export", STORY), ("blocks", STORY, WRITER), ("agents", STORY)):
        read = run(*reading)
        assert read.code == 0 and f"warning: {index}:" in read.err
    assert run("config", STORY, WRITER, "disable", "story-info", "--branch", "br-bafego").code == 0
    assert run("import", STORY, CHAT, bundle, "--yes", "--branch", "br-bafego").code == 0
    assert config_file(story, WRITER, "br-bafego").exists() and config_file(story, CHAT, "br-bafego").exists()
    assert run("generate", STORY, "--input", "Go on.", "--pace", 0, "--save", "--branch", "br-bafego").code == 0
    changed = {name for name, data in files_of(story).items() if before.get(name) != data}
    assert changed and not any(name.startswith(str(Path("branches", "main"))) for name in changed)


def test_choosing_the_branch_that_was_shown_settles_the_doubt(run: Run, data: Path) -> None:
    story = make_story(data, branches=("main", "br-bafego"), active="br-gone")
    assert run("config", STORY, WRITER, "disable", "story-info").code == 1
    assert run("branch", STORY, "switch", "main", "--json").document == {"changed": True}
    assert run("config", STORY, WRITER, "disable", "story-info").code == 0
    assert config_file(story).exists()


def test_export_names_the_configs_it_leaves_out(run: Run, data: Path) -> None:
    story = make_story(data, configs={WRITER: CONFIG, "plugin.agent": CONFIG})
    exported = run("export", STORY)
    assert list(exported.document["agentBlockConfigs"]) == [WRITER]
    assert exported.err == (
        f"stonehand: warning: {config_file(story, 'plugin.agent')}: there is no agent plugin.agent: "
        "its config was left out\n"
    )
    assert run("export", STORY, WRITER).err == ""


def test_a_config_taken_from_another_agent_says_whose_it_was(run: Run, story: Path, bundle: Path) -> None:
    whole = run("export", "the-mill").out
    for given in (whole, bundle.read_bytes()):
        told = run("import", STORY, CHAT, "-", "--dry-run", "--json", stdin=given)
        assert told.document["notes"] == [f"it was exported from {WRITER}"]
    assert run("import", STORY, WRITER, "-", "--dry-run", "--json", stdin=whole).document["notes"] == []


def test_the_version_that_was_kept_comes_back_whole_its_scripts_on(run: Run, data: Path, bundle: Path) -> None:
    story = make_story(data, configs={WRITER: CONFIG})
    assert run("config", STORY, WRITER, "disable", "tools").code == 0
    before = config_file(story).read_bytes()
    other = json.loads(bundle.read_bytes())
    other["config"]["overrides"] = {}
    bundle.write_text(json.dumps(other), "utf-8")
    assert run("import", STORY, WRITER, bundle, "--yes").code == 0
    assert run("config", STORY, WRITER, "enable", "story-info").code in (0, 1)
    assert run("config", STORY, WRITER, "disable", "story-info").code == 0
    refused = run("import", STORY, "--undo", "--yes")
    assert refused.code == 1 and "the version before is kept: stonehand import" in refused.err
    command = shlex.split(refused.err.split("the version before is kept: stonehand ")[1].splitlines()[0])
    done = run(*command, "--yes")
    assert done.code == 0, done.err
    assert config_file(story).read_bytes() == before


def test_a_broken_list_of_branches_offers_none_and_none_is_made(run: Run, data: Path) -> None:
    story = make_story(data, branches=("main", "br-dusk"))
    index = story / "branches.json"

    def listed(*ids: str) -> None:
        entries = [{"id": item, "name": item, "order": 0} for item in ids]
        index.write_text(json.dumps({"branches": entries, "activeBranchId": "main"}), "utf-8")

    listed()
    before = index.read_bytes()
    for command in (("switch", "main"), ("switch", "br-dusk"), ("rename", "br-dusk", "Dusk")):
        done = run("branch", STORY, *command)
        assert done.code == 1 and "names no branch" in done.err and "repair it first" in done.err
    listed("../../../evilb", "br-dusk")
    done = run("branch", STORY, "rename", "main", "Mine")
    assert done.code == 1 and "branches: br-dusk" in done.err and "evilb" not in done.err
    before = index.read_bytes()
    done = run("branch", STORY, "delete", "br-dusk", "--yes")
    assert done.code == 2 and "the only branch that is listed" in done.err
    assert index.read_bytes() == before and (story / "branches/br-dusk").is_dir()
