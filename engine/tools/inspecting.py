"""`inspectRun`: what an earlier run was sent and what it did, from its log (spec, sections 1.10 and 10.7).

Only the fields named here are shown, cut to a bound, and what looks like a key is blotted out: a log is a file that
anything may have been written to.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Literal

from pydantic import Field

from engine.errors import NotFound, StonehandError, WrongInput
from engine.text import cut, utf16_length
from engine.tools.host import Host, RunLogs
from engine.tools.older import current_name, describe_call
from engine.tools.schema import ToolInput
from engine.tools.tool import Tool, ToolResult

Aspect = Literal["overview", "prompt", "tools", "brief", "output"]

TEXT_LIMIT: Final = 20_000
"""UTF-16 units of any one text."""
TOTAL_LIMIT: Final = 80_000
"""UTF-16 units of all texts of a result."""
CALLS_SHOWN: Final = 100
RUNS_NAMED: Final = 10
NEWEST: Final = ("", "last", "latest", "newest")
"""What else models write for the newest run."""

_SECRETS: Final = re.compile(
    r"(?i:(?P<name>\b(?:x-)?(?:api[-_]?key|authorization|access[-_]?token)[\"']?\s*[:=]\s*[\"']?(?:bearer\s+|basic\s+)?)"
    r"[^\s\"',;]{6,})"
    r"|(?i:\b(?:bearer|basic)\s+[a-z0-9._~+/=-]{16,})"
    r"|\b(?:sk|pk|rk|xai|gsk|hf|ghp|gho|pat|key|AIza)[-_]?[A-Za-z0-9_-]{20,}"
)


class InspectRun(ToolInput):
    runId: str | None = Field(None, description="The run's id, such as gen-mabc12; the newest run when left out.")
    fragmentId: str | None = Field(None, description="Instead of a run's id, the prose that the run wrote.")
    aspect: Aspect = Field(
        "overview",
        description="overview (figures and calls), prompt (what was sent), tools (its calls with arguments and "
        "results), brief (the prewriter's plan) or output (what it wrote and thought).",
    )


def redacted(text: str) -> str:
    """`text` with what looks like a key, a token or a password blotted out."""
    return _SECRETS.sub(lambda match: f"{match['name'] or ''}[redacted]", text)


def inspect_run(logs: RunLogs, given: InspectRun) -> dict[str, Any]:
    """One aspect of a run. Raises `NotFound` when there is no such run and `InvalidFile` for a log of no use."""
    log_id, log = _found(logs, given)
    shown = _Shown()
    run: dict[str, Any] = {"id": log_id}
    for key in ("createdAt", "fragmentId", "model", "durationMs", "stepCount", "finishReason", "stepsExceeded"):
        if isinstance(log.get(key), str | int | float | None):
            run[key] = shown.text(log[key]) if isinstance(log.get(key), str) else log.get(key)
    run["input"] = shown.text(log.get("input"))
    return {"run": run, **_ASPECTS[given.aspect](log, shown), **({"textsCut": True} if shown.was_cut else {})}


def _found(logs: RunLogs, given: InspectRun) -> tuple[str, Mapping[str, Any]]:
    """The id and the log of the run that is asked for."""
    if given.runId is None or given.runId in NEWEST:
        newest = _newest(logs, given.fragmentId)
        return newest, logs.read(newest)
    for run_id in (given.runId, f"gen-{given.runId}"):
        with suppress(NotFound, WrongInput):  # wrong: what could be no file's name
            return run_id, logs.read(run_id)
    known = ", ".join(entry.id for entry in itertools.islice(logs.list(), RUNS_NAMED))
    raise NotFound(
        f"there is no run {cut(given.runId, 100)}",
        repair=f"leave runId out for the newest; the newest first: {known}" if known else "there is no run yet",
    )


def _newest(logs: RunLogs, fragment_id: str | None) -> str:
    for entry in logs.list():
        if fragment_id is None or entry.fragment_id == fragment_id:
            return entry.id
    about = f" that wrote {cut(fragment_id, 100)}" if fragment_id is not None else ""
    raise NotFound(f"there is no earlier run{about}")


class _Shown:
    """Cuts and blots out texts, keeping account of how much has been shown."""

    def __init__(self) -> None:
        self._room = TOTAL_LIMIT
        self.was_cut = False

    def text(self, value: Any) -> str:
        text = value if isinstance(value, str) else ""
        # A little more than is shown, so that a key at the cut is still seen to be one.
        head = cut(text, TEXT_LIMIT + 500)
        clean = redacted(head)
        shown = cut(clean, min(TEXT_LIMIT, self._room))
        self._room -= utf16_length(shown)
        self.was_cut = self.was_cut or len(head) < len(text) or len(shown) < len(clean)
        return shown

    def value(self, value: Any, depth: int = 0) -> Any:
        """A JSON value with its texts shown like any other."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth >= 6:
            return "…"
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(item, depth + 1) for key, item in list(value.items())[:100]}
        if isinstance(value, list | tuple):
            return [self.value(item, depth + 1) for item in value[:100]]
        return "…"


def _overview(log: Mapping[str, Any], shown: _Shown) -> dict[str, Any]:
    usage = log.get("totalUsage")
    calls = [shown.text(describe_call(*_call(item))) for item in _calls(log)]
    value: dict[str, Any] = {"calls": calls}
    if isinstance(usage, Mapping):
        value["usage"] = {key: usage[key] for key in ("inputTokens", "outputTokens") if key in usage}
    return value


def _prompt(log: Mapping[str, Any], shown: _Shown) -> dict[str, Any]:
    messages = log.get("messages")
    return {
        "messages": [
            {"role": shown.text(item.get("role")), "content": shown.text(item.get("content"))}
            for item in (messages if isinstance(messages, list) else ())[:100]
            if isinstance(item, Mapping)
        ]
    }


def _tools(log: Mapping[str, Any], shown: _Shown) -> dict[str, Any]:
    calls = []
    for item in _calls(log):
        name, arguments, result = _call(item)
        calls.append(
            {
                "toolName": shown.text(current_name(name)),
                "did": shown.text(describe_call(name, arguments, result)),
                "args": shown.value(arguments),
                "result": shown.value(result),
            }
        )
    return {"toolCalls": calls}


def _brief(log: Mapping[str, Any], shown: _Shown) -> dict[str, Any]:
    keys = ("prewriterBrief", "prewriterReasoning", "prewriterModel")
    value: dict[str, Any] = {key: shown.text(log[key]) for key in keys if isinstance(log.get(key), str)}
    if not value.get("prewriterBrief"):
        return {**value, "note": "The run had no brief: it was made without the prewriter."}
    if isinstance(log.get("prewriterDirections"), list):
        value["prewriterDirections"] = shown.value(log["prewriterDirections"])
    return value


def _output(log: Mapping[str, Any], shown: _Shown) -> dict[str, Any]:
    value = {"generatedText": shown.text(log.get("generatedText"))}
    return {**value, "reasoning": shown.text(log["reasoning"])} if isinstance(log.get("reasoning"), str) else value


def _calls(log: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    both = [log.get("prewriterToolCalls"), log.get("toolCalls")]
    calls = [item for part in both if isinstance(part, list) for item in part if isinstance(item, Mapping)]
    return calls[:CALLS_SHOWN]


def _call(item: Mapping[str, Any]) -> tuple[str, Any, Any]:
    name = item.get("toolName")
    return (name if isinstance(name, str) else "", item.get("args"), item.get("result"))


_ASPECTS: Final = {"overview": _overview, "prompt": _prompt, "tools": _tools, "brief": _brief, "output": _output}


def _inspect(given: InspectRun, host: Host) -> ToolResult:
    if host.logs is None:
        raise StonehandError("this run can't look at earlier ones")
    return ToolResult(inspect_run(host.logs, given))


INSPECT_RUN: Final = Tool("inspectRun", InspectRun, _inspect)
