"""No text for people stands in the editor's code: all of it comes from the catalogues, so that it can be translated."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import tui

TUI = Path(tui.__file__).parent
COMMAND_LINE = {"cli.py", "launch.py", "output.py", "__main__.py", "commands", "language"}
"""What stays English: the command line; and the catalogues' own place."""
FILES = sorted(
    file
    for file in TUI.rglob("*.py")
    if file.relative_to(TUI).parts[0] not in COMMAND_LINE and file.name != "__init__.py"
)

WORDS = re.compile(r"[A-Za-z]{2,}[’',.:;!?]* +\(?[A-Za-z]|(?:^|[^\w<$#.:/-])[A-Z][a-z]{2,}")
"""Letters, a space and letters, or a word with a capital."""
STYLE = re.compile(r"(?:(?:on|not|bold|dim|italic|underline|reverse|ansi_\w+|\$?[a-z]+(?:-[a-z]+)*|\d+%) ?)*")
"""A Rich or Textual style. Prose of lower-case words looks the same, so it counts as one only with a colour in it."""

PROGRAMMERS = {
    "RuntimeError",
    "NotImplementedError",
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AssertionError",
}
ATTRIBUTES = {"DEFAULT_CSS", "CSS", "BINDINGS", "COMPONENT_CLASSES", "TITLE", "__slots__"}
"""What is never shown: looks, and the descriptions of bindings, for the help has texts of its own for those."""
KEYWORDS = {"classes", "id", "name", "group", "selector"}
CALLS = {
    "Binding",
    "cast",
    "getattr",
    "hasattr",
    "query",
    "query_one",
    "query_children",
    "add_class",
    "remove_class",
    "compile",
}

ALLOWED = {
    "clipboard.py": {"\x1bPtmux;", "Apple_Terminal"},
    "completion.py": {"Shortlist"},
    "saver.py": {"stonehand import "},
    "screens/help.py": {"await ctx."},
    "screens/tools.py": {"strike dim"},
    "widgets/bars.py": {" Stonehand   "},
}
"""What looks like a text and is none, by file."""


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and value of each string that a person could be shown."""
    for node in ast.iter_child_nodes(tree):
        if _is_for_the_machine(node) or node is getattr(tree, "returns", None):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if WORDS.search(node.value) and not ("$" in node.value and STYLE.fullmatch(node.value)):
                yield node.lineno, node.value
        else:
            yield from texts(node)


def _is_for_the_machine(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()):
            return True  # a docstring
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name))):
            return name in PROGRAMMERS
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name in ATTRIBUTES
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in CALLS or (name == "error" and "log" in ast.dump(node.func))
        case ast.keyword(arg=name):
            return name in KEYWORDS
        case ast.Subscript() | ast.arg():
            return True  # a type, or a key
    return False


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(TUI)))
def test_no_text_for_people_stands_in_the_code(file: Path) -> None:
    name = str(file.relative_to(TUI))
    found = {text: line for line, text in texts(ast.parse(file.read_text("utf-8")))}
    assert {f"{name}:{line}: {text}" for text, line in found.items() if text not in ALLOWED.get(name, set())} == set()
    assert ALLOWED.get(name, set()) <= set(found), "allowed, and not there any more"


def test_such_texts_are_seen() -> None:
    code = """
        class Screen:
            '''A docstring.'''
            DEFAULT_CSS = "Screen { color: red; }"
            def show(self) -> "Screen | None":
                if not self.open:
                    raise RuntimeError("not open yet")
                self.say(f"moved {self.name} away", style="bold $text-muted")
                self.border_title = "Blocks"
                raise StonehandError("there is none", repair=t("area.repair"))
    """
    assert [text for _, text in texts(ast.parse(textwrap.dedent(code)))] == ["Blocks", "there is none"]
    assert [text for _, text in texts(ast.parse('say(f"{name} was moved away")'))] == [" was moved away"]
