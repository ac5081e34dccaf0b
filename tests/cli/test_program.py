"""The program around the commands: which folder, which command, exit codes, errors, output."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tui.launch
import tui.output
from engine import Workspace, __version__
from tests.cli.conftest import Run, files_of
from tests.stories import make_story


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders the editor was opened on, which is not really started."""
    folders: list[Path] = []

    def run_editor(data: Path, profile: object, settings: object) -> int:
        folders.append(data)
        return 7

    monkeypatch.setitem(sys.modules, "tui.app", SimpleNamespace(run_editor=run_editor))
    monkeypatch.setattr(tui.launch, "has_terminal", lambda: True)
    return folders


def test_without_a_command_the_editor_opens(run: Run, data: Path, opened: list[Path]) -> None:
    assert run().code == 7
    assert opened == [data]


def test_a_folder_is_opened(run: Run, tmp_path: Path, opened: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "stories"
    (other / "stories").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for arguments in ((other,), ("./stories",), ("--data", other)):
        assert run(*arguments).code == 7
    assert [folder.resolve() for folder in opened] == [other] * 3
    assert run("--data", other, other).code == 2
    assert run("./nowhere").code == 1
    assert len(opened) == 3


def test_a_file_is_no_folder(run: Run, tmp_path: Path, opened: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)
    for given in ("notes.txt", "./notes.txt", tmp_path / "notes.txt"):
        done = run(given)
        assert (done.code, "notes.txt: is not a folder" in done.err) == (1, True)
    done = run("")
    assert (done.code, done.err) == (2, "stonehand: Invalid value for DIR: the name is empty — see stonehand -h\n")
    assert opened == []


def test_a_damaged_story_here_is_not_looked_for_elsewhere(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    theirs = make_story(home / "stonehand")
    monkeypatch.setattr("engine.library.platformdirs.user_data_dir", lambda *_, **__: str(home / "stonehand"))
    monkeypatch.delenv("STONEHAND_DATA")
    ours = make_story(tmp_path / "ours")
    (ours / "meta.json").unlink()
    monkeypatch.chdir(tmp_path / "ours")
    before = files_of(theirs)
    done = run("config", "the-quay", "generation.writer", "disable", "tools")
    assert (done.code, "the-quay: has no meta.json" in done.err) == (1, True)
    assert files_of(theirs) == before


def test_a_command_goes_before_a_folder_of_its_name(
    run: Run, story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stories").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "The Quay" in run("stories").text


def test_the_editor_needs_a_terminal(run: Run) -> None:
    done = run()
    assert (done.code, done.out) == (1, b"")
    assert done.err.startswith("stonehand: the editor needs a terminal")


def test_data_may_stand_on_either_side_of_the_command(run: Run, tmp_path: Path) -> None:
    make_story(tmp_path / "other", "elsewhere")
    other = tmp_path / "other"
    assert [item["id"] for item in run("--data", other, "stories", "--json").document] == ["elsewhere"]
    assert [item["id"] for item in run("stories", "--json", "--data", other).document] == ["elsewhere"]
    assert run("stories", "--data", "").code == 2
    missing = run("stories", "--data", tmp_path / "none")
    assert (missing.code, "none: there is no such folder" in missing.err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("compil", "the-quay"), 2, "did you mean 'compile'?"),
        (("nonsense",), 2, "no command and no folder 'nonsense'"),
        (("--nonsense",), 2, "--nonsense"),
        (("compile",), 2, "Missing argument 'STORY'"),
        (("compile", "the-quay", "--nonsense"), 2, "stonehand compile -h"),
        (("compile", "the-quay", "generation.writer", "extra"), 2, "extra"),
        (("config", "the-quay", "generation.writer"), 2, "Missing command"),
        (("config", "the-quay", "generation.writer", "explode"), 2, "explode"),
        (("config", "the-quay", "writer", "mode", "tools"), 2, "Choose from: none, prepend, append, override — see"),
        (("compile", "no-such-story"), 1, "stories: the-quay"),
        (("compile", "../stories/the-quay"), 2, "plain name"),
        (("compile", "the-quay", "no.agent"), 1, "generation.writer"),
        (("generate", "the-quay", "librarian.refine", "--input", "x"), 2, "needs a fragment of any type"),
        (("compile", "the-quay", "--branch", "nowhere"), 1, "branches: main"),
        (("eval", "the-quay", "-", "--agent", "no.agent"), 1, "generation.writer"),
        (("config", "the-quay", "librarian.chat", "disable", "tools"), 1, "librarian.chat has no block"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_is_wrong_is_one_line(run: Run, story: Path, arguments: tuple[str, ...], code: int, told: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (code, b"")
    assert done.err.startswith("stonehand: ") and done.err.count("\n") == 1
    assert told in done.err


def test_a_fault_of_the_program_is_one_line_and_a_crash_log(
    run: Run, story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Workspace) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(Workspace, "stories", fail)
    done = run("stories", "--json")
    log = tmp_path / "state" / "crash.log"
    assert (done.code, done.out) == (1, b"")
    assert done.err == f"stonehand: RuntimeError: two␊lines — this is a bug; details in {log}\n"
    assert 'raise RuntimeError("two\\nlines")' in log.read_text(encoding="utf-8")
    if os.name == "posix":
        assert stat.S_IMODE(log.stat().st_mode) == 0o600, "it may quote what a story says"


def test_version_and_help(run: Run) -> None:
    assert run("--version").text == f"stonehand {__version__}\n"
    top = run("-h").text
    known = "stories agents blocks compile eval doctor config export import copy branch generate"
    for command in known.split():
        assert f"\n  {command} " in top
        help_text = run(command, "-h").text
        assert f"Usage: stonehand {command}" in help_text and f"stonehand {command} " in help_text.split("xample", 1)[1]
        assert max(map(len, help_text.splitlines())) < 110
    for later in ("preset", "plugin"):
        assert f"\n  {later} " not in top


def test_inert_text_keeps_lines_and_tabs_and_disarms_the_rest() -> None:
    text = "a\tb\nc\x1b]0;title\x07\r\x7f\x9b31m\u202eend\ud800 漢\U0001f600"
    assert tui.output.inert(text) == "a\tb\nc␛]0;title␇␍␡�31m�end� 漢\U0001f600"
    assert tui.output.one_line("a\r\nb\tc\u2028d") == "a␊b c␊d"


def test_tables_are_aligned_by_cells() -> None:
    rows = [("漢字", "1", "wide"), ("e\u0301", "22", "mark"), ("a\nb", "333", "")]
    assert tui.output.table(("NAME", "N", "NOTE"), rows, right=(1,)) == (
        "NAME    N  NOTE\n漢字    1  wide\ne\u0301      22  mark\na␊b   333\n"
    )
