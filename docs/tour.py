"""Makes the pictures of the README anew: `python docs/tour.py` writes docs/*.svg from the running editor.

Each picture has a function, which drives the editor, opened on a copy of the sample story, to what is to be seen; its
name is that of the file. A new one is a line of `PICTURES`. Times that differ from run to run are frozen.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
os.environ |= {"TEXTUAL_ANIMATIONS": "none", "COLORTERM": "truecolor", "TERM": "xterm-256color"}
os.environ.pop("NO_COLOR", None)
sys.path.insert(0, str(ROOT))

from textual.pilot import Pilot  # noqa: E402

from engine.runs import Run  # noqa: E402
from engine.workspace import Workspace, door, jobs, wires  # noqa: E402
from tui.app import StonehandApp  # noqa: E402
from tui.screens.desk import DeskScreen  # noqa: E402
from tui.terminal import ANSI_LIGHT_THEME, LIGHT_THEME  # noqa: E402
from tui.widgets.bars import KeyBar  # noqa: E402

PATIENCE = 60.0
"""Seconds to wait for what a picture shows."""


class Scene:
    """The editor while a picture of it is prepared."""

    def __init__(self, app: StonehandApp, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def desk(self) -> DeskScreen:
        assert self.app.desk is not None
        return self.app.desk

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        await self.press(*({" ": "space", ".": "full_stop", ",": "comma"}.get(char, char) for char in text))

    async def until(self, condition: Callable[[], object]) -> None:
        end = asyncio.get_running_loop().time() + PATIENCE
        while not condition():
            if asyncio.get_running_loop().time() > end:
                raise TimeoutError("the editor never showed what the picture is of")
            await asyncio.sleep(0.02)

    async def shows(self, text: str) -> None:
        await self.until(lambda: any(text in strip.text for strip in self.app.screen._compositor.render_strips()))

    async def go_to(self, name: str) -> None:
        """Put the cursor on a block, the inspector with it."""
        await self.until(lambda: any(row.name == name for row in self.desk.blocks.rows))
        self.desk.show_key(next(row.key for row in self.desk.blocks.rows if row.name == name))
        await self.until(lambda: self.desk.inspector.row is not None and self.desk.inspector.row.name == name)


async def screen(scene: Scene) -> None:
    """The main screen, a script block with its preview."""
    await scene.go_to("Pacing")
    await scene.shows(" ms")


async def editing(scene: Scene) -> None:
    """A text of one's own behind a built-in one, while it is typed."""
    await scene.go_to("story-info")
    await scene.press("f")
    await scene.until(lambda: scene.desk.inspector.typing)
    await scene.type("Every name in it is real to those who live there.")
    await scene.shows("+app")


async def prompt(scene: Scene) -> None:
    """The compiled prompt, a search in it."""
    await scene.press("p")
    await scene.shows("[@block=")
    await scene.press("slash")
    await scene.type("lamp")
    await scene.press("enter")
    await scene.shows("match 1 of")


async def effect(scene: Scene) -> None:
    """What the config does to the prompt, against the default."""
    await scene.press("d")
    await scene.shows("session start")
    await scene.press("3")
    await scene.shows("blocks change")


async def budget(scene: Scene) -> None:
    """What each block takes of the model's context."""
    await scene.press("B")
    await scene.shows("by estimate")


async def generate(scene: Scene) -> None:
    """A passage that was written."""
    await scene.press("g")
    await scene.shows("direction")
    await scene.type("The storm arrives, and nobody has rung the bell.")
    await scene.press("ctrl+g")
    await scene.shows("discard it")


async def light(scene: Scene) -> None:
    """The light theme."""
    scene.app.theme = LIGHT_THEME
    await scene.go_to("House style")


async def ansi(scene: Scene) -> None:
    """Sixteen colours, at 80 by 24, a block carried."""
    scene.app.theme = ANSI_LIGHT_THEME
    await scene.go_to("story-info")
    await scene.press("space", "m", "j")


@dataclass(frozen=True)
class Picture:
    """`prepare` brings the editor to what is to be seen, on a terminal of `size`."""

    prepare: Callable[[Scene], Awaitable[None]]
    size: tuple[int, int] = (120, 34)


PICTURES = (
    Picture(screen),
    Picture(editing),
    Picture(prompt),
    Picture(effect),
    Picture(budget),
    Picture(generate),
    Picture(light),
    Picture(ansi, (80, 24)),
)


def freeze() -> None:
    """Make every run the same."""
    view, result = Run.view, jobs.script_result
    Run.view = lambda self: replace(view(self), seconds=4.2)  # type: ignore[method-assign]
    for module in (door, jobs):
        module.script_result = lambda outcome: replace(result(outcome), milliseconds=3.0)  # type: ignore[attr-defined]
    wires.WORDS_PER_SECOND = 2_000.0
    random.seed(1)


async def take(picture: Picture, folder: Path) -> Path:
    """Write one picture into a folder; its file."""
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch)
        shutil.copytree(ROOT / "stories", data / "stories")
        workspace = Workspace(data, state=data / "state")
        app = StonehandApp(workspace)
        async with app.run_test(size=picture.size) as pilot:
            scene = Scene(app, pilot)
            await scene.until(lambda: app.desk is not None and app.desk.session is not None)
            await scene.until(lambda: app.desk.session.rows and not app.desk.session.waiting)
            await scene.until(lambda: app.desk.inspector.row is not None)
            await picture.prepare(scene)
            if picture.prepare is not ansi:
                for bar in app.screen.query(KeyBar):
                    bar.say("")
            await asyncio.sleep(0.5)
            file = folder / f"{picture.prepare.__name__}.svg"
            file.write_text(app.export_screenshot(title="Stonehand"), "utf-8")
        workspace.close()
    return file


async def main(names: list[str]) -> None:
    freeze()
    for picture in PICTURES:
        if not names or picture.prepare.__name__ in names:
            print(await take(picture, ROOT / "docs"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
