"""The model dialog: what is in force and why, choosing and inheriting, undo; what of it is in meta.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.stories import make_story
from tests.tui.app.providers import write_providers
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.model import ModelDialog
from tui.screens.name import NameDialog
from tui.screens.passage import PassageScreen
from tui.screens.pick import PickDialog
from tui.widgets.cells import short_count
from tui.widgets.setting import Temperature

WRITER = "generation.writer"


@pytest.fixture
def meta(data: Path, tmp_path: Path) -> Path:
    """The story's meta.json; there are providers."""
    write_providers(tmp_path / "config")
    return data / "stories" / "the-quay" / "meta.json"


def settings(meta: Path) -> Any:
    return json.loads(meta.read_text("utf-8"))["settings"]


def overrides(meta: Path) -> Any:
    return settings(meta).get("modelOverrides")


async def opened(ed: Editor) -> None:
    await ed.press("M")
    await ed.until(lambda: isinstance(ed.app.screen, ModelDialog) and ed.shows("Temperature"), "the dialog")


async def pick(ed: Editor, label: str) -> None:
    """Choose a line of the list in front, by keys."""
    from textual.widgets import OptionList

    await ed.until(lambda: isinstance(ed.app.screen, PickDialog | NameDialog), "a list")
    options = ed.app.screen.query_one(OptionList)
    at = next(i for i in range(options.option_count) if str(options.get_option_at_index(i).prompt).startswith(label))
    await ed.press(*["down"] * (at - (options.highlighted or 0)), "enter")
    await ed.until(lambda: isinstance(ed.app.screen, ModelDialog), "the dialog")


def said(ed: Editor, text: str) -> bool:
    return text in str(ed.app.screen.query_one("#said").render())


async def test_the_top_bar_says_what_is_in_force(editor: Open, meta: Path) -> None:
    async with editor() as ed:
        await ed.until(lambda: "writer · gpt-4 " in ed.lines()[0] and ed.desk.tool_tokens)
        used = sum(row.tokens or 0 for row in ed.blocks.rows) + ed.desk.tool_tokens
        assert f"~{short_count(used)}/8k" in ed.lines()[0]


async def test_without_providers_it_is_the_rehearsal(editor: Open) -> None:
    async with editor() as ed:
        await ed.until(lambda: "writer · rehearsal " in ed.lines()[0])
        await opened(ed)
        await ed.until(lambda: ed.shows("rehearsal · Rehearsal (no model)  no provider can be"))
        assert ed.shows("! no LLM provider is configured") and ed.shows("not set ▸  the provider decides")
        await ed.press("down", "enter")
        await ed.until(lambda: said(ed, "the rehearsal has no model"))


async def test_each_value_has_its_source(editor: Open, data: Path, meta: Path) -> None:
    make_story(data, "other", name="Other", settings={"modelOverrides": {"generation": {"temperature": 0.5}}})
    meta.write_text(meta.read_text("utf-8").replace('"enabledPlugins"', '"temperature": 1, "enabledPlugins"'), "utf-8")
    async with editor() as ed:
        ed.desk.begin(lambda: ed.desk.open_story("other", None, WRITER), "open", exclusive=True)
        await ed.until(lambda: ed.session.story == "other")
        await ed.listed()
        await opened(ed)
        assert ed.shows("far  the default") and ed.shows("providers.toml default, line 1")
        assert ed.shows("gpt-4  the provider's default")
        assert ed.shows("providers.toml providers.far.default_model, line 5")
        assert ed.shows("0.5 ▸  inherited from generation")
        other = data / "stories" / "other" / "meta.json"
        line = next(n for n, text in enumerate(other.read_text("utf-8").splitlines(), 1) if '"temperature"' in text)
        assert ed.shows(f"meta.json modelOverrides.generation.temperature, line {line}")
        assert ed.shows("8,192 (known of models of this name)")


async def test_choosing_provider_model_and_temperature(editor: Open, meta: Path) -> None:
    async with editor() as ed:
        await opened(ed)
        await ed.press("down", "enter")
        await pick(ed, "gpt-4o")
        await ed.until(lambda: said(ed, "saved"))
        assert overrides(meta) == {WRITER: {"providerId": "far", "modelId": "gpt-4o"}}, "the provider is pinned"
        await ed.press("down", "right", "right", "right", "enter")
        await ed.until(lambda: ed.shows("1.2 ▸  chosen here"))
        assert overrides(meta)[WRITER]["temperature"] == 1.2
        await ed.press("up", "up", "enter")
        await pick(ed, "near")
        await ed.until(lambda: ed.shows("near  chosen here"))
        assert overrides(meta) == {WRITER: {"providerId": "near"}}, "model and temperature are chosen anew"
        assert ed.shows("$NEAR_KEY_THAT_IS_NOT_SET is not set")
        await ed.press("delete")
        await ed.until(lambda: ed.shows("far  the default"))
        assert overrides(meta) == {}
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.until(lambda: "writer · gpt-4 " in ed.lines()[0])


async def test_other_screens_follow_a_choice_made_elsewhere(editor: Open, meta: Path, tmp_path: Path) -> None:
    before = meta.read_text("utf-8")
    document = json.loads(before)
    document["settings"]["modelOverrides"] = {"generation": {"providerId": "far", "modelId": "gpt-4o"}}
    async with editor(watch=True) as ed:
        await ed.until(lambda: ed.workspace.story("the-quay")._watched, "the watch")
        for agent in (WRITER, "librarian.prose-transform", "librarian.chat"):
            await ed.desk.open_story("the-quay", None, agent)
            await ed.until(lambda name=agent: ed.session.agent == name and ed.session.rows)  # type: ignore[misc]
            await ed.press("g")
            await ed.until(lambda: ed.app.screen is not ed.desk and "far · gpt-4 " in ed.lines()[0], agent)
            front = ed.app.screen
            meta.write_text(json.dumps(document), "utf-8")
            await ed.until(lambda: "far · gpt-4o " in ed.lines()[0], "the model that was chosen elsewhere")
            meta.write_text(before, "utf-8")
            await ed.until(lambda: "far · gpt-4 " in ed.lines()[0], "and the one before")
            assert ed.app.screen is front
            await ed.press("escape", "escape")
            await ed.until(lambda: ed.app.screen is ed.desk)


async def test_what_is_sent_to_is_named_where_no_change_is_told_of(editor: Open, meta: Path, tmp_path: Path) -> None:
    async with editor() as ed:
        await ed.press("g")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen) and "far · gpt-4 " in ed.lines()[0])
        write_providers(tmp_path / "config", "")
        await ed.press("ctrl+g")
        await ed.until(lambda: "rehearsal (not a model)" in ed.lines()[0])
        await ed.until(lambda: ed.shows("keep it, discard it, or begin again"))


async def test_undo_and_redo_outlive_the_dialog(editor: Open, meta: Path) -> None:
    async with editor() as ed:
        before = settings(meta)
        await opened(ed)
        await ed.press("u")
        await ed.until(lambda: said(ed, "nothing to undo"))
        await ed.press("down", "enter")
        await pick(ed, "gpt-4o")
        await ed.until(lambda: said(ed, "saved"))
        chosen = settings(meta)
        await ed.press("escape")
        await ed.until(lambda: "writer · gpt-4o " in ed.lines()[0])
        await opened(ed)
        await ed.press("u")
        await ed.until(lambda: said(ed, f"undone: the models of {WRITER}"))
        assert settings(meta) == before
        await ed.press("ctrl+r")
        await ed.until(lambda: said(ed, "done again"))
        assert settings(meta) == chosen
        meta.write_text(meta.read_text("utf-8").replace("gpt-4o", "gpt-5"), "utf-8")
        await ed.press("u")
        await ed.until(lambda: said(ed, "have been changed since"))
        assert overrides(meta)[WRITER]["modelId"] == "gpt-5"


async def test_another_role_of_the_chain(editor: Open, meta: Path) -> None:
    async with editor() as ed:
        await opened(ed)
        await ed.press("up", "right")
        await ed.until(lambda: ed.shows("[generation]"))
        await ed.press("down", "enter")
        await pick(ed, "near")
        await ed.until(lambda: said(ed, "saved for generation"))
        assert overrides(meta) == {"generation": {"providerId": "near"}}
        await ed.press("up", "left")
        await ed.until(lambda: ed.shows("near  inherited from generation"))


async def test_a_name_that_is_not_listed_can_be_typed(editor: Open, meta: Path) -> None:
    async with editor() as ed:
        await opened(ed)
        await ed.press("down", "enter")
        await ed.until(lambda: isinstance(ed.app.screen, NameDialog))
        await ed.type("gpt-4")
        await ed.until(lambda: ed.shows("gpt-4o") and not ed.shows("mystery"))
        await ed.type(".5 灯塔")
        await ed.press("enter")
        await ed.until(lambda: ed.shows("gpt-4.5 灯塔  chosen here"))
        assert overrides(meta)[WRITER]["modelId"] == "gpt-4.5 灯塔"
        assert ed.shows("Context: not known")
        await ed.press("delete")
        await ed.until(lambda: ed.shows("gpt-4  the provider's default"))


async def test_a_provider_that_is_off_is_marked_and_told_of(editor: Open, meta: Path) -> None:
    async with editor() as ed:
        await opened(ed)
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        assert ed.shows("far  gpt-4  (default)") and ed.shows("gone  x  ✗ disabled")
        assert ed.shows("near  small  ! $NEAR_KEY_THAT_IS_NOT_SET is not set")
        await pick(ed, "gone")
        await ed.until(lambda: said(ed, "another one counts"))
        assert ed.shows("is disabled, so the default one is used")


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("0 . 7 enter", 0.7),
        ("1 comma 2 5 enter", 1.25),
        ("0 down", 0),
        ("1 backspace 2 enter", 2),
        ("left enter", 1.0),
        ("1 . 9 enter right right enter", 2.0),
        ("0 . 0 5 enter left escape", 0.0),
    ],
)
async def test_a_temperature_is_typed_or_stepped(editor: Open, meta: Path, keys: str, value: float) -> None:
    async with editor() as ed:
        await opened(ed)
        await ed.press("down", "down", *keys.replace(".", "full_stop").split())
        await ed.until(lambda: (overrides(meta) or {}).get(WRITER, {}).get("temperature") == value, f"{value}")


@pytest.mark.parametrize(("keys", "fault"), [("3 enter", "is no temperature"), (". . enter", "is not a number")])
async def test_what_is_no_temperature_is_refused(editor: Open, meta: Path, keys: str, fault: str) -> None:
    async with editor() as ed:
        await opened(ed)
        await ed.press("down", "down", *keys.replace(".", "full_stop").split())
        await ed.until(lambda: said(ed, fault))
        assert overrides(meta) is None


async def test_the_mouse_does_it_too(editor: Open, meta: Path) -> None:
    async with editor(size=(80, 24)) as ed:
        await opened(ed)
        await ed.pilot.click("#provider", offset=(3, 0))
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("escape")
        field = ed.app.screen.query_one("#temperature", Temperature)
        start = field.render_line(0).text.index("◂")
        for _ in range(2):
            await ed.pilot.click("#temperature", offset=(start + len("◂ not set ▸") - 1, 0))
        await ed.press("enter")
        await ed.until(lambda: (overrides(meta) or {}).get(WRITER, {}).get("temperature") is not None)
        bar = ed.app.screen.query_one("#role")
        await ed.pilot.click("#role", offset=(bar.size.width - bar.size.width + len(" [generation.writer] ") + 2, 0))
        await ed.until(lambda: ed.shows("[generation]"))


async def test_changes_of_the_files_are_followed(editor: Open, meta: Path, tmp_path: Path) -> None:
    async with editor(watch=True) as ed:
        await ed.until(lambda: "writer · gpt-4 " in ed.lines()[0])
        await ed.until(lambda: ed.workspace.story("the-quay")._watched, "the watch")
        document = json.loads(meta.read_text("utf-8"))
        document["settings"]["modelOverrides"] = {"generation": {"modelId": "gpt-4o"}}
        meta.write_text(json.dumps(document), "utf-8")
        await ed.until(lambda: "writer · gpt-4o " in ed.lines()[0])
        file = write_providers(tmp_path / "config")
        file.write_text(file.read_text("utf-8").replace('default = "far"', 'default = "near"'), "utf-8")
        await ed.until(lambda: "/4k" in ed.lines()[0])
        file.write_text(file.read_text("utf-8").replace('default_model = "small"', ""), "utf-8")
        await ed.until(lambda: ed.toasts, "the fault of the entry")
        assert "default_model" in ed.toasts[0] and "'near' was left out" in ed.toasts[0]


async def test_what_is_left_out_of_providers_is_told(editor: Open, meta: Path, tmp_path: Path) -> None:
    file = write_providers(tmp_path / "config")
    file.write_text(file.read_text("utf-8").replace('default_model = "small"', ""), "utf-8")
    fault = "(providers.near.default_model): is missing, so 'near' was left out"
    async with editor() as ed:
        await ed.until(lambda: ed.toasts and fault in ed.toasts[0], "it is told when the editor opens")
        await ed.press("g", "ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog), "the choice")
        assert ed.shows("'near' was left out")
        await ed.press("escape", "escape", "f1")
        await ed.until(lambda: ed.shows("'near' was left out") and ed.shows("Settings and keys"), "the help")


async def test_a_meta_that_cannot_be_written_is_told(editor: Open, meta: Path) -> None:
    async with editor() as ed:
        await opened(ed)
        text = meta.read_text("utf-8")
        meta.write_text(text.replace('"settings": {', '"settings": {"modelOverrides": [],'), "utf-8")
        await ed.press("down", "enter")
        await pick(ed, "gpt-4o")
        await ed.until(lambda: said(ed, "is not an object"))
        assert overrides(meta) == []
