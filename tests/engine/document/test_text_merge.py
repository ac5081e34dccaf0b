"""Two edits of one text: both stand where they can, ours where they meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.document.text_merge import merge_texts

BASE = "The lamp burned all night.\nInes counted the boats. There were nine of them."
texts = st.lists(st.sampled_from(["lamp", " ", "\n", "boat", ".", "nine", "é"]), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("mine", "theirs", "merged"),
    [
        (BASE + " One was missing.", "At dusk: " + BASE, "At dusk: " + BASE + " One was missing."),
        (BASE.replace("nine", "ten"), BASE.replace("burned", "flickered"), None),
        (BASE.replace("all night", "until four"), BASE.replace(" There were nine of them.", ""), None),
        (BASE.replace("Ines counted", "Ines, awake, counted"), BASE + "\nNobody spoke.", None),
    ],
)
def test_edits_in_different_places_both_stand(mine: str, theirs: str, merged: str | None) -> None:
    found, clash = merge_texts(BASE, mine, theirs)
    other_way, _ = merge_texts(BASE, theirs, mine)
    assert not clash
    assert found == other_way
    if merged is not None:
        assert found == merged
    assert found not in (mine, theirs)


def test_where_both_changed_the_same_words_mine_stands_and_it_is_told() -> None:
    mine, theirs = BASE.replace("nine", "ten"), "At dusk: " + BASE.replace("nine", "eight")
    assert merge_texts(BASE, mine, theirs) == ("At dusk: " + mine, True)
    assert merge_texts(BASE, BASE + " A", BASE + " B") == (BASE + " A", True), "and where both put something in"


def test_a_long_text_is_merged_by_lines() -> None:
    base = "".join(f"Line {n} of a long text with some words.\n" for n in range(4000))
    mine = base.replace("Line 5 of", "Line five of").replace("Line 3000 of", "Line three thousand of")
    theirs = base.replace("Line 1500 of", "Line 1,500 of")
    merged, clash = merge_texts(base, mine, theirs)
    assert merged == mine.replace("Line 1500 of", "Line 1,500 of") and not clash


@given(texts, texts, texts)
def test_laws(base: str, mine: str, theirs: str) -> None:
    assert merge_texts(base, base, theirs) == (theirs, False)
    assert merge_texts(base, mine, base) == (mine, False)
    assert merge_texts(base, mine, mine) == (mine, False)
    merged, clash = merge_texts(base, mine, theirs)
    if not clash:
        assert merge_texts(base, theirs, mine) == (merged, False)
