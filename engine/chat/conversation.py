"""`Conversation`: what was said with an agent, and its file as a value. Pure.

Source: spec context-blocks, section 1.12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.chat.compaction import Summary, read_summary
from engine.chat.message import OWN_KEY, Message, read_message
from engine.chat.persona import STRANGER, PersonaChoice, read_persona
from engine.errors import InvalidFile, Problem
from engine.text import collapse_space, cut

NEW_TITLE: Final = "New chat"
"""The title of a conversation in which nothing was said yet."""
SUMMARIES: Final = "summaries"
"""Where the summaries stand in a file, under our own key, oldest first."""
TITLE_LENGTH: Final = 60
"""Characters (UTF-16 units) of the first question that become the title."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation with `agent`; times are ISO 8601, empty where the file does not say.

    `character` is the id of the fragment that speaks and `persona` whom it speaks with (character chat only);
    `story_point` the id of the last section that it knows of, None for all of the story. `problems` is what is wrong
    with its files and did not stand in the way. `summary` is sent in place of the messages it stands for.
    """

    agent: str
    id: str
    file: Path
    title: str = NEW_TITLE
    messages: tuple[Message, ...] = ()
    created_at: str = ""
    updated_at: str = ""
    character: str | None = None
    persona: PersonaChoice = STRANGER
    story_point: str | None = None
    problems: tuple[Problem, ...] = ()
    summary: Summary | None = None

    @property
    def unanswered(self) -> Message | None:
        """The last message, when it is a question: one that was never answered, or was withdrawn."""
        last = self.messages[-1] if self.messages else None
        return last if last is not None and last.role == "user" else None


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation in a list; `problem` says why its file can't be used, and then the rest is what else is known."""

    id: str
    title: str
    count: int = 0
    created_at: str = ""
    updated_at: str = ""
    character: str | None = None
    problem: Problem | None = None


def title_of(text: str) -> str:
    """The title that a first question gives, on one line."""
    return cut(collapse_space(text), TITLE_LENGTH).rstrip() or NEW_TITLE


def checked_document(raw: Any, file: Path) -> dict[str, Any]:
    """`raw` as a conversation's document. Raises `InvalidFile` for what nothing can be added to."""
    if not isinstance(raw, dict):
        raise InvalidFile(
            "is no conversation: a JSON object was expected", file=file, line=1, repair="repair or delete it"
        )
    if not isinstance(raw.get("messages", []), list):
        raise InvalidFile("must be a list", file=file, field="messages", repair="repair or delete the file")
    return raw


def conversation_of(agent: str, conversation_id: str, file: Path, raw: Any, entry: Mapping[str, Any]) -> Conversation:
    """The conversation in a document; `entry` is what an index says of it. Raises `InvalidFile`.

    Entries of the list that are no messages are left in the file, and reported.
    """
    document = checked_document(raw, file)
    messages: list[Message] = []
    problems: list[Problem] = []
    for index, item in enumerate(document.get("messages", [])):
        message = read_message(item)
        if message is None:
            problems.append(Problem("is no message, so it is not sent", file, f"messages[{index}]"))
        else:
            messages.append(message)
    own = document.get(OWN_KEY)
    summary = _summary(own.get(SUMMARIES) if isinstance(own, Mapping) else None, messages)
    if summary is not None and not summary.holds(messages):
        problems.append(Problem("its summary is of other messages, so all of them are sent", file))
        summary = None
    given = (entry.get("title"), document.get("title"), own.get("title") if isinstance(own, Mapping) else None)
    title = next((text for text in given if isinstance(text, str) and text.strip()), NEW_TITLE)
    if title == NEW_TITLE:
        title = next((title_of(item.content) for item in messages if item.role == "user"), NEW_TITLE)
    return Conversation(
        agent,
        conversation_id,
        file,
        title,
        tuple(messages),
        created_at=_first_text(entry.get("createdAt"), document.get("createdAt")),
        updated_at=_first_text(document.get("updatedAt"), entry.get("updatedAt")),
        character=document["characterId"] if isinstance(document.get("characterId"), str) else None,
        persona=read_persona(document.get("persona")),
        story_point=_first_text(document.get("storyPointFragmentId")) or None,
        problems=tuple(problems),
        summary=summary,
    )


def _summary(listed: Any, messages: Sequence[Message]) -> Summary | None:
    """The newest summary that holds; where none does, the newest one."""
    found = [summary for item in (listed if isinstance(listed, list) else ()) if (summary := read_summary(item))]
    return next((item for item in reversed(found) if item.holds(messages)), found[-1] if found else None)


def _first_text(*values: Any) -> str:
    return next((value for value in values if isinstance(value, str)), "")
