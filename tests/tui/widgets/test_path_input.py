"""Completing a path: what is certain is filled in, what is not is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Input

from tui.widgets.path_input import PathInput, complete, full_path, short_path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("letters", "letterpress", "港口", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "letters" / "writer.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "completed", "names"),
    [
        ("~/l", "~/letter", ("letterpress/", "letters/")),
        ("~/letters", "~/letters/", ("letters/",)),
        ("~/letters/w", "~/letters/writer.json", ("writer.json",)),
        ("~/letter", "~/letter", ("letterpress/", "letters/")),
        ("~/港", "~/港口/", ("港口/",)),
        ("~/.h", "~/.hidden/", (".hidden/",)),
        ("~/", "~/", ("letterpress/", "letters/", "港口/")),
        ("~/nothing", "~/nothing", ()),
        ("~/no/such/folder", "~/no/such/folder", ()),
        ("~nobody-of-this-name/x", "~nobody-of-this-name/x", ()),
        ("\0", "\0", ()),
    ],
)
def test_completing(folder: Path, typed: str, completed: str, names: tuple[str, ...]) -> None:
    assert complete(typed) == (completed, names)


def test_completing_in_the_folder_the_program_was_started_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "letters")
    assert complete("wr") == ("writer.json", ("writer.json",))
    assert full_path(" writer.json ") == folder / "letters" / "writer.json"


def test_the_users_own_folder_is_written_short(folder: Path) -> None:
    assert short_path(folder / "letters" / "a.json") == os.path.join("~", "letters", "a.json")
    assert short_path(Path("/srv/a.json")) == "/srv/a.json"
    assert full_path("~/a/../b.json") == folder / "b.json"


async def test_tab_completes_and_leaves_the_field_when_nothing_is_left_to_complete(folder: Path) -> None:
    told: list[tuple[str, ...]] = []

    class Fields(App[None]):
        def compose(self) -> ComposeResult:
            yield PathInput("~/let", id="path", select_on_focus=False)
            yield Input(id="next")

        def on_path_input_completions(self, message: PathInput.Completions) -> None:
            told.append(message.names)

    app = Fields()
    async with app.run_test() as pilot:
        path = app.query_one("#path", PathInput)
        path.focus()
        await pilot.press("end", "tab")
        assert path.value == "~/letter" and told[-1] == ("letterpress/", "letters/")
        await pilot.press("s", "tab", "tab")
        assert path.value == "~/letters/writer.json" and app.focused is path
        await pilot.press("tab")
        assert app.focused is not path
