"""A run is stopped at once wherever it is: none of what it waits for here would end by itself in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.hooks import HookContext, Hooks, Passage
from engine.runs import Run
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.engine.test_providers_called import configure
from tests.mock_provider.scripts import call, chunk, plain
from tests.mock_provider.server import Reply, Script, Sleep
from tests.mock_provider.serving import Serve
from tests.stories import make_story

ENDS = 5.0
"""Seconds in which a stopped run must have ended; what it waits for takes a minute."""
FOR_EVER = 60.0


@pytest.fixture
def hang() -> Iterator[Callable[[], None]]:
    """Waits until the test is over; `hang.reached` is set once it is called."""
    over, reached = threading.Event(), threading.Event()

    def wait() -> None:
        reached.set()
        over.wait(FOR_EVER)

    wait.reached = reached  # type: ignore[attr-defined]
    yield wait
    over.set()


def begun(workspace: Workspace, **options: Any) -> tuple[Run, Any]:
    session = workspace.session(STORY, WRITER)
    session.author_input = "Go on."
    run = workspace.generation.prepare(session, **options)
    return run, workspace.generate(run)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def stopped(run: Run, future: Any) -> Any:
    run.stop()
    view = future.result(ENDS)
    assert view.phase == "stopped"
    return view


@pytest.mark.parametrize(
    ("script", "there"),
    [
        ([Sleep(FOR_EVER)], lambda run, mock: mock.received),
        ([chunk({"reasoning_content": "Hm."}), Sleep(FOR_EVER)], lambda run, mock: run.view().thoughts),
        ([chunk({"content": "Half"}), Sleep(FOR_EVER)], lambda run, mock: run.view().text),
        ([call(0, "a", "readStorySummary", "{"), Sleep(FOR_EVER)], lambda run, mock: run.view().tool),
        ([Reply(503, {}, {"retry-after": "50"})], lambda run, mock: run.view().retry),
    ],
    ids=["before the first byte", "reasoning", "text", "a call begun", "waiting to try again"],
)
def test_in_a_call(workspace: Workspace, data: Path, serve: Serve, script: Script, there: Callable[..., Any]) -> None:
    mock = serve(script)
    configure(data, mock.base_url)
    run, future = begun(workspace)
    until(lambda: there(run, mock))
    view = stopped(run, future)
    (log,) = workspace.runs.all(STORY).runs
    assert log.stopped and not log.failed and view.retry is None
    assert len(mock.received) == 1
    if not isinstance(script[0], Reply):
        until(mock.closed_by_client.is_set)


def test_in_a_tool(workspace: Workspace, data: Path, serve: Serve, hang: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.tools.offering import CORE

    monkeypatch.setitem(CORE["readStorySummary"].__dict__, "handle", lambda *_: hang())
    configure(data, serve([call(0, "a", "readStorySummary", "{}"), chunk({}, "tool_calls")]).base_url)
    run, future = begun(workspace)
    assert hang.reached.wait(20)
    stopped(run, future)
    assert [message.role for message in run.added] == ["assistant", "tool"]


def test_in_a_hook_that_hangs(workspace: Workspace, data: Path, serve: Serve, hang: Any) -> None:
    def hook(passage: Passage, _where: HookContext) -> Passage:
        hang()
        return replace(passage, text="late")

    workspace.hooks.add(Hooks("slow", after_generation=hook))
    configure(data, serve(plain("Text.")).base_url)
    run, future = begun(workspace)
    assert hang.reached.wait(20)
    assert stopped(run, future).text == "Text."


def test_in_a_script_of_the_prompt_that_is_made_of_a_brief(data: Path, opened: Any, serve: Serve, hang: Any) -> None:
    """The prewriter has planned; the scripts of the writer's prompt run, which takes them as long as they like."""
    make_story(data, settings={"generationMode": "prewriter"})
    workspace = opened()
    mock = serve(plain("A brief."), plain("Never."))
    configure(data, mock.base_url)
    evaluate = workspace.evaluate
    session = workspace.session(STORY, WRITER)
    session.author_input = "Go on."
    run = workspace.generation.prepare(session)
    workspace.evaluate = lambda *given, **named: (hang(), evaluate(*given, **named))[1]
    future = workspace.generate(run)
    assert hang.reached.wait(20)
    view = stopped(run, future)
    assert (view.brief, view.text, len(mock.received)) == ("A brief.", "", 1)


def test_in_a_conversation_what_arrived_is_kept(workspace: Workspace, data: Path, serve: Serve) -> None:
    mock = serve([chunk({"content": "Half"}), Sleep(FOR_EVER)])
    configure(data, mock.base_url)
    talk = workspace.conversations
    turn = talk.ask(talk.store(STORY, "librarian.chat"), STORY, None, "Well?")
    until(lambda: turn.view().text)
    turn.stop()
    asked, answer = turn.saved.result(ENDS).messages
    assert (asked.content, answer.content, answer.interrupted) == ("Well?", "Half", "stopped")


def test_before_it_began_nothing_is_sent(workspace: Workspace, data: Path, serve: Serve) -> None:
    mock = serve(plain("Never."))
    configure(data, mock.base_url)
    session = workspace.session(STORY, WRITER)
    run = workspace.generation.prepare(session)
    run.stop()
    assert workspace.generate(run).result(ENDS).phase == "stopped"
    assert mock.received == [] and workspace.runs.all(STORY).runs == ()
