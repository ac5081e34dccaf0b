"""`chat`: a conversation over a loopback provider, and what can be done with conversations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.workspace.wires import Wires
from tests.chatting import RENAMING, Scripted
from tests.cli.conftest import Run
from tests.mock_provider.scripts import plain
from tests.mock_provider.server import Reply
from tests.mock_provider.serving import Serve
from tests.stories import make_story

LIBRARIAN = ("chat", "the-quay", "librarian.chat")


def add(run: Run, base_url: str) -> None:
    assert run("providers", "add", "mine", "--base-url", base_url, "--model", "m-1").code == 0


def test_a_conversation_over_a_provider(run: Run, story: Path, serve: Serve) -> None:
    mock = serve(plain("Nine", " boats.\x1b[2J"), plain("Ten."), [Reply(400, {"error": {"message": "too odd"}})])
    add(run, mock.base_url)
    done = run(*LIBRARIAN, "How many?", "--provider", "mine")
    assert (done.code, done.text) == (0, "Nine boats.\x1b[2J\n")
    done = run(*LIBRARIAN, "-", "--provider", "mine", "--events", stdin=b"Sure?\n")
    events = [json.loads(line) for line in done.text.splitlines()]
    assert [event["text"] for event in events if event["type"] == "text"] == ["Ten."]
    assert [event["type"] for event in events if event["type"] != "progress"] == ["text", "finish", "saved"]
    sent = mock.received[1].document["messages"]
    assert sent[:2] == mock.received[0].document["messages"][:2]
    assert [(item["role"], item["content"]) for item in sent[2:]] == [
        ("user", "How many?"),
        ("assistant", "Nine boats.\x1b[2J"),
        ("user", "Sure?\n"),
    ]
    done = run(*LIBRARIAN, "Really?", "--provider", "mine", "--json")
    assert done.code == 1 and "too odd" in done.err and done.document["failure"]
    (listed,) = run(*LIBRARIAN, "--list", "--json").document
    assert (listed["title"], listed["messages"], listed["problem"]) == ("How many?", 5, None)
    shown = run(*LIBRARIAN, "--show", "--json").document
    assert "too odd" in shown["messages"][4]["withdrawn"]
    assert "\x1b" not in run(*LIBRARIAN, "--show").text


def test_changes_are_declined_where_nobody_can_be_asked(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = make_story(data, settings={"autoApplyLibrarianSuggestions": True})
    file = story / "branches" / "main" / "fragments" / "ch-bafego.json"
    before = file.read_bytes()
    for edits in (("--edits", "ask"), ("--edits", "decline"), (), ("--accept-edits", "--json")):
        wire = Scripted(RENAMING, ["Well."])
        monkeypatch.setattr(Wires, "of", lambda *_, wire=wire, **__: wire)
        done = run(*LIBRARIAN, "She counts once.", "--new", *edits)
        assert done.code == 0 and "change character ch-bafego (Ines)" in done.err
        accepted = "--accept-edits" in edits
        assert (file.read_bytes() != before) == accepted, "whatever the story's setting"
        if accepted:
            assert [change["decision"] for change in done.document["changes"]] == ["applied"]
        else:
            assert done.text == "Well.\n" and "  - Harbour clerk. Counts everything twice." in done.err
    assert run(*LIBRARIAN, "Hi", "--accept-edits", "--edits", "decline").code == 2


def test_a_character_and_its_persona(run: Run, story: Path) -> None:
    chat = ("chat", "the-quay", "character-chat.chat", "--pace", "0", "--provider", "rehearsal")
    assert run(*chat, "Hello").code == 2
    done = run(*chat, "Hello", "--character", "ch-bafego", "--persona", "A tax inspector", "--json")
    assert done.code == 0 and done.document["title"] == "Hello" and done.document["text"]
    assert run(*chat, "More", "--character", "ch-other").code != 0
    assert run(*chat, "More", "--persona", "stranger").code == 0
    (file,) = (story / "branches" / "main" / "character-chat" / "conversations").glob("*.json")
    document = json.loads(file.read_bytes())
    assert document["persona"] == {"type": "stranger"} and len(document["messages"]) == 4


def test_renamed_deleted_and_refused(run: Run, story: Path) -> None:
    for _ in range(2):
        assert run(*LIBRARIAN, "Hi", "--new", "--pace", "0", "--provider", "rehearsal").code == 0
    first, second = (item["id"] for item in run(*LIBRARIAN, "--list", "--json").document)
    done = run(*LIBRARIAN, "--conversation", first, "--rename", "The\nletter")
    assert (done.code, done.text) == (0, "") and f"{first}: The letter" in done.err
    done = run(*LIBRARIAN, "--conversation", second, "--delete")
    assert done.code == 0 and "a copy is" in done.err
    listed = run(*LIBRARIAN, "--list").text
    assert "The letter" in listed and second not in listed
    for wrong in (("--rename", "x"), ("Hi", "--list"), (), ("Hi", "--new", "--conversation", first)):
        assert run(*LIBRARIAN, *wrong).code == 2
    assert run("chat", "the-quay", "generation.writer", "Hi").code == 2
    assert run(*LIBRARIAN, "Hi", "--conversation", "cv-none").code == 1


def test_the_beginning_is_summarised_and_shown_with_what_it_stands_for(run: Run, story: Path, serve: Serve) -> None:
    mock = serve(plain("One."), plain("They counted.\x1b[2J"), plain("Two."))
    add(run, mock.base_url)
    assert run(*LIBRARIAN, "--compact").code == 2
    assert run(*LIBRARIAN, "1?", "--provider", "mine").code == 0
    assert "nothing is left" in run(*LIBRARIAN, "--compact", "--provider", "mine").err
    assert "can't summarise" in run(*LIBRARIAN, "--compact", "--keep", "0", "--provider", "rehearsal").err
    done = run(*LIBRARIAN, "--compact", "--keep", "0", "--provider", "mine", "--json")
    assert (done.code, done.document["summary"]["messages"]) == (0, 2)
    assert run(*LIBRARIAN, "2?", "--provider", "mine").code == 0
    assert [item["role"] for item in mock.received[2].document["messages"][2:]] == ["user", "assistant", "user"]
    shown = run(*LIBRARIAN, "--show").text
    assert shown.index("One.") < shown.index("sent as this summary") < shown.index("They counted.") < shown.index("2?")
    assert "\x1b" not in shown
    document = run(*LIBRARIAN, "--show", "--json").document
    assert document["summary"]["model"] and len(document["messages"]) == 4
