"""Server-sent events: framing, whatever the chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.wire.sse import STRAY, ServerEvent, SseDecoder

TEXTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=20)


def decoded(*chunks: bytes) -> list[ServerEvent]:
    decoder = SseDecoder()
    found = [event for chunk in chunks for event in decoder.feed(chunk)]
    return found + decoder.end()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_fields_comments_and_unknown_ones(newline: str) -> None:
    lines = [
        ": PROCESSING",
        "id: 7",
        "retry: 10",
        "event: a",
        "data: one",
        "data:two",
        "odd: x",
        "data:  three",
        "",
        "",
    ]
    lines += [":", "data: {}", "", "event: empty", ""]
    got = decoded(newline.join(lines).encode())
    assert got == [ServerEvent("a", "one\ntwo\n three"), ServerEvent("", "{}")]


def test_a_byte_order_mark_and_an_event_without_a_blank_line_at_the_end() -> None:
    assert decoded("\ufeffdata: x\n\ndata: last".encode()) == [ServerEvent("", "x"), ServerEvent("", "last")]


def test_other_line_separators_are_text() -> None:
    text = "a\u2028b\u2029c\x0bd\x0ce\x1cf\x85g"
    assert decoded(f"data: {text}\n\n".encode()) == [ServerEvent("", text)]


def test_lines_that_are_no_fields_are_not_lost() -> None:
    assert decoded(b'{"error":"gone"}\n') == [ServerEvent(STRAY, '{"error":"gone"}')]
    assert decoded(b'data: 1\n\n{\n "error": "gone"\n}\ndata: 2\n\n') == [
        ServerEvent("", "1"),
        ServerEvent(STRAY, '{\n "error": "gone"\n}'),
        ServerEvent("", "2"),
    ]
    assert decoded(b"<html>\n<p>no</p>") == [ServerEvent(STRAY, "<html>\n<p>no</p>")]
    assert decoded(b'error: {"code":500}\n\n') == [ServerEvent("error", '{"code":500}')]


@given(st.lists(TEXTS, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_chunks_make_no_difference(texts: list[str], newline: str, data: st.DataObject) -> None:
    stream = "".join(f"event: e{newline}data: {text}{newline}{newline}" for text in texts).encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert decoded(*chunks) == decoded(stream) == [ServerEvent("e", text) for text in texts]
