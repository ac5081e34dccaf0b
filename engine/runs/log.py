"""Generation logs: what was really sent and what came back (spec, section 1.10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine import disk
from engine.agents import WRITER
from engine.blocks.compile import Message
from engine.errors import InvalidFile, NotFound
from engine.models.wire.base import Usage
from engine.text import Phrase

if TYPE_CHECKING:
    from engine.runs.run import Run
    from engine.runs.turn import Turn
    from engine.runs.view import CallView

OWN_KEY: Final = "stonehand"
"""The key of a log under which stands what the reference's logs do not say: the agent, and the blocks by message."""


@dataclass(frozen=True, slots=True)
class LoggedBlock:
    """A block as it was sent: `content` without its marker line, `marked` with it."""

    id: str
    name: str
    role: str
    content: str
    marked: str


def generation_log(run: Run, created_at: str) -> dict[str, Any]:
    """The log of a finished run of any agent, without `id` and `fragmentId`, which writing and saving give it.

    What the reference's logs have no field for stands under `OWN_KEY`, and never a key or an address.
    """
    from engine.runs.events import ErrorEvent
    from engine.runs.progress import usage_document

    view, turn, planner = run.view(), run.turn, run.planner
    prompt = run.prompt
    wrote = turn.sent or planner is None
    usage, estimated = turn.tokens(over=True) if wrote else (Usage(0, 0), False)
    messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
    messages += [{"role": message.role, "content": message.content} for message in turn.setup.history]
    log: dict[str, Any] = {
        "createdAt": created_at,
        "input": run.input,
        "messages": messages if wrote else [],
        "toolCalls": _calls(turn.calls),
        "generatedText": view.text,
        "model": view.model,
        "durationMs": round(view.seconds * 1000),
        "stepCount": run.steps,
        "finishReason": run.finish_reason,
        "stepsExceeded": turn.exceeded,
        "totalUsage": {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens},
    }
    own: dict[str, Any] = {
        "agent": prompt.agent,
        "blocks": [*(_spans(message) for message in prompt.messages), *([] for _ in turn.setup.history)]
        if wrote
        else [],
        "mode": run.mode,
        **_own(turn),
        "usage": usage_document(usage),
        "estimated": estimated,
    }
    if run.target:
        own["target"] = run.target
    if thoughts := run.thoughts:
        log["reasoning"] = thoughts
    if view.phase == "stopped":
        log["stopped"] = True
    if planner is not None:
        log |= _planning(planner, run)
        own["prewriter"] = _own(planner)
    elif view.brief:
        log["prewriterBrief"] = view.brief
    if view.warnings:
        own["warnings"] = list(view.warnings)
    if view.error is not None:
        own["error"] = {key: value for key, value in ErrorEvent(view.error).as_json().items() if key != "type"}
    if view.answered_by:
        own["answeredBy"] = view.answered_by
    if view.questions:
        own["clarify"] = {"questions": [item.document() for item in view.questions], "round": run.clarify_round}
    if run.analysis_id:
        own["analysisId"] = run.analysis_id
    log[OWN_KEY] = own
    return log


def _own(turn: Turn) -> dict[str, Any]:
    """What is told of a turn beyond the reference's fields."""
    setup = turn.setup
    fields: dict[str, Any] = {
        "provider": setup.wire.name,
        "answeredBy": turn.answered_by,
        "configHash": setup.config_hash,
        "requestHashes": list(turn.hashes),
        "requestIds": list(turn.request_ids),
        "retries": [{"reason": retry.reason, "seconds": round(retry.seconds, 3)} for retry in turn.retries],
        "tools": [tool.name for tool in setup.tools],
    }
    return {key: value for key, value in fields.items() if value}


def _planning(planner: Turn, run: Run) -> dict[str, Any]:
    """The prewriter's part of a log."""
    usage, _ = planner.tokens(over=True)
    view = run.view()
    fields: dict[str, Any] = {
        "prewriterBrief": view.brief,
        "prewriterReasoning": view.brief_thoughts,
        "prewriterMessages": [
            {"role": message.role, "content": message.content} for message in planner.setup.prompt.messages
        ],
        "prewriterDurationMs": round(run.planning_seconds * 1000),
        "prewriterModel": planner.model,
        "prewriterUsage": {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens},
        "prewriterToolCalls": _calls(planner.calls),
    }
    collected = planner.collected
    if collected is not None and collected.directions:
        fields["prewriterDirections"] = [direction.document() for direction in collected.directions]
    return {key: value for key, value in fields.items() if value not in ("", [], None)}


def _calls(calls: Iterable[CallView]) -> list[dict[str, Any]]:
    return [{"toolName": call.name, "args": call.arguments, "result": call.result} for call in calls]


def _spans(message: Message) -> list[dict[str, Any]]:
    """The blocks of a message, by characters (Unicode code points) of its content."""
    return [
        {
            "id": span.block.id,
            "name": span.block.name or span.block.id,
            "start": span.start,
            "contentStart": span.content_start,
            "contentEnd": span.content_end,
        }
        for span in message.spans
    ]


@dataclass(frozen=True, slots=True)
class LoggedSpan:
    """Where a block stands in its message: see `engine.blocks.compile.Span`."""

    id: str
    name: str
    start: int
    content_start: int
    content_end: int
    end: int

    @property
    def places(self) -> tuple[int, int, int, int]:
        return self.start, self.content_start, self.content_end, self.end


def logged_spans(log: Mapping[str, Any]) -> tuple[tuple[LoggedSpan, ...], ...] | None:
    """The blocks of each message in a log; None where it does not say them, or says what can't be."""
    own, messages = log.get(OWN_KEY), log.get("messages")
    spans = own.get("blocks") if isinstance(own, Mapping) else None
    if not isinstance(spans, list) or not isinstance(messages, list) or len(spans) != len(messages):
        return None
    found: list[tuple[LoggedSpan, ...]] = []
    try:
        for message, blocks in zip(messages, spans, strict=True):
            role, content, at = message["role"], message["content"], 0
            if not isinstance(role, str) or not isinstance(content, str):
                return None
            places: list[tuple[str, str, int, int, int]] = []
            for block in blocks:
                start, middle, end = block["start"], block["contentStart"], block["contentEnd"]
                if not at <= start <= middle <= end <= len(content) or not isinstance(block["id"], str):
                    return None
                if not all(isinstance(place, int) for place in (start, middle, end)):
                    return None
                places.append((block["id"], str(block["name"]), start, middle, end))
                at = end
            ends = [*(place[2] for place in places[1:]), len(content)]
            found.append(tuple(LoggedSpan(*place, end) for place, end in zip(places, ends, strict=False)))
    except (KeyError, TypeError):
        return None
    return tuple(found)


def logged_blocks(log: Mapping[str, Any]) -> tuple[LoggedBlock, ...] | None:
    """The blocks of the prompt in a log; None where it does not say them, or says what can't be."""
    spans = logged_spans(log)
    if spans is None:
        return None
    return tuple(
        LoggedBlock(
            span.id,
            span.name,
            message["role"],
            message["content"][span.content_start : span.content_end],
            message["content"][span.start : span.content_end],
        )
        for message, blocks in zip(log["messages"], spans, strict=True)
        for span in blocks
    )


def agent_of(log: Mapping[str, Any]) -> str:
    """The agent a log is of; the reference logs the writer's runs and names none."""
    own = log.get(OWN_KEY)
    name = own.get("agent") if isinstance(own, Mapping) else None
    return name if isinstance(name, str) and name else WRITER


def read_log(content_root: Path, log_id: str) -> Mapping[str, Any]:
    """One log, whole. Raises `NotFound` and `InvalidFile`."""
    path = disk.child(content_root, "generation-logs", f"{log_id}.json")
    log = disk.read_json(path)
    if log is None:
        raise NotFound(Phrase("there is no generation log {log_id}", log_id=log_id), file=path)
    if not isinstance(log, Mapping):
        raise InvalidFile("a generation log must be an object", file=path)
    return log
