"""What the list shows is what is sent and what is on disk, after any sequence of keys."""

from __future__ import annotations

import random

import pytest

from engine.blocks.config import parse_config
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.prompt import PromptScreen
from tui.widgets.prompt_view import PromptView

# Each is a step a person takes: one key, or several that belong together.
STEPS: tuple[tuple[str, ...], ...] = (
    ("j",), ("j", "j", "j"), ("k",), ("home",), ("end",), ("J",), ("K",), ("J", "J"), ("K", "K", "K"),
    ("space",), ("space",),
    ("m", "j", "j", "enter"), ("m", "k", "enter"), ("m", "j", "escape"), ("m", "K", "K", "m"),
    ("b", "x", "y", "escape"), ("f", "z", "escape"), ("o", "q", "escape"), ("n",),
    ("a", "N", "e", "w", "enter", "t", "e", "x", "t", "escape"),
    ("a", "S", "tab", "tab", "right", "enter", *"return", "space", "apostrophe", "s", "apostrophe", "escape"),
    ("D", "escape"), ("X",), ("R", "b"), ("R", "escape"), ("e", "w", "backspace", "v", "escape"),
    ("r", "end", "2", "enter"), ("r", "tab", "right", "enter"), ("r", "escape"),
    ("u",), ("u", "u"), ("u", "u", "u"), ("ctrl+r",), ("ctrl+r", "ctrl+r"), ("ctrl+s",),
    ("slash", "s", "t", "enter"), ("escape",), ("tab",), ("1", "escape"),
)  # fmt: skip


async def check(ed: Editor) -> None:
    """List, compiled prompt, the workspace's own prompt and the file agree."""
    await ed.listed()
    await ed.press("ctrl+s")
    await ed.saved()
    if not ed.blocks.filter:
        drawn = [row for y in range(ed.blocks.size.height) if (row := ed.blocks.row_at(y))]
        assert drawn == list(ed.blocks.rows)
    listed = [(row.id, row.role, row.tokens) for row in ed.blocks.rows if row.state == "compiled"]
    prompt = ed.workspace.prompt("the-quay")
    assert listed == [(block.id, block.role, block.tokens) for block in prompt.blocks]
    await ed.press("p")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen))
    view = ed.app.screen.query_one(PromptView)
    assert view.text == "\n\n".join(message.content for message in prompt.messages)
    await ed.press("escape")
    assert parse_config(ed.config()) == ed.session.document.config
    assert ed.app.focused is not None, "the focus is somewhere"


@pytest.mark.parametrize("seed", range(2))
async def test_any_sequence_of_keys(editor: Open, seed: int) -> None:
    rng = random.Random(seed)
    async with editor() as ed:
        first = ed.file().read_bytes()
        for n in range(40):
            step = rng.choice(STEPS)
            await ed.press(*step)
            while ed.app.screen is not ed.desk:
                await ed.press("escape")
            if n % 20 == 19:
                await ed.press("escape", "escape")
                await check(ed)
        while ed.session.document.undo_label is not None:
            ed.desk.action_undo()
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.file().read_bytes() == first, "everything taken back"
