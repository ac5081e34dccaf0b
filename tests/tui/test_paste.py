"""The parser of pastes: every way of cutting the input into pieces gives the same messages."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.message import Message

from tui.paste import PasteParser, SafePasteApp

START, END = "\x1b[200~", "\x1b[201~"
NASTY = "a\x1b[31mXX\x1b[201\x1b[3~\x1b\x1bOB\x1b[200~ [A 漢字\r\n\x00\t~"


def described(messages: list[Message]) -> list[tuple[str, str]]:
    return [
        ("paste", message.text) if isinstance(message, events.Paste) else ("key", message.key)
        for message in messages
        if isinstance(message, events.Paste | events.Key)
    ]


def parsed(parser: XTermParser, *pieces: str) -> list[tuple[str, str]]:
    return described([message for piece in pieces for message in parser.feed(piece)])


def test_a_paste_is_one_message_with_its_text() -> None:
    found = parsed(PasteParser(), f"x{START}{NASTY}{END}y{START}{END}z")
    assert found == [("key", "x"), ("paste", NASTY.replace("\0", "")), ("key", "y"), ("paste", ""), ("key", "z")]


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), max_size=6))
def test_wherever_the_input_is_cut(cuts: list[int]) -> None:
    data = f"k\x1b[A{START}\x1b[3~q{END}\x1b[Bj"
    marks = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    pieces = [data[a:b] for a, b in pairwise(marks)]
    assert parsed(PasteParser(), *pieces) == [
        ("key", "k"),
        ("key", "up"),
        ("paste", "\x1b[3~q"),
        ("key", "down"),
        ("key", "j"),
    ]


@settings(deadline=None)
@given(st.text(st.sampled_from("\x1b[OAB~;0123qXx"), max_size=30).filter(lambda text: "\x1b[20" not in text))
def test_without_a_paste_it_is_textuals_parser(data: str) -> None:
    one, other = PasteParser(), XTermParser()
    assert parsed(one, *data) == parsed(other, *data)


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        ("\x1b\x1b[A", ["alt+up"]),
        ("\x1b\x1bOB", ["alt+down"]),
        ("x\x1b\x1b\x1b[Ck", ["x", "escape", "alt+right", "k"]),
        ("\x1b\x1b[3~", ["alt+delete"]),
    ],
)
def test_a_key_with_an_escape_before_it_is_one_key(data: str, keys: list[str]) -> None:
    assert [key for _, key in parsed(PasteParser(), data)] == keys
    assert parsed(PasteParser(), f"{START}{data}{END}") == [("paste", data)]


def test_an_escape_of_its_own_is_one() -> None:
    assert parsed(PasteParser(), "\x1b", "\x1b[A") == [("key", "escape"), ("key", "up")]
    assert parsed(PasteParser(), f"\x1b{START}a{END}") == [("key", "escape"), ("paste", "a")]


def test_a_mark_torn_apart_by_a_slow_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's parser gives up on the mark after a tenth of a second; what is pasted is still no key."""
    now = [0.0]
    monkeypatch.setattr("textual._parser.get_time", lambda: now[0])
    parser = PasteParser()
    assert parsed(parser, "\x1b[20") == []
    now[0] = 1.0
    list(parser.tick())
    found = parsed(parser, "0~X q\x1b[2", f"01~j{START}a{END}")
    assert [item for item in found if item[0] == "paste"] == [("paste", "X q"), ("paste", "a")]
    assert ("key", "X") not in found and found[-2:] == [("key", "j"), ("paste", "a")]


def test_the_end_of_the_input() -> None:
    parser = PasteParser()
    assert parsed(parser, "a", f"{START}b", "") == [("key", "a")]


def test_an_app_reads_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux_driver, "XTermParser", XTermParser)
    SafePasteApp[None]()
    assert linux_driver.XTermParser is PasteParser
    monkeypatch.setattr(linux_driver, "XTermParser", XTermParser)
    monkeypatch.setattr("tui.paste.is_textual", lambda version: False)
    SafePasteApp[None]()
    assert linux_driver.XTermParser is XTermParser, "a parser it does not know is left alone"
