"""Conversations: what was said with an agent, kept in the reference's files and only ever added to.

The modules are loaded when a name of theirs is first used.
"""

from typing import TYPE_CHECKING

from engine.lazy import names_of

if TYPE_CHECKING:
    from engine.chat.compaction import KEPT_TURNS, Summary
    from engine.chat.conversation import NEW_TITLE, Conversation, ConversationSummary, title_of
    from engine.chat.message import Message, answer, question
    from engine.chat.persona import STRANGER, PersonaChoice
    from engine.chat.store import CHAT_AGENTS, ConversationStore, Deleted
    from engine.chat.turns import history, settled_answer

__all__ = [
    "CHAT_AGENTS",
    "KEPT_TURNS",
    "NEW_TITLE",
    "STRANGER",
    "Conversation",
    "ConversationStore",
    "ConversationSummary",
    "Deleted",
    "Message",
    "PersonaChoice",
    "Summary",
    "answer",
    "history",
    "question",
    "settled_answer",
    "title_of",
]

__getattr__ = names_of(
    __name__,
    {
        "compaction": ("KEPT_TURNS", "Summary"),
        "conversation": ("NEW_TITLE", "Conversation", "ConversationSummary", "title_of"),
        "turns": ("history", "settled_answer"),
        "message": ("Message", "answer", "question"),
        "persona": ("STRANGER", "PersonaChoice"),
        "store": ("CHAT_AGENTS", "ConversationStore", "Deleted"),
    },
)
