"""The rehearsal wire: its passages as a pure function, and how they are streamed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import WrongInput
from engine.models.tokens import estimate_tokens
from engine.models.wire.base import ChatMessage, Request, Start, Stop, Text, Usage, Wire
from engine.models.wire.events import Event
from engine.models.wire.rehearsal import MAX_WORDS, MIN_WORDS, RehearsalWire, compose, prompt_key

ROOT = Path(__file__).parents[3]

PROSE = (
    "The lamp had burned since dusk and the keeper had not slept. Below the gallery the sea worked at the rocks, and "
    "every ninth wave sent a shiver up the iron stair. Ines counted them the way her father had taught her.\n\n"
    '"You said he\'d come back," Tam muttered.\n\n'
    '"I said he *might*." She did not look up from the rope. "There is a difference, and there was always a '
    'difference."\n\n'
    "The kettle ticked as it cooled. Somewhere above them a shutter banged twice, then held.",
    "In the morning the wind had dropped. The boat lay on its side on the shingle, and the men stood around it with "
    "their hands in their pockets. Nobody said anything about the light.\n\n"
    '"Did it burn?" the oldest asked at last.\n\n"It burned," said Ines. "You were not looking."',
)
CHINESE = (
    "灯塔的灯从黄昏一直亮到现在，看守人整夜没有合眼。走廊下面，海水像石匠一样耐心地敲打着礁石，每到第九个浪头，铁梯便微微颤抖。"
    "她按照父亲教的方法数着浪，不是为了求个好运，而是为了让时辰诚实。\n\n“你真的要走吗？”她低声问道。\n\n“天亮之前必须过河。”"
    "他系好斗篷，没有回头。屋外的狗叫了两声，又安静下来。",
)


def request(text: str = "Write what happens next.", **more: object) -> Request:
    messages = (ChatMessage("system", "You write prose."), ChatMessage("user", text))
    return Request(messages, model="rehearsal", **more)  # type: ignore[arg-type]


def wire(prose: Sequence[str] = PROSE, pace: float = 0) -> RehearsalWire:
    return RehearsalWire(prose, words_per_second=pace)


async def events(of: Wire, asked: Request) -> list[Event]:
    return [event async for event in of.stream(asked)]


def passage(of: list[Event]) -> str:
    return "".join(event.text for event in of if isinstance(event, Text))


def word_count(text: str) -> int:
    return sum(any(map(str.isalnum, word)) for word in text.split())


# --- the passage ---------------------------------------------------------------------------------------------------

KEYS = st.integers(0, 2**128 - 1)


@given(KEYS)
def test_a_passage_has_its_length_and_ends_with_a_sentence(key: int) -> None:
    text = "".join(compose(PROSE, key))
    assert MIN_WORDS <= word_count(text) <= MAX_WORDS * 3 // 2
    assert text.rstrip('"')[-1] in ".!?"


@given(KEYS)
def test_dialogue_is_closed_in_every_paragraph(key: int) -> None:
    text = "".join(compose(PROSE, key))
    assert all(paragraph.count('"') % 2 == 0 for paragraph in text.split("\n\n"))
    assert text == text.strip()
    assert "\n\n\n" not in text


@given(KEYS)
def test_it_speaks_with_the_storys_words(key: int) -> None:
    known = set(" ".join(PROSE).replace('"', " ").replace("*", "").replace(".", " ").replace(",", " ").split())
    text = "".join(compose(PROSE, key))
    said = text.replace('"', " ").replace(".", " ").replace(",", " ").replace("?", " ").split()
    assert {word.rstrip("?") for word in said} <= {word.rstrip("?") for word in known}


def test_paragraphs_appear_and_it_does_not_recite() -> None:
    texts = ["".join(compose(PROSE, key)) for key in range(20)]
    assert sum("\n\n" in text for text in texts) > 10
    assert len(set(texts)) == 20
    assert not any(text in "\n\n".join(PROSE) for text in texts)


@given(st.lists(st.text(max_size=300), max_size=6), KEYS)
@settings(deadline=None)
def test_any_prose_gives_a_passage(prose: list[str], key: int) -> None:
    text = "".join(compose(prose, key))
    assert text.strip()
    assert compose(prose, key) == compose(prose, key)


def test_without_prose_it_says_what_it_is() -> None:
    texts = ["".join(compose([], key)) for key in range(10)]
    assert len(set(texts)) == 10
    assert any("rehearsal" in text or "Nothing has been written" in text for text in texts)


def test_chinese_is_imitated_by_the_character() -> None:
    pieces = compose(CHINESE * 2, 5)
    text = "".join(pieces)
    assert MIN_WORDS <= sum(map(str.isalnum, text)) <= MAX_WORDS * 3 // 2
    assert max(len(piece.strip()) for piece in pieces) <= 2
    assert text.rstrip("”")[-1] in "。！？"
    assert text.count("“") == text.count("”")
    assert " " not in text


@pytest.mark.parametrize(("opening", "closing"), [("“", "”"), ("„", "“"), ('"', '"'), ("«", "»")])
def test_quotes_are_written_as_the_story_writes_them(opening: str, closing: str) -> None:
    prose = [f"{opening}Come in,{closing} said Tam. {opening}The door is open to you.{closing} Ines came in.\n\n" * 12]
    text = "".join(compose(prose, 1))
    assert set(text) & set('"„“”«»') == {opening, closing}
    assert text.count(opening) >= text.count(closing) > 0


def test_only_the_latest_prose_of_a_very_long_story_is_read() -> None:
    latest = ["The new tide came in. " * 10_000]
    assert compose(["Old words never heard again. " * 100_000, *latest], 1) == compose(latest, 1)


# --- the seed ------------------------------------------------------------------------------------------------------


def test_an_edited_prompt_gives_another_passage() -> None:
    one = prompt_key(request("Write what happens next.").messages)
    other = prompt_key(request("Write what happens next!").messages)
    assert one != other
    assert compose(PROSE, one) != compose(PROSE, other)


def test_roles_and_borders_of_messages_count() -> None:
    keys = {
        prompt_key(messages)
        for messages in (
            [ChatMessage("user", "ab")],
            [ChatMessage("system", "ab")],
            [ChatMessage("user", "a"), ChatMessage("user", "b")],
            [ChatMessage("user", "ab"), ChatMessage("user", "")],
            [],
        )
    }
    assert len(keys) == 5


def test_a_lone_surrogate_in_the_prompt_is_no_error() -> None:
    assert prompt_key([ChatMessage("user", "\ud800")]) != prompt_key([ChatMessage("user", "?")])


def test_the_passage_is_the_same_in_every_process() -> None:
    script = (
        "import sys; from engine.models.wire.rehearsal import compose, prompt_key; "
        "from tests.engine.models.test_rehearsal import PROSE, request; "
        "sys.stdout.buffer.write(''.join(compose(PROSE, prompt_key(request().messages))).encode())"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(texts) == 1
    assert texts == {"".join(compose(PROSE, prompt_key(request().messages))).encode()}


# --- the stream ----------------------------------------------------------------------------------------------------


async def test_the_events_and_their_order() -> None:
    asked = request()
    got = await events(wire(), asked)
    assert isinstance(got[0], Start)
    assert all(isinstance(event, Text) for event in got[1:-2])
    assert got[-2] == Usage(
        sum(estimate_tokens(message.content) for message in asked.messages), estimate_tokens(passage(got))
    )
    assert got[-1] == Stop("end_turn")
    assert passage(got) == "".join(compose(PROSE, prompt_key(asked.messages)))


async def test_the_label_says_that_it_is_no_model() -> None:
    assert "not a model" in wire().label


async def test_the_pace_changes_nothing_but_the_time() -> None:
    begun = time.monotonic()
    slow = await events(wire(pace=2_000), request())
    assert time.monotonic() - begun >= MIN_WORDS / 2_000
    assert slow == await events(wire(pace=0), request()) == await events(wire(pace=float("inf")), request())


@pytest.mark.parametrize("pace", [-1.0, float("nan")])
def test_a_pace_that_means_nothing_is_refused(pace: float) -> None:
    with pytest.raises(WrongInput, match="words per second"):
        wire(pace=pace)


@pytest.mark.parametrize("limit", [0, 1, 7, 40, 100])
async def test_it_ends_at_the_maximum_length(limit: int) -> None:
    whole = passage(await events(wire(), request()))
    got = await events(wire(), request(max_output_tokens=limit))
    text = passage(got)
    assert whole.startswith(text)
    assert limit - 3 <= estimate_tokens(text) <= limit
    assert got[-1] == Stop("max_tokens")
    assert got[-2] == Usage(got[-2].input_tokens, estimate_tokens(text))  # type: ignore[union-attr]


async def test_its_own_maximum_holds_where_the_request_names_none() -> None:
    short = RehearsalWire(PROSE, words_per_second=0, default_tokens=20)
    assert (await events(short, request()))[-1] == Stop("max_tokens")
    assert (await events(short, request(max_output_tokens=10_000)))[-1] == Stop("end_turn")


async def test_it_ends_before_a_stop_sequence() -> None:
    whole = passage(await events(wire(), request()))
    stop = whole[101:108]  # across the borders of pieces
    got = await events(wire(), request(stop=("never said", "", stop)))
    assert passage(got) == whole[: whole.index(stop)]
    assert got[-1] == Stop("stop_sequence")


async def test_the_loop_gets_its_turn_at_any_pace() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    got = await events(wire(pace=0), request())
    task.cancel()
    assert turns >= len(got) - 3


async def test_a_cancelled_reader_ends_the_stream() -> None:
    got: list[Event] = []
    started = asyncio.Event()

    async def read() -> None:
        async with aclosing(wire(pace=0.5).stream(request())) as stream:  # type: ignore[type-var]
            async for event in stream:
                got.append(event)
                started.set()

    task = asyncio.create_task(read())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert not any(isinstance(event, Stop) for event in got)


async def test_a_closed_stream_is_over() -> None:
    stream = wire().stream(request())
    await anext(stream)
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
