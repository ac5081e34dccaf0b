"""A conversation as the pieces that show it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tui.language import t
from tui.widgets.chat_view import Kind, Piece

if TYPE_CHECKING:
    from engine.chat import Message
    from engine.runs import RunView

SPACE = Piece("space")


def message_pieces(messages: Iterable[Message], name: str, *, thoughts: bool) -> list[Piece]:
    """What was said: who, what tools did, the text, and what became of it; `name` is the agent's, `thoughts` whether
    those of a model are shown.
    """
    pieces: list[Piece] = []
    for message in messages:
        if pieces:
            pieces.append(SPACE)
        pieces += _one(message, name, thoughts)
    return pieces


def live_pieces(view: RunView, thoughts_so_far: str, name: str, *, thoughts: bool) -> list[Piece]:
    """An answer that is arriving, behind the question."""
    pieces = [SPACE, Piece("agent", name)]
    if thoughts_so_far:
        pieces.append(_thoughts(thoughts_so_far, thoughts))
    if view.text:
        pieces.append(Piece("text", view.text))
    return pieces


def _one(message: Message, name: str, thoughts: bool) -> Iterable[Piece]:
    own = message.role == "user"
    yield Piece("you", t("chat.you")) if own else Piece("agent", name)
    if message.reasoning:
        yield _thoughts(message.reasoning, thoughts)
    yield from (Piece("call", line) for line in _calls(message))
    if message.content:
        yield Piece("text", message.content)
    if message.interrupted:
        yield Piece("note", t("chat.interrupted", why=message.interrupted))
    if message.withdrawn:
        yield Piece("note", t("chat.withdrawn", why=message.withdrawn))


def _thoughts(text: str, shown: bool) -> Piece:
    kind: Kind = "thoughts"
    return Piece(kind, text) if shown else Piece(kind, t("chat.thoughts", count=len(text.split()) or 1))


def _calls(message: Message) -> Iterable[str]:
    """One line for each call of a tool: what it did."""
    if not message.steps:
        return
    from engine.tools import describe_call

    results = {step.call_id: step.content for step in message.steps if step.role == "tool"}
    for step in message.steps:
        for call in step.calls:
            yield f"▸ {describe_call(call.name, _json(call.arguments), _json(results.get(call.id, '')))}"


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
