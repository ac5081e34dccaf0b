"""One line of the list: exact width for any text, every state told without colour."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from engine.blocks.leftovers import Leftover
from engine.blocks.rows import Row
from tests.tui.widgets.rows import make_row
from tui.widgets.cells import fit, short_count
from tui.widgets.row_render import (
    MARK_COLUMNS,
    SWITCH_COLUMNS,
    Palette,
    bar,
    render_leftover,
    render_row,
    render_section,
)

PLAIN = Palette(**{name: Style.null() for name in Palette.__slots__})
COLOURED = Palette(**{name: Style(color=f"color({i + 16})") for i, name in enumerate(Palette.__slots__)})

CORPUS = [
    "", "plain", "漢字かな交じり文", "한국어 이름", "👩‍👩‍👧 family", "⚗️ vs16 ☺️", "🇫🇷🇩🇪 flags",
    "e\u0301 a\u0308 combining", "\u0301starts with a mark", "ends with a joiner\u200d", "\u200d\ufe0f",
    "שלום عليكم", "\u202egnp.exe\u202c", "tab\tbed", "two\nlines\r\n", "\x1b[31mred\x1b]0;title\x07",
    "\x00\x7f\x9b", "\ud800", "न्दी हिन्दी", "ﷺ" * 5, "[/] [$1] [foo=]", "x" * 500, "क" + "्" * 30,
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢", "\U000e0041\U000e0042 tags",
]  # fmt: skip


def line(row: Row, width: int = 60, *, cursor: bool = False, carried: bool = False, palette: Palette = PLAIN) -> Strip:
    return render_row(row, width, cursor=cursor, carried=carried, max_tokens=4000, palette=palette)


def exact(strip: Strip, width: int) -> bool:
    return strip.cell_length == width == sum(cell_len(segment.text) for segment in strip) == cell_len(strip.text)


@pytest.mark.parametrize("text", CORPUS)
def test_every_line_has_its_width(text: str) -> None:
    for width in range(1, 130):
        for changes in ({}, {"note": text, "warning": True}, {"state": "absent", "tokens": None, "note": text}):
            row = make_row("key", name=text, **changes)
            assert exact(line(row, width), width), (width, line(row, width))


@settings(deadline=None)
@given(
    st.text(st.one_of(st.characters(), st.sampled_from("a漢☺\u200d\ufe0f\u0301\U0001f469\t\n\x1b"))),
    st.text(max_size=10),
    st.integers(1, 90),
)
def test_any_text_at_any_width(name: str, note: str, width: int) -> None:
    strip = line(make_row("key", name=name, note=note, type="script", mode="append"), width)
    assert exact(strip, width)
    assert exact(render_section("system", 1234, width, PLAIN), width)
    assert cell_len(fit(name, width)) == width
    strip.text.encode()


def test_the_look() -> None:
    rows = [
        make_row("instructions", "system", tokens=812),
        make_row("my-style-guide", type="script", source="custom", tokens=96),
        make_row("summary", enabled=False, state="disabled", tokens=None),
        make_row("switched", enabled=False, state="disabled", tokens=None, mode="append"),
        make_row("target", state="absent", tokens=None, note="while refining"),
        make_row("prose-recent", mode="append", tokens=3900, warning=True, note="script error (line 3)"),
        make_row("later", type="script", state="pending", tokens=None, content=""),
        make_row("notes", type="simple", mode="override", tokens=4000),
    ]
    assert [line(row).text for row in rows] == [
        "   ✓ instructions  text                      sys   812 ▊    ",
        "   ✓ my-style-guide                        ◆ usr    96 ▏    ",
        "   ✗ summary                           off   usr     –      ",
        "   ✗ switched                     off +app   usr     –      ",
        "   · target  while refining                  usr     –      ",
        "  !✓ prose-recent  script error …     +app   usr  3.9k ███▉ ",
        "   ✓ later                                 ◆ usr     …      ",
        "   ✓ notes                             ovr ◇ usr  4.0k ████ ",
    ]
    assert render_section("system", 1900, 60, PLAIN).text == (" SYSTEM" + " " * 43 + "1.9k      ")


def test_states_differ_without_colour() -> None:
    rows = [
        make_row("x"),
        make_row("x", enabled=False, state="disabled", tokens=None),
        make_row("x", state="absent", tokens=None, note="not yet"),
        make_row("x", enabled=False, state="absent", tokens=None, note="not yet"),
        make_row("x", state="pending", tokens=None),
        make_row("x", state="silent", tokens=None, note="returned an empty text"),
        make_row("x", warning=True),
        make_row("x", type="script"),
        make_row("x", type="simple"),
        make_row("x", "system"),
        *(make_row("x", mode=mode) for mode in ("append", "prepend", "override")),
    ]
    texts = [line(row).text for row in rows]
    texts += [line(rows[0], cursor=True).text, line(rows[0], carried=True).text]
    assert len(set(texts)) == len(texts)


def test_the_mark_can_be_clicked_where_it_is() -> None:
    for row in (make_row("x"), make_row("x", enabled=False, state="disabled")):
        assert line(row).text[SWITCH_COLUMNS.start : SWITCH_COLUMNS.stop].strip() in "✓✗"
    marked = render_row(make_row("x"), 60, cursor=True, carried=False, max_tokens=9, palette=PLAIN, marked=True)
    assert marked.text[MARK_COLUMNS.start : MARK_COLUMNS.stop] == "›*"


def test_a_pinned_order_has_a_sign_at_every_width_that_shows_the_role() -> None:
    for width in (16, 24, 46, 60, 100):
        assert ("#u" in line(make_row("x", pinned=True), width).text) == (" u" in line(make_row("x"), width).text)


def test_what_a_filter_found_is_underlined_by_graphemes() -> None:
    row = make_row("cafe\u0301 x")
    for whole in (False, True):
        strip = render_row(
            row, 60, cursor=whole, carried=False, max_tokens=9, palette=COLOURED, hits=frozenset((0, 3, 6))
        )
        assert exact(strip, 60)
        assert [segment.text for segment in strip if segment.style and segment.style.underline] == [
            "c", "e\u0301", "x",
        ]  # fmt: skip


@pytest.mark.parametrize("text", CORPUS)
def test_names_with_hits_and_leftovers_have_their_width(text: str) -> None:
    for width in range(1, 90, 7):
        strip = render_row(
            make_row("key", name=text), width, cursor=False, carried=False, max_tokens=9, palette=PLAIN,
            hits=range(0, 30, 3),
        )  # fmt: skip
        assert exact(strip, width)
        assert exact(render_leftover(Leftover(text, "order"), width, cursor=False, palette=PLAIN), width)


@pytest.mark.parametrize(("width", "shown"), [(46, "usr"), (34, "usr"), (30, " u"), (24, " u"), (16, " u")])
def test_narrow_lists_keep_name_and_role(width: int, shown: str) -> None:
    text = line(make_row("prose-recent", mode="append", tokens=3900), width).text
    assert "✓ prose" in text and shown in text
    assert ("3.9k" in text) == (width >= 30)
    assert ("+app" in text) == (width >= 24)


def test_the_cursor_style_covers_the_line() -> None:
    row = make_row("x", "system", type="script", warning=True)
    assert {segment.style for segment in line(row, cursor=True, palette=COLOURED)} == {COLOURED.cursor}
    assert {segment.style for segment in line(row, carried=True, cursor=True, palette=COLOURED)} == {COLOURED.carried}


def test_colours() -> None:
    def style_of(text: str, row: Row) -> Style | None:
        return next(segment.style for segment in line(row, palette=COLOURED) if text in segment.text)

    row = make_row("name", "system", type="script", mode="override", warning=True, note="what is wrong here")
    assert style_of("sys", row) == COLOURED.base + COLOURED.system
    assert style_of("◆", row) == COLOURED.base + COLOURED.script
    assert style_of("ovr", row) == COLOURED.base + COLOURED.mode
    assert style_of("what is", row) == COLOURED.base + COLOURED.warning
    disabled = make_row("name", enabled=False, state="disabled", tokens=None)
    assert {s.style for s in line(disabled, palette=COLOURED)} == {COLOURED.base + COLOURED.muted}


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (1249, "1.2k"), (9949, "9.9k"), (9950, "10k"), (999_499, "999k"),
     (999_500, "1.0M"), (123_456_789, "123M"), (10**12, ">999M")],
)  # fmt: skip
def test_short_count(tokens: int, text: str) -> None:
    assert short_count(tokens) == text
    assert len(text) <= 5


def test_bar() -> None:
    assert bar(4000, 4000) == "████"
    assert bar(2000, 4000) == "██  "
    assert bar(1, 4000) == "▏   ", "something is never nothing"
    assert bar(0, 4000) == bar(5, 0) == "    "
    assert bar(9000, 4000) == "████"


def test_fit_cuts_between_graphemes() -> None:
    assert fit("abcdef", 4) == "abc…"
    assert fit("漢字漢", 4) == "漢… "
    assert fit("ab👩‍👩‍👧cd", 4) == "ab… "
    assert fit("abc", 0) == ""
    assert fit("abc", 3) == "abc"
