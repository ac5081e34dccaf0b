"""stories, agents, blocks, compile, eval, doctor."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from engine import Workspace
from engine.agents import agents
from tests.cli.conftest import Run, files_of
from tests.stories import DEFAULT_FRAGMENTS, config_file, custom_block, fragment, make_story

WRITER = "generation.writer"


def write_config(story: Path, **values: object) -> Path:
    file = config_file(story)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(values, indent=2), encoding="utf-8")
    return file


def test_stories_lists_branches_and_the_active_one(run: Run, data: Path) -> None:
    make_story(data, "b-story", name="Bé", branches=("main", "br-dusk"), active="br-dusk")
    make_story(data, "a-story", name="A")
    assert run("stories", "--json").document == [
        {"id": "a-story", "name": "A", "branches": ["main"], "activeBranch": "main"},
        {"id": "b-story", "name": "Bé", "branches": ["main", "br-dusk"], "activeBranch": "br-dusk"},
    ]
    lines = run("stories").text.splitlines()
    assert lines[1].split() == ["a-story", "A", "main*"]
    assert lines[2].split() == ["b-story", "Bé", "main", "br-dusk*"]


def test_a_damaged_story_is_listed_and_reported(run: Run, data: Path, story: Path) -> None:
    (story / "meta.json").write_text('{"name":', encoding="utf-8")
    make_story(data, "whole")
    done = run("stories", "--json")
    assert done.code == 0
    assert [item["id"] for item in done.document] == ["the-quay", "whole"]
    assert str(story / "meta.json") + ":1" in done.err


def test_agents_say_which_are_customised(run: Run, story: Path) -> None:
    write_config(story, overrides={"tools": {"enabled": False}})
    listed = {item["agent"]: item for item in run("agents", "the-quay", "--json").document}
    assert set(listed[WRITER]) == {"agent", "displayName", "description", "tools", "customised"}
    assert listed[WRITER]["customised"] is True
    assert "readFragments" in listed[WRITER]["tools"]
    assert listed["generation.prewriter"]["customised"] is False
    assert len(listed) == 9


def test_agents_with_their_tools(run: Run, story: Path) -> None:
    write_config(story, disabledTools=["getFragment"])
    listed = {item["agent"]: item["tools"] for item in run("agents", "the-quay", "--tools", "--json").document}
    states = {tool["name"]: tool["enabled"] for tool in listed[WRITER]}
    assert states["readFragments"] is False, "off by the name it had before"
    assert states["findFragments"] is True
    assert len(listed["librarian.analyze"]) == 10
    assert all(tool["description"].endswith(".") for tools in listed.values() for tool in tools)
    told = run("agents", "the-quay", "--tools").out.decode()
    assert any(line.split()[:3] == [WRITER, "readFragments", "off"] for line in told.splitlines())
    config_file(story).write_text("{", "utf-8")
    listed = {item["agent"]: item["tools"] for item in run("agents", "the-quay", "--tools", "--json").document}
    assert {tool["enabled"] for tool in listed[WRITER]} == {None}


@pytest.mark.parametrize("agent", [agent.name for agent in agents()])
def test_every_agent_is_listed_and_compiled(run: Run, story: Path, agent: str) -> None:
    rows = run("blocks", "the-quay", agent, "--json").document
    prompt = run("compile", "the-quay", agent, "--input", "Go on.", "--json").document
    sent = [row["id"] for row in rows if row["tokens"] is not None]
    assert [block["id"] for block in prompt["blocks"] if block["id"] != "author-input"] == sent
    assert sent[0] == "instructions"
    assert prompt["messages"][0]["role"] == "system"
    assert not prompt["warnings"]


def test_blocks_are_the_rows_of_the_editor(run: Run, data: Path, story: Path) -> None:
    write_config(
        story,
        customBlocks=[custom_block("cb-aaaa", "Hello.", name="Greeting")],
        overrides={"tools": {"enabled": False}, "instructions": {"contentMode": "append", "customContent": "More."}},
    )
    rows = run("blocks", "the-quay", WRITER, "--json").document
    keys = ["id", "name", "role", "order", "source", "enabled", "mode", "tokens", "note", "share"]
    assert all(list(row) == keys for row in rows)
    by_id = {row["id"]: row for row in rows}
    assert (by_id["tools"]["enabled"], by_id["tools"]["tokens"]) == (False, None)
    assert by_id["instructions"]["mode"] == "append"
    assert by_id["cb-aaaa"]["name"] == "Greeting"
    assert by_id["summary"]["note"]
    workspace = Workspace(data)
    try:
        session = workspace.session("the-quay", WRITER)
        session.install(session.load())
        assert [row["id"] for row in rows] == [row.id for row in session.rows]
    finally:
        workspace.close()


def test_blocks_and_compile_tell_of_ids_of_the_older_layout(run: Run, story: Path) -> None:
    write_config(story, overrides={"prose": {"enabled": False}})
    for command in (("blocks", "the-quay", "writer"), ("compile", "the-quay", "writer")):
        done = run(*command)
        assert (done.code, done.err.count("is called prose-recent now")) == (0, 1)
        assert "stonehand doctor the-quay --repair old-id" in done.err


def test_the_position_of_a_block_is_its_place_in_its_role(run: Run, story: Path) -> None:
    lines = [line.split() for line in run("blocks", "the-quay", WRITER).text.splitlines()[1:]]
    for role in ("system", "user"):
        positions = [int(cells[1]) for cells in lines if cells[0] == role]
        assert positions == list(range(1, len(positions) + 1))


@pytest.mark.parametrize("number", ["1e999", "1" + "0" * 400])
def test_a_number_too_large_for_javascript_is_refused_where_it_is(run: Run, story: Path, number: str) -> None:
    file = config_file(story)
    file.parent.mkdir()
    file.write_text(f'{{"overrides": {{\n"tools": {{"order": {number}}}}}}}', "utf-8")
    for arguments in (("blocks", story.name, WRITER), ("blocks", story.name, WRITER, "--json")):
        done = run(*arguments)
        assert (done.code, done.out) == (1, b"")
        assert f"{file}:2 (overrides.tools.order): is not valid JSON: the number 1" in done.err
    assert run("compile", story.name, "--json").code == 1
    told = run("doctor", story.name, "--json")
    assert told.code == 1
    assert [(found["line"], found["field"]) for found in told.document] == [(2, "overrides.tools.order")]


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_config_that_is_a_link_out_of_the_story_is_no_wrong_usage(run: Run, story: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text("{}", "utf-8")
    file = config_file(story)
    file.parent.mkdir()
    file.symlink_to(outside)
    for arguments in (("compile", story.name), ("config", story.name, WRITER, "disable", "tools")):
        done = run(*arguments)
        assert (done.code, done.out) == (1, b"")
        assert f"{file}: leads out of" in done.err and "put a copy" in done.err
    assert outside.read_text("utf-8") == "{}"


def test_compiled_text_is_the_messages_and_nothing_else(run: Run, story: Path) -> None:
    done = run("compile", "the-quay", "--input", "She looks up.")
    messages = run("compile", "the-quay", "--input", "She looks up.", "--json").document["messages"]
    assert done.text == f"{messages[0]['content']}\n\n{messages[1]['content']}\n"
    assert done.text.endswith("She looks up.\n")
    assert (done.code, done.err) == (0, "")


def test_compiling_twice_gives_the_same_bytes_and_writes_nothing(run: Run, data: Path, story: Path) -> None:
    write_config(story, customBlocks=[custom_block("cb-aaaa", "return ctx.story.name", type="script")])
    before = files_of(data)
    assert run("compile", "the-quay").out == run("compile", "the-quay").out
    assert run("compile", "the-quay", "--json").out == run("compile", "the-quay", "--json").out
    assert files_of(data) == before


def test_compiled_json_has_every_part(run: Run, story: Path) -> None:
    write_config(story, disabledTools=["readFragments"], overrides={"nothing-like-it": {"enabled": False}})
    done = run("compile", "the-quay", WRITER, "--json")
    document = done.document
    keys = ["agent", "story", "branch", "messages", "blocks", "tools", "warnings", "tokens", "budget"]
    assert list(document) == keys
    assert (document["agent"], document["story"], document["branch"]) == (WRITER, "the-quay", "main")
    for message in document["messages"]:
        for block in document["blocks"]:
            assert (block["content"] in message["content"]) or block["role"] != message["role"]
    assert list(document["blocks"][0]) == ["id", "name", "role", "order", "source", "content", "tokens"]
    assert "readFragments" not in document["tools"]
    assert "nothing-like-it" in document["warnings"][0]
    assert "nothing-like-it" in done.err
    assert document["tokens"]["total"] == sum(block["tokens"] for block in document["blocks"])


def test_a_prompt_without_blocks_is_no_text(run: Run, story: Path) -> None:
    ids = [row["id"] for row in run("blocks", "the-quay", WRITER, "--json").document]
    write_config(story, overrides={block: {"enabled": False} for block in ids})
    assert run("compile", "the-quay").out == b""


def test_the_branch_decides_what_is_compiled(run: Run, data: Path) -> None:
    story = make_story(data, branches=("main", "br-dusk"))
    file = story / "branches" / "br-dusk" / "fragments" / "pr-aaaa01.json"
    file.write_text(json.dumps(fragment("pr-aaaa01", "prose", "Dusk came early.", index=1)), encoding="utf-8")
    assert "Dusk came early." not in run("compile", "the-quay").text
    assert "Dusk came early." in run("compile", "the-quay", "--branch", "br-dusk").text
    wrong = run("compile", "the-quay", "--branch", "")
    assert (wrong.code, wrong.out) == (1, b"")
    assert "main, br-dusk" in wrong.err


def test_foreign_characters_pass_through_a_pipe_unchanged(run: Run, data: Path) -> None:
    odd = "bell \x07 escape \x1b[31m 漢字 \U0001f600 return \r\n tab \t end"
    make_story(data, prose=[odd])
    assert odd.encode() in run("compile", "the-quay").out
    assert run("compile", "the-quay", "--json").document["messages"][1]["content"].count(odd) == 1


def test_a_lone_surrogate_does_not_stop_the_output(run: Run, data: Path) -> None:
    story = make_story(data)
    file = story / "branches" / "main" / "fragments" / "pr-aaaa00.json"
    file.write_text(file.read_text(encoding="utf-8").replace("The lamp", "The \\ud83d lamp"), encoding="utf-8")
    assert rb"The \ud83d lamp" in run("compile", "the-quay").out
    assert "The \ud83d lamp" in run("compile", "the-quay", "--json").document["messages"][1]["content"]


def test_eval_gives_result_console_and_time(run: Run, story: Path, tmp_path: Path) -> None:
    script = tmp_path / "words.js"
    script.write_text("console.log('seen', 2); return ctx.story.name", encoding="utf-8")
    done = run("eval", "the-quay", script)
    assert (done.code, done.text) == (0, "The Quay\n")
    assert done.err == "stonehand: console: seen 2\n"
    document = run("eval", "the-quay", "-", "--json", stdin="return 'é'".encode()).document
    assert (document["result"], document["error"], document["note"]) == ("é", None, None)
    assert document["ms"] > 0


@pytest.mark.parametrize(
    ("body", "code", "error", "told"),
    [
        ("throw new Error('no boat')", 1, "no boat", "no boat (line 1)"),
        ("\n\nreturn nope.x", 1, "nope is not defined", "(line 3)"),
        ("return 3", 0, None, "type number"),
        ("throw {a: 1}", 1, "[object Object]", '{"a":1}'),
        ("return ' '", 0, None, "empty text"),
    ],
)
def test_eval_says_why_there_is_no_text(
    run: Run, story: Path, body: str, code: int, error: str | None, told: str
) -> None:
    done = run("eval", "the-quay", "-", "--json", stdin=body.encode())
    assert (done.code, done.document["result"], done.document["error"]) == (code, None, error)
    assert told in done.document["note"]
    plain = run("eval", "the-quay", "-", stdin=body.encode())
    assert (plain.code, plain.out) == (code, b"")
    assert told in plain.err and "Traceback" not in plain.err


def test_eval_of_a_missing_or_unreadable_file(run: Run, story: Path, tmp_path: Path) -> None:
    missing = run("eval", "the-quay", tmp_path / "none.js")
    assert (missing.code, "none.js: there is no such file" in missing.err) == (1, True)
    garbled = run("eval", "the-quay", "-", stdin=b"one\n\xff")
    assert (garbled.code, "not UTF-8 text (line 2)" in garbled.err) == (2, True)


def test_doctor_finds_nothing_in_a_whole_story(run: Run, story: Path) -> None:
    done = run("doctor")
    assert (done.code, done.out) == (0, b"")
    assert run("doctor", "the-quay", "--json").document == []


def test_doctor_reports_file_field_and_line(run: Run, data: Path, story: Path) -> None:
    make_story(data, "other")
    file = write_config(story, customBlocks=[{**custom_block("cb-aaaa", ""), "role": "boss"}])
    (story / "branches" / "main" / "fragments" / "kn-broken.json").write_text("{", encoding="utf-8")
    done = run("doctor", "--json")
    assert done.code == 1
    assert all(list(item) == ["message", "file", "field", "line", "repair", "offered"] for item in done.document)
    found = next(item for item in done.document if item["file"] == str(file))
    assert (found["field"], found["line"]) == ("customBlocks[0].role", 6)
    text = run("doctor")
    offers = [item for item in done.document if item["offered"]]
    assert (len(done.document), len(offers)) == (2, 1)
    assert len(text.text.splitlines()) == len(done.document) + len(offers)
    assert f"{file}:6 (customBlocks[0].role)" in text.text
    assert run("doctor", "other").code == 0


MENTIONED = {"annotations": [{"type": "mention", "fragmentId": "kn-mirafa", "text": "the quay"}]}
PASSAGES = tuple(
    fragment(name, "prose", text, index=number, meta=meta)
    for number, (name, text, meta) in enumerate(
        (("pr-firsta", "First.", MENTIONED), ("pr-second", "Second. " * 40, {}), ("mk-chapte", "", {}))
    )
)


@pytest.mark.parametrize(
    "chain", [[], ["pr-firsta", "pr-second"], ["pr-firsta", "pr-second", "mk-chapte", "pr-gone99"]]
)
def test_the_newest_passage_is_the_one_that_an_analysis_is_previewed_and_run_of(
    run: Run, data: Path, chain: list[str]
) -> None:
    """With a chain or without one, also where it ends with a marker or with what is not there; the window begins
    before the passage, however little fits it.
    """
    marker = {**PASSAGES[2], "type": "marker"}
    story = make_story(
        data,
        prose=(),
        fragments=(*DEFAULT_FRAGMENTS, *PASSAGES[:2], marker),
        settings={"contextCompact": {"type": "proseLimit", "value": 1}},
    )
    entries = [{"proseFragments": [item], "active": item} for item in chain]
    (story / "branches/main/prose-chain.json").write_text(json.dumps({"entries": entries}), "utf-8")
    previewed = run("compile", "the-quay", "analyze", "--json").document
    blocks = {block["id"]: block["content"] for block in previewed["blocks"]}
    assert "Fragment ID: pr-second" in blocks["prose-new"]
    assert "kn-mirafa" in blocks["fragment-recent"]
    assert previewed == run("compile", "the-quay", "analyze", "--fragment", "pr-second", "--json").document
    assert sent(data, "librarian.analyze") == previewed["messages"]
    first = run("blocks", "the-quay", "analyze", "--fragment", "pr-firsta", "--json").document
    assert next(row for row in first if row["id"] == "fragment-recent")["tokens"] is None
    body = b"return ctx.newProse.id"
    assert run("eval", "the-quay", "-", "--agent", "analyze", stdin=body).text == "pr-second\n"
    assert (
        run("eval", "the-quay", "-", "--agent", "analyze", "--fragment", "pr-firsta", stdin=body).text == "pr-firsta\n"
    )


@pytest.mark.parametrize(
    ("agent", "fragment_id", "block", "text"),
    [
        ("librarian.refine", "kn-mirafa", "target", "Older."),
        ("librarian.optimize-character", "ch-bafego", "target", "Older."),
        ("librarian.prose-transform", "pr-aaaa01", "selection", "Ines counted"),
        ("character-chat.chat", "ch-bafego", "character", "Counts everything twice."),
    ],
)
def test_a_prompt_about_a_fragment_is_the_one_that_is_sent(
    run: Run, data: Path, story: Path, agent: str, fragment_id: str, block: str, text: str
) -> None:
    previewed = run("compile", "the-quay", agent, "--fragment", fragment_id, "--input", "Older.", "--json").document
    assert text in next(item["content"] for item in previewed["blocks"] if item["id"] == block)
    assert sent(data, agent, fragment_id, "Older.") == previewed["messages"]


def sent(data: Path, agent: str, fragment_id: str | None = None, said: str = "") -> list[dict[str, str]]:
    """The messages of a run, as `compile --json` has them."""
    with closing(Workspace(data, journal=False)) as workspace:
        session = workspace.session("the-quay", agent)
        session.author_input = said
        messages = workspace.generation.prepare(session, provider="rehearsal", fragment=fragment_id).prompt.messages
        return [{"role": message.role, "content": message.content} for message in messages]


def test_a_fragment_that_a_prompt_cant_be_about_is_refused(run: Run, story: Path) -> None:
    for agent, fragment_id, code, told in (
        ("analyze", "ch-bafego", 2, "ch-bafego is of character"),
        ("analyze", "pr-nobody", 1, "there is no fragment pr-nobody"),
        ("writer", "pr-aaaa00", 2, "is about no fragment"),
    ):
        done = run("compile", "the-quay", agent, "--fragment", fragment_id)
        assert (done.code, done.out) == (code, b"") and told in done.err


def test_a_transform_is_previewed_with_the_summary_that_it_sends(run: Run, data: Path) -> None:
    make_story(data, fragments=[fragment("sm-sofar1", "summary", "Nine boats came in.")])
    blocks = {b["id"]: b for b in run("compile", "the-quay", "librarian.prose-transform", "--json").document["blocks"]}
    assert blocks["story-summary"]["content"] == "## Story Summary So Far\n\nNine boats came in."
