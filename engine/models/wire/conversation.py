"""Conversations made fit for an API: every call of a tool answered, right behind the message that makes it. Pure.

Source: spec provider-wire, C2 and C3 (a call without a result, or a result without its call, is a 400).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.models.wire.base import ChatMessage

NO_RESULT = "(interrupted: there is no result)"
"""The result of a call that never got one, because the run was stopped."""


def answered(messages: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The messages with the results of each message's calls right behind it, in the order of the calls.

    A call without a result gets `NO_RESULT`; a result without its call becomes a user's message: its text stays.
    """
    given = list(messages)
    result: list[ChatMessage] = []
    at = 0
    while at < len(given):
        message = given[at]
        at += 1
        if message.role == "tool":
            result.append(ChatMessage("user", message.content))
            continue
        result.append(message)
        if not message.calls:
            continue
        found: dict[str, ChatMessage] = {}
        strays: list[ChatMessage] = []
        wanted = {call.id for call in message.calls}
        while at < len(given) and given[at].role == "tool":
            if given[at].call_id in wanted and given[at].call_id not in found:
                found[given[at].call_id] = given[at]
            else:
                strays.append(ChatMessage("user", given[at].content))
            at += 1
        for call in message.calls:
            result.append(found.get(call.id) or ChatMessage("tool", NO_RESULT, call_id=call.id))
        result += strays
    return tuple(result)


def with_system(messages: Iterable[ChatMessage], leading: str, later: str) -> tuple[ChatMessage, ...]:
    """The messages with the role `leading` for the system messages at the beginning and `later` for the others."""
    result = []
    beginning = True
    for message in messages:
        beginning = beginning and message.role == "system"
        role = message.role if message.role != "system" else leading if beginning else later
        result.append(message if role == message.role else replace(message, role=role))
    return tuple(result)
