"""Alt and an arrow as macOS Terminal sends it, ESC before the arrow: one key, which leaves no text."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.stories import config_file, custom_block, make_story
from tests.tui.pty.harness import PtyApp


def test_the_text_stays_open(tmp_path: Path) -> None:
    blocks = [custom_block("cb-firsta", "one", name="First", role="system", order=-2)]
    config = {"customBlocks": blocks, "overrides": {}, "blockOrder": [], "disabledTools": []}
    story = make_story(tmp_path / "data", configs={"generation.writer": config})
    env = {"STONEHAND_STATE": str(tmp_path / "state"), "STONEHAND_CONFIG": str(tmp_path / "config")}
    with PtyApp([sys.executable, "-m", "tui", "--data", str(tmp_path / "data")], env=env) as app:
        app.wait_for("First")
        app.wait_for("your text")
        app.press("e")
        app.press(b"\x1b[F")
        app.press(b"\x1b\x1b[A")
        app.press("D")
        app.press(b"\x1b\x1bOB")
        app.press("X")
        screen = app.wait_for("DoneX")
        assert screen.count("First") == 2, "the block is neither duplicated nor deleted"
        app.press(b"\x1b", quiet=0.3)
        app.press(b"\x13", quiet=0.3)
        app.wait_for("saved")
    assert '"DoneX"' in config_file(story, "generation.writer").read_text("utf-8")
