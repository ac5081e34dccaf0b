"""A run once more, step by step, from its log: nothing is sent and nothing is written.

A step is an event as the reference streams it (spec context-blocks, 10.4), with its fields under the same names. A log
keeps no times, so that what happened comes in the order it must have happened in: the prewriter's reasoning, calls and
brief, then the writer's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from engine.models.wire.pacing import WORDS_PER_SECOND, pieces_of
from engine.runs.details import LoggedCall, RunDetail

TEXTS: Final = ("text", "reasoning", "prewriter-text")
"""The types of steps that are pieces of a text."""


CLARIFY: Final = "clarify"
"""Why a run ends whose prewriter asked the author."""

_CALL_WORDS: Final = 6
"""Words whose time a call takes."""


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One event: its type, `text` where it is a piece of one, `call` where a tool is called or gives its result, `data`
    with all its fields.
    """

    type: str
    data: dict[str, Any]
    text: str = ""
    call: LoggedCall | None = None


def replay_steps(detail: RunDetail) -> Iterator[ReplayStep]:
    """The events of a run, in order; texts come in pieces of about a word."""
    planned = [call for call in detail.calls if call.planning]
    number = 0
    if detail.brief or detail.brief_reasoning or planned:
        yield _step("phase", phase="prewriting")
        yield from _texts("reasoning", detail.brief_reasoning)
        for call in planned:
            yield from _called(call, number)
            number += 1
        yield from _texts("prewriter-text", detail.brief)
        if proposals := detail.log.get("prewriterDirections"):
            yield _step("prewriter-directions", directions=proposals)
        if asked := detail.clarify:
            yield _step("clarify-questions", **asked)
        if detail.record.finish != CLARIFY:
            yield _step("phase", phase="writing")
    yield from _texts("reasoning", detail.reasoning)
    for call in detail.calls:
        if not call.planning:
            yield from _called(call, number)
            number += 1
    yield from _texts("text", detail.answer)
    if detail.error:
        yield _step("error", **{str(key): value for key, value in detail.error.items() if key != "type"})
    end: dict[str, Any] = {"finishReason": detail.record.finish or "unknown", "stepCount": detail.record.steps}
    yield _step("finish", **end, **({"stopped": True} if detail.record.stopped else {}))


def pause_before(step: ReplayStep, words_per_second: float | None = None) -> float:
    """Seconds until a step, at a pace of so many words a second (None: the usual one, 0: at once): a word takes a
    word's time, a call that of several.
    """
    pace = WORDS_PER_SECOND if words_per_second is None else words_per_second
    words = any(map(str.isalnum, step.text)) if step.type in TEXTS else _CALL_WORDS * (step.type == "tool-result")
    return words / pace if pace else 0.0


def _called(call: LoggedCall, number: int) -> Iterator[ReplayStep]:
    named = {"id": f"call-{number + 1}", "toolName": call.logged_name}
    yield ReplayStep("tool-call", {"type": "tool-call", **named, "args": call.arguments}, call=call)
    yield ReplayStep("tool-result", {"type": "tool-result", **named, "result": call.result}, call=call)


def _texts(kind: str, text: str) -> Iterator[ReplayStep]:
    for piece in pieces_of(text):
        yield ReplayStep(kind, {"type": kind, "text": piece}, piece)


def _step(kind: str, /, **fields: Any) -> ReplayStep:
    return ReplayStep(kind, {"type": kind, **fields})
