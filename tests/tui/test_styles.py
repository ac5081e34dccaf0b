"""The style sheets: what may stand in none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tui

TUI = Path(tui.__file__).parent


def sheets() -> Iterator[tuple[str, str]]:
    """Where a style sheet is, and its text without comments."""
    for file in sorted(TUI.rglob("*")):
        text = ""
        if file.suffix == ".tcss":
            text = file.read_text("utf-8")
        elif file.suffix == ".py":
            text = "\n".join(
                re.findall(r'\bCSS = """(.*?)"""', file.read_text("utf-8").replace("DEFAULT_CSS", "CSS"), re.S)
            )
        if text:
            yield str(file.relative_to(TUI)), re.sub(r"/\*.*?\*/", "", text, flags=re.S)


SHEETS = dict(sheets())


def test_there_are_some() -> None:
    assert "styles/app.tcss" in SHEETS and "widgets/block_list.py" in SHEETS and len(SHEETS) > 8


@pytest.mark.parametrize("name", SHEETS)
def test_nothing_follows_the_mouse_and_no_rule_is_for_everything(name: str) -> None:
    css = SHEETS[name]
    assert ":hover" not in css, "a look that follows the mouse is sent at every movement"
    assert not re.search(r"\*:[a-z]|\*\s*\{|&\s+\*", css), (
        "a rule for every widget is tried on every widget at every change"
    )
    assert "pointer: pointer" not in css and "transition" not in css


@pytest.mark.parametrize("name", SHEETS)
def test_colours_have_names(name: str) -> None:
    assert not re.search(r"#[0-9a-fA-F]{6}\b|\brgba?\(", SHEETS[name]), "colours are defined in tui.themes"


def test_nothing_spins_or_blinks() -> None:
    for file in TUI.rglob("*.py"):
        code = file.read_text("utf-8")
        assert "LoadingIndicator" not in code and "ProgressBar" not in code and ".loading = True" not in code, file
        assert "cursor_blink = True" not in code, file
