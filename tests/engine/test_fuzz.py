"""Files of a story with anything in them: never a traceback, never a lost file (spec, section 15, bugs 7, 8 and 30)."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import disk
from engine.agents import agents
from engine.errors import StonehandError
from engine.session import Session
from engine.workspace import Workspace
from tests.stories import custom_block, make_story
from tests.thorough import times

WRITER = "generation.writer"
STORY = "the-quay"
ROOT = "branches/main"
CONFIG = f"{ROOT}/agent-blocks/{WRITER}.json"

VALID: dict[str, Any] = {
    CONFIG: {
        "customBlocks": [custom_block("cb-aaaa", "See <@kn-mirafa>."), custom_block("cb-bbbb", "y", role="system")],
        "overrides": {"tools": {"enabled": False}, "prose": {"contentMode": "append", "customContent": "z"}},
        "blockOrder": ["tools", "cb-aaaa", "ghost", "tools"],
        "disabledTools": ["getFragment"],
        "disableAutoAnalysis": False,
    },
    "meta.json": {
        "id": STORY,
        "name": "The Quay",
        "description": "",
        "summary": "Long ago.",
        "settings": {
            "fragmentOrder": ["gl-tonare", "gl-tonare", "gl-lost00"],
            "contextOrderMode": "advanced",
            "customFragmentTypes": [{"type": "place", "name": "Places"}],
            "contextCompact": {"type": "proseLimit", "value": 3},
            "generationLimits": {"maxOutputTokens": 500},
            "modelOverrides": {"generation": {"modelId": "m"}},
            "enableHierarchicalSummary": True,
        },
    },
    "branches.json": {
        "branches": [
            {"id": "main", "name": "Main", "order": 0},
            {"id": "br-lost", "name": "Lost", "order": 1, "parentBranchId": "main"},
        ],
        "activeBranchId": "main",
    },
    f"{ROOT}/prose-chain.json": {
        "entries": [
            {"proseFragments": ["pr-aaaa00"], "active": "pr-aaaa00"},
            {"proseFragments": ["pr-aaaa01", "pr-lost00"], "active": "pr-aaaa01"},
        ]
    },
    f"{ROOT}/associations.json": {"tagIndex": {"sea": ["kn-mirafa", "kn-lost00"]}, "refIndex": {"kn-mirafa": ["x"]}},
    f"{ROOT}/fragments/kn-mirafa.json": {
        "id": "kn-mirafa",
        "type": "knowledge",
        "name": "The quay",
        "description": "Nine berths.",
        "content": "Built in 1911. <@ch-lost00>",
        "tags": ["sea"],
        "sticky": True,
        "placement": "user",
        "order": 1,
        "createdAt": "2026-01-05T08:00:00.000Z",
        "meta": {"annotations": [{"type": "mention", "fragmentId": "ch-bafego"}]},
        "archived": False,
    },
}

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.sampled_from([10**308, 10**309, -(10**400)])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["main", "..", "../x", "cb-aaaa", "tools", "pr-aaaa00", "script", "\ud800", "日本", "0"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def paths(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*here, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths(item, (*here, index))


@st.composite
def mutated(draw: st.DrawFn, valid: Any) -> bytes:
    """A valid document in which some values are others, missing or doubled."""
    value = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(paths(value))))
        if not path:
            continue
        holder = value
        for part in path[:-1]:
            holder = holder[part]
        how = draw(st.sampled_from(["replace", "replace", "remove", "double"]))
        if how == "remove":
            del holder[path[-1]]
        elif how == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
        else:
            holder[path[-1]] = draw(values)
    return json.dumps(value, indent=2).encode()


@st.composite
def contents(draw: st.DrawFn, valid: Any) -> bytes:
    """Anything a file can hold: bytes, part of a document, any JSON value, a document gone wrong."""
    whole = json.dumps(valid, indent=2).encode()
    return draw(
        st.binary(max_size=40)
        | st.integers(0, len(whole)).map(lambda cut: whole[:cut])
        | values.map(lambda value: json.dumps(value).encode())
        | mutated(valid)
        | mutated(valid)
        | mutated(valid)
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder for all examples, each of which writes its file anew."""
    folder = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STONEHAND_STATE", str(folder / "state"))
        patch.setattr(disk, "_sync", lambda handle: None)
        patch.setattr(disk, "_sync_folder", lambda path: None)
        make_story(folder / "data")
        yield folder


def lay_out(story: Path, name: str, data: bytes) -> None:
    for branch in (story / "branches").iterdir():
        if branch.name != "main":
            shutil.rmtree(branch)
    for other, value in VALID.items():
        (story / other).parent.mkdir(exist_ok=True)
        (story / other).write_text(json.dumps(value, indent=2), "utf-8")
    (story / name).write_bytes(data)


def attempt(work: Callable[[], Any]) -> Any:
    """What it gives; None when it says, in one line, why it can't."""
    try:
        return work()
    except StonehandError as error:
        assert str(error) and "\n" not in str(error)
        return None


def look(workspace: Workspace) -> None:
    """Everything that only reads."""
    attempt(workspace.stories)
    attempt(lambda: workspace.agents(STORY))
    for definition in agents():
        attempt(lambda name=definition.name: workspace.prompt(STORY, name, author_input="Go on."))  # type: ignore[misc]
    attempt(lambda: workspace.saved_config(STORY, WRITER))
    attempt(lambda: workspace.exchange.export_story(STORY))
    attempt(lambda: workspace.fragments(STORY))
    attempt(lambda: workspace.wires.names(STORY))
    for finding in workspace.doctor():
        assert "\n" not in str(finding)


def files(story: Path) -> dict[str, bytes]:
    return {str(path.relative_to(story)): path.read_bytes() for path in story.rglob("*") if path.is_file()}


def edit(session: Session) -> None:
    session.toggle("tools")
    session.add("A note", "user", "simple")


@pytest.mark.parametrize("name", VALID)
def test_whatever_a_file_holds(place: Path, name: str) -> None:
    story = place / "data" / "stories" / STORY

    @settings(max_examples=times(20, 400))
    @given(contents(VALID[name]))
    def holds(data: bytes) -> None:
        lay_out(story, name, data)
        before = files(story)
        workspace = Workspace(place / "data", state=place / "state", journal=False)
        try:
            look(workspace)
            assert files(story) == before, "looking changes nothing"
            fault = attempt(lambda: workspace.document(STORY, WRITER).fault)
            attempt(lambda: workspace.edit(STORY, WRITER, None, edit))
            after = files(story)
            assert {key for key in before if after.get(key) != before[key]} <= {CONFIG}, "an edit changes its config"
            if fault is not None:
                assert after == before, "an invalid config keeps its bytes"
            elif after[CONFIG] != before[CONFIG]:
                kept = unknown(json.loads(before[CONFIG])) if before[CONFIG] else {}
                assert unknown(json.loads(after[CONFIG])) == kept, "unknown keys survive an edit"
        finally:
            workspace.close()

    holds()


def unknown(value: Any) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in VALID[CONFIG]}


@pytest.mark.parametrize("name", VALID)
def test_whatever_is_repaired(place: Path, name: str) -> None:
    story = place / "data" / "stories" / STORY

    @settings(max_examples=times(20, 400))
    @given(mutated(VALID[name]))
    def repairs(data: bytes) -> None:
        lay_out(story, name, data)
        before = files(story)
        workspace = Workspace(place / "data", state=place / "state", journal=False)
        try:
            found = workspace.doctor(STORY)
            outcome = workspace.repair(found)
            assert outcome.failed == ()
            after = files(story)
            changed = {key for key in before if after.get(key) != before[key]}
            assert bool(changed) == (outcome.backup is not None)
            for key in changed:
                assert outcome.backup is not None
                assert (outcome.backup / "stories" / STORY / key).read_bytes() == before[key]
            # A branch that comes to light brings its own faults; then there is no more.
            for _ in range(2):
                assert workspace.repair(workspace.doctor(STORY)).failed == ()
            assert all(item.offered is None for item in workspace.doctor(STORY)), "it comes to an end"
        finally:
            workspace.close()

    repairs()
