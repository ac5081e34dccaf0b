"""Choosing a model: what meta.json holds afterwards, and taking it back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import disk
from engine.errors import Conflict, InvalidFile, NotFound, WrongInput
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.engine.models.test_providers import JSON, entry
from tests.engine.models.test_resolution import OVERRIDE
from tests.stories import make_story


@pytest.fixture
def meta(data: Path, story: Path) -> Path:
    """The story's meta.json, beside a config.json with the providers a (the default) and b."""
    document = {"providers": [entry("a", defaultModel="a-model"), entry("b")], "defaultProviderId": "a"}
    (data / "config.json").write_text(json.dumps(document), "utf-8")
    return story / "meta.json"


def saved(meta: Path) -> Any:
    return json.loads(meta.read_bytes())["settings"].get("modelOverrides")


def give(meta: Path, **settings: Any) -> bytes:
    document = json.loads(meta.read_bytes())
    document["settings"] = {**document["settings"], **settings}
    meta.write_bytes(disk.dump_json(document))
    return meta.read_bytes()


def test_choosing_writes_the_agents_entry_and_nothing_else(workspace: Workspace, meta: Path) -> None:
    before = json.loads(meta.read_bytes())
    change = workspace.models.choose(STORY, WRITER, provider="b", model="m", temperature=0.5)
    after = json.loads(meta.read_bytes())
    assert change is not None
    assert after["settings"].pop("modelOverrides") == {WRITER: {"providerId": "b", "modelId": "m", "temperature": 0.5}}
    assert after.pop("updatedAt") > before.pop("updatedAt")
    assert after == before
    found = workspace.models.resolve(STORY, WRITER)
    assert (found.provider.id, found.model, found.temperature) == ("b", "m", 0.5)


def test_unknown_keys_and_the_order_of_keys_survive(workspace: Workspace, meta: Path) -> None:
    overrides = {"later": {"x": 1}, WRITER: {"new": [1.5], "providerId": "a"}, "librarian": {"providerId": "b"}}
    give(meta, modelOverrides=overrides, future={"kept": True})
    workspace.models.choose(STORY, WRITER, provider="b", temperature=1)
    assert list(saved(meta).items()) == [
        ("later", {"x": 1}),
        (WRITER, {"new": [1.5], "providerId": "b", "temperature": 1}),
        ("librarian", {"providerId": "b"}),
    ]
    assert json.loads(meta.read_bytes())["settings"]["future"] == {"kept": True}


def test_another_provider_drops_model_and_temperature_the_same_one_does_not(workspace: Workspace, meta: Path) -> None:
    workspace.models.choose(STORY, WRITER, provider="a", model="m", temperature=0.5)
    assert workspace.models.choose(STORY, WRITER, provider="a") is None
    workspace.models.choose(STORY, WRITER, provider="b")
    assert saved(meta) == {WRITER: {"providerId": "b"}}


def test_choosing_a_model_pins_the_provider_that_is_in_use(workspace: Workspace, meta: Path) -> None:
    workspace.models.choose(STORY, WRITER, model="m")
    assert saved(meta) == {WRITER: {"modelId": "m", "providerId": "a"}}
    workspace.models.choose(STORY, "librarian.chat", provider=None, model="m")
    assert saved(meta)["librarian.chat"] == {"modelId": "m"}, "when it is asked for, the model rides on any provider"


def test_without_a_provider_a_model_stands_alone(workspace: Workspace, data: Path, meta: Path) -> None:
    (data / "config.json").unlink()
    workspace.models.choose(STORY, WRITER, model="m")
    assert saved(meta) == {WRITER: {"modelId": "m"}}


def test_an_older_spelling_becomes_the_newer_one_in_its_place(workspace: Workspace, meta: Path) -> None:
    give(meta, modelOverrides={"prewriter": {"providerId": "a", "x": 1}, "z": {}})
    workspace.models.choose(STORY, "generation.prewriter", temperature=0)
    after = saved(meta)
    assert list(after) == ["generation.prewriter", "z"]
    assert after["generation.prewriter"] == {"providerId": "a", "x": 1, "temperature": 0}


def test_none_inherits_again_and_an_empty_entry_goes(workspace: Workspace, meta: Path) -> None:
    workspace.models.choose(STORY, WRITER, provider="b", model="m", temperature=0.5)
    workspace.models.choose(STORY, WRITER, temperature=None)
    assert saved(meta) == {WRITER: {"providerId": "b", "modelId": "m"}}
    workspace.models.choose(STORY, WRITER, provider=None)
    assert saved(meta) == {}


def test_clear(workspace: Workspace, meta: Path) -> None:
    before = meta.read_bytes()
    assert workspace.models.clear(STORY, WRITER) is None
    assert meta.read_bytes() == before
    give(meta, modelOverrides={"characterChat": {"providerId": "b"}, WRITER: {}})
    assert workspace.models.clear(STORY, "character-chat.chat") is not None
    assert saved(meta) == {WRITER: {}}


def test_clear_keeps_what_it_does_not_know(workspace: Workspace, meta: Path) -> None:
    give(
        meta,
        modelOverrides={
            WRITER: {"x": [1.5], "providerId": "b", "modelId": "m", "temperature": 1},
            "characterChat": {"modelId": "m", "y": 1, "z": 2},
            "character-chat.chat": {"z": 3},
        },
    )
    change = workspace.models.clear(STORY, WRITER)
    assert change is not None
    assert saved(meta)[WRITER] == {"x": [1.5]}
    assert workspace.models.resolve(STORY, WRITER).provider.id == "a"
    assert workspace.models.clear(STORY, "character-chat.chat") is not None
    assert saved(meta) == {WRITER: {"x": [1.5]}, "character-chat.chat": {"z": 3, "y": 1}}
    before = meta.read_bytes()
    assert workspace.models.clear(STORY, WRITER) is None, "there is nothing left to clear"
    assert meta.read_bytes() == before
    assert workspace.models.choose(STORY, "character-chat.chat", temperature=1) is not None
    assert saved(meta)["character-chat.chat"] == {"z": 3, "y": 1, "temperature": 1}


def test_clear_takes_the_roles_own_settings_of_older_stories_and_undo_brings_them_back(
    workspace: Workspace, meta: Path
) -> None:
    before = give(meta, providerId="a", librarianProviderId="b", librarianModelId="m", librarianChatProviderId="c")
    change = workspace.models.clear(STORY, "librarian")
    assert change is not None and change.legacy_before == {"librarianProviderId": "b", "librarianModelId": "m"}
    settings = json.loads(meta.read_bytes())["settings"]
    assert settings["librarianProviderId"] is None is settings["librarianModelId"]
    assert (settings["providerId"], settings["librarianChatProviderId"]) == ("a", "c")
    again = workspace.models.undo(change)
    assert list(json.loads(meta.read_bytes())["settings"].items()) == list(json.loads(before)["settings"].items())
    workspace.models.undo(again)
    assert json.loads(meta.read_bytes())["settings"] == settings


def test_an_entry_that_is_none_is_cleared(workspace: Workspace, meta: Path) -> None:
    give(meta, modelOverrides={WRITER: "big"})
    assert workspace.models.clear(STORY, WRITER) is not None
    assert saved(meta) == {}


def test_what_changes_nothing_writes_nothing(workspace: Workspace, meta: Path) -> None:
    before = give(meta, modelOverrides={WRITER: {"providerId": "b", "modelId": None, "temperature": None}})
    assert workspace.models.choose(STORY, WRITER, provider="b", model=None, temperature=None) is None
    assert workspace.models.choose(STORY, WRITER) is None
    assert meta.read_bytes() == before


@pytest.mark.parametrize("temperature", [-0.1, 2.1, float("nan"), True])
def test_a_temperature_that_is_none_writes_nothing(workspace: Workspace, meta: Path, temperature: float) -> None:
    before = meta.read_bytes()
    with pytest.raises(WrongInput):
        workspace.models.choose(STORY, WRITER, temperature=temperature)
    assert meta.read_bytes() == before


def test_names_that_are_not_there(workspace: Workspace, meta: Path) -> None:
    before = meta.read_bytes()
    with pytest.raises(NotFound, match="providers: a, b, rehearsal"):
        workspace.models.choose(STORY, WRITER, provider="c")
    with pytest.raises(NotFound, match="librarian"):
        workspace.models.choose(STORY, "writer", provider="a")
    with pytest.raises(NotFound):
        workspace.models.resolve(STORY, "generation.nobody")
    with pytest.raises(NotFound):
        workspace.models.resolve("elsewhere", WRITER)
    with pytest.raises(WrongInput):
        workspace.models.choose(STORY, WRITER, model=" ")
    assert meta.read_bytes() == before


@pytest.mark.parametrize("settings", [[], {"modelOverrides": 3}])
def test_settings_that_are_none_are_left_alone(workspace: Workspace, meta: Path, settings: Any) -> None:
    document = {**json.loads(meta.read_bytes()), "settings": settings}
    meta.write_bytes(disk.dump_json(document))
    before = meta.read_bytes()
    with pytest.raises(InvalidFile):
        workspace.models.choose(STORY, WRITER, provider="a")
    with pytest.raises(InvalidFile):
        workspace.models.clear(STORY, WRITER)
    assert meta.read_bytes() == before


def test_a_malformed_entry_is_reported_with_its_line(workspace: Workspace, meta: Path) -> None:
    data = give(meta, modelOverrides={WRITER: {"temperature": "hot"}})
    (problem,) = workspace.models.resolve(STORY, WRITER).problems
    assert problem.line is not None
    assert "hot" in data.decode().splitlines()[problem.line - 1]


@pytest.mark.parametrize("given", [{"modelOverrides": {WRITER: {"providerId": "lost"}}}, {"providerId": "lost"}])
def test_a_provider_that_is_not_there_is_reported_with_its_line(workspace: Workspace, meta: Path, given: Any) -> None:
    data = give(meta, **given)
    (problem,) = workspace.models.resolve(STORY, WRITER).problems
    assert problem.line is not None
    assert "lost" in data.decode().splitlines()[problem.line - 1]


def test_undo_and_redo(workspace: Workspace, meta: Path) -> None:
    before = saved(meta)
    first = workspace.models.choose(STORY, WRITER, provider="b")
    second = workspace.models.choose(STORY, "librarian", provider="a")
    assert first is not None and second is not None
    with pytest.raises(Conflict):
        workspace.models.undo(first)
    again = workspace.models.undo(second)
    workspace.models.undo(first)
    assert saved(meta) == before
    with pytest.raises(Conflict):
        workspace.models.undo(again)


def test_another_programs_change_is_never_overwritten(
    workspace: Workspace, meta: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = meta.read_bytes().replace(b"The Quay", b"Their Quay")
    monkeypatch.setattr(disk, "_sync", lambda handle: meta.write_bytes(theirs))
    with pytest.raises(Conflict):
        workspace.models.choose(STORY, WRITER, provider="b")
    assert meta.read_bytes() == theirs


def test_the_choice_holds_for_all_branches_and_a_change_is_seen(data: Path, opened: Any) -> None:
    make_story(data, branches=("main", "br-two"))
    (data / "config.json").write_text(json.dumps({"providers": [entry("a")]}), "utf-8")
    one, other = opened(), opened()
    assert other.models.resolve(STORY, WRITER).model is None
    one.models.choose(STORY, WRITER, provider="a", model="m")
    assert other.models.resolve(STORY, WRITER).model == "m"


VALUES = st.none() | st.sampled_from(["a", "b"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    overrides=st.dictionaries(st.sampled_from(["prewriter", "generation.prewriter", "librarian", "later"]), OVERRIDE),
    extra=JSON,
    provider=VALUES,
    model=VALUES,
    temperature=st.none() | st.floats(0, 2),
)
def test_whatever_is_chosen_counts_and_nothing_else_is_touched(
    workspace: Workspace, meta: Path, overrides: Any, extra: Any, provider: Any, model: Any, temperature: Any
) -> None:
    role = "generation.prewriter"
    give(meta, modelOverrides=overrides, extra=extra)
    before = json.loads(meta.read_bytes())
    change = workspace.models.choose(STORY, role, provider=provider, model=model, temperature=temperature)
    after = json.loads(meta.read_bytes())
    chosen = after["settings"]["modelOverrides"]
    entry_of = chosen.get(role, chosen.get("prewriter", {}))
    assert [entry_of.get(key) for key in ("providerId", "modelId", "temperature")] == [provider, model, temperature]
    names = (role, "prewriter")
    others = [item for item in overrides.items() if item[0] not in names]
    assert [item for item in chosen.items() if item[0] not in names] == others
    assert after["settings"]["extra"] == extra
    if change is None:
        assert after == before
    else:
        workspace.models.undo(change)
        assert saved(meta) == before["settings"]["modelOverrides"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    overrides=st.dictionaries(
        st.sampled_from(["prewriter", "generation.prewriter", "librarian"]),
        st.builds(lambda chosen, kept: {**kept, **chosen}, OVERRIDE, st.dictionaries(st.sampled_from("xyz"), JSON)),
    )
)
def test_clear_leaves_nothing_chosen_and_loses_no_unknown_key(workspace: Workspace, meta: Path, overrides: Any) -> None:
    role, fields = "generation.prewriter", {"providerId", "modelId", "temperature"}
    names = (role, "prewriter")
    give(meta, modelOverrides=overrides)
    workspace.models.clear(STORY, role)
    after = saved(meta)
    kept = {key for name in names for key in after.get(name, ())}
    assert kept == {key for name in names for key in overrides.get(name, ())} - fields
    assert [item for item in after.items() if item[0] not in names] == [
        item for item in overrides.items() if item[0] not in names
    ]
