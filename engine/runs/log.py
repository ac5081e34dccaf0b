"""Generation logs: what was really sent and what came back (spec, section 1.10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine import disk
from engine.agents import WRITER
from engine.blocks.compile import Message
from engine.errors import InvalidFile, NotFound, StonehandError
from engine.prompt import Prompt
from engine.runs.run import RunView

# The reference writes its SDK's words for why a generation ended.
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "refusal": "content-filter",
    "error": "error",
}

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


def generation_log(prompt: Prompt, view: RunView, created_at: str, thoughts: str = "") -> dict[str, Any]:
    """The log of a finished run, without `id` and `fragmentId`, which saving gives it."""
    log: dict[str, Any] = {
        "createdAt": created_at,
        "input": prompt.input,
        "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
        "toolCalls": [],
        "generatedText": view.text,
        "model": view.model,
        "durationMs": round(view.seconds * 1000),
        "stepCount": 1,
        "finishReason": _FINISH.get(view.finish, "other"),
        "stepsExceeded": False,
        "totalUsage": {"inputTokens": view.input_tokens, "outputTokens": view.output_tokens},
        OWN_KEY: {"agent": prompt.agent, "blocks": [_spans(message) for message in prompt.messages]},
    }
    if thoughts:
        log["reasoning"] = thoughts
    if view.phase == "stopped":
        log["stopped"] = True
    return log


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


def logged_blocks(log: Mapping[str, Any]) -> tuple[LoggedBlock, ...] | None:
    """The blocks of the prompt in a log; None where it does not say them, or says what can't be."""
    own, messages = log.get(OWN_KEY), log.get("messages")
    spans = own.get("blocks") if isinstance(own, Mapping) else None
    if not isinstance(spans, list) or not isinstance(messages, list) or len(spans) != len(messages):
        return None
    found: list[LoggedBlock] = []
    try:
        for message, blocks in zip(messages, spans, strict=True):
            role, content, at = message["role"], message["content"], 0
            for block in blocks:
                start, middle, end = block["start"], block["contentStart"], block["contentEnd"]
                if not at <= start <= middle <= end <= len(content) or not isinstance(block["id"], str):
                    return None
                found.append(
                    LoggedBlock(block["id"], str(block["name"]), role, content[middle:end], content[start:end])
                )
                at = end
    except (KeyError, TypeError):
        return None
    return tuple(found)


def last_log(content_root: Path, agent: str) -> Mapping[str, Any] | None:
    """The newest log of what an agent of this branch was sent; one that names no agent is the writer's."""
    for listed in list_logs(content_root):
        log = read_log(content_root, listed["id"])
        own = log.get(OWN_KEY)
        if (own.get("agent", WRITER) if isinstance(own, Mapping) else WRITER) == agent:
            return log
    return None


def list_logs(content_root: Path) -> list[dict[str, Any]]:
    """The logs of a branch as the reference lists them, newest first; files that are no logs are passed over."""
    folder = content_root / "generation-logs"
    found = []
    for path in sorted(folder.glob("gen-*.json")) if folder.is_dir() else ():
        try:
            log = disk.read_json(path)
        except StonehandError:
            continue
        if isinstance(log, Mapping) and isinstance(log.get("createdAt"), str):
            keys = ("createdAt", "input", "fragmentId", "model", "durationMs")
            calls = log.get("toolCalls")
            found.append(
                {
                    "id": path.stem,
                    **{key: log.get(key) for key in keys},
                    "toolCallCount": len(calls) if isinstance(calls, list) else 0,
                    "stepCount": log.get("stepCount", 1),
                    "stepsExceeded": log.get("stepsExceeded", False),
                }
            )
    return sorted(found, key=lambda log: str(log["createdAt"]), reverse=True)


def read_log(content_root: Path, log_id: str) -> Mapping[str, Any]:
    """One log, whole. Raises `NotFound` and `InvalidFile`."""
    path = disk.child(content_root, "generation-logs", f"{log_id}.json")
    log = disk.read_json(path)
    if log is None:
        raise NotFound(f"there is no generation log {log_id}", file=path)
    if not isinstance(log, Mapping):
        raise InvalidFile("a generation log must be an object", file=path)
    return log
