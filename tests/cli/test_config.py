"""config: what each command leaves in the file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran, Run, files_of
from tests.stories import config_file, custom_block, make_story

WRITER = "generation.writer"
EMPTY = {
    "customBlocks": [],
    "overrides": {},
    "blockOrder": [],
    "disabledTools": [],
    "disableAutoAnalysis": False,
}


class Config:
    """`stonehand config the-quay generation.writer …` and the file it works on."""

    def __init__(self, run: Run, story: Path) -> None:
        self._run = run
        self.file = config_file(story)

    def __call__(self, *arguments: object, stdin: bytes | None = None) -> Ran:
        return self._run("config", "the-quay", WRITER, *arguments, stdin=stdin)

    def done(self, *arguments: object, stdin: bytes | None = None) -> Ran:
        outcome = self(*arguments, stdin=stdin)
        assert outcome.code == 0, outcome.err
        return outcome

    @property
    def saved(self) -> dict[str, Any]:
        return json.loads(self.file.read_bytes())

    def write(self, **values: Any) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps({**EMPTY, **values}, indent=2), encoding="utf-8")

    def ids(self, role: str) -> list[str]:
        rows = self._run("blocks", "the-quay", WRITER, "--json").document
        return [row["id"] for row in rows if row["role"] == role]


@pytest.fixture
def config(run: Run, story: Path) -> Config:
    return Config(run, story)


def test_get_without_a_file_is_the_empty_config_and_makes_none(config: Config) -> None:
    assert config.done("get").document == EMPTY
    assert not config.file.exists()


def test_get_is_what_the_file_holds(config: Config) -> None:
    config.file.parent.mkdir(parents=True)
    config.file.write_text('{"later": [1.5], "blockOrder": ["tools"]}', encoding="utf-8")
    assert list(config.done("get").document.items()) == [("later", [1.5]), ("blockOrder", ["tools"])]


def test_disable_and_enable(config: Config) -> None:
    first = config.done("disable", "tools", "--json")
    assert first.document == {"changed": True, "id": "tools"}
    assert config.saved["overrides"] == {"tools": {"enabled": False}}
    before = config.file.read_bytes()
    assert config.done("disable", "tools", "--json").document["changed"] is False
    assert config.file.read_bytes() == before
    config.done("enable", "tools")
    assert config.saved["overrides"] == {}


def test_move_puts_a_block_where_blocks_will_show_it(config: Config) -> None:
    ids = config.ids("user")
    block = ids[-2]
    config.done("move", block, 2)
    assert config.ids("user") == [ids[0], block, *(other for other in ids[1:] if other != block)]
    assert config.done("move", block, 2, "--json").document["changed"] is False


@pytest.mark.parametrize("position", ["0", "99", "-1", "first"])
def test_a_position_that_is_none_is_wrong_usage(config: Config, position: str) -> None:
    done = config("move", "tools", "--", position)
    assert (done.code, done.out) == (2, b"")
    assert not config.file.exists()


def test_order_pins_and_unpins(config: Config) -> None:
    config.done("order", "tools", "-5")
    assert config.saved["overrides"] == {"tools": {"order": -5}}
    assert config.ids("system")[0] == "tools"
    config.done("order", "tools", "1.5")
    assert config.saved["overrides"] == {"tools": {"order": 1.5}}
    config.done("order", "tools", "none")
    assert config.saved["overrides"] == {}
    assert config("order", "tools", "nan").code == 2
    assert config("order", "tools", "1e999").code == 2
    for wrong in (99999999999999999999999, 2**53 + 1, -(2**53) - 1):
        assert config("order", "tools", wrong).code == 2
    config.done("order", "tools", 2**53)
    assert config.saved["overrides"] == {"tools": {"order": 2**53}}


def test_content_modes(config: Config, run: Run) -> None:
    config.done("mode", "instructions", "append", "One more thing.")
    assert config.saved["overrides"] == {"instructions": {"contentMode": "append", "customContent": "One more thing."}}
    config.done("mode", "instructions", "override")
    assert config.saved["overrides"]["instructions"]["customContent"] == "One more thing."
    config.done("mode", "instructions", "prepend", "-", stdin="Première".encode())
    assert "Première\n" in run("compile", "the-quay").text
    config.done("mode", "instructions", "none")
    assert "Première" not in run("compile", "the-quay").text
    assert config.saved["overrides"]["instructions"]["customContent"] == "Première"
    assert config("mode", "instructions", "none", "text").code == 2
    assert config("mode", "instructions", "sideways").code == 2


def test_adding_and_duplicating_tell_which_pins_they_give_up(config: Config) -> None:
    config.done("move", config.ids("user")[-1], 1)
    config.done("order", "tools", "7")
    added = config.done("add", "Dusk", "--role", "user", "--type", "simple", "It is dark.")
    assert "added Dusk; the order counts now for what was pinned: tools: saved" in added.err
    assert config.saved["overrides"] == {}
    config.done("order", "tools", "7")
    assert "what was pinned: tools" in config.done("duplicate", added.text.strip()).err


def test_an_edit_tells_which_keys_it_drops(config: Config) -> None:
    config.file.parent.mkdir(parents=True)
    config.file.write_text('{"blockOrder": ["prose"],\n"blockOrder": ["tools"]}', encoding="utf-8")
    told = f'{config.file}:2 (blockOrder): the key "blockOrder" stands in one object more than once'
    assert told not in config.done("enable", "tools").err, "which changes nothing"
    assert told in config.done("disable", "tools").err
    assert config.saved["blockOrder"] == ["tools"]
    assert told not in config.done("enable", "tools").err


def test_override_without_a_text_starts_from_the_default(config: Config, run: Run) -> None:
    default = next(b for b in run("compile", "the-quay", "--json").document["blocks"] if b["id"] == "tools")
    config.done("mode", "tools", "override")
    assert config.saved["overrides"]["tools"] == {"contentMode": "override", "customContent": default["content"]}


def test_add_prints_the_id_and_the_block_compiles(config: Config, run: Run) -> None:
    added = config.done("add", "Dusk", "--role", "user", "--type", "script", "-", stdin=b"return 'It is ' + 7\n")
    block = added.text.removesuffix("\n")
    (saved,) = config.saved["customBlocks"]
    assert (saved["id"], saved["name"], saved["role"], saved["type"]) == (block, "Dusk", "user", "script")
    assert saved["content"] == "return 'It is ' + 7\n"
    assert config.ids("user")[-1] == block
    assert run("compile", "the-quay").text.endswith(f"[@block=dusk src={block}]\nIt is 7\n")
    other = config.done("add", "Empty", "--role", "system", "--type", "simple", "--json").document
    assert config.ids("system")[-1] == other["id"]
    assert config("add", "No role", "--type", "simple").code == 2
    assert config("add", "x" * 101, "--role", "user", "--type", "simple").code == 2


def test_edit_rename_and_delete_a_custom_block(config: Config) -> None:
    config.write(customBlocks=[custom_block("cb-aaaa", "old", note="kept")], later=1)
    text = "line one\r\nline two\u2028  - end\n"
    config.done("edit", "cb-aaaa", "-", stdin=text.encode())
    config.done("rename", "cb-aaaa", "New name")
    (saved,) = config.saved["customBlocks"]
    assert (saved["content"], saved["name"], saved["note"]) == (text, "New name", "kept")
    config.done("edit", "cb-aaaa", "--", "- dashed")
    assert config.saved["customBlocks"][0]["content"] == "- dashed"
    config.done("delete", "cb-aaaa")
    assert config.saved == {**EMPTY, "later": 1}
    assert config("delete", "tools").code == 2
    assert config("rename", "tools", "Hammers").code == 2


def test_edit_a_builtin_block_sets_its_own_text(config: Config) -> None:
    config.done("edit", "tools", "mine")
    assert config.saved["overrides"] == {"tools": {"customContent": "mine"}}
    assert config("edit", "tools").code == 2


def test_tools(config: Config) -> None:
    config.done("tool", "readFragments", "off")
    assert config.saved["disabledTools"] == ["readFragments"]
    config.done("tool", "readFragments", "on")
    assert config.saved["disabledTools"] == []
    wrong = config("tool", "hammer", "off")
    assert (wrong.code, "readFragments" in wrong.err) == (1, True)


def test_reset_a_block_and_the_agent(config: Config) -> None:
    config.write(
        overrides={"tools": {"enabled": False}, "instructions": {"enabled": False}}, blockOrder=["tools"], later=1
    )
    config.done("reset", "tools")
    assert config.saved["overrides"] == {"instructions": {"enabled": False}}
    config.done("reset", "--yes")
    assert config.saved == {**EMPTY, "later": 1}


def test_a_block_that_is_not_there_fails_and_names_those_that_are(config: Config) -> None:
    for arguments in (("enable", "nope"), ("move", "nope", 1), ("edit", "nope", "x"), ("reset", "nope")):
        done = config(*arguments)
        assert (done.code, done.out) == (1, b"")
        assert "no block 'nope'" in done.err and "instructions" in done.err
    assert not config.file.exists()


def test_an_edit_runs_no_script(config: Config) -> None:
    config.write(customBlocks=[custom_block("cb-aaaa", "while (true) {}", type="script")])
    done = config.done("disable", "cb-aaaa", "--json")
    assert done.document["changed"] is True


def test_the_branch_may_stand_on_either_side(run: Run, data: Path) -> None:
    story = make_story(data, branches=("main", "br-dusk"))
    assert run("config", "the-quay", WRITER, "disable", "tools", "--branch", "br-dusk").code == 0
    assert run("config", "--branch", "br-dusk", "the-quay", WRITER, "disable", "instructions").code == 0
    saved = json.loads(config_file(story, branch="br-dusk").read_bytes())
    assert set(saved["overrides"]) == {"tools", "instructions"}
    assert not config_file(story).exists()


INVALID = '{\n  "customBlocks": [],\n  "overrides": {"tools": {"enabled": "no"}}\n}'


@pytest.fixture
def invalid(config: Config) -> Config:
    config.file.parent.mkdir(parents=True)
    config.file.write_text(INVALID, encoding="utf-8")
    return config


@pytest.mark.parametrize(
    "arguments",
    [
        ("blocks", "the-quay", WRITER),
        ("compile", "the-quay"),
        ("generate", "the-quay", "--input", "Go on.", "--pace", "0", "--save"),
        ("config", "the-quay", WRITER, "get"),
        ("config", "the-quay", WRITER, "disable", "tools"),
        ("config", "the-quay", WRITER, "add", "x", "--role", "user", "--type", "simple"),
        ("config", "the-quay", WRITER, "tool", "readFragments", "off"),
        ("config", "the-quay", WRITER, "reset", "tools"),
        ("doctor",),
    ],
    ids=lambda arguments: "-".join(arguments[:1] + arguments[3:4]),
)
def test_an_invalid_config_is_named_and_left_alone(
    invalid: Config, run: Run, data: Path, arguments: tuple[str, ...]
) -> None:
    before = files_of(data)
    done = run(*arguments)
    assert done.code == 1
    told = done.text + done.err
    assert f"{invalid.file}:3 (overrides.tools.enabled)" in told
    assert 'must be true or false, not "no"' in told
    assert "Traceback" not in told
    # The doctor adds the repair it offers, and how to ask for it.
    assert len(told.splitlines()) == (3 if arguments == ("doctor",) else 1)
    assert files_of(data) == before


def test_agents_reports_an_invalid_config_and_goes_on(invalid: Config, run: Run) -> None:
    done = run("agents", "the-quay", "--json")
    assert done.code == 0
    assert done.document[0]["customised"] is None
    assert f"{invalid.file}:3 (overrides.tools.enabled)" in done.err


def test_reset_of_a_whole_config_is_told_asked_about_and_taken_back(config: Config, run: Run) -> None:
    config.write(customBlocks=[custom_block("cb-aaaa", "Mine", name="Mine")], overrides={"tools": {"enabled": False}})
    before = config.file.read_bytes()
    for arguments in (("reset",), ("reset", "--json"), ("reset", "--dry-run"), ("reset", "")):
        assert config(*arguments).code == {"--dry-run": 0, "": 1}.get(arguments[-1], 2)
        assert config.file.read_bytes() == before
    done = config.done("reset", "--yes")
    assert "removes the text block 'Mine'" in done.text and "switches tools on" in done.text
    assert config.saved == EMPTY
    assert "import the-quay --branch main --undo" in done.err
    assert run("import", "the-quay", "--undo", "--yes").code == 0
    assert config.file.read_bytes() == before
    assert config.done("reset", "--yes", "--json").document["changed"] is True
    assert config.done("reset", "--json").document["changed"] is False, "nothing to ask about"


def test_reset_asks_on_a_terminal(config: Config) -> None:
    config.write(overrides={"tools": {"enabled": False}})
    before = config.file.read_bytes()
    terminal = type("Terminal", (io.BytesIO,), {"isatty": lambda _: True})
    for answer in (b"n\n", b"y\n"):
        assert config.file.read_bytes() == before
        config("reset", stdin=terminal(answer))
    assert config.saved == EMPTY


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("options", [("--branch", "two"), ("--branch=two", "--json")])
def test_options_may_stand_anywhere(run: Run, data: Path, place: int, options: tuple[str, ...]) -> None:
    story = make_story(data, branches=("main", "two"))
    words = ["the-quay", WRITER, "disable", "tools"]
    done = run("config", *words[:place], *options, *words[place:], "--data", data)
    assert done.code == 0, done.err
    assert bool(done.text) == ("--json" in options)
    assert config_file(story, branch="two").exists() and not config_file(story).exists()


def test_wrong_options_before_the_command_are_named(run: Run, story: Path) -> None:
    for arguments, told in (
        ((WRITER, "--branch"), "Option '--branch' requires an argument"),
        ((WRITER, "--brunch", "main", "get"), "No such option '--brunch'"),
        ((WRITER, "--branch", "main"), "Missing command"),
        (("--branch", "main"), "Missing argument 'AGENT'"),
        ((WRITER, "get", "--role", "user"), "No such option '--role'"),
    ):
        done = run("config", "the-quay", *arguments)
        assert (done.code, told in done.err) == (2, True), done.err


def test_reset_repairs_an_invalid_config_and_keeps_a_copy(invalid: Config) -> None:
    done = invalid.done("reset", "--json")
    copy = Path(done.document["copy"])
    assert copy.parent == invalid.file.parent
    assert copy.read_text(encoding="utf-8") == INVALID
    assert invalid.saved == EMPTY
    assert [file for file in invalid.file.parent.iterdir() if file not in (copy, invalid.file)] == []


def test_unsaved_edits_of_an_open_editor_are_left_to_it(config: Config, data: Path, tmp_path: Path) -> None:
    from engine import Workspace

    editor = Workspace(data)
    try:
        session = editor.session("the-quay", WRITER)
        session.install(session.load())
        session.toggle("tools", False)
        assert editor.journal.flush()
        before = files_of(tmp_path / "state" / "journal")
        assert before
        config.done("disable", "instructions")
        assert config.saved["overrides"] == {"instructions": {"enabled": False}}
        assert files_of(tmp_path / "state" / "journal") == before
    finally:
        editor.close()


def test_set_changes_what_a_custom_block_is(config: Config) -> None:
    block = config.done("add", "Note", "--role", "user", "--type", "simple", "text").text.strip()
    config.done("set", block, "--name", "Script note", "--role", "system", "--type", "script", "--order", "-5")
    found = config.saved["customBlocks"][0]
    assert (found["name"], found["role"], found["type"], found["order"]) == ("Script note", "system", "script", -5)
    assert config.done("set", block, "--order", "2.5", "--json").document == {"changed": True, "id": block}
    assert config.done("set", block, "--order", "2.5", "--json").document["changed"] is False
    for wrong in ((), ("--order", "none"), ("--order", "x"), ("--role", "nobody"), ("--name", " ")):
        assert config("set", block, *wrong).code == 2
    built_in = config("set", "summary", "--name", "Mine")
    assert built_in.code == 2 and "built-in" in built_in.err


def test_duplicate(config: Config) -> None:
    block = config.done("add", "Note", "--role", "user", "--type", "simple", "text").text.strip()
    copy = config.done("duplicate", block).text.strip()
    of_built_in = config.done("duplicate", "story-info", "--json").document["id"]
    found = {item["id"]: item for item in config.saved["customBlocks"]}
    assert found[copy]["content"] == "text" and found[copy]["name"] == "Note copy"
    assert "The Quay" in found[of_built_in]["content"]
    ids = config.ids("user")
    assert ids.index(copy) == ids.index(block) + 1 and ids.index(of_built_in) == ids.index("story-info") + 1


def test_analysis_is_switched_for_the_agent_that_runs_by_itself(run: Run, story: Path) -> None:
    assert run("config", "the-quay", "librarian.analyze", "analysis", "off").code == 0
    saved = json.loads(config_file(story, "librarian.analyze").read_bytes())
    assert saved["disableAutoAnalysis"] is True
    assert run("config", "the-quay", "librarian.analyze", "analysis", "on", "--json").document == {"changed": True}
    refused = run("config", "the-quay", WRITER, "analysis", "off")
    assert refused.code == 2 and "librarian.analyze" in refused.err


def test_scripts_that_share_an_id_are_switched_together_and_each_is_named(config: Config) -> None:
    twins = [
        custom_block("cb-twin", f"return '{name}'", type="script", name=name, enabled=False) for name in ("S", "S2")
    ]
    config.write(customBlocks=twins)
    done = config.done("enable", "cb-twin")
    assert "enabled S (cb-twin), S2 (cb-twin#2): saved" in done.err
    assert all(block["enabled"] for block in config.saved["customBlocks"])
    assert "disabled S (cb-twin), S2 (cb-twin#2): saved" in config.done("disable", "cb-twin#2").err


def test_a_block_that_is_not_there_has_no_text_to_copy(config: Config) -> None:
    refused = config("duplicate", "author-input")
    assert refused.code == 2 and "no text to copy: no direction is given" in refused.err and not config.file.exists()
    config.done("disable", "story-info")
    config.done("duplicate", "story-info")
    assert "The Quay" in config.saved["customBlocks"][0]["content"], "one that is off has its text"


def test_reset_of_a_block_keeps_the_keys_that_are_not_known(config: Config) -> None:
    config.write(overrides={"summary": {"enabled": False, "weird": True}, "tools": {"enabled": False}})
    config.done("reset", "summary")
    config.done("reset", "tools")
    assert config.saved["overrides"] == {"summary": {"weird": True}}
    assert config.done("reset", "summary", "--json").document["changed"] is False
