"""The pipeline: pure, exact, and the same for preview and request."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import engine.prompt
import engine.scripts.sandbox
from engine.agents import agent
from engine.blocks import BlockConfig
from engine.blocks.apply import ScriptResult
from engine.blocks.config import parse_config
from engine.context import resolver
from engine.errors import StonehandError
from engine.models.wire.base import Request, Start, Stop, Text
from engine.models.wire.events import Event
from engine.prompt import PROMPT_SECONDS, Base, Prompt, assemble, build_base, evaluate_scripts, list_rows
from engine.runs import Run
from engine.scripts import RUN_LIMITS, Limits, Outcome
from engine.session import Loaded
from engine.story import StoryFolder
from engine.workspace import Workspace
from tests.engine.blocks.strategies import configs
from tests.engine.conftest import STORY, WRITER
from tests.stories import custom_block, make_story


def config_of(*blocks: dict[str, Any], **values: Any) -> BlockConfig:
    return parse_config({"customBlocks": list(blocks), **values})


def base_of(story: Path, author_input: str = "", config: BlockConfig | None = None) -> Base:
    return build_base(agent(WRITER), StoryFolder(story).snapshot(), author_input, config or parse_config({}))


class FakeEngine:
    """Stands for the script engine: each evaluation takes `seconds` of a clock of its own."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.now = 100.0
        self.seconds = seconds
        self.limits: list[Limits] = []

    def evaluate(self, body: str, fields: object, functions: object, limits: Limits) -> Outcome:
        self.limits.append(limits)
        if self.seconds > limits.seconds:
            self.now += limits.seconds
            return Outcome("timeout", f"stopped after {limits.seconds:g} s")
        self.now += self.seconds
        return Outcome("ok", f"<{body}>")


# -- pure and exact


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(config=configs())
def test_assembling_is_pure_and_spans_cover_what_is_sent(story: Path, config: BlockConfig) -> None:
    base = base_of(story, "Go on.")
    results = {block.content: ScriptResult(text=f"«{block.content}»") for block in config.customBlocks}
    before = dict(results)
    prompt = assemble(base, config, results)
    assert assemble(base, config, results) == prompt
    assert assemble(base_of(story, "Go on."), config, results).messages == prompt.messages
    assert results == before
    ids = iter(prompt.blocks)
    totals = {"system": 0, "user": 0}
    for message in prompt.messages:
        at = 0
        for span in message.spans:
            block = next(ids)
            assert span.start == at <= span.content_start <= span.content_end <= span.end
            assert message.content[span.content_start : span.content_end] == block.content
            assert (block.id, block.role) == (span.block.id, message.role)
            totals[message.role] += block.tokens
            at = span.end
        assert at == len(message.content)
    assert next(ids, None) is None
    assert (prompt.tokens.system, prompt.tokens.user) == (totals["system"], totals["user"])
    rows = list_rows(base, config, results)
    compiled = [(row.id, row.tokens) for row in rows if row.state == "compiled"]
    assert compiled == [(block.id, block.tokens) for block in prompt.blocks]


def test_tags_are_expanded_in_place_and_unknown_ones_warned_of(story: Path) -> None:
    text = "Before <@ch-bafego> and <@kn-mirafa:short>, <@kn-nobody> after."
    config = config_of(custom_block("cb-tags", text))
    base = base_of(story)
    prompt = assemble(base, config, {})
    (block,) = (block for block in prompt.blocks if block.id == "cb-tags")
    resolve = resolver(base.snapshot)
    full, short = resolve("ch-bafego", False), resolve("kn-mirafa", True)
    assert block.content == f"Before {full} and {short}, [unknown fragment: kn-nobody] after."
    assert [warning for warning in prompt.warnings if "kn-nobody" in warning] == [
        "fragment tag <@kn-nobody> names no fragment"
    ]
    span = next(span for message in prompt.messages for span in message.spans if span.block.id == "cb-tags")
    user = prompt.messages[-1].content
    assert user[span.start : span.content_end] == f"[@block=cb-tags]\n{block.content}"


def test_an_override_of_no_block_is_warned_of_but_not_one_of_the_other_mode(story: Path) -> None:
    config = config_of(overrides={"ghost": {"enabled": False}, "writing-brief": {"enabled": False}})
    warnings = assemble(base_of(story), config, {}).warnings
    assert warnings == ("override for ghost: this agent has no such block",)


def test_an_id_of_the_older_layout_is_warned_of_with_its_new_name(story: Path) -> None:
    config = config_of(
        overrides={"prose": {"enabled": False}, "shortlist": {}, "fragment-catalog": {}}, blockOrder=["recent-prose"]
    )
    prose, shortlist, order = assemble(base_of(story), config, {}).warnings
    assert prose.startswith("override for prose: an id of the older layout")
    assert "is called prose-recent now" in prose
    assert f"'stonehand doctor {story.name} --repair old-id'" in prose
    assert "fragment-catalog now" in shortlist and "--repair" not in shortlist, "its new id has an override"
    assert order.startswith("recent-prose in the order: ")


def test_a_corrupt_fragment_is_a_warning(story: Path) -> None:
    (story / "branches/main/fragments/kn-mirafa.json").write_text("{", "utf-8")
    (warning,) = assemble(base_of(story), config_of(), {}).warnings
    assert "kn-mirafa.json:1" in warning


class Recorder:
    """A wire that keeps what it was sent."""

    name = label = "recorder"

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> Any:
        self.requests.append(request)
        events: list[Event] = [Start("m"), Text("x"), Stop("end_turn")]
        for event in events:
            yield event


def test_what_the_preview_shows_is_what_is_sent_byte_for_byte(story: Path, opened: Callable[..., Workspace]) -> None:
    config = {"customBlocks": [custom_block("cb-chance", "return 'x' + Math.random() + '<@ch-bafego>'", type="script")]}
    make_story(story.parents[1], "other", configs={WRITER: config})
    workspace = opened()
    session = workspace.session("other", WRITER)
    session.author_input = "Der Sturm — 嵐 🌊"
    session.install(session.load())
    preview = session.prompt()
    sent = workspace.prompt("other", WRITER, None, session.author_input)
    wire = Recorder()
    workspace.generate(Run(sent, wire)).result(10)
    (request,) = wire.requests
    assert [(m.role, m.content.encode()) for m in request.messages] == [
        (m.role, m.content.encode()) for m in preview.messages
    ]


# -- scripts


def test_scripts_share_one_budget(story: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script_engine = FakeEngine(4.0)
    monkeypatch.setattr(engine.prompt.time, "monotonic", lambda: script_engine.now)
    config = config_of(*(custom_block(f"cb-script{n}", f"return {n}", type="script") for n in range(6)))
    base = base_of(story)
    results = evaluate_scripts(lambda: script_engine, base, config, RUN_LIMITS)  # type: ignore[arg-type, return-value]
    assert [limits.seconds for limits in script_engine.limits] == [5.0, 5.0, 5.0, 3.0]
    assert script_engine.now == 100.0 + PROMPT_SECONDS
    kinds = [results[f"return {n}"].kind for n in range(6)]
    assert kinds == ["ok", "ok", "ok", "timeout", "timeout", "timeout"]
    prompt = assemble(base, config, results)
    contents = {block.id: block.content for block in prompt.blocks}
    assert contents["cb-script3"] == '[Script error in "cb-script3": stopped after 3 s]'
    assert "15 s together" in contents["cb-script5"]
    assert sum("cb-script" in warning for warning in prompt.warnings) == 3


def test_only_scripts_that_take_part_are_run_and_each_body_once(story: Path) -> None:
    script_engine = FakeEngine()
    config = config_of(
        custom_block("cb-aaaa", "same", type="script"),
        custom_block("cb-bbbb", "same", type="script"),
        custom_block("cb-cccc", "own off", type="script", enabled=False),
        custom_block("cb-dddd", "overridden off", type="script"),
        custom_block("cb-eeee", "known", type="script"),
        overrides={"cb-dddd": {"enabled": False}},
    )
    known = {"known": ScriptResult(text="k")}
    results = evaluate_scripts(lambda: script_engine, base_of(story), config, RUN_LIMITS, known)  # type: ignore[arg-type, return-value]
    assert set(results) == {"same", "known"}
    assert len(script_engine.limits) == 1
    assert known == {"known": ScriptResult(text="k")}


@pytest.fixture
def scripted(data: Path, state: Path) -> Path:
    block = custom_block("cb-count", "return String(ctx.proseFragments.length)", type="script", name="Count")
    return make_story(data, configs={WRITER: {"customBlocks": [block], "blockOrder": []}})


def test_without_a_script_engine_everything_but_the_prompt_works(
    scripted: Path, opened: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.scripts.sandbox, "available", lambda: "scripts can't run here: no such wheel")
    workspace = opened()
    session = workspace.session(STORY, WRITER)
    session.install(session.load())
    row = session.row("cb-count")
    assert (row.state, row.note, row.warning, row.tokens) == (
        "pending",
        "not evaluated: scripts can't run here: no such wheel",
        True,
        None,
    )
    with pytest.raises(StonehandError, match=r"\(cb-count\) was not evaluated: scripts can't run here") as raised:
        workspace.prompt(STORY)
    assert "\n" not in str(raised.value)
    session.move("tools", 0)
    workspace.save_now(session)
    session.toggle("cb-count")
    prompt = session.prompt()
    assert [block.id for block in prompt.blocks][:2] == ["tools", "instructions"]
    assert workspace.doctor() == []
    monkeypatch.undo()


def test_a_scripts_chance_and_time_stay_the_same_for_one_state_of_the_story(
    data: Path, opened: Callable[..., Workspace]
) -> None:
    body = "return Math.random() + ' ' + Date.now()"
    story = make_story(data, configs={WRITER: {"customBlocks": [custom_block("cb-dice", body, type="script")]}})
    workspace = opened()

    def listed() -> str | None:
        session = workspace.session(STORY, WRITER)
        session.install(session.load())
        return session.row("cb-dice").content

    def sent() -> str:
        return next(block.content for block in workspace.prompt(STORY).blocks if block.id == "cb-dice")

    first = listed()
    assert first is not None
    assert listed() == sent() == first
    # What its author was shown last is what is sent.
    job = workspace.preview(workspace.base(STORY, WRITER), body)
    shown = job.result().text
    assert shown != first
    assert sent() == listed() == shown
    # Another state of the story: run again.
    fragment = story / "branches/main/fragments/kn-mirafa.json"
    fragment.write_text(json.dumps({**json.loads(fragment.read_text()), "content": "Ten berths."}), "utf-8")
    assert sent() not in (first, shown)


def test_a_preview_that_ran_out_of_time_is_not_what_is_sent(data: Path, opened: Callable[..., Workspace]) -> None:
    body = "const end = Date.now() + 150; while (Date.now() < end); return 'done'"
    make_story(data, configs={WRITER: {"customBlocks": [custom_block("cb-slow", body, type="script")]}})
    workspace = opened()
    workspace.scripts.warm()
    session = workspace.session(STORY, WRITER)
    base = workspace.base(STORY, WRITER)
    result = workspace.preview(base, body, Limits(seconds=0.05)).result()
    said = "stopped after 0.05 s: a prompt gives it up to 5 s"
    assert (result.cut_short, result.error, result.described) == (True, None, said)
    session.install(Loaded(base, {}))
    assert session.row("cb-slow").note == "not evaluated yet"
    assert session.learn(base, body, result) is result
    row = session.row("cb-slow")
    assert (row.state, row.note, row.warning, row.content) == ("pending", said, False, None)
    assert session.waiting, "a prompt still has to run it"
    session.install(session.load())
    assert session.row("cb-slow").content == "done"
    assert session.learn(base, body, result).text == "done"
    assert session.row("cb-slow").content == "done"


def test_a_script_that_had_the_time_of_a_prompt_was_not_cut_short(workspace: Workspace) -> None:
    result = workspace.preview(workspace.base(STORY, WRITER), "for (;;);", Limits(seconds=5)).result()
    assert (result.kind, result.error) == ("timeout", "stopped after 5 s")


def test_bases_built_by_two_threads_at_once_are_one(workspace: Workspace) -> None:
    jobs = [workspace.start(lambda: workspace.base(STORY, WRITER, None, "x")) for _ in range(8)]
    assert len({id(job.result(10)) for job in jobs}) == 1


def test_the_context_a_passage_was_written_with_is_part_of_the_prompt(
    data: Path, opened: Callable[..., Workspace]
) -> None:
    make_story(
        data,
        fragments=[
            {"id": "kn-aaaa", "type": "knowledge", "content": "k", "sticky": True},
            {"id": "ch-aaaa", "type": "character", "content": "c", "sticky": True},
            {"id": "ch-bbbb", "type": "character", "content": "in the catalog"},
            {"id": "gl-aaaa", "type": "guideline", "content": "never recorded", "sticky": True},
        ],
    )
    prompt: Prompt = opened().prompt(STORY)
    assert prompt.context_ids == ("ch-aaaa", "kn-aaaa")
