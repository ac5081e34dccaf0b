"""Makes the README's picture anew: `python docs/picture.py` writes docs/screen.svg from the running editor."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
os.environ |= {"TEXTUAL_ANIMATIONS": "none", "COLORTERM": "truecolor"}
sys.path.insert(0, str(ROOT))

from engine.workspace import Workspace  # noqa: E402
from tui.app import StonehandApp  # noqa: E402

SIZE = (120, 34)
SHOWN = "Pacing"


async def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch)
        shutil.copytree(ROOT / "stories", data / "stories")
        workspace = Workspace(data, state=data / "state")
        app = StonehandApp(workspace)
        async with app.run_test(size=SIZE) as pilot:
            while app.desk is None or not any(row.name == SHOWN for row in app.desk.blocks.rows):
                await pilot.pause(0.05)
            desk = app.desk
            desk.show_key(next(row.key for row in desk.blocks.rows if row.name == SHOWN))
            while not desk.inspector.furnished or "ms" not in str(desk.inspector.parts.preview_label.render()):
                await pilot.pause(0.05)
            await pilot.pause(0.3)
            (ROOT / "docs" / "screen.svg").write_text(app.export_screenshot(title="Stonehand"), "utf-8")
        workspace.close()


if __name__ == "__main__":
    asyncio.run(main())
