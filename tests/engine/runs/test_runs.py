"""Generations: what is collected, what is saved of it, and what never is."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import InvalidFile, NotFound, StonehandError, WrongInput
from engine.models.wire.base import Failure, Request, Start, Stop, Text, Thinking, Usage
from engine.models.wire.events import Event
from engine.prompt import Prompt
from engine.runs import Run, RunView, Saved, read_log
from engine.story import StoryFolder
from engine.story import saving as story_saving
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.engine.story_builder import tree
from tests.stories import fragment, make_story

Open = Callable[..., Workspace]


class Script:
    """A wire that says what it is told to: events, exceptions to raise, and gates to wait at."""

    name = "script"
    label = "a scripted wire"

    def __init__(self, *steps: Event | Exception | threading.Event) -> None:
        self.steps = steps
        self.request: Request | None = None
        self.closed = threading.Event()

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        import asyncio

        self.request = request
        try:
            for step in self.steps:
                if isinstance(step, threading.Event):
                    step.set()
                    await asyncio.sleep(60)
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        finally:
            self.closed.set()


def prompt_of(workspace: Workspace, author_input: str = "Let the storm come.") -> Prompt:
    return workspace.prompt(STORY, WRITER, None, author_input)


def finished(workspace: Workspace, *steps: Event | Exception, **options: Any) -> Run:
    run = Run(prompt_of(workspace), Script(*steps), **options)
    workspace.generate(run).result(20)
    return run


def prose(story: Path, branch: str = "main") -> list[str]:
    chain = json.loads((story / "branches" / branch / "prose-chain.json").read_bytes())
    return [entry["active"] for entry in chain["entries"]]


def without_logs(files: dict[str, Any]) -> dict[str, Any]:
    return {name: found for name, found in files.items() if "generation-logs" not in name}


# -- collecting


def test_a_run_collects_text_thoughts_and_usage(workspace: Workspace) -> None:
    heard: list[str] = []
    run = finished(
        workspace,
        Start("some-model-1"),
        Thinking("hm"),
        Text("The "),
        Text("storm."),
        Usage(12, 3),
        Stop("end_turn"),
        model="some-model",
        max_output_tokens=50,
        on_text=heard.append,
    )
    view = run.view()
    assert (view.phase, view.text) == ("done", "The storm.")
    assert (view.model, view.answered_by) == ("some-model", "some-model-1")
    assert (view.input_tokens, view.output_tokens, view.finish) == (12, 3, "end_turn")
    assert (heard, run.thoughts, view.finished) == (["The ", "storm."], "hm", True)
    request = run.wire.request  # type: ignore[attr-defined]
    assert (request.model, request.max_output_tokens) == ("some-model", 50)
    assert run.view() == view


def test_without_usage_tokens_are_estimated(workspace: Workspace) -> None:
    run = finished(workspace, Text("One two three."), Stop("end_turn"))
    view = run.view()
    assert view.input_tokens == run.prompt.tokens.total
    assert 2 <= view.output_tokens <= 6


def test_stop_keeps_the_text_and_ends_the_call(workspace: Workspace) -> None:
    reached = threading.Event()
    wire = Script(Text("Half a "), reached)
    run = Run(prompt_of(workspace), wire)
    future = workspace.generate(run)
    assert reached.wait(10)
    assert run.view().phase == "writing"
    run.stop()
    view = future.result(10)
    assert (view.phase, view.text, view.finish) == ("stopped", "Half a ", "cancelled")
    assert wire.closed.is_set()
    run.stop()
    assert workspace.passages.keep(run).fragment.content == "Half a "
    (log,) = workspace.runs.all(STORY).runs
    assert read_log(workspace.story(STORY).content_root("main"), log.id)["stopped"] is True


def test_a_run_stopped_before_it_began_sends_nothing(workspace: Workspace) -> None:
    wire = Script(Text("x"))
    run = Run(prompt_of(workspace), wire)
    run.stop()
    assert workspace.generate(run).result(10).phase == "stopped"
    assert wire.request is None


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((Text("Half"), Failure("overloaded", "the provider is busy")), "the provider is busy"),
        ((Text("Half"), ValueError("a fault of the wire")), "ValueError: a fault of the wire"),
    ],
)
def test_a_failure_keeps_the_text_on_screen_and_saves_nothing(
    story: Path, workspace: Workspace, steps: tuple[Any, ...], message: str
) -> None:
    before = tree(story)
    run = finished(workspace, *steps)
    view = run.view()
    assert (view.phase, view.text, view.failure) == ("failed", "Half", message)
    with pytest.raises(StonehandError, match=f"the generation failed, so nothing was saved: {message}"):
        workspace.passages.keep(run)
    assert without_logs(tree(story)) == without_logs(before)  # what was sent is on record, and nothing else
    kept = workspace.passages.keep(run, broken=True).fragment
    assert (kept.content, kept.meta["stonehand"]) == ("Half", {"broken": message}), "the author takes what there is"


@pytest.mark.parametrize("text", ["", "  \n\ufeff\u2003"])
def test_a_blank_text_is_not_saved(story: Path, workspace: Workspace, text: str) -> None:
    before = tree(story)
    run = finished(workspace, *([Text(text)] if text else []), Stop("end_turn"))
    with pytest.raises(StonehandError, match="has no text, so nothing was saved"):
        workspace.passages.keep(run)
    assert without_logs(tree(story)) == without_logs(before)


def test_a_run_that_goes_on_is_not_saved(story: Path, workspace: Workspace) -> None:
    reached = threading.Event()
    run = Run(prompt_of(workspace), Script(Text("x"), reached))
    future = workspace.generate(run)
    reached.wait(10)
    with pytest.raises(StonehandError, match="still running"):
        workspace.passages.keep(run)
    run.stop()
    future.result(10)


# -- saving


def test_keeping_writes_fragment_section_and_log_as_the_reference_does(data: Path, opened: Open) -> None:
    story = make_story(
        data,
        fragments=[{"id": "ch-bafego", "type": "character", "content": "Ines.", "sticky": True}],
    )
    chain_file = story / "branches/main/prose-chain.json"
    chain = json.loads(chain_file.read_bytes())
    chain["entries"][0]["note"] = "kept"
    chain_file.write_text(json.dumps({"future": [1], **chain}), "utf-8")
    workspace = opened()
    direction = "Let the storm come. " * 20
    run = Run(
        prompt_of(workspace, direction),
        Script(Start("m-1"), Thinking("wind"), Text("It came.\n"), Usage(9, 4), Stop("max_tokens")),
    )
    workspace.generate(run).result(10)
    saved = workspace.passages.keep(run)
    root = story / "branches/main"
    document = json.loads((root / "fragments" / f"{saved.fragment.id}.json").read_bytes())
    assert document["id"] == saved.fragment.id
    assert document["type"] == "prose"
    assert document["name"] == f"[Continuation] {direction}"[:100]
    assert document["description"] == direction[:250]
    assert document["content"] == "It came.\n"
    assert document["order"] == 0
    assert document["meta"] == {"generatedFrom": direction, "writerContextIds": ["ch-bafego"]}
    after = json.loads(chain_file.read_bytes())
    assert after == {
        "future": [1],
        "entries": [*chain["entries"], {"proseFragments": [saved.fragment.id], "active": saved.fragment.id}],
    }
    log = json.loads((root / "generation-logs" / f"{saved.log_id}.json").read_bytes())
    assert saved.log_id.startswith("gen-")
    assert log["createdAt"].endswith("Z")
    assert isinstance(log.pop("durationMs"), int)
    own = log.pop("stonehand")
    assert own["agent"] == WRITER
    for message, blocks in zip(log["messages"], own["blocks"], strict=True):
        starts = [block["start"] for block in blocks[1:]]
        assert all(message["content"][start - 2 : start] == "\n\n" for start in starts)
        assert blocks[-1]["contentEnd"] == len(message["content"])
    assert {key: value for key, value in log.items() if key != "createdAt"} == {
        "id": saved.log_id,
        "input": direction,
        "messages": [{"role": m.role, "content": m.content} for m in run.prompt.messages],
        "toolCalls": [],
        "generatedText": "It came.\n",
        "fragmentId": saved.fragment.id,
        "model": "m-1",
        "stepCount": 1,
        "finishReason": "length",
        "stepsExceeded": False,
        "totalUsage": {"inputTokens": 9, "outputTokens": 4},
        "reasoning": "wind",
    }
    # The next prompt has it.
    assert "It came." in workspace.prompt(STORY).messages[-1].content


def test_keeping_twice_saves_once(story: Path, workspace: Workspace) -> None:
    run = finished(workspace, Text("Once."), Stop("end_turn"))
    kept = [workspace.start(lambda: workspace.passages.keep(run)) for _ in range(4)]
    assert len({job.result(10).fragment.id for job in kept}) == 1
    assert len(prose(story)) == 3


def test_what_the_writer_had_is_recorded_as_it_was_when_it_was_sent(story: Path, workspace: Workspace) -> None:
    run = finished(workspace, Text("x"), Stop("end_turn"))
    late = fragment("ch-late01", "character", "added while it was written", sticky=True)
    (story / "branches/main/fragments/ch-late01.json").write_text(json.dumps(late), "utf-8")
    assert "writerContextIds" not in workspace.passages.keep(run).fragment.meta


def test_when_the_chain_cannot_be_written_nothing_is_left(
    story: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = story_saving.write_atomic

    def no_chain(path: Path, data: bytes, **options: Any) -> None:
        if path.name == "prose-chain.json":
            raise StonehandError("can't be written: no space left on device", file=path)
        write(path, data, **options)

    run = finished(workspace, Text("Lost?"), Stop("end_turn"))
    before = tree(story)
    with monkeypatch.context() as patch:
        patch.setattr(story_saving, "write_atomic", no_chain)
        with pytest.raises(StonehandError, match="no space left"):
            workspace.passages.keep(run)
    assert tree(story) == before
    assert workspace.passages.keep(run).fragment.content == "Lost?"


def test_when_the_log_cannot_be_written_the_passage_is_there_and_says_so(story: Path, workspace: Workspace) -> None:
    (story / "branches/main/generation-logs").write_text("in the way", "utf-8")
    run = finished(workspace, Text("Kept."), Stop("end_turn"))
    saved: Saved = workspace.passages.keep(run)
    assert saved.log_id == ""
    assert saved.problem is not None
    assert prose(story)[-1] == saved.fragment.id
    assert workspace.passages.keep(run) == saved


def test_a_run_stays_on_the_branch_it_began_on(data: Path, opened: Open) -> None:
    story = make_story(data, branches=("main", "br-two"))
    workspace = opened()
    run = finished(workspace, Text("On main."), Stop("end_turn"))
    index = json.loads((story / "branches.json").read_bytes())
    (story / "branches.json").write_text(json.dumps({**index, "activeBranchId": "br-two"}), "utf-8")
    assert workspace.prompt(STORY).branch == "br-two"
    two = tree(story / "branches" / "br-two")
    saved = workspace.passages.keep(run)
    assert prose(story)[-1] == saved.fragment.id
    assert tree(story / "branches" / "br-two") == two


def test_keeping_in_an_old_story_gives_it_branches(data: Path, opened: Open) -> None:
    story = make_story(data, legacy=True)
    workspace = opened()
    run = finished(workspace, Text("New."), Stop("end_turn"))
    assert not (story / "branches").exists()
    saved = workspace.passages.keep(run)
    assert prose(story) == ["pr-aaaa00", "pr-aaaa01", saved.fragment.id]
    assert (story / "branches/main/generation-logs" / f"{saved.log_id}.json").exists()
    assert not (story / "fragments").exists()
    assert StoryFolder(story).snapshot().get("pr-aaaa00") is not None


def test_two_programs_that_keep_at_once_both_do(story: Path, opened: Open) -> None:
    workspaces = [opened() for _ in range(3)]
    runs = [finished(workspace, Text(f"P{n}"), Stop("end_turn")) for n, workspace in enumerate(workspaces)]
    jobs = [w.start(lambda w=w, run=run: w.passages.keep(run)) for w, run in zip(workspaces, runs, strict=True)]  # type: ignore[misc]
    saved = [job.result(20) for job in jobs]
    assert set(prose(story)[2:]) == {item.fragment.id for item in saved}
    assert len({item.log_id for item in saved}) == 3


# -- logs


def test_a_rehearsal_replayed_gives_the_same_text(workspace: Workspace) -> None:
    prompt = prompt_of(workspace)
    run = Run(prompt, workspace.wires.of(prompt, words_per_second=0))
    first: RunView = workspace.generate(run).result(20)
    saved = workspace.passages.keep(run)
    assert workspace.wires.names(STORY) == ("rehearsal", f"replay:{saved.log_id}")
    again = Run(prompt, workspace.wires.of(prompt, f"replay:{saved.log_id}", words_per_second=0))
    second: RunView = workspace.generate(again).result(20)
    assert second.text == first.text
    assert second.model == "rehearsal"
    assert (second.input_tokens, second.output_tokens) == (first.input_tokens, first.output_tokens)


def test_a_log_of_no_use_is_refused(story: Path) -> None:
    root = story / "branches/main"
    logs = root / "generation-logs"
    logs.mkdir()
    (logs / "gen-c.json").write_text("{", "utf-8")
    (logs / "gen-d.json").write_text("[]", "utf-8")
    with pytest.raises(NotFound, match="no generation log gen-x"):
        read_log(root, "gen-x")
    for bad in ("gen-c", "gen-d"):
        with pytest.raises(InvalidFile):
            read_log(root, bad)
    for outside in ("../../../meta", "a/b", "../x"):
        with pytest.raises(WrongInput):
            read_log(root, outside)
