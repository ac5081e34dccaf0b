"""A conversation as the pieces that show it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tui.language import of_engine, t
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


def live_pieces(view: RunView, name: str, *, thoughts: bool) -> list[Piece]:
    """An answer that is arriving, behind the question."""
    pieces = [SPACE, Piece("agent", name), *answer_pieces(view, thoughts=thoughts)]
    waiting = next((plan for plan in view.plans if plan.waits), None)
    if waiting is not None:
        pieces.append(Piece("note", t("chat.changes-wait", count=len(waiting.plan.changes))))
    return pieces


def answer_pieces(view: RunView, *, thoughts: bool) -> list[Piece]:
    """What a run gives: what the model thought and called, its text, and that it is tried again."""
    pieces: list[Piece] = []
    if view.thoughts:
        pieces.append(_thoughts(view.thoughts, thoughts))
    pieces += (Piece("call", _called(call.name, call.arguments, call.result)) for call in view.calls)
    if view.text:
        pieces.append(Piece("text", view.text))
    if view.retry is not None:
        why = of_engine(view.retry.reason)
        pieces.append(Piece("note", t("chat.retried", why=why, seconds=round(view.retry.seconds))))
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
    results = {step.call_id: step.content for step in message.steps if step.role == "tool"}
    for step in message.steps:
        for call in step.calls:
            yield _called(call.name, _json(call.arguments), _json(results.get(call.id, "")) or {})


def _called(name: str, arguments: Any, result: Any) -> str:
    """What a call did; without a result it is still at work."""
    from engine.tools import describe_call

    line = f"▸ {describe_call(name, arguments, result)}"
    if result is None:
        return f"{line} …"
    done = result.get("results") if isinstance(result, dict) else None
    declined = isinstance(done, list) and any(
        isinstance(item, dict) and item.get("status") == "declined" for item in done
    )
    return f"{line} · {t('chat.declined')}" if declined else line


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
