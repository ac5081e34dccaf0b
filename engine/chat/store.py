"""The conversations of one chat agent in one branch, one file for each, in the reference's places.

Librarian chat: `librarian/chat-<id>.json` with titles in `librarian/conversations.json`; `chat-history.json` is the one
conversation of older versions. Character chat: `character-chat/conversations/<id>.json`, which says everything itself.

Every write reads the file again under the story's lock, adds to what is there, compares it with what was read and
replaces it in one step: what two programs add at the same time is all there, what is not known of a file stays in it,
and a file that can't be used is reported and left alone. Source: spec context-blocks, sections 1.2 and 1.12.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from engine import disk
from engine.chat.compaction import Summary, dump_summary
from engine.chat.conversation import (
    NEW_TITLE,
    SUMMARIES,
    Conversation,
    ConversationSummary,
    checked_document,
    conversation_of,
    title_of,
)
from engine.chat.message import OWN_KEY, Message, dump_message, own_of
from engine.chat.persona import STRANGER, PersonaChoice, dump_persona
from engine.errors import Conflict, InvalidFile, NotFound, Problem, StonehandError, WrongInput
from engine.story import StoryFolder
from engine.story.branches import now_iso
from engine.text import Phrase, collapse_space

LIBRARIAN: Final = "librarian.chat"
CHARACTER: Final = "character-chat.chat"
CHAT_AGENTS: Final = (LIBRARIAN, CHARACTER)
"""The agents that are talked with."""
LONGEST_TITLE: Final = 200

_ATTEMPTS: Final = 20
_PAUSE: Final = 0.01
"""Seconds to wait, at most, for another program that keeps writing the same file."""
_RANDOM: Final = random.SystemRandom()

Change = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Deleted:
    """A conversation that was deleted: all it takes to put it back. `copy` is a copy that stays, None where none could
    be made.
    """

    id: str
    title: str
    file: Path
    data: bytes
    entry: Mapping[str, Any] | None
    copy: Path | None


class ConversationStore:
    """The conversations of `agent` in a branch; `kept` is the folder for copies of deleted ones.

    Every method waits for the disk. May be used from several threads. Raises `WrongInput` for an agent that is not
    talked with.
    """

    def __init__(self, folder: StoryFolder, branch: str, agent: str, kept: Path) -> None:
        if agent not in CHAT_AGENTS:
            raise WrongInput(
                Phrase("{agent} is not talked with", agent=agent),
                repair=Phrase("these are: {known}", known=", ".join(CHAT_AGENTS)),
            )
        self.agent = agent
        self.branch = branch
        self._folder = folder
        self._kept = kept
        self._parts = ("librarian",) if agent == LIBRARIAN else ("character-chat", "conversations")
        self._prefix = "chat-" if agent == LIBRARIAN else ""

    @property
    def root(self) -> Path:
        """The folder that holds the branch's content; it need not be there."""
        return self._folder.content_root(self.branch)

    # -- reading

    def summaries(self) -> tuple[ConversationSummary, ...]:
        """Every conversation, the one changed last first; damaged ones are told of where they stand.

        Conversations that the index does not name are listed as well.
        """
        entries, _ = self._entries()
        found = [self._summary(conversation_id, entries.get(conversation_id, {})) for conversation_id in self._ids()]
        listed = [item for item in found if item is not None]
        return tuple(sorted(listed, key=lambda item: (item.updated_at or item.created_at, item.id), reverse=True))

    def read(self, conversation_id: str) -> Conversation:
        """One conversation. Raises `NotFound`, and `InvalidFile` for a file that can't be used."""
        file = self._file(self.root, conversation_id)
        found = disk.read_json(file)
        if found is None:
            raise self._missing(conversation_id, file)
        entries, problem = self._entries()
        read = conversation_of(self.agent, conversation_id, file, found, entries.get(conversation_id, {}))
        return read if problem is None else replace(read, problems=(*read.problems, problem))

    # -- writing

    def create(
        self,
        *,
        title: str = "",
        character: str | None = None,
        persona: PersonaChoice = STRANGER,
        story_point: str | None = None,
        messages: Iterable[Message] = (),
    ) -> Conversation:
        """Begin a conversation, perhaps with what is said first; character chat needs the `character` that speaks.

        Raises `WrongInput` without one, `StonehandError` when it can't be written.
        """
        if self.agent == CHARACTER and not character:
            raise WrongInput("no character is chosen to talk to", repair="choose one of the story's characters")
        said = tuple(messages)
        given = _checked_title(title) if title else _title_after(NEW_TITLE, said)
        now = now_iso()
        taken = set(self._ids())
        for _ in range(_ATTEMPTS):
            conversation_id = _new_id("cv" if self.agent == LIBRARIAN else "cc", taken)
            dumped = [dump_message(_timed(item, now), timed=self._timed) for item in said]
            document: dict[str, Any] = {"messages": dumped, "updatedAt": now}
            if self.agent == CHARACTER:
                document = {
                    "id": conversation_id,
                    "characterId": character,
                    "persona": dump_persona(persona),
                    "storyPointFragmentId": story_point,
                    "title": given,
                    "messages": dumped,
                    "createdAt": now,
                    "updatedAt": now,
                }
            file = self._file(self._writable_root(), conversation_id)
            try:
                with self._locked(file):
                    disk.write_atomic(file, disk.dump_json(document), expected=None)
            except Conflict:
                taken.add(conversation_id)
                continue
            break
        else:
            raise StonehandError("can't be written: its names are taken as fast as they are chosen", file=self.root)
        entry = {"id": conversation_id, "title": given, "createdAt": now, "updatedAt": now}
        problem = self._index(conversation_id, lambda _: entry)
        made = conversation_of(self.agent, conversation_id, file, document, entry)
        return made if problem is None else replace(made, problems=(problem,))

    def append(self, conversation_id: str, *messages: Message) -> Conversation:
        """Add messages behind what is there now, whoever wrote that; returns what the conversation is then.

        The first question gives its title to a conversation that has none. Raises `NotFound`, `InvalidFile` (nothing is
        written then) and `StonehandError`.
        """
        now = now_iso()
        dumped = [dump_message(_timed(item, now), timed=self._timed) for item in messages]

        def added(document: dict[str, Any]) -> dict[str, Any]:
            changed = {**document, "messages": [*document.get("messages", []), *dumped], "updatedAt": now}
            if isinstance(document.get("title"), str):
                changed["title"] = _title_after(document["title"], messages)
            return changed

        return self._changed(conversation_id, added, lambda title: _title_after(title, messages))

    def rename(self, conversation_id: str, title: str) -> Conversation:
        """Give a conversation another title. Raises `WrongInput` for an empty one, and as `append`."""
        title = _checked_title(title)
        if self.agent == CHARACTER:
            return self._changed(conversation_id, lambda document: {**document, "title": title}, lambda _: title)

        # The index has the titles; the conversation itself says its own in case that is made anew.
        def named(document: dict[str, Any]) -> dict[str, Any]:
            return {**document, OWN_KEY: {**own_of(document), "title": title}}

        return self._changed(conversation_id, named, lambda _: title)

    def set_persona(self, conversation_id: str, persona: PersonaChoice) -> Conversation:
        """Choose whom the character talks to from now on. Raises as `append`, `WrongInput` for the librarian."""
        if self.agent != CHARACTER:
            raise WrongInput("only a character talks to a persona")
        return self._changed(
            conversation_id, lambda document: {**document, "persona": dump_persona(persona)}, lambda title: title
        )

    def summarise(self, conversation_id: str, summary: Summary) -> Conversation:
        """Have a summary sent in place of the messages it stands for, which stay. Raises as `append`, and `Conflict`
        when those are no longer what they were.
        """

        def summarised(document: dict[str, Any]) -> dict[str, Any]:
            file = self._file(self.root, conversation_id)
            found = conversation_of(self.agent, conversation_id, file, document, {})
            if not summary.holds(found.messages):
                raise Conflict("the conversation was changed meanwhile, so the summary is not kept", file=file)
            own = own_of(document)
            before = own.get(SUMMARIES)
            listed = [*(before if isinstance(before, list) else ()), dump_summary(summary)]
            return {**document, OWN_KEY: {**own, SUMMARIES: listed}}

        return self._changed(conversation_id, summarised, lambda title: title)

    def withdraw(self, conversation_id: str, message_id: str, why: str) -> Conversation:
        """Say of a question that its turn failed for the reason `why`, so that it is not sent; with an empty one, that
        it counts again. Its text stays. Raises as `append`.
        """

        def marked(item: Any) -> Any:
            if not message_id or own_of(item).get("id") != message_id:
                return item
            own = {key: value for key, value in own_of(item).items() if key != "withdrawn"}
            return {**item, OWN_KEY: {**own, "withdrawn": why} if why else own}

        def changed(document: dict[str, Any]) -> dict[str, Any]:
            return {**document, "messages": [marked(item) for item in document.get("messages", [])]}

        return self._changed(conversation_id, changed, lambda title: title)

    def delete(self, conversation_id: str) -> Deleted:
        """Delete a conversation, a damaged one too; a copy of it is kept, and `restore` puts it back.

        Raises `NotFound`, and `StonehandError` when it can't be deleted.
        """
        file = self._file(self.root, conversation_id)
        entries, _ = self._entries()
        entry = entries.get(conversation_id)
        with self._locked(file):
            data = disk.read_bytes(file)
            if data is None:
                raise self._missing(conversation_id, file)
            summary = self._summary(conversation_id, entry or {})
            copy = self._keep(conversation_id, data)
            disk.remove_file(file, expected=data)
        self._index(conversation_id, lambda _: None)
        return Deleted(conversation_id, summary.title if summary else NEW_TITLE, file, data, entry, copy)

    def restore(self, deleted: Deleted) -> None:
        """Put a deleted conversation back as it was. Raises `Conflict` when there is one of its name again."""
        file = self._file(self._writable_root(), deleted.id)
        with self._locked(file):
            disk.write_atomic(file, deleted.data, expected=None)
        if (entry := deleted.entry) is not None:
            self._index(deleted.id, lambda _: dict(entry))

    # -- inside

    @property
    def _timed(self) -> bool:
        return self.agent == CHARACTER

    def _writable_root(self) -> Path:
        return self._folder.writable_root(self.branch)

    def _file(self, root: Path, conversation_id: str) -> Path:
        return disk.child(root, *self._parts, f"{self._prefix}{conversation_id}.json")

    def _missing(self, conversation_id: str, file: Path) -> NotFound:
        return NotFound(
            Phrase(
                "there is no conversation {conversation_id!r} with {agent} on this branch",
                conversation_id=conversation_id,
                agent=self.agent,
            ),
            file=file,
        )

    def _ids(self) -> list[str]:
        folder = self.root.joinpath(*self._parts)
        pattern = f"{self._prefix}*.json"
        return sorted(file.stem.removeprefix(self._prefix) for file in folder.glob(pattern) if file.is_file())

    def _summary(self, conversation_id: str, entry: Mapping[str, Any]) -> ConversationSummary | None:
        """What a list says of a conversation; None for a file that is gone, or an old one that holds nothing."""
        try:
            found = self.read(conversation_id)
        except NotFound:
            return None
        except StonehandError as error:
            title = entry.get("title")
            return ConversationSummary(
                conversation_id, title if isinstance(title, str) else conversation_id, problem=error.problem
            )
        if not found.messages and not entry and self.agent == LIBRARIAN:
            return None
        return ConversationSummary(
            found.id, found.title, len(found.messages), found.created_at, found.updated_at, found.character
        )

    def _changed(self, conversation_id: str, change: Change, title: Callable[[str], str]) -> Conversation:
        """Rewrite a conversation and what the index says of it; `title` makes the title of the one there is."""
        file = self._file(self._writable_root(), conversation_id)
        document = self._rewrite(file, lambda raw: change(checked_document(raw, file)), missing=None)
        if document is None:
            raise self._missing(conversation_id, file)
        now = document.get("updatedAt")

        def entered(entry: Mapping[str, Any] | None) -> dict[str, Any]:
            known = conversation_of(self.agent, conversation_id, file, document, {})
            before = entry or {"id": conversation_id, "title": known.title, "createdAt": now}
            given = before.get("title")
            return {**before, "title": title(given if isinstance(given, str) else known.title), "updatedAt": now}

        problem = self._index(conversation_id, entered)
        entries, _ = self._entries()
        changed = conversation_of(self.agent, conversation_id, file, document, entries.get(conversation_id, {}))
        return changed if problem is None else replace(changed, problems=(*changed.problems, problem))

    def _entries(self) -> tuple[dict[str, Mapping[str, Any]], Problem | None]:
        """What the index says, by id, and what is wrong with it."""
        if self.agent != LIBRARIAN:
            return {}, None
        file = self._index_file(self.root)
        try:
            found = disk.read_json(file)
            listed = _listed({} if found is None else found, file)
        except StonehandError as error:
            return {}, error.problem
        return {item["id"]: item for item in listed if isinstance(item, dict) and isinstance(item.get("id"), str)}, None

    def _index_file(self, root: Path) -> Path:
        return disk.child(root, "librarian", "conversations.json")

    def _index(
        self, conversation_id: str, change: Callable[[Mapping[str, Any] | None], dict[str, Any] | None]
    ) -> Problem | None:
        """Change what the index says of a conversation, None: nothing any more; what went wrong, for it is no reason to
        lose what was said.
        """
        if self.agent != LIBRARIAN:
            return None
        try:
            file = self._index_file(self._writable_root())

            def entered(raw: Any) -> dict[str, Any]:
                listed = _listed(raw, file)
                known = next((item for item in listed if _is_entry(item, conversation_id)), None)
                entry = change(known)
                if entry is None:
                    after = [item for item in listed if not _is_entry(item, conversation_id)]
                elif known is None:
                    after = [*listed, entry]
                else:
                    after = [entry if item is known else item for item in listed]
                return {**raw, "conversations": after}

            self._rewrite(file, entered, missing={})
        except StonehandError as error:
            return error.problem
        return None

    def _rewrite(self, file: Path, change: Callable[[Any], dict[str, Any]], missing: Any) -> dict[str, Any] | None:
        """Write what `change` makes of the value in a file; returns that. `missing` stands for the value where there is
        no file; None: nothing is done then.

        A program that does not know our lock may write between reading and replacing: then it is done again.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            with self._locked(file):
                found = disk.read_bytes(file)
                if found is None and missing is None:
                    return None
                document = change(missing if found is None else disk.parse_json(found, file))
                data = disk.dump_json(document)
                if data == found:
                    return document
                disk.refuse_loss(file, found)
                try:
                    disk.write_atomic(file, data, expected=found)
                except Conflict:
                    if attempt == _ATTEMPTS:
                        raise
                else:
                    return document
            time.sleep(_RANDOM.uniform(0, _PAUSE))
        return None

    def _locked(self, file: Path) -> Any:
        return disk.lock(file, self._folder.path)

    def _keep(self, conversation_id: str, data: bytes) -> Path | None:
        with suppress(OSError, StonehandError):
            self._kept.mkdir(mode=0o700, parents=True, exist_ok=True)
            stamp = f"{datetime.now():%Y%m%d-%H%M%S}"
            name = f"{self._folder.id}-{self.branch}-{stamp}-{self._prefix}{conversation_id}.json"
            copy = disk.child(self._kept, name)
            disk.write_atomic(copy, data)
            return copy
        return None


def _listed(raw: Any, file: Path) -> list[Any]:
    listed = raw.get("conversations", []) if isinstance(raw, dict) else None
    if not isinstance(listed, list):
        raise InvalidFile("is no list of conversations, so their titles are not known", file=file, repair="repair it")
    return listed


def _is_entry(item: Any, conversation_id: str) -> bool:
    return isinstance(item, Mapping) and item.get("id") == conversation_id


def _title_after(title: str, messages: Iterable[Message]) -> str:
    """A conversation's title once these were said."""
    if title.strip() not in ("", NEW_TITLE):
        return title
    return next((title_of(item.content) for item in messages if item.role == "user"), title)


def _checked_title(title: str) -> str:
    title = "".join(char for char in collapse_space(title) if char.isprintable())
    if not title:
        raise WrongInput("a conversation needs a title")
    if len(title) > LONGEST_TITLE:
        raise WrongInput(
            Phrase("the title is {length} characters long", length=len(title)),
            repair=Phrase("give it at most {longest_title}", longest_title=LONGEST_TITLE),
        )
    return title


def _timed(message: Message, now: str) -> Message:
    return message if message.created_at else replace(message, created_at=now)


def _new_id(prefix: str, taken: set[str]) -> str:
    while True:
        moment = disk.base36(time.time_ns() // 1_000_000)
        suffix = "".join(_RANDOM.choice("0123456789abcdefghijklmnopqrstuvwxyz") for _ in range(6))
        if (found := f"{prefix}-{moment}-{suffix}") not in taken:
            return found
