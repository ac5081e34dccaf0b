"""Carrying repairs out: each touched file is copied to the backups first, compared, and replaced in one step."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engine import disk
from engine.doctor.finding import Repair
from engine.errors import Conflict, Problem, StonehandError


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of repairs: those done, why others could not be, and the folder of backups (None: none needed)."""

    done: tuple[Repair, ...]
    failed: tuple[Problem, ...]
    backup: Path | None


def repair(repairs: Iterable[Repair], backups: Path, data: Path, *, shared: bool = True) -> Repaired:
    """Carry repairs out, file by file; a file that can't be repaired is left as it is and the others go on.

    Copies of all touched files are put below a new folder of `backups`, under their places in the data folder `data`.
    A file that has changed since it was examined is left alone. Files that are not `shared` with other programs are not
    locked. Raises nothing: failures are in the result.
    """
    by_file: dict[Path, list[Repair]] = {}
    moves: list[Repair] = []
    for item in repairs:
        if item.act is not None:
            moves.append(item)
        else:
            by_file.setdefault(item.file, []).append(item)
    place = _Backup(backups, data)
    done: list[Repair] = []
    failed: list[Problem] = []
    for file, items in by_file.items():
        try:
            done += _edit(file, items, place, shared)
        except StonehandError as error:
            failed.append(error.problem)
    # Whole folders last: files move with them.
    for item in sorted(moves, key=lambda item: item.file.is_dir()):
        try:
            _act(item, place)
            done.append(item)
        except StonehandError as error:
            failed.append(error.problem)
    return Repaired(tuple(done), tuple(failed), place.folder)


def _edit(file: Path, repairs: list[Repair], backup: _Backup, shared: bool) -> list[Repair]:
    with disk.lock(file) if shared else nullcontext():
        before = after = disk.read_bytes(file)
        done = []
        for item in repairs:
            if item.seen is not ... and item.seen != before:
                raise Conflict("has changed since it was examined, so it is left alone", file=file, repair="look again")
            assert item.edit is not None
            after = item.edit(after)
            done.append(item)
        if after == before:
            return done
        if before is not None:
            backup.keep_file(file, before)
        if after is not None:
            disk.write_atomic(file, after, expected=before)
        elif before is not None:
            disk.remove_file(file, expected=before)
        return done


def _act(item: Repair, backup: _Backup) -> None:
    assert item.act is not None
    if item.file.is_dir():
        backup.keep_folder(item.file)
    elif (data := disk.read_bytes(item.file)) is not None:
        backup.keep_file(item.file, data)
    try:
        item.act()
    except OSError as error:
        raise StonehandError(f"can't be repaired: {error.strerror or error}", file=item.file) from None


class _Backup:
    """The folder of one repair's backups, made when the first file is kept."""

    def __init__(self, parent: Path, data: Path) -> None:
        self.folder: Path | None = None
        self._parent = parent
        self._data = data

    def keep_file(self, file: Path, data: bytes) -> None:
        disk.write_atomic(self._place(file), data)

    def keep_folder(self, folder: Path) -> None:
        try:
            shutil.copytree(folder, self._place(folder), symlinks=True, dirs_exist_ok=True)
        except OSError as error:  # also shutil.Error
            raise StonehandError(f"can't be copied to the backups: {error.strerror or error}", file=folder) from None

    def _place(self, path: Path) -> Path:
        try:
            inside = path.relative_to(self._data)
        except ValueError:
            inside = Path(path.name)
        return self._made() / inside

    def _made(self) -> Path:
        if self.folder is not None:
            return self.folder
        now = f"{datetime.now():%Y%m%d-%H%M%S}"
        try:
            self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for number in range(1, 1000):
                folder = self._parent / (now if number == 1 else f"{now}-{number}")
                try:
                    folder.mkdir(mode=0o700)
                except FileExistsError:
                    continue
                self.folder = folder
                return folder
        except OSError as error:
            raise StonehandError(
                f"can't be written: {error.strerror or error}", file=self._parent, repair="nothing was repaired"
            ) from None
        raise StonehandError("holds too many backups of this second", file=self._parent, repair="try again")
