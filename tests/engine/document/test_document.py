"""The open document: undo to the byte, saving that overwrites nobody, faults, the journal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import disk
from engine.blocks import arrange, edits
from engine.blocks.config import EMPTY, BlockConfig, dump_config
from engine.document import Document, Journal, SaveState, merge_configs
from engine.document import document as document_module
from engine.errors import Conflict, InvalidFile
from tests.engine.blocks.test_rows import situations

ODD = b'{\r\n\t"blockOrder": ["tools", "instructions"],\r\n\t"future": {"x": 1.0},\r\n\t"overrides": {}\r\n}\r\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent-blocks" / "generation.writer.json"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal")
    yield journal
    journal.close()


def off(document: Document, block_id: str) -> None:
    document.apply(f"disable {block_id}", lambda config: edits.set_enabled(config, block_id, False))


def write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def test_a_missing_file_is_the_empty_config_and_opening_writes_nothing(file: Path) -> None:
    document = Document(file)
    assert (document.config, document.state) == (EMPTY, SaveState.SAVED)
    assert not file.parent.exists()
    assert not document.save()
    assert not file.parent.exists()


def test_edits_are_saved_and_undo_restores_the_bytes_another_program_wrote(file: Path) -> None:
    write(file, ODD)
    document = Document(file)
    off(document, "tools")
    assert document.save()
    assert json.loads(file.read_bytes())["future"] == {"x": 1.0}
    changed = file.read_bytes()
    assert document.undo() is not None
    document.save()
    assert file.read_bytes() == ODD
    assert document.redo() is not None
    document.save()
    assert file.read_bytes() == changed


def test_undo_of_the_first_edit_of_an_absent_file_removes_it_again(file: Path) -> None:
    document = Document(file)
    off(document, "tools")
    document.save()
    assert file.exists()
    document.undo()
    document.save()
    assert not file.exists()


def test_an_edit_that_changes_nothing_is_no_step(file: Path) -> None:
    document = Document(file)
    assert document.apply("nothing", lambda config: edits.set_enabled(config, "tools", True)) is None
    assert (document.undo_label, document.state) == (None, SaveState.SAVED)


def test_labels_name_what_undo_and_redo_would_do(file: Path) -> None:
    document = Document(file)
    off(document, "tools")
    off(document, "summary")
    assert (document.undo_label, document.redo_label) == ("disable summary", None)
    document.undo()
    assert (document.undo_label, document.redo_label) == ("disable tools", "disable summary")


def test_typing_is_one_step_until_a_pause_or_until_the_field_is_left(file: Path) -> None:
    now = [0.0]
    document = Document(file, clock=lambda: now[0])
    document.apply("mode", lambda config: edits.set_mode(config, "tools", "append", ""))
    for text in ("a", "ab", "abc"):
        document.type_text("tools", text)
        now[0] += 0.5
    now[0] += 5
    document.type_text("tools", "abcd")
    document.end_typing()
    document.type_text("tools", "abcde")

    def text() -> str:
        return document.config.override("tools").customContent or ""

    seen = [text()]
    while document.undo():
        seen.append(text())
    assert seen == ["abcde", "abcd", "abc", "", ""]


@settings(max_examples=60)
@given(situations(), st.lists(st.tuples(st.sampled_from("mtxud"), st.integers(0, 20), st.integers(0, 9)), max_size=12))
def test_any_edits_undone_and_redone_restore_identical_files(
    tmp_path_factory: pytest.TempPathFactory,
    situation: tuple,
    steps: list[tuple[str, int, int]],  # type: ignore[type-arg]
) -> None:
    slots, blocks, config, scripts = situation
    file = tmp_path_factory.mktemp("document") / "generation.writer.json"
    file.write_text(json.dumps(dump_config(config), indent=7) + "\n", "utf-8")
    document = Document(file)
    versions = [file.read_bytes()]
    for kind, which, where in steps:
        rows = arrange(slots, blocks, document.config, scripts, len)
        row = rows[which % len(rows)]
        if kind == "m":
            change = document.apply("move", lambda c: edits.move_block(c, rows, row.key, where))  # noqa: B023
        elif kind == "t":
            change = document.apply("toggle", lambda c: edits.set_enabled(c, row.id, not row.enabled))  # noqa: B023
        elif kind == "d":
            change = document.apply("delete", lambda c: edits.delete_block(c, row.id))  # noqa: B023
        else:
            change = document.apply("text", lambda c: edits.set_text(c, row.id, f"{where}"))  # noqa: B023
        document.save()
        if change is not None:
            versions.append(file.read_bytes())
        # The file always says what the document says.
        assert Document(file).config == document.config
    for expected in reversed(versions[:-1]):
        assert document.undo() is not None
        document.save()
        assert file.read_bytes() == expected
    assert document.undo() is None
    for expected in versions[1:]:
        assert document.redo() is not None
        document.save()
        assert file.read_bytes() == expected


# -- other programs


def test_a_change_by_another_program_is_never_overwritten(file: Path) -> None:
    write(file, b"{}")
    document = Document(file)
    off(document, "tools")
    file.write_bytes(b'{"blockOrder": ["summary"]}')
    with pytest.raises(Conflict):
        document.save()
    assert file.read_bytes() == b'{"blockOrder": ["summary"]}'
    assert document.state is SaveState.CONFLICT
    assert document.config.override("tools").enabled is False
    assert not document.save()


def conflict(file: Path) -> Document:
    write(file, b'{"blockOrder": ["a"], "overrides": {"a": {"order": 1}}}')
    document = Document(file)
    off(document, "tools")
    file.write_bytes(b'{"blockOrder": ["b"], "overrides": {"a": {"order": 2}, "c": {"order": 3}}}')
    with pytest.raises(Conflict):
        document.save()
    return document


def test_keep_mine(file: Path) -> None:
    document = conflict(file)
    document.keep_mine()
    document.save()
    assert json.loads(file.read_bytes())["blockOrder"] == ["a"]
    assert Document(file).config == document.config


def test_take_theirs_and_get_mine_back_with_undo(file: Path) -> None:
    document = conflict(file)
    mine = document.config
    document.take_theirs()
    assert (document.config.blockOrder, document.state) == (("b",), SaveState.SAVED)
    document.undo()
    assert document.config == mine


def test_merge_keeps_both_sides(file: Path) -> None:
    document = conflict(file)
    document.merge()
    document.save()
    config = Document(file).config
    assert config.blockOrder == ("b",)
    assert config.override("tools").enabled is False
    assert (config.override("a").order, config.override("c").order) == (2, 3)


@pytest.mark.parametrize("damaged", [b'{"a', b'{"blockOrder": 3}'])
def test_an_invalid_file_can_only_be_replaced_and_is_kept(file: Path, damaged: bytes) -> None:
    document = conflict(file)
    file.write_bytes(damaged)
    assert document.check_file()
    mine = document.config
    assert document.theirs_fault is not None
    for act in (document.take_theirs, document.merge):
        with pytest.raises(InvalidFile, match="keep yours"):
            act()
        assert (document.config, document.state, document.fault) == (mine, SaveState.CONFLICT, None)
    copy = document.keep_mine()
    assert copy is not None and copy.read_bytes() == damaged
    document.save()
    assert Document(file).config == mine
    document.undo()
    assert document.config.override("tools").enabled is None, "the edits before can still be taken back"


def test_a_merge_puts_the_words_of_one_text_together_and_names_what_met(file: Path) -> None:
    def text(words: str, mode: str = "append") -> bytes:
        return json.dumps({"overrides": {"tools": {"contentMode": mode, "customContent": words}}}).encode()

    write(file, text("One two three."))
    document = Document(file)
    document.type_text("tools", "One two three. MINE")
    file.write_bytes(text("THEIRS One two three."))
    document.check_file()
    assert document.merge() == ()
    assert document.config.override("tools").customContent == "THEIRS One two three. MINE"
    document.save()
    assert document.undo() is not None
    assert document.config.override("tools").customContent == "THEIRS One two three."
    document.redo()
    document.save()
    document.type_text("tools", "THEIRS One 2 three. MINE")
    file.write_bytes(text("THEIRS One TWO three. MINE", "prepend"))
    document.check_file()
    assert document.merge() == ("tools",)
    override = document.config.override("tools")
    assert (override.customContent, override.contentMode) == ("THEIRS One 2 three. MINE", "prepend")


def test_an_outside_change_without_unsaved_edits_is_taken_in_and_undo_leaves_it(file: Path) -> None:
    write(file, b"{}")
    document = Document(file)
    off(document, "tools")
    document.save()
    file.write_bytes(b'{"blockOrder": ["b"], "overrides": {"tools": {"enabled": false}}}')
    assert document.check_file()
    assert (document.config.blockOrder, document.state) == (("b",), SaveState.SAVED)
    assert not document.check_file()
    assert document.undo_label == "disable tools"
    document.undo()
    document.save()
    config = Document(file).config
    assert (config.blockOrder, config.override("tools").enabled) == (("b",), None)
    document.redo()
    document.save()
    assert Document(file).config.override("tools").enabled is False


def test_undo_after_a_merge_takes_back_the_own_edit_and_leaves_the_other_programs(file: Path) -> None:
    document = conflict(file)
    document.merge()
    assert document.undo_label == "disable tools"
    document.undo()
    document.save()
    config = Document(file).config
    assert (config.blockOrder, config.override("tools").enabled, config.override("c").order) == (("b",), None, 3)
    assert document.undo() is None


def test_steps_are_carried_over_outside_changes_when_they_are_gone_to(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many steps are not merged at each change of the file, which would hold the editor up."""
    merges: list[object] = []
    merge = document_module.merge_configs
    monkeypatch.setattr(
        document_module, "merge_configs", lambda *sides, **options: merges.append(sides) or merge(*sides, **options)
    )

    def outside(key: str) -> None:
        value = json.loads(file.read_bytes())
        value["overrides"][key] = {"order": 1}
        file.write_text(json.dumps(value), "utf-8")
        assert document.check_file()

    document = Document(file)
    for n in range(30):
        off(document, f"own-{n}")
    document.save()
    for n in range(5):
        outside(f"early-{n}")
    off(document, "own-30")
    document.save()
    outside("late")
    assert merges == []
    document.undo()
    assert len(merges) == 1, "one step over one change"
    assert {"early-4", "late", "own-29"} <= set(document.config.overrides)
    assert "own-30" not in document.config.overrides
    document.undo()
    assert len(merges) == 3, "one step over the early changes, as one, and over the late one"
    while document.undo() is not None:
        pass
    assert set(document.config.overrides) == {*(f"early-{n}" for n in range(5)), "late"}
    while document.redo() is not None:
        pass
    own = {f"own-{n}" for n in range(31)}
    assert set(document.config.overrides) == {*own, *(f"early-{n}" for n in range(5)), "late"}


def test_an_own_save_seen_early_is_no_outside_change(file: Path) -> None:
    write(file, b"{}")
    document = Document(file)
    off(document, "tools")
    pending = document.pending()
    assert pending is not None
    document.write(pending)
    assert not document.check_file()
    off(document, "summary")
    document.written(pending)
    assert document.state is SaveState.UNSAVED
    document.save()
    assert set(json.loads(file.read_bytes())["overrides"]) == {"tools", "summary"}


def test_a_conflict_that_goes_away_is_none(file: Path) -> None:
    document = conflict(file)
    write(file, b'{"blockOrder": ["a"], "overrides": {"a": {"order": 1}}}')
    assert document.check_file()
    assert document.save()


# -- invalid files


def test_an_invalid_file_is_reported_with_its_line_and_left_alone(file: Path) -> None:
    write(
        file,
        b'{\n "customBlocks": [\n  {"id": "cb-aaaa", "name": "N", "role": "assistant",\n'
        b'   "type": "simple", "content": ""}\n ]\n}',
    )
    data = file.read_bytes()
    document = Document(file)
    assert document.state is SaveState.INVALID
    assert document.fault is not None
    assert (document.fault.field, document.fault.line) == ("customBlocks[0].role", 3)
    with pytest.raises(InvalidFile, match="assistant"):
        off(document, "tools")
    assert not document.save()
    assert file.read_bytes() == data
    copy = document.reset_invalid()
    document.save()
    assert copy.read_bytes() == data
    assert copy.suffix != ".json"
    assert Document(file).config == EMPTY


def test_broken_json_says_the_line(file: Path) -> None:
    write(file, b'{\n "blockOrder": [}\n')
    fault = Document(file).fault
    assert fault is not None
    assert fault.line == 2


def test_a_file_repaired_outside_is_taken_in(file: Path) -> None:
    write(file, b"nonsense")
    document = Document(file)
    write(file, b'{"blockOrder": ["tools"]}')
    assert document.check_file()
    assert (document.fault, document.state, document.config.blockOrder) == (None, SaveState.SAVED, ("tools",))


# -- journal


def reopened(file: Path, journal: Journal) -> Document:
    assert journal.flush()
    return Document(file, journal)


def test_unsaved_edits_come_back_after_a_kill(file: Path, journal: Journal) -> None:
    write(file, b"{}")
    first = Document(file, journal)
    off(first, "tools")
    first.type_text("tools", "half a sentence")
    first.type_text("tools", "half a longer sentence")
    second = reopened(file, journal)
    assert second.recovered
    assert second.config == first.config
    assert second.state is SaveState.UNSAVED
    assert second.undo() is not None
    assert second.config == EMPTY


def test_saved_edits_leave_no_journal(file: Path, journal: Journal) -> None:
    first = Document(file, journal)
    off(first, "tools")
    first.save()
    second = reopened(file, journal)
    assert not second.recovered
    assert list(journal._folder.glob("*.jsonl")) == []


def test_edits_after_a_save_are_journalled_from_that_save(file: Path, journal: Journal) -> None:
    first = Document(file, journal)
    off(first, "tools")
    first.save()
    first.type_text("summary", "x")
    second = reopened(file, journal)
    assert second.state is SaveState.UNSAVED
    assert second.config == first.config


def test_a_journal_whose_file_has_changed_since_is_a_conflict(file: Path, journal: Journal) -> None:
    first = Document(file, journal)
    off(first, "tools")
    journal.flush()
    write(file, b'{"blockOrder": ["b"]}')
    second = reopened(file, journal)
    assert second.state is SaveState.CONFLICT
    assert second.config.override("tools").enabled is False
    second.merge()
    second.save()
    assert second.config.blockOrder == ("b",)


def test_a_torn_last_line_is_left_out(file: Path, journal: Journal) -> None:
    first = Document(file, journal)
    off(first, "tools")
    journal.flush()
    (path,) = journal._folder.glob("*.jsonl")
    with path.open("ab") as stream:
        stream.write(b'{"config": {"overr')
    assert reopened(file, journal).config == first.config


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_text_changes_rebuild_the_text(a: str, b: str, c: str, d: str) -> None:
    from engine.document.journal import text_change

    for old, new in ((a + b + c, a + d + c), (a, b), (a + a, a)):
        start, delete, insert = text_change(old, new)
        assert old[:start] + insert + old[start + delete :] == new
        assert delete <= len(old) - start


@given(situations(), situations(), situations())
def test_merge_laws(one: tuple, two: tuple, three: tuple) -> None:  # type: ignore[type-arg]
    base: BlockConfig = one[2]
    mine: BlockConfig = two[2]
    theirs: BlockConfig = three[2]
    assert merge_configs(base, base, theirs) == (theirs, ())
    assert merge_configs(base, mine, base) == (mine, ())
    assert merge_configs(base, mine, mine) == (mine, ())
    assert isinstance(merge_configs(base, mine, theirs)[0], BlockConfig)


def test_lone_surrogates_survive_the_journal(file: Path, journal: Journal) -> None:
    document = Document(file, journal)
    document.type_text("tools", "half an emoji \ud83d")
    second = reopened(file, journal)
    assert second.config == document.config
    assert disk.dump_json(dump_config(second.config))


@pytest.mark.parametrize("there", [b'{"overrides": {"summary": {"enabled": false}}}', b"{}", None])
def test_a_version_is_restored_to_the_byte_and_undo_takes_that_back(tmp_path: Path, there: bytes | None) -> None:
    file = tmp_path / "writer.json"
    file.write_bytes(b'{"disabledTools": ["editProse"],  "mine": 1}')
    before = file.read_bytes()
    document = Document(file)
    assert document.restore(there, "undo the import") is not None
    assert document.save() and document.state is SaveState.SAVED
    assert (file.read_bytes() if file.exists() else None) == there
    assert document.restore(there, "undo the import") is None
    document.undo()
    document.save()
    assert file.read_bytes() == before
    document.redo()
    document.save()
    assert (file.read_bytes() if file.exists() else None) == there


def test_what_is_no_config_is_not_restored(tmp_path: Path) -> None:
    file = tmp_path / "writer.json"
    file.write_bytes(b"{}")
    document = Document(file)
    with pytest.raises(InvalidFile):
        document.restore(b'{"customBlocks": 7}', "undo the import")
    assert document.state is SaveState.SAVED and document.undo() is None
