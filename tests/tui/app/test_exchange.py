"""Whole configs exported, imported, copied and reset, and all of that taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static

from engine.document import SaveState
from engine.workspace import Workspace
from tests.stories import config_file, custom_block, make_story
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.bundle_file import BundleFileDialog
from tui.screens.choice import ChoiceDialog
from tui.screens.report import ReportDialog
from tui.screens.target import TargetDialog
from tui.widgets.path_input import PathInput
from tui.widgets.text_editor import TextEditor

CHAT = "librarian.chat"
FOREIGN: dict[str, Any] = {
    "agentBlockConfigs": {
        "generation.writer": {
            "customBlocks": [custom_block("cb-foreig", "return 'x'", name="Foreign", type="script")],
            "overrides": {"story-info": {"enabled": False}},
        },
        CHAT: {"overrides": {"instructions": {"enabled": False}}},
        "somebody.else": {"overrides": {}},
    }
}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder the editor was started in, which is also the user's own."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def bundle(own_folder: Path) -> Path:
    file = own_folder / "foreign.json"
    file.write_text(json.dumps(FOREIGN))
    return file


async def on(ed: Editor, screen: type) -> None:
    await ed.until(lambda: isinstance(ed.app.screen, screen), screen.__name__)
    await ed.pilot.pause()


async def back(ed: Editor) -> None:
    await ed.until(lambda: ed.app.screen is ed.desk, "the main screen")


async def name_file(ed: Editor, path: str) -> None:
    ed.app.screen.query_one(PathInput).value = path
    await ed.press("enter")


async def begin_import(ed: Editor, path: str) -> None:
    await ed.press("i")
    await on(ed, BundleFileDialog)
    await name_file(ed, path)
    await on(ed, ReportDialog)


async def test_an_agent_is_exported_to_a_file(editor: Open, own_folder: Path) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.press("space", "x")
        await on(ed, BundleFileDialog)
        assert ed.field("#path") == "~/the-quay-generation.writer.json"
        await ed.press("enter")
        await back(ed)
        file = own_folder / "the-quay-generation.writer.json"
        found = json.loads(file.read_bytes())
        assert found["agentName"] == "generation.writer"
        assert found["config"]["overrides"]["story-info"] == {"enabled": False}, "with what was just edited"
        assert found["config"]["customBlocks"] == ed.config()["customBlocks"]
        await ed.until(lambda: any("exported to ~/" in toast for toast in ed.toasts))


async def test_a_file_is_overwritten_only_when_asked(editor: Open, own_folder: Path) -> None:
    file = own_folder / "the-quay-generation.writer.json"
    file.write_text("precious")
    async with editor() as ed:
        await ed.press("x")
        await on(ed, BundleFileDialog)
        await ed.press("enter")
        await on(ed, ChoiceDialog)
        assert ed.shows("exists already")
        await ed.press("escape")
        await on(ed, BundleFileDialog)
        assert file.read_text() == "precious"
        await ed.press("enter")
        await on(ed, ChoiceDialog)
        await ed.press("r")
        await back(ed)
        assert json.loads(file.read_bytes())["agentName"] == "generation.writer"


async def test_the_whole_story_is_exported_by_mouse_and_a_wrong_folder_is_told(editor: Open, own_folder: Path) -> None:
    async with editor((80, 24)) as ed:
        await ed.press("x")
        await on(ed, BundleFileDialog)
        await ed.pilot.click("#which", offset=(28, 0))
        await name_file(ed, "~/no-such/configs.json")
        await ed.until(lambda: ed.shows("there is no such folder"))
        assert not (own_folder / "no-such").exists()
        await on(ed, BundleFileDialog)
        ed.app.screen.query_one(PathInput).value = "~"
        await ed.until(lambda: not ed.shows("there is no such folder"))
        await ed.pilot.pause()
        await ed.pilot.click("#done")
        await back(ed)
        file = own_folder / "the-quay-main-configs.json"
        assert set(json.loads(file.read_bytes())["agentBlockConfigs"]) == {"generation.writer"}


async def test_an_invalid_config_is_left_out_of_an_export_and_replaced_by_an_import(
    editor: Open, data: Path, own_folder: Path, bundle: Path
) -> None:
    story = data / "stories/the-quay"
    files = [config_file(story), config_file(story, CHAT)]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text('{"customBlocks": 5}')
    async with editor((120, 40)) as ed:
        await ed.press("x")
        await on(ed, BundleFileDialog)
        await ed.pilot.click("#which", offset=(28, 0))
        await name_file(ed, "~/all.json")
        await back(ed)
        assert sum("left out: " in toast for toast in ed.toasts) == 2
        assert "agentBlockConfigs" not in json.loads((own_folder / "all.json").read_bytes())
        await begin_import(ed, str(bundle))
        assert ed.shows("no valid config")
        await ed.press("y")
        await back(ed)
        await ed.until(lambda: all(b"enabled" in file.read_bytes() for file in files))
        assert ed.session.document.state is SaveState.SAVED
        await ed.press("I")
        await on(ed, ReportDialog)
        await ed.press("y")
        await ed.until(lambda: all(file.read_text() == '{"customBlocks": 5}' for file in files))


async def test_an_agent_is_exported_to_the_clipboard(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("x")
        await on(ed, BundleFileDialog)
        await ed.press("shift+tab", "right")
        await ed.until(lambda: not ed.app.screen.query_one("#path").display)
        await ed.press("enter")
        await back(ed)
        assert json.loads(ed.app.clipboard)["agentName"] == "generation.writer"
        assert "copied" in ed.said


async def test_an_import_is_shown_done_undone_and_taken_back(editor: Open, bundle: Path) -> None:
    async with editor() as ed:
        writer = ed.file().read_bytes()
        await begin_import(ed, "~/foreign.json")
        for text in ("adds the script block 'Foreign'", "scripts are off", "there is no agent somebody.else", CHAT):
            assert ed.shows(text), text
        assert ed.file().read_bytes() == writer and not ed.file(CHAT).exists(), "nothing before it is asked for"
        await ed.press("y")
        await back(ed)
        await ed.listed()
        await ed.saved()
        assert [block["name"] for block in ed.config()["customBlocks"]] == ["Foreign"]
        assert "✗" in ed.line_of("Foreign")
        assert ed.config(CHAT)["overrides"] == {"instructions": {"enabled": False}}
        await ed.until(lambda: any("What was there before is kept in" in toast for toast in ed.toasts))
        (kept,) = [toast for toast in ed.toasts if "is kept in" in toast]
        copies = list(Path(kept.rpartition(" in ")[2]).iterdir())
        assert [copy.read_bytes() for copy in copies] == [writer]
        assert ed.session.document.state is SaveState.SAVED and not ed.shows("conflict")
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.file().read_bytes() == writer, "undo brings it back to the byte"
        await ed.press("ctrl+r", "ctrl+s")
        await ed.saved()
        await ed.until(lambda: ed.custom("Foreign"))
        await ed.press("I")
        await on(ed, ReportDialog)
        assert ed.shows("removes the script block 'Foreign'") and ed.shows(CHAT)
        await ed.press("y")
        await back(ed)
        await ed.until(lambda: "put back" in ed.said)
        assert ed.file().read_bytes() == writer and not ed.file(CHAT).exists()
        assert "House style" in ed.listed_names() and not ed.shows("conflict")
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.custom("Foreign"), "taking back is a step that undo takes back"
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.file().read_bytes() == writer


async def test_an_import_is_taken_back_after_a_restart_and_by_the_command_line_too(
    editor: Open, bundle: Path, data: Path, workspaces: Any
) -> None:
    async with editor() as ed:
        writer = ed.file().read_bytes()
        await begin_import(ed, "~/foreign.json")
        await ed.press("y")
        await back(ed)
        await ed.saved()
    other: Workspace = workspaces(data)
    plan = other.exchange.plan_take_back("the-quay", "main")
    assert {item.agent for item in plan.agents} == {"generation.writer", CHAT} and not plan.changed
    async with editor() as ed:
        await ed.press("I")
        await on(ed, ReportDialog)
        await ed.press("y")
        await back(ed)
        await ed.until(lambda: "put back" in ed.said)
        assert ed.file().read_bytes() == writer and not ed.file(CHAT).exists()
        await ed.press("I")
        await ed.until(lambda: "no import is on record" in ed.said)


async def test_an_import_into_the_agent_that_is_open(editor: Open, own_folder: Path) -> None:
    chat = {"agentName": CHAT, "displayName": "Chat", "config": {"overrides": {"story-info": {"enabled": False}}}}
    (own_folder / "chat.json").write_text(json.dumps(chat))
    async with editor() as ed:
        await ed.press("i")
        await on(ed, BundleFileDialog)
        await ed.press("shift+tab", "shift+tab", "left")
        await name_file(ed, "chat.json")
        await on(ed, ReportDialog)
        assert ed.shows(f"it was exported from {CHAT}")
        await ed.press("y")
        await back(ed)
        await ed.saved()
        assert ed.config()["overrides"] == {"story-info": {"enabled": False}} and not ed.file(CHAT).exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "foreign.json:1"),
        ('{"config": {"customBlocks": 7}, "agentName": "generation.writer"}', "must be a list"),
        ("[]", "must be an object"),
        (None, "there is no such file"),
    ],
)
async def test_a_file_that_cannot_be_used_is_told_and_changes_nothing(
    editor: Open, bundle: Path, content: str | None, told: str
) -> None:
    if content is None:
        bundle.unlink()
    else:
        bundle.write_text(content)
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.press("i")
        await on(ed, BundleFileDialog)
        first = ed.app.screen
        await name_file(ed, "foreign.json")
        await ed.until(lambda: ed.app.screen is not first and ed.app.screen.query("#fault"))
        assert told in str(ed.app.screen.query_one("#fault", Static).render()), "however its lines are broken"
        await ed.press("escape")
        await back(ed)
        assert ed.file().read_bytes() == before and not (ed.workspace.state / "imports").exists()


async def test_an_import_is_refused_while_a_conflict_is_open(editor: Open, bundle: Path) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        theirs = b'{"overrides": {"prose-recent": {"enabled": false}}}'
        ed.file().write_bytes(theirs)
        await ed.press("space", "ctrl+s")
        await ed.until(lambda: ed.session.document.state is SaveState.CONFLICT)
        await begin_import(ed, "foreign.json")
        await ed.press("y")
        await ed.until(lambda: any("settle that first" in toast for toast in ed.toasts))
        assert ed.file().read_bytes() == theirs and ed.session.document.state is SaveState.CONFLICT


@pytest.mark.parametrize(
    ("wanted", "agent", "branch"),
    [("prewriter here", "generation.prewriter", "main"), ("this stormy", "generation.writer", "stormy")],
)
async def test_a_config_is_copied_to_another_agent_or_branch(
    editor: Open, wanted: str, agent: str, branch: str
) -> None:
    async with editor() as ed:
        config_file(ed.workspace.data / "stories/the-quay", branch="stormy").write_text("{}")
        own = ed.file().read_bytes()
        await ed.press("C")
        await on(ed, TargetDialog)
        await ed.type(wanted)
        await ed.press("enter")
        await on(ed, ReportDialog)
        assert ed.shows("adds the text block 'House style'")
        await ed.press("y")
        await back(ed)
        await ed.until(lambda: "copied to" in ed.said)
        copied = ed.config(agent, branch)
        assert copied["customBlocks"] == ed.config(branch="main")["customBlocks"], "a script of one's own stays on"
        assert ed.file(branch="main").read_bytes() == own


async def test_a_branch_to_copy_to_is_called_by_its_name_alone(editor: Open, data: Path) -> None:
    index = make_story(data, "zz-mill", name="The Mill", branches=("main", "br-one", "br-two")) / "branches.json"
    branches = json.loads(index.read_text("utf-8"))
    for branch, name in zip(branches["branches"], ("Main", "Storm", "Storm"), strict=True):
        branch["name"] = name
    index.write_text(json.dumps(branches), "utf-8")
    async with editor() as ed:
        await ed.press("C")
        await on(ed, TargetDialog)
        labels = ed.app.screen._names  # type: ignore[attr-defined]
        assert {"Prewriter, here", "this agent, branch Stormy", "Prewriter, branch Stormy"} <= {*labels}
        assert "Writer, branch Main of The Mill" in labels
        assert "Writer, branch Storm · br-two of The Mill" in labels, "two have this name"


async def test_a_config_is_copied_to_another_story_and_undone_there(editor: Open, data: Path) -> None:
    other = make_story(data, "zz-mill", name="The Mill 磨坊")
    async with editor((80, 24)) as ed:
        await ed.press("C")
        await on(ed, TargetDialog)
        await ed.type("writer 磨坊")
        await ed.press("enter")
        await on(ed, ReportDialog)
        await ed.press("y")
        await back(ed)
        await ed.until(lambda: config_file(other).exists())
        ed.desk.begin(lambda: ed.desk.open_story("zz-mill", None, "generation.writer"), "open", exclusive=True)
        await ed.until(lambda: ed.session.story == "zz-mill")
        await ed.listed()
        assert "House style" in ed.listed_names()
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert not config_file(other).exists()


async def test_a_reset_keeps_a_copy(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.press("R", "a")
        await ed.until(lambda: ed.config() and not ed.config()["customBlocks"])
        await ed.saved()
        (folder,) = (item for item in (ed.workspace.state / "imports").iterdir() if item.is_dir())
        assert [copy.read_bytes() for copy in folder.iterdir()] == [before]
        await ed.until(lambda: any(str(folder) in toast for toast in ed.toasts), "where the copy is")
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.file().read_bytes() == before


async def test_every_agent_of_a_branch_is_reset_at_once_and_taken_back(editor: Open) -> None:
    async with editor() as ed:
        ed.file(CHAT).parent.mkdir(exist_ok=True)
        ed.file(CHAT).write_text(json.dumps(FOREIGN["agentBlockConfigs"][CHAT]))
        before = {agent: ed.file(agent).read_bytes() for agent in ("generation.writer", CHAT)}
        await ed.press("R", "s")
        await on(ed, ReportDialog)
        assert ed.shows("generation.writer") and ed.shows(CHAT)
        await ed.press("y")
        await back(ed)
        await ed.until(lambda: "I takes it back" in ed.said)
        assert not ed.config()["customBlocks"] and not ed.config(CHAT)["overrides"]
        await ed.press("I")
        await on(ed, ReportDialog)
        await ed.press("y")
        await back(ed)
        await ed.until(lambda: "put back" in ed.said)
        assert {agent: json.loads(ed.file(agent).read_bytes()) for agent in before} == {
            agent: json.loads(data) for agent, data in before.items()
        }


async def test_the_text_of_an_export_can_be_pasted(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        await ed.press("i")
        await on(ed, BundleFileDialog)
        line = next(y for y, text in enumerate(ed.lines()) if "pasted text" in text)
        await ed.pilot.click(offset=(ed.lines()[line].index("pasted text") + 1, line))
        pasted = ed.app.screen.query_one("#pasted", TextEditor)
        pasted = ed.app.screen.query_one("#pasted", TextEditor)
        await ed.until(lambda: pasted.display)
        await ed.pilot.click("#done")
        assert ed.app.focused is pasted, "nothing is pasted yet"
        pasted.load('{"a": ')
        await ed.press("ctrl+s")
        await ed.until(lambda: ed.app.screen.query("#pasted") and ed.shows("pasted text:1"))
        again = ed.app.screen.query_one("#pasted", TextEditor)
        assert again.value == '{"a": ' and again.has_focus, "it is not lost"
        again.load(json.dumps(FOREIGN))
        await ed.pilot.click("#done")
        await on(ed, ReportDialog)
        await ed.press("y")
        await back(ed)
        await ed.until(lambda: ed.said.startswith("imported"))
        assert ed.config()["overrides"] == {"story-info": {"enabled": False}}


async def test_the_reset_of_an_invalid_file_is_on_record(editor: Open, data: Path) -> None:
    file = config_file(data / "stories/the-quay")
    file.write_bytes(b'{"customBlocks": 7}')
    async with editor() as ed:
        await ed.press("R", "r")
        await ed.until(lambda: "kept as" in ed.said)
        await ed.saved()
        assert ed.config()["customBlocks"] == []
        await ed.press("I")
        await on(ed, ReportDialog)
        await ed.press("y")
        await back(ed)
        await ed.until(lambda: ed.session.document.state is SaveState.INVALID)
        assert file.read_bytes() == b'{"customBlocks": 7}'


async def test_a_full_disk_stops_an_import_before_anything_is_replaced(
    editor: Open, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine import disk

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async with editor() as ed:
        before = ed.file().read_bytes()
        await begin_import(ed, "foreign.json")
        with monkeypatch.context() as patch:
            patch.setattr(disk, "_write", full)
            await ed.press("y")
            await ed.until(lambda: any("no space left" in toast for toast in ed.toasts))
        assert ed.file().read_bytes() == before and ed.session.document.state is SaveState.SAVED
        await ed.press("x")
        await on(ed, BundleFileDialog)
        with monkeypatch.context() as patch:
            patch.setattr(disk, "_write", full)
            await ed.press("enter")
            await ed.until(lambda: ed.shows("no space left"))
        assert [file.name for file in bundle.parent.iterdir() if file.is_file()] == ["foreign.json"], (
            "no half file either"
        )
