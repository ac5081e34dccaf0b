"""OpenAI's chat completions and what is compatible with them: the body of a request, the events of an answer. Pure.

Source: spec provider-wire, C2 with its parts for DeepSeek, OpenRouter, Ollama and llama.cpp.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

from engine.models.wire.base import (
    ChatMessage,
    Failure,
    Request,
    Start,
    Stop,
    StopReason,
    Text,
    Thinking,
    Usage,
    Warned,
)
from engine.models.wire.conversation import answered, with_system
from engine.models.wire.documents import read_json
from engine.models.wire.events import Event, Opaque, ToolArgs, ToolEnd, ToolStart
from engine.models.wire.failures import failure_of_payload, malformed, truncated
from engine.models.wire.parameters import NO_FIELDS, Prepared, choose_parameters
from engine.models.wire.parsing import Parser, read_usage, split_at
from engine.models.wire.parts import ForcedTool, OpaquePart, ThinkingPart
from engine.models.wire.profiles import Profile
from engine.models.wire.shaping import merge, shape
from engine.models.wire.sse import STRAY, ServerEvent

DETAILS = "openrouter"
"""The format of OpenRouter's reasoning details."""

_REASONS: Mapping[str, StopReason] = {
    "stop": "end_turn",
    "eos": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
_BROKEN = ("error", "insufficient_system_resource")


# --- the body ------------------------------------------------------------------------------------------------------


def build(request: Request, profile: Profile, without: Collection[str] = NO_FIELDS) -> Prepared:
    """The body of a request. `without` are fields, by the provider's names, that this model was found to refuse."""
    chosen = choose_parameters(request, profile, without)
    warnings = list(chosen.warnings)
    body: dict[str, Any] = {"model": request.model, "messages": _messages(request, profile, warnings), "stream": True}
    if profile.stream_usage:
        body["stream_options"] = {"include_usage": True}
    for parameter, value in chosen.values.items():
        name = profile.name_of(parameter)
        if parameter == "tools":
            body[name] = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
                }
                for t in value
            ]
        elif parameter == "tool_choice":
            named = isinstance(value, ForcedTool)
            body[name] = {"type": "function", "function": {"name": value.name}} if named else value
        else:
            body[name] = list(value) if isinstance(value, tuple) else value
    if profile.max_output_default and "max_output_tokens" not in chosen.values:
        body[profile.name_of("max_output_tokens")] = profile.max_output_default
    if chosen.effort is not None:
        body |= _thinking(chosen.effort, profile)
    body |= profile.extra_body
    return Prepared({key: value for key, value in body.items() if key not in without}, tuple(warnings))


def _thinking(effort: str, profile: Profile) -> dict[str, Any]:
    thinks = effort != "none"
    if profile.reasoning == "object":
        return {"reasoning": {"effort": effort} if thinks else {"enabled": False}}
    if profile.reasoning == "toggle":
        toggle: dict[str, Any] = {"thinking": {"type": "enabled" if thinks else "disabled"}}
        return toggle | ({"reasoning_effort": effort} if thinks and len(profile.efforts) > 2 else {})
    if profile.reasoning == "template":
        return {"chat_template_kwargs": {"enable_thinking": thinks}}
    return {"reasoning_effort": effort}


def _messages(request: Request, profile: Profile, warnings: list[Warned]) -> list[dict[str, Any]]:
    messages = shape(answered(request.messages), profile.shaping, profile.placeholder)
    if profile.system == "developer":
        messages = with_system(messages, "developer", "developer")
    elif profile.system in ("first", "field"):
        messages = with_system(messages, "system", "user")
        leading = merge(m for m in messages if m.role == "system")
        messages = (*leading, *(m for m in messages if m.role != "system"))
    elif profile.system == "user":
        messages = with_system(messages, "user", "user")
    if not profile.prefill and messages and messages[-1].role == "assistant" and not messages[-1].calls:
        messages = (*messages, ChatMessage("user", profile.placeholder))
        warnings.append(Warned("a user's message was put last: this model does not go on with an answer of its own"))
    return [_message(message, profile, request.cache) for message in messages]


def _message(message: ChatMessage, profile: Profile, cache: bool) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role != "assistant":
        if cache and profile.cache == "breakpoints":
            pieces = split_at(message.content, message.breakpoints)
            if len(pieces) > 1 or (pieces and pieces[0][1]):
                found["content"] = [
                    {"type": "text", "text": text} | ({"cache_control": {"type": "ephemeral"}} if cached else {})
                    for text, cached in pieces
                ]
        return found
    calls = message.calls
    if calls:
        found["content"] = message.content or None
        found["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments or "{}"}}
            for c in calls
        ]
    thoughts = "".join(part.text for part in message.parts if isinstance(part, ThinkingPart))
    rule = profile.replay_reasoning
    if (rule == "reasoning_content_with_tools" and calls) or (rule == "reasoning_content" and thoughts):
        found["reasoning_content"] = thoughts
    elif rule == "reasoning" and thoughts:
        found["reasoning"] = thoughts
    elif rule == "reasoning_details":
        details = [dict(p.data) for p in message.parts if isinstance(p, OpaquePart) and p.format == DETAILS]
        if details:
            found["reasoning_details"] = details
    return found


# --- the answer ----------------------------------------------------------------------------------------------------


class ChatParser(Parser):
    """The events of one streamed answer. `new_id` makes ids for calls that come without one."""

    def __init__(self, profile: Profile, new_id: Callable[[], str] = lambda: f"call_{uuid.uuid4().hex}") -> None:
        super().__init__()
        self._profile = profile
        self._new_id = new_id
        self._begun = False
        self._slots: list[_Slot] = []
        self._details: list[dict[str, Any]] = []
        self._refusal: list[str] = []
        self._finish = ""
        self._usage: Usage | None = None

    def whole(self, document: Any) -> list[Event]:
        """The events of an answer that came in one piece although a stream was asked for."""
        choices = document.get("choices") if isinstance(document, Mapping) else None
        if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
            choice = {**choices[0], "delta": choices[0].get("message")}
            events = self._chunk({**document, "choices": [choice]})
            return events if self.done else events + self._finished()
        return self._failed(failure_of_payload(document))

    def read(self, event: ServerEvent) -> list[Event]:
        data = event.data.strip()
        if data == "[DONE]":
            return self._finished()
        try:
            document = read_json(data)
        except ValueError:
            if event.name in (STRAY, "error"):
                return self._failed(malformed(data) if event.name == STRAY else failure_of_payload(data))
            return self._failed(truncated() if self.ending else malformed(data))
        if event.name == STRAY and isinstance(document, Mapping) and "choices" in document:
            return self.whole(document)
        if event.name in (STRAY, "error"):
            return self._failed(failure_of_payload(document))
        return self._chunk(document) if isinstance(document, Mapping) else []

    def finish(self) -> list[Event]:
        """The end of the stream: complete where the answer said why it ended, even without its last word."""
        return self._finished() if self._finish else self._failed(truncated())

    def _chunk(self, chunk: Mapping[str, Any]) -> list[Event]:
        events: list[Event] = []
        if not self._begun:
            self._begun = True
            model, identity = chunk.get("model"), chunk.get("id")
            events.append(Start(model if isinstance(model, str) else "", identity if isinstance(identity, str) else ""))
        if chunk.get("error") is not None:
            return events + self._failed(failure_of_payload(chunk))
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, Mapping):
            delta = choice.get("delta")
            if isinstance(delta, Mapping):
                events += self._delta(delta)
            finish = choice.get("finish_reason")
            if isinstance(finish, str) and finish:
                self._finish = finish
            if choice.get("error") is not None:
                return events + self._failed(failure_of_payload(choice))
        events += self._count(chunk)
        if self._finish in _BROKEN:
            return events + self._failed(Failure("upstream", "", code=self._finish))
        return events

    def _delta(self, delta: Mapping[str, Any]) -> list[Event]:
        events: list[Event] = []
        details = delta.get("reasoning_details")
        said = [text for name in self._profile.reasoning_fields if isinstance(text := delta.get(name), str) and text]
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, Mapping):
                self._merge_detail(detail)
                if not said and (text := _detail_text(detail)):
                    events.append(Thinking(text))
        if said:
            events.append(Thinking(said[0]))
        content = delta.get("content")
        if isinstance(content, str) and content:
            events.append(Text(content))
        elif isinstance(content, list):
            for piece in content:
                if isinstance(piece, Mapping) and isinstance(text := piece.get("text"), str) and text:
                    events.append(Text(text))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refusal.append(refusal)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                events += self._call(call)
        older = delta.get("function_call")
        if isinstance(older, Mapping):
            events += self._call({"index": 0, "function": older})
        return events

    def _call(self, call: Mapping[str, Any]) -> list[Event]:
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        identity, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
        identity = identity if isinstance(identity, str) else ""
        name = name if isinstance(name, str) else ""
        if isinstance(arguments, Mapping):
            arguments = json.dumps(arguments, ensure_ascii=False)
        arguments = arguments if isinstance(arguments, str) else ""
        slot = self._slot(call.get("index"), identity, name)
        slot.id = slot.id or identity
        slot.name = slot.name or name
        slot.unsent.append(arguments)
        events: list[Event] = []
        if slot.name and not slot.started:
            slot.started = True
            slot.id = slot.id or self._new_id()
            events.append(ToolStart(slot.number, slot.id, slot.name))
        if slot.started:
            fragment = "".join(slot.unsent)
            slot.unsent.clear()
            slot.arguments.append(fragment)
            if fragment:
                events.append(ToolArgs(slot.number, fragment))
        return events

    def _slot(self, index: Any, identity: str, name: str) -> _Slot:
        """The call a fragment belongs to: by its index; without one, an id that is new begins another call.

        Gemini's endpoint gives all calls of an answer the index 0: there a new id with a name begins another, too, when
        the one before is complete.
        """
        indexed = isinstance(index, int) and not isinstance(index, bool)
        if indexed:
            known = [slot for slot in self._slots if slot.index == index]
            if known:
                last = known[-1]
                another = identity and name and last.id and identity != last.id and last.is_complete()
                if not another:
                    return last
        elif self._slots:
            if not identity:
                return self._slots[-1]
            known = [slot for slot in self._slots if slot.id == identity]
            if known:
                return known[-1]
        slot = _Slot(len(self._slots), index if indexed else None)
        self._slots.append(slot)
        return slot

    def _merge_detail(self, detail: Mapping[str, Any]) -> None:
        """A piece of a reasoning detail, added to the one of its index and type; texts grow, the rest is set."""
        index = detail.get("index")
        for known in self._details:
            if index is not None and known.get("index") == index and known.get("type") == detail.get("type"):
                for key, value in detail.items():
                    if key in ("text", "summary", "data") and isinstance(value, str):
                        known[key] = (known.get(key) or "") + value
                    elif value is not None or key not in known:
                        known[key] = value
                return
        self._details.append(dict(detail))

    def _count(self, chunk: Mapping[str, Any]) -> list[Event]:
        usage = read_usage(chunk.get("usage"), self._profile.usage)
        timings = chunk.get("timings")
        if usage is None and self._usage is None and isinstance(timings, Mapping):
            figures = {
                "input_tokens": _whole(timings.get("prompt_n")) + _whole(timings.get("cache_n")),
                "output_tokens": _whole(timings.get("predicted_n")),
            }
            usage = Usage(**figures, cached_tokens=_whole(timings.get("cache_n")))
        if usage is None or usage == self._usage:
            return []
        self._usage = usage
        return [usage]

    def _finished(self) -> list[Event]:
        self.done = True
        events: list[Event] = []
        for slot in self._slots:
            if not slot.started:
                slot.id = slot.id or self._new_id()
                events.append(ToolStart(slot.number, slot.id, slot.name))
                if fragment := "".join(slot.unsent):
                    events.append(ToolArgs(slot.number, fragment))
            events.append(ToolEnd(slot.number))
        events += [Opaque(OpaquePart(DETAILS, detail)) for detail in self._details]
        reason = _REASONS.get(self._finish, "end_turn")
        if self._refusal:
            reason = "refusal"
        elif self._slots and reason == "end_turn":
            reason = "tool_use"
        elif not self._slots and reason == "tool_use":
            reason = "end_turn"
        return [*events, Stop(reason, self._finish, "".join(self._refusal))]


class _Slot:
    """One call as it arrives: `number` is ours, `index` the provider's."""

    def __init__(self, number: int, index: int | None) -> None:
        self.number, self.index = number, index
        self.id = self.name = ""
        self.started = False
        self.unsent: list[str] = []
        self.arguments: list[str] = []

    def is_complete(self) -> bool:
        """Whether its arguments are whole JSON, or none at all."""
        text = "".join(self.arguments)
        try:
            return not text or isinstance(read_json(text), dict)
        except ValueError:
            return False


def _detail_text(detail: Mapping[str, Any]) -> str:
    text = detail.get("text") or detail.get("summary")
    return text if isinstance(text, str) else ""


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0
