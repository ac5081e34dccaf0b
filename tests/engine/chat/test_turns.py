"""What is sent of a conversation: only ever added to, calls with their results, failed turns as they are to be."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import disk
from engine.chat import (
    CHAT_AGENTS,
    ConversationStore,
    Message,
    answer,
    compaction_of,
    history,
    question,
    settled_answer,
)
from engine.chat.compaction import ACKNOWLEDGED, history_tokens
from engine.chat.turns import INTERRUPTED, STEP_LIMIT
from engine.models.wire.base import ChatMessage
from engine.models.wire.conversation import answered
from engine.models.wire.parts import TextPart, ThinkingPart, ToolCall
from engine.story import StoryFolder
from tests.stories import make_story

CALLING = ChatMessage("assistant", "Looking.", (TextPart("Looking."), ToolCall("c1", "listFragments", "{}")))
RESULT = ChatMessage("tool", '{"fragments":[]}', call_id="c1")
LAST = ChatMessage("assistant", "Nobody.")


def said(messages: tuple[ChatMessage, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


def test_calls_are_sent_with_their_results() -> None:
    whole = settled_answer("Looking.Nobody.", (CALLING, RESULT, LAST), "")
    assert whole is not None
    assert history((question("Who?"), whole)) == (ChatMessage("user", "Who?"), CALLING, RESULT, LAST)


def test_an_answer_of_one_step_is_its_text() -> None:
    whole = settled_answer("Nobody.", (LAST,), "", model="m")
    assert whole is not None and whole.steps == () and whole.model == "m" and not whole.interrupted
    assert history((whole,)) == (LAST,)


def test_a_failure_that_can_be_gone_on_from_keeps_the_steps_done() -> None:
    begun = ChatMessage("assistant", "", (ToolCall("c2", "findFragments", "{}"),))
    broken = settled_answer("Looking.Then", (CALLING, RESULT, begun), "", failure="the connection failed")
    assert broken is not None and broken.content == "Looking.Then" and broken.interrupted == "the connection failed"
    assert said(history((question("Who?"), broken))) == [
        ("user", "Who?"),
        ("assistant", "Looking."),
        ("tool", '{"fragments":[]}'),
        ("assistant", INTERRUPTED),
    ]


def test_without_a_step_the_question_and_the_note_stay() -> None:
    for text in ("", "  ", "Half a sen"):
        broken = settled_answer(text, (), "", failure="stopped")
        assert broken is not None and broken.content.strip()
        assert said(history((question("Who?"), broken))) == [("user", "Who?"), ("assistant", INTERRUPTED)]


def test_another_failure_rolls_the_turn_back() -> None:
    assert settled_answer("Half", (CALLING, RESULT), "", failure="HTTP 400", keeps_progress=False) is None
    withdrawn = Message("user", "Too long", withdrawn="HTTP 400")
    assert said(history((question("One"), answer("Two"), withdrawn))) == [("user", "One"), ("assistant", "Two")]


def test_the_step_limit_is_no_failure() -> None:
    limited = settled_answer("Looking.", (CALLING, RESULT), "", step_limit=True)
    assert limited is not None and not limited.interrupted
    assert history((limited,))[-1] == ChatMessage("assistant", STEP_LIMIT)


def test_a_question_that_was_never_answered_gets_the_note() -> None:
    assert said(history((question("One"), question("Two")))) == [
        ("user", "One"),
        ("assistant", INTERRUPTED),
        ("user", "Two"),
    ]


Turn = tuple[str, tuple[ChatMessage, ...], str, str]
"""What is asked, the steps done, how it ends, what is said."""
_TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
_STEPS = st.sampled_from([(), (CALLING, RESULT), (CALLING,), (CALLING, RESULT, LAST)])
_TURNS = st.tuples(_TEXTS, _STEPS, st.sampled_from(["", "stopped", "HTTP 400", "killed"]), _TEXTS)


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the disk is most of the time, and no power is cut here."""
    monkeypatch.setattr(disk, "_sync", lambda handle: None)
    monkeypatch.setattr(disk, "_sync_folder", lambda folder: None)


@pytest.mark.parametrize("agent", CHAT_AGENTS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(_TURNS, min_size=1, max_size=4))
def test_what_was_sent_is_never_changed(
    unsynced: None, agent: str, turns: list[tuple[str, tuple[ChatMessage, ...], str, str]]
) -> None:
    """However turns end, each request begins with all of the last one that was not rolled back, calls are answered,
    and what is on disk reads as it was written.
    """
    with TemporaryDirectory() as place:
        story = make_story(Path(place))
        store = ConversationStore(StoryFolder(story), "main", agent, Path(place) / "kept")
        known = store.create(character="ch-bafego")
        sent: tuple[ChatMessage, ...] = ()
        for asked, steps, end, told in turns:
            known = store.append(known.id, question(asked))
            request = history(known.messages)
            assert request[: len(sent)] == sent and answered(request) == request
            failure = "" if end == "killed" else end
            settled = settled_answer(told, steps, "", failure=failure, keeps_progress=end != "HTTP 400")
            if end == "killed":
                sent = request
            elif settled is None:
                known = store.withdraw(known.id, known.messages[-1].id, failure)
            else:
                if not failure:
                    settled = settled_answer(told, answered(steps), "")
                    assert settled is not None
                known = store.append(known.id, settled)
                sent = request
            assert store.read(known.id).messages == known.messages


def test_a_long_history_is_shortened_before_a_turn() -> None:
    thinking = ChatMessage("assistant", "Yes.", (ThinkingPart("Hm.", "s"), TextPart("Yes.")))
    long = (ChatMessage("user", "a " * 400), thinking, ChatMessage("user", "Go on"), CALLING, RESULT, thinking)
    size = history_tokens(long)
    assert compaction_of(long, None, 1) is None
    assert compaction_of(long, size, 1) is None
    assert compaction_of(long, 10, 2) is None
    assert compaction_of(long, 10, 1, failed_at=size) is None
    found = compaction_of(long, 10, 1, failed_at=size // 2)
    assert found is not None and found.older == long[:2]
    after = found.with_summary("They said a.")
    assert [message.role for message in after] == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    assert after[1].content == ACKNOWLEDGED and "They said a." in after[0].content
    assert after[3:5] == (CALLING, RESULT) and after[5].parts == (TextPart("Yes."),)
