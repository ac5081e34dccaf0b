"""Hooks: what each is given, what becomes of what it returns, and what a failing one leaves undone."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import engine.hooks
from engine.blocks import ContextBlock, insert_block_after, remove_block, replace_block_content
from engine.context import ContextState
from engine.errors import StonehandError, WrongInput
from engine.hooks import NO_HOOKS, HookContext, Hooks, Passage, StopRun
from engine.models.wire.base import ChatMessage, Failure, Stop, Text
from engine.prompt import Prompt
from engine.runs import Run, read_log
from engine.session import Session
from engine.story import Fragment
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.engine.runs.test_runs import Script
from tests.stories import custom_block, make_story

BEFORE = ("before_context", "before_blocks", "before_generation")


def texts(prompt: Prompt) -> str:
    return "\n".join(message.content for message in prompt.messages)


def same(value: Any, _where: HookContext) -> Any:
    return value


def raising(value: Any, _where: HookContext) -> Any:
    if isinstance(value, list):
        value.clear()
    raise ValueError("no\ngood")


def check_spans(prompt: Prompt) -> None:
    for message in prompt.messages:
        at = 0
        for span in message.spans:
            assert span.start == at <= span.content_start <= span.content_end <= span.end
            at = span.end
        assert at == len(message.content)


# -- the pipeline (spec, section 10.2)


def test_hooks_run_in_the_pipelines_order_and_in_the_order_they_were_added(workspace: Workspace) -> None:
    calls: list[tuple[str, str, str]] = []

    def noting(owner: str, name: str) -> Callable[[Any, HookContext], Any]:
        def hook(value: Any, where: HookContext) -> Any:
            assert where == HookContext(STORY, "main", WRITER)
            calls.append((name, owner, type(value).__name__))
            return value

        return hook

    names = (*BEFORE, "after_generation", "after_save")
    for owner in ("one", "two"):
        workspace.hooks.add(Hooks(owner, **{name: noting(owner, name) for name in names}))
    run = Run(workspace.prompt(STORY, WRITER, None, "Go."), Script(Text("Text."), Stop("end_turn")))
    workspace.generate(run).result(20)
    workspace.passages.keep(run)
    workspace.passages.keep(run)
    kinds = ("ContextState", "list", "list", "Passage", "Fragment")
    assert calls == [(name, owner, kind) for name, kind in zip(names, kinds, strict=True) for owner in ("one", "two")]


def test_hooks_that_change_nothing_give_identical_bytes(workspace: Workspace) -> None:
    plain = workspace.prompt(STORY, WRITER, None, "Go on.")
    workspace.hooks.add(Hooks("same", same, same, same, same, lambda *_: None))
    hooked = workspace.prompt(STORY, WRITER, None, "Go on.")
    assert hooked == plain
    workspace.hooks.remove("same")
    assert workspace.hooks.current is NO_HOOKS
    assert workspace.prompt(STORY, WRITER, None, "Go on.").hooks is NO_HOOKS


def test_before_context_changes_fragments_input_scripts_and_what_is_recorded(data: Path, opened: Any) -> None:
    script = custom_block("cb-script", "return ctx.authorInput + ctx.stickyGuidelines.length", type="script")
    make_story(data, configs={WRITER: {"customBlocks": [script]}})
    workspace: Workspace = opened()

    def hook(state: ContextState, _where: HookContext) -> ContextState:
        kept = {"sticky_guidelines": (), "sticky_characters": state.character_catalog, "character_catalog": ()}
        return replace(state, author_input=f"{state.author_input}!", **kept)

    workspace.hooks.add(Hooks("plugin", before_context=hook))
    prompt = workspace.prompt(STORY, WRITER, None, "Go on.")
    assert "Past tense." not in texts(prompt)
    assert "Counts everything twice." in texts(prompt)
    assert prompt.context_ids == ("ch-bafego",)
    content = {block.id: block.content for block in prompt.blocks}
    assert "Go on.!" in content["author-input"]
    assert content["cb-script"] == "Go on.!0"
    assert prompt.input == "Go on.", "the log and the passage name what the author wrote"


def test_before_blocks_sees_the_users_config_and_has_the_last_word(data: Path, opened: Any) -> None:
    config = {
        "customBlocks": [custom_block("cb-mine", "Mine.")],
        "overrides": {
            "tools": {"enabled": False},
            "instructions": {"contentMode": "override", "customContent": "Own."},
        },
    }
    make_story(data, configs={WRITER: config})
    workspace: Workspace = opened()
    seen: dict[str, str] = {}

    def hook(blocks: list[ContextBlock], _where: HookContext) -> list[ContextBlock]:
        seen.update({block.id: block.content for block in blocks})
        result = remove_block(blocks, "prose-recent")
        result = replace_block_content(result, "cb-mine", "Changed. <@ch-bafego:short>")
        voice = ContextBlock("narrator-voice", "user", "Second person.", 550, "my-plugin")
        return insert_block_after(result, "prose", voice)

    workspace.hooks.add(Hooks("my-plugin", before_blocks=hook))
    prompt = workspace.prompt(STORY)
    assert "tools" not in seen
    assert (seen["instructions"], seen["cb-mine"]) == ("Own.", "Mine.")
    content = {block.id: block.content for block in prompt.blocks}
    assert "prose-recent" not in content
    assert content["cb-mine"].startswith("Changed. Ines")
    ids = [block.id for block in prompt.blocks]
    assert ids.index("narrator-voice") < ids.index("cb-mine"), "by its order, not its place in the list"
    check_spans(prompt)


def test_before_generation_sees_tags_expanded_and_its_text_has_its_owners_name(data: Path, opened: Any) -> None:
    make_story(data, configs={WRITER: {"customBlocks": [custom_block("cb-tagged", "<@ch-bafego:short>")]}})
    workspace: Workspace = opened()

    def hook(messages: list[ChatMessage], _where: HookContext) -> list[ChatMessage]:
        system, user = messages
        assert "<@" not in user.content
        user = replace(user, content=user.content.replace("Ines:", "Agnes:"))
        return [replace(system, content=f"{system.content}\n\nObey."), user, ChatMessage("user", "More.")]

    workspace.hooks.add(Hooks("editor", before_generation=hook))
    prompt = workspace.prompt(STORY)
    system, _, more = prompt.messages
    assert system.content.endswith("Obey.") and more.content == "More."
    content = {block.id: block.content for block in prompt.blocks}
    assert content["cb-tagged"].startswith("Agnes:")
    assert [(block.content, block.source) for block in prompt.blocks if block.source == "editor"] == [
        ("\n\nObey.", "editor"),
        ("More.", "editor"),
    ]
    assert len({block.id for block in prompt.blocks}) == len(prompt.blocks)
    check_spans(prompt)


def test_what_is_sent_is_what_was_previewed_even_if_a_hook_says_something_else_each_time(workspace: Workspace) -> None:
    count = iter(range(100))

    def hook(messages: list[ChatMessage], _where: HookContext) -> list[ChatMessage]:
        return [replace(messages[0], content=f"{next(count)}"), *messages[1:]]

    workspace.hooks.add(Hooks("chance", before_generation=hook))
    session = workspace.session(STORY, WRITER)
    session.install(session.load())
    prompt = session.prompt()
    assert session.prompt() is session.compiling()() is prompt
    wire = Script(Text("x"), Stop("end_turn"))
    workspace.generate(Run(prompt, wire)).result(20)
    assert wire.request is not None
    assert [message.content for message in wire.request.messages] == [message.content for message in prompt.messages]
    session.toggle("tools")
    assert session.prompt() is not prompt


# -- awaitable


def test_awaitable_hooks_are_awaited_on_the_engines_loop(workspace: Workspace) -> None:
    threads: list[str] = []

    async def hook(value: Any, _where: HookContext) -> Any:
        await asyncio.sleep(0.001)
        threads.append(threading.current_thread().name)
        return value

    workspace.hooks.add(Hooks("slow", hook, hook, hook, hook, hook))
    run = Run(workspace.prompt(STORY), Script(Text("Text."), Stop("end_turn")))
    view = workspace.generate(run).result(20)
    saved = workspace.passages.keep(run)
    assert (view.warnings, saved.skipped, run.prompt.warnings) == ((), (), ())
    assert threads == ["engine"] * 5


def test_a_hook_that_makes_one_wait_too_long_is_skipped(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.hooks, "HOOK_SECONDS", 0.05)
    plain = workspace.prompt(STORY)
    cancelled = threading.Event()

    async def hook(value: Any, _where: HookContext) -> Any:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    workspace.hooks.add(Hooks("slow", before_blocks=hook))
    prompt = workspace.prompt(STORY)
    assert prompt.messages == plain.messages
    assert "'slow'" in prompt.warnings[0] and "longer than" in prompt.warnings[0]
    assert cancelled.wait(10)


# -- failures


@pytest.mark.parametrize("name", BEFORE)
@pytest.mark.parametrize("kind", ["raises", "raises later", "returns nothing", "returns another kind"])
def test_a_failing_before_hook_is_reported_and_skipped(workspace: Workspace, name: str, kind: str) -> None:
    async def later(value: Any, where: HookContext) -> Any:
        await asyncio.sleep(0)
        raising(value, where)

    hooks = {
        "raises": raising,
        "raises later": later,
        "returns nothing": lambda *_: None,
        "returns another kind": lambda *_: ["text", 5],
    }
    plain = workspace.prompt(STORY)
    seen: list[Any] = []
    workspace.hooks.add(Hooks("bad", **{name: hooks[kind]}))
    workspace.hooks.add(Hooks("good", **{name: lambda value, _: seen.append(value) or value}))
    prompt = workspace.prompt(STORY)
    assert prompt.messages == plain.messages
    assert len(seen) == 1, "the ones after it still run"
    (warning,) = prompt.warnings
    assert "'bad'" in warning and "skipped" in warning and "\n" not in warning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("before_blocks", [ContextBlock("x", "assistant", "", 1)]),  # type: ignore[arg-type]
        ("before_blocks", [ContextBlock("x", "user", None, 1)]),  # type: ignore[arg-type]
        ("before_blocks", [ContextBlock("x", "user", "", float("nan"))]),
        ("before_blocks", [ContextBlock("x", "user", "", "1")]),  # type: ignore[arg-type]
        ("before_generation", [ChatMessage("tool", "x")]),
        ("before_generation", [ChatMessage("user", None)]),  # type: ignore[arg-type]
        ("before_generation", "text"),
    ],
)
def test_what_can_not_be_compiled_or_sent_is_a_failure(workspace: Workspace, name: str, value: Any) -> None:
    plain = workspace.prompt(STORY)
    workspace.hooks.add(Hooks("bad", **{name: lambda *_: value}))
    prompt = workspace.prompt(STORY)
    assert (prompt.messages, len(prompt.warnings)) == (plain.messages, 1)


@pytest.mark.parametrize("name", BEFORE)
def test_a_before_hook_can_stop_preview_and_request(workspace: Workspace, name: str) -> None:
    def hook(*_: Any) -> Any:
        raise StopRun("the scene is locked")

    workspace.hooks.add(Hooks("guard", **{name: hook}))
    with pytest.raises(StonehandError, match=r"guard .* the scene is locked"):
        workspace.prompt(STORY)


# -- after a generation


def test_after_generation_changes_what_is_shown_saved_and_logged(workspace: Workspace) -> None:
    def hook(passage: Passage, _where: HookContext) -> Passage:
        assert (passage.input, passage.finish) == ("Go.", "end_turn")
        return replace(passage, text=passage.text.upper())

    workspace.hooks.add(Hooks("shout", after_generation=hook))
    prompt = workspace.prompt(STORY, WRITER, None, "Go.")
    run = Run(prompt, Script(Text("One "), Text("two."), Stop("end_turn")))
    view = workspace.generate(run).result(20)
    assert (view.phase, view.text, view.rewritten) == ("done", "ONE TWO.", True)
    saved = workspace.passages.keep(run)
    assert saved.fragment.content == "ONE TWO."
    assert read_log(workspace.story(STORY).content_root("main"), saved.log_id)["generatedText"] == "ONE TWO."


def test_after_generation_also_gets_what_was_stopped_but_not_what_failed(workspace: Workspace) -> None:
    seen: list[str] = []
    workspace.hooks.add(Hooks("see", after_generation=lambda passage, _: seen.append(passage.text) or passage))
    reached = threading.Event()
    stopped = Run(workspace.prompt(STORY), Script(Text("Half a "), reached))
    future = workspace.generate(stopped)
    assert reached.wait(10)
    stopped.stop()
    assert future.result(10).phase == "stopped"
    assert seen == ["Half a "]
    for steps in ((Text("x"), Failure("network", "gone")), (Text(" "), Stop("end_turn"))):
        workspace.generate(Run(workspace.prompt(STORY), Script(*steps))).result(20)
    assert seen == ["Half a "]


def test_a_run_can_be_stopped_while_a_hook_has_it(workspace: Workspace) -> None:
    reached = threading.Event()

    async def hook(passage: Passage, _where: HookContext) -> Passage:
        reached.set()
        await asyncio.sleep(5)
        return replace(passage, text="late")

    workspace.hooks.add(Hooks("slow", after_generation=hook))
    run = Run(workspace.prompt(STORY), Script(Text("Text."), Stop("end_turn")))
    future = workspace.generate(run)
    assert reached.wait(10)
    assert not run.view().finished
    run.stop()
    view = future.result(4)
    assert (view.phase, view.text) == ("stopped", "Text.")


def test_failing_after_hooks_lose_nothing(workspace: Workspace) -> None:
    def stop(*_: Any) -> Any:
        raise StopRun("too late")

    workspace.hooks.add(Hooks("bad", after_generation=raising, after_save=raising))
    workspace.hooks.add(Hooks("stop", after_generation=stop, after_save=stop))
    run = Run(workspace.prompt(STORY), Script(Text("Text."), Stop("end_turn")))
    view = workspace.generate(run).result(20)
    assert (view.phase, view.text, len(view.warnings)) == ("done", "Text.", 2)
    saved = workspace.passages.keep(run)
    assert saved.fragment.content == "Text."
    assert ["'bad'" in str(saved.skipped[0]), "'stop'" in str(saved.skipped[1])] == [True, True]
    assert len(workspace.runs.all(STORY).runs) == 1


def test_after_save_sees_the_fragment_on_disk(workspace: Workspace, story: Path) -> None:
    seen: list[Any] = []

    def hook(fragment: Fragment, where: HookContext) -> None:
        file = story / "branches" / where.branch / "fragments" / f"{fragment.id}.json"
        chain = json.loads((story / "branches" / where.branch / "prose-chain.json").read_bytes())
        seen.append((json.loads(file.read_bytes())["content"], chain["entries"][-1]["active"] == fragment.id))

    workspace.hooks.add(Hooks("see", after_save=hook))
    run = Run(workspace.prompt(STORY), Script(Text("Text."), Stop("end_turn")))
    workspace.generate(run).result(20)
    workspace.passages.keep(run)
    assert seen == [("Text.", True)]


# -- who is there, and what is remembered


def test_owners_are_unique_and_can_be_removed(workspace: Workspace) -> None:
    workspace.hooks.add(Hooks("a"))
    with pytest.raises(WrongInput, match="already"):
        workspace.hooks.add(Hooks("a", same))
    with pytest.raises(WrongInput):
        workspace.hooks.add(Hooks(" "))
    assert (workspace.hooks.remove("b"), workspace.hooks.remove("a"), workspace.hooks.remove("a")) == (
        False,
        True,
        False,
    )


def test_what_is_remembered_is_of_the_hooks_there_are(data: Path, opened: Any) -> None:
    script = custom_block("cb-script", "return ctx.authorInput", type="script")
    make_story(data, configs={WRITER: {"customBlocks": [script]}})
    workspace: Workspace = opened()

    def loaded() -> Session:
        session.install(session.load())
        assert not session.waiting
        return session

    def said() -> str:
        return next(block.content for block in loaded().prompt().blocks if block.id == "cb-script")

    session = workspace.session(STORY, WRITER)
    session.author_input = "Go."
    assert said() == "Go."
    base = session.base
    workspace.hooks.add(
        Hooks("plugin", before_context=lambda state, _: replace(state, author_input=f"{state.author_input}?"))
    )
    assert session.waiting, "what is loaded was made without them"
    assert said() == "Go.?"
    assert session.base is not base
    assert loaded().base is session.base, "while nothing changes it is not built again"
    workspace.hooks.remove("plugin")
    assert session.waiting
    assert said() == "Go."
    assert session.base is base
