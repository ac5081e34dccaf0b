"""`Message`: one thing that was said in a conversation.

In the file it is `{role, content, reasoning?}` (spec context-blocks, section 1.12), with the time it was said where the
reference has one (character chat). What the reference's files do not say stands under the key `stonehand`: the steps of
an answer, why it broke off, why a question is not part of what is sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import SystemRandom
from typing import Any, Final

from engine.chat.steps import dump_steps, read_steps
from engine.models.wire.base import ChatMessage

OWN_KEY: Final = "stonehand"
_ALPHANUMERIC: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_RANDOM: Final = SystemRandom()


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `role` is user or assistant.

    `id` tells it from the others of its conversation, empty for one that another program wrote. `created_at` is ISO
    8601, empty where the file does not say. Of an answer, `steps` is what the model is sent of it again, where it is
    more than its text, `interrupted` why it broke off, `model` who gave it. Of a question, `withdrawn` is why its turn
    failed and was rolled back, so that it is not sent.
    """

    role: str
    content: str
    id: str = ""
    reasoning: str = ""
    created_at: str = ""
    steps: tuple[ChatMessage, ...] = ()
    interrupted: str = ""
    withdrawn: str = ""
    model: str = ""


def question(content: str, created_at: str = "") -> Message:
    """What the author says."""
    return Message("user", content, _new_id(), created_at=created_at)


def answer(
    content: str,
    created_at: str = "",
    *,
    reasoning: str = "",
    steps: Sequence[ChatMessage] = (),
    interrupted: str = "",
    model: str = "",
) -> Message:
    """What the agent says."""
    return Message("assistant", content, _new_id(), reasoning, created_at, tuple(steps), interrupted, model=model)


def dump_message(message: Message, *, timed: bool) -> dict[str, Any]:
    """A message as its file has it; `timed`: with the time it was said, as the files of character chat."""
    document: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.reasoning:
        document["reasoning"] = message.reasoning
    if timed:
        document["createdAt"] = message.created_at
    own: dict[str, Any] = {"id": message.id}
    if not timed and message.created_at:
        own["createdAt"] = message.created_at
    if message.model:
        own["model"] = message.model
    if message.steps:
        own |= {"steps": dump_steps(message.steps), "of": _digest(message.content)}
    for key, value in (("interrupted", message.interrupted), ("withdrawn", message.withdrawn)):
        if value:
            own[key] = value
    document[OWN_KEY] = own
    return document


def read_message(value: Any) -> Message | None:
    """The message in a JSON value; None when it is none.

    Steps of a text that another program has changed since no longer say what the message does, so they are left out.
    """
    if not isinstance(value, Mapping) or value.get("role") not in ("user", "assistant"):
        return None
    content = value.get("content")
    if not isinstance(content, str):
        return None
    own = own_of(value)
    steps = read_steps(own.get("steps")) if own.get("of") == _digest(content) else None
    return Message(
        value["role"],
        content,
        id=_text(own.get("id")),
        reasoning=_text(value.get("reasoning")),
        created_at=_text(value.get("createdAt")) or _text(own.get("createdAt")),
        steps=steps or (),
        interrupted=_text(own.get("interrupted")),
        withdrawn=_text(own.get("withdrawn")),
        model=_text(own.get("model")),
    )


def own_of(value: Any) -> Mapping[str, Any]:
    """What stands under our own key of a message."""
    own = value.get(OWN_KEY) if isinstance(value, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def _new_id() -> str:
    return "m-" + "".join(_RANDOM.choice(_ALPHANUMERIC) for _ in range(10))


def _digest(content: str) -> str:
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
