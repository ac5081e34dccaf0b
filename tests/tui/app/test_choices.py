"""Language and theme: chosen in the running editor, kept in the user's file, said and drawn at once."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual.widgets import OptionList

from engine.workspace import Workspace
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui import language
from tui.app import StonehandApp
from tui.language import LazyText
from tui.screens.help import HelpScreen
from tui.screens.passage import PassageScreen
from tui.screens.pick import PickDialog
from tui.screens.prompt import PromptScreen
from tui.settings import Settings
from tui.widgets.stream_view import StreamView


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    language.use("en")


async def choose(ed: Editor, command: str, *keys: str) -> None:
    """Run a command of the palette and choose with keys from what it asks."""
    await ed.press("ctrl+p")
    await ed.type(command)
    await ed.until(lambda: ed.app.screen.query_one(OptionList).option_count)
    await ed.press("down", "enter")
    await ed.until(lambda: isinstance(ed.app.screen, PickDialog) and ed.app.screen.query(OptionList), "the dialog")
    await ed.press(*keys, "enter")
    await ed.until(lambda: not isinstance(ed.app.screen, PickDialog))


async def test_the_language_is_another_at_once_and_next_time(editor: Open, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("fps = 20 # mine\n", "utf-8")
    async with editor(settings=Settings(file=file)) as ed:
        await ed.goto("cb-counta")
        await ed.until(lambda: ed.shows("preview · "))
        await choose(ed, "language", "down")
        await ed.until(lambda: ed.shows("智能体"))
        for text in ("写作 · ", "系统", "脚本：返回文本", "预览 · ", "开/关", "帮助"):
            assert ed.shows(text), (text, ed.grid())
        await ed.press("g")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        assert ed.shows("指示：接下来应发生什么")
    assert file.read_text("utf-8") == 'fps = 20 # mine\nlanguage = "zh"\n'


@pytest.mark.parametrize(("key", "screen", "texts"), [
    ("p", PromptScreen, ("编译后的提示词", "个块")), ("g", PassageScreen, ("指示：", "排练"))])  # fmt: skip
async def test_on_every_screen(editor: Open, key: str, screen: type, texts: tuple[str, ...]) -> None:
    async with editor() as ed:
        await ed.press(key)
        await ed.until(lambda: isinstance(ed.app.screen, screen))
        await choose(ed, "language", "down")
        for text in texts:
            await ed.until(lambda text=text: ed.shows(text))  # type: ignore[misc]
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        assert ed.shows("智能体")


async def test_actions_are_found_without_an_input_method(editor: Open) -> None:
    language.use("zh")
    async with editor() as ed:
        await ed.press("ctrl+p")
        await ed.type("redo")
        await ed.until(lambda: ed.shows("重做 · redo"))
        await ed.press("ctrl+u")
        await ed.type("change lang")
        await ed.until(lambda: ed.shows("更改语言 · Change language"))


async def test_leaving_the_choice_changes_nothing(editor: Open, tmp_path: Path) -> None:
    async with editor(settings=Settings(file=tmp_path / "settings.toml")) as ed:
        ed.app.action_change_language()
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("down", "escape")
        assert ed.shows("Agents") and language.in_use() == "en"
    assert not (tmp_path / "settings.toml").exists()


async def test_the_theme(editor: Open, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    async with editor(settings=Settings(file=file)) as ed:
        before = ed.app.theme
        ed.app.action_change_theme()
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog) and ed.app.screen.query(OptionList))
        options = ed.app.screen.query_one(OptionList)
        at = sorted(ed.app.available_themes).index(before)
        await ed.until(lambda: options.highlighted == at, "the theme in force under the cursor")
        await ed.press("home", "enter")
        await ed.until(lambda: ed.app.theme != before)
        assert tomllib.loads(file.read_text("utf-8")) == {"theme": ed.app.theme}


async def test_a_choice_that_can_not_be_kept_is_told(
    editor: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("fps = \n", "utf-8")
    async with editor(settings=Settings(file=file)) as ed:
        ed.app.keep_theme("nord")
        assert ed.app.theme == "nord"
        await ed.until(lambda: ed.toasts)
        assert ed.toasts[-1].startswith("the choice holds until you leave; it was not kept: ")
        file.unlink()
        monkeypatch.setenv("STONEHAND_THEME", "nord")
        ed.app.keep_theme("dracula")
        await ed.until(lambda: ed.toasts[-1] == "STONEHAND_THEME is set: at the next start it decides")
    assert file.read_text("utf-8") == 'theme = "dracula"\n'


async def test_what_is_ignored_is_told_once_and_listed(data: Path, workspaces: Callable[..., Workspace]) -> None:
    problems = (LazyText("settings.unreadable", file="a", reason="b"), LazyText("app.theme"))
    workspace = workspaces(data)
    app = StonehandApp(workspace, settings=Settings(problems=problems))
    async with app.run_test(notifications=True) as pilot:
        ed = Editor(app, pilot, workspace)
        assert ed.toasts == ["a can't be read: b (and 1 more: f1 lists them)"]
        await ed.press("f1")
        await ed.until(lambda: isinstance(app.screen, HelpScreen) and app.screen.query_one(StreamView).text)
        assert app.screen.query_one(StreamView).text.startswith(
            "Settings and keys\n! a can't be read: b\n! Change theme\n"
        )
