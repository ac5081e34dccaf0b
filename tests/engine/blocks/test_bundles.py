"""The exchange formats, and what one config changes against another (spec, sections 8.3 and 13, cases 48 and 49)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from engine.blocks.bundles import agent_bundle, disarmed, parse_bundle, story_bundle
from engine.blocks.changes import describe_changes
from engine.blocks.config import EMPTY, BlockConfig, ConfigFault, dump_config, parse_config
from tests.engine.blocks.strategies import configs
from tests.stories import custom_block

WRITER = "generation.writer"
CHAT = "librarian.chat"


def config(**values: Any) -> BlockConfig:
    return parse_config(values)


def travelled(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(configs())
def test_what_is_exported_comes_back_identical(given_config: BlockConfig) -> None:
    """Spec, case 48."""
    one = parse_bundle(travelled(agent_bundle(WRITER, "Writer", given_config)), WRITER)
    assert dump_config(one.configs[WRITER]) == dump_config(given_config)
    bare = parse_bundle(travelled(dump_config(given_config)), WRITER)
    assert dump_config(bare.configs[WRITER]) == dump_config(given_config)
    story = parse_bundle(travelled(story_bundle({WRITER: given_config, CHAT: EMPTY})))
    assert {name: dump_config(item) for name, item in story.configs.items()} == (
        {} if dump_config(given_config) == dump_config(EMPTY) else {WRITER: dump_config(given_config)}
    )


@given(configs(), configs())
def test_changes_are_told_exactly_when_configs_differ(before: BlockConfig, after: BlockConfig) -> None:
    assert describe_changes(before, before) == ()
    told = describe_changes(before, after)
    if dump_config(before) == dump_config(after):
        assert told == ()
    assert all(line and "\n" not in line.replace("\\n", "") for line in told)


def test_the_single_format_has_the_keys_of_the_reference() -> None:
    assert agent_bundle(WRITER, "Writer", EMPTY) == {
        "agentName": WRITER,
        "displayName": "Writer",
        "config": dump_config(EMPTY),
    }


def test_a_story_without_configs_is_the_empty_object_and_changes_nothing() -> None:
    """Spec, case 49."""
    assert story_bundle({WRITER: EMPTY, CHAT: EMPTY}) == {}
    assert parse_bundle({}).configs == {}


def test_a_config_that_only_stops_the_analysis_is_exported() -> None:
    """Spec, bug 11."""
    quiet = config(disableAutoAnalysis=True)
    assert list(story_bundle({"librarian.analyze": quiet})["agentBlockConfigs"]) == ["librarian.analyze"]


def test_a_bundle_of_one_agent_serves_where_the_other_format_is_expected() -> None:
    block = config(overrides={"summary": {"enabled": False}})
    assert parse_bundle(agent_bundle(CHAT, "Chat", block)).configs == {CHAT: block}
    assert parse_bundle(story_bundle({CHAT: block}), WRITER).configs == {WRITER: block}
    two = story_bundle({CHAT: block, WRITER: config(disabledTools=["findFragments"])})
    assert parse_bundle(two, CHAT).configs == {CHAT: block}
    with pytest.raises(ConfigFault, match="holds no config for directions"):
        parse_bundle(two, "directions.suggest")


def test_a_pack_of_fragments_brings_its_configs_and_says_what_it_leaves() -> None:
    pack = {
        "_errata": "fragment-bundle",
        "version": 1,
        "fragments": [{"id": "ch-bafego"}],
        "blockConfig": {"customBlocks": []},
        "agentBlockConfigs": {WRITER: {"overrides": {"summary": {"enabled": False}}}},
    }
    found = parse_bundle(pack)
    assert found.configs[WRITER].override("summary").enabled is False
    assert len(found.notes) == 1 and "blockConfig" in found.notes[0]


def test_a_config_of_another_agent_is_taken_and_told() -> None:
    found = parse_bundle(agent_bundle(CHAT, "Chat", EMPTY), WRITER)
    assert list(found.configs) == [WRITER]
    assert found.notes == (f"it was exported from {CHAT}",)


@pytest.mark.parametrize(
    "name", ["../x", "../../../../evil", "a/b", "a\\b", "", ".", "..", "a..b", "C:x", "nul\0", "a "]
)
def test_a_name_that_is_a_path_is_refused(name: str) -> None:
    """Spec, case 49 and bug 3."""
    with pytest.raises(ConfigFault, match="can't be the name of an agent"):
        parse_bundle({"agentBlockConfigs": {name: {}}})
    with pytest.raises(ConfigFault, match="can't be the name of an agent"):
        parse_bundle({"agentName": name, "config": {}})


@pytest.mark.parametrize(
    ("value", "agent", "path"),
    [
        ([], WRITER, ()),
        (None, None, ()),
        ({}, WRITER, ()),
        ({"displayName": "Writer"}, WRITER, ()),
        ({"config": None}, WRITER, ("config",)),
        ({"config": {}}, None, ("agentName",)),
        ({"agentBlockConfigs": []}, None, ("agentBlockConfigs",)),
        ({"agentBlockConfigs": {}}, WRITER, ("agentBlockConfigs",)),
        ({"customBlocks": []}, None, ()),
        ({"config": {"customBlocks": [{"id": 1}]}}, WRITER, ("config", "customBlocks", 0, "id")),
        ({"agentBlockConfigs": {WRITER: {"overrides": 3}}}, None, ("agentBlockConfigs", WRITER, "overrides")),
    ],
)
def test_what_is_wrong_is_named_with_its_place(value: Any, agent: str | None, path: tuple[str | int, ...]) -> None:
    with pytest.raises(ConfigFault) as caught:
        parse_bundle(value, agent)
    assert caught.value.path == path


def test_scripts_are_disarmed_and_nothing_else() -> None:
    given_config = config(
        customBlocks=[
            custom_block("cb-aaaa11", "return 1", type="script", name="Count"),
            custom_block("cb-aaaa22", "return 2", type="script", name="Asleep", enabled=False),
            custom_block("cb-aaaa33", "text", name="Note"),
        ],
        overrides={"cb-aaaa11": {"enabled": True}},
    )
    after, names = disarmed(given_config)
    assert names == ("Count",)
    assert [block.enabled for block in after.customBlocks] == [False, False, True]
    assert after.overrides == given_config.overrides
    assert disarmed(after) == (after, ())


def test_a_script_that_is_on_here_stays_on_and_every_other_arrives_switched_off() -> None:
    def script(block_id: str, code: str, **more: Any) -> dict[str, Any]:
        return custom_block(block_id, code, type="script", name=f"{block_id} {code}", **more)

    here = config(
        customBlocks=[
            script("cb-aaaa11", "return 1"),
            script("cb-aaaa22", "return 2"),
            script("cb-aaaa33", "return 3", enabled=False),
            script("cb-aaaa44", "return 4"),
            custom_block("cb-aaaa55", "return 5"),
        ],
        overrides={"cb-aaaa44": {"enabled": False}},
    )
    same = [script(f"cb-aaaa{n}{n}", f"return {n}") for n in (1, 3, 4, 5)]
    given = config(customBlocks=[*same, script("cb-aaaa22", "return 9"), script("cb-aaaa66", "return 1")])
    after, names = disarmed(given, here)
    assert [block.id for block in after.customBlocks if block.enabled] == ["cb-aaaa11"]
    assert names == tuple(block.name for block in given.customBlocks[1:])


def test_changes_read_like_a_list() -> None:
    before = config(
        customBlocks=[custom_block("cb-aaaa11", "old", name="Style"), custom_block("cb-aaaa22", "x", name="Gone")],
        overrides={"summary": {"enabled": False}},
        disabledTools=["findFragments"],
    )
    after = config(
        customBlocks=[
            custom_block("cb-aaaa11", "new", name="House style", role="system"),
            custom_block("cb-aaaa33", "return 1", name="Count", type="script", enabled=False),
        ],
        overrides={"instructions": {"contentMode": "append", "customContent": "Be brief.", "order": 5}},
        blockOrder=["instructions"],
        disabledTools=["readFragments"],
        disableAutoAnalysis=True,
        somebodyElses=1,
    )
    assert describe_changes(before, after) == (
        "renames 'Style' to 'House style'",
        "moves 'House style' to the system message",
        "changes the text of 'House style'",
        "adds the script block 'Count' (user, off)",
        "removes the text block 'Gone'",
        "switches summary on",
        "sets the content mode of instructions to append",
        "changes the text that is put to instructions",
        "pins instructions to the order 5",
        "changes the order of the blocks",
        "takes away the tools readFragments",
        "gives back the tools findFragments",
        "switches the analysis after a save off",
        "changes keys that are not used here: somebodyElses",
    )


def test_an_old_tool_name_is_told_by_what_it_switches() -> None:
    both = config(disabledTools=["getFragment"])
    assert describe_changes(EMPTY, both) == ("takes away the tools readFragments (under its old name getFragment)",)
    assert describe_changes(config(disabledTools=["readFragments"]), both) == (
        "takes away the tools readFragments (under its old name getFragment, which is off either way)",
        "gives back the tools readFragments (which is off either way)",
    )
    assert describe_changes(EMPTY, both, tools=()) == (
        "takes away the tools readFragments (under its old name getFragment, which this agent does not have)",
    )
