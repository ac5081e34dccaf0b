"""What the list shows is what is sent and what is on disk, after any sequence of keys."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from engine.blocks.config import parse_config
from tests.stories import config_file
from tests.tui.conftest import WRITER_CONFIG, Open
from tests.tui.editor import Editor
from tui.screens.prompt import PromptScreen
from tui.widgets.prompt_view import PromptView

# Each is a step a person takes: one key, or several that belong together.
STEPS: tuple[tuple[str, ...], ...] = (
    ("j",), ("j", "j", "j"), ("k",), ("home",), ("end",), ("J",), ("K",), ("J", "J"), ("K", "K", "K"),
    ("space",), ("space",),
    ("m", "j", "j", "enter"), ("m", "k", "enter"), ("m", "j", "escape"), ("m", "K", "K", "m"),
    ("b", "x", "y", "escape"), ("f", "z", "escape"), ("o", "z", "escape"), ("n",),
    ("a", "N", "e", "w", "enter", "t", "e", "x", "t", "escape"),
    ("a", "S", "tab", "tab", "right", "enter", *"return", "space", "apostrophe", "s", "apostrophe", "escape"),
    ("D", "escape"), ("X",), ("R", "b"), ("R", "escape"), ("e", "w", "backspace", "v", "escape"),
    ("r", "end", "2", "enter"), ("r", "tab", "right", "enter"), ("r", "escape"),
    ("u",), ("u", "u"), ("u", "u", "u"), ("ctrl+r",), ("ctrl+r", "ctrl+r"), ("ctrl+s",),
    ("slash", "s", "t", "enter"), ("escape",), ("tab",), ("1", "escape"),
    # several blocks
    ("v",), ("v", "j", "v"), ("j", "j", "V"), ("v", "shift+down", "shift+down"), ("shift+up",), ("asterisk",),
    ("slash", *"role:user", "enter", "asterisk", "escape", "escape"), ("slash", *"is:custom", "enter", "asterisk"),
    ("v", "J"), ("v", "k", "k", "v", "K", "K"), ("v", "j", "v", "m", "j", "j", "enter"), ("v", "m", "k", "escape"),
    ("V", "space"), ("v", "D"), ("v", "R", "b"), ("v", "n"), ("v", "b", "escape"),
    # a number that pins the order, and what is left over in the config
    ("r", "7", "enter"), ("r", "backspace", "backspace", "enter"), ("end", "X"), ("end", "enter", "r", "escape"),
    ("end", "k", "R", "escape"), ("end", "enter", "escape"),
)  # fmt: skip


LEFT_OVER = {"overrides": {"gone": {"enabled": False}, "prose": {"order": 7}}, "blockOrder": ["lost"]}
"""What an older program and another agent left in the file."""


KEYS = 200


async def check(ed: Editor) -> None:
    """List, compiled prompt, the workspace's own prompt and the file agree."""
    await ed.listed()
    await ed.press("ctrl+s")
    await ed.saved()
    if not ed.blocks.filter:
        drawn = [row for y in range(ed.blocks.size.height) if (row := ed.blocks.row_at(y))]
        rows = list(ed.blocks.rows)
        first = rows.index(drawn[0])
        assert drawn == rows[first : first + len(drawn)]
    assert ed.blocks.marked <= {row.key for row in ed.blocks.rows}
    assert [row.key for row in ed.blocks.rows] == [row.key for row in ed.session.rows]
    listed = [(row.id, row.role, row.tokens) for row in ed.blocks.rows if row.state == "compiled"]
    prompt = ed.workspace.prompt("the-quay")
    assert listed == [(block.id, block.role, block.tokens) for block in prompt.blocks]
    await ed.press("p")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen))
    await ed.until(lambda: ed.app.screen.query(PromptView) and ed.app.screen.query_one(PromptView).text, "the prompt")
    view = ed.app.screen.query_one(PromptView)
    await ed.until(lambda: view.text, "the text of the prompt")
    assert view.text == "\n\n".join(message.content for message in prompt.messages)
    await ed.press("escape")
    assert parse_config(ed.config()) == ed.session.document.config
    assert ed.app.focused is not None, "the focus is somewhere"


@pytest.fixture
def frames() -> None:
    """Every change is drawn, as before a terminal."""


@pytest.mark.parametrize("seed", [1])
async def test_any_sequence_of_keys(editor: Open, data: Path, seed: int) -> None:
    rng = random.Random(seed)
    if seed % 2:
        file = config_file(data / "stories/the-quay")
        file.write_text(json.dumps({**WRITER_CONFIG, **LEFT_OVER}), "utf-8")
    async with editor() as ed:
        first, keys, checked = ed.file().read_bytes(), 0, 0
        while keys < KEYS:
            step = rng.choice(STEPS)
            await ed.press(*step)
            keys += len(step)
            while ed.app.screen is not ed.desk:
                await ed.press("escape")
            if keys - checked > KEYS // 2 or keys >= KEYS:
                checked = keys
                await ed.press("escape", "escape")
                await check(ed)
        while ed.session.document.undo_label is not None:
            ed.desk.action_undo()
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.file().read_bytes() == first, "everything taken back"
        assert ed.toasts == [], "nothing failed"
