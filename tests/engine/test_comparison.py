"""Two compiled prompts, block by block, and what a prompt can be compared with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.comparison import Comparison, Sent, SentBlock, compare, in_sight
from engine.differences import compare_lines
from engine.errors import NotFound, StonehandError
from engine.session import Session
from engine.workspace import Reference, Workspace
from tests.engine.conftest import STORY, WRITER
from tests.stories import CREATED, config_file, custom_block, make_story

BLOCKS = st.lists(
    st.builds(
        SentBlock,
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from(["x", "y"]),
        st.sampled_from(["system", "user"]),
        st.sampled_from(["one\ntwo", "one\nthree", ""]),
        st.integers(0, 9),
    ),
    max_size=7,
).map(lambda blocks: sorted(blocks, key=lambda block: block.role))


def block(id: str, content: str = "text", role: str = "user", name: str = "") -> SentBlock:
    return SentBlock(id, name or id, role, content, len(content))


def told(before: list[SentBlock], after: list[SentBlock]) -> list[str]:
    return [f"{change.sign}{change.key}" for change in compare(Sent(tuple(before)), Sent(tuple(after))).changes]


@given(BLOCKS, BLOCKS)
def test_both_prompts_can_be_told_from_a_comparison(before: list[SentBlock], after: list[SentBlock]) -> None:
    found = compare(Sent(tuple(before)), Sent(tuple(after)))
    assert [change.after for change in found.changes if change.after is not None] == after
    assert sorted(map(repr, (change.before for change in found.changes if change.before is not None))) == sorted(
        map(repr, before)
    )
    for change in found.changes:
        old = change.before.content if change.before is not None else ""
        new = change.after.content if change.after is not None else ""
        if change.lines:
            assert "\n".join(line.text for line in change.lines if line.sign != "+") == old
            assert "\n".join(line.text for line in change.lines if line.sign != "-") == new
        else:
            assert old == new
    assert found.same == ([*map(content, before)] == [*map(content, after)])
    assert bool(found.text) != found.same
    assert found.before_tokens + found.added - found.removed == found.after_tokens
    for change in found.changes:
        assert min(change.added, change.removed) >= 0
        if change.before is not None and change.after is not None:
            assert change.before.tokens + change.added - change.removed == change.after.tokens


def content(given: SentBlock) -> tuple[str, ...]:
    return (given.id, given.name, given.role, given.content)


def test_added_removed_changed_moved() -> None:
    before = [block("a"), block("b"), block("c"), block("d"), block("e")]
    after = [block("a"), block("d"), block("c", "other"), block("new"), block("e")]
    found = told(before, after)
    assert found in (["=a", "-b", ">d", "~c", "+new", "=e"], ["=a", "-b", "=d", "~c", "+new", "=e"])
    assert sum(change.moved for change in compare(Sent(tuple(before)), Sent(tuple(after))).changes) == 1


def test_a_block_moved_past_many_is_the_one_that_moved() -> None:
    before = [block(name) for name in "abcdef"]
    assert told(before, [*before[1:], before[0]]) == ["=b", "=c", "=d", "=e", "=f", ">a"]
    assert told(before, [before[5], *before[:5]]) == [">f", "=a", "=b", "=c", "=d", "=e"]


def test_another_role_is_no_move_and_repeated_ids_are_matched_in_order() -> None:
    (first, second) = compare(Sent((block("a", role="system"), block("b"))), Sent((block("a"), block("b")))).changes
    assert (first.sign, first.role_changed, first.moved, second.sign) == ("~", True, False, "=")
    assert told([block("a", "1"), block("a", "2")], [block("a", "1")]) == ["=a", "-a#2"]
    assert told([block("a", name="x")], [block("a", name="y")]) == ["~a"]


def test_what_is_gone_stands_where_it_stood() -> None:
    system = [block(name, role="system") for name in "abc"]
    user = [block(name) for name in "xyz"]
    assert told([*system, *user], [system[0], *user[1:]]) == ["=a", "-b", "-c", "-x", "=y", "=z"]
    assert told([*system, *user], user) == ["-a", "-b", "-c", "=x", "=y", "=z"]


def test_lines_out_of_sight() -> None:
    lines = compare_lines("\n".join(map(str, range(20))), "\n".join(str(n) for n in range(20) if n != 10))
    assert list(in_sight(lines, 2)) == [(False, 0, 8), (True, 8, 13), (False, 13, 20)]
    assert list(in_sight(lines, 9)) == [(True, 0, 1), (True, 1, 20)]


# -- what a prompt is compared with


def loaded(workspace: Workspace, agent: str = WRITER, branch: str | None = None, **options: str) -> Session:
    session = workspace.session(STORY, agent, branch, **options)  # type: ignore[arg-type]
    session.install(session.load())
    return session


def against(workspace: Workspace, session: Session, kind: str, branch: str = "") -> Comparison:
    return workspace.comparing(session, Reference(kind, branch))()  # type: ignore[arg-type]


def changed(found: Comparison) -> list[str]:
    return [f"{change.sign}{change.key}" for change in found.changed]


def test_the_config_as_it_was_opened_as_it_is_saved_and_the_default(workspace: Workspace) -> None:
    session = loaded(workspace)
    assert against(workspace, session, "opened").same and against(workspace, session, "default").same
    session.set_mode("instructions", "append", "Keep it short.")
    workspace.save_now(session)
    session.toggle("tools")
    assert changed(against(workspace, session, "saved")) == ["-tools"]
    found = against(workspace, session, "opened")
    assert changed(found) == ["~instructions", "-tools"] == changed(against(workspace, session, "default"))
    (line, _) = found.changed[0].lines[-1], found.changed[0].added
    assert (line.sign, line.text) == ("+", "Keep it short.")
    session.undo()
    assert against(workspace, session, "saved").same


def test_a_tool_that_is_off_changes_what_the_default_says(workspace: Workspace) -> None:
    session = loaded(workspace)
    session.set_tool("readFragments", False, workspace.agent(WRITER).tools)
    session.install(session.load())
    assert "~tools" in changed(against(workspace, session, "default"))


def test_a_script_gives_the_same_on_both_sides(workspace: Workspace) -> None:
    session = loaded(workspace)
    session.add("Dice", "user", "script", "return String(Math.random())")
    session.install(session.load())
    first = session.prompt()
    workspace.save_now(session)
    session.toggle("story-info")
    assert changed(against(workspace, session, "saved")) == ["-story-info"]
    assert session.prompt().messages != first.messages


def test_another_branch_has_its_own_config_and_story(tmp_path: Path) -> None:
    story = make_story(tmp_path / "data", STORY, branches=("main", "other"))
    config_file(story, branch="other").parent.mkdir()
    config_file(story, branch="other").write_text(
        json.dumps({"customBlocks": [custom_block("cb-stylea", "Short.")]}), "utf-8"
    )
    workspace = Workspace(tmp_path / "data", state=tmp_path / "state")
    session = loaded(workspace)
    assert changed(against(workspace, session, "branch", "other")) == ["-cb-stylea"]
    with pytest.raises(StonehandError, match="nowhere"):
        against(workspace, session, "branch", "nowhere")
    workspace.close()


def test_the_last_sent_by_blocks_and_of_an_older_log_by_messages(tmp_path: Path) -> None:
    story = make_story(tmp_path / "data", STORY)
    workspace = Workspace(tmp_path / "data", state=tmp_path / "state")
    session = loaded(workspace)
    with pytest.raises(NotFound, match="was sent nothing on branch main"):
        against(workspace, session, "sent")
    from engine.runs import Run

    prompt = session.prompt()
    run = Run(prompt, workspace.wires.of(prompt, words_per_second=0))
    workspace.generate(run).result()
    saved = workspace.passages.keep(run)
    session.toggle("story-info")
    found = against(workspace, session, "sent")
    assert changed(found) == ["-story-info"] and found.at and not found.by_message
    log = story / "branches/main/generation-logs" / f"{saved.log_id}.json"
    document = json.loads(log.read_text("utf-8"))
    for own in (None, {"agent": WRITER}, {"blocks": [[{"id": "x"}]]}, {"blocks": [[], [{"id": "x", "start": 9e9}]]}):
        log.write_text(json.dumps({**document, "stonehand": own}), "utf-8")
        found = against(workspace, session, "sent")
        assert found.by_message and changed(found) == ["~user"]
    log.write_text(json.dumps({**document, "stonehand": {"agent": "librarian.chat"}}), "utf-8")
    with pytest.raises(NotFound):
        against(workspace, session, "sent")
    assert document["createdAt"] > CREATED
    workspace.close()


def test_a_prompt_about_a_fragment(workspace: Workspace) -> None:
    session = loaded(workspace, "librarian.refine", target="kn-mirafa")
    assert "ID: kn-mirafa" in session.prompt().messages[-1].content
    assert against(workspace, session, "default").same
    chat = loaded(workspace, "character-chat.chat", target="ch-bafego")
    assert [item.id for item in workspace.targets(STORY, "character-chat.chat")] == ["ch-bafego"]
    assert "character" in [block.id for block in chat.prompt().blocks]
    with pytest.raises(NotFound, match="no fragment nothing-there"):
        workspace.session(STORY, "librarian.refine", target="nothing-there").load()
    with pytest.raises(StonehandError, match="about no fragment"):
        workspace.session(STORY, WRITER, target="ch-bafego").load()
    assert workspace.targets(STORY, WRITER) == ()
