"""Screens as text files, to be read in a diff.

`tests/tui/snapshots/<screen>/<case>@<width>x<height>.txt` holds what a screen shows. `pytest --snapshot-update` writes
the files anew.
"""

from __future__ import annotations

import asyncio
import difflib
import re
from pathlib import Path

from tests.tui.editor import Editor
from tui.widgets.bars import KeyBar

FOLDER = Path(__file__).parent / "snapshots"
SETTLED = 1.0
"""Seconds after which a screen shows what it will go on to show."""
PATIENCE = 15.0
"""Seconds a screen has to come to show what is expected, on a machine that has much else to do."""
SIZES = ((80, 24), (120, 40), (200, 60))


class Snapshots:
    """Compares screens with their files."""

    def __init__(self, update: bool) -> None:
        self._update = update

    async def check(
        self, ed: Editor, case: str, sizes: tuple[tuple[int, int], ...] = SIZES, *, said: bool = False
    ) -> None:
        """Compare the screen in front, at each size, with `<case>@<size>.txt`; without `said`, without its message."""
        if not said:
            for bar in [*ed.desk.query(KeyBar), *ed.app.screen.query(KeyBar)]:
                bar.say("")
        failures = []
        for width, height in sizes:
            await ed.pilot.resize_terminal(width, height)
            await ed.pilot.pause()
            failures += await self._compare(FOLDER / f"{case}@{width}x{height}.txt", ed)
        assert not failures, "\n".join([*failures, "pytest --snapshot-update takes it as it is now"])

    async def _compare(self, file: Path, ed: Editor) -> list[str]:
        if self._update:
            await asyncio.sleep(SETTLED)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(ed.grid(), "utf-8", newline="\n")
            return []
        if not file.exists():
            return [f"{file.name} is missing; the screen shows\n{ed.grid()}"]
        expected = file.read_text("utf-8")
        end = asyncio.get_running_loop().time() + PATIENCE
        while _without_grips(grid := ed.grid()) != _without_grips(expected):
            if asyncio.get_running_loop().time() > end:
                lines = difflib.unified_diff(expected.splitlines(), grid.splitlines(), file.name, "now", lineterm="")
                return ["\n".join(lines)]
            await asyncio.sleep(0.05)
        return []


def _without_grips(grid: str) -> str:
    """A screen without the ends of scroll bars behind a dialog, which come when what is behind it is drawn again."""
    return re.sub("[▁-▇]{2}(?= │)", "  ", grid)
