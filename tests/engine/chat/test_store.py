"""Conversations on disk: the reference's files, nothing that was said is lost, nothing damaged is overwritten."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import disk
from engine.chat import ConversationStore, PersonaChoice, answer, question
from engine.errors import Conflict, InvalidFile, NotFound, StonehandError, WrongInput
from engine.models.wire.base import ChatMessage
from engine.models.wire.parts import TextPart, ToolCall
from engine.story import StoryFolder
from tests.engine.chat.conftest import CHARACTER, LIBRARIAN


def read(file: Path) -> Any:
    return json.loads(file.read_bytes())


def root(story: Path, branch: str = "main") -> Path:
    return story / "branches" / branch


def test_looking_writes_nothing(librarian: ConversationStore, character: ConversationStore, story: Path) -> None:
    before = sorted(story.rglob("*"))
    assert librarian.summaries() == character.summaries() == ()
    with pytest.raises(NotFound):
        librarian.read("cv-none")
    assert sorted(story.rglob("*")) == before


def test_the_librarians_files_are_those_of_the_reference(librarian: ConversationStore, story: Path) -> None:
    made = librarian.create(messages=[question("Who\nis  Ines? " + "x" * 80)])
    librarian.append(made.id, answer("The clerk.", reasoning="Look it up."))
    folder = root(story) / "librarian"
    document = read(folder / f"chat-{made.id}.json")
    assert made.id.startswith("cv-") and list(document) == ["messages", "updatedAt"]
    assert [{key: item[key] for key in item if key != "stonehand"} for item in document["messages"]] == [
        {"role": "user", "content": "Who\nis  Ines? " + "x" * 80},
        {"role": "assistant", "content": "The clerk.", "reasoning": "Look it up."},
    ]
    (entry,) = read(folder / "conversations.json")["conversations"]
    assert list(entry) == ["id", "title", "createdAt", "updatedAt"]
    assert entry["title"] == ("Who is Ines? " + "x" * 80)[:60] and entry["updatedAt"] == document["updatedAt"]


def test_a_characters_file_is_that_of_the_reference(character: ConversationStore, story: Path) -> None:
    made = character.create(character="ch-bafego", persona=PersonaChoice("custom", prompt="A sailor"))
    assert made.title == "New chat"
    made = character.append(made.id, question("Hello"))
    document = read(root(story) / "character-chat" / "conversations" / f"{made.id}.json")
    assert {key: document[key] for key in ("id", "characterId", "persona", "storyPointFragmentId", "title")} == {
        "id": made.id,
        "characterId": "ch-bafego",
        "persona": {"type": "custom", "prompt": "A sailor"},
        "storyPointFragmentId": None,
        "title": "Hello",
    }
    assert document["messages"][0]["createdAt"] == document["updatedAt"] >= document["createdAt"]
    assert character.set_persona(made.id, PersonaChoice("character", "ch-x")).persona.character == "ch-x"
    with pytest.raises(WrongInput, match="no character is chosen"):
        character.create()


def test_what_another_program_wrote_is_read_and_kept(librarian: ConversationStore, story: Path) -> None:
    folder = root(story) / "librarian"
    folder.mkdir()
    said = [{"role": "user", "content": "Hi", "mood": "calm"}, {"role": "tool", "content": 1}, "?"]
    (folder / "chat-history.json").write_text(json.dumps({"messages": said, "updatedAt": "2026-01-01", "theirs": [1]}))
    index = {"conversations": [{"id": "cv-a", "title": "Gone", "pinned": True}], "v": 2}
    (folder / "conversations.json").write_text(json.dumps(index))
    (listed,) = librarian.summaries()
    assert (listed.id, listed.title, listed.count) == ("history", "Hi", 1)
    found = librarian.append("history", answer("Hello"))
    assert [message.content for message in found.messages] == ["Hi", "Hello"]
    assert [problem.field for problem in found.problems] == ["messages[1]", "messages[2]"]
    librarian.rename("history", "Old days")
    document = read(folder / "chat-history.json")
    assert document["theirs"] == [1] and document["messages"][:3] == said
    index = read(folder / "conversations.json")
    assert index["v"] == 2 and index["conversations"][0] == {"id": "cv-a", "title": "Gone", "pinned": True}
    assert librarian.read("history").title == "Old days"


def test_steps_survive_and_a_text_changed_elsewhere_counts(librarian: ConversationStore) -> None:
    steps = (
        ChatMessage("assistant", "Let me see.", (TextPart("Let me see."), ToolCall("c1", "listFragments", '{"a": 1}'))),
        ChatMessage("tool", '{"fragments":[]}', call_id="c1"),
        ChatMessage("assistant", "None."),
    )
    made = librarian.create(messages=[question("Any?"), answer("Let me see.None.", steps=steps)])
    assert librarian.read(made.id).messages[1].steps == steps
    document = read(made.file)
    document["messages"][1]["content"] = "Some."
    made.file.write_text(json.dumps(document))
    assert librarian.read(made.id).messages[1].steps == ()


def test_renamed_deleted_and_put_back(librarian: ConversationStore, character: ConversationStore) -> None:
    for store, given in ((librarian, {}), (character, {"character": "ch-bafego"})):
        made = store.create(messages=[question("One")], **given)
        assert store.rename(made.id, " A\tbetter\n title ").title == "A better title"
        assert store.append(made.id, question("Two")).title == "A better title"
        with pytest.raises(WrongInput):
            store.rename(made.id, "\x1b \n")
        before = made.file.read_bytes()
        deleted = store.delete(made.id)
        assert store.summaries() == () and not made.file.exists()
        assert deleted.copy is not None and deleted.copy.read_bytes() == before
        store.restore(deleted)
        assert made.file.read_bytes() == before
        assert [item.title for item in store.summaries()] == ["A better title"]
        with pytest.raises(Conflict):
            store.restore(deleted)


def test_each_branch_has_its_own(librarian: ConversationStore, story: Path, tmp_path: Path) -> None:
    other = ConversationStore(StoryFolder(story), "br-bafego", LIBRARIAN, tmp_path / "kept")
    made = librarian.create(messages=[question("Here")])
    assert other.summaries() == ()
    with pytest.raises(NotFound):
        other.append(made.id, question("There"))


def test_a_damaged_file_is_told_of_and_never_overwritten(librarian: ConversationStore) -> None:
    good = librarian.create(messages=[question("Good")])
    for data in (b"{", b"[]", b'{"messages": {}}', b"\xff", b""):
        bad = librarian.create(messages=[question("Bad")])
        bad.file.write_bytes(data)
        (listed,) = [item for item in librarian.summaries() if item.id == bad.id]
        assert listed.problem is not None and listed.problem.file == bad.file and listed.title == "Bad"
        with pytest.raises(InvalidFile):
            librarian.append(bad.id, answer("lost?"))
        with pytest.raises(InvalidFile):
            librarian.rename(bad.id, "lost?")
        assert bad.file.read_bytes() == data
        assert librarian.delete(bad.id).data == data
    assert [item.id for item in librarian.summaries()] == [good.id]


def test_a_damaged_index_is_told_of_and_loses_no_message(librarian: ConversationStore) -> None:
    made = librarian.create(messages=[question("Who?")])
    index = made.file.with_name("conversations.json")
    index.write_bytes(b'{"conversations": 3}')
    found = librarian.append(made.id, answer("Ines."))
    assert len(found.messages) == 2 and found.title == "Who?"
    assert {problem.file for problem in found.problems} == {index}
    assert index.read_bytes() == b'{"conversations": 3}'
    assert [item.id for item in librarian.summaries()] == [made.id]


def test_names_lead_nowhere(librarian: ConversationStore) -> None:
    for name in ("../../meta", "a/b", "", "x\0"):
        with pytest.raises((WrongInput, NotFound)):
            librarian.read(name)
    with pytest.raises(WrongInput, match="is not talked with"):
        ConversationStore(StoryFolder(Path("x")), "main", "generation.writer", Path("y"))


def test_a_withdrawn_question_stays_in_its_file(librarian: ConversationStore) -> None:
    made = librarian.create(messages=[question("Too long")])
    asked = made.messages[0]
    found = librarian.withdraw(made.id, asked.id, "the prompt is too long")
    assert found.unanswered is not None and found.unanswered.withdrawn == "the prompt is too long"
    assert librarian.withdraw(made.id, asked.id, "").messages == made.messages


@pytest.mark.parametrize("step", ["_write", "_sync", "_replace"])
def test_a_write_that_ends_halfway_leaves_the_old_file(
    librarian: ConversationStore, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    made = librarian.create(messages=[question("One")])
    before = made.file.read_bytes()

    def ended(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(disk, step, ended)
        with pytest.raises(StonehandError, match="no space left"):
            librarian.append(made.id, question("Two"))
    assert made.file.read_bytes() == before
    assert len(librarian.append(made.id, question("Two")).messages) == 2


PROGRAM = """
import sys
from pathlib import Path
from engine import disk
from engine.chat import ConversationStore, question
from engine.story import StoryFolder

story, agent, name, who, rounds = sys.argv[1:]
disk._sync = disk._sync_folder = lambda handle: None
store = ConversationStore(StoryFolder(Path(story)), "main", agent, Path(story))
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(rounds)):
    before = store.read(name).messages
    after = store.append(name, question(f"{who}{number}")).messages
    assert after[: len(before)] == before, "what was said has changed"
"""


@pytest.mark.parametrize("agent", [LIBRARIAN, CHARACTER])
def test_two_processes_lose_nothing(story: Path, state: Path, tmp_path: Path, agent: str) -> None:
    store = ConversationStore(StoryFolder(story), "main", agent, tmp_path / "kept")
    made = store.create(character="ch-bafego")
    rounds = 40
    environ = {**os.environ, "STONEHAND_STATE": str(state)}
    others = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(story), agent, made.id, who, str(rounds)],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for who in "ab"
    ]
    for other in others:
        assert other.stdout is not None and other.stdout.readline() == b"ready\n"
    for other in others:
        assert other.stdin is not None
        other.stdin.write(b"go\n")
        other.stdin.flush()
    for other in others:
        other.communicate(timeout=60)
        assert other.returncode == 0
    said = [message.content for message in store.read(made.id).messages]
    for who in "ab":
        assert [item for item in said if item.startswith(who)] == [f"{who}{number}" for number in range(rounds)]
