"""The steps of an answer as JSON: calls of tools and their results, as they are sent again with the next request.

The reference's files hold only the text of an answer; these stand under a key of our own beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.models.wire.base import ChatMessage
from engine.models.wire.parts import OpaquePart, Part, TextPart, ThinkingPart, ToolCall


def dump_steps(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """Messages of an assistant and results of tools as JSON values."""
    return [_dumped(message) for message in messages]


def read_steps(value: Any) -> tuple[ChatMessage, ...] | None:
    """The messages that `dump_steps` wrote; None for anything else."""
    if not isinstance(value, list):
        return None
    try:
        return tuple(_read(item) for item in value)
    except (KeyError, TypeError, ValueError):
        return None


def _dumped(message: ChatMessage) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "callId": message.call_id, "content": message.content}
    if message.parts:
        return {"role": message.role, "parts": [_dumped_part(part) for part in message.parts]}
    return {"role": message.role, "content": message.content}


def _dumped_part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ThinkingPart):
        return {"type": "thinking", "text": part.text, "signature": part.signature}
    if isinstance(part, ToolCall):
        return {"type": "call", "id": part.id, "name": part.name, "arguments": part.arguments}
    return {"type": "opaque", "format": part.format, "data": dict(part.data)}


def _read(value: Mapping[str, Any]) -> ChatMessage:
    role = value["role"]
    if role == "tool":
        return ChatMessage("tool", _text(value["content"]), call_id=_text(value["callId"]))
    if role not in ("user", "assistant"):
        raise ValueError(role)
    if "parts" not in value:
        return ChatMessage(role, _text(value["content"]))
    parts = tuple(_read_part(item) for item in value["parts"])
    return ChatMessage(role, "".join(part.text for part in parts if isinstance(part, TextPart)), parts)


def _read_part(value: Mapping[str, Any]) -> Part:
    kind = value["type"]
    if kind == "text":
        return TextPart(_text(value["text"]))
    if kind == "thinking":
        return ThinkingPart(_text(value["text"]), _text(value["signature"]))
    if kind == "call":
        return ToolCall(_text(value["id"]), _text(value["name"]), _text(value["arguments"]))
    if kind == "opaque" and isinstance(value["data"], dict):
        return OpaquePart(_text(value["format"]), value["data"])
    raise ValueError(kind)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
