"""Which data folder is opened, and the sample library that fills a new one."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

import engine.library
from engine.errors import NotFound, StonehandError
from engine.folders import state_folder
from engine.library import find_data, install_sample, sample_library
from tests.engine.story_builder import tree
from tests.stories import make_story


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own data folder, which is not there yet."""
    folder = tmp_path / "home" / "stonehand"
    monkeypatch.setattr(engine.library.platformdirs, "user_data_dir", lambda *_, **__: str(folder))
    return folder


def folder_with_story(path: Path) -> Path:
    make_story(path)
    return path


def test_the_folder_given_wins_then_the_variable_then_here_then_the_users_own(tmp_path: Path, own: Path) -> None:
    given, named, here = (folder_with_story(tmp_path / name) for name in ("given", "named", "here"))
    environ = {"STONEHAND_DATA": str(named)}
    assert find_data(given, environ, here) == given
    assert find_data(None, environ, here) == named
    assert find_data(None, {}, here) == here
    assert find_data(None, {"STONEHAND_DATA": ""}, here) == here
    assert not own.exists()
    assert find_data(None, {}, tmp_path) == own
    assert {path.name for path in (own / "stories").iterdir()} == {path.name for path in sample_library().iterdir()}


def test_here_counts_only_with_a_story_and_never_is_the_packaged_library(tmp_path: Path, own: Path) -> None:
    (tmp_path / "empty" / "stories" / "no-story").mkdir(parents=True)
    assert find_data(None, {}, tmp_path / "empty") == own
    assert find_data(None, {}, sample_library().parent) == own


@pytest.mark.parametrize("part", ["meta.json", "branches/main/", "branches.json", "fragments/"])
def test_here_counts_with_a_damaged_story(tmp_path: Path, own: Path, part: str) -> None:
    """Another library may have a story of the same id, which must not be changed in its place."""
    at = tmp_path / "here" / "stories" / "the-quay" / part
    if part.endswith("/"):
        at.mkdir(parents=True)
    else:
        at.parent.mkdir(parents=True)
        at.write_text('{"name":', "utf-8")
    assert find_data(None, {}, tmp_path / "here") == tmp_path / "here"
    assert not own.exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions as on Unix, which root is above")
def test_here_counts_when_its_stories_cannot_be_read(tmp_path: Path, own: Path) -> None:
    story = make_story(tmp_path)
    story.parent.chmod(0)
    try:
        assert find_data(None, {}, tmp_path) == tmp_path
    finally:
        story.parent.chmod(0o755)


def test_the_library_of_an_installed_package_is_passed_over(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = folder_with_story(tmp_path / "site-packages" / "sample") / "stories"
    monkeypatch.setattr(engine.library, "sample_library", lambda: packaged)
    assert find_data(None, {}, packaged.parent) == own


def test_the_users_own_folder_is_filled_once(own: Path, tmp_path: Path) -> None:
    find_data(None, {}, tmp_path)
    story = next((own / "stories").iterdir())
    shutil.rmtree(story)
    find_data(None, {}, tmp_path)
    assert list((own / "stories").iterdir()) == []


def test_a_wrong_folder_is_refused_with_the_right_one(tmp_path: Path) -> None:
    story = make_story(tmp_path)
    for given, hint in (
        (tmp_path / "none", "there is no such folder — give the folder that holds stories/"),
        (story.parent, f"there is no stories folder here — give {tmp_path}"),
        (story, f"there is no stories folder here — this is a story; give {tmp_path}"),
    ):
        with pytest.raises(NotFound) as raised:
            find_data(given, {})
        assert str(raised.value) == f"{given}: {hint}"
    (tmp_path / "notes.txt").touch()
    with pytest.raises(NotFound, match=r"notes\.txt: is not a folder — give the folder that holds stories/"):
        find_data(tmp_path / "notes.txt", {})
    with pytest.raises(NotFound, match="STONEHAND_DATA names it: there is no such folder"):
        find_data(None, {"STONEHAND_DATA": str(tmp_path / "none")})


def test_the_packaged_library_is_copied_and_never_edited(tmp_path: Path) -> None:
    before = tree(sample_library())
    install_sample(tmp_path)
    copied = {name: content for name, (content, _) in tree(tmp_path / "stories").items()}
    assert copied == {name: content for name, (content, _) in before.items()}
    for file in (tmp_path / "stories").rglob("*.json"):
        file.write_bytes(b"{}")
    assert tree(sample_library()) == before
    assert [path.name for path in tmp_path.iterdir()] == ["stories"]


def test_a_read_only_package_gives_a_copy_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    make_story(package)
    paths = [package / "stories", *(package / "stories").rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    monkeypatch.setattr(engine.library, "sample_library", lambda: package / "stories")
    install_sample(tmp_path / "data")
    for path in (tmp_path / "data" / "stories").rglob("*"):
        assert path.stat().st_mode & stat.S_IWUSR
    for path in paths:
        path.chmod(0o755)


def test_the_library_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[object] = []
    copyfile = shutil.copyfile

    def fail_later(source: Any, target: Any, **options: Any) -> Any:
        copied.append(source)
        if len(copied) > 3:
            raise OSError(28, "No space left on device")
        return copyfile(source, target, **options)

    monkeypatch.setattr(shutil, "copyfile", fail_later)
    with pytest.raises(StonehandError, match="put here: no space left on device — name another data folder"):
        install_sample(tmp_path)
    assert len(copied) > 3
    assert list(tmp_path.iterdir()) == []


def test_another_start_of_the_program_that_was_first_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdtemp = engine.library.tempfile.mkdtemp

    def meanwhile(*arguments: Any, **options: Any) -> Any:
        folder_with_story(tmp_path)
        return mkdtemp(*arguments, **options)

    monkeypatch.setattr(engine.library.tempfile, "mkdtemp", meanwhile)
    install_sample(tmp_path)
    assert [path.name for path in (tmp_path / "stories").iterdir()] == ["the-quay"]
    assert [path.name for path in tmp_path.iterdir()] == ["stories"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(StonehandError, match=r"file/data: the sample library can't be put here: not a directory"):
        install_sample(tmp_path / "file" / "data")


def test_the_state_folder_can_be_named(tmp_path: Path) -> None:
    assert state_folder({"STONEHAND_STATE": str(tmp_path)}) == tmp_path
    assert state_folder({}).name == "stonehand"


def test_a_clone_of_the_source_is_no_data_folder(tmp_path: Path, own: Path) -> None:
    clone = tmp_path / "clone"
    make_story(clone)
    (clone / "engine" / "workspace").mkdir(parents=True)
    (clone / "engine" / "workspace" / "__init__.py").touch()
    (clone / "pyproject.toml").touch()
    before = tree(clone)
    assert find_data(None, {}, clone) == own
    assert tree(clone) == before
    (clone / "pyproject.toml").unlink()
    assert find_data(None, {}, clone) == clone
