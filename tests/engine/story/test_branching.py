"""Making, choosing, naming and removing branches (spec, sections 1.5 and 13, case 51)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import disk
from engine.errors import InvalidFile, NotFound, StonehandError, WrongInput
from engine.story import StoryFolder
from tests.engine.story_builder import tree
from tests.stories import config_file, make_story

WRITER = "generation.writer"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path) -> StoryFolder:
    return StoryFolder(
        make_story(tmp_path, prose=("one", "two", "three"), configs={WRITER: {"blockOrder": ["prose-recent"]}})
    )


def index(folder: StoryFolder) -> Any:
    return json.loads((folder.path / "branches.json").read_bytes())


def test_a_branch_is_an_independent_copy_and_becomes_active(folder: StoryFolder) -> None:
    """Spec, case 51."""
    made = folder.create_branch("  What \n if ")
    assert made.id.startswith("br-") and made.name == "What if"
    assert folder.branches().active == made.id
    entry = index(folder)["branches"][1]
    assert (entry["id"], entry["name"], entry["order"], entry["parentBranchId"]) == (made.id, "What if", 1, "main")
    main, copy = folder.path / "branches" / "main", folder.path / "branches" / made.id
    assert tree(main) == tree(copy)
    folder.append_prose(made.id, "Four", "", "four", {})
    assert len(folder.snapshot(made.id).chain.entries) == 4
    assert len(folder.snapshot("main").chain.entries) == 3
    config_file(folder.path, WRITER, made.id).unlink()
    assert config_file(folder.path, WRITER).exists()


@pytest.mark.parametrize(("fork_after", "kept"), [(0, 1), (1, 2), (2, 3), (99, 3), (None, 3)])
def test_the_chain_is_cut_behind_the_fork(folder: StoryFolder, fork_after: int | None, kept: int) -> None:
    """Spec, case 51."""
    made = folder.create_branch("Fork", None, fork_after)
    snapshot = folder.snapshot(made.id)
    assert len(snapshot.chain.entries) == kept
    assert len(snapshot.of_type("prose")) == 3, "what is cut stays as a fragment"
    assert ("forkAfterIndex" in index(folder)["branches"][1]) == (fork_after is not None)


def test_unknown_keys_of_index_and_chain_survive(folder: StoryFolder) -> None:
    for name, file in (
        ("branches", folder.path / "branches.json"),
        ("x", folder.path / "branches/main/prose-chain.json"),
    ):
        raw = json.loads(file.read_bytes())
        raw["mine"] = {"kept": name}
        if name == "branches":
            raw["branches"][0]["colour"] = "blue"
        file.write_text(json.dumps(raw))
    made = folder.create_branch("Fork", "main", 0)
    folder.rename_branch("main", "Trunk")
    folder.switch_branch("main")
    raw = index(folder)
    assert raw["mine"] == {"kept": "branches"}
    assert raw["branches"][0] == {**raw["branches"][0], "colour": "blue", "name": "Trunk"}
    chain = json.loads((folder.path / "branches" / made.id / "prose-chain.json").read_bytes())
    assert chain["mine"] == {"kept": "x"} and len(chain["entries"]) == 1


def test_deleting_the_active_branch_goes_to_main_and_main_stays(folder: StoryFolder) -> None:
    """Spec, case 51."""
    made = folder.create_branch("Fork")
    child = folder.create_branch("Child", made.id)
    folder.switch_branch(made.id)
    folder.delete_branch(made.id)
    assert folder.branches().active == "main"
    assert folder.branches().get(child.id).parent == made.id, "children keep where they came from"
    assert sorted(path.name for path in (folder.path / "branches").iterdir()) == sorted([child.id, "main"])
    with pytest.raises(WrongInput, match="main can't be deleted"):
        folder.delete_branch("main")
    with pytest.raises(NotFound):
        folder.delete_branch(made.id)


def test_a_branch_that_is_gone_is_not_written_to(folder: StoryFolder) -> None:
    made = folder.create_branch("Fork")
    other = StoryFolder(folder.path)
    assert other.snapshot(made.id).fragments
    folder.delete_branch(made.id)
    with pytest.raises(NotFound):
        other.append_prose(made.id, "Four", "", "four", {})
    assert not (folder.path / "branches" / made.id).exists()


@pytest.mark.parametrize(
    "index",
    [
        b'{"branches": [{"id": "main"}, {"id": "br-bafego"}], "activeBranchId": "br-bafego",}',
        b'{"branches": []}',
        b'{"branches": [{"id": "main"}, {"id": "br-bafego"}], "activeBranchId": "br-gone"}',
        b'{"branches": [{"id": "main"}, {"id": "../x"}], "activeBranchId": "../x"}',
    ],
)
def test_while_the_active_branch_is_in_doubt_only_a_named_one_is_written_to(tmp_path: Path, index: bytes) -> None:
    folder = StoryFolder(make_story(tmp_path, branches=("main", "br-bafego")))
    (folder.path / "branches.json").write_bytes(index)
    assert folder.snapshot().branch == "main"
    with pytest.raises(InvalidFile, match=r"branches\.json:1.*--branch: .*main"):
        folder.branch_to_write()
    assert folder.branch_to_write("main").id == "main"


def test_the_only_branch_of_a_list_is_in_no_doubt(tmp_path: Path) -> None:
    folder = StoryFolder(make_story(tmp_path))
    (folder.path / "branches.json").write_bytes(b'{"branches": [{"id": "main"}], "activeBranchId": ""}')
    assert folder.branch_to_write().id == "main"


def test_a_branch_without_a_folder_is_not_made_by_a_write(tmp_path: Path) -> None:
    folder = StoryFolder(make_story(tmp_path, branches=("main", "br-bafego"), active="br-bafego"))
    lost = folder.path / "branches" / "br-bafego"
    shutil.rmtree(lost)
    assert folder.snapshot().branch == "br-bafego"
    for act in (
        folder.branch_to_write,
        lambda: folder.append_prose("br-bafego", "Four", "", "four", {}),
        lambda: folder.write_log("br-bafego", {}),
        lambda: folder.create_branch("Fork"),
    ):
        with pytest.raises(NotFound, match=r"has no folder.*backup"):
            act()
    assert not lost.exists()
    folder.switch_branch("main")
    assert folder.branch_to_write().id == "main"


def test_a_story_of_the_old_layout_is_given_branches_first(tmp_path: Path) -> None:
    """Spec, case 51."""
    folder = StoryFolder(make_story(tmp_path, legacy=True, configs={WRITER: {"blockOrder": ["prose-recent"]}}))
    made = folder.create_branch("Fork")
    assert sorted(path.name for path in (folder.path / "branches").iterdir()) == sorted([made.id, "main"])
    assert folder.snapshot("main").fragments.keys() == folder.snapshot(made.id).fragments.keys() != set()
    assert config_file(folder.path, WRITER, made.id).exists()


@pytest.mark.parametrize("name", ["", " \n\t", "\x00\x1b", "x" * 101, "𝄞" * 51])
def test_a_name_nobody_could_use_is_refused(folder: StoryFolder, name: str) -> None:
    before = tree(folder.path)
    with pytest.raises(WrongInput):
        folder.create_branch(name)
    with pytest.raises(WrongInput):
        folder.rename_branch("main", name)
    assert tree(folder.path) == before


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"branches": 1}'])
def test_a_broken_index_is_left_alone(folder: StoryFolder, data: bytes) -> None:
    (folder.path / "branches.json").write_bytes(data)
    before = tree(folder.path)
    for act in (lambda: folder.create_branch("Fork"), lambda: folder.rename_branch("main", "Trunk")):
        with pytest.raises(InvalidFile, match=r"branches\.json"):
            act()
    assert tree(folder.path) == before


def test_a_chain_that_cannot_be_cut_makes_no_branch(folder: StoryFolder) -> None:
    (folder.path / "branches/main/prose-chain.json").write_bytes(b"{")
    before = tree(folder.path)
    with pytest.raises(InvalidFile, match=r"main.prose-chain\.json"):
        folder.create_branch("Fork", None, 0)
    assert tree(folder.path) == before


def test_a_write_that_fails_leaves_no_half_branch(folder: StoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(folder.path)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "_replace", fail)
    acts: tuple[Callable[[], object], ...] = (
        lambda: folder.create_branch("Fork"),
        lambda: folder.switch_branch("main"),
    )
    for act in acts:
        with pytest.raises(StonehandError, match="no space left"):
            act()
    assert tree(folder.path) == before
