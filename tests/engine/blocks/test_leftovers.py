"""What a config says of blocks that are not there: found, removed, renamed, and nothing else touched."""

from __future__ import annotations

from typing import Any

import pytest

from engine.blocks.config import BlockConfig, dump_config, parse_config
from engine.blocks.leftovers import Leftover, drop_ids, find_leftovers, part_shared, rename_id
from engine.doctor.configs import _part_twins, _rename_in_order, _rename_override

KNOWN = ("tools", "prose-recent")


def config_of(**values: Any) -> BlockConfig:
    return parse_config({"unknown": 1, **values})


def found(config: BlockConfig) -> list[Leftover]:
    return list(find_leftovers(config, KNOWN, {"prose": "prose-recent"}.get))


def custom(block_id: str, name: str = "N") -> dict[str, Any]:
    return {"id": block_id, "name": name, "role": "user", "order": 1, "type": "simple", "content": name}


def test_everything_left_over_is_found() -> None:
    config = config_of(
        customBlocks=[custom("cb-aaaa"), custom("cb-bbbb"), custom("cb-aaaa", "M")],
        overrides={"gone": {"customContent": "kept"}, "tools": {"enabled": False}, "prose": {"enabled": False}},
        blockOrder=["lost", "tools", "gone", "cb-bbbb"],
    )
    override, old, order, shared = found(config)
    assert (override.id, override.kind, override.text, override.ordered) == ("gone", "override", "kept", True)
    assert (old.id, old.kind, old.successor, old.renamable, old.text) == ("prose", "old", "prose-recent", True, "")
    assert (order.id, order.kind, order.override, order.ordered) == ("lost", "order", None, True)
    assert (shared.id, shared.kind, shared.count) == ("cb-aaaa", "shared", 2)
    assert found(config_of(blockOrder=["tools", "prose-recent"])) == []


def test_an_old_id_whose_block_has_an_override_too_is_not_renamed() -> None:
    config = config_of(overrides={"prose": {"enabled": False}, "prose-recent": {"order": 5}})
    assert not found(config)[0].renamable
    assert rename_id(config, "prose", "prose-recent") == config


def test_ids_are_dropped_and_nothing_else() -> None:
    config = config_of(overrides={"gone": {"enabled": False}, "tools": {"order": 3}}, blockOrder=["lost", "gone", "x"])
    assert dump_config(drop_ids(config, {"gone", "lost"})) == dump_config(
        config_of(overrides={"tools": {"order": 3}}, blockOrder=["x"])
    )


@pytest.mark.parametrize(
    "values",
    [
        {"overrides": {"a": {"order": 1}, "prose": {"enabled": False}, "b": {}}, "blockOrder": ["x", "prose", "y"]},
        {"overrides": {"prose": {"enabled": False}}, "blockOrder": ["prose", "x", "prose", "prose-recent"]},
        {"overrides": {}, "blockOrder": ["prose", "x", "prose", "y"]},
    ],
)
def test_renaming_is_what_the_doctor_does(values: dict[str, Any]) -> None:
    config = config_of(**values)
    document = dump_config(config)
    _rename_override("prose", "prose-recent")(document)
    _rename_in_order("prose", "prose-recent")(document)
    assert dump_config(rename_id(config, "prose", "prose-recent")) == document


def test_parting_is_what_the_doctor_does(monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(
        customBlocks=[custom("cb-aaaa"), custom("cb-bbbb"), custom("cb-aaaa", "M"), custom("cb-aaaa", "O")],
        overrides={"cb-aaaa": {"enabled": False}},
        blockOrder=["cb-aaaa", "tools", "cb-aaaa", "cb-bbbb"],
    )

    def new_id(taken: Any) -> str:
        return f"cb-new{len(taken)}"

    document = dump_config(config)
    monkeypatch.setattr("engine.doctor.configs.new_block_id", new_id)
    _part_twins(document)
    assert dump_config(part_shared(config, "cb-aaaa", new_id)) == document
