"""No command that only reads changes a byte or a time, on any sort of story (spec, case 54)."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from tests.cli.conftest import Run
from tests.libraries import DAMAGED, make_library, state_of
from tests.stories import config_file
from tui.cli import cli

WRITER = "generation.writer"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "library"
    make_library(folder)
    monkeypatch.setenv("STONEHAND_DATA", str(folder))
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path / "state"))
    return folder


def reading(story: str, bundle: Path) -> dict[str, list[tuple[str, ...]]]:
    """Every way a command is used without changing anything, by the command's name."""
    return {
        "stories": [("stories",), ("stories", "--json")],
        "agents": [("agents", story)],
        "blocks": [("blocks", story, WRITER), ("blocks", story, WRITER, "--json")],
        "compile": [("compile", story), ("compile", story, WRITER, "--input", "Let it rain.", "--json")],
        "diff": [("diff", story), ("diff", story, WRITER, "--input", "Let it rain.", "--json")],
        "eval": [("eval", story, str(bundle.with_name("script.js")))],
        "doctor": [("doctor",), ("doctor", story, "--json"), ("doctor", story, "--repair", "--dry-run")],
        "config": [("config", story, WRITER, "get"), ("config", story, WRITER, "--help")],
        "export": [("export", story), ("export", story, WRITER)],
        "import": [("import", story, WRITER, str(bundle), "--dry-run")],
        "copy": [("copy", story, WRITER, "--to-agent", "generation.prewriter", "--dry-run")],
        "branch": [("branch", story, "list", "--json")],
        "model": [("model", story, WRITER, "get"), ("model", story, "librarian", "get", "--json")],
        "providers": [("providers", "list"), ("providers", "list", "--json")],
        "chat": [("chat", story, "librarian.chat", "--list"), ("chat", story, "librarian.chat", "--list", "--json")],
        "runs": [("runs", "list", story), ("runs", "list", story, "is:failed", "--json"), ("runs", "usage", story)],
        "generate": [("generate", story, "--input", "Let it rain.", "--pace", "0", "--max-tokens", "20")],
    }


def test_reading_changes_nothing(run: Run, data: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.json"
    bundle.write_text('{"overrides": {"tools": {"enabled": false}}}', "utf-8")
    (tmp_path / "script.js").write_text("return ctx.story.name", "utf-8")
    before = state_of(data)
    for story in sorted(folder.name for folder in (data / "stories").iterdir()):
        for command, uses in reading(story, bundle).items():
            for arguments in uses:
                done = run(*arguments)
                assert done.code in (0, 1), (arguments, done.err)
                assert done.code == 0 or story == DAMAGED or command == "doctor", (arguments, done.err)
                assert "Traceback" not in done.err
    assert state_of(data) == before


def test_no_command_is_left_out(tmp_path: Path) -> None:
    context = click.Context(cli)
    assert set(reading("any", tmp_path / "x")) == set(cli.list_commands(context))


def test_a_failing_edit_changes_nothing(run: Run, data: Path) -> None:
    before = state_of(data)
    file = config_file(data / "stories" / DAMAGED, "librarian.chat")
    for arguments in (
        ("config", DAMAGED, "librarian.chat", "tool", "readFragments", "off"),
        ("config", DAMAGED, WRITER, "enable", "nobody"),
        ("config", DAMAGED, WRITER, "add", "", "--role", "user", "--type", "simple", "x"),
        ("import", DAMAGED, WRITER, str(file), "--yes"),
        ("doctor", "--repair", "nonsense", "--yes"),
    ):
        assert run(*arguments).code != 0, arguments
    assert state_of(data) == before
