"""Generation logs: what was really sent and what came back (spec, section 1.10)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import disk
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
    }
    if thoughts:
        log["reasoning"] = thoughts
    if view.phase == "stopped":
        log["stopped"] = True
    return log


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
