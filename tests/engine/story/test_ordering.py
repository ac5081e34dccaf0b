"""The order of pinned fragments and the messages they are placed in: the bytes that are written, and taken back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.disk import dump_json
from engine.errors import Conflict, InvalidFile, NotFound
from engine.workspace import Workspace
from tests.engine.conftest import STORY
from tests.stories import fragment, make_story

FRAGMENTS = (
    fragment("gl-tonare", "guideline", "Past tense.", sticky=True, index=1),
    fragment("kn-mirafa", "knowledge", "Nine berths.", sticky=True, index=2, placement="system", extra={"kept": 1}),
    fragment("ch-bafego", "character", "Ines.", sticky=True, index=3),
    fragment("ch-nokite", "character", "Not pinned.", index=4),
    fragment("ch-elsewh", "character", "Put away.", sticky=True, archived=True),
    fragment("lo-harbor", "location", "The harbour.", sticky=True, placement="nowhere"),
)


@pytest.fixture
def story(data: Path) -> Path:
    story = make_story(data, fragments=FRAGMENTS)
    meta = json.loads((story / "meta.json").read_text("utf-8"))
    meta["settings"] |= {
        "fragmentOrder": ["ch-other1", "ch-bafego", "ch-other2"],
        "customFragmentTypes": [{"type": "location", "name": "L"}],
    }
    meta["updatedAt"], meta["unknown"] = "2026-01-01T00:00:00.000Z", [1]
    (story / "meta.json").write_bytes(dump_json(meta))
    return story


def ids(workspace: Workspace) -> list[str]:
    return [item.id for item in workspace.order.pinned(STORY).fragments]


def meta_of(story: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((story / "meta.json").read_text("utf-8"))
    return document


def test_pinned_fragments_come_by_types_or_in_the_order_that_was_chosen(story: Path, workspace: Workspace) -> None:
    assert ids(workspace) == ["gl-tonare", "kn-mirafa", "ch-bafego", "lo-harbor"]
    before = (story / "meta.json").read_bytes()
    edit = workspace.order.use_mode(STORY, "advanced")
    assert edit is not None and edit.before == before
    assert ids(workspace) == ["ch-bafego", "gl-tonare", "kn-mirafa", "lo-harbor"]
    assert workspace.order.pinned(STORY).mode == "advanced"
    assert workspace.order.use_mode(STORY, "advanced") is None
    workspace.order.take_back(STORY, edit)
    assert (story / "meta.json").read_bytes() == before


def test_an_order_is_written_with_the_ids_that_only_the_file_has(story: Path, workspace: Workspace) -> None:
    workspace.order.use_mode(STORY, "advanced")
    before = meta_of(story)
    shown = workspace.order.pinned(STORY)
    edit = workspace.order.write(STORY, ["kn-mirafa", "gl-tonare", "ch-bafego", "lo-harbor"], shown)
    assert edit is not None
    after = meta_of(story)
    order = after["settings"].pop("fragmentOrder")
    assert order == ["ch-other1", "kn-mirafa", "gl-tonare", "ch-bafego", "ch-other2", "lo-harbor"]
    before["settings"].pop("fragmentOrder")
    assert after.pop("updatedAt") > before.pop("updatedAt") and after == before, "nothing else"
    assert (story / "meta.json").read_bytes() == dump_json(meta_of(story)), "as the reference writes it"
    assert ids(workspace) == ["kn-mirafa", "gl-tonare", "ch-bafego", "lo-harbor"]
    again = workspace.order.take_back(STORY, edit)
    assert (story / "meta.json").read_bytes() == edit.before
    workspace.order.take_back(STORY, again)
    assert (story / "meta.json").read_bytes() == edit.after


def test_the_order_is_what_is_sent(story: Path, workspace: Workspace) -> None:
    workspace.order.use_mode(STORY, "advanced")
    shown = workspace.order.pinned(STORY)
    workspace.order.write(STORY, ["gl-tonare", "ch-bafego"], shown)
    text = workspace.prompt(STORY).messages[-1].content
    assert text.index("Past tense.") < text.index("Ines.")
    workspace.order.write(STORY, ["ch-bafego", "gl-tonare"], workspace.order.pinned(STORY))
    text = workspace.prompt(STORY).messages[-1].content
    assert text.index("Past tense.") > text.index("Ines.")


def test_a_placement_is_written_to_the_fragment_alone(story: Path, workspace: Workspace) -> None:
    file = next((story / "branches/main/fragments").glob("kn-mirafa.json"))
    before = json.loads(file.read_text("utf-8"))
    item = next(item for item in workspace.order.pinned(STORY).fragments if item.id == "kn-mirafa")
    edit = workspace.order.place(STORY, "main", item, "user")
    assert edit is not None and edit.file == file
    after = json.loads(file.read_text("utf-8"))
    assert after.pop("updatedAt") > before.pop("updatedAt")
    assert after == {**before, "placement": "user"} and list(after) == list(before)
    assert file.read_bytes() == dump_json(json.loads(file.read_text("utf-8")))
    assert "Nine berths." in workspace.prompt(STORY).messages[-1].content
    with pytest.raises(Conflict, match="placed elsewhere"):
        workspace.order.place(STORY, "main", item, "user")
    workspace.order.take_back(STORY, edit)
    assert file.read_bytes() == edit.before
    assert workspace.order.place(STORY, "main", item, "system") is None


def test_what_another_program_did_is_never_overwritten(
    story: Path, workspace: Workspace, opened: Callable[..., Workspace]
) -> None:
    shown = workspace.order.pinned(STORY)
    edit = opened().order.write(STORY, ["gl-tonare"], shown)
    with pytest.raises(Conflict, match="changed by another program"):
        workspace.order.write(STORY, ["ch-bafego"], shown)
    workspace.order.use_mode(STORY, "advanced")
    assert edit is not None
    with pytest.raises(Conflict):
        workspace.order.take_back(STORY, edit)
    settings = meta_of(story)["settings"]
    assert settings["contextOrderMode"] == "advanced"
    assert settings["fragmentOrder"] == ["ch-other1", "ch-bafego", "ch-other2", "gl-tonare"]


def test_files_that_can_not_be_edited_are_told_and_left(story: Path, workspace: Workspace) -> None:
    shown = workspace.order.pinned(STORY)
    item = shown.fragments[0]
    file = story / f"branches/main/fragments/{item.id}.json"
    kept = file.read_bytes()
    file.write_bytes(b"{")
    with pytest.raises(InvalidFile, match=item.id):
        workspace.order.place(STORY, "main", item, "system")
    assert file.read_bytes() == b"{"
    file.unlink()
    with pytest.raises(NotFound, match="the fragment is gone"):
        workspace.order.place(STORY, "main", item, "system")
    file.write_bytes(kept)
    for bad in (["gl-tonare", 3], "gl-tonare"):
        meta = {"id": "x", "name": "n", "settings": {"fragmentOrder": bad}}
        (story / "meta.json").write_bytes(dump_json(meta))
        with pytest.raises(InvalidFile, match="fragmentOrder"):
            workspace.order.write(STORY, [], shown)
        assert meta_of(story) == meta
    (story / "meta.json").write_bytes(b'{"id": "x", "name": "n", "settings": 3}')
    with pytest.raises(InvalidFile, match="settings"):
        workspace.order.write(STORY, [], shown)
