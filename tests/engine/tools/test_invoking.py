"""An agent has another one do a task, within limits."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from engine.errors import StonehandError
from engine.tools import Calls, Host, Invocation, Invoked, calls_of
from engine.tools.invoking import ALLOWED, MAX_CALLS, OUTPUT_LIMIT, Execute
from engine.tools.offering import CORE
from tests.engine.story_builder import StoryBuilder
from tests.engine.tools.conftest import tool_call

CHAT = "librarian.chat"
OPTIMIZE = "librarian.optimize-character"


async def answer(invocation: Invocation) -> Invoked:
    about = invocation.fragment.id if invocation.fragment is not None else "nothing"
    return Invoked(f"{invocation.agent}: {invocation.input} ({about})", {"steps": 2})


def host_of(story: StoryBuilder, execute: Execute = answer, calls: Calls | None = None) -> Host:
    return Host(story.folder(), "main", CHAT, calls=calls or calls_of(CHAT, execute))


def invoke(host: Host, agent: str, **more: Any) -> Any:
    arguments = {"agent": agent, **more}
    return asyncio.run(CORE["invokeAgent"].run(tool_call("1", "invokeAgent", arguments), host)).value


def test_the_answer_comes_back(story: StoryBuilder) -> None:
    host = host_of(story)
    assert invoke(host, OPTIMIZE, fragmentId="ch-bafego", input="deepen her") == {
        "steps": 2,
        "agent": OPTIMIZE,
        "output": f"{OPTIMIZE}: deepen her (ch-bafego)",
    }
    assert invoke(host, "directions.suggest")["output"] == "directions.suggest:  (nothing)"
    assert host.calls is not None
    assert host.calls.made == 2


@pytest.mark.parametrize(
    ("agent", "more", "error"),
    [
        ("nobody", {}, "nobody can't be invoked by librarian.chat — agents: librarian.analyze,"),
        (CHAT, {}, "librarian.chat is at work already: librarian.chat"),
        ("generation.writer", {}, "generation.writer can't be invoked by librarian.chat — agents: librarian.analyze,"),
        (OPTIMIZE, {}, "fragmentId: is missing; librarian.optimize-character needs a fragment of character"),
        (OPTIMIZE, {"fragmentId": "ch-nobody"}, "fragmentId: there is no fragment ch-nobody"),
        (
            OPTIMIZE,
            {"fragmentId": "kn-mirafa"},
            "fragmentId: kn-mirafa is knowledge; librarian.optimize-character needs",
        ),
    ],
)
def test_what_can_not_be_invoked(story: StoryBuilder, agent: str, more: dict[str, str], error: str) -> None:
    host = host_of(story)
    assert error in invoke(host, agent, **more)["error"]
    assert host.calls is not None
    assert host.calls.made == 0


def test_not_deeper_than_three_and_not_in_a_circle(story: StoryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = ("directions.suggest", "librarian.refine", "librarian.analyze", OPTIMIZE)
    names = (CHAT, *chain)
    for name in names:
        monkeypatch.setitem(ALLOWED, name, names)  # type: ignore[arg-type]
    told: list[str] = []

    async def deeper(invocation: Invocation) -> Invoked:
        told.append(invocation.agent)
        below = host_of(story, calls=invocation.calls)
        arguments = {"agent": chain[len(told)], "fragmentId": "pr-one"}
        result = await CORE["invokeAgent"].run(tool_call("1", "invokeAgent", arguments), below)
        again = await CORE["invokeAgent"].run(tool_call("1", "invokeAgent", {"agent": CHAT}), below)
        assert "is at work already" in again.value["error"]
        return Invoked(str(result.value.get("error") or result.value["output"]))

    output = invoke(host_of(story, deeper), chain[0])["output"]
    assert told == list(chain[:3])
    assert output.startswith("agents can't be nested deeper than 3: librarian.chat → directions.suggest →")


def test_not_more_than_twenty_times(story: StoryBuilder) -> None:
    host = host_of(story)
    for _ in range(MAX_CALLS):
        assert "output" in invoke(host, "directions.suggest")
    assert "20 agents have been invoked" in invoke(host, "directions.suggest")["error"]


def test_one_that_does_not_end_or_fails(story: StoryBuilder) -> None:
    async def sleep(invocation: Invocation) -> Invoked:
        await asyncio.sleep(60)
        raise AssertionError

    async def fail(invocation: Invocation) -> Invoked:
        raise StonehandError("no provider is set up")

    async def hang(invocation: Invocation) -> Invoked:
        raise TimeoutError("the provider did not answer")

    assert invoke(host_of(story, hang), "directions.suggest") == {
        "error": "invokeAgent failed: TimeoutError: the provider did not answer"
    }
    host = host_of(story, calls=replace(calls_of(CHAT, sleep), timeout=0.05))
    assert "was not done after 0.05 seconds" in invoke(host, "directions.suggest")["error"]
    assert invoke(host_of(story, fail), "directions.suggest") == {"error": "no provider is set up"}


def test_a_long_answer_is_cut(story: StoryBuilder) -> None:
    async def long(invocation: Invocation) -> Invoked:
        return Invoked("x" * (OUTPUT_LIMIT + 1))

    value = invoke(host_of(story, long), "directions.suggest")
    assert (len(value["output"]), value["outputCut"]) == (OUTPUT_LIMIT, True)


def test_a_run_that_can_not_invoke(story: StoryBuilder) -> None:
    assert "can't invoke" in invoke(Host(story.folder(), "main"), "directions.suggest")["error"]


def test_the_time_the_author_takes_is_not_the_agents(story: StoryBuilder) -> None:
    async def ask(invocation: Invocation) -> Invoked:
        with invocation.calls.unhurried():
            await asyncio.sleep(0.15)
        return Invoked("decided")

    async def ask_and_sleep(invocation: Invocation) -> Invoked:
        await ask(invocation)
        await asyncio.sleep(60)
        raise AssertionError

    host = host_of(story, calls=replace(calls_of(CHAT, ask), timeout=0.05))
    assert invoke(host, "directions.suggest")["output"] == "decided"
    host = host_of(story, calls=replace(calls_of(CHAT, ask_and_sleep), timeout=0.05))
    assert "was not done after 0.05 seconds" in invoke(host, "directions.suggest")["error"], "and goes on afterwards"
