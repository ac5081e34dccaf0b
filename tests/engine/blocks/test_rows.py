"""The list shows what compiles (issue: "what the list shows is what compiles, always")."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.blocks import (
    BlockConfig,
    BlockSlot,
    ContextBlock,
    ScriptResult,
    apply_config,
    arrange,
    compile_blocks,
)
from engine.blocks.config import parse_config
from engine.blocks.rows import RowMemo
from tests.engine.blocks.strategies import configs, default_blocks, slots_for, texts


@st.composite
def situations(
    draw: st.DrawFn, unique: bool = True
) -> tuple[list[BlockSlot], list[ContextBlock], BlockConfig, dict[str, ScriptResult]]:
    blocks = draw(default_blocks())
    slots = draw(slots_for(blocks))
    config = draw(configs(unique=unique))
    bodies = [block.content for block in config.customBlocks]
    results = draw(
        st.dictionaries(
            st.sampled_from(bodies) if bodies else st.nothing(),
            st.builds(ScriptResult, text=st.none() | texts, error=st.none() | st.just("boom")),
        )
    )
    return slots, blocks, config, results


@given(situations(unique=False))
def test_compiled_rows_are_the_compiled_blocks_in_order(situation: tuple) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    rows = arrange(slots, blocks, config, scripts, len)
    compiled = [
        span.block for message in compile_blocks(apply_config(blocks, config, scripts)) for span in message.spans
    ]
    shown = [row for row in rows if row.state == "compiled"]
    assert [(row.id, row.role, row.content, row.order) for row in shown] == [
        (block.id, block.role, block.content, block.order) for block in compiled
    ]


@given(situations(unique=False))
def test_every_block_has_a_row_and_every_key_is_unique(situation: tuple) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    rows = arrange(slots, blocks, config, scripts, len)
    assert len({row.key for row in rows}) == len(rows) == len(slots) + len(config.customBlocks)
    assert [row.role for row in rows] == sorted(row.role for row in rows)


def rows_of(config: dict[str, object], scripts: dict[str, ScriptResult] | None = None) -> dict[str, object]:
    blocks = [ContextBlock("instructions", "system", "Write.", 100)]
    slots = [
        BlockSlot("instructions", "system", 100),
        BlockSlot("summary", "user", 400, "there is no summary yet"),
    ]
    return {row.id: row for row in arrange(slots, blocks, parse_config(config), scripts or {}, len)}


def custom(**values: object) -> dict[str, object]:
    return {
        "id": "cb-aaaa",
        "name": "N",
        "role": "user",
        "order": 1,
        "type": "script",
        "content": "return 1",
    } | values


def test_an_absent_block_says_why_and_can_be_configured() -> None:
    row = rows_of({"overrides": {"summary": {"contentMode": "append", "customContent": "x"}}})["summary"]
    assert (row.state, row.note, row.mode, row.tokens) == (
        "absent",
        "there is no summary yet",
        "append",
        None,
    )  # type: ignore[attr-defined]


def test_script_states() -> None:
    def state(result: ScriptResult | None, **values: object) -> tuple[str, str, bool]:
        row = rows_of({"customBlocks": [custom(**values)]}, {"return 1": result} if result else {})["cb-aaaa"]
        return row.state, row.note, row.warning  # type: ignore[attr-defined]

    assert state(None)[0] == "pending"
    assert state(ScriptResult(text="hi")) == ("compiled", "", False)
    assert state(ScriptResult(text=" "))[0] == "silent"
    assert state(ScriptResult(kind="not_string"))[0] == "silent"
    assert state(ScriptResult(error="boom", kind="error", line=3)) == (
        "compiled",
        "script error (line 3): boom",
        True,
    )
    assert state(ScriptResult(error="no engine", kind="engine")) == (
        "pending",
        "not evaluated: no engine",
        True,
    )
    assert state(ScriptResult(text="hi"), enabled=False)[0] == "disabled"


def test_empty_blocks_and_empty_overrides_warn() -> None:
    rows = rows_of(
        {
            "customBlocks": [custom(type="simple", content="")],
            "overrides": {"instructions": {"contentMode": "override", "customContent": ""}},
        }
    )
    assert rows["cb-aaaa"].warning  # type: ignore[attr-defined]
    assert "the default is sent" in rows["instructions"].note  # type: ignore[attr-defined]


@given(situations(unique=False), st.data())
def test_rows_made_from_a_memo_are_those_made_anew(situation: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    slots, blocks, config, scripts = situation
    memo = RowMemo()
    arrange(slots, blocks, config, scripts, len, memo)
    for _ in range(3):
        other = data.draw(configs(unique=False))
        kept = data.draw(st.sampled_from([(), ("customBlocks",), ("customBlocks", "overrides")]))
        config = other.model_copy(update={name: getattr(config, name) for name in kept})
        assert arrange(slots, blocks, config, scripts, len, memo) == arrange(slots, blocks, config, scripts, len)
