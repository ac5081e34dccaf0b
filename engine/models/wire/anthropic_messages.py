"""Anthropic's Messages API: the body of a request, the events of an answer. Pure.

Source: spec provider-wire, C3.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from engine.models.wire.base import ChatMessage, Effort, Request, Start, Stop, StopReason, Text, Thinking, Usage, Warned
from engine.models.wire.conversation import answered, with_system
from engine.models.wire.documents import read_json
from engine.models.wire.events import Event, Opaque, Signature, ToolArgs, ToolEnd, ToolStart
from engine.models.wire.failures import failure_of_payload, malformed, truncated
from engine.models.wire.parameters import NO_FIELDS, Prepared, choose_parameters
from engine.models.wire.parsing import Parser, read_usage, split_at
from engine.models.wire.parts import ForcedTool, OpaquePart, TextPart, ThinkingPart, ToolCall
from engine.models.wire.profiles import Profile
from engine.models.wire.shaping import shape
from engine.models.wire.sse import STRAY, ServerEvent
from engine.text import Phrase

FORMAT: Final = "anthropic"
"""The format of its blocks that are sent back as they came."""
BREAKPOINTS: Final = 4
LEAST_BUDGET: Final = 1024
BUDGETS: Final[Mapping[Effort, int]] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 32_768,
}
"""Tokens of thinking for an effort, for models that take a number of tokens."""

_REASONS: Mapping[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}
_EPHEMERAL: Final = {"type": "ephemeral"}


# --- the body ------------------------------------------------------------------------------------------------------


def build(request: Request, profile: Profile, without: Collection[str] = NO_FIELDS) -> Prepared:
    """The body of a request. `without` are fields, by the provider's names, that this model was found to refuse."""
    chosen = choose_parameters(request, profile, without)
    warnings = list(chosen.warnings)
    values = chosen.values
    limit = values.get("max_output_tokens") or profile.max_output_default
    body: dict[str, Any] = {"model": request.model, "max_tokens": limit, "stream": True}
    thinking = _thinking(chosen.effort, profile, limit, warnings)
    caching = request.cache and profile.cache == "breakpoints" and "cache_control" not in without
    system, messages = _messages(request, profile, caching, warnings)
    if system:
        body["system"] = system
    body["messages"] = messages
    for parameter, value in values.items():
        if parameter in ("max_output_tokens", "parallel_tool_calls"):
            continue
        if parameter == "tools":
            body["tools"] = [
                {"name": t.name, "description": t.description, "input_schema": t.parameters} for t in value
            ]
        elif parameter == "tool_choice":
            kind = thinking.get("thinking", {}).get("type", "adaptive" if profile.thinks_by_default else "disabled")
            body["tool_choice"] = _choice(value, kind != "disabled", warnings)
        else:
            body[profile.name_of(parameter)] = list(value) if isinstance(value, tuple) else value
    if values.get("parallel_tool_calls") is False and "tools" in body:
        body["tool_choice"] = {**body.get("tool_choice", {"type": "auto"}), "disable_parallel_tool_use": True}
    body |= thinking
    body |= profile.extra_body
    return Prepared({key: value for key, value in body.items() if key not in without}, tuple(warnings))


def _thinking(effort: Effort | None, profile: Profile, limit: int, warnings: list[Warned]) -> dict[str, Any]:
    if effort is None:
        return {}
    if profile.reasoning == "adaptive":
        if effort == "none":
            # Some that don't think unless they are asked refuse to be told not to.
            return {"thinking": {"type": "disabled"}} if profile.thinks_by_default else {}
        # Without it some models show their reasoning and others don't.
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}
    if effort == "none":
        return {}
    if limit <= LEAST_BUDGET:
        warnings.append(
            Warned(
                Phrase("it does not think: an answer of {limit} tokens has no room for it", limit=limit), "reasoning"
            )
        )
        return {}
    budget = min(BUDGETS[effort], max(LEAST_BUDGET, limit // 2))
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _choice(wanted: Any, thinks: bool, warnings: list[Warned]) -> dict[str, Any]:
    if thinks and (isinstance(wanted, ForcedTool) or wanted == "required"):
        warnings.append(Warned("tool_choice was left to the model: it can't be forced while it thinks", "tool_choice"))
        return {"type": "auto"}
    if isinstance(wanted, ForcedTool):
        return {"type": "tool", "name": wanted.name}
    return {"type": "any" if wanted == "required" else str(wanted)}


def _messages(
    request: Request, profile: Profile, caching: bool, warnings: list[Warned]
) -> tuple[str | list[dict[str, Any]], list[dict[str, Any]]]:
    """The system field and the messages: roles by turns, results of tools first, at most four breakpoints."""
    shaped = with_system(shape(answered(request.messages), profile.shaping, profile.placeholder), "system", "user")
    leading = [message for message in shaped if message.role == "system"]
    rest = [message for message in shaped if message.role != "system"]
    if not profile.prefill and rest and rest[-1].role == "assistant" and not rest[-1].calls:
        rest.append(ChatMessage("user", profile.placeholder))
        warnings.append(Warned("a user's message was put last: this model does not go on with an answer of its own"))
    system = [block for message in leading for block in _text_blocks(message, caching)]
    messages: list[dict[str, Any]] = []
    for message in rest:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, profile, caching)
        if not blocks:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": profile.placeholder}]})
    if caching:
        _set_breakpoints(system, messages)
    return (system if caching else "\n\n".join(block["text"] for block in system)), messages


def _set_breakpoints(system: list[dict[str, Any]], messages: list[dict[str, Any]]) -> None:
    """Turn the marks of `_text_blocks` into breakpoints: the end of the system message always, that of a conversation
    in progress, and the last of those asked for.
    """
    blocks = [block for message in messages for block in message["content"]]
    asked = [block for block in (*system, *blocks) if block.pop(_MARK, False)]
    chosen = [block for block in asked if not (system and block is system[-1])]
    if any(message["role"] == "assistant" for message in messages):
        last = next((b for b in reversed(blocks) if b["type"] in ("text", "tool_result", "tool_use")), None)
        if last is not None and all(block is not last for block in chosen):
            chosen.append(last)
    room = BREAKPOINTS - bool(system)
    for block in (*system[-1:], *chosen[-room:]):
        block["cache_control"] = _EPHEMERAL


_MARK: Final = "_breakpoint"


def _text_blocks(message: ChatMessage, caching: bool) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": text} | ({_MARK: True} if cached else {})
        for text, cached in split_at(message.content, message.breakpoints if caching else ())
    ]


def _blocks(message: ChatMessage, profile: Profile, caching: bool) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": message.content}]
    if message.role != "assistant":
        return _text_blocks(message, caching)
    replays = profile.replay_reasoning == "thinking_blocks"
    found: list[dict[str, Any]] = []
    for part in message.in_parts():
        if isinstance(part, TextPart):
            if part.text.strip():
                found.append({"type": "text", "text": part.text})
        elif isinstance(part, ToolCall):
            found.append({"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part)})
        elif isinstance(part, ThinkingPart):
            if replays and part.signature:
                found.append({"type": "thinking", "thinking": part.text, "signature": part.signature})
        elif replays and part.format == FORMAT:
            found.append(dict(part.data))
    return found


def _input(call: ToolCall) -> dict[str, Any]:
    """The arguments as the object the API wants; what is none, as the model wrote it, under a key of its own."""
    try:
        found = read_json(call.arguments or "{}")
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"_malformed": call.arguments}


# --- the answer ----------------------------------------------------------------------------------------------------


class MessagesParser(Parser):
    """The events of one streamed answer."""

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self._profile = profile
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, Any] = {}
        self._reported: Usage | None = None
        self._reason = ""
        self._detail = ""
        self._begun = False

    def whole(self, document: Any) -> list[Event]:
        """The events of an answer that came in one piece although a stream was asked for."""
        content = document.get("content") if isinstance(document, Mapping) else None
        if not isinstance(content, list) or not isinstance(document, Mapping):
            return self._failed(failure_of_payload(document))
        events = self._payload({"type": "message_start", "message": document})
        for index, block in enumerate(content):
            if not isinstance(block, Mapping):
                continue
            events += self._payload({"type": "content_block_start", "index": index, "content_block": block})
            events += self._payload({"type": "content_block_stop", "index": index})
        events += self._payload({"type": "message_delta", "delta": document, "usage": document.get("usage")})
        return events + self._finished()

    def read(self, event: ServerEvent) -> list[Event]:
        try:
            document = read_json(event.data)
        except ValueError:
            if event.name == "error":
                return self._failed(failure_of_payload(event.data))
            return self._failed(truncated() if self.ending and event.name != STRAY else malformed(event.data))
        if not isinstance(document, Mapping):
            return []
        if event.name == STRAY and document.get("type") == "message":
            return self.whole(document)
        if "type" not in document:
            document = {**document, "type": event.name}
        if document["type"] in ("error", STRAY) or (document.get("error") is not None):
            return self._failed(failure_of_payload(document))
        return self._payload(document)

    def finish(self) -> list[Event]:
        """The end of the stream: complete where the answer said why it ended, even without its last word."""
        return self._finished() if self._reason else self._failed(truncated())

    def _payload(self, document: Mapping[str, Any]) -> list[Event]:
        kind, index = document.get("type"), document.get("index")
        number = index if isinstance(index, int) else -1
        if kind == "message_start":
            message = _table(document.get("message"))
            events: list[Event] = []
            if not self._begun:
                self._begun = True
                events.append(Start(_string(message.get("model")), _string(message.get("id"))))
            return events + self._count(message.get("usage"))
        if kind == "content_block_start":
            block = self._blocks[number] = _Block(number, _table(document.get("content_block")))
            return block.begin()
        if kind == "content_block_delta":
            known = self._blocks.get(number)
            return known.grow(_table(document.get("delta"))) if known is not None else []
        if kind == "content_block_stop":
            ended = self._blocks.pop(number, None)
            return ended.end() if ended is not None else []
        if kind == "message_delta":
            delta = _table(document.get("delta"))
            self._reason = _string(delta.get("stop_reason")) or self._reason
            details = _table(delta.get("stop_details"))
            said = [_string(details.get(key)) for key in ("category", "explanation")]
            self._detail = ": ".join(text for text in said if text) or _string(delta.get("stop_sequence"))
            return self._count(document.get("usage"))
        if kind == "message_stop":
            return self._finished()
        return []

    def _count(self, given: Any) -> list[Event]:
        """Usage is cumulative: later figures take the place of earlier ones."""
        self._usage |= {key: value for key, value in _table(given).items() if value is not None}
        usage = read_usage(self._usage, self._profile.usage)
        if usage is None:
            return []
        whole = Usage(
            usage.input_tokens + (usage.cached_tokens or 0) + (usage.cache_written_tokens or 0),
            usage.output_tokens,
            usage.cached_tokens,
            usage.cache_written_tokens,
            usage.reasoning_tokens,
            usage.cost,
        )
        if whole == self._reported:
            return []
        self._reported = whole
        return [whole]

    def _finished(self) -> list[Event]:
        self.done = True
        events = [event for block in self._blocks.values() for event in block.end()]
        self._blocks.clear()
        return [*events, Stop(_REASONS.get(self._reason, "end_turn"), self._reason, self._detail)]


class _Block:
    """One block of an answer as it arrives."""

    def __init__(self, index: int, given: Mapping[str, Any]) -> None:
        self._index = index
        self._given = dict(given)
        self._kind = _string(given.get("type"))
        self._signature = _string(given.get("signature"))
        self._json: list[str] = []

    def begin(self) -> list[Event]:
        if self._kind == "text" and (text := _string(self._given.get("text"))):
            return [Text(text)]
        if self._kind == "thinking" and (text := _string(self._given.get("thinking"))):
            return [Thinking(text)]
        if self._kind == "tool_use":
            events: list[Event] = [
                ToolStart(self._index, _string(self._given.get("id")), _string(self._given.get("name")))
            ]
            if given := _table(self._given.get("input")):
                events.append(ToolArgs(self._index, json.dumps(given, ensure_ascii=False)))
            return events
        return []

    def grow(self, delta: Mapping[str, Any]) -> list[Event]:
        kind = delta.get("type")
        if kind == "text_delta" and (text := _string(delta.get("text"))):
            return [Text(text)]
        if kind == "thinking_delta" and (text := _string(delta.get("thinking"))):
            return [Thinking(text)]
        if kind == "signature_delta":
            self._signature = _string(delta.get("signature")) or self._signature
        elif kind == "input_json_delta" and (fragment := _string(delta.get("partial_json"))):
            if self._kind == "tool_use":
                return [ToolArgs(self._index, fragment)]
            self._json.append(fragment)
        return []

    def end(self) -> list[Event]:
        if self._kind == "text":
            return []
        if self._kind == "thinking":
            return [Signature(self._signature)] if self._signature else []
        if self._kind == "tool_use":
            return [ToolEnd(self._index)]
        data = dict(self._given)
        if self._json:
            try:
                data["input"] = read_json("".join(self._json))
            except ValueError:
                return []
        return [Opaque(OpaquePart(FORMAT, data))]


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
