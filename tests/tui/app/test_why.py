"""Why a line of the prompt is there, and why a block is as it is."""

from __future__ import annotations

from textual.widgets import Static

from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui import language
from tui.screens.jump import JumpDialog
from tui.screens.prompt import PromptScreen
from tui.screens.why import WhyDialog
from tui.widgets.prompt_view import PromptView


async def pointing(ed: Editor) -> PromptView:
    await ed.press("p")
    await ed.until(lambda: isinstance(ed.app.screen, PromptScreen), "the prompt")
    view = ed.app.screen.query_one(PromptView)
    await ed.until(lambda: view.blocks)
    await ed.press("w")
    await ed.until(lambda: view.pointing and ed.shows("Why ·"), "the reasons")
    return view


def reasons(ed: Editor) -> str:
    return " ".join(str(ed.app.screen.query_one("#why", Static).render()).split())


async def until_line(ed: Editor, text: str) -> None:
    """Move the pointer down to the row that holds a text."""
    for _ in range(200):
        await ed.pilot.pause()
        if any("►" in line and text in line for line in ed.lines()):
            return
        await ed.press("j")
    raise AssertionError(f"{text} was not come by\n{ed.grid()}")


async def test_every_kind_of_line_says_where_it_came_from(editor: Open) -> None:
    async with editor() as ed:
        view = await pointing(ed)
        assert "the line that names its block" in reasons(ed)
        await ed.press("j")
        await ed.pilot.pause()
        assert "the fixed text generation.system" in reasons(ed) and "always there" in reasons(ed)
        await until_line(ed, "Keep the tide tables right.")
        assert "your text after the default of instructions" in reasons(ed)
        await until_line(ed, "Short sentences.")
        assert "the text of your block cb-stylea" in reasons(ed) and "your own text block" in reasons(ed)
        await until_line(ed, "Past tense.")
        assert "fragment gl-tonare “Tense” (guideline): in full, because it is pinned" in reasons(ed)
        await until_line(ed, "Sections so far: 2")
        assert "what the script of your block cb-counta returned" in reasons(ed)
        await ed.press("enter")
        await ed.until(lambda: ed.focus == "blocks" and ed.blocks.key == "cb-counta", "the block in the list")
        assert not view.is_attached


async def test_the_pointer_follows_keys_and_mouse_and_escape_ends_it(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        view = await pointing(ed)
        await ed.press("end")
        await ed.pilot.pause()
        assert any("►" in line for line in ed.lines())
        last = reasons(ed)
        await ed.press("home")
        await ed.pilot.pause()
        assert reasons(ed) != last and any("►" in line for line in ed.lines())
        await ed.pilot.click(PromptView, offset=(30, 3))
        await ed.pilot.pause()
        assert "►" in view.render_line(3).text
        await ed.pilot.resize_terminal(40, 12)
        await ed.press("j", "j", "pagedown", "k")
        await ed.pilot.resize_terminal(80, 24)
        await ed.press("escape")
        assert not view.pointing and isinstance(ed.app.screen, PromptScreen)
        assert not any("►" in line for line in ed.lines())
        await ed.press("w")
        await ed.until(lambda: view.pointing)
        await ed.press("w")
        assert not view.pointing
        await ed.press("escape")
        await ed.until(lambda: not isinstance(ed.app.screen, PromptScreen))


async def test_the_pointer_goes_along_to_blocks_and_matches(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        view = await pointing(ed)

        async def explained(text: str, line: str) -> None:
            await ed.until(lambda: text in reasons(ed), text)
            await ed.until(lambda: any("►" in drawn and line in drawn for drawn in ed.lines()), line)

        last = view.blocks[-1]
        await ed.press("b")
        await ed.until(lambda: isinstance(ed.app.screen, JumpDialog))
        await ed.type(last.name)
        await ed.press("enter")
        await explained(f"Why · {last.name}", "[@block=")
        await ed.press("K")
        await explained(f"Why · {view.blocks[-2].name}", "[@block=")
        await ed.press("J")
        await explained(f"Why · {last.name}", "[@block=")
        await ed.press("slash")
        await ed.type("past tense")
        await ed.press("enter")
        await explained("gl-tonare", "Past tense.")
        # What was gone to before anything is pointed at, though it can't be scrolled to the top.
        await ed.press("w", "home", "b")
        await ed.until(lambda: isinstance(ed.app.screen, JumpDialog))
        await ed.type(last.name)
        await ed.press("enter", "w")
        await explained(f"Why · {last.name}", "[@block=")


async def test_a_block_of_the_list(editor: Open) -> None:
    async with editor() as ed:
        for key, said in (
            ("new-story", "It is absent: only until something is written."),
            ("fragment-catalog", "left out when: no fragment is left to list."),
            ("cb-stylea", "Place 4 of 4 in system: its own order 400;"),
        ):
            await ed.goto(key)
            await ed.press("w")
            await ed.until(lambda: isinstance(ed.app.screen, WhyDialog))
            await ed.pilot.pause()
            assert said in " ".join(str(ed.app.screen.query_one("#reasons", Static).render()).split())
            await ed.press("escape")
        await ed.press("space", "K", "w")
        await ed.until(lambda: isinstance(ed.app.screen, WhyDialog) and ed.shows("It is off"))
        said = " ".join(str(ed.app.screen.query_one("#reasons", Static).render()).split())
        assert "Place 3 of 4 in system, as you arranged it" in said
        await ed.pilot.click("#done")
        assert ed.focus == "blocks"


async def test_in_chinese(editor: Open) -> None:
    language.use("zh")
    try:
        async with editor() as ed:
            await ed.press("w")
            await ed.until(lambda: ed.shows("这是内置块"))
    finally:
        language.use("en")
