"""Foreign text: shown, never obeyed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.color import Color
from textual.widgets import Input, Label, OptionList, RichLog, Static, TextArea

from tui.safe_text import SafeTextApp, SafeTextFilter, inert, visible

BLACK = Color(0, 0, 0)
HOSTILE = "A\x1b]0;PWNED\x07B\x1b[31mC\x08D\x9bE\rF\x0eG\x00H\x7fI\u202eJ\u2066K\ud800L"


def harmful(text: str) -> list[str]:
    bidi = {chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in bidi]


def test_visible_shows_what_is_there() -> None:
    assert visible("plain — текст 漢字 👩‍👩‍👧 e\u0301") == "plain — текст 漢字 👩‍👩‍👧 e\u0301"
    assert visible("a\x1b[31m\x07\x7f") == "a␛[31m␇␡"
    assert visible("one\ntwo\tthree\u2028four\x85") == "one␊two    three␤four␤"
    assert visible("\u202eevil\u2069\x9b\udc80") == "�evil���"


@settings(deadline=None)
@given(st.text(alphabet=st.characters()))
def test_nothing_harmful_is_left(text: str) -> None:
    assert harmful(visible(text)) == []
    assert harmful(inert(text)) == []
    assert cell_len(inert(text)) == cell_len(text)
    visible(text).encode()


@settings(deadline=None)
@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("a☺漢\u200d\ufe0f\x1b\t\u202e\ud800"))))
def test_the_filter_keeps_the_width(text: str) -> None:
    before = [Segment(text, Style(bold=True)), Segment("|")]
    after = SafeTextFilter().apply(before, BLACK)
    assert sum(s.cell_length for s in after) == sum(s.cell_length for s in before)


def test_clean_segments_pass_untouched() -> None:
    segments = [Segment("clean ✓", Style(bold=True)), Segment("漢字", None)]
    assert SafeTextFilter().apply(segments, BLACK) is segments


def test_links_are_cut() -> None:
    hostile = Segment("click", Style(bold=True, link="http://x\x1b\\\x1b]0;PWNED\x07"))
    (result,) = SafeTextFilter().apply([hostile], BLACK)
    assert result.text == "click" and result.style is not None
    assert result.style.link is None and result.style.bold


class Leaky(App[None]):
    def compose(self) -> ComposeResult:
        text = Static(HOSTILE, markup=False)
        text.border_title = "title"
        text.styles.border = ("round", "red")
        yield text
        yield Label(HOSTILE, markup=False)
        yield Input(HOSTILE)
        yield TextArea(HOSTILE)
        yield OptionList(HOSTILE.replace("[", "("))
        yield RichLog()

    def on_mount(self) -> None:
        self.query_one(RichLog).write(HOSTILE)


class Safe(SafeTextApp[None], Leaky):
    pass


async def painted(app: App[None]) -> str:
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.pause()
        return "".join(strip.text for strip in app.screen._compositor.render_strips())


async def test_every_widget_is_covered() -> None:
    assert harmful(await painted(Leaky())), "the widgets no longer leak: is the filter still needed?"
    text = await painted(Safe())
    assert harmful(text) == []
    assert text.count("PWNED") >= 4


@pytest.mark.parametrize("text", ["", "a" * 10_000])
def test_empty_and_long(text: str) -> None:
    assert visible(text) is text and inert(text) is text
