"""The black-box cases of the spec, section 13, each by its number; those about exchange, branches, models and tools
stand with their modules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.blocks import ContextBlock, apply_config, compile_blocks
from engine.blocks.apply import ScriptResult, is_evaluated
from engine.blocks.compile import marker
from engine.blocks.config import parse_config
from engine.blocks.tags import expand_tags
from engine.context import ContextOptions, ContextState, build_context, resolver
from engine.errors import InvalidFile, NotFound
from engine.prompt import script_result
from engine.scripts import RUN_LIMITS, ScriptEngine
from engine.session import Session
from engine.story import ContextCompact
from engine.workspace import WRITER, Workspace
from tests.engine.story_builder import StoryBuilder, tree
from tests.stories import config_file, make_story

A, B, C = (ContextBlock(block_id, "user", block_id, order) for block_id, order in (("a", 100), ("b", 200), ("c", 300)))
BLOCKS = [A, B, C]


@pytest.fixture(scope="module")
def engine() -> Iterator[ScriptEngine]:
    engine = ScriptEngine()
    yield engine
    engine.close()


@pytest.fixture
def story(tmp_path: Path) -> StoryBuilder:
    return StoryBuilder(tmp_path / "data" / "stories" / "tide-house")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path / "state"))
    workspace = Workspace(tmp_path / "data", state=tmp_path / "state", journal=False)
    yield workspace
    workspace.close()


def custom(block_id: str, content: str, **values: Any) -> dict[str, Any]:
    base = {"id": block_id, "name": "Name", "role": "user", "order": 700, "enabled": True, "type": "simple"}
    return {**base, "content": content, **values}


def script(block_id: str, content: str, **values: Any) -> dict[str, Any]:
    return custom(block_id, content, type="script", **values)


def run(
    engine: ScriptEngine | None, config: Mapping[str, Any], ctx: Mapping[str, Any] | None = None, **functions: Any
) -> list[ContextBlock]:
    """A, B and C with a config applied, its scripts evaluated with `ctx`."""
    parsed = parse_config(config)
    fields = {name: [json.dumps(value)] for name, value in (ctx or {}).items()}
    results: dict[str, ScriptResult] = {}
    for block in parsed.customBlocks:
        if is_evaluated(block, parsed):
            assert engine is not None
            results[block.content] = script_result(engine.evaluate(block.content, fields, functions, RUN_LIMITS))
    return apply_config(BLOCKS, parsed, results)


def order_of(blocks: list[ContextBlock]) -> list[str]:
    return [span.block.id for message in compile_blocks(blocks) for span in message.spans]


def overridden(**values: Any) -> str:
    (block,) = apply_config([A], parse_config({"overrides": {"a": values}}), {})
    return block.content


# -- apply


def test_case_01_an_empty_config_changes_nothing() -> None:
    """Spec, case 1."""
    given = list(BLOCKS)
    result = apply_config(given, parse_config({}), {})
    assert result == given
    assert result is not given
    assert given == [A, B, C]


def test_case_02_a_simple_block_stands_last() -> None:
    """Spec, case 2."""
    block = run(None, {"customBlocks": [custom("cb-aaaa", "text", name="Mine", role="system", order=7)]})[-1]
    assert block == ContextBlock("cb-aaaa", "system", "text", 7, "custom", "Mine")


def test_case_03_an_empty_simple_block_is_a_marker_and_an_empty_line() -> None:
    """Spec, case 3."""
    result = run(None, {"customBlocks": [custom("cb-aaaa", "", name="cb-aaaa")]})
    assert result[-1].content == ""
    assert compile_blocks(result)[-1].content.endswith("\n\n[@block=cb-aaaa]\n")


def test_case_04_a_script_counts_what_is_pinned(engine: ScriptEngine) -> None:
    """Spec, case 4."""
    body = "return 'n=' + ctx.stickyCharacters.length"
    assert run(engine, {"customBlocks": [script("cb-aaaa", body)]}, {"stickyCharacters": [{}, {}]})[-1].content == "n=2"


@pytest.mark.parametrize("value", ["''", "'  \\n'", "5", "undefined", "new String('x')"])
def test_case_05_a_script_without_a_text_is_no_block(engine: ScriptEngine, value: str) -> None:
    """Spec, case 5."""
    assert run(engine, {"customBlocks": [script("cb-aaaa", f"return {value}")]}) == BLOCKS


def test_case_06_a_scripts_text_is_not_trimmed(engine: ScriptEngine) -> None:
    """Spec, case 6."""
    assert run(engine, {"customBlocks": [script("cb-aaaa", "return '  hi \\n'")]})[-1].content == "  hi \n"


def test_case_07_a_script_waits_for_a_fragment(engine: ScriptEngine) -> None:
    """Spec, case 7."""
    config = {"customBlocks": [script("cb-aaaa", "return (await ctx.getFragment('ch-bafego')).name")]}
    found = {"ch-bafego": {"name": "Ines"}}
    assert run(engine, config, getFragment=lambda wanted: json.dumps(found.get(wanted)))[-1].content == "Ines"


@pytest.mark.parametrize(("body", "reason"), [("throw new Error('it broke')", "it broke"), ("return (((", "bracket")])
def test_case_08_a_failing_script_says_so_and_the_next_one_runs(engine: ScriptEngine, body: str, reason: str) -> None:
    """Spec, case 8."""
    failed, after = run(engine, {"customBlocks": [script("cb-aaaa", body), script("cb-bbbb", "return 'on'")]})[-2:]
    assert failed.content.startswith('[Script error in "Name": ')
    assert failed.content.endswith("]")
    assert reason in failed.content
    assert after.content == "on"


def test_case_09_scripts_do_not_see_each_others_changes(engine: ScriptEngine) -> None:
    """Spec, case 9: each script has a `ctx` of its own, on purpose."""
    bodies = [f"ctx.n = (ctx.n || 0) + 1; return '{name}' + ctx.n" for name in "ab"]
    result = run(engine, {"customBlocks": [script(f"cb-aaa{n}", body) for n, body in enumerate(bodies)]})
    assert [block.content for block in result[-2:]] == ["a1", "b1"]


def test_case_10_override_before_and_after() -> None:
    """Spec, case 10."""
    assert overridden(contentMode="override", customContent="Z") == "Z"
    assert overridden(contentMode="prepend", customContent="Z") == "Z\na"
    assert overridden(contentMode="append", customContent="Z") == "a\nZ"


def test_case_11_an_empty_override_changes_nothing_but_a_blank_one_does() -> None:
    """Spec, case 11."""
    assert overridden(contentMode="override", customContent="") == "a"
    assert overridden(contentMode="override", customContent="  ") == "  "


def test_case_12_a_text_without_a_mode_is_not_used() -> None:
    """Spec, case 12."""
    assert overridden(contentMode=None, customContent="Z") == "a"


def test_case_13_overrides_reach_scripts_and_their_errors(engine: ScriptEngine) -> None:
    """Spec, case 13."""
    append = {"contentMode": "append", "customContent": "Z"}
    config = {
        "customBlocks": [script("cb-aaaa", "return 'ok'"), script("cb-bbbb", "throw new Error('no')")],
        "overrides": {"cb-aaaa": append, "cb-bbbb": append},
    }
    good, bad = run(engine, config)[-2:]
    assert good.content == "ok\nZ"
    assert bad.content.startswith("[Script error in") and bad.content.endswith("]\nZ")


def test_case_14_what_the_order_does_not_name_keeps_its_own() -> None:
    """Spec, case 14."""
    assert order_of(run(None, {"blockOrder": ["c", "b"]})) == ["c", "b", "a"]


def test_case_15_unknown_ids_take_a_place_and_the_last_of_two_counts() -> None:
    """Spec, case 15."""
    assert [block.order for block in run(None, {"blockOrder": ["ghost", "a", "b"]})] == [1, 2, 300]
    assert [block.order for block in run(None, {"blockOrder": ["a", "b", "a"]})] == [2, 1, 300]


def test_case_16_an_order_of_its_own_beats_the_list() -> None:
    """Spec, case 16."""
    assert order_of(run(None, {"blockOrder": ["a", "b"], "overrides": {"b": {"order": -1}}})) == ["b", "a", "c"]


def test_case_17_a_disabled_block_is_gone() -> None:
    """Spec, case 17."""
    assert order_of(run(None, {"overrides": {"a": {"enabled": False}, "b": {"enabled": True}}})) == ["b", "c"]


def test_case_18_a_custom_block_that_is_off_stays_off_and_does_not_run() -> None:
    """Spec, case 18."""
    off = {"customBlocks": [custom("cb-aaaa", "x", enabled=False)], "overrides": {"cb-aaaa": {"enabled": True}}}
    assert run(None, off) == BLOCKS
    # Without an engine: a script that ran would fail the test.
    disabled = {"customBlocks": [script("cb-aaaa", "for (;;);")], "overrides": {"cb-aaaa": {"enabled": False}}}
    assert run(None, disabled) == BLOCKS


def test_case_19_all_steps_together() -> None:
    """Spec, case 19."""
    result = run(
        None,
        {
            "customBlocks": [custom("cb-aaaa", "mine")],
            "overrides": {"a": {"contentMode": "prepend", "customContent": "Z"}, "b": {"enabled": False}},
            "blockOrder": ["c", "cb-aaaa", "a"],
        },
    )
    assert [(block.id, block.content, block.order) for block in result] == [
        ("a", "Z\na", 2),
        ("c", "c", 0),
        ("cb-aaaa", "mine", 1),
    ]


def test_case_20_one_flat_order_for_both_roles() -> None:
    """Spec, case 20."""
    blocks = [
        ContextBlock(block_id, "system" if block_id.startswith("sys") else "user", "", 500)
        for block_id in ("sys2", "usr2", "sys1", "usr1")
    ]
    config = parse_config({"blockOrder": ["usr1", "sys1", "usr2", "sys2"]})
    assert order_of(apply_config(blocks, config, {})) == ["sys1", "sys2", "usr1", "usr2"]


# -- compile and tags


def test_case_21_a_message_for_each_role() -> None:
    """Spec, case 21."""
    messages = compile_blocks([A, ContextBlock("s", "system", "rules", 1)])
    assert [(message.role, message.content) for message in messages] == [
        ("system", "[@block=s]\nrules"),
        ("user", "[@block=a]\na"),
    ]


def test_case_22_sorted_with_one_blank_line_between() -> None:
    """Spec, case 22."""
    (message,) = compile_blocks([B, A, C])
    assert message.content == "[@block=a]\na\n\n[@block=b]\nb\n\n[@block=c]\nc"


def test_case_23_ties_stay_as_they_stood() -> None:
    """Spec, case 23."""
    assert order_of([ContextBlock(block_id, "user", "", 1) for block_id in ("z", "a", "m")]) == ["z", "a", "m"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("My Style Guide", "[@block=my-style-guide src=cb-aaaa]"),
        ("A_B", "[@block=a-b src=cb-aaaa]"),
        ("Ünïcode Näme", "[@block=n-code-n-me src=cb-aaaa]"),
        ("日本", "[@block= src=cb-aaaa]"),
        ("cb-aaaa", "[@block=cb-aaaa]"),
        (None, "[@block=cb-aaaa]"),
    ],
)
def test_case_24_the_name_in_a_marker(name: str | None, line: str) -> None:
    """Spec, case 24."""
    assert marker(ContextBlock("cb-aaaa", "user", "", 1, "custom", name)) == line


def test_case_25_no_blocks_no_message() -> None:
    """Spec, case 25."""
    assert compile_blocks([]) == ()
    assert [message.role for message in compile_blocks(BLOCKS)] == ["user"]


def test_case_26_tags_in_full_and_short(story: StoryBuilder, workspace: Workspace) -> None:
    """Spec, case 26."""
    story.add("ch-bafego", "character", name="Ines", description="the keeper", content="Counts.")
    resolve = resolver(story.snapshot())
    assert expand_tags("<@ch-bafego>", resolve) == "### Ines\n\nCounts."
    assert expand_tags("a <@ch-bafego:short>, <@ch-bafego:short>", resolve) == "a Ines: the keeper, Ines: the keeper"
    assert expand_tags("<@ch-lostaa> <@kn-lostaa>", resolve) == (
        "[unknown fragment: ch-lostaa] [unknown fragment: kn-lostaa]"
    )
    blocks = [custom("cb-aaaa", "<@ch-bafego:short>", role="system"), custom("cb-bbbb", "<@ch-bafego:short>")]
    save(story, {"customBlocks": blocks})
    prompt = workspace.prompt(story.path.name)
    assert [message.content.count("Ines: the keeper") for message in prompt.messages] == [1, 1]


def test_case_27_inserted_text_is_literal() -> None:
    """Spec, case 27."""
    texts = {"kn-aaaaaa": r"$& \1 $1 <@kn-bbbbbb>", "kn-bbbbbb": "B"}
    expanded = expand_tags("<@kn-aaaaaa> then <@kn-bbbbbb>", lambda wanted, short: texts.get(wanted))
    assert expanded == r"$& \1 $1 <@kn-bbbbbb> then B"


def test_case_28_cycles_end() -> None:
    """Spec, case 28."""
    texts = {"kn-aaaaaa": "A <@kn-bbbbbb>", "kn-bbbbbb": "B <@kn-aaaaaa>", "kn-cccccc": "C <@kn-cccccc>"}

    def resolve(wanted: str, short: bool) -> str | None:
        return texts.get(wanted)

    assert expand_tags("<@kn-aaaaaa>", resolve, 1) == "A B [circular fragment: kn-aaaaaa]"
    assert expand_tags("<@kn-cccccc>", resolve, 1) == "C [circular fragment: kn-cccccc]"


def test_case_29_ids_with_digits_are_tags_as_well() -> None:
    """Spec, case 29: the documented extension."""
    assert expand_tags("<@kn-abc123>", lambda wanted, short: wanted.upper()) == "KN-ABC123"
    assert expand_tags("<@KN-ABCABC> < @kn-abcabc> <@kn-abcabc:long>", lambda wanted, short: "!") == (
        "<@KN-ABCABC> < @kn-abcabc> <@kn-abcabc:long>"
    )


# -- context and default blocks


def save(story: StoryBuilder, config: Mapping[str, Any]) -> None:
    story.write(f"branches/main/agent-blocks/{WRITER}.json", dict(config))


def state(story: StoryBuilder, **options: Any) -> ContextState:
    return build_context(story.snapshot(), "", ContextOptions(**options))


def prose(story: StoryBuilder, count: int, length: int = 10) -> list[str]:
    made = [f"pr-{index:02}" for index in range(count)]
    for fragment_id in made:
        story.add(fragment_id, "prose", content="x" * length)
    return made


def window(story: StoryBuilder, **options: Any) -> list[str]:
    return [fragment.id for fragment in state(story, **options).prose_fragments]


def sent(workspace: Workspace, story: StoryBuilder, author_input: str = "") -> dict[str, str]:
    """The writer's blocks as they are sent, by id."""
    prompt = workspace.prompt(story.path.name, author_input=author_input)
    return {block.id: block.content for block in prompt.blocks}


@pytest.mark.parametrize(
    ("count", "length", "compact", "kept"),
    [
        (15, 10, None, 10),
        (3, 100, {"type": "maxCharacters", "value": 150}, 1),
        (3, 400, {"type": "maxTokens", "value": 250}, 2),
        (1, 10_000, {"type": "maxTokens", "value": 1}, 1),
    ],
)
def test_case_30_the_window(story: StoryBuilder, count: int, length: int, compact: Any, kept: int) -> None:
    """Spec, case 30."""
    story.meta({"contextCompact": compact} if compact else None)
    made = prose(story, count, length)
    assert window(story) == made[-kept:]


def test_case_31_an_option_beats_the_setting(story: StoryBuilder) -> None:
    """Spec, case 31."""
    made = prose(story, 12)
    assert window(story) == made[-10:]
    story.meta({"contextCompact": {"type": "proseLimit", "value": 5}})
    assert window(story) == made[-5:]
    assert window(story, compact=ContextCompact("proseLimit", 2)) == made[-2:]


def test_case_32_prose_before_a_section(story: StoryBuilder) -> None:
    """Spec, case 32."""
    made = prose(story, 5)
    story.add("pr-other", "prose")
    story.chain(made[0], made[1], ["pr-other", made[2]], made[3], made[4])
    assert window(story, prose_before=made[2]) == made[:2]
    assert window(story, prose_before="pr-other") == made[:2]
    assert window(story, prose_before="pr-none") == []


def test_case_33_a_pinned_guideline_by_its_placement(story: StoryBuilder, workspace: Workspace) -> None:
    """Spec, case 33."""
    story.add("gl-tone", "guideline", name="Tone", content="Dry.", sticky=True)
    blocks = sent(workspace, story)
    assert "## User Fragments" in blocks["user-fragments"]
    assert blocks["user-fragments"].endswith("### Guidelines\n\n#### Tone\n\nDry.")
    assert "system-fragments" not in blocks
    story.add("gl-tone", "guideline", name="Tone", content="Dry.", sticky=True, placement="system")
    prompt = workspace.prompt(story.path.name)
    assert ["#### Tone" in message.content for message in prompt.messages] == [True, False]


def test_case_34_a_loose_character_is_a_row(story: StoryBuilder, workspace: Workspace) -> None:
    """Spec, case 34."""
    story.add("ch-ines", "character", name="Ines | the\nkeeper", description="Counts.", content="BODY")
    blocks = sent(workspace, story)
    assert blocks["fragment-catalog"].endswith("### Characters\n\n`ch-ines` | Ines / the keeper | Counts.")
    assert all("BODY" not in content for content in blocks.values())


@pytest.mark.parametrize(
    "meta",
    [
        {"annotations": [{"type": "mention", "fragmentId": item, "text": "x"} for item in ("ch-ines", "gl-tone")]},
        {"writerContextIds": ["ch-ines", "gl-tone"]},
    ],
)
def test_case_35_what_recent_prose_mentions_is_given_in_full(
    story: StoryBuilder, workspace: Workspace, meta: dict[str, Any]
) -> None:
    """Spec, case 35."""
    story.add("ch-ines", "character", name="Ines", content="BODY")
    story.add("gl-tone", "guideline", name="Tone", content="RULE")
    story.add("pr-one", "prose", content="Text.", meta=meta)
    blocks = sent(workspace, story)
    assert "#### Ines\n\nBODY" in blocks["fragment-recent"]
    assert "Tone" not in blocks["fragment-recent"]
    assert "`gl-tone` | Tone" in blocks["fragment-catalog"]
    assert "ch-ines" not in blocks["fragment-catalog"]


def test_case_36_a_custom_type_in_its_three_depths(story: StoryBuilder, workspace: Workspace) -> None:
    """Spec, case 36."""
    story.meta({"customFragmentTypes": [{"type": "location", "name": "Locations"}]})
    story.add("lo-pinned", "location", name="Quay", description="", content="Nine berths.", sticky=True)
    story.add("lo-recent", "location", name="Stair", description="", content="Wet.")
    story.add("lo-other", "location", name="Tower", description="Tall.", content="BODY")
    story.add("pr-one", "prose", content="Text.", meta={"writerContextIds": ["lo-recent"]})
    blocks = sent(workspace, story)
    assert blocks["user-fragments"].endswith("### Locations\n\n#### Quay\n\nNine berths.")
    assert blocks["fragment-recent"].endswith("### Locations\n\n#### Stair\n\nWet.")
    assert blocks["fragment-catalog"].endswith("### Locations\n\n`lo-other` | Tower | Tall.")


def test_case_37_an_empty_story(story: StoryBuilder, workspace: Workspace) -> None:
    """Spec, case 37."""
    assert list(sent(workspace, story, " \n")) == ["instructions", "tools", "story-info", "new-story"]


def test_case_38_no_block_makes_three_line_ends(story: StoryBuilder, workspace: Workspace) -> None:
    """Spec, case 38."""
    story.add("pr-one", "prose", content="\n\nText.\n\n\n")
    story.add("gl-tone", "guideline", name="Tone", content="Dry.\n\n\n", sticky=True)
    story.add("sm-one", "summary", content="\n\nSo far.\n\n\n")
    blocks = sent(workspace, story)
    assert blocks["prose-recent"] == "## Recent Prose\n\nText.\n\n## End of Recent Prose"
    prompt = workspace.prompt(story.path.name)
    assert all("\n\n\n" not in message.content for message in prompt.messages)


def test_case_39_an_order_of_ones_own_makes_one_group(story: StoryBuilder, workspace: Workspace) -> None:
    """Spec, case 39."""
    story.meta({"contextOrderMode": "advanced", "fragmentOrder": ["ch-one", "gl-one"]})
    for fragment_id, kind in (("gl-one", "guideline"), ("ch-one", "character"), ("kn-one", "knowledge")):
        story.add(fragment_id, kind, name=fragment_id, sticky=True)
    headings = [line for line in sent(workspace, story)["user-fragments"].splitlines() if line.startswith("###")]
    assert headings == ["### Context", "#### ch-one", "#### gl-one", "#### kn-one"]


def test_case_40_era_summaries_first_and_the_old_field_once(story: StoryBuilder, workspace: Workspace) -> None:
    """Spec, case 40."""
    story.meta(summary="From the old field.")
    assert sent(workspace, story)["summary"].count("From the old field.") == 1
    story.add("sm-chapter", "summary", content="Chapter.")
    story.add("sm-era", "summary", content="Era.", meta={"isEraSummary": True})
    story.add("sm-away", "summary", content="Put away.", archived=True)
    assert sent(workspace, story)["summary"] == "## Story Summary So Far\n\nEra.\n\nChapter."


def test_case_41_chapters_that_overlap_the_window(story: StoryBuilder) -> None:
    """Spec, case 41."""
    story.meta({"enableHierarchicalSummary": True, "contextCompact": {"type": "proseLimit", "value": 2}})
    made = prose(story, 3)
    for name, content in (("mk-one", "One."), ("mk-two", "  \n"), ("mk-three", "Three.")):
        story.add(name, "marker", content=content)
    story.chain("mk-one", made[0], "mk-two", made[1], "mk-three", made[2])
    assert [item.marker_id for item in state(story).chapter_summaries] == ["mk-three"]


# -- configs


def edit(workspace: Workspace, change: Any, agent: str = WRITER, branch: str | None = None) -> Any:
    return workspace.edit("the-quay", agent, branch, change)


@pytest.mark.parametrize(
    "data", ["{", '{"customBlocks": [{"id": "x", "name": "n", "role": "user", "type": "simple"}]}']
)
def test_case_45_a_config_that_is_none_is_told_and_kept(tmp_path: Path, workspace: Workspace, data: str) -> None:
    """Spec, case 45, with what the reference loses: an invalid file outlives edits too."""
    file = config_file(make_story(tmp_path / "data"))
    assert workspace.document("the-quay", WRITER).config == parse_config({})
    assert not file.exists()
    file.parent.mkdir()
    file.write_text(data, "utf-8")
    document = workspace.document("the-quay", WRITER)
    document.check_file()
    assert document.config == parse_config({})
    assert document.fault is not None
    with pytest.raises(InvalidFile):
        edit(workspace, lambda session: session.toggle("tools"))
    assert file.read_text("utf-8") == data


def test_case_46_custom_blocks_come_and_go(tmp_path: Path, workspace: Workspace) -> None:
    """Spec, case 46."""
    story = make_story(tmp_path / "data", branches=("main", "br-two"))

    def saved(branch: str = "main", agent: str = WRITER) -> dict[str, Any]:
        file = config_file(story, agent, branch)
        return dict(json.loads(file.read_bytes())) if file.exists() else {}

    block_id = edit(workspace, lambda session: session.add("Mine", "user", "simple", "text"))
    edit(workspace, lambda session: session.change(block_id, name="Renamed"))
    edit(workspace, lambda session: session.toggle(block_id))
    edit(workspace, lambda session: session.move(block_id, 0))
    (block,) = saved()["customBlocks"]
    assert (block["id"], block["name"], block_id in saved()["blockOrder"]) == (block_id, "Renamed", True)
    with pytest.raises(NotFound):
        edit(workspace, lambda session: session.change("cb-nobody", name="x"))
    assert saved("br-two") == {}
    assert saved(agent="generation.prewriter") == {}
    edit(workspace, lambda session: session.toggle("tools"), branch="br-two")
    assert "tools" not in saved()["overrides"]
    edit(workspace, lambda session: session.delete(block_id))
    assert (saved()["customBlocks"], saved()["overrides"], block_id in saved()["blockOrder"]) == ([], {}, False)


def test_case_47_an_edit_of_one_override_leaves_the_others(tmp_path: Path, workspace: Workspace) -> None:
    """Spec, case 47."""
    given = {"tools": {"order": 5, "x": 1}, "summary": {"enabled": False}}
    story = make_story(tmp_path / "data", configs={WRITER: {"overrides": given}})

    def change(session: Session) -> None:
        session.set_mode("tools", "append", "Z")

    edit(workspace, change)
    assert json.loads(config_file(story).read_bytes())["overrides"] == {
        "tools": {"order": 5, "x": 1, "contentMode": "append", "customContent": "Z"},
        "summary": {"enabled": False},
    }


def test_case_52_a_script_is_tried_out(tmp_path: Path, workspace: Workspace) -> None:
    """Spec, case 52; the command `eval` is tested with the others."""
    make_story(tmp_path / "data")
    base = workspace.base("the-quay", WRITER)
    good = workspace.run_script(base, "return ctx.story.name")
    assert (good.text, good.error) == ("The Quay", None)
    bad = workspace.run_script(base, "throw new Error('no')")
    assert bad.text is None
    assert bad.error is not None and "no" in bad.error
    blank = workspace.run_script(base, "return ' '")
    assert (blank.block_content("x"), blank.error) == (None, None)
    with pytest.raises(NotFound):
        workspace.base("nobody", WRITER)


OLD_TOOLS = {
    "readFragments": "getFragment",
    "findFragments": "searchFragments",
    "readStorySummary": "getStorySummary",
    "editFragments": "updateStorySummary createFragment updateFragment editFragment deleteFragment suggestFragment "
    "suggestEdit applyProposedChanges",
    "editProse": "proposeProseChanges",
    "reportAnalysis": "updateSummary reportMentions reportContradictions reportTimeline",
    "proposeDirections": "suggestDirections",
    "askClarifyingQuestions": "askQuestions",
    "invokeAgent": "reanalyzeFragment optimizeCharacter",
    "inspectRun": "inspectGeneration",
}
"""The names of section 8.1, new to old."""


@pytest.mark.parametrize(("new", "old"), [(new, old) for new, names in OLD_TOOLS.items() for old in names.split()])
def test_case_53_old_names_of_tools(new: str, old: str) -> None:
    """Spec, case 53; that such a tool is not sent is tested with the agents."""
    assert parse_config({"disabledTools": [old]}).disabled_tools == (new,)
    assert parse_config({"disabledTools": [old, new, old, "mine"]}).disabled_tools == (new, "mine")


def test_case_54_opening_changes_no_byte(tmp_path: Path, workspace: Workspace) -> None:
    """Spec, case 54; every screen and command is walked in the tests of the editor and the command line."""
    make_story(tmp_path / "data", legacy=True, summary="Old.")
    before = tree(tmp_path / "data")
    assert "Old." in workspace.prompt("the-quay").messages[1].content
    assert tree(tmp_path / "data") == before
