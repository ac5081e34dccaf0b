"""Saving a section and a log: both files or neither, nothing of others lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import Conflict, InvalidFile, NotFound, StonehandError
from engine.story import saving
from tests.engine.story_builder import StoryBuilder, tree


def read(file: Path) -> Any:
    return json.loads(file.read_bytes())


def append(story: StoryBuilder, content: str = "The storm came.") -> Any:
    return story.folder().append_prose("main", "[Continuation] go", "go", content, {"generatedFrom": "go"})


def test_a_section_is_written_as_the_reference_writes_it(story: StoryBuilder) -> None:
    story.chain("pr-one", ["pr-two", "pr-three"], note="ours")
    folder = story.folder()
    before = folder.snapshot()
    made = folder.append_prose("main", "[Continuation] go", "go", "The storm came.\n", {"generatedFrom": "go"})
    document = read(story.root / "fragments" / f"{made.id}.json")
    assert list(document) == [
        *("id", "type", "name", "description", "content", "tags", "refs", "sticky", "placement"),
        *("createdAt", "updatedAt", "order", "meta", "archived", "version", "versions"),
    ]
    assert (document["id"], document["type"], document["content"]) == (made.id, "prose", "The storm came.\n")
    assert document["createdAt"] == made.created_at
    assert made.created_at.endswith("Z")
    assert len(made.created_at) == 24
    chain = read(story.root / "prose-chain.json")
    assert chain["note"] == "ours"
    assert [entry["active"] for entry in chain["entries"]] == ["pr-one", "pr-three", made.id]
    assert chain["entries"][1]["proseFragments"] == ["pr-two", "pr-three"]
    after = folder.snapshot()
    assert after is not before
    assert after.get(made.id) is not None
    assert after.problems == ()


def test_entries_we_cannot_read_survive(story: StoryBuilder) -> None:
    story.write("branches/main/prose-chain.json", {"entries": [{"odd": 1}, {"active": "pr-a", "extra": [2]}]})
    made = append(story)
    assert read(story.root / "prose-chain.json")["entries"] == [
        {"odd": 1},
        {"active": "pr-a", "extra": [2]},
        {"proseFragments": [made.id], "active": made.id},
    ]


def test_the_first_chain_keeps_the_prose_there_is(story: StoryBuilder) -> None:
    story.add("pr-b", "prose")
    story.add("pr-a", "prose")
    story.add("pr-old", "prose", archived=True)
    made = append(story)
    assert story.snapshot().chain.active_ids == ("pr-b", "pr-a", made.id)


@pytest.mark.parametrize("chain", [b"{", b"[]", b'{"entries": 5}'])
def test_with_a_broken_chain_nothing_is_written(story: StoryBuilder, chain: bytes) -> None:
    story.write("branches/main/prose-chain.json", chain)
    before = tree(story.path)
    with pytest.raises(InvalidFile):
        append(story)
    assert tree(story.path) == before


def test_when_the_chain_cannot_be_written_the_fragment_goes(
    story: StoryBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.chain("pr-one")
    before = tree(story.path)
    write = saving.write_atomic

    def refuse(file: Path, data: bytes, **rest: Any) -> None:
        if file.name == "prose-chain.json":
            raise StonehandError("disk full", file=file)
        write(file, data, **rest)

    monkeypatch.setattr(saving, "write_atomic", refuse)
    with pytest.raises(StonehandError, match="disk full"):
        append(story)
    assert tree(story.path) == before


def other_program(story: StoryBuilder, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has another program append a section between our reading of the chain and our writing, `times` times."""
    write = saving.write_atomic
    left = [times]

    def interfere(file: Path, data: bytes, **rest: Any) -> None:
        if file.name == "prose-chain.json" and left[0]:
            left[0] -= 1
            chain = read(file)
            chain["entries"].append({"proseFragments": [f"pr-their{left[0]}"], "active": f"pr-their{left[0]}"})
            file.write_bytes(json.dumps(chain).encode())
        write(file, data, **rest)

    monkeypatch.setattr(saving, "write_atomic", interfere)


def test_a_chain_changed_meanwhile_is_appended_to(story: StoryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    story.chain("pr-one")
    other_program(story, 2, monkeypatch)
    made = append(story)
    ids = [entry["active"] for entry in read(story.root / "prose-chain.json")["entries"]]
    assert ids == ["pr-one", "pr-their1", "pr-their0", made.id]


def test_a_chain_that_never_rests_is_a_conflict(story: StoryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    story.chain("pr-one")
    other_program(story, 99, monkeypatch)
    with pytest.raises(Conflict):
        append(story)
    assert list((story.root / "fragments").iterdir()) == []


def test_a_section_is_taken_out_and_put_back(story: StoryBuilder) -> None:
    story.write("branches/main/prose-chain.json", {"note": 1, "entries": [{"odd": 1}, {"active": "pr-one", "own": 2}]})
    before = read(story.root / "prose-chain.json")
    made = append(story)
    folder, file = story.folder(), story.root / "fragments" / f"{made.id}.json"
    kept = read(file)
    assert folder.archive_prose("main", made.id) is None
    assert read(story.root / "prose-chain.json") == before
    archived = read(file)
    assert archived["archived"] is True
    assert archived | {"archived": False, "updatedAt": kept["updatedAt"]} == kept, "nothing of it is lost"
    assert made.id not in [item.id for item in folder.snapshot("main").of_type("prose")]
    assert folder.archive_prose("main", made.id) is None, "it is out already"
    folder.restore_prose("main", made.id, None)
    assert folder.snapshot("main").chain.active_ids == ("pr-one", made.id)
    assert read(file) | {"updatedAt": kept["updatedAt"]} == kept
    before_again = tree(story.path)
    folder.restore_prose("main", made.id, None)
    assert tree(story.path) == before_again


def test_a_version_that_is_taken_out_leaves_the_one_it_replaced(story: StoryBuilder) -> None:
    story.add("pr-one", "prose")
    story.add("pr-two", "prose")
    story.chain("pr-zero", ["pr-one", "pr-two"], "pr-three")
    folder = story.folder()
    made = folder.add_variant("main", "pr-one", "again", "", "Another one.", {})
    assert folder.archive_prose("main", made.id) == "pr-one", "not the last one listed"
    (section,) = [
        entry for entry in read(story.root / "prose-chain.json")["entries"] if "pr-two" in entry["proseFragments"]
    ]
    assert section == {"proseFragments": ["pr-one", "pr-two"], "active": "pr-one"}
    folder.restore_prose("main", made.id, "pr-one")
    assert folder.snapshot("main").chain.active_ids == ("pr-zero", made.id, "pr-three")
    chain = read(story.root / "prose-chain.json")
    chain["entries"][1]["active"] = "pr-two"
    (story.root / "prose-chain.json").write_text(json.dumps(chain))
    assert folder.archive_prose("main", made.id) == "pr-two", "another program shows another one"
    with pytest.raises(NotFound):
        folder.archive_prose("main", "pr-none")


@pytest.mark.parametrize("refused", ["prose-chain.json", "pr-"])
@pytest.mark.parametrize("back", [False, True])
def test_what_can_be_taken_out_or_put_back_by_half_only_stays(
    story: StoryBuilder, monkeypatch: pytest.MonkeyPatch, refused: str, back: bool
) -> None:
    story.chain("pr-one")
    made = append(story)
    if back:
        story.folder().archive_prose("main", made.id)
    before = {name: data for name, (data, _) in tree(story.path).items()}
    write = saving.write_atomic
    left = [1]

    def refuse(file: Path, data: bytes, **rest: Any) -> None:
        if file.name.startswith(refused) and left[0]:
            left[0] -= 1
            raise StonehandError("disk full", file=file)
        write(file, data, **rest)

    monkeypatch.setattr(saving, "write_atomic", refuse)
    with pytest.raises(StonehandError, match="disk full"):
        if back:
            story.folder().restore_prose("main", made.id, None)
        else:
            story.folder().archive_prose("main", made.id)
    assert {name: data for name, (data, _) in tree(story.path).items()} == before


def test_logs_get_ids_of_their_own(story: StoryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.story.ids.time.time_ns", lambda: 36**3 * 1_000_000)
    folder = story.folder()
    ids = [folder.write_log("main", {"id": "mine", "input": text, "own": 1}) for text in "abc"]
    assert ids == ["gen-1000", "gen-1001", "gen-1002"]
    logs = [read(story.root / "generation-logs" / f"{log_id}.json") for log_id in ids]
    assert [(log["id"], log["input"], log["own"]) for log in logs] == [
        (log_id, text, 1) for log_id, text in zip(ids, "abc", strict=True)
    ]


def test_saving_to_the_old_layout_gives_it_branches_first(tmp_path: Path) -> None:
    """Else the new `branches` folder would hide the old content from the reference."""
    story = StoryBuilder(tmp_path / "old", legacy=True)
    story.add("pr-one", "prose")
    story.chain("pr-one")
    story.write("agent-blocks/generation.writer.json", {"customBlocks": []})
    story.write("folders.json", {"folders": []})
    old = tree(story.path)
    folder = story.folder()
    folder.snapshot()
    made = folder.append_prose("main", "n", "d", "Text.", {})
    found = folder.snapshot()
    assert not found.branches.legacy
    assert found.chain.active_ids == ("pr-one", made.id)
    assert read(story.path / "branches.json")["activeBranchId"] == "main"
    new = tree(story.path)
    assert new["branches/main/fragments/pr-one.json"] == old["fragments/pr-one.json"]
    assert new["branches/main/agent-blocks/generation.writer.json"] == old["agent-blocks/generation.writer.json"]
    assert new["folders.json"] == old["folders.json"]
    assert sorted(item.name for item in story.path.iterdir()) == [
        "branches",
        "branches.json",
        "folders.json",
        "meta.json",
    ]


def test_branches_that_cannot_be_made_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = StoryBuilder(tmp_path / "old", legacy=True)
    story.add("pr-one", "prose")
    before = tree(story.path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copytree", full)
    with pytest.raises(StonehandError, match="no space left"):
        append(story)
    assert tree(story.path) == before
    assert not (story.path / "branches").exists()
