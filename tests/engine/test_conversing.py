"""Talking with an agent: what is on disk and what is sent at every moment, however a turn ends."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.budget import OverBudget
from engine.chat import PersonaChoice
from engine.errors import NotFound, StonehandError, WrongInput
from engine.models.wire.base import Failure, Stop
from engine.workspace import Workspace
from engine.workspace.conversations import CONTINUE, INTERRUPTED, Partner
from tests.chatting import RENAMING, Scripted, calling
from tests.engine.conftest import STORY

LIBRARIAN = "librarian.chat"
CHARACTER = "character-chat.chat"


@pytest.fixture
def scripted(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    def use(*scripts: list[Any]) -> Scripted:
        wire = Scripted(*scripts)
        monkeypatch.setattr(workspace.wires, "of", lambda *args, **options: wire)
        return wire

    return use


def test_a_question_its_answer_and_the_next(workspace: Workspace, scripted: Callable[..., Scripted]) -> None:
    wire = scripted(["Nine", " boats."], ["Ten."])
    talk = workspace.conversations
    store = talk.store(STORY, LIBRARIAN)
    first = talk.ask(store, STORY, None, "How many?")
    assert store.read(first.conversation.id).messages[0].content == "How many?"
    saved = first.saved.result(5)
    assert [message.content for message in saved.messages] == ["How many?", "Nine boats."]
    assert saved.messages[1].model == "m-1" and saved.title == "How many?" and talk.turn(saved) is None
    assert wire.sent() == [("user", "How many?")]
    talk.ask(store, STORY, saved, "Sure?").saved.result(5)
    assert wire.sent() == [("user", "How many?"), ("assistant", "Nine boats."), ("user", "Sure?")]
    assert wire.requests[0].messages[:2] == wire.requests[1].messages[:2]


def test_what_tools_gave_is_sent_again(workspace: Workspace, scripted: Callable[..., Scripted]) -> None:
    wire = scripted(["Let me see. ", *calling("readStorySummary")], ["None."], ["Yes."])
    talk = workspace.conversations
    store = talk.store(STORY, LIBRARIAN)
    saved = talk.ask(store, STORY, None, "A summary?").saved.result(5)
    assert "readStorySummary" in {tool.name for tool in wire.requests[0].tools}
    assert [step.role for step in saved.messages[1].steps] == ["assistant", "tool", "assistant"]
    first = wire.requests[1].messages
    talk.ask(store, STORY, saved, "Sure?").saved.result(5)
    assert wire.requests[2].messages[: len(first)] == first
    assert [role for role, _ in wire.sent()] == ["user", "assistant", "tool", "assistant", "user"]
    document = json.loads(saved.file.read_bytes())["messages"][1]
    assert document["role"] == "assistant" and document["content"].startswith("Let me see.")


@pytest.mark.parametrize("accept", [True, False])
def test_changes_wait_for_the_author(
    workspace: Workspace, scripted: Callable[..., Scripted], story: Path, accept: bool
) -> None:
    scripted(RENAMING, ["Well."])
    talk = workspace.conversations
    turn = talk.ask(talk.store(STORY, LIBRARIAN), STORY, None, "She counts once.")
    file = story / "branches" / "main" / "fragments" / "ch-bafego.json"
    before = file.read_bytes()
    while not (waiting := turn.waiting):
        assert not turn.finished
    assert file.read_bytes() == before
    turn.decide(waiting[0].id, accept)
    saved = turn.saved.result(5)
    assert ("Counts." in json.loads(file.read_bytes())["content"]) == accept == (file.read_bytes() != before)
    assert saved.messages[1].content == "Well." and len(saved.messages[1].steps) == 3


def test_a_failure_behind_a_step_keeps_the_step(workspace: Workspace, scripted: Callable[..., Scripted]) -> None:
    wire = scripted(calling("readStorySummary"), ["Then", Failure("network", "it broke off")], ["Yes."])
    talk = workspace.conversations
    store = talk.store(STORY, LIBRARIAN)
    saved = talk.ask(store, STORY, None, "A summary?").saved.result(5)
    assert saved.messages[1].interrupted == "it broke off" and "Then" in saved.messages[1].content
    talk.ask(store, STORY, saved, None).saved.result(5)
    assert [role for role, _ in wire.sent()] == ["user", "assistant", "tool", "assistant", "user"]
    assert wire.sent()[-2:] == [("assistant", INTERRUPTED), ("user", CONTINUE)]


def test_stopped_and_gone_on_with(workspace: Workspace, scripted: Callable[..., Scripted]) -> None:
    wire = scripted(["Ni", ...], ["Nine."])
    talk = workspace.conversations
    store = talk.store(STORY, LIBRARIAN)
    turn = talk.ask(store, STORY, None, "How many?")
    while turn.view().text != "Ni":
        assert not turn.finished
    with pytest.raises(WrongInput, match="still arriving"):
        talk.ask(store, STORY, turn.conversation, "And?")
    assert talk.turn(turn.conversation) is turn
    turn.stop()
    saved = turn.saved.result(5)
    assert (saved.messages[1].content, saved.messages[1].interrupted) == ("Ni", "stopped")
    talk.ask(store, STORY, saved, None).saved.result(5)
    assert wire.sent() == [("user", "How many?"), ("assistant", INTERRUPTED), ("user", CONTINUE)]


def test_a_refused_turn_is_rolled_back_and_can_be_tried_again(
    workspace: Workspace, scripted: Callable[..., Scripted]
) -> None:
    wire = scripted([Failure("bad_request", "HTTP 400: no")], ["Yes."], ["Nine."])
    talk = workspace.conversations
    store = talk.store(STORY, LIBRARIAN)
    saved = talk.ask(store, STORY, None, "How many?").saved.result(5)
    assert saved.unanswered is not None and saved.unanswered.withdrawn == "HTTP 400: no"
    other = talk.ask(store, STORY, saved, "Well?").saved.result(5)
    assert wire.sent() == [("user", "Well?")]
    assert [message.content for message in other.messages] == ["How many?", "Well?", "Yes."]
    scripted([Failure("bad_request", "HTTP 400: no")], ["Nine."])
    saved = talk.ask(store, STORY, None, "Again?").saved.result(5)
    saved = talk.ask(store, STORY, saved, None).saved.result(5)
    assert [(item.content, item.withdrawn) for item in saved.messages] == [("Again?", ""), ("Nine.", "")]


def test_a_lost_connection_keeps_the_question(workspace: Workspace, scripted: Callable[..., Scripted]) -> None:
    scripted(["Ni", Failure("network", "the answer broke off")])
    talk = workspace.conversations
    saved = talk.ask(talk.store(STORY, LIBRARIAN), STORY, None, "How many?").saved.result(5)
    assert [(item.content, item.interrupted) for item in saved.messages] == [
        ("How many?", ""),
        ("Ni", "the answer broke off"),
    ]


def test_what_arrived_is_kept_when_the_program_closes(
    workspace: Workspace, scripted: Callable[..., Scripted], opened: Callable[..., Workspace]
) -> None:
    scripted(["Ni", ...])
    talk = workspace.conversations
    turn = talk.ask(talk.store(STORY, LIBRARIAN), STORY, None, "How many?")
    while turn.view().text != "Ni":
        pass
    workspace.close()
    found = opened().conversations.store(STORY, LIBRARIAN).read(turn.conversation.id)
    assert [message.content for message in found.messages] == ["How many?", "Ni"]
    assert found.messages[1].interrupted in ("stopped", "the program was closed")


def test_a_whole_answer_is_kept_when_the_program_closes_before_it_is_written(
    workspace: Workspace,
    scripted: Callable[..., Scripted],
    opened: Callable[..., Workspace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = threading.Event()

    async def never(*_: object) -> None:
        waits.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(
        "engine.workspace.conversations.asyncio", SimpleNamespace(**{**vars(asyncio), "to_thread": never})
    )
    scripted(["Nine."])
    talk = workspace.conversations
    turn = talk.ask(talk.store(STORY, LIBRARIAN), STORY, None, "How many?")
    assert waits.wait(10)
    workspace.close()
    found = opened().conversations.store(STORY, LIBRARIAN).read(turn.conversation.id)
    assert [(message.content, message.interrupted) for message in found.messages[1:]] == [("Nine.", "")]


def test_an_answer_that_cannot_be_kept_is_put_where_it_can_be_found(
    workspace: Workspace, scripted: Callable[..., Scripted], state: Path
) -> None:
    scripted(["Nine.", ...])
    talk = workspace.conversations
    turn = talk.ask(talk.store(STORY, LIBRARIAN), STORY, None, "How many?")
    while turn.view().text != "Nine.":
        pass
    turn.conversation.file.write_text("{")
    turn.stop()
    with pytest.raises(StonehandError, match="it is written to"):
        turn.saved.result(5)
    assert turn.conversation.file.read_text() == "{"
    assert [file.read_text() for file in (state / "rescued").iterdir()] == ["Nine."]


def test_nothing_is_written_for_what_cannot_be_sent(
    workspace: Workspace, scripted: Callable[..., Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted()
    talk = workspace.conversations
    librarian, character = talk.store(STORY, LIBRARIAN), talk.store(STORY, CHARACTER)
    with pytest.raises(WrongInput, match="nothing to send"):
        talk.ask(librarian, STORY, None, " \n")
    with pytest.raises(WrongInput, match="nothing to send again"):
        talk.ask(librarian, STORY, None, None)
    with pytest.raises(NotFound, match="ch-gone"):
        talk.ask(character, STORY, None, "Hello", partner=Partner("ch-gone"))
    with pytest.raises(WrongInput, match="no character is chosen"):
        talk.ask(character, STORY, None, "Hello")
    budget = workspace.models.budget(STORY, LIBRARIAN)
    monkeypatch.setattr(type(budget), "fit", lambda self, estimate: "no")
    with pytest.raises(OverBudget):
        talk.ask(librarian, STORY, None, "Hello")
    assert librarian.summaries() == character.summaries() == ()


def test_the_beginning_of_a_long_conversation_is_sent_as_a_summary(
    workspace: Workspace, scripted: Callable[..., Scripted]
) -> None:
    talk = workspace.conversations
    store = talk.store(STORY, LIBRARIAN)
    wire = scripted(["One."], ["Two."], ["Three."], ["They counted."], ["Four."], ["They went on."], ["Five."])
    saved = None
    for text in ("1?", "2?", "3?"):
        saved = talk.ask(store, STORY, saved, text).saved.result(5)
    assert saved is not None
    read = saved.messages
    compacting = talk.compact(store, STORY, saved, keep=1)
    saved = compacting.saved.result(5)
    assert saved.messages == read and saved.summary is not None
    assert (saved.summary.text, saved.summary.count, saved.summary.model) == ("They counted.", 4, "m-1")
    request = wire.requests[-1]
    assert request.tools == () and "Author: 2?" in request.messages[-1].content
    assert "3?" not in request.messages[-1].content and len(request.messages) == 2
    assert workspace.runs.all(STORY).runs[0].agent == LIBRARIAN, "it costs tokens, so it is on record"
    with pytest.raises(WrongInput, match="nothing is left"):
        talk.compact(store, STORY, saved, keep=1)
    saved = talk.ask(store, STORY, saved, "4?").saved.result(5)
    sent = [text for _, text in wire.sent()]
    assert sent[0].endswith("They counted.") and sent[2:] == ["3?", "Three.", "4?"]
    saved = talk.compact(store, STORY, saved, keep=1).saved.result(5)
    asked = wire.requests[-1].messages[-1].content
    assert "They counted." in asked and "3?" in asked and "1?" not in asked
    # Another program changes what was summarised: the older summary still holds, then none does.
    document = json.loads(store.read(saved.id).file.read_bytes())
    document["messages"][5]["content"] = "3!"
    saved.file.write_text(json.dumps(document), "utf-8")
    changed = store.read(saved.id)
    assert changed.summary is not None and changed.summary.text == "They counted." and changed.problems == ()
    document["messages"][0]["content"] = "0?"
    saved.file.write_text(json.dumps(document), "utf-8")
    changed = store.read(saved.id)
    assert changed.summary is None and "all of them are sent" in str(changed.problems[0])
    talk.ask(store, STORY, changed, "5?").saved.result(5)
    assert wire.sent()[0] == ("user", "0?")


@pytest.mark.parametrize("script", [["Half", Failure("network", "gone")], ["Half", Stop("max_tokens")], [" "]])
def test_a_summary_that_is_not_whole_changes_nothing(
    workspace: Workspace, scripted: Callable[..., Scripted], script: list[Any]
) -> None:
    scripted(["One."], script)
    talk = workspace.conversations
    store = talk.store(STORY, LIBRARIAN)
    saved = talk.ask(store, STORY, None, "1?").saved.result(5)
    before = saved.file.read_bytes()
    with pytest.raises(StonehandError, match="as it was"):
        talk.compact(store, STORY, saved, keep=0).saved.result(5)
    assert saved.file.read_bytes() == before
    assert store.read(saved.id).summary is None


def test_a_conversation_that_does_not_fit_is_not_sent_and_says_how_to_go_on(
    workspace: Workspace, scripted: Callable[..., Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(["One. " * 4000], ["Short."], ["Two."])
    talk = workspace.conversations
    store = talk.store(STORY, LIBRARIAN)
    saved = talk.ask(store, STORY, None, "1?").saved.result(5)
    before = saved.file.read_bytes()
    budget = workspace.models.budget(STORY, LIBRARIAN)
    monkeypatch.setattr(type(budget), "fit", lambda self, tokens: "no" if tokens > 5000 else "yes")
    with pytest.raises(OverBudget, match="--compact"):
        talk.ask(store, STORY, saved, "2?")
    with pytest.raises(OverBudget, match="larger context"):
        talk.compact(store, STORY, saved, keep=0)
    assert saved.file.read_bytes() == before
    monkeypatch.setattr(type(budget), "fit", lambda self, tokens: "yes")
    saved = talk.compact(store, STORY, saved, keep=0).saved.result(5)
    monkeypatch.setattr(type(budget), "fit", lambda self, tokens: "no" if tokens > 5000 else "yes")
    assert talk.ask(store, STORY, saved, "2?").saved.result(5).messages[-1].content == "Two."


def test_a_character_answers_as_who_it_is_to_whom_it_knows(
    workspace: Workspace, scripted: Callable[..., Scripted]
) -> None:
    wire = scripted(["Good day."], ["Oh."])
    talk = workspace.conversations
    store = talk.store(STORY, CHARACTER)
    partner = Partner("ch-bafego", PersonaChoice("custom", prompt="A tax inspector"), "pr-aaaa00")
    saved = talk.ask(store, STORY, None, "Hello", partner=partner).saved.result(5)
    prompt = "".join(message.content for message in wire.requests[0].messages)
    assert "Counts everything twice" in prompt and "A tax inspector" in prompt
    assert "burned all night" in prompt and "Ines counted the boats" not in prompt
    store.set_persona(saved.id, PersonaChoice())
    talk.ask(store, STORY, saved, "And now?").saved.result(5)
    assert "A tax inspector" not in "".join(message.content for message in wire.requests[1].messages)
    assert [item.name for item in talk.characters(STORY)] == ["Ines"]
