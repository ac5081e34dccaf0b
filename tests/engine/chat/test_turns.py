"""What is sent of a conversation: only ever added to, calls with their results, failed turns as they are to be."""

from __future__ import annotations

import json
from dataclasses import replace
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
    history,
    question,
    settled_answer,
)
from engine.chat.compaction import (
    ACKNOWLEDGED,
    dump_summary,
    history_tokens,
    older_than,
    read_summary,
    summary_of,
    transcript,
)
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


def test_a_summary_stands_for_the_first_messages() -> None:
    thinking = ChatMessage("assistant", "Yes.", (ThinkingPart("Hm.", "s"), TextPart("Yes.")))
    talked = (
        question("a " * 400),
        answer("Aha."),
        question("Odd"),
        question("Go on"),
        answer("Yes.", steps=(CALLING, RESULT, thinking)),
    )
    talked = (*talked[:2], replace(talked[2], withdrawn="too odd"), *talked[3:])
    assert [older_than(talked, keep) for keep in (0, 1, 2, 3)] == [5, 3, 0, 0]
    assert older_than((*talked, question("More")), 0) == 5, "what waits for its answer is sent"
    summary = summary_of(talked, 3, " They said a. ", "2026-01-01T00:00:00.000Z", "m-1")
    assert read_summary(json.loads(json.dumps(dump_summary(summary)))) == summary
    sent = history(talked, summary)
    assert [message.role for message in sent] == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    assert sent[1].content == ACKNOWLEDGED and sent[0].content.endswith("They said a.")
    assert sent[3:5] == (CALLING, RESULT) and sent[5].parts == (TextPart("Yes."),)
    assert history_tokens(sent) < history_tokens(history(talked)) / 2
    assert summary.holds(talked) and summary.holds(talked[:3])
    assert not summary.holds(talked[:2]) and not summary.holds((replace(talked[0], content="b"), *talked[1:]))
    told = transcript(history(talked))
    assert "Author: Go on" in told and "[calls " in told and "[result] " in told and "Odd" not in told
    good = {"count": 1, "of": "", "text": "x"}
    for bad in (None, {}, {**good, "count": 0}, {**good, "count": True}, {**good, "text": " "}, {**good, "of": 1}):
        assert read_summary(bad) is None
