"""Finding the line of an error in what the guest reports."""

import pytest

from engine.scripts.lines import error_line, syntax_line

BODY = "one()\ntwo.field\n\nreturn three.other + three.field"


@pytest.mark.parametrize(
    ("message", "stack", "line"),
    [
        ("boom", "    at anonymous (<input>:4:1)\n    at run (eval_script:9:1)\n", 2),
        ("boom", "    at call (eval_script:6:1)\n    at anonymous (<input>:6:3)\n", 4),
        ("boom", "    at inner (<input>:5:1)\n    at anonymous (<input>:6:3)\n", 3),
        ("boom", "    at anonymous (<input>:1:1)\n", None),
        ("boom", "    at anonymous (<input>:99:1)\n", None),
        ("boom", "", None),
        ("boom", "    at <eval> (<input>:7:1)\n    at anonymous (<input>:3:1)\n", 1),
        ("boom", "    at anonymous (<input>:6:1)\n    at anonymous (<input>:4:5)\n", 2),
        # the reported place is right, too early, unknown; the name is in one line, in several, in none
        ("two is not defined", "    at anonymous (<input>:4:1)\n", 2),
        ("three is not defined", "    at anonymous (<input>:3:1)\n", 4),
        ("three is not defined", "    at anonymous (<input>:1:1)\n", 4),
        ("cannot read property 'other' of undefined", "    at anonymous (<input>:3:1)\n", 4),
        ("cannot read property 'field' of undefined", "    at anonymous (<input>:3:1)\n", None),
        ("cannot read property 'field' of undefined", "    at anonymous (<input>:5:1)\n", 4),
        ("cannot set property 'computed' of null", "    at anonymous (<input>:4:1)\n", 2),
        ("hre is not defined", "    at anonymous (<input>:3:1)\n", 1),
    ],
)
def test_error_line(message: str, stack: str, line: int | None) -> None:
    assert error_line(BODY, message, stack) == line


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ("    at <input>:4:1\n    at AsyncFunction (native)\n", (2, False)),
        ("    at <input>:6:9\n", (4, False)),
        ("    at <input>:7:2\n", (4, True)),
        ("    at <input>:2:2\n", (4, False)),
        ("", (None, False)),
    ],
)
def test_syntax_line(stack: str, expected: tuple[int | None, bool]) -> None:
    assert syntax_line(BODY, stack) == expected
