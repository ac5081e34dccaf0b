"""Texts come out of the editor as they went in, but for what was edited."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from textual.document._document import Location

from tui.widgets.exact_document import DrawnDocument, ExactDocument, drawn, split_lines

SPECIAL = "ab é\t\n\r\v\f\x00\x1b\x1c\x7f\x85\u2028\u2029\u200c\u200d\u00ad\u00a0\u0301漢👩🇩🇪\ud800\udc00\u202e"
texts = st.one_of(st.text(st.sampled_from(SPECIAL)), st.text(st.characters(codec=None)), st.text("\r\n a"))


def lines_of(text: str) -> list[str]:
    return re.split("\r\n|\r|\n", text)


@given(texts)
def test_a_text_that_is_not_edited_is_the_text(text: str) -> None:
    document = ExactDocument(text)
    assert document.text == text
    assert document.lines == lines_of(text)
    assert document.get_text_range((0, 0), document.end) == text


@given(texts, st.data())
def test_a_character_put_in_is_all_that_changes(text: str, data: st.DataObject) -> None:
    document = ExactDocument(text)
    row = data.draw(st.integers(0, document.line_count - 1))
    column = data.draw(st.integers(0, len(document[row])))
    char = data.draw(st.sampled_from(SPECIAL))
    index = document.index((row, column))
    before = document.text
    result = document.replace_range((row, column), (row, column), char)
    if "\r" not in before and char not in "\r\n":
        assert result.end_location == (row, column + 1)
    if char == "\n" and before[:index].endswith("\r"):
        assert document.text == before[:index] + "\n\n" + before[index:], "two breaks must not read as one"
    elif char == "\r" and before[index : index + 1] == "\n":
        assert document.text == before[:index] + "\r\n" + before[index:]
    else:
        assert document.text == before[:index] + char + before[index:]


@given(texts, st.lists(st.tuples(st.integers(0), st.integers(0), texts), max_size=6))
def test_taking_back_every_edit_gives_the_text(text: str, edits: list[tuple[int, int, str]]) -> None:
    document = ExactDocument(text)
    done: list[tuple[Location, Location, str, str]] = []
    for one, other, new in edits:
        size = len(document.text)
        start, end = sorted((document.location(one % (size + 1)), document.location(other % (size + 1))))
        result = document.replace_range(start, end, new)
        assert lines_of(document.text) == document.lines, "what is saved has the lines that were seen"
        done.append((start, result.end_location, result.replaced_text, document.text))
    for start, end, replaced, after in reversed(done):
        assert document.text == after
        document.replace_range(start, end, replaced)
    assert document.text == text


@given(texts)
def test_places_and_indexes_are_the_same(text: str) -> None:
    document = ExactDocument(text)
    for index in range(len(text) + 1):
        row, column = document.location(index)
        inside = text[index - 1 : index + 1] == "\r\n"
        assert document.index((row, column)) == (index - 1 if inside else index)


@given(texts)
def test_a_drawn_line_has_the_places_of_the_line_and_acts_on_no_terminal(text: str) -> None:
    document = ExactDocument(text)
    shown = DrawnDocument(document)
    assert [len(line) for line in shown] == [len(line) for line in document.lines]
    assert not re.search("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202e\ud800-\udfff]", drawn(text))


@given(texts)
def test_splitting_and_joining_are_opposites(text: str) -> None:
    lines, breaks = split_lines(text)
    ends = [*breaks, ""]
    assert "".join(line + end for line, end in zip(lines, ends, strict=True)) == text


def test_the_usual_break() -> None:
    assert [ExactDocument(text).usual_break for text in ("", "a\r\nb\nc\r\n", "a\rb")] == ["\n", "\r\n", "\r"]
