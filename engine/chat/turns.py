"""What of a conversation is sent with the next request, and what becomes of a turn that failed. Pure.

Source: spec assistant, B2.3 (what was sent is never changed) and B2.5 (failed turns).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from engine.chat.compaction import Summary, without_thinking
from engine.chat.message import Message, answer
from engine.models.wire.base import ChatMessage
from engine.text import is_blank

INTERRUPTED: Final = "(The answer was interrupted here.)"
"""The note that stands in place of what an interrupted answer would have gone on to say."""
STEP_LIMIT: Final = "(The limit of steps for one answer was reached here.)"


def history(messages: Iterable[Message], summary: Summary | None = None) -> tuple[ChatMessage, ...]:
    """The messages as they are sent, oldest first: calls of tools stay with their results. A `summary` is sent in place
    of the first ones, and what follows it without its reasoning.

    A question whose turn was rolled back is left out. One that was never answered, as when the program was killed, gets
    the note, so that questions and answers alternate. For messages that were added to others, the history begins with
    that of the others.
    """
    if summary is not None:
        behind = history(tuple(messages)[summary.count :])
        return (*summary.sent(), *map(without_thinking, behind))
    sent: list[ChatMessage] = []
    asked = False
    for message in messages:
        if message.role == "user":
            if message.withdrawn:
                continue
            if asked:
                sent.append(ChatMessage("assistant", INTERRUPTED))
            sent.append(ChatMessage("user", message.content))
            asked = True
        elif said := _sent(message):
            sent += said
            asked = False
    return tuple(sent)


def _sent(message: Message) -> tuple[ChatMessage, ...]:
    if message.interrupted:
        # The text of the step that broke off is shown and not sent: nobody knows how it would have gone on.
        return (*message.steps, ChatMessage("assistant", INTERRUPTED))
    if message.steps:
        return message.steps
    return () if is_blank(message.content) else (ChatMessage("assistant", message.content),)


def settled_answer(
    text: str,
    steps: Sequence[ChatMessage],
    created_at: str,
    *,
    failure: str = "",
    keeps_progress: bool = True,
    reasoning: str = "",
    model: str = "",
    step_limit: bool = False,
) -> Message | None:
    """The answer a turn leaves behind; None when the turn is rolled back, so that its question is withdrawn.

    `text` is all that was said, `steps` the messages of the steps that were done: of a whole answer every message, of
    one that broke off those up to the last results. `failure` is why it broke off, empty when it did not;
    `keeps_progress` whether what was done stays worth having then. `step_limit`: it ended because there were too many
    steps, which is no failure.
    """
    if failure and not keeps_progress:
        return None
    kept = _complete(steps) if failure else tuple(steps)
    if step_limit and not failure:
        kept = (*kept, ChatMessage("assistant", STEP_LIMIT))
    if not failure and len(kept) == 1 and not kept[0].parts:
        kept = ()  # its text says it all
    return answer(
        text if not is_blank(text) else (INTERRUPTED if failure else text),
        created_at,
        reasoning=reasoning,
        steps=kept,
        interrupted=failure,
        model=model,
    )


def _complete(steps: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The steps up to the last one that is done: an answer with calls, and the results of all of them."""
    end = 0
    open_calls: set[str] = set()
    for index, message in enumerate(steps):
        if message.role == "tool":
            open_calls.discard(message.call_id)
            if not open_calls:
                end = index + 1
        else:
            open_calls = {call.id for call in message.calls}
    return tuple(steps[:end])
