"""A story's folder: what a snapshot holds, when it is made anew, and what is wrong with the files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine import disk
from engine.errors import InvalidFile, NotFound, WrongInput
from engine.story import StoryFolder, list_stories
from tests.engine.story_builder import StoryBuilder, tree


def test_a_snapshot(story: StoryBuilder) -> None:
    story.add("pr-one", "prose")
    story.add("ch-two", "character", archived=True)
    story.add("ch-one", "character")
    story.chain("pr-one")
    story.write("branches/main/associations.json", {"tagIndex": {"sea": ["ch-one"]}, "refIndex": {}})
    found = story.snapshot()
    assert (found.story_id, found.branch, found.meta.name) == ("tide-house", "main", "Tide House")
    assert list(found.fragments) == ["ch-one", "ch-two", "pr-one"]
    assert [item.id for item in found.of_type("character")] == ["ch-one"]
    assert [item.id for item in found.of_type("character", archived=True)] == ["ch-one", "ch-two"]
    assert found.of_type("location") == ()
    assert found.get("ch-two") is not None
    assert found.get("ch-none") is None
    assert found.chain.active_ids == ("pr-one",)
    assert found.associations.tag_index == {"sea": ("ch-one",)}
    assert found.problems == ()


def test_reading_changes_no_byte(story: StoryBuilder) -> None:
    story.meta(summary="An old summary.")
    story.add("pr-one", "prose")
    story.write("branches/main/fragments/pr-bad.json", b"{")
    before = tree(story.path)
    folder = story.folder()
    folder.snapshot()
    folder.branches()
    list_stories(story.path.parent.parent)
    assert tree(story.path) == before


def test_the_same_object_until_something_changes(story: StoryBuilder) -> None:
    story.add("pr-one", "prose")
    folder = story.folder()
    first = folder.snapshot()
    assert folder.snapshot() is first
    assert folder.snapshot("main") is first
    story.write("branches/main/agent-blocks/generation.writer.json", {})
    assert folder.snapshot() is first
    changes = (
        lambda: story.add("pr-two", "prose"),
        lambda: story.chain("pr-one"),
        lambda: story.meta(name="Other"),
        lambda: story.write("branches/main/associations.json", {}),
        lambda: (story.root / "fragments" / "pr-two.json").unlink(),
    )
    seen = [first]
    for change in changes:
        change()
        seen.append(folder.snapshot())
        assert folder.snapshot() is seen[-1]
    assert len({id(snapshot) for snapshot in seen}) == len(changes) + 1
    assert list(first.fragments) == ["pr-one"]


def test_while_watched_no_file_is_touched(story: StoryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    story.add("pr-one", "prose")
    folder = story.folder()
    folder.trust_watch(True)
    first = folder.snapshot()
    folder.snapshot("main")
    story.add("pr-two", "prose")

    def touched(*_: object) -> None:
        pytest.fail("a file was looked at")

    with monkeypatch.context() as patch:
        patch.setattr(disk.os, "scandir", touched)
        patch.setattr(Path, "stat", touched)
        assert folder.snapshot() is first
        folder.invalidate([story.root / "agent-blocks" / "a.json", story.root / "fragments" / "a.json.tmp-1-2"])
        assert folder.snapshot() is first
    folder.invalidate([story.root / "fragments" / "pr-two.json"])
    second = folder.snapshot()
    assert list(second.fragments) == ["pr-one", "pr-two"]
    folder.trust_watch(False)
    story.add("pr-three", "prose")
    assert len(folder.snapshot().fragments) == 3


def test_faults_are_reported_and_the_story_stands(story: StoryBuilder) -> None:
    story.add("pr-one", "prose")
    story.add("pr-two", "prose", order="x")
    story.write("branches/main/fragments/pr-bad.json", b'{\n "id": oops}')
    story.write("branches/main/prose-chain.json", b"[]")
    story.write("branches/main/associations.json", {"tagIndex": {"a": "b"}})
    story.meta({"contextCompact": {"type": "maxTokens", "value": -1}, "customFragmentTypes": [5]})
    found = story.snapshot()
    assert list(found.fragments) == ["pr-one", "pr-two"]
    assert found.chain.entries == ()
    places = {(problem.file.name if problem.file else "", problem.field) for problem in found.problems}
    assert places == {
        ("meta.json", "settings.contextCompact"),
        ("meta.json", "settings.customFragmentTypes[0]"),
        ("prose-chain.json", ""),
        ("associations.json", "tagIndex.a"),
        ("pr-bad.json", ""),
        ("pr-two.json", "order"),
    }
    assert all(problem.line for problem in found.problems)


def test_a_chain_with_broken_entries_keeps_the_rest(story: StoryBuilder) -> None:
    entries = [{"active": "pr-one"}, {"proseFragments": ["pr-x"]}, 5, {"proseFragments": ["a", "b"], "active": "a"}]
    story.write("branches/main/prose-chain.json", {"entries": entries})
    found = story.snapshot()
    assert found.chain.active_ids == ("pr-one", "a")
    assert [problem.field for problem in found.problems] == ["entries[1]", "entries[2]"]
    assert [found.chain.find_section(item) for item in ("pr-one", "b", "none")] == [0, 1, -1]


def test_a_story_or_branch_that_is_not_there(story: StoryBuilder, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        StoryFolder(tmp_path / "none").snapshot()
    with pytest.raises(NotFound, match="main"):
        story.folder().snapshot("br-bafego")
    story.write("meta.json", b"{]")
    with pytest.raises(InvalidFile, match=r"meta\.json:1"):
        story.folder().snapshot()


def test_branches(story: StoryBuilder) -> None:
    branches = [
        {"id": "main", "name": "Main", "order": 0},
        {"id": "br-storm", "name": "Storm", "order": 1, "parentBranchId": "main"},
        {"id": "../../other", "name": "Out"},
        {"name": "No id"},
    ]
    story.write("branches.json", {"branches": branches, "activeBranchId": "br-storm"})
    story.write("branches/br-storm/fragments/pr-x.json", {"id": "pr-x", "type": "prose", "name": "", "content": ""})
    folder = story.folder()
    found = folder.branches()
    assert (found.ids, found.active) == (("main", "br-storm"), "br-storm")
    assert [problem.field for problem in found.problems] == ["branches[2]", "branches[3]"]
    assert list(folder.snapshot().fragments) == ["pr-x"]
    assert list(folder.snapshot("main").fragments) == []
    assert folder.content_root("br-storm") == story.path / "branches" / "br-storm"
    with pytest.raises(WrongInput):
        folder.content_root("../../other")


@pytest.mark.parametrize(
    ("index", "active", "faults"),
    [
        (None, "main", 0),
        (b"{", "main", 2),
        ({"branches": 5}, "main", 2),
        ({"branches": []}, "main", 2),
        ({"branches": [{"id": "main"}], "activeBranchId": "br-gone"}, "main", 1),
        ({"branches": [{"id": "main"}, {"id": "br-empty"}], "activeBranchId": "br-empty"}, "br-empty", 1),
    ],
)
def test_an_index_in_any_state(story: StoryBuilder, index: object, active: str, faults: int) -> None:
    if index is not None:
        story.write("branches.json", index)
    (story.path / "branches" / "br-other").mkdir()
    found = story.folder().branches()
    assert found.active == active
    assert len(found.problems) == faults
    assert story.folder().snapshot().branch == active


def test_the_old_layout_is_read_where_it_is(tmp_path: Path) -> None:
    story = StoryBuilder(tmp_path / "old", legacy=True)
    story.add("pr-one", "prose")
    story.chain("pr-one")
    before = tree(story.path)
    folder = story.folder()
    found = folder.snapshot()
    assert found.branches.legacy
    assert found.chain.active_ids == ("pr-one",)
    assert folder.content_root("main") == story.path
    assert tree(story.path) == before


def test_the_stories_of_a_data_folder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert list_stories(data) == ()
    for name in ("b", "a", "Z"):
        StoryBuilder(data / "stories" / name)
    (data / "stories" / "a" / "meta.json").write_bytes(b"{")
    (data / "stories" / "no-meta").mkdir()
    (data / "stories" / "file.json").write_bytes(b"{}")
    assert [story.id for story in list_stories(data)] == ["Z", "a", "b"]
    shutil.rmtree(data / "stories")
    (data / "stories").write_bytes(b"")
    with pytest.raises(Exception, match="can't be read"):
        list_stories(data)
