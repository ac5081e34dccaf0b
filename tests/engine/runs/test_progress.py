"""Progress of one call: what is told, and how often."""

from __future__ import annotations

from engine.models.wire.base import ChatMessage, Failure, Request, Start, Stop, Text, Thinking, Usage
from engine.models.wire.events import Retry, ToolArgs, ToolStart
from engine.runs.progress import CallProgress, Progress, TurnTotals, estimate_of, rough_tokens, target_of


class Followed:
    """One call after another, followed by a clock that stands until it is moved."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.told: list[Progress] = []
        self.totals = TurnTotals(1_000_000)
        self.call = self.next()

    def next(self) -> CallProgress:
        request = Request((ChatMessage("user", "abcd" * 10),), "m")
        self.call = CallProgress(request, self.totals.calls + 1, self.totals, self.told.append, lambda: self.time, "p")
        self.call.begin()
        return self.call

    @property
    def phases(self) -> list[str]:
        return [progress.phase for progress in self.told]


def test_at_most_four_a_second_in_one_phase() -> None:
    seen = Followed()
    for _ in range(20):
        seen.call.add(Text("word"))
        seen.time += 0.05
    seen.call.add(Stop("end_turn", "stop"))
    assert seen.phases == ["waiting", "text", *["text"] * 3, "done"]
    assert (seen.told[-1].out_chars, seen.told[-1].stop_reason, seen.told[-1].at) == (80, "end_turn", 1_001_000)


def test_a_change_of_phase_or_tool_is_told_at_once_and_silence_is_not() -> None:
    seen = Followed()
    for event in (Thinking("hm"), Text("so"), ToolStart(0, "a", "one"), ToolStart(1, "b", "two")):
        seen.call.add(event)
    seen.time += 10
    assert seen.phases == ["waiting", "thinking", "text", "tool", "tool"]
    assert [progress.tool for progress in seen.told[3:]] == ["one", "two"]


def test_the_target_is_known_once_it_is_whole() -> None:
    seen = Followed()
    seen.call.add(ToolStart(0, "a", "readFragments"))
    seen.time += 1
    seen.call.add(ToolArgs(0, '{"fragmentIds":["kn-'))
    seen.time += 1
    seen.call.add(ToolArgs(0, 'mirafa"'))
    assert [progress.target for progress in seen.told[-2:]] == [None, "kn-mirafa"]
    assert target_of('{"path":"a\\u0062"}') == "ab" and target_of('{"path":1}') is None
    assert target_of('{"x":"' + "y" * 400 + '","path":"late"}') is None


def test_tokens_are_estimated_until_they_are_reported() -> None:
    seen = Followed()
    assert rough_tokens("abcd" * 100 + "字" * 50) == 150
    seen.call.add(Text("abcd" * 100 + "字" * 50))
    assert (seen.told[-1].out_tokens_estimate, seen.told[-1].in_tokens, seen.told[-1].in_estimated) == (150, 10, True)
    seen.call.add(Usage(1000, 1, 900, 90))
    seen.call.add(Thinking("x"))
    detail = {"input": 10, "cacheRead": 900, "cacheWrite": 90}
    assert (seen.told[-1].in_tokens, seen.told[-1].in_estimated, seen.told[-1].in_detail) == (1000, False, detail)
    seen.call.add(Usage(1000, 42, 900, 90))
    seen.call.add(Stop("end_turn"))
    assert seen.told[-1].out_tokens == 42
    assert seen.told[-1].as_json()["usage"]["cachedTokens"] == 900


def test_a_turn_sums_its_calls() -> None:
    seen = Followed()
    seen.call.add(Usage(200, 100))
    seen.call.add(Stop("tool_use"))
    seen.next()
    seen.call.add(Usage(300, 50))
    seen.call.add(Stop("end_turn"))
    assert seen.told[-1].turn == {"startedAt": 1_000_000, "calls": 2, "outTokens": 150, "inTokens": 500}
    assert (seen.told[-1].step, seen.totals.calls) == (2, 2)


def test_failures_retries_and_stops() -> None:
    seen = Followed()
    seen.call.add(Retry(Failure("overloaded", "busy"), 1.0, 1))
    seen.call.add(Start("m-2"))
    seen.call.add(Failure("upstream", "gone"))
    seen.call.close()
    assert seen.phases == ["waiting", "waiting", "error"]
    assert (seen.told[-1].error, seen.told[-1].model, seen.told[-1].answered_by) == ("gone", "m", "m-2")
    seen.next()
    seen.call.close()
    assert seen.told[-1].error == "stopped" and seen.totals.calls == 2


def test_tools_count_in_the_estimate() -> None:
    from engine.models.wire.parts import Tool

    bare = Request((ChatMessage("user", "x"),), "m")
    with_tools = Request(bare.messages, "m", tools=(Tool("t", "d" * 400, {"type": "object"}),))
    assert estimate_of(with_tools) > estimate_of(bare) + 100
