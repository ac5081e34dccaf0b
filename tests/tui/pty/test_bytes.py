"""What the list costs on the wire: hard limits on the bytes a terminal of 120 by 40 gets, in 24-bit colour."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import pytest

from tests.tui.pty.harness import PtyApp

DOWN, UP = b"\x1b[B", b"\x1b[A"

APP = """
    import os
    import sys
    from dataclasses import replace
    from textual.binding import Binding
    from textual.widgets import Static
    from tests.tui.widgets.rows import make_row
    from tui.diff_display import DiffDisplayApp
    from tui.safe_text import SafeTextApp
    from tui.themes import ThemedApp
    from tui.widgets.block_list import BlockList
    count = int(sys.argv[1])
    def row(i):
        kind = ["script", "simple", None][i % 3]
        text = f"{i} It was a bright cold day in April, " * 9
        return make_row(f"block-{i:05d}", "system" if i < count // 2 else "user", tokens=i * 37 % 4000, type=kind,
                        name=f"Block {i:05d} the quick brown fox", content=text,
                        mode=[None, "append", "override"][i % 3])
    class Demo(ThemedApp[None], SafeTextApp[None], DiffDisplayApp[None]):
        BINDINGS = [Binding("J", "shift(1)"), Binding("K", "shift(-1)"), Binding("v", "mark")]
        def compose(self):
            yield BlockList([row(i) for i in range(count)])
            yield Static("READY")
        def on_mount(self): self.query_one(BlockList).focus()
        def action_mark(self):
            list_ = self.query_one(BlockList)
            list_.toggle_mark(list_.key)
        def action_shift(self, delta):
            target = self.query_one(BlockList).move_target(delta)
            if target:
                self.move(*target)
        def move(self, key, index):
            rows = self.query_one(BlockList).rows
            found = next(row for row in rows if row.key == key)
            members = [row for row in rows if row.role == found.role and row.key != key]
            members.insert(index, found)
            others = [row for row in rows if row.role != found.role]
            self.query_one(BlockList).set_rows([*members, *others])
        def on_block_list_move_requested(self, message): self.move(message.key, message.index)
        def on_block_list_toggle_requested(self, message):
            rows = self.query_one(BlockList).rows
            self.query_one(BlockList).set_rows([
                replace(row, enabled=not row.enabled, state="disabled" if row.enabled else "compiled")
                if row.key == message.key else row for row in rows])
    Demo.diff_display = os.environ["DIFF"] == "1"
    Demo().run()
"""


@pytest.fixture(params=["diff", "plain"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> PtyApp:
    kind, _, count = request.param.partition(" ")
    script = tmp_path / "demo.py"
    script.write_text(textwrap.dedent(APP))
    env = {"DIFF": "1" if kind == "diff" else "0", "TEXTUAL_ANIMATIONS": "none"}
    app = PtyApp([sys.executable, str(script), count or "1000"], env=env)
    request.addfinalizer(app.close)
    app.wait_for("READY")
    app.wait_for("Block 00030")
    app.drain(0.4)
    return app


def cursor_line(screen: str) -> str:
    (line,) = (line for line in screen.split("\n") if line.startswith("›"))
    return line


@pytest.mark.parametrize("app", ["diff", "plain", "diff 10000"], indirect=True)
def test_cursor_step(app: PtyApp) -> None:
    sizes = [app.press(key).size for key in (DOWN, DOWN, DOWN, UP, DOWN)]
    assert "Block 00003" in cursor_line(app.screen())
    assert min(sizes) > 0 and max(sizes) <= 1000


@pytest.mark.parametrize("app", ["diff", "plain", "diff 10000"], indirect=True)
def test_block_move(app: PtyApp) -> None:
    app.press(DOWN)
    sizes = [app.press(key).size for key in (b"J", b"J", b"K", b"J")]
    assert "Block 00001" in cursor_line(app.screen())
    assert app.screen().index("Block 00003") < app.screen().index("Block 00001")
    assert min(sizes) > 0 and max(sizes) <= 1000


def test_marks(app: PtyApp) -> None:
    sizes = [app.press(key).size for key in (b"v", DOWN, b"v", b"\x1b[1;2B", b"v")]
    assert [line[1] for line in app.screen().split("\n")[1:5]] == ["*", "*", " ", " "]
    assert min(sizes) > 0 and max(sizes) <= 1000


def test_cursor_through_the_list(app: PtyApp) -> None:
    """Scrolling repaints the list, 14 KB of it, so it may happen only twice a screenful."""
    sizes = [app.press(DOWN, quiet=0.06).size for _ in range(100)]
    assert "Block 00100" in cursor_line(app.screen())
    assert sum(size > 1000 for size in sizes) <= 5
    assert sum(sizes) / len(sizes) <= 1600


def test_waiting_is_free(app: PtyApp) -> None:
    assert app.drain(1.5).size == 0


@pytest.mark.parametrize("app", ["diff"], indirect=True)
def test_hovering_is_free(app: PtyApp) -> None:
    """Without the diff, Textual repaints a scroll bar when the mouse has rested: it looks for a tooltip."""
    for row in range(2, 30):
        app.write(app.mouse(30, row, 35))
    assert app.drain(1.0).size == 0


def test_toggle(app: PtyApp) -> None:
    app.write(app.mouse(2, 5))
    response = app.press(app.mouse(2, 5, release=True))
    assert re.search(r"✗ Block 00004.*off", app.screen())
    assert 0 < response.size <= 1500


def test_dragging(app: PtyApp) -> None:
    app.press(app.mouse(20, 5))
    sizes = [app.press(app.mouse(20, row, 32)).size for row in (6, 7, 8)]
    app.press(app.mouse(20, 8, release=True))
    assert "Block 00004" in app.screen().split("\n")[8]
    assert app.screen().split("\n")[8] == cursor_line(app.screen())
    assert min(sizes) > 0 and max(sizes) <= 1500
