"""Filters of the block list: what they let through, where they found it, and which match is best."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.blocks.rows import Row
from tests.tui.widgets.rows import make_row
from tui.row_filter import STATE_WORDS, RowFilter, find

ROWS = [
    make_row("instructions", "system", content="Write the next scene."),
    make_row("story-info", mode="append"),
    make_row("prose-recent", enabled=False, state="disabled", tokens=None),
    make_row("summary", state="absent", tokens=None, content=None, default=None, note="nothing is left out yet"),
    make_row("cb-a1b2", name="Ton & Stil", source="custom", type="simple", content="Kurze Sätze."),
    make_row("cb-c3d4", name="日本語の章", source="custom", type="script", warning=True, note="script error"),
    make_row("tools", pinned=True),
]
SOURCES = {"cb-c3d4": "return ctx.story.name"}


def shown(text: str) -> list[str]:
    wanted = RowFilter(text)
    return [row.key for row in ROWS if wanted.match(row, lambda row: SOURCES.get(row.key, ""))]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", [row.key for row in ROWS]),
        ("story", ["story-info"]),
        ("sti", ["instructions", "story-info", "cb-a1b2"]),
        ("PRC", ["prose-recent"]),
        ("ts", ["instructions", "cb-a1b2", "tools"]),
        ("st inf", ["story-info"]),
        ("a1b2", ["cb-a1b2"]),
        ("本章", ["cb-c3d4"]),
        ("left out", ["summary"]),
        ("zzz", []),
        ("is:off", ["prose-recent"]),
        ("is:custom", ["cb-a1b2", "cb-c3d4"]),
        ("is:script", ["cb-c3d4"]),
        ("is:changed", ["story-info", "prose-recent", "tools"]),
        ("is:pinned", ["tools"]),
        ("is:absent", ["summary"]),
        ("is:warning", ["cb-c3d4"]),
        ("role:system", ["instructions"]),
        ("Role:User is:custom til", ["cb-a1b2"]),
        ("is:o", [row.key for row in ROWS]),
        ("is:nonsense", []),
        ("=next scene", ["instructions"]),
        ("=ctx.story", ["cb-c3d4"]),
        ("is:custom =KURZE SÄ", ["cb-a1b2"]),
        ("= ", [row.key for row in ROWS]),
    ],
)
def test_what_is_shown(text: str, keys: list[str]) -> None:
    assert shown(text) == keys


def test_the_best_match_is_the_name_as_it_was_typed() -> None:
    names = [
        "story",
        "story-info",
        "the story",
        "history",
        "s-t-o-r-y",
        "sxtxoxrxy",
        "a long name with its words for you",
    ]
    scores = [match.score for name in names if (match := find("story", name)) is not None]
    assert scores == sorted(scores, reverse=True) and len(set(scores)) == len(scores)


@pytest.mark.parametrize(
    ("word", "text", "hits"),
    [
        ("rec", "prose-recent", {6, 7, 8}),
        ("rec", "Direct-Record", {7, 8, 9}),
        ("pr", "prose-recent", {0, 1}),
        ("psr", "prose-recent", {0, 3, 6}),
        ("si", "İstanbul si", {9, 10}),
    ],
)
def test_where_it_was_found(word: str, text: str, hits: set[int]) -> None:
    match = find(word, text)
    assert match is not None and match.hits == hits


@given(st.text("abAB- é", max_size=12), st.text("ab -é", min_size=1, max_size=4))
def test_hits_are_the_characters_of_the_word_in_order(text: str, word: str) -> None:
    match, at = find(word, text), -1
    for char in word:
        at = text.lower().find(char, at + 1) if at is not None else None
        if at == -1:
            at = None
    assert (match is None) == (at is None)
    if match is not None:
        assert [text[index].lower() for index in sorted(match.hits)] == list(word)


def test_a_filter_takes_no_time_that_grows_with_its_own_length() -> None:
    started = time.process_time()
    for text in ("a" * 2_000, "ab" * 1_000):
        find("a" * 999 + "b", text)
    assert time.process_time() - started < 5, "looking back and forth would take minutes"


def test_every_state_word_is_one(row: Row = ROWS[0]) -> None:
    for word in STATE_WORDS:
        assert RowFilter(word) and not RowFilter(word).ranks
        RowFilter(word).match(row, lambda _: "")
