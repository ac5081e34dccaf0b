"""Importing and copying configs: told first, done whole, and taken back to the byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.blocks.config import dump_config
from engine.errors import Conflict, InvalidFile, NotFound
from engine.workspace import Workspace
from engine.workspace.exchange import Import
from tests.engine.conftest import STORY, WRITER
from tests.engine.story_builder import tree
from tests.stories import config_file, custom_block, make_story

Open = Callable[..., Workspace]
CHAT = "librarian.chat"
BUNDLE = Path("bundle.json")


def bundle(value: Any) -> bytes:
    return json.dumps(value).encode()


def saved(story: Path, agent: str = WRITER) -> Any:
    return json.loads(config_file(story, agent).read_bytes())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


SCRIPT = {"customBlocks": [custom_block("cb-aaaa11", "return 1", type="script", name="Count")]}
QUIET = {"overrides": {"summary": {"enabled": False}}}


def test_planning_writes_nothing(workspace: Workspace, story: Path) -> None:
    before = tree(story)
    plan = workspace.exchange.plan_import(STORY, bundle({"config": SCRIPT}), BUNDLE, WRITER)
    assert [item.changes for item in plan.agents] == [("adds the script block 'Count' (user, off)",)]
    assert plan.agents[0].disarmed == ("Count",)
    assert tree(story) == before


def test_an_export_of_ones_own_comes_back_as_it_went(data: Path, opened: Open) -> None:
    story = make_story(data, configs={WRITER: SCRIPT})
    exchange = opened().exchange
    plan = exchange.plan_import(STORY, bundle(exchange.export_agent(STORY, WRITER)), BUNDLE, WRITER)
    assert not plan.changed and not plan.agents[0].disarmed
    assert saved(story)["customBlocks"][0]["enabled"]


def test_an_import_tells_of_names_of_the_older_layout(workspace: Workspace) -> None:
    old = {"overrides": {"prose": {"enabled": False}}, "disabledTools": ["getFragment", "suggestFragment"]}
    plan = workspace.exchange.plan_import(STORY, bundle({"config": old}), BUNDLE, WRITER)
    (note,) = plan.notes
    assert note.startswith(f"{WRITER}: override for prose: ")
    assert f"prose-recent now — 'stonehand doctor {STORY} --repair old-id'" in note
    assert plan.agents[0].changes[-1] == (
        "takes away the tools readFragments (under its old name getFragment), "
        "editFragments (under its old name suggestFragment, which this agent does not have)"
    )


def test_an_import_replaces_the_whole_config_and_scripts_arrive_off(data: Path, opened: Open) -> None:
    """Spec, case 48: nothing is merged."""
    story = make_story(data, configs={WRITER: {**QUIET, "somebodyElses": [1, 2]}})
    workspace = opened()
    workspace.exchange.carry_out(workspace.exchange.plan_import(STORY, bundle({"config": SCRIPT}), BUNDLE, WRITER))
    found = saved(story)
    assert found["overrides"] == {}
    assert [(block["id"], block["enabled"]) for block in found["customBlocks"]] == [("cb-aaaa11", False)]
    assert found["somebodyElses"] == [1, 2]
    assert "Count" not in str(workspace.prompt(STORY).messages)


def test_an_export_into_another_story_gives_an_identical_config(data: Path, opened: Open) -> None:
    """Spec, case 48."""
    make_story(
        data, configs={WRITER: {**QUIET, "blockOrder": ["prose-recent"]}, CHAT: {"disabledTools": ["editProse"]}}
    )
    make_story(data, "the-mill", name="The Mill")
    workspace = opened()
    given = bundle(workspace.exchange.export_story(STORY).bundle)
    workspace.exchange.carry_out(workspace.exchange.plan_import("the-mill", given, BUNDLE))
    for agent in (WRITER, CHAT):
        assert workspace.exchange.export_agent("the-mill", agent) == workspace.exchange.export_agent(STORY, agent)


def test_undo_puts_back_every_byte(data: Path, opened: Open) -> None:
    story = make_story(data, configs={WRITER: QUIET})
    config_file(story).write_bytes(b'{"overrides":{"summary":{"enabled":false}}}\n')  # formatted by hand
    before = contents(story)
    workspace = opened()
    workspace.exchange.carry_out(
        workspace.exchange.plan_import(STORY, bundle({"agentBlockConfigs": {WRITER: SCRIPT, CHAT: QUIET}}), BUNDLE)
    )
    assert config_file(story, CHAT).exists()
    later = opened()
    plan = later.exchange.plan_take_back(STORY)
    assert [(item.agent, item.changes) for item in plan.agents] == [
        (WRITER, ("removes the script block 'Count'", "switches summary off")),
        (CHAT, ("switches summary on",)),
    ]
    assert contents(story) != before, "planning writes nothing"
    assert later.exchange.take_back(plan) == ()
    assert contents(story) == before
    with pytest.raises(NotFound):
        later.exchange.plan_take_back(STORY)


def test_undo_leaves_a_config_alone_that_has_changed_since_and_keeps_its_earlier_version(
    data: Path, opened: Open
) -> None:
    story = make_story(data, configs={CHAT: {"overrides": {"story-info": {"enabled": False}}}})
    earlier = config_file(story, CHAT).read_bytes()
    workspace = opened()
    workspace.exchange.carry_out(
        workspace.exchange.plan_import(STORY, bundle({"agentBlockConfigs": {WRITER: QUIET, CHAT: QUIET}}), BUNDLE)
    )
    workspace.edit(STORY, CHAT, None, lambda session: session.set_tool("editProse", False, ("editProse",)))
    edited = config_file(story, CHAT).read_bytes()
    plan = workspace.exchange.plan_take_back(STORY)
    assert [item.agent for item in plan.agents] == [WRITER] and [item.agent for item in plan.changed] == [CHAT]
    (left,) = workspace.exchange.take_back(plan)
    assert not config_file(story).exists(), "the writer's is as it was"
    assert config_file(story, CHAT).read_bytes() == edited
    assert (left.agent, left.file) == (CHAT, config_file(story, CHAT))
    assert left.copy is not None and left.copy.read_bytes() == earlier
    again = workspace.exchange.plan_take_back(STORY)
    assert not again.agents and [item.agent for item in again.changed] == [CHAT], "it stays on record"
    workspace.exchange.carry_out(workspace.exchange.plan_import(STORY, left.copy.read_bytes(), left.copy, CHAT))
    assert saved(story, CHAT)["overrides"] == {"story-info": {"enabled": False}}


def test_undo_leaves_alone_what_changes_after_it_was_planned(workspace: Workspace, story: Path) -> None:
    exchange = workspace.exchange
    exchange.carry_out(exchange.plan_import(STORY, bundle({"agentBlockConfigs": {WRITER: QUIET, CHAT: QUIET}}), BUNDLE))
    plan = exchange.plan_take_back(STORY)
    config_file(story, CHAT).write_bytes(b"{}")
    assert [(item.agent, item.copy) for item in exchange.take_back(plan)] == [(CHAT, None)]
    assert config_file(story, CHAT).read_bytes() == b"{}" and not config_file(story).exists()


def test_undo_refuses_when_another_import_has_come_between(workspace: Workspace, story: Path) -> None:
    exchange = workspace.exchange
    exchange.carry_out(exchange.plan_import(STORY, bundle({"config": QUIET}), BUNDLE, WRITER))
    plan = exchange.plan_take_back(STORY)
    exchange.carry_out(exchange.plan_import(STORY, bundle({"config": SCRIPT}), BUNDLE, WRITER))
    before = tree(story)
    with pytest.raises(Conflict, match="another import"):
        exchange.take_back(plan)
    assert tree(story) == before


def test_the_reset_of_an_invalid_config_can_be_taken_back(data: Path, opened: Open) -> None:
    story = make_story(data, configs={WRITER: {"customBlocks": 5}})
    invalid = config_file(story).read_bytes()
    exchange = opened().exchange
    copy = exchange.reset_invalid(STORY, WRITER)
    assert copy.read_bytes() == invalid and saved(story)["customBlocks"] == []
    plan = exchange.plan_take_back(STORY)
    assert plan.agents[0].changes == ("puts back the file from before, which is no valid config",)
    assert exchange.take_back(plan) == ()
    assert config_file(story).read_bytes() == invalid


def test_a_plan_that_is_out_of_date_changes_nothing(data: Path, opened: Open) -> None:
    story = make_story(data, configs={CHAT: QUIET})
    workspace, other = opened(), opened()
    plan = workspace.exchange.plan_import(STORY, bundle({"agentBlockConfigs": {WRITER: QUIET, CHAT: SCRIPT}}), BUNDLE)
    other.edit(STORY, CHAT, None, lambda session: session.set_tool("editProse", False, ("editProse",)))
    before = config_file(story, CHAT).read_bytes()
    with pytest.raises(Conflict, match="since the changes were shown"):
        workspace.exchange.carry_out(plan)
    assert config_file(story, CHAT).read_bytes() == before
    assert workspace.exchange.export_story(STORY).bundle["agentBlockConfigs"].keys() == {CHAT}, (
        "the writer's was taken back"
    )


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"not json",
        b'{"agentBlockConfigs": {"../../../../evil": {}}}',
        b'{"agentBlockConfigs": {"generation.writer": {"customBlocks": [{"id": "../x"}]}}}',
        b'{"agentName": "../x", "config": {}}',
    ],
)
def test_a_bad_bundle_is_one_line_and_writes_nothing(
    workspace: Workspace, data: Path, story: Path, given: bytes
) -> None:
    """Spec, case 49."""
    before = tree(data)
    with pytest.raises(InvalidFile) as caught:
        workspace.exchange.plan_import(STORY, given, BUNDLE)
    assert str(caught.value).startswith("bundle.json") and "\n" not in str(caught.value)
    assert tree(data) == before


def test_an_agent_that_is_not_known_is_left_out_and_named(workspace: Workspace) -> None:
    plan = workspace.exchange.plan_import(
        STORY, bundle({"agentBlockConfigs": {"plugin.agent": {}, WRITER: QUIET}}), BUNDLE
    )
    assert [item.agent for item in plan.agents] == [WRITER]
    assert any("plugin.agent" in note for note in plan.notes)


def test_an_invalid_config_is_replaced_when_told_and_kept(data: Path, opened: Open) -> None:
    story = make_story(data, configs={WRITER: {"customBlocks": 5}})
    before = tree(story)
    bad = config_file(story).read_bytes()
    exchange = opened().exchange
    plan = exchange.plan_import(STORY, bundle({"config": QUIET}), BUNDLE, WRITER)
    assert tree(story) == before and "no valid config" in plan.agents[0].changes[0]
    kept = exchange.carry_out(plan)
    assert kept[WRITER].read_bytes() == bad and saved(story)["overrides"] == QUIET["overrides"]
    exchange.take_back(exchange.plan_take_back(STORY))
    assert config_file(story).read_bytes() == bad
    config_file(story).write_text('{"overrides": 5}', "utf-8")
    with pytest.raises(Conflict):
        exchange.carry_out(plan)
    assert config_file(story).read_text("utf-8") == '{"overrides": 5}'


def test_of_a_story_with_an_invalid_config_the_others_are_exported(data: Path, opened: Open) -> None:
    make_story(data, configs={WRITER: {"customBlocks": 5}, CHAT: QUIET})
    exported = opened().exchange.export_story(STORY)
    assert exported.bundle["agentBlockConfigs"].keys() == {CHAT}
    assert [(problem.file and problem.file.name, problem.field) for problem in exported.left_out] == [
        (f"{WRITER}.json", "customBlocks")
    ]


def test_an_import_says_what_becomes_of_ids_that_blocks_share(workspace: Workspace) -> None:
    twins = {"customBlocks": [custom_block("cb-twin00", "a"), custom_block("cb-twin00", "b")]}
    plan = workspace.exchange.plan_import(STORY, bundle({"config": twins}), BUNDLE, WRITER)
    assert any("2 custom blocks have the id cb-twin00" in note and "block-id" in note for note in plan.notes)


def test_an_edit_between_plan_and_deed_is_planned_for_again(data: Path, opened: Open) -> None:
    make_story(data)
    workspace, calls = opened(), []

    def make() -> Any:
        plan = workspace.exchange.plan_import(STORY, bundle({"config": QUIET}), BUNDLE, WRITER)
        calls.append(plan)
        if len(calls) == 2:
            workspace.edit(STORY, WRITER, None, lambda session: session.toggle("tools", False))
        return plan

    plan, _ = workspace.exchange.carry_out_anew(make)
    assert len(calls) == 3 and any("tools" in change for change in plan.agents[0].changes)


def test_imports_at_the_same_time_wait_for_each_other(data: Path, opened: Open) -> None:
    story = make_story(data)

    def import_one(number: int) -> Import:
        exchange = opened().exchange
        given = bundle({"config": {"overrides": {"tools": {"order": number}}}})
        return exchange.carry_out_anew(lambda: exchange.plan_import(STORY, given, BUNDLE, WRITER))[0]

    with ThreadPoolExecutor(4) as pool:
        plans = list(pool.map(import_one, range(1, 9)))
    last = saved(story)["overrides"]["tools"]["order"]
    before = [plan.agents[0].before.override("tools").order for plan in plans]
    assert sorted([*before, last], key=lambda order: order or 0) == [None, *range(1, 9)], "each follows on another"


def test_a_copy_goes_to_another_agent_branch_or_story(data: Path, opened: Open) -> None:
    make_story(data, configs={WRITER: SCRIPT}, branches=("main", "br-bafego"))
    make_story(data, "the-mill")
    workspace = opened()
    source = (STORY, "main", WRITER)
    workspace.edit(STORY, WRITER, "br-bafego", lambda session: session.reset())
    for story_id, branch, agent in ((STORY, "br-bafego", WRITER), (STORY, None, CHAT), ("the-mill", None, WRITER)):
        plan = workspace.exchange.plan_copy(source, story_id, agent, branch)
        assert plan.changed and not plan.agents[0].disarmed, "a script of one's own stays on"
        workspace.exchange.carry_out(plan)
        copied = workspace.exchange.export_agent(story_id, agent, branch)["config"]
        assert copied == workspace.exchange.export_agent(*source[::2])["config"]


def test_a_copy_to_another_agent_is_one_of_its_own(data: Path, opened: Open) -> None:
    custom = {"id": "cb-aaaa", "name": "Mine", "role": "user", "order": 250, "type": "simple", "content": "x"}
    config = {
        "customBlocks": [custom],
        "overrides": {"summary": {"enabled": False}, "instructions": {"enabled": False}, "cb-aaaa": {"enabled": False}},
        "blockOrder": ["tools", "instructions", "fragment-catalog", "author-input", "story-info", "cb-aaaa", "gone"],
        "disabledTools": ["readFragments"],
    }
    make_story(data, configs={WRITER: config})
    exchange = opened().exchange
    plan = exchange.plan_copy((STORY, None, WRITER), STORY, CHAT)
    assert plan.notes == (
        f"blocks that {CHAT} does not have: the overrides of summary were left out",
        f"blocks that {CHAT} does not have: the places in the order of tools, author-input, gone were left out",
    )
    copied = dump_config(plan.agents[0].after)
    assert list(copied["overrides"]) == ["instructions", "cb-aaaa"]
    assert copied["blockOrder"] == [
        *("instructions", "system-fragments"),
        *("fragment-catalog", "story-info", "prose-summaries", "cb-aaaa"),
    ]
    assert copied["disabledTools"] == ["readFragments"] and len(copied["customBlocks"]) == 1
    exchange.carry_out(plan)
    rows = loaded_rows(opened(), CHAT)
    assert rows == copied["blockOrder"]


def test_a_copy_to_another_agent_leaves_out_what_only_an_analysis_knows(data: Path, opened: Open) -> None:
    make_story(data, configs={"librarian.analyze": {"disableAutoAnalysis": True, "disabledTools": ["readFragments"]}})
    exchange = opened().exchange
    plan = exchange.plan_copy((STORY, None, "librarian.analyze"), STORY, "directions.suggest")
    assert plan.notes == ("directions.suggest does not run by itself: disableAutoAnalysis was left out",)
    assert plan.agents[0].after.disableAutoAnalysis is False
    assert not any("analysis after a save" in change for change in plan.agents[0].changes)
    assert exchange.plan_copy((STORY, None, "librarian.analyze"), STORY, "librarian.analyze").notes == ()


def test_a_copy_to_the_writer_has_the_blocks_of_both_modes(data: Path, opened: Open) -> None:
    make_story(data, configs={CHAT: {"blockOrder": ["fragment-catalog", "story-info", "prose-summaries"]}})
    plan = opened().exchange.plan_copy((STORY, None, CHAT), STORY, WRITER)
    order = plan.agents[0].after.blockOrder
    assert {"writing-brief", "author-input", "tools", "system-fragments"} <= set(order)
    assert order.index("fragment-catalog") < order.index("story-info") < order.index("prose-recent")
    assert order.index("prose-recent") < order.index("new-story") < order.index("author-input")


def test_a_copy_of_no_order_has_none(data: Path, opened: Open) -> None:
    make_story(data, configs={WRITER: {"blockOrder": ["tools"], "overrides": {"instructions": {"enabled": False}}}})
    assert opened().exchange.plan_copy((STORY, None, WRITER), STORY, CHAT).agents[0].after.blockOrder == ()


def loaded_rows(workspace: Workspace, agent: str) -> list[str]:
    session = workspace.session(STORY, agent)
    session.install(session.load())
    return [row.id for row in session.rows]


def test_a_copy_of_what_is_replaced_can_be_imported_however_many_imports_follow(data: Path, opened: Open) -> None:
    story = make_story(data, configs={WRITER: QUIET})
    first = config_file(story).read_bytes()
    workspace = opened()
    plan = workspace.exchange.plan_import(STORY, bundle({"config": SCRIPT}), BUNDLE, WRITER)
    (copy,) = workspace.exchange.remember(STORY, "main", {item.agent: item.after for item in plan.changed}).values()
    assert copy.read_bytes() == first
    workspace.exchange.carry_out(plan)
    workspace.exchange.carry_out(workspace.exchange.plan_reset(STORY, WRITER))
    assert copy.read_bytes() == first and len(list(copy.parent.iterdir())) == 2
    assert copy.parent.stat().st_mode & 0o077 == 0 or copy.parent.parent.stat().st_mode & 0o077 == 0
    workspace.exchange.carry_out(workspace.exchange.plan_import(STORY, first, copy, WRITER))
    assert saved(story)["overrides"] == QUIET["overrides"]


def test_what_undo_took_back_is_not_taken_back_again(data: Path, opened: Open) -> None:
    story = make_story(data, configs={WRITER: QUIET})
    before = config_file(story).read_bytes()
    workspace = opened()
    workspace.exchange.carry_out(workspace.exchange.plan_reset(STORY, WRITER))
    workspace.edit(STORY, WRITER, None, lambda session: session.undo())
    assert config_file(story).read_bytes() == before
    with pytest.raises(NotFound, match="taken back already"):
        workspace.exchange.plan_take_back(STORY)
