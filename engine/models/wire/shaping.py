"""Role shaping: messages rewritten for models whose templates don't take roles in any order. Pure.

Under the names users know (spec sillytavern, 2.7): `merge` joins neighbours of one role with a blank line;
`semi-strict` besides makes user messages of all system messages but the leading one; `strict` besides sees that a
user's message is the first after it; `single` makes one user message of everything. Text is never lost or reordered,
and shaping what is shaped changes nothing.

What belongs to a tool call keeps its form in each: results stay right behind the message with their calls, and `single`
ends where the first call stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.models.wire.base import ChatMessage
from engine.models.wire.parts import Part, TextPart
from engine.models.wire.profiles import Shaping

JOINT = "\n\n"


def shape(messages: Iterable[ChatMessage], shaping: Shaping, placeholder: str = "[Start]") -> tuple[ChatMessage, ...]:
    """The messages as a model of this shaping takes them; `placeholder` is what a user's message says that had to be
    put in.
    """
    given = tuple(messages)
    if shaping == "none":
        return given
    if shaping == "single":
        return _single(given)
    merged = merge(given)
    if shaping == "merge":
        return merged
    leading = merged[:1] if merged and merged[0].role == "system" else ()
    rest = [replace(m, role="user") if m.role == "system" else m for m in merged[len(leading) :]]
    if shaping == "strict" and (not rest or rest[0].role != "user"):
        rest.insert(0, ChatMessage("user", placeholder))
    return (*leading, *merge(rest))


def merge(messages: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Neighbours of one role as one message, a blank line between them; results of tools stay apart."""
    groups: list[list[ChatMessage]] = []
    for message in messages:
        if groups and groups[-1][-1].role == message.role and message.role != "tool" and not groups[-1][-1].calls:
            groups[-1].append(message)
        else:
            groups.append([message])
    return tuple(_joined(group) for group in groups)


def _single(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    end = next((at for at, m in enumerate(messages) if m.calls or m.role == "tool"), len(messages))
    plain = [ChatMessage("user", m.content, breakpoints=m.breakpoints) for m in messages[:end]]
    return (*((_joined(plain),) if plain else ()), *messages[end:])


def _joined(group: Sequence[ChatMessage]) -> ChatMessage:
    """One message of several of one role; their parts and breakpoints with them."""
    first = group[0]
    if len(group) == 1:
        return first
    content = ""
    parts: list[Part] = []
    breakpoints: list[int] = []
    for message in group:
        if content and message.content:
            content += JOINT
            parts.append(TextPart(JOINT))
        breakpoints += [len(content) + point for point in message.breakpoints]
        content += message.content
        parts += message.in_parts()
    plain = not any(message.parts for message in group)
    return replace(first, content=content, parts=() if plain else tuple(parts), breakpoints=tuple(breakpoints))
