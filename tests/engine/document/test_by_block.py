"""A conflict settled block by block: every mixture of the two versions can be had, and what is not chosen is merged."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.blocks.config import BlockConfig, dump_config, parse_config
from engine.document import merge_configs
from engine.document.by_block import Key, Side, Versions
from engine.document.merge import keyed
from tests.engine.blocks.strategies import configs
from tests.stories import custom_block

STYLE = custom_block("cb-stylea", "Short sentences.", name="House style")
BASE = {"customBlocks": [STYLE], "overrides": {"story-info": {"enabled": False}}, "ours": 1}


def config(**changes: Any) -> BlockConfig:
    return parse_config({**BASE, **changes})


def plain(config: BlockConfig) -> dict[str, Any]:
    return keyed(dump_config(config))


def test_what_each_side_changed_is_told_in_words() -> None:
    versions = Versions(
        config(),
        config(customBlocks=[{**STYLE, "content": "Short sentences. Plain words."}], overrides={}),
        config(customBlocks=[{**STYLE, "content": "Very short sentences."}], disabledTools=["editProse"]),
    )
    style, info, tools = versions.differences()
    assert (style.name, info.name, tools.name) == ("House style", "story-info", "disabledTools")
    assert style.mine == style.theirs == ("changes the text of 'House style'",)
    assert style.sides == ("both", "theirs", "mine") or style.sides == ("both", "mine", "theirs")
    assert style.texts == {
        "mine": "Short sentences. Plain words.",
        "theirs": "Very short sentences.",
        "both": "Very short sentences. Plain words.",
    }
    assert (info.mine, info.theirs, info.sides) == (("switches story-info on",), (), ("mine", "theirs"))
    assert tools.sides == ("theirs", "mine") and tools.mine == () and "editProse" in tools.theirs[0]


def test_each_block_is_as_chosen() -> None:
    theirs = config(customBlocks=[], overrides={"story-info": {"enabled": False}, "summary": {"enabled": False}})
    mine = config(customBlocks=[{**STYLE, "content": "Long."}], overrides={"summary": {"order": 7}}, ours=2)
    versions = Versions(config(), mine, theirs)
    combined = versions.combine({("block", "cb-stylea"): "theirs", ("block", "summary"): "mine"})
    assert combined.customBlocks == () and combined.overrides == {"summary": mine.override("summary")}
    assert dump_config(combined)["ours"] == 2, "not named, so merged"


def test_two_blocks_with_one_id_are_two() -> None:
    twice = [STYLE, {**STYLE, "content": "Second."}]
    versions = Versions(
        config(customBlocks=twice),
        config(customBlocks=[STYLE, {**STYLE, "content": "Mine."}]),
        config(customBlocks=[STYLE, {**STYLE, "content": "Theirs."}]),
    )
    (difference,) = versions.differences()
    assert difference.key == ("block", "cb-stylea#2")
    assert [block.content for block in versions.combine({difference.key: "theirs"}).customBlocks] == [
        "Short sentences.",
        "Theirs.",
    ]


@settings(max_examples=60, deadline=None)
@given(configs(), configs(), configs(), st.data())
def test_any_choice_gives_what_was_chosen(
    base: BlockConfig, mine: BlockConfig, theirs: BlockConfig, data: st.DataObject
) -> None:
    versions = Versions(base, mine, theirs)
    assert plain(versions.combine({})) == plain(merge_configs(base, mine, theirs)[0])
    differences = versions.differences()
    keys = [difference.key for difference in differences]
    for side, whole in (("mine", mine), ("theirs", theirs)):
        assert plain(versions.combine(dict.fromkeys(keys, side))) == plain(whole)  # type: ignore[arg-type]
    chosen: dict[Key, Side] = {item.key: data.draw(st.sampled_from(item.sides)) for item in differences}
    combined = Versions(base, versions.combine(chosen), theirs)
    left = {item.key for item in combined.differences()}
    assert left == {key for key, side in chosen.items() if side != "theirs"}
