"""JSON in and out: lines of faults, the reference's way of writing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.disk import dump_json, json_line, parse_json
from engine.errors import InvalidFile

FILE = Path("story/meta.json")

TEXT = """{
  "name": "a \\"quoted\\" { name",
  "list": [
    1,
    {"deep": [
      true
    ]}
  ],
  "name": "again",
  "empty": {}
}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("name",), 9),
        (("list",), 3),
        (("list", 0), 4),
        (("list", 1), 5),
        (("list", 1, "deep"), 5),
        (("list", 1, "deep", 0), 6),
        (("list", 7), 3),
        (("list", 1, "missing", "further"), 5),
        (("list", "not a key"), 3),
        (("empty", "x"), 10),
        (("missing",), 1),
    ],
)
def test_the_line_of_a_value(path: tuple[str | int, ...], line: int) -> None:
    assert json_line(TEXT, path) == line


def test_no_value_has_no_line() -> None:
    assert json_line("  \n ", ("a",)) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    found = [(path, value)]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        found += places(item, (*path, key))
    return found


@given(JSON)
def test_every_value_starts_on_the_line_found(value: Any) -> None:
    text = json.dumps(value, indent=1)
    lines = text.split("\n")
    for path, item in places(value):
        line = json_line(text, path)
        assert line is not None
        assert json.dumps(item, indent=1).split("\n")[0] in lines[line - 1]


@pytest.mark.parametrize(
    ("data", "said", "line"),
    [
        (b'{\n "a": 1,\n}', "not valid JSON", 3),
        (b'{"a', "not valid JSON: unterminated string at column 2", 1),
        (b'{"a": NaN}', "NaN", 1),
        (b"\n[-Infinity]", "-Infinity", 2),
        (b"[1e999]", "too large", 1),
        (b"\n\n\xff", "UTF-8", 3),
        (b"", "empty", None),
        (b"[" * 200_000, "nested", None),
        (b"9" * 10_000, "not valid JSON", 1),
    ],
)
def test_what_is_no_json_is_refused_in_one_line(data: bytes, said: str, line: int | None) -> None:
    with pytest.raises(InvalidFile) as caught:
        parse_json(data, FILE)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.problem.file == FILE
    assert caught.value.problem.line == line


@pytest.mark.parametrize("number", ["1e999", "-1e309", "1" + "0" * 309, "-" + "9" * 5000, "NaN", "-Infinity"])
def test_a_number_that_javascript_takes_for_infinite_is_refused_where_it_is(number: str) -> None:
    text = (
        f'{{"n": 1e308, "NaN": "1e999",\n "list": [[], {{"a": "x"}}, 2,\n {{"b": {{"order": {number}}}}}], "z": 1e999}}'
    )
    with pytest.raises(InvalidFile) as caught:
        parse_json(text.encode(), FILE)
    assert caught.value.problem.where() == f"{FILE}:3 (list[3].b.order)"
    assert len(str(caught.value)) < 200


def test_the_largest_numbers_are_read() -> None:
    largest = int(sys.float_info.max)
    assert parse_json(f"[{largest}, -{largest}, {'9' * 308}, 1e308]".encode(), FILE)[0] == largest


def test_a_byte_order_mark_and_repeated_keys_are_accepted() -> None:
    assert parse_json(b'\xef\xbb\xbf{"a": 1, "a": 2}', FILE) == {"a": 2}


def test_written_as_javascript_writes_it() -> None:
    value = {"b": [], "a": {}, "n": 1.0, "f": 0.5, "t": "Émile 🌊\u2028", "half": "\ud83c", "list": (1, None)}
    assert (
        dump_json(value)
        == (
            '{\n  "b": [],\n  "a": {},\n  "n": 1,\n  "f": 0.5,\n  "t": "Émile 🌊\u2028",\n'
            '  "half": "\\ud83c",\n  "list": [\n    1,\n    null\n  ]\n}'
        ).encode()
    )


@given(JSON)
def test_what_is_written_is_read_again(value: Any) -> None:
    assert parse_json(dump_json(value), FILE) == value


def test_no_file_gets_a_number_that_is_none() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        dump_json({"a": float("nan")})
