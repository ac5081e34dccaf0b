"""`Document`: one block config, open for editing.

Synchronous and instant; it belongs to the caller's thread. Only `write` touches the disk and may run on another one.
Undo is by states: configs are immutable and share what did not change, so a state costs what an inverse operation would
and restores exactly, down to the bytes of a file that another program formatted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from engine import disk
from engine.blocks.config import EMPTY, BlockConfig, ConfigFault, dump_config, parse_config
from engine.blocks.edits import custom_at, set_text, text_of
from engine.document.journal import Journal
from engine.document.merge import merge_configs
from engine.document.state import SaveState
from engine.errors import InvalidFile, Problem, StonehandError
from engine.json_text import dotted
from engine.text import Phrase

if TYPE_CHECKING:
    from engine.document.by_block import Versions

UNDO_LIMIT = 2_000
REBASED_STEPS = 200
"""Undo steps kept when another program changes the file. Each is carried over when it is gone to, not before."""
TYPING_PAUSE = 2.0
"""Seconds without a key after which further typing is an undo step of its own."""


@dataclass(frozen=True, slots=True)
class _State:
    """One version. `data` is known for versions that came from a file; None there means that there was no file.

    `met` is how many of the document's outside changes it already contains, while it is an undo step.
    """

    config: BlockConfig
    label: str
    from_file: bool = False
    data: bytes | None = None
    met: int = 0

    def bytes(self) -> bytes | None:
        return self.data if self.from_file else disk.dump_json(dump_config(self.config))


@dataclass(frozen=True, slots=True)
class Change:
    """What an edit did: its label, and the undo position it made."""

    label: str
    revision: int


class Pending:
    """A snapshot to be written: `data` (None: no file), and the bytes `expected` of the file it replaces.

    The bytes are made when first asked for, on the thread that writes: for a large config that takes longer than a
    frame.
    """

    def __init__(self, revision: int, state: _State, expected: bytes | None) -> None:
        self.revision = revision
        self.config = state.config
        self.expected = expected
        self._state = state

    @cached_property
    def data(self) -> bytes | None:
        return self._state.bytes()


def read_config(file: Path, data: bytes | None) -> tuple[BlockConfig, Problem | None]:
    """The config in a file, the empty one where there is none; or the empty one and why the file is no valid config."""
    try:
        return (EMPTY if data is None else parse_config(disk.parse_json(data, file))), None
    except InvalidFile as error:
        return EMPTY, error.problem
    except ConfigFault as fault:
        line = disk.json_line((data or b"").decode("utf-8", "replace"), fault.path)
        return EMPTY, Problem(fault.reason, file, dotted(fault.path), line, "repair the file or reset it")


class Document:
    """The block config of one agent and branch.

    Raises `StonehandError` when the file can't be read at all. A file that is no valid config sets `fault` instead:
    the config shown is the empty one and edits raise `InvalidFile`.

    `locate` says where the file lies now, for one that can be moved while it is open (a story of the old layout is
    given branches by whichever program writes first); `name` is what it is journalled under, wherever it lies.
    """

    def __init__(
        self,
        file: Path,
        journal: Journal | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        locate: Callable[[], Path] | None = None,
        name: Path | None = None,
    ) -> None:
        self.file = file
        self._journal = journal
        self._clock = clock
        self._locate = locate
        self._name = name or file
        self.fault: Problem | None = None
        self.theirs: bytes | None = None
        """In a conflict, what the file holds now."""
        self.state = SaveState.SAVED
        self.revision = 0
        self.opened: BlockConfig
        """The config as the file held it when it was opened."""
        self.recovered = False
        """Whether edits of an earlier session that never reached the file were restored."""
        self._past: list[_State] = []
        self._future: list[_State] = []
        self._outside: list[tuple[BlockConfig, BlockConfig]] = []
        self._typing: tuple[str, float] | None = None
        self._in_flight: list[Pending] = []
        self._read_last: bytes | None = None
        self._repeated: tuple[bytes, tuple[Problem, ...]] | None = None
        self._saved = disk.read_bytes(file)
        self._now = self._read(self._saved)
        self._base = self._valid = self.opened = self._now.config
        self._recover()

    # -- reading

    @property
    def config(self) -> BlockConfig:
        return self._now.config

    @property
    def saved_config(self) -> BlockConfig:
        """The config as the file holds it: in a conflict the other program's, unless that is no valid one."""
        if self.state is SaveState.CONFLICT:
            theirs, fault = read_config(self.file, self.theirs)
            if fault is None:
                return theirs
        return self._base

    @property
    def saving(self) -> bool:
        """Whether a snapshot is on its way to the file."""
        return bool(self._in_flight)

    @property
    def undo_label(self) -> str | None:
        """What `undo` would take back, or None."""
        return self._now.label if self._past else None

    @property
    def redo_label(self) -> str | None:
        """What `redo` would do again, or None."""
        return self._future[-1].label if self._future else None

    @property
    def repeated_keys(self) -> tuple[Problem, ...]:
        """Keys that stand in an object of the file twice: the next save drops all but the last of each."""
        if self._saved is None or self._saved is not self._read_last:
            return ()  # what we wrote has none
        if self._repeated is None or self._repeated[0] is not self._saved:
            self._repeated = (self._saved, disk.repeated_keys(self.file, self._saved))
        return self._repeated[1]

    # -- editing

    def apply(
        self, label: str, edit: Callable[[BlockConfig], BlockConfig], *, typing: str | None = None
    ) -> Change | None:
        """Edit the config. None when the edit changed nothing.

        `typing` names what is being typed into: changes of the same name without a pause are one undo step. Raises
        `InvalidFile` while the file is invalid.
        """
        before = self._now.config
        started = self._edit(label, edit, typing)
        if started is None:
            return None
        self._record(started, before)
        return Change(label, self.revision)

    def type_text(self, key: str, text: str) -> Change | None:
        """Set a block's text as it is typed; journalled by its difference, undone by stretches of typing."""
        before = self._now.config
        old = text_of(before, key)
        if old == text:
            return None
        custom = custom_at(before, key)
        label = Phrase("edited {name}", name=custom.name if custom is not None else key)
        started = self._edit(label, lambda config: set_text(config, key, text), key)
        if started is None:
            return None
        if started or self._journal is None:
            self._record(started, before)
        else:
            self._journal.typed(self._name, key, old, text, self._now.config)
        return Change(label, self.revision)

    def end_typing(self) -> None:
        """The next change of text is a new undo step (the field was left)."""
        self._typing = None

    def undo(self) -> Change | None:
        """Take the last edit back; None when there is none."""
        return self._step(self._past, self._future, "undo")

    def redo(self) -> Change | None:
        """Do the edit again that was taken back last; None when there is none."""
        return self._step(self._future, self._past, "redo")

    def restore(self, data: bytes | None, label: str) -> Change | None:
        """Go to a version as a file held it, to the byte, as one step that undo takes back (None: no file).

        Raises `InvalidFile` for one that is no valid config, and while the file is invalid.
        """
        config, fault = read_config(self.file, data)
        if fault is not None:
            raise InvalidFile.of(fault)
        before = self._now
        started = self._edit(label, lambda _: config, None)
        if started is None and before.bytes() == data:
            return None
        if started is None:  # it says the same in other bytes
            self._past.append(self._kept(before))
            self._future.clear()
            started = self._become(before)
        self._now = _State(config, label, from_file=True, data=data)
        self._record(started, before.config)
        return Change(label, self.revision)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Edits made inside are taken back, and are no undo steps, when an exception leaves it."""
        now, state, steps, future = self._now, self.state, list(self._past), list(self._future)
        try:
            yield
        except BaseException:
            if self._now is not now:
                before = self._now.config
                self._now, self.state, self._past, self._future = now, state, steps, future
                self._typing = self.theirs = None
                self.revision += 1
                if state is SaveState.SAVED:
                    self._clean()
                else:
                    self._record(False, before)
            raise

    # -- saving

    def pending(self) -> Pending | None:
        """What has to be written, or None when nothing has or a conflict or invalid file forbids it.

        Further edits may be taken while an earlier snapshot is still on its way: written in order, each expects the
        file as the one before leaves it.
        """
        if self.state is not SaveState.UNSAVED:
            return None
        if self._in_flight and self._in_flight[-1].revision == self.revision:
            return None
        last = self._in_flight[-1].data if self._in_flight else self._saved
        if self._now.from_file and self._now.data == last:
            if not self._in_flight:
                self._clean()
            return None
        pending = Pending(self.revision, self._now, last)
        self._in_flight.append(pending)
        return pending

    def write(self, pending: Pending, file: Path | None = None) -> None:
        """Write a snapshot, to `file` when its place has moved; may run on another thread.

        Raises `Conflict` when the file is not what was loaded.
        """
        file = file or self.file
        if pending.data == pending.expected:
            return
        if pending.data is not None:
            disk.write_atomic(file, pending.data, expected=pending.expected)
        elif pending.expected is not None:
            disk.remove_file(file, expected=pending.expected)

    def written(self, pending: Pending, file: Path | None = None) -> None:
        """A snapshot reached the file, or `file` when its place has moved. Told twice, or late, it changes nothing."""
        if pending not in self._in_flight:
            return
        self.file = file or self.file
        del self._in_flight[: self._in_flight.index(pending) + 1]
        self._saved = pending.data
        self._base = pending.config
        if pending.revision == self.revision:
            self._clean()
        elif self.state is SaveState.UNSAVED:
            self._record(True)

    def not_written(self, pending: Pending | None = None) -> None:
        """A snapshot (left out: each on its way) did not reach the file: see why, which may be a conflict."""
        self._in_flight = [other for other in self._in_flight if pending is not None and other != pending]
        with suppress(StonehandError):  # the failed write has said why
            self.check_file()

    def save(self) -> bool:
        """Write now, on this thread. True when the file was written; raises `Conflict` and `StonehandError`."""
        pending = self.pending()
        if pending is None:
            return False
        try:
            self.write(pending)
        except StonehandError:
            self.not_written(pending)
            raise
        self.written(pending)
        return True

    # -- other programs

    def check_file(self) -> bool:
        """Look at the file again; True when another program changed it.

        Without unsaved edits its content becomes the document, and undo goes on to take back the own edits alone; with
        them the state becomes `CONFLICT`, and `keep_mine`, `take_theirs` or `merge` decides. Where the file is gone,
        undo brings all that was in it back.
        """
        if self._locate is not None:
            self.file = self._locate()
        data = disk.read_bytes(self.file)
        if any(data == pending.data for pending in self._in_flight):
            return False  # our own save, seen before it was acknowledged
        if self.state is SaveState.CONFLICT and data == self.theirs:
            return False
        if data == self._saved:
            if self.state is not SaveState.CONFLICT:
                return False
            self.theirs, self.state = None, SaveState.UNSAVED
            return True
        if self.state in (SaveState.UNSAVED, SaveState.CONFLICT):
            self.theirs, self.state = data, SaveState.CONFLICT
            return True
        gone = data is None and self.state is SaveState.SAVED
        self._adopt(data, "deleted by another program" if gone else None)
        return True

    @property
    def is_gone(self) -> bool:
        """Whether the file was not there when it was last looked at."""
        return self._saved is None

    @property
    def theirs_fault(self) -> Problem | None:
        """In a conflict, what makes the file no valid config, so that only `keep_mine` can settle it; else None."""
        if self.state is not SaveState.CONFLICT:
            return None
        return read_config(self.file, self.theirs)[1]

    def keep_mine(self) -> Path | None:
        """Settle a conflict: the next save replaces what the file holds now.

        An invalid file is kept as a copy, which is returned.
        """
        copy = self._keep_copy(self.theirs) if self.theirs_fault is not None and self.theirs is not None else None
        self._settle()
        self.revision += 1
        self._record(True)
        return copy

    def take_theirs(self) -> None:
        """Settle a conflict: the file's content becomes the document; undo brings the own edits back.

        Raises `InvalidFile` when that is no valid config; the conflict stays.
        """
        data = self._valid_theirs()[0]
        self._settle()
        self._adopt(data, "took the file's version")

    def merge(self) -> tuple[str, ...]:
        """Settle a conflict: the file's content with the own edits on top. Undo takes the own edits back and leaves the
        other program's.

        Returns where both changed the same thing, so that the own change stands alone: ids of blocks, or keys. Raises
        `InvalidFile` when the file is no valid config; the conflict stays.
        """
        other = self._valid_theirs()[1]
        self._settle()
        self._rebase(self._base, other)
        merged, clashes = merge_configs(self._base, self._now.config, other)
        self._become(_State(merged, self._now.label))
        self._base = other
        self._record(True)
        return clashes

    def versions(self) -> Versions:
        """In a conflict, the versions of which one, or some of each, is to be chosen.

        Raises `InvalidFile` when the file is no valid config.
        """
        from engine.document.by_block import Versions  # a conflict is rare

        return Versions(self._base, self._now.config, self._valid_theirs()[1])

    def let_go(self) -> None:
        """Give unsaved edits up, for a file whose place is gone: they are no longer recorded, nor will be written."""
        self.theirs, self._in_flight = None, []
        self._saved, self._base = None, self._now.config
        self._clean()

    def reset_invalid(self) -> Path:
        """Replace an invalid file by the empty config at the next save; returns the copy kept of it."""
        data = disk.read_bytes(self.file)
        copy = self._keep_copy(data or b"")
        self._saved, self.fault, self.state = data, None, SaveState.SAVED
        self._base = EMPTY
        self._record(self._become(_State(EMPTY, "reset")))
        return copy

    # -- inside

    def _valid_theirs(self) -> tuple[bytes | None, BlockConfig]:
        config, fault = read_config(self.file, self.theirs)
        if fault is not None:
            raise InvalidFile.of(fault, "keep yours, or repair the file first")
        return self.theirs, config

    def _keep_copy(self, data: bytes) -> Path:
        copy = self.file.with_name(f"{self.file.name}.invalid-{datetime.now():%Y%m%d-%H%M%S}")
        disk.write_atomic(copy, data)
        return copy

    def _editable(self) -> None:
        if self.fault is not None:
            raise InvalidFile.of(self.fault, "repair the file or reset it; it is left as it is until then")

    def _continues(self, typing: str | None) -> bool:
        now = self._clock()
        before, self._typing = self._typing, None if typing is None else (typing, now)
        return before is not None and before[0] == typing and now - before[1] < TYPING_PAUSE and bool(self._past)

    def _edit(self, label: str, edit: Callable[[BlockConfig], BlockConfig], typing: str | None) -> bool | None:
        """Edit without journalling. None: nothing changed; else whether this was the first unsaved edit."""
        self._editable()
        config = edit(self._now.config)
        if config == self._now.config:
            return None
        if not self._continues(typing):
            self._past.append(self._kept(self._now))
            del self._past[:-UNDO_LIMIT]
        self._future.clear()
        return self._become(_State(config, label))

    def _become(self, state: _State) -> bool:
        """Make a version the present one; whether it is the first that is not saved."""
        first = self.state is SaveState.SAVED
        self._now = state
        self.revision += 1
        if first:
            self.state = SaveState.UNSAVED
        return first

    def _record(self, first: bool, before: BlockConfig | None = None) -> None:
        """Journal the present version: from the saved one on at the `first` edit, else by its difference."""
        if self._journal is None:
            return
        if first or before is None:
            self._journal.begin(self._name, self._saved, self._base, self._now.config)
        else:
            self._journal.edited(self._name, before, self._now.config)

    def _clean(self) -> None:
        self.state = SaveState.SAVED
        if self._journal is not None:
            self._journal.end(self._name)

    def _step(self, source: list[_State], target: list[_State], verb: str) -> Change | None:
        self._editable()
        self._typing = None
        if not source:
            return None
        label = self._now.label if verb == "undo" else source[-1].label
        before = self._now.config
        target.append(self._kept(self._now))
        self._record(self._become(self._carried(source.pop())), before)
        said = "undone: {label}" if verb == "undo" else "done again: {label}"
        return Change(Phrase(said, label=label), self.revision)

    def _kept(self, state: _State) -> _State:
        """A version as an undo step, which contains every outside change so far."""
        return replace(state, met=len(self._outside))

    def _carried(self, step: _State) -> _State:
        """An undo step as the version to go to: the own edits of it, on top of what other programs changed since."""
        config = step.config
        for before, after in self._outside[step.met :]:
            config = merge_configs(before, config, after)[0]
        return step if config is step.config else _State(config, step.label)

    def _rebase(self, before: BlockConfig, after: BlockConfig) -> None:
        """Another program changed `before` to `after`: undo and redo go on to mean the own edits, on top of it.

        The steps are carried over one by one when they are gone to: all at once takes longer than a person waits.
        """
        self._past, self._future = self._past[-REBASED_STEPS:], self._future[-REBASED_STEPS:]
        steps = (*self._past, *self._future)
        if not steps:
            self._outside.clear()
            return
        if self._outside and self._outside[-1][1] is before and all(step.met < len(self._outside) for step in steps):
            # Nothing was edited in between: the two changes are one.
            before = self._outside.pop()[0]
        self._outside.append((before, after))
        gone = min(step.met for step in steps)
        if gone:
            del self._outside[:gone]
            self._past = [replace(step, met=step.met - gone) for step in self._past]
            self._future = [replace(step, met=step.met - gone) for step in self._future]

    def _adopt(self, data: bytes | None, label: str | None = None) -> None:
        """Take the file's content as the document: with a label as an undoable step, else below the steps there are."""
        before, was_invalid = self._now, self.state is SaveState.INVALID
        if not was_invalid:
            self._valid = before.config
        self._typing = None
        self._now = self._read(data, label or before.label)
        self._saved, self._base = data, self._now.config
        self.revision += 1
        if self.fault is None:
            self.state = SaveState.SAVED
            if label is not None and before.config != self._now.config:
                self._past.append(self._kept(before))
                self._future.clear()
            elif self._valid != self._now.config:
                self._rebase(self._valid, self._now.config)
        if was_invalid:
            self._recover()  # while the file was invalid nothing could be made of unsaved edits
        elif self._journal is not None:
            self._journal.end(self._name)

    def _settle(self) -> None:
        self._saved, self.theirs, self.state = self.theirs, None, SaveState.UNSAVED

    def _read(self, data: bytes | None, label: str = "open") -> _State:
        config, self.fault = read_config(self.file, data)
        self._read_last = data
        if self.fault is not None:
            self.state = SaveState.INVALID
        return _State(config, label, from_file=True, data=data)

    def _recover(self) -> None:
        if self._journal is None or self.fault is not None:
            return
        found = self._journal.recover(self._name, self._saved)
        if found is None:
            return
        if found.config == self._now.config:
            self._journal.end(self._name)
            return
        self.recovered = True
        self._past.append(self._kept(self._now))
        self._now = _State(found.config, "edits of the last session")
        self.revision += 1
        self.state = SaveState.UNSAVED
        if not found.base_matches:
            self._base = found.base
            self.theirs, self.state = self._saved, SaveState.CONFLICT
