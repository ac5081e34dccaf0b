"""An open agent: what its edits do, what they refuse, and that list, prompt and file always agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.blocks.config import LONGEST_NAME, dump_config
from engine.errors import InvalidFile, NotFound, StonehandError, WrongInput
from engine.prompt import ONLY_BRIEFED, ONLY_UNBRIEFED
from engine.session import Session
from engine.text import utf16_length
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.stories import config_file, custom_block, make_story


@pytest.fixture
def session(workspace: Workspace) -> Session:
    return loaded(workspace)


def loaded(workspace: Workspace, story: str = STORY) -> Session:
    session = workspace.session(story, WRITER)
    session.install(session.load())
    return session


def directed(session: Session) -> None:
    """Give the prompt an author's direction, so that its block is there."""
    session.author_input = "Go on."
    session.install(session.load())


def ids(session: Session, role: str) -> list[str]:
    return [row.id for row in session.rows if row.role == role]


def sent(session: Session) -> list[str]:
    return [block.id for block in session.prompt().blocks]


def test_nothing_is_listed_before_it_is_loaded(workspace: Workspace) -> None:
    session = workspace.session(STORY, WRITER)
    assert (session.rows, session.base, session.waiting) == ((), None, True)
    with pytest.raises(WrongInput, match="nothing is loaded"):
        session.prompt()


def test_toggle(session: Session) -> None:
    change = session.toggle("tools")
    assert change is not None
    assert change.label == "disabled tools"
    assert "tools" not in sent(session)
    assert session.row("tools").state == "disabled"
    assert session.toggle("tools", False) is None
    session.toggle("tools")
    assert session.document.config.overrides == {}


def test_move_takes_a_place_in_the_role(session: Session) -> None:
    before = ids(session, "user")
    last = before[-1]
    session.move(last, 0)
    assert ids(session, "user") == [last, *before[:-1]]
    assert session.move(last, 0) is None
    assert session.move(last, -5) is None
    session.move(last, 999)
    assert ids(session, "user") == before
    assert session.move(last, 999) is None


def test_pin_order_and_take_the_pin_away(session: Session) -> None:
    session.pin_order("prose-recent", -2.5)
    assert ids(session, "user")[0] == "prose-recent"
    session.pin_order("prose-recent", None)
    assert session.document.config.overrides == {}
    for bad in (float("nan"), float("inf")):
        with pytest.raises(WrongInput, match=r"^order: must be a finite number$"):
            session.pin_order("prose-recent", bad)


@pytest.mark.parametrize("order", [2**53 + 1, -(2**53) - 1, 10**400, 1e300])
def test_an_order_that_would_be_stored_as_another_number_is_refused(session: Session, order: float) -> None:
    block = session.add("One", "user", "simple")
    before = session.document.config
    for change in (lambda: session.pin_order("tools", order), lambda: session.change(block, order=order)):
        with pytest.raises(WrongInput, match="as large can't be stored exactly — give one up to 9007199254740992"):
            change()
    assert session.document.config is before
    session.pin_order("tools", 2**53)


def test_modes(session: Session) -> None:
    default = session.row("story-info").default
    session.set_mode("story-info", "append", "And more.")
    assert session.row("story-info").content == f"{default}\nAnd more."
    session.set_mode("story-info", "override")
    assert session.row("story-info").content == "And more."
    session.set_mode("story-info", None)
    assert (session.row("story-info").content, session.text("story-info")) == (default, "And more.")
    session.set_text("story-info", "")
    session.set_mode("story-info", "override")
    assert session.text("story-info") == default
    with pytest.raises(WrongInput, match=r"^contentMode: must be 'override', 'prepend' or 'append', not \"behind\"$"):
        session.set_mode("story-info", "behind")  # type: ignore[arg-type]


def test_add_gives_an_id_of_its_own_and_the_place_asked_for(session: Session) -> None:
    first = session.add("  Style ", "user", "simple", "S")
    second = session.add("Style", "user", "simple", "S", after="story-info")
    assert first != second
    assert [row.name for row in session.rows if row.custom] == ["Style", "Style"]
    user = ids(session, "user")
    assert user[user.index("story-info") + 1] == second
    assert user[-1] == first
    # A row of the other role is no place in this one: it goes last.
    third = session.add("Third", "user", "simple", after="tools")
    assert ids(session, "user")[-1] == third


def test_ids_stay_unique_even_when_chance_repeats_itself(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from random import Random

    import engine.session

    new_id = engine.session.new_block_id
    monkeypatch.setattr(engine.session, "new_block_id", lambda taken: new_id(taken, Random(7)))
    made = [session.add("A", "user", "simple") for _ in range(4)] + [session.duplicate("tools") for _ in range(4)]
    assert len(set(made)) == 8


@pytest.mark.parametrize("name", ["", "   ", "\ufeff\n", "x" * 101, "🌊" * 51])
def test_names_no_config_may_hold_are_refused(session: Session, name: str) -> None:
    block = session.add("Good", "user", "simple")
    for edit in (lambda: session.add(name, "user", "simple"), lambda: session.change(block, name=name)):
        with pytest.raises(WrongInput) as raised:
            edit()
        assert "name" in str(raised.value)
        assert "\n" not in str(raised.value)
    assert session.row(block).name == "Good"


def test_names_are_trimmed_and_put_on_one_line(session: Session) -> None:
    block = session.add("\t A\nname  ", "user", "simple")
    assert session.row(block).name == "A name"
    session.change(block, name=" Other ")
    assert session.row(block).name == "Other"
    assert session.change(block, name="Other") is None


@pytest.mark.parametrize(("role", "type"), [("assistant", "simple"), ("user", "python")])
def test_values_that_are_none_are_refused_in_one_line(session: Session, role: Any, type: Any) -> None:
    block = session.add("A", "user", "simple")
    for edit in (lambda: session.add("B", role, type), lambda: session.change(block, role=role, type=type)):
        with pytest.raises(WrongInput, match=r"^(role|type): must be .* not \"(assistant|python)\"$"):
            edit()


def test_duplicate(session: Session) -> None:
    script = session.add("x" * LONGEST_NAME, "system", "script", "return ''")
    copy = session.row(session.duplicate(script))
    assert (copy.role, copy.type, session.text(copy.key)) == ("system", "script", "return ''")
    assert copy.name == "x" * 95 + " copy"
    wide = session.row(session.duplicate(session.add("🌊" * 50, "user", "simple")))
    assert utf16_length(wide.name) <= LONGEST_NAME
    builtin = session.row(session.duplicate("story-info"))
    assert (builtin.type, builtin.content) == ("simple", session.row("story-info").content)
    user = ids(session, "user")
    assert user[user.index("story-info") + 1] == builtin.id
    session.toggle(script, False)
    off = session.duplicate(script)
    assert not session.row(off).enabled
    session.toggle(off, True)
    assert session.row(off).enabled and not session.row(script).enabled


def test_change_delete_and_reset(session: Session) -> None:
    block = session.add("A", "user", "simple", "text")
    session.change(block, role="system", type="script", order=3)
    row = session.row(block)
    assert (row.role, row.type, row.state) == ("system", "script", "pending")
    assert session.waiting
    session.toggle(block)
    session.reset(block)
    assert session.document.config.overrides == {}
    session.delete(block)
    with pytest.raises(NotFound, match=f"has no block '{block}' — blocks: instructions, tools"):
        session.row(block)
    session.toggle("tools")
    session.reset()
    assert dump_config(session.document.config)["overrides"] == {}
    for edit in (lambda: session.delete("tools"), lambda: session.change("tools", name="T")):
        with pytest.raises(WrongInput, match="tools is a built-in block"):
            edit()


def test_a_message_names_a_few_blocks_of_many(session: Session) -> None:
    for n in range(40):
        session.add(f"B{n}", "user", "simple")
    with pytest.raises(NotFound, match=r"and \d+ more$"):
        session.row("ghost")


def test_tools(session: Session) -> None:
    known = ("readFragments", "findFragments")
    session.set_tool("readFragments", False, known)
    assert session.waiting
    with pytest.raises(StonehandError, match="tools have changed"):
        session.prompt()
    session.install(session.load())
    assert not session.waiting
    assert "readFragments" not in session.prompt().tools
    assert "readFragments" not in session.prompt().messages[-1].content
    with pytest.raises(NotFound, match="has no tool 'fly' — tools: readFragments, findFragments"):
        session.set_tool("fly", True, known)


def test_the_authors_input_asks_for_a_load(session: Session) -> None:
    assert not session.waiting
    session.author_input = "Let it rain."
    assert session.waiting
    session.install(session.load())
    assert not session.waiting
    assert session.prompt().input == "Let it rain."


def test_an_invalid_file_refuses_every_edit_in_one_line(story: Path, opened: Callable[..., Workspace]) -> None:
    file = config_file(story)
    file.parent.mkdir()
    file.write_text('{\n  "customBlocks": [],\n  "overrides": {"tools": {"enabled": "no"}}\n}', "utf-8")
    data = file.read_bytes()
    workspace = opened()
    session = loaded(workspace)
    for edit in (lambda: session.toggle("tools"), lambda: session.add("A", "user", "simple"), session.undo):
        with pytest.raises(InvalidFile, match=r"generation\.writer\.json:3 \(overrides\.tools\.enabled\): must be"):
            edit()
    with pytest.raises(InvalidFile):
        workspace.prompt(STORY)
    assert workspace.save(session) is None
    assert file.read_bytes() == data


def test_blocks_that_share_an_id_can_be_told_apart(data: Path, opened: Callable[..., Workspace]) -> None:
    blocks = [custom_block("cb-same", "first"), custom_block("cb-same", "second")]
    make_story(data, configs={WRITER: {"customBlocks": blocks}})
    session = loaded(opened())
    assert (session.text("cb-same"), session.text("cb-same#2")) == ("first", "second")
    session.set_text("cb-same#2", "changed")
    session.type_text("cb-same#2", "changed more")
    session.change("cb-same#2", name="Second")
    assert [(b.name, b.content) for b in session.document.config.customBlocks] == [
        ("cb-same", "first"),
        ("Second", "changed more"),
    ]
    with pytest.raises(WrongInput, match="two blocks share the id cb-same"):
        session.move("cb-same#2", 0)
    copy = session.duplicate("cb-same#2")
    assert session.text(copy) == "changed more"
    session.pin_order("cb-same", 5)
    session.delete("cb-same#2")
    assert [block.id for block in session.document.config.customBlocks] == ["cb-same", copy]
    assert session.text("cb-same") == "first"
    assert session.document.config.override("cb-same").order == 5


def test_after_an_edit_only_its_row_is_made_anew(session: Session) -> None:
    for n in range(5):
        session.add(f"B{n}", "user", "simple", "<@ch-bafego:short>")
    before = {row.key: row for row in session.rows}
    session.toggle("tools")
    changed = [row.key for row in session.rows if row is not before[row.key]]
    assert changed == ["tools"]


def test_a_new_state_of_the_story_makes_rows_anew(session: Session, story: Path) -> None:
    block = session.add("Tag", "user", "simple", "<@ch-bafego>")
    before = session.row(block).tokens
    file = story / "branches/main/fragments/ch-bafego.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "content": "word " * 100}), "utf-8")
    session.install(session.load())
    after = session.row(block).tokens
    assert before is not None
    assert after is not None
    assert after > before + 50


OPERATIONS = st.lists(
    st.tuples(st.sampled_from("tmMxTadcCpDrRuUs"), st.integers(0, 30), st.integers(0, 12), st.text(max_size=6)),
    max_size=25,
)


def operate(session: Session, kind: str, which: int, where: int, text: str) -> None:
    """One operation; a refusal is one clear line and changes nothing."""
    row = session.rows[which % len(session.rows)]
    role = ("system", "user")[where % 2]
    known = ("readFragments", "findFragments")
    operations: dict[str, Callable[[], object]] = {
        "t": lambda: session.toggle(row.key),
        "m": lambda: session.move(row.key, where),
        "M": lambda: session.set_mode(row.key, (None, "prepend", "append", "override")[where % 4], text),
        "x": lambda: session.set_text(row.key, text),
        "T": lambda: session.type_text(row.key, session.text(row.key) + text),
        "a": lambda: session.add(text, role, "simple", text, after=row.key if where % 3 else None),  # type: ignore[arg-type]
        "d": lambda: session.duplicate(row.key),
        "c": lambda: session.change(row.key, name=text, role=role),  # type: ignore[arg-type]
        "C": lambda: session.change(row.key, order=where - 5),
        "p": lambda: session.pin_order(row.key, None if where % 4 == 0 else where / 2),
        "D": lambda: session.delete(row.key),
        "r": lambda: session.reset(row.key),
        "R": lambda: session.reset() if where == 0 else None,
        "u": session.undo,
        "U": session.redo,
        "s": lambda: session.set_tool(known[where % 2], bool(where % 3), known),
    }
    before = session.document.config
    try:
        operations[kind]()
    except StonehandError as refused:
        assert len(str(refused).splitlines()) == 1
        assert session.document.config is before


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(operations=OPERATIONS)
def test_any_operations_keep_list_prompt_and_file_equal(
    data: Path, state: Path, tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int, int, str]]
) -> None:
    folder = tmp_path_factory.mktemp("data")
    blocks = [custom_block("cb-first", "one"), custom_block("cb-second", "two", role="system", enabled=False)]
    story = make_story(folder, configs={WRITER: {"customBlocks": blocks, "future": {"kept": 1.5}}})
    workspace = Workspace(folder, state=state)
    try:
        session = loaded(workspace)
        for operation in operations:
            operate(session, *operation)
            # The list after an edit is the list that would be made from nothing.
            fresh = workspace.session(STORY, WRITER)
            fresh.install(session._loaded)  # type: ignore[arg-type]
            assert session.rows == fresh.rows
            assert len({row.key for row in session.rows}) == len(session.rows)
        session.install(session.load())
        prompt = session.prompt()
        compiled = [row for row in session.rows if row.state == "compiled"]
        assert [(row.id, row.name, row.order, row.tokens) for row in compiled] == [
            (block.id, block.name, block.order, block.tokens) for block in prompt.blocks
        ]
        workspace.save_now(session)
        assert json.loads(config_file(story).read_bytes())["future"] == {"kept": 1.5}
        other = Workspace(folder, state=state, journal=False)
        try:
            again = loaded(other)
            assert again.document.config == session.document.config
            assert again.rows == session.rows
            assert again.prompt() == prompt
        finally:
            other.close()
    finally:
        workspace.close()


def test_an_order_written_in_prewriter_mode_is_whole_for_the_standard_one(
    data: Path, opened: Callable[..., Any]
) -> None:
    def in_mode(mode: str, change: Callable[[Session], object] | None = None) -> list[str]:
        meta = json.loads((story / "meta.json").read_text())
        meta["settings"]["generationMode"] = mode
        (story / "meta.json").write_text(json.dumps(meta))
        workspace = opened()
        if change is not None:
            workspace.edit(STORY, WRITER, None, change)
        rows = loaded(workspace).rows
        everything.append({row.id for row in rows})
        return [row.id for row in rows if row.note not in (ONLY_BRIEFED, ONLY_UNBRIEFED)]

    everything: list[set[str]] = []
    story = make_story(data, prose=("One.",), settings={"generationMode": "standard"})
    standard = in_mode("standard")
    brief = in_mode("prewriter", lambda session: session.move("writing-brief", 0))
    assert brief == ["instructions", "tools", "writing-brief", "prose-recent", "new-story"]
    assert in_mode("standard") == standard
    assert in_mode("standard", lambda session: session.move("summary", 0))[3] == "summary"
    assert in_mode("prewriter") == brief
    assert all(ids == everything[0] for ids in everything), "each mode lists what the other has"


@pytest.mark.parametrize(
    ("mode", "block", "reason"),
    [("standard", "writing-brief", ONLY_BRIEFED), ("prewriter", "summary", ONLY_UNBRIEFED)],
)
def test_a_block_of_the_other_mode_is_absent_and_can_be_configured(
    data: Path, opened: Callable[..., Any], mode: str, block: str, reason: str
) -> None:
    make_story(data, prose=("One.",), settings={"generationMode": mode})
    workspace = opened()
    sent = loaded(workspace).prompt().messages
    workspace.edit(STORY, WRITER, None, lambda session: session.set_mode(block, "append", "More."))
    workspace.edit(STORY, WRITER, None, lambda session: session.toggle(block, False))
    session = loaded(workspace)
    row = session.row(block)
    assert (row.state, row.note, row.enabled, row.mode) == ("absent", reason, False, "append")
    assert session.leftovers == () and session.prompt().warnings == ()
    assert session.prompt().messages == sent


def test_several_blocks_are_switched_off_together_then_on_as_one_step(session: Session) -> None:
    before = session.document.pending()
    keys = ["tools", "author-input"]
    session.toggle("tools", False)
    change = session.toggle_all(keys)
    assert change is not None and change.label == "disabled author-input", "what is off already is not named"
    assert [session.row(key).enabled for key in keys] == [False, False]
    session.toggle_all(keys)
    assert [session.row(key).enabled for key in keys] == [True, True]
    for _ in range(3):
        session.undo()
    assert session.document.pending() == before is None
    assert session.toggle_all(keys, True) is None
    with pytest.raises(NotFound, match="no block 'nope'"):
        session.toggle_all(["tools", "nope"])
    assert session.row("tools").enabled


def test_several_blocks_are_duplicated_and_deleted_as_one_step(session: Session) -> None:
    directed(session)
    before = [row.key for row in session.rows]
    present = [row.key for row in session.rows if row.default is not None]
    keys = [present[-1], present[0], present[-2]]
    made = session.duplicate_all(keys)
    after = [row.key for row in session.rows]
    assert len(set(made)) == 3 and [key for key in after if key not in made] == before
    for key, copy in zip([present[0], present[-2], present[-1]], made, strict=True):
        assert after[after.index(key) + 1] == copy
    orders = [session.row(key).name for key in made]
    assert all(name.endswith(" copy") for name in orders)
    session.undo()
    assert [row.key for row in session.rows] == before
    session.redo()
    assert session.delete_all([*made, "tools"]) is not None
    assert [row.key for row in session.rows] == before, "a built-in block stays"
    assert session.delete_all(["tools"]) is None


@pytest.mark.parametrize("edit", ["add behind", "add last", "duplicate", "duplicate several", "move", "shift several"])
def test_an_edit_that_gives_up_orders_others_are_pinned_to_names_them(session: Session, edit: str) -> None:
    directed(session)

    def change() -> None:
        if edit == "add behind":
            session.add("One", "user", "simple", after="author-input")
        elif edit == "add last":
            session.add("One", "user", "simple")
        elif edit == "duplicate":
            session.duplicate("author-input")
        elif edit == "duplicate several":
            session.duplicate_all(["author-input", "prose-recent"])
        elif edit == "move":
            session.move("author-input", 0)
        else:
            session.shift(["author-input"], -1)

    if edit == "add last":  # which writes an order only where there is one
        session.move("author-input", 0)
    session.pin_order("tools", 7.5)
    change()
    assert not session.row("tools").pinned
    label = session.document.undo_label or ""
    assert label.endswith("; the order counts now for what was pinned: tools")
    session.undo()
    session.pin_order("tools", None)
    change()
    assert "pinned" not in (session.document.undo_label or "")


def test_a_block_added_last_without_a_written_order_leaves_pins_alone(session: Session) -> None:
    session.pin_order("tools", 7.5)
    session.add("One", "user", "simple")
    assert session.row("tools").pinned and session.document.undo_label == "added One"


def test_several_blocks_are_reset_and_lose_their_modes_as_one_step(session: Session) -> None:
    session.set_mode("tools", "override", "mine")
    session.set_mode("author-input", "append", "mine too")
    session.toggle("author-input", False)
    changed = session.document.config
    session.clear_modes(["tools", "author-input"])
    assert [session.row(key).mode for key in ("tools", "author-input")] == [None, None]
    assert session.text("tools") == "mine", "a text that was written is kept"
    session.undo()
    assert session.document.config == changed
    session.reset_all(["tools", "author-input"])
    assert session.document.config.overrides == {}
    session.undo()
    assert session.document.config == changed


def test_several_blocks_are_moved_as_one_step(session: Session) -> None:
    before = [row.key for row in session.rows]
    assert session.shift([before[0]], -1) is None, "it is the first"
    change = session.shift([before[0], before[1]], 1)
    assert change is not None and change.label == "moved 2 blocks"
    assert [row.key for row in session.rows][:3] == [before[2], before[0], before[1]]
    session.undo()
    last = before[-1]
    session.gather([last, before[-3], before[0]], last, len(ids(session, "user")) - 1)
    assert [row.key for row in session.rows][-3:] == [before[-2], before[-3], last]
    assert session.rows[0].key == before[0]
    session.undo()
    assert [row.key for row in session.rows] == before


def test_what_is_left_over_is_listed_and_settled_in_steps_that_undo_takes_back(
    workspace: Workspace, story: Path
) -> None:
    file = config_file(story, WRITER)
    config = {
        "customBlocks": [custom_block("cb-aaaa", "one", name="One"), custom_block("cb-aaaa", "two", name="Two")],
        "overrides": {"gone": {"customContent": "an old text"}, "prose": {"enabled": False}},
        "blockOrder": ["lost", "prose"],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(config), "utf-8")
    session = loaded(workspace)
    assert [(left.id, left.kind) for left in session.leftovers] == [
        ("gone", "override"), ("prose", "old"), ("lost", "order"), ("cb-aaaa", "shared"),
    ]  # fmt: skip
    session.rename_leftover("prose")
    assert not session.row("prose-recent").enabled
    session.part_shared("cb-aaaa")
    session.drop_leftovers(["gone", "lost"])
    assert session.leftovers == ()
    assert len({row.id for row in session.rows if row.custom}) == 2
    for _ in range(3):
        session.undo()
    assert [left.id for left in session.leftovers] == ["gone", "prose", "lost", "cb-aaaa"]
    with pytest.raises(NotFound, match="'tools'"):
        session.drop_leftovers(["tools"])
    with pytest.raises(NotFound):
        session.drop_leftovers(["cb-aaaa"])


def test_an_order_of_its_own_takes_the_place_of_a_pinned_one(session: Session) -> None:
    key = session.add("Mine", "user", "simple", "x")
    session.pin_order(key, 5)
    assert session.row(key).pinned and session.row(key).order == 5
    session.change(key, name="Yours")
    assert session.row(key).pinned, "only an order does"
    session.change(key, order=450)
    assert (session.row(key).pinned, session.row(key).order) == (False, 450)
    session.undo()
    assert session.row(key).order == 5
