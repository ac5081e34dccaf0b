"""The live preview of scripts: what comes of what is being typed, without ever being waited for."""

from __future__ import annotations

import pytest

from engine.workspace import PreviewJob, Workspace
from tests.tui.conftest import SCRIPT, Open
from tests.tui.editor import Editor
from tui.widgets.script_editor import ScriptEditor
from tui.widgets.stream_view import StreamView


def preview(ed: Editor) -> str:
    return ed.desk.query_one("#preview", StreamView).text


async def replace_script(ed: Editor, text: str) -> None:
    """Put a script in place of the one under the cursor, as a paste does."""
    await ed.press("e")
    ed.text.select_all()
    ed.text.replace(text, *ed.text.selection)
    await ed.pilot.pause()


@pytest.fixture
def previews(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The bodies of all scripts that are previewed."""
    asked: list[str] = []
    original = Workspace.preview

    def preview(self: Workspace, base: object, body: str, *rest: object) -> PreviewJob:
        asked.append(body)
        return original(self, base, body, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Workspace, "preview", preview)
    return asked


async def test_the_preview_follows_the_cursor(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await ed.until(lambda: ed.shows("Sections so far: 2") and ed.shows("preview · ") and ed.shows(" ms"))
        await ed.goto("cb-stylea")
        await ed.until(lambda: not ed.shows("Sections so far"))


async def test_the_preview_follows_the_typing_after_a_pause(editor: Open, previews: list[str]) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await ed.until(lambda: ed.shows("Sections so far: 2"))
        previews.clear()
        await ed.press("e", "ctrl+end", "left")
        await ed.type(" of nine")
        await ed.until(lambda: ed.shows("Sections so far: 2 of nine"))
        assert previews[-1].endswith(" of nine`")
        assert len(previews) < 8, "not once for every key"
        assert ed.inspector.typing
        tokens = ed.session.row("cb-counta").tokens
        await ed.until(lambda: str(tokens) in ed.line_of("Section count"), "the list, which follows too")


async def test_undo_brings_the_preview_back(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await replace_script(ed, "return 'other'")
        await ed.until(lambda: preview(ed) == "other")
        await ed.press("escape", "u")
        await ed.until(lambda: ed.shows("Sections so far: 2"))
        assert ed.text.value == SCRIPT


async def test_console_lines(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await replace_script(ed, "console.log('saw', ctx.proseFragments.length)\nreturn 'done'")
        await ed.until(lambda: ed.shows("saw 2") and ed.shows("console"))
        assert ed.shows("done")


async def test_an_error_marks_its_line(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await replace_script(ed, "const a = 1\nreturn missing.name")
        await ed.until(lambda: ed.shows("preview: no text"))
        assert ed.shows("missing") and ed.shows("(line 2)")
        script = ed.desk.query_one("#script", ScriptEditor)
        assert script._error_line == 2
        await ed.until(lambda: ed.line_of("Section count").startswith("› !"), "the sign in the list")
        await replace_script(ed, "return 'mended'")
        await ed.until(lambda: preview(ed) == "mended")
        assert script._error_line is None
        await ed.until(lambda: "!" not in ed.line_of("Section count"))


async def test_a_script_that_returns_nothing(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await replace_script(ed, "const a = 1")
        await ed.until(lambda: ed.shows("returned nothing"))
        await ed.until(lambda: ed.session.row("cb-counta").state == "silent")
        assert "Section count" not in ed.listed_names()


async def test_an_endless_script_is_stopped_while_the_interface_answers(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await replace_script(ed, "while (true) {}")
        await ed.until(lambda: ed.shows("preview …"), "the sign that it is awaited")
        await ed.press("escape", "k")
        assert ed.blocks.key == "writing-brief", "keys are answered meanwhile"
        await ed.press("j")
        await ed.until(
            lambda: ed.shows("preview: no text") and ed.inspector.row and ed.inspector.row.key == "cb-counta"
        )
        await replace_script(ed, "return 'alive'")
        await ed.until(lambda: preview(ed) == "alive")


STOPPED = "stopped after 1 s: a prompt gives it up to 5 s"


async def test_what_a_prompt_has_the_time_for_is_shown_once_it_is_known(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await replace_script(ed, "const end = Date.now() + 1300; while (Date.now() < end); return 'at last'")
        await ed.until(lambda: preview(ed) == STOPPED)
        assert ed.session.row("cb-counta").note == STOPPED
        await ed.press("escape")
        await ed.until(lambda: preview(ed) == "at last")
        assert ed.session.row("cb-counta").content == "at last"
        assert not ed.shows("preview: ") and ed.shows("preview · ")
        await ed.press("k")
        await ed.goto("cb-counta")
        await ed.until(lambda: ed.shows("preview · 1") and preview(ed) == "at last", "also when it is run again")


async def test_the_row_and_the_preview_of_an_endless_script_say_the_same(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await replace_script(ed, "while (true) {}")
        await ed.until(lambda: preview(ed) == STOPPED)
        await ed.until(lambda: not ed.shows("not evaluated yet"))
        assert ed.session.row("cb-counta").note == STOPPED
        await ed.press("escape")
        await ed.until(lambda: preview(ed) == "stopped after 5 s")
        assert ed.session.row("cb-counta").note == "script error: stopped after 5 s"


async def test_a_newer_text_ends_the_run_before(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-counta")
        await replace_script(ed, "while (true) {}")
        await ed.until(lambda: ed.shows("preview …"))
        await replace_script(ed, "return 'the second'")
        await ed.until(lambda: preview(ed) == "the second")
