"""Names and texts of a script are told from its comments, patterns and templates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scripts.tokens import tokens


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("f('a', \"b\", `c`)", ["a", "b", "c"]),
        ("// 'a'\n/* 'b' */ 'c' /* 'd'", ["c"]),
        ("/'a'/g.test('b') / 'c'", ["b", "c"]),
        ("return /[/'\"]/.test(x) ? 'a' : 'b'", ["a", "b"]),
        ("x = a[0] / 2; y = (1) / '3' / n / '4'", ["3", "4"]),
        ("`don't ${f('a') + `it's ${'b'} isn't`} can't` + 'c'", ["a", "b", "c"]),
        ("`${ {a: {b: 'x'}}.a } 'no'` + 'y'", ["x", "y"]),
        (r"'it\'s' + 'a' + `\`b` + `\${c}` + 'd'", ["a", "d"]),
        ("'open\n + 'a'", ["a"]),
        ("`open ${'a'", ["a"]),
        ("`$ ${'a'}$` + `$`", ["a", "$"]),
        ("} 'a' {", ["a"]),
    ],
)
def test_texts(body: str, texts: list[str]) -> None:
    assert [token.value for token in tokens(body) if token.kind == "text"] == texts


def test_lines_and_names() -> None:
    found = [
        (token.value, token.line) for token in tokens("\nawait ctx\n  ?.get$1(`a\nb`, 'c')\n") if token.kind != "mark"
    ]
    assert found == [("await", 2), ("ctx", 2), ("get$1", 3), ("a\nb", 3), ("c", 4)]


PARTS = st.sampled_from(
    ["`", "${", "}", "{", "'", '"', "/", "\\", "\n", "a", " ", "//", "/*", "*/", "[", "]", "(", "é"]
)


@given(st.text() | st.lists(PARTS, max_size=40).map("".join))
def test_any_text_has_tokens(body: str) -> None:
    found = list(tokens(body))
    assert sum(len(token.value) for token in found) <= len(body) + sum(token.kind == "other" for token in found)
    lines = [token.line for token in found]
    assert lines == sorted(lines)
    assert all(1 <= line <= body.count("\n") + 1 for line in lines)


@given(st.text(alphabet=st.characters(exclude_characters="\\\"'`$\r\n\u2028\u2029", exclude_categories=["Cs"])))
def test_a_text_is_found_wherever_it_stands(text: str) -> None:
    for mark in "'\"`":
        body = f"/* {mark} */ a = `x${{ {{}} }}{mark if mark != '`' else ''}` / 2; f({mark}{text}{mark}) // {mark}"
        assert text in [token.value for token in tokens(body) if token.kind == "text"]
