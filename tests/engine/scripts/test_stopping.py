"""Stopping: exactly the evaluation that was meant, running or queued, from threads and from an event loop."""

import asyncio
import threading
import time
from concurrent.futures import CancelledError, Future

import pytest

from engine.scripts import Limits, Outcome, ScriptEngine

LONG = Limits(seconds=30)


class Started:
    """A ctx function that tells when its script runs."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.functions = {"started": self}

    def __call__(self) -> None:
        self.event.set()

    def wait(self) -> None:
        assert self.event.wait(10)


def endless(engine: ScriptEngine) -> Future[Outcome]:
    """An evaluation that never ends by itself and runs now."""
    started = Started()
    future = engine.submit("await ctx.started(); for (;;) {}", {}, started.functions, LONG)
    started.wait()
    return future


def test_cancel_stops_the_one_in_progress(engine: ScriptEngine) -> None:
    running, queued = endless(engine), engine.submit("return 'next'", {}, {})
    engine.cancel()
    outcome = running.result(10)
    assert (outcome.kind, outcome.message) == ("cancelled", "stopped")
    assert queued.result(10).text == "next"
    engine.cancel()  # nothing runs: nothing is stopped
    assert engine.evaluate("return 'after'", {}, {}).text == "after"


def test_cancelling_a_running_future_stops_it_alone(engine: ScriptEngine) -> None:
    first, second, third = endless(engine), engine.submit("return 'b'", {}, {}), engine.submit("return 'c'", {}, {})
    assert first.cancel() is False
    assert first.result(10).kind == "cancelled"
    assert (second.result(10).text, third.result(10).text) == ("b", "c")
    assert first.cancel() is second.cancel() is False  # done: too late, and harmless


def test_cancelling_a_queued_future_drops_it_and_nothing_else(engine: ScriptEngine) -> None:
    touched: list[str] = []
    running = endless(engine)
    dropped = engine.submit("await ctx.touch(); return 'x'", {}, {"touch": lambda: touched.append("x")})
    behind = engine.submit("return 'behind'", {}, {})
    assert dropped.cancel() is True
    with pytest.raises(CancelledError):
        dropped.result(10)
    assert not running.done()
    running.cancel()
    assert running.result(10).kind == "cancelled"
    assert behind.result(10).text == "behind"
    assert touched == []


def test_a_stop_never_reaches_a_neighbour(engine: ScriptEngine) -> None:
    # Cancelled at every moment of its life, each evaluation is followed by one that must be left alone.
    for turn in range(60):
        victim = engine.submit("let n = 0; for (let i = 0; i < 3e4; i++) n += i; return 'v'", {}, {}, LONG)
        neighbour = engine.submit("let n = 0; for (let i = 0; i < 1e4; i++) n += i; return 'n'", {}, {}, LONG)
        time.sleep(turn * 0.0002)
        victim.cancel()
        assert neighbour.result(10).text == "n"
        if not victim.cancelled():
            assert victim.result(10).kind in ("ok", "cancelled")


def test_a_stop_that_comes_before_the_engine_is_loaded_counts() -> None:
    engine = ScriptEngine()
    future = engine.submit("for (;;) {}", {}, {}, LONG)
    deadline = time.monotonic() + 10
    while not future.running() and time.monotonic() < deadline:
        time.sleep(0)
    future.cancel()
    assert future.result(10).kind == "cancelled"
    assert engine.evaluate("return 'next'", {}, {}).text == "next"
    engine.close()


async def test_cancelling_a_task_stops_its_evaluation(engine: ScriptEngine) -> None:
    started = Started()
    task = asyncio.create_task(engine.run("await ctx.started(); for (;;) {}", {}, started.functions, LONG))
    queued = asyncio.create_task(engine.run("for (;;) {}", {}, {}, LONG))
    last = asyncio.create_task(engine.run("return 'last'", {}, {}, LONG))
    await asyncio.to_thread(started.wait)
    for stopped in (queued, task):
        stopped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopped
    assert (await asyncio.wait_for(last, 10)).text == "last"


async def test_the_loop_runs_on_while_a_script_does(engine: ScriptEngine) -> None:
    task = asyncio.create_task(engine.run("for (;;) {}", {}, {}, Limits(seconds=0.3)))
    turns = 0
    while not task.done():
        await asyncio.sleep(0.005)
        turns += 1
    assert task.result().kind == "timeout"
    assert turns > 5


def test_evaluations_are_serial_and_right_from_many_threads(engine: ScriptEngine) -> None:
    results: dict[int, str] = {}

    def work(number: int) -> None:
        fields = {"n": [str(number)]}
        results[number] = engine.evaluate("return String(ctx.n * 2)", fields, {}, LONG).text

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == {number: str(number * 2) for number in range(12)}


def test_a_host_function_cannot_wait_for_another_script(engine: ScriptEngine) -> None:
    outcome = engine.evaluate(
        "await ctx.nested()", {}, {"nested": lambda: engine.evaluate("return 'x'", {}, {}).text}, LONG
    )
    assert outcome.message == "ctx.nested failed (RuntimeError)"


def test_close_ends_everything() -> None:
    engine = ScriptEngine()
    running, queued = endless(engine), engine.submit("return 'x'", {}, {})
    engine.close()
    assert running.result(10).kind == "cancelled"
    assert queued.result(10).kind == "cancelled"
    late = engine.evaluate("return 'x'", {}, {})
    assert (late.kind, late.message) == ("engine", "the script engine is closed")
    assert engine.warm() == "the script engine is closed"
    engine.close()
