"""Editing: what a plan says, what applying it writes, and that nothing else is touched."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import WrongInput
from engine.story import Settings, StoryFolder
from engine.story.fragment import Fragment, fragment_of
from engine.story.revising import FragmentState
from engine.tools import (
    ACCEPTED,
    Host,
    Plan,
    Settled,
    apply,
    apply_now,
    put_aside,
    take_back,
    when_applied,
)
from engine.tools.fragment_edits import EditFragments, plan_fragment_edits
from engine.tools.hashing import base_hash
from engine.tools.offering import CORE
from engine.tools.prose_edits import EditProse, plan_prose_edits
from tests.engine.story_builder import StoryBuilder, tree
from tests.engine.tools.conftest import Call, tool_call


def read(story: StoryBuilder, fragment_id: str) -> Any:
    return json.loads((story.root / "fragments" / f"{fragment_id}.json").read_bytes())


def get(story: StoryBuilder, fragment_id: str) -> Fragment:
    found = story.snapshot().get(fragment_id)
    assert found is not None
    return found


def planned(story: StoryBuilder, *operations: dict[str, Any]) -> Plan:
    given = EditFragments.model_validate({"operations": list(operations)})
    return plan_fragment_edits(story.snapshot(), given, rng=Random(1))


def planned_prose(story: StoryBuilder, *edits: dict[str, Any]) -> Plan:
    return plan_prose_edits(story.snapshot(), EditProse.model_validate({"edits": list(edits)}))


def statuses(plan: Plan) -> list[str]:
    return [outcome.status for outcome in plan.outcomes]


# -- editFragments


def test_a_passage_is_replaced_and_the_version_before_is_kept(story: StoryBuilder, call: Call) -> None:
    before = read(story, "lo-harbor")
    result = call(
        "editFragments",
        title="Colour",
        operations=[{"op": "replace_text", "fragmentId": "lo-harbor", "oldText": "Grey", "newText": "Green"}],
    ).value
    after = read(story, "lo-harbor")
    assert result == {
        "results": [
            {"index": 0, "operation": "replace_text", "status": "applied", "fragmentId": "lo-harbor", "replacements": 1}
        ],
        "baseHashes": {"lo-harbor": base_hash(get(story, "lo-harbor"))},
    }
    assert after["content"] == "Green water."
    assert after["version"] == 2
    (version,) = after["versions"]
    assert version.pop("createdAt").endswith("Z")
    assert version == {
        "version": 1,
        "name": "Harbour",
        "description": "About lo-harbor",
        "content": "Grey water.",
        "reason": "llm-editFragments",
    }
    rest = {key: value for key, value in after.items() if key not in ("content", "version", "versions")}
    assert rest == {key: value for key, value in before.items() if key != "content"}


def test_versions_go_on_from_what_there_is(story: StoryBuilder) -> None:
    story.add("kn-mirafa", "knowledge", content="a", version=7, versions=[{"version": 6, "odd": True}], updatedAt="x")
    apply(
        planned(story, {"op": "append_paragraph", "fragmentId": "kn-mirafa", "text": "\nb\n"}), story.folder(), ACCEPTED
    )
    document = read(story, "kn-mirafa")
    assert (document["version"], document["content"]) == (8, "a\n\nb")
    assert [item["version"] for item in document["versions"]] == [6, 7]
    assert document["versions"][0] == {"version": 6, "odd": True}
    assert document["versions"][1]["reason"] == ACCEPTED
    assert document["updatedAt"] > "2026"


def test_replacing_is_of_plain_text(story: StoryBuilder) -> None:
    plan = planned(
        story,
        {
            "op": "replace_text",
            "fragmentId": "kn-mirafa",
            "oldText": "$5.",
            "newText": r"$& $1 \1 \g<0> .*",
            "occurrence": 2,
        },
    )
    assert plan.changes[0].after.content == r"Nine berths. It costs $5. It costs $& $1 \1 \g<0> .*"


def test_an_ambiguous_passage_is_not_replaced(story: StoryBuilder) -> None:
    operation = {"op": "replace_text", "fragmentId": "kn-mirafa", "oldText": "costs", "newText": "cost"}
    plan = planned(story, operation)
    assert plan.changes == ()
    assert plan.outcomes[0].error == "oldText occurs 2 times; say which occurrence, or set replaceAll"
    assert planned(story, {**operation, "replaceAll": True}).outcomes[0].count == 2
    assert planned(story, {**operation, "occurrence": 3}).outcomes[0].error == (
        "occurrence is 3, but oldText occurs 2 times"
    )


def test_setting_fields_needs_the_hash_of_what_was_read(story: StoryBuilder) -> None:
    operation = {"op": "set_fields", "fragmentId": "ch-bafego", "name": "Inês", "content": "New."}
    plan = planned(story, {**operation, "baseHash": base_hash(get(story, "ch-bafego"))})
    (change,) = plan.changes
    assert (change.kind, change.after) == ("change", FragmentState("Inês", "the keeper", "New."))
    plan = planned(story, {**operation, "baseHash": "0" * 16})
    assert plan.changes == ()
    assert "read it again" in plan.outcomes[0].error


def test_setting_does_not_undo_an_operation_before(story: StoryBuilder) -> None:
    replacing = {"op": "replace_text", "fragmentId": "ch-bafego", "oldText": "keeps", "newText": "kept"}
    setting = {"op": "set_fields", "fragmentId": "ch-bafego", "baseHash": base_hash(get(story, "ch-bafego"))}
    plan = planned(story, replacing, {**setting, "content": "New."})
    assert (statuses(plan), plan.changes) == (["failed", "failed"], ())
    assert "content is changed by operation 0 too" in plan.outcomes[1].error
    plan = planned(story, replacing, {**setting, "name": "Inês"})
    assert statuses(plan) == ["planned", "planned"]
    assert plan.changes[0].after == FragmentState("Inês", "the keeper", "Ines kept the light.")


def test_the_operations_on_a_fragment_hold_together(story: StoryBuilder) -> None:
    plan = planned(
        story,
        {"op": "append_paragraph", "fragmentId": "ch-bafego", "text": "One."},
        {"op": "append_paragraph", "fragmentId": "lo-harbor", "text": "Two."},
        {"op": "replace_text", "fragmentId": "ch-bafego", "oldText": "absent", "newText": "x"},
        {"op": "append_paragraph", "fragmentId": "ch-bafego", "text": "Three."},
        {"op": "append_paragraph", "fragmentId": "kn-nobody", "text": "Four."},
    )
    assert statuses(plan) == ["failed", "planned", "failed", "failed", "failed"]
    assert [change.fragment_id for change in plan.changes] == ["lo-harbor"]
    assert plan.outcomes[0].error == "not done, because operation 2 on the same fragment failed"
    assert plan.outcomes[4].error == "there is no fragment kn-nobody"


def test_a_fragment_is_made_as_the_reference_makes_it(story: StoryBuilder, call: Call) -> None:
    result = call(
        "editFragments",
        operations=[
            {"op": "create_fragment", "type": "guideline", "name": "Pace", "content": "Slow."},
            {"op": "create_fragment", "type": "location", "name": "Quay", "description": "d", "content": ""},
        ],
    ).value
    first, second = (item["fragmentId"] for item in result["results"])
    document = read(story, first)
    assert list(document) == [
        *("id", "type", "name", "description", "content", "tags", "refs", "sticky", "placement"),
        *("createdAt", "updatedAt", "order", "meta", "archived", "version", "versions"),
    ]
    assert (document["id"], document["type"], document["sticky"]) == (first, "guideline", True)
    assert first.startswith("gl-")
    assert second.startswith("loca-")
    assert read(story, second)["sticky"] is False
    assert get(story, first).content == "Slow."


@pytest.mark.parametrize("kind", ["prose", "marker", "image", "../evil", "", "unknown"])
def test_types_that_are_not_made_here(story: StoryBuilder, kind: str) -> None:
    plan = planned(story, {"op": "create_fragment", "type": kind, "name": "x", "content": "y"})
    assert plan.changes == ()
    assert "types: character, guideline, knowledge, summary, location" in plan.outcomes[0].error


def test_an_id_that_is_taken_meanwhile(story: StoryBuilder) -> None:
    plan = planned(story, {"op": "create_fragment", "type": "knowledge", "name": "x", "content": "ours"})
    planned_id = plan.changes[0].fragment_id
    story.add(planned_id, "knowledge", content="theirs")
    (written,) = apply(plan, story.folder()).written
    assert written.change.fragment_id != planned_id
    assert read(story, planned_id)["content"] == "theirs"
    assert read(story, written.change.fragment_id)["content"] == "ours"


def test_archiving_keeps_everything(story: StoryBuilder) -> None:
    before = read(story, "lo-harbor")
    plan = planned(story, {"op": "archive_fragment", "fragmentId": "lo-harbor"})
    assert plan.changes[0].kind == "archive"
    apply(plan, story.folder())
    assert read(story, "lo-harbor") == {**before, "archived": True}
    assert statuses(planned(story, {"op": "archive_fragment", "fragmentId": "lo-harbor"})) == ["unchanged"]


def test_prose_is_left_to_the_other_tool(story: StoryBuilder) -> None:
    plan = planned(story, {"op": "append_paragraph", "fragmentId": "pr-one", "text": "x"})
    assert plan.outcomes[0].error == "pr-one is prose; prose is changed with editProse"


def test_what_the_author_locked_or_froze(story: StoryBuilder) -> None:
    story.add("kn-locked", "knowledge", content="a", meta={"locked": True})
    story.add(
        "kn-frozen",
        "knowledge",
        content="keep me, change me",
        meta={"frozenSections": [{"id": "1", "text": "keep me"}]},
    )
    plan = planned(
        story,
        {"op": "append_paragraph", "fragmentId": "kn-locked", "text": "x"},
        {"op": "replace_text", "fragmentId": "kn-frozen", "oldText": "me, change", "newText": "x"},
    )
    assert plan.changes == ()
    assert plan.outcomes[0].error == "kn-locked is locked by the author"
    assert "the author froze" in plan.outcomes[1].error
    plan = planned(story, {"op": "replace_text", "fragmentId": "kn-frozen", "oldText": "change me", "newText": "x"})
    assert statuses(plan) == ["planned"]
    story.add("pr-one", "prose", content="the lamp", meta={"locked": True})
    plan = planned_prose(story, {"oldText": "lamp", "newText": "light"})
    assert [change.fragment_id for change in plan.changes] == ["pr-three"]
    assert plan.outcomes[0].error == "pr-one is locked by the author"


# -- editProse


def test_every_occurrence_in_the_shown_prose(story: StoryBuilder, call: Call) -> None:
    result = call(
        "editProse", edits=[{"oldText": "the lamp", "newText": "the light"}, {"oldText": "a ship", "newText": ""}]
    )
    assert result.value["results"] == [
        {
            "index": 0,
            "operation": "replace",
            "status": "applied",
            "fragmentIds": ["pr-one", "pr-three"],
            "replacements": 2,
        },
        {
            "index": 1,
            "operation": "replace",
            "status": "failed",
            "error": "unmatched: oldText does not occur in the story's prose, exactly as it is written",
        },
    ]
    assert read(story, "pr-one")["content"] == "Ines lit the light. The lamp burned."
    assert read(story, "pr-one")["versions"][0]["reason"] == "llm-editProse"
    assert read(story, "pr-two")["content"] == "An earlier version: the lamp."


@pytest.mark.parametrize(
    ("edit", "one", "three"),
    [
        ({}, "Ines lit the X. The X burned.", "The storm put out the X."),
        ({"replaceAll": False}, "Ines lit the X. The lamp burned.", "The storm put out the lamp."),
        ({"occurrence": 2}, "Ines lit the lamp. The X burned.", "The storm put out the lamp."),
        ({"occurrence": 3}, "Ines lit the lamp. The lamp burned.", "The storm put out the X."),
        ({"occurrence": 4}, "Ines lit the lamp. The lamp burned.", "The storm put out the lamp."),
    ],
)
def test_which_occurrence(story: StoryBuilder, edit: dict[str, Any], one: str, three: str) -> None:
    plan = planned_prose(story, {"oldText": "lamp", "newText": "X", **edit})
    assert statuses(plan) == ["failed" if edit.get("occurrence") == 4 else "planned"]
    apply(plan, story.folder())
    assert (read(story, "pr-one")["content"], read(story, "pr-three")["content"]) == (one, three)


def test_an_edit_sees_those_before_it(story: StoryBuilder) -> None:
    plan = planned_prose(
        story, {"oldText": "lamp", "newText": "fire"}, {"oldText": "The fire burned.", "newText": "It burned."}
    )
    assert statuses(plan) == ["planned", "planned"]
    assert plan.changes[0].after.content == "Ines lit the fire. It burned."


# -- deciding, conflicts, taking back


def run(host: Host, name: str, **arguments: Any) -> Any:
    return asyncio.run(CORE[name].run(tool_call("1", name, arguments), host)).value


APPENDING = {"op": "append_paragraph", "fragmentId": "ch-bafego", "text": "More."}


def test_a_plan_that_waits_or_is_declined_writes_nothing(story: StoryBuilder) -> None:
    before = tree(story.path)

    async def decline(plan: Plan, host: Host) -> Settled:
        return Settled("declined", plan)

    for settle, decision in ((put_aside, "waiting"), (decline, "declined")):
        host = Host(story.folder(), "main", settle=settle)
        value = run(host, "editFragments", operations=[APPENDING])
        assert value["results"][0]["status"] == decision
        assert "note" in value
        (settled,) = host.collected.settled
        assert settled.plan.changes[0].after.content == "Ines keeps the light.\n\nMore."
    assert tree(story.path) == before


def test_a_run_that_may_not_change_the_story(story: StoryBuilder) -> None:
    assert run(Host(story.folder(), "main"), "editFragments", operations=[APPENDING]) == {
        "error": "this run can't change the story"
    }


def test_what_the_story_says_about_applying() -> None:
    assert when_applied(Settings()).at_once is False
    said = when_applied(Settings(auto_apply_librarian_suggestions=True))
    assert (said.at_once, said.source) == (True, "settings.autoApplyLibrarianSuggestions is on")


def test_a_change_of_another_program_is_told_and_kept(story: StoryBuilder) -> None:
    plan = planned(
        story,
        APPENDING,
        {"op": "append_paragraph", "fragmentId": "lo-harbor", "text": "More."},
        {"op": "append_paragraph", "fragmentId": "gl-tonare", "text": "More."},
    )
    theirs = story.add("ch-bafego", "character", content="Theirs.").read_bytes()
    (story.root / "fragments" / "gl-tonare.json").unlink()
    applied = apply(plan, story.folder())
    assert (story.root / "fragments" / "ch-bafego.json").read_bytes() == theirs
    assert read(story, "lo-harbor")["content"] == "Grey water.\n\nMore."
    assert not (story.root / "fragments" / "gl-tonare.json").exists()
    conflict, gone = applied.problems
    assert conflict.message == "the fragment's content was changed by another program; nothing was overwritten"
    assert "gone" in gone.message


def test_the_model_is_told_of_a_conflict(story: StoryBuilder) -> None:
    async def meanwhile(plan: Plan, host: Host) -> Settled:
        story.add("ch-bafego", "character", content="Theirs.")
        return await apply_now(plan, host)

    host = Host(story.folder(), "main", settle=meanwhile)
    value = run(host, "editFragments", operations=[APPENDING])
    assert value["results"][0]["status"] == "failed"
    assert "changed by another program" in value["results"][0]["error"]
    assert "baseHashes" not in value
    assert str(story.path) not in json.dumps(value)


def test_a_change_of_another_field_is_no_conflict(story: StoryBuilder) -> None:
    plan = planned(story, APPENDING)
    story.add("ch-bafego", "character", name="Theirs", description="d", content="Ines keeps the light.", tags=["t"])
    apply(plan, story.folder())
    document = read(story, "ch-bafego")
    assert (document["name"], document["tags"]) == ("Theirs", ["t"])
    assert document["content"] == "Ines keeps the light.\n\nMore."
    assert document["versions"][0]["name"] == "Theirs"


def test_applying_twice_changes_nothing_more(story: StoryBuilder) -> None:
    plan = planned(story, APPENDING)
    apply(plan, story.folder())
    before = tree(story.path)
    applied = apply(plan, story.folder())
    assert (applied.edits, applied.problems) == ((), ())
    assert tree(story.path) == before


def test_versions_that_are_no_list_are_not_lost(story: StoryBuilder) -> None:
    file = story.add("ch-bafego", "character", content="Ines keeps the light.", versions={"odd": 1})
    before = file.read_bytes()
    (problem,) = apply(planned(story, APPENDING), story.folder()).problems
    assert problem.field == "versions"
    assert file.read_bytes() == before


def test_a_plan_stays_in_its_story_and_branch(story: StoryBuilder, tmp_path: Path) -> None:
    plan = planned(story, APPENDING)
    other = StoryBuilder(tmp_path / "stories" / "other")
    with pytest.raises(WrongInput, match="not for other"):
        apply(plan, other.folder())
    folder = story.folder()
    branch = folder.create_branch("Elsewhere")
    assert folder.branches().active == branch.id
    apply(plan, folder)
    assert read(story, "ch-bafego")["content"].endswith("More.")
    copy = json.loads((folder.content_root(branch.id) / "fragments" / "ch-bafego.json").read_bytes())
    assert copy["content"] == "Ines keeps the light."


def test_taking_back_and_doing_again(story: StoryBuilder) -> None:
    before = {name: data for name, (data, _) in tree(story.path).items()}
    plan = planned(
        story,
        APPENDING,
        {"op": "archive_fragment", "fragmentId": "lo-harbor"},
        {"op": "create_fragment", "type": "knowledge", "name": "x", "content": "y"},
    )
    folder = story.folder()
    applied = apply(plan, folder)
    after = {name: data for name, (data, _) in tree(story.path).items()}
    assert len(applied.edits) == 3
    undone = take_back(applied, folder)
    assert {name: data for name, (data, _) in tree(story.path).items()} == before
    assert folder.snapshot().get("ch-bafego") is not None
    take_back(undone, folder)
    assert {name: data for name, (data, _) in tree(story.path).items()} == after


def test_what_was_changed_since_is_not_taken_back(story: StoryBuilder) -> None:
    applied = apply(
        planned(story, APPENDING, {"op": "append_paragraph", "fragmentId": "lo-harbor", "text": "x"}), story.folder()
    )
    theirs = story.add("ch-bafego", "character", content="Theirs.").read_bytes()
    undone = take_back(applied, story.folder())
    assert len(undone.problems) == 1
    assert (story.root / "fragments" / "ch-bafego.json").read_bytes() == theirs
    assert read(story, "lo-harbor")["content"] == "Grey water."


async def test_a_run_that_is_stopped_while_writing_has_its_record(
    story: StoryBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    begun, going_on = threading.Event(), threading.Event()
    revise = StoryFolder.revise_fragment

    def slow(*arguments: Any) -> Any:
        begun.set()
        going_on.wait(10)
        return revise(*arguments)

    monkeypatch.setattr(StoryFolder, "revise_fragment", slow)
    host = Host(story.folder(), "main", settle=apply_now)
    task = asyncio.ensure_future(
        CORE["editFragments"].run(tool_call("1", "editFragments", {"operations": [APPENDING]}), host)
    )
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    await asyncio.sleep(0)
    going_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    (settled,) = host.collected.settled
    assert settled.applied is not None
    assert len(settled.applied.edits) == 1
    assert read(story, "ch-bafego")["content"].endswith("More.")


# -- properties

TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from("ab$\\1&.*\n\u2028🌊é"), max_size=30)
SENT = st.text(st.characters(codec="utf-8") | st.sampled_from("ab$\\1&.*\n\u2028🌊é"), max_size=30)
"""What a model can send; only files can hold half a character."""
OLD = st.sampled_from(("a", "ab", "aa", "$1", "\\", ".", "🌊", "é", "\n"))


@st.composite
def operations(draw: st.DrawFn) -> list[dict[str, Any]]:
    target = st.sampled_from(("ch-bafego", "kn-mirafa", "lo-harbor", "kn-oldies", "kn-nobody", "pr-one"))
    one = st.one_of(
        st.fixed_dictionaries(
            {"op": st.just("replace_text"), "fragmentId": target, "oldText": OLD, "newText": SENT},
            optional={"replaceAll": st.booleans(), "occurrence": st.integers(1, 4)},
        ),
        st.fixed_dictionaries({"op": st.just("append_paragraph"), "fragmentId": target, "text": SENT.filter(bool)}),
        st.fixed_dictionaries({"op": st.just("archive_fragment"), "fragmentId": target}),
        st.fixed_dictionaries(
            {
                "op": st.just("create_fragment"),
                "type": st.sampled_from(("character", "location", "prose")),
                "name": st.text(min_size=1, max_size=20),
                "content": SENT,
            }
        ),
    )
    return draw(st.lists(one, min_size=1, max_size=6))


@settings(max_examples=60)
@given(contents=st.lists(TEXTS, min_size=3, max_size=3), steps=operations())
def test_applying_gives_what_the_plan_said(
    tmp_path_factory: pytest.TempPathFactory, contents: list[str], steps: list[dict[str, Any]]
) -> None:
    story = StoryBuilder(tmp_path_factory.mktemp("story"))
    story.meta({"customFragmentTypes": [{"type": "location", "name": "Places"}]})
    for fragment_id, kind, content in zip(
        ("ch-bafego", "kn-mirafa", "lo-harbor"), ("character", "knowledge", "location"), contents, strict=True
    ):
        story.add(fragment_id, kind, content=content)
    story.add("kn-oldies", "knowledge", archived=True)
    story.add("pr-one", "prose")
    before = {item.id: (FragmentState.of(item), item.raw) for item in story.snapshot().fragments.values()}
    plan = planned(story, *steps)
    assert {item.id: FragmentState.of(item) for item in story.snapshot().fragments.values()} == {
        key: state for key, (state, _) in before.items()
    }
    applied = apply(plan, story.folder())
    assert applied.problems == ()
    found = {item.id: item for item in story.snapshot().fragments.values()}
    said = {change.fragment_id: change.after for change in plan.changes}
    assert set(found) == set(before) | set(said)
    for fragment_id, fragment in found.items():
        was = before.get(fragment_id)
        assert FragmentState.of(fragment) == said.get(fragment_id, was and was[0])
        if was is not None:
            texts_differ = FragmentState.of(fragment).changed_to(was[0]).keys() - {"archived"}
            versions = fragment.raw.get("versions", [])
            assert len(versions) == bool(texts_differ)
            if versions:
                assert versions[0]["content"] == was[0].content
    take_back(applied, story.folder())
    assert {item.id: item.raw for item in story.snapshot().fragments.values()} == {
        key: raw for key, (_, raw) in before.items()
    }


@settings(max_examples=80)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=4),
    old=OLD,
    new=SENT,
    which=st.none() | st.integers(1, 6),
    every=st.booleans(),
)
def test_prose_edits_by_a_model_of_them(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], old: str, new: str, which: int | None, every: bool
) -> None:
    story = StoryBuilder(tmp_path_factory.mktemp("story"))
    ids = [f"pr-{'abcd'[index] * 4}" for index in range(len(texts))]
    for fragment_id, text in zip(ids, texts, strict=True):
        story.add(fragment_id, "prose", content=text)
    story.chain(*ids)
    edit = {"oldText": old, "newText": new, "replaceAll": every, **({} if which is None else {"occurrence": which})}
    apply(planned_prose(story, edit), story.folder())
    # Split at every occurrence, the pieces joined again by the old text or the new one.
    number = 0
    for fragment_id, text in zip(ids, texts, strict=True):
        first, *rest = text.split(old)
        expected = first
        for piece in rest:
            number += 1
            chosen = number == which if which is not None else every or number == 1
            expected += (new if chosen else old) + piece
        assert get(story, fragment_id).content == expected


def test_the_fragment_of_a_document_is_what_is_compared(story: StoryBuilder) -> None:
    # A fragment without a name is shown by its id, which is then what it is compared by.
    story.add("kn-blank", "knowledge", name=None, content="a")
    document = read(story, "kn-blank")
    assert fragment_of(document, Path("kn-blank.json")).name == "kn-blank"
    plan = planned(story, {"op": "append_paragraph", "fragmentId": "kn-blank", "text": "b"})
    assert apply(plan, story.folder()).problems == ()
    assert "name" not in read(story, "kn-blank")


# -- many at once

APPENDER = """
import sys
from pathlib import Path
from engine.story import StoryFolder
from engine.tools import apply
from engine.tools.fragment_edits import EditFragments, plan_fragment_edits
folder, word, done = StoryFolder(Path(sys.argv[1])), sys.argv[2], 0
while done < 15:
    text = f"{word}{done}"
    operations = [
        {"op": "append_paragraph", "fragmentId": "ch-bafego", "text": text},
        {"op": "append_paragraph", "fragmentId": "lo-harbor", "text": text},
    ]
    plan = plan_fragment_edits(folder.snapshot("main"), EditFragments.model_validate({"operations": operations}))
    first, second = apply(plan, folder).written
    while second.problem is not None:
        again = EditFragments.model_validate({"operations": operations[1:]})
        (second,) = apply(plan_fragment_edits(folder.snapshot("main"), again), folder).written
    while first.problem is not None:
        again = EditFragments.model_validate({"operations": operations[:1]})
        (first,) = apply(plan_fragment_edits(folder.snapshot("main"), again), folder).written
    done += 1
"""


def test_several_programs_at_once_lose_nothing(story: StoryBuilder) -> None:
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(story.path), word], env=environment, stderr=subprocess.PIPE
        )
        for word in "ab"
    ]
    for program in programs:
        _, errors = program.communicate(timeout=120)
        assert program.returncode == 0, errors.decode()
    for fragment_id in ("ch-bafego", "lo-harbor"):
        document = read(story, fragment_id)
        paragraphs = document["content"].split("\n\n")[1:]
        assert sorted(paragraphs) == sorted(f"{word}{number}" for word in "ab" for number in range(15))
        assert document["version"] == 31
        assert [item["version"] for item in document["versions"]] == list(range(1, 31))


def test_an_edit_of_a_very_long_story(story: StoryBuilder, call: Call) -> None:
    ids = [f"pr-{number:04}" for number in range(300)]
    for fragment_id in ids:
        story.add(fragment_id, "prose", content=f"{fragment_id}: the gull.")
    story.chain(*ids)
    (result,) = call("editProse", edits=[{"oldText": "gull", "newText": "tern"}]).value["results"]
    assert (result["status"], result["replacements"], result["fragments"]) == ("applied", 300, 300)
    assert len(result["fragmentIds"]) == 20
    assert read(story, "pr-0299")["content"] == "pr-0299: the tern."


def test_a_story_of_the_old_layout_is_given_branches(tmp_path: Path) -> None:
    story = StoryBuilder(tmp_path / "stories" / "old", legacy=True)
    story.add("ch-bafego", "character", content="a")
    folder = story.folder()
    plan = plan_fragment_edits(folder.snapshot(), EditFragments.model_validate({"operations": [APPENDING]}))
    assert not (story.path / "branches").exists()
    applied = apply(plan, folder)
    assert applied.problems == ()
    document = json.loads((story.path / "branches" / "main" / "fragments" / "ch-bafego.json").read_bytes())
    assert document["content"] == "a\n\nMore."
    take_back(applied, folder)
    found = folder.snapshot().get("ch-bafego")
    assert found is not None
    assert found.content == "a"


def test_a_branch_that_was_deleted_meanwhile_is_not_made_again(story: StoryBuilder) -> None:
    folder = story.folder()
    branch = folder.create_branch("Elsewhere")
    given = EditFragments.model_validate(
        {"operations": [APPENDING, {"op": "create_fragment", "type": "knowledge", "name": "x", "content": "y"}]}
    )
    plan = plan_fragment_edits(folder.snapshot(branch.id), given)
    folder.delete_branch(branch.id)
    applied = apply(plan, folder)
    assert applied.edits == ()
    assert {problem.message for problem in applied.problems} == {f"there is no branch {branch.id!r}"}
    assert not folder.content_root(branch.id).exists()


def test_nothing_is_taken_back_into_a_branch_that_was_deleted(story: StoryBuilder) -> None:
    folder = story.folder()
    branch = folder.create_branch("Elsewhere")
    applied = apply(plan_fragment_edits(folder.snapshot(branch.id), EditFragments(operations=[APPENDING])), folder)  # type: ignore[list-item]
    assert len(applied.edits) == 1
    folder.delete_branch(branch.id)
    (problem,) = take_back(applied, folder).problems
    assert "its folder is gone" in problem.message
    assert not folder.content_root(branch.id).exists()


def test_a_full_disk_is_told_and_nothing_is_half_written(story: StoryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(story.path)

    def full(handle: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("engine.disk._write", full)
    plan = planned(story, APPENDING, {"op": "create_fragment", "type": "knowledge", "name": "x", "content": "y"})
    applied = apply(plan, story.folder())
    assert [problem.message for problem in applied.problems] == ["can't be written: no space left on device"] * 2
    assert tree(story.path) == before
