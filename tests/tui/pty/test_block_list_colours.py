"""The list in terminals with few colours and with none."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import pytest

from tests.tui.pty.harness import PtyApp

APP = """
    from tui.terminal import prepare_environ
    prepare_environ()
    from tests.tui.widgets.rows import make_row
    from textual.widgets import Static
    from tui.themes import ThemedApp
    from tui.widgets.block_list import BlockList
    class Demo(ThemedApp[None]):
        def compose(self):
            yield BlockList([
                make_row("first", "system"), make_row("second", "system", type="script", mode="append"),
                make_row("third", enabled=False, state="disabled", tokens=None),
                make_row("fourth", warning=True, note="something is wrong"),
                make_row("fifth", state="absent", tokens=None, note="not yet")])
            yield Static("READY")
        def on_mount(self): self.query_one(BlockList).focus()
    Demo().run()
"""


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    path = tmp_path / "demo.py"
    path.write_text(textwrap.dedent(APP))
    return [sys.executable, str(path)]


def looks(app: PtyApp, word: str) -> tuple[str, str, bool, bool]:
    """Colours, reverse and bold of the cell where `word` begins."""
    for y, line in enumerate(app.terminal.display):
        if word in line:
            cell = app.terminal.buffer[y][line.index(word)]
            return cell.fg, cell.bg, cell.reverse, cell.bold
    raise AssertionError(f"{word!r} is not on the screen:\n{app.screen()}")


def codes(app: PtyApp) -> set[str]:
    return {code for match in re.findall(rb"\x1b\[([0-9;]+)m", app.output) for code in match.decode().split(";")}


def test_no_color(script: list[str]) -> None:
    with PtyApp(script, env={"NO_COLOR": "1"}) as app:
        screen = app.wait_for("READY")
        app.drain(0.3)
        assert codes(app) <= {"0", "1", "2", "4", "7", "39", "49"}, "no colour at all"
        assert looks(app, "first")[2], "the cursor can be seen"
        assert not looks(app, "second")[2]
        for sign in ("›", "✗ third", "off", "!✓ fourth", "· fifth", "◆", "+app", "sys", "usr", "not yet"):
            assert sign in screen


def test_sixteen_colours(script: list[str]) -> None:
    with PtyApp(script, term="xterm", truecolor=False) as app:
        app.wait_for("READY")
        app.drain(0.3)
        assert not {"38", "48"} & codes(app), "the palette of the terminal, nothing else"
        assert looks(app, "first")[:2] != looks(app, "second")[:2]
        colours = {looks(app, word)[0] for word in ("second", "sys", "usr", "!✓", "◆")}
        assert len(colours) >= 4


def test_256_colours(script: list[str]) -> None:
    with PtyApp(script, truecolor=False) as app:
        app.wait_for("READY")
        app.drain(0.3)
        assert b"\x1b[38;2;" not in app.output and b"38;5;" in app.output
        assert len({looks(app, word)[:2] for word in ("first", "second", "usr", "◆")}) == 4
