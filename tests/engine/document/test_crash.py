"""Killed at any moment: the file is the old or the new one, whole, and the journal has the rest."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given, settings

import engine.document.journal
from engine.blocks import edits
from engine.blocks.config import EMPTY, BlockConfig, parse_config
from engine.disk import dump_json
from engine.document import Document, Journal, SaveState
from engine.document.journal import apply_change, config_change
from tests.engine.blocks.strategies import configs
from tests.stories import custom_block
from tests.thorough import times

ROOT = Path(__file__).parents[3]

# Edits and saves without end; each edit is told on standard output once the journal has it, each save once it is done.
EDITOR = """
import os, sys
from pathlib import Path
import engine.disk as disk
from engine.blocks import edits
from engine.document import Document, Journal
file, state, step = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
if step:
    name, when = step.split(":")
    real = getattr(disk, name)
    def die(*arguments):
        if when == "half":
            handle, data = arguments
            os.write(handle, data[: len(data) // 2])
        if when == "after":
            real(*arguments)
        os._exit(9)
journal = Journal(state)
document = Document(file, journal)
def tell(word):
    os.write(1, (word + "\\n").encode())
for n in range(int(sys.argv[4])):
    block = "cb-crash"
    if n == 0:
        document.apply("mode", lambda config: edits.set_enabled(config, "tools", False))
    document.type_text(block, "x" * 2000 + f" {n}")
    assert journal.flush(20)
    tell(f"typed {n}")
    if n % 5 == 4:
        if step and n > 5:
            setattr(disk, name, die)
        document.save()
        journal.flush(20)
        tell(f"saved {n}")
journal.close()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "agent-blocks" / "generation.writer.json"
    file.parent.mkdir()
    file.write_bytes(dump_json({"customBlocks": [custom_block("cb-crash", "at first")], "future": {"kept": True}}))
    return file


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal"


@pytest.fixture
def journal(state: Path) -> Iterator[Journal]:
    journal = Journal(state)
    yield journal
    journal.close()


def start(file: Path, state: Path, step: str = "", edits: int = 100_000) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(EDITOR), str(file), str(state), step, str(edits)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )


def last(told: list[str], word: str) -> int:
    return max((int(line.split()[1]) for line in told if line.startswith(word)), default=-1)


def number(config: BlockConfig) -> int:
    custom = config.custom("cb-crash")
    assert custom is not None
    return int(custom.content.split()[-1]) if custom.content != "at first" else -1


def check(file: Path, state: Path, told: list[str]) -> None:
    """What there must be after a crash, given what the editor could say before it."""
    typed, saved = last(told, "typed"), last(told, "saved")
    on_disk = parse_config(json.loads(file.read_bytes()))
    assert on_disk.model_extra == {"future": {"kept": True}}
    # The last save that was told of, or a later one that could not tell any more.
    assert saved <= number(on_disk) <= typed + 1
    assert number(on_disk) == -1 or number(on_disk) % 5 == 4
    journal = Journal(state)
    try:
        document = Document(file, journal)
        assert number(document.config) in (typed, typed + 1)
        assert document.state in (SaveState.UNSAVED, SaveState.SAVED)
        document.save()
        assert number(parse_config(json.loads(file.read_bytes()))) == number(document.config)
        assert journal.flush(20)
    finally:
        journal.close()
    assert [path.name for path in state.glob("*.jsonl")] == []


@pytest.mark.parametrize(
    "step",
    [
        "_write:before",
        "_write:half",
        "_write:after",
        "_keep_mode:after",
        "_sync:before",
        "_sync:after",
        "_compare:after",
        "_replace:before",
        "_replace:after",
        "_sync_folder:before",
        "_sync_folder:after",
    ],
)
def test_killed_at_a_step_of_a_save(file: Path, state: Path, step: str) -> None:
    process = start(file, state, step)
    output, _ = process.communicate(timeout=60)
    told = output.decode().splitlines()
    assert process.returncode == 9
    assert (last(told, "saved"), last(told, "typed")) == (4, 9)
    there = number(parse_config(json.loads(file.read_bytes())))
    assert there == (9 if step in ("_replace:after", "_sync_folder:before", "_sync_folder:after") else 4)
    check(file, state, told)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_at_any_moment(file: Path, state: Path) -> None:
    moments = random.Random(20260301)
    for _ in range(12):
        file.write_bytes(dump_json({"customBlocks": [custom_block("cb-crash", "at first")], "future": {"kept": True}}))
        process = start(file, state)
        assert process.stdout is not None
        told = [process.stdout.readline().decode().strip()]
        time.sleep(moments.random() * 0.15)
        os.kill(process.pid, signal.SIGKILL)
        told += process.stdout.read().decode().splitlines()
        process.stdout.close()
        process.wait(20)
        check(file, state, told)


# -- the journal by itself


def texts(document: Document, *versions: str) -> None:
    for version in versions:
        document.type_text("cb-crash", version)


def crashed(journal: Journal, file: Path, state: Path) -> Document:
    """The document as the next session finds it after this one was killed."""
    assert journal.flush(20)
    journal.close()
    other = Journal(state)
    document = Document(file, other)
    assert other.flush(20)
    other.close()
    return document


def lines_of(state: Path) -> list[bytes]:
    (path,) = state.glob("*.jsonl")
    return path.read_bytes().splitlines(keepends=True)


def test_a_journal_cut_anywhere_gives_a_version_that_was(file: Path, state: Path, journal: Journal) -> None:
    document = Document(file, journal)
    versions = ["at first", "a", "ab 🌊", "ab 🌊c", "b 🌊c", "longer\nthan before"]
    texts(document, *versions[1:])
    journal.flush()
    journal.close()
    (path,) = state.glob("*.jsonl")
    whole = path.read_bytes()
    reached = set()
    edits_begin = whole.index(b"\n")
    for length in (*range(0, edits_begin, 40), *range(edits_begin, len(whole) + 1, 2), len(whole)):
        for old in state.glob("*"):
            old.unlink()
        path.write_bytes(whole[:length])
        other = Journal(state)
        found = Document(file, other)
        text = edits.text_of(found.config, "cb-crash")
        assert text in versions
        reached.add(text)
        # What is typed on from there is found again: nothing was put behind a torn line.
        texts(found, "typed on", "typed on and on")
        again = crashed(other, file, state)
        assert edits.text_of(again.config, "cb-crash") == "typed on and on"
    assert reached == set(versions)


def test_a_damaged_line_ends_the_story_until_a_whole_config(file: Path, state: Path, journal: Journal) -> None:
    document = Document(file, journal)
    texts(document, "one", "one two", "one two three")
    journal.flush()
    journal.close()
    (path,) = state.glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[-2] = b'{"text": "cb-crash", "of"\n'
    path.write_bytes(b"".join(lines))
    other = Journal(state)
    assert edits.text_of(Document(file, other).config, "cb-crash") == "one"
    other.close()


def test_a_full_disk_is_said_and_the_journal_mends_itself(
    file: Path, state: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = Document(file, journal)
    texts(document, "one")
    assert journal.flush()
    write = os.write

    def full(handle: int, data: bytes) -> int:
        write(handle, bytes(data)[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(engine.document.journal.os, "write", full)
        texts(document, "one two", "one two three")
        assert journal.flush()
        assert journal.failure == "unsaved edits can't be journalled: No space left on device"
    texts(document, "one two three four")
    assert journal.flush()
    assert journal.failure is None
    assert crashed(journal, file, state).config == document.config


def test_without_a_state_folder_editing_and_saving_go_on(file: Path, tmp_path: Path) -> None:
    (tmp_path / "in-the-way").write_text("", "utf-8")
    journal = Journal(tmp_path / "in-the-way" / "journal")
    document = Document(file, journal)
    texts(document, "one", "two")
    assert journal.flush()
    assert journal.failure is not None
    assert "can't be journalled" in journal.failure
    document.undo()
    document.redo()
    assert document.save()
    assert b"two" in file.read_bytes()
    journal.close()


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_what_is_journalled_is_the_users_own(file: Path, state: Path, journal: Journal) -> None:
    before = os.umask(0)
    try:
        texts(Document(file, journal), "secret", "secrets")
        assert journal.flush()
    finally:
        os.umask(before)
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    files = list(state.iterdir())
    assert len(files) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_long_text_typed_letter_by_letter_stays_small(file: Path, state: Path, journal: Journal) -> None:
    text = "lorem ipsum " * 4000
    file.write_bytes(dump_json({"customBlocks": [custom_block("cb-crash", text)]}))
    document = Document(file, journal)
    middle = len(text) // 2
    for n in range(1, 501):
        document.type_text("cb-crash", text[:middle] + "x" * n + text[middle:])
    assert journal.flush(20)
    head, first, *rest = lines_of(state)
    assert len(head) < 2 * len(text)
    assert len(first) < 2 * len(text)
    assert len(rest) == 499
    assert max(map(len, rest)) < 80
    assert crashed(journal, file, state).config == document.config


def test_structural_edits_of_a_large_config_stay_small(file: Path, state: Path, journal: Journal) -> None:
    blocks = [custom_block(f"cb-{n:04}", f"Text of block {n}. " * 20) for n in range(500)]
    file.write_bytes(dump_json({"customBlocks": blocks, "blockOrder": [block["id"] for block in blocks]}))
    document = Document(file, journal)

    def apply(change: object) -> None:
        document.apply("edit", change)  # type: ignore[arg-type]

    def swapped(config: BlockConfig) -> BlockConfig:
        order = list(config.blockOrder)
        order.insert(3, order.pop(9))
        return config.model_copy(update={"blockOrder": tuple(order)})

    apply(lambda config: edits.set_enabled(config, "cb-0400", False))
    apply(swapped)
    apply(lambda config: edits.set_custom(config, "cb-0100", name="Renamed"))
    apply(lambda config: edits.delete_block(config, "cb-0200"))
    apply(lambda config: edits.set_tool(config, "readFragments", False))
    apply(edits.reset_agent)
    document.undo()
    document.undo()
    document.redo()
    assert journal.flush(20)
    sizes = [len(line) for line in lines_of(state)[1:]]
    small = [size for size in sizes if size < 2000]
    assert len(small) >= 6
    assert crashed(journal, file, state).config == document.config


@settings(max_examples=times(60, 600), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(configs(), configs())
def test_a_change_leads_from_any_config_to_any_other(old: BlockConfig, new: BlockConfig) -> None:
    change = json.loads(json.dumps(config_change(old, new)))
    assert apply_change(old, change) == new
    assert apply_change(EMPTY, json.loads(json.dumps(config_change(EMPTY, new)))) == new


def test_many_documents_have_a_journal_each(tmp_path: Path, state: Path, journal: Journal) -> None:
    documents = [Document(tmp_path / f"agent-{n}.json", journal) for n in range(40)]
    for n, document in enumerate(documents):
        texts(document, f"text {n}", f"text {n} more")
    documents[7].save()
    assert journal.flush(20)
    journal.close()
    other = Journal(state)
    for n, document in enumerate(documents):
        found = Document(document.file, other)
        assert found.recovered == (n != 7)
        assert found.config == document.config
    other.close()


def test_one_document_has_one_journal_however_it_is_named(
    file: Path, state: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = Document(file, journal)
    texts(document, "typed")
    assert journal.flush()
    journal.close()
    monkeypatch.chdir(file.parent)
    other = Journal(state)
    assert Document(Path(file.name), other).config == document.config
    other.close()


def test_a_session_that_runs_keeps_its_journal(file: Path, state: Path, journal: Journal) -> None:
    texts(Document(file, journal), "mine")
    assert journal.flush()
    other = Journal(state)
    document = Document(file, other)
    assert not document.recovered
    texts(document, "another's")
    assert other.flush()
    assert len(list(state.glob("*.jsonl"))) == 2
    other.close()
    # Of two sessions that are gone the latest counts, and the other is there the next time.
    journal.close()
    third = Journal(state)
    found = Document(file, third)
    assert edits.text_of(found.config, "cb-crash") == "another's"
    found.save()
    assert third.flush()
    third.close()
    fourth = Journal(state)
    found = Document(file, fourth)
    assert found.state is SaveState.CONFLICT
    assert edits.text_of(found.config, "cb-crash") == "mine"
    fourth.close()


def test_locks_of_dead_processes_are_removed(file: Path, state: Path, journal: Journal) -> None:
    """Not those of processes that run, that have just started, or that left edits behind."""
    state.mkdir(parents=True)
    for name in ("dead", "running", "starting", "crashed"):
        (state / f"{name}.lock").touch()
        if name != "starting":
            os.utime(state / f"{name}.lock", (1, 1))
    (state / "some-document.crashed.jsonl").touch()
    with FileLock(state / "running.lock"):
        os.utime(state / "running.lock", (1, 1))
        texts(Document(file, journal), "another")
        assert journal.flush()
        kept = {path.stem for path in state.glob("*.lock")} & {"dead", "running", "starting", "crashed"}
    assert kept == {"running", "starting", "crashed"}


def test_unsaved_edits_outlive_a_file_that_was_invalid_for_a_while(file: Path, state: Path, journal: Journal) -> None:
    texts(Document(file, journal), "unsaved")
    good = file.read_bytes()
    assert journal.flush()
    journal.close()
    file.write_bytes(b"{")
    other = Journal(state)
    document = Document(file, other)
    assert document.state is SaveState.INVALID
    file.write_bytes(good)
    assert document.check_file()
    assert document.recovered
    assert edits.text_of(document.config, "cb-crash") == "unsaved"
    other.close()


def test_an_edit_after_closing_is_still_recorded_and_starts_no_thread(
    file: Path, state: Path, journal: Journal
) -> None:
    document = Document(file, journal)
    texts(document, "before")
    journal.close()
    threads = threading.active_count()
    texts(document, "after")
    assert threading.active_count() == threads
    assert crashed(journal, file, state).config == document.config


def test_a_flush_from_a_signal_handler_cannot_lock_itself_out(file: Path, journal: Journal) -> None:
    texts(Document(file, journal), "x")
    with journal._lock:  # as when the signal interrupts the thread that hands an edit over
        assert journal.flush()


def test_a_failed_transaction_leaves_no_trace(file: Path, state: Path, journal: Journal) -> None:
    document = Document(file, journal)
    with pytest.raises(ZeroDivisionError), document.all_or_nothing():
        texts(document, "one", "two")
        raise ZeroDivisionError
    assert (document.state, document.undo_label) == (SaveState.SAVED, None)
    assert not crashed(journal, file, state).recovered


def test_a_failed_transaction_keeps_what_was_unsaved_before(file: Path, state: Path, journal: Journal) -> None:
    document = Document(file, journal)
    texts(document, "before")
    with pytest.raises(ZeroDivisionError), document.all_or_nothing():
        texts(document, "within")
        raise ZeroDivisionError
    assert edits.text_of(document.config, "cb-crash") == "before"
    assert crashed(journal, file, state).config == document.config
