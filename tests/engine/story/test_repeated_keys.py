"""A file in which a key stands twice is written again by nothing: of the two only one was read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.chat import ConversationStore, question
from engine.errors import InvalidFile
from engine.runs.usage import write_usage
from engine.story import StoryFolder, branching, librarian
from engine.story.revising import FragmentState, revise
from tests.engine.story_builder import StoryBuilder, tree

ANALYSIS = {
    "fragmentId": "pr-one",
    "summaryUpdate": "A storm.",
    "mentionedCharacters": [],
    "timelineEvents": [],
    "mentions": [],
}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STONEHAND_STATE", str(tmp_path / "state"))


def chat(story: StoryBuilder) -> ConversationStore:
    return ConversationStore(StoryFolder(story.path), "main", "librarian.chat", story.path.parent / "kept")


def say(story: StoryBuilder) -> None:
    chat(story).append("cv-one", question("And then?"))


def revise_prose(story: StoryBuilder) -> None:
    before = FragmentState("Name of pr-one", "About pr-one", "Text of pr-one")
    revise(story.root / "fragments" / "pr-one.json", before, FragmentState("", "", "Other."), "by hand")


WRITES: dict[str, Callable[[StoryBuilder], object]] = {
    "meta.json": lambda story: story.folder().use_context_order("advanced"),
    "branches/main/fragments/pr-one.json": revise_prose,
    "branches/main/prose-chain.json": lambda story: story.folder().append_prose("main", "", "", "It rained.", {}),
    "branches.json": lambda story: branching.rename(story.path, "main", "Trunk"),
    "branches/main/generation-logs/gen-one.json": lambda story: story.folder().update_log(
        "main", "gen-one", {"fragmentId": "pr-one"}
    ),
    "branches/main/librarian/chat-cv-one.json": say,
    "token-usage.json": lambda story: write_usage(story.path, {}),
}
"""Each file that is written again from what was read of it, and something that does so."""


def doubled(file: Path) -> None:
    """Have the first key of an object in a JSON file stand in it once more, at its end."""
    lines = file.read_text("utf-8").split("\n")
    assert lines[0] == "{" and lines[-1] == "}"
    lines[-2:] = [f"{lines[-2]},", '  "note": "mine",\n  "note": {"n": "ours"}\n}']
    file.write_text("\n".join(lines), "utf-8")


def furnish(story: StoryBuilder) -> None:
    story.add("pr-one", "prose")
    story.chain("pr-one")
    story.write("branches.json", {"branches": [{"id": "main", "name": "Main"}], "activeBranchId": "main"})
    story.write("branches/main/generation-logs/gen-one.json", {"id": "gen-one", "messages": []})
    story.write("branches/main/librarian/chat-cv-one.json", {"messages": [], "updatedAt": ""})
    story.write("token-usage.json", {"sources": {}, "total": {}, "byModel": {}})


@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_refused_with_file_field_and_line(story: StoryBuilder, name: str) -> None:
    furnish(story)
    doubled(story.path / name)
    before = tree(story.path)
    with pytest.raises(InvalidFile) as caught:
        WRITES[name](story)
    problem = caught.value.problem
    assert (problem.file, problem.field) == (story.path / name, "note")
    line = (story.path / name).read_text("utf-8").split("\n").index('  "note": {"n": "ours"}') + 1
    assert problem.line == line and re.search("more than once.*nothing was written", str(problem))
    assert tree(story.path) == before


def test_a_chain_is_not_cut_for_a_fork_either(story: StoryBuilder) -> None:
    furnish(story)
    doubled(story.path / "branches/main/prose-chain.json")
    before = tree(story.path)
    with pytest.raises(InvalidFile, match="more than once"):
        branching.create(story.path, "Other", "main", fork_after=0)
    assert tree(story.path) == before


def test_an_analysis_is_kept_and_what_could_not_follow_it_is_told(story: StoryBuilder) -> None:
    furnish(story)
    names = ("librarian/index.json", "librarian/state.json", "fragments/pr-one.json")
    for name in names[:2]:
        story.write(f"branches/main/{name}", {"version": 1})
    for name in names:
        doubled(story.root / name)
    before = {name: (story.root / name).read_bytes() for name in names}
    written = librarian.write_analysis(story.root, ANALYSIS, "Text of pr-one")
    assert (story.root / "librarian" / "analyses" / f"{written.id}.json").is_file()
    assert [problem.file for problem in written.problems] == [story.root / name for name in names]
    assert {name: (story.root / name).read_bytes() for name in names} == before


def test_a_list_of_conversations_is_told_of_and_loses_no_message(story: StoryBuilder) -> None:
    furnish(story)
    index = story.write("branches/main/librarian/conversations.json", {"conversations": []})
    doubled(index)
    before = index.read_bytes()
    changed = chat(story).append("cv-one", question("And then?"))
    assert [message.content for message in changed.messages] == ["And then?"]
    assert [problem.file for problem in changed.problems] == [index] and index.read_bytes() == before
