"""Bytes on disk: guarded paths, atomic writes, JSON as the reference writes it, reads cached by file stamp.

Everything the engine reads or writes passes through here. Sources: spec context-blocks, sections 1.2 (how
files are written) and 15 (bugs 3, 6, 7, 13, 14, 30, 31, which this module exists to avoid).
"""

from __future__ import annotations

import codecs
import gc
import hashlib
import json
import math
import os
import random
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from types import EllipsisType, MappingProxyType
from typing import Any, Final, Generic, NoReturn, TypeVar

from engine.errors import Conflict, InvalidFile, Problem, StonehandError, WrongInput
from engine.json_text import TOKEN, bad_number, dotted, repeated_key_places, unquoted
from engine.text import Phrase

T = TypeVar("T")

LOCK_TIMEOUT: Final = 10.0
"""Seconds a writer waits for another one of ours."""
LOCK_POLL: Final = 0.005
"""Seconds between two looks at a lock that is taken: a save takes a few milliseconds."""

_BINARY: Final[int] = getattr(os, "O_BINARY", 0)
_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_RANDOM: Final = random.SystemRandom()


def child(root: Path, *parts: str) -> Path:
    """The path of `parts` below `root`, each of which must be one plain name.

    Returns the path unresolved. Raises `WrongInput` naming the part that is no plain name (spec, bug 3: ids and names
    from files are never trusted as paths), `StonehandError` where a link leads out of `root`.
    """
    for part in parts:
        if not _is_plain_name(part):
            raise WrongInput(
                Phrase("{part!r} can't be used as a file name", part=part), repair="use one plain name, without slashes"
            )
    path = root.joinpath(*parts)
    try:
        real, real_root = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    except OSError as error:
        raise StonehandError(Phrase("can't be reached: {reason}", reason=_reason(error)), file=path) from None
    if real != real_root and real_root not in real.parents:
        raise StonehandError(Phrase("leads out of {root} through a link", root=root), file=path, repair=_LINK_REPAIR)
    return path


def _is_plain_name(part: str) -> bool:
    if part in ("", ".", "..") or any(char in part for char in "/\\\0") or PureWindowsPath(part).drive:
        return False
    try:
        os.fsencode(part)
    except UnicodeEncodeError:  # a lone surrogate, from a JSON escape
        return False
    if os.name == "nt":
        return not (PureWindowsPath(part).is_reserved() or part[-1] in ". " or any(c in part for c in '<>:"|?*'))
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(Phrase("{name} is not a JSON number", name=name))


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(
            Phrase("the number {number} is too large", number=text if len(text) <= 20 else f"{text[:19]}…")
        )
    return value


_SAFE_DIGITS: Final = 308
"""Every integer of so many digits is a finite number in JavaScript, which knows no other kind."""


def _integer(text: str) -> int:
    if len(text) > _SAFE_DIGITS:
        _finite(text)
    return int(text)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer)


def parse_json(data: bytes, file: Path) -> Any:
    """The JSON value in `data`; a byte order mark is accepted, of a repeated key the last counts.

    Raises `InvalidFile` with `file` and the line, for anything that is not UTF-8 or not JSON; NaN and numbers that
    JavaScript reads as infinite are not, however they are written, and the field they are in is named.
    """
    if not data:
        raise InvalidFile("is empty", file=file, repair="restore it from a backup, or delete it")
    text = ""
    try:
        text = str(data.removeprefix(codecs.BOM_UTF8), "utf-8")
        return _DECODER.decode(text)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidFile("is not UTF-8 text", file=file, line=line, repair="save it as UTF-8") from None
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:].removesuffix(" starting at")
        reason = Phrase("is not valid JSON: {what} at column {column}", what=Phrase.of(what), column=error.colno)
        raise InvalidFile(reason, file=file, line=error.lineno, repair="repair it in a text editor") from None
    except RecursionError:
        raise InvalidFile("is nested too deeply to be read", file=file) from None
    except ValueError as error:  # from the hooks for numbers
        raise _bad_number(text, file, error) from None


def _bad_number(text: str, file: Path, error: ValueError) -> InvalidFile:
    place = bad_number(text)
    field, line = ("", None) if place is None else (dotted(place.path), place.line)
    reason = Phrase("is not valid JSON: {error}", error=error.args[0])
    return InvalidFile(reason, file=file, field=field, line=line, repair="repair it in a text editor")


def repeated_keys(file: Path, data: bytes) -> tuple[Problem, ...]:
    """What a JSON file says that nobody reads: each key that stands in its object more than once, at its line.

    As in JavaScript the last one counts, and what is written again has that alone. Nothing for what is no JSON.
    """
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    return tuple(
        Problem(
            Phrase(
                "the key {key} stands in one object more than once; only the last one counts, and whatever writes the "
                "file again drops the others",
                key=place.word,
            ),
            file,
            dotted(place.path),
            place.line,
            "keep the one that is meant, in a text editor",
        )
        for place in repeated_key_places(text)
    )


def refuse_loss(file: Path, data: bytes | None) -> None:
    """Stop before the document in a JSON file (`data`; None: there is no file) is written again with a key less.

    Raises `InvalidFile` for the first key that stands in its object more than once: only its last value was read.
    """
    for lost in repeated_keys(file, data or b""):
        raise InvalidFile.of(lost, "nothing was written; keep the one that is meant, in a text editor")


def json_value(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that starts at `at`, whatever comes after it, and its end; None and `at` where there is none."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at
    return value, end


def json_line(text: str, path: Sequence[str | int]) -> int | None:
    """The 1-based line at which the value at `path` starts in a JSON text.

    Where the path is missing, the line of its deepest ancestor that is there; None when there is no value
    at all.
    """
    at = _value_start(text, 0)
    if at is None:
        return None
    for part in path:
        inner = _member_start(text, at, part)
        if inner is None:
            break
        at = inner
    return text.count("\n", 0, at) + 1


def _value_start(text: str, at: int) -> int | None:
    token = TOKEN.search(text, at)
    return token.start() if token else None


def _member_start(text: str, at: int, part: str | int) -> int | None:
    """Where the member `part` of the object or list at `at` starts; of a repeated key the last, as when
    parsing.
    """
    opening = text[at]
    if opening != ("{" if isinstance(part, str) else "["):
        return None
    depth, index, key = 0, -1, ""
    expects_value = False
    found: int | None = None
    for token in TOKEN.finditer(text, at):
        word = token.group()
        if depth == 1 and expects_value and word not in ("}", "]"):
            expects_value = False
            index += 1
            if part == (key if opening == "{" else index):
                found = token.start()
        if depth == 1 and word[0] == '"':
            key = unquoted(word)
        elif word in ("{", "["):
            depth += 1
            expects_value = expects_value or (depth == 1 and opening == "[")
        elif word in ("}", "]"):
            depth -= 1
            if depth == 0:
                break
        elif depth == 1 and word == (":" if opening == "{" else ","):
            expects_value = True
    return found


def dump_json(value: Any) -> bytes:
    """A JSON value as the reference writes it: two spaces, UTF-8, no final newline, keys in their order, 1
    for 1.0.

    Lone surrogates are escaped, as JavaScript does. Raises `ValueError` for NaN and infinities.
    """
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")


def compact_json(value: Any) -> str:
    """A JSON value on one line, for handing to a script."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one state of a file from another without reading it: modification time (ns), size (bytes),
    inode.
    """

    mtime_ns: int
    size: int
    inode: int


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file, or None when there is none. Raises `StonehandError` when it can't be looked at."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise StonehandError(Phrase("can't be read: {reason}", reason=_reason(error)), file=path) from None
    return Stamp(found.st_mtime_ns, found.st_size, found.st_ino)


def read_bytes(path: Path) -> bytes | None:
    """The content of a file, or None when there is none. Raises `StonehandError` when it can't be read."""
    try:
        found = path.stat()
        # A FIFO or device would keep the reader waiting for ever.
        if not stat.S_ISREG(found.st_mode):
            raise StonehandError("is not a regular file", file=path)
        return _read(os.fspath(path), found.st_size)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise StonehandError(Phrase("can't be read: {reason}", reason=_reason(error)), file=path) from None


def read_json(path: Path) -> Any | None:
    """The JSON value in a file, or None when there is no file. Raises as `read_bytes` and `parse_json`."""
    data = read_bytes(path)
    return None if data is None else parse_json(data, path)


def _read(path: str, size: int) -> bytes:
    """The whole file, which was `size` bytes long a moment ago. Half the cost of `open` where files are
    many.
    """
    handle = os.open(path, os.O_RDONLY | _BINARY)
    try:
        data = os.read(handle, size + 1)
        if len(data) == size:
            return data
        rest = [data]
        while data:
            data = os.read(handle, 1 << 20)
            rest.append(data)
        return b"".join(rest)
    finally:
        os.close(handle)


def _reason(error: Exception) -> Phrase:
    text = getattr(error, "strerror", None) or str(error)
    return Phrase.of(text[:1].lower() + text[1:])


def write_atomic(
    path: Path, data: bytes, *, expected: bytes | EllipsisType | None = ..., mode: int | None = None
) -> None:
    """Replace a file by `data` in one step, making its folder if need be.

    A crash at any moment leaves the old file or the new one. The file is compared with `expected` (None:
    there must be none; left out: not compared) just before it is replaced; when they differ `Conflict` is
    raised and nothing is overwritten. The file gets the permissions `mode`; left out, those of an existing
    file are kept. A link stays a link. Raises `StonehandError` when it can't be written.
    """
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    temp = target.with_name(_temp_name(target.name))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666 if mode is None else mode)
    except OSError as error:
        raise StonehandError(Phrase("can't be written: {reason}", reason=_reason(error)), file=path) from None
    try:
        try:
            _write(handle, data)
            if mode is None:
                _keep_mode(handle, target)
            elif os.name == "posix":
                os.fchmod(handle, mode)  # whatever the umask took away
            _sync(handle)
        finally:
            os.close(handle)
        if not isinstance(expected, EllipsisType):
            _compare(target, expected)
        _replace(temp, target)
    except OSError as error:
        _discard(temp)
        raise StonehandError(Phrase("can't be written: {reason}", reason=_reason(error)), file=path) from None
    except BaseException:
        _discard(temp)
        raise
    _sync_folder(target.parent)


def remove_file(path: Path, *, expected: bytes) -> None:
    """Delete a file that still holds `expected`. Raises `Conflict` when it does not, or is gone already."""
    _compare(path, expected)
    try:
        path.unlink()
    except OSError as error:
        raise StonehandError(Phrase("can't be deleted: {reason}", reason=_reason(error)), file=path) from None
    _sync_folder(path.parent)


def _compare(path: Path, expected: bytes | None) -> None:
    found = read_bytes(path)
    if found == expected:
        return
    what = Phrase("created" if expected is None else "deleted" if found is None else "changed")
    raise Conflict(
        Phrase("was {what} by another program; nothing was overwritten", what=what),
        file=path,
        repair="load it again or merge",
    )


def _temp_name(name: str) -> str:
    suffix = "".join(_RANDOM.choice(_BASE36) for _ in range(6))
    return f"{name}.tmp-{base36(time.time_ns() // 1_000_000)}-{suffix}"


def base36(number: int) -> str:
    """A natural number in digits and lower-case letters, as JavaScript's `toString(36)`."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _BASE36[digit] + digits
    return digits or "0"


# The steps of a write, named so that a test can end the process between any two of them.


def _write(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _sync(handle: int) -> None:
    os.fsync(handle)


def _replace(temp: Path, target: Path) -> None:
    temp.replace(target)


def _sync_folder(folder: Path) -> None:
    # The new name is in place; where folders can't be synced it only becomes durable a little later.
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _keep_mode(handle: int, target: Path) -> None:
    if os.name == "posix":
        with suppress(FileNotFoundError):
            os.fchmod(handle, stat.S_IMODE(target.stat().st_mode))


def _discard(temp: Path) -> None:
    with suppress(OSError):
        temp.unlink()


@contextmanager
def lock(path: Path, within: Path | None = None) -> Iterator[None]:
    """Hold the right to write `path` against every other process of this machine; threads of one process wait
    as well.

    Two locks are held: a file in the user's state folder, and, where the system can lock a folder, `within`, by
    default the one that `path` lies in, which also keeps out processes with another state folder and leaves nothing
    of ours beside the user's files. A folder that is not there or can't be locked has the first alone. Programs on
    other machines and Errata are not kept out: it is `write_atomic` that keeps their changes, by comparing. Raises
    `StonehandError` after ten seconds.
    """
    with _lock_of_state(path), _lock_of_folder(within or path.parent, path):
        yield


@contextmanager
def _lock_of_state(path: Path) -> Iterator[None]:
    import filelock

    from engine.folders import state_folder

    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    folder = state_folder() / "locks"
    holder = filelock.FileLock(folder / f"{name}.lock", timeout=LOCK_TIMEOUT)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        holder.acquire(poll_interval=LOCK_POLL)
    except filelock.Timeout:
        raise _held_too_long(path) from None
    except OSError:
        yield
        return
    try:
        yield
    finally:
        holder.release()


class _Held(threading.local):
    """The folders that this thread has locked, by device and inode."""

    def __init__(self) -> None:
        self.folders: set[tuple[int, int]] = set()


_held = _Held()


@contextmanager
def _lock_of_folder(place: Path, path: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows, where a folder can't be locked
        yield
        return
    try:
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield
        return
    try:
        status = os.fstat(handle)
        folder = (status.st_dev, status.st_ino)
        if folder in _held.folders:
            yield
            return
        deadline = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise _held_too_long(path) from None
                time.sleep(LOCK_POLL)
                continue
            except OSError:  # a file system without such locks
                yield
                return
            break
        _held.folders.add(folder)
        try:
            yield
        finally:
            _held.folders.discard(folder)
    finally:
        os.close(handle)  # which also lets go of the lock


def _held_too_long(path: Path) -> StonehandError:
    return StonehandError(
        Phrase(
            "is being written by another Stonehand for more than {lock_timeout:g} seconds", lock_timeout=LOCK_TIMEOUT
        ),
        file=path,
        repair="try again, or close the other one",
    )


_COARSE_WINDOW: Final = 2_000_000_000
_FINE_WINDOW: Final = 100_000_000


def _may_hide_a_change(mtime_ns: int, now_ns: int) -> bool:
    """Whether a file could be written once more without its time changing (git calls such an entry racily
    clean).

    Times in whole milliseconds come from file systems or tools that keep no finer ones (FAT: two seconds);
    where they are finer, the kernel's clock still ticks only every few milliseconds.
    """
    window = _COARSE_WINDOW if mtime_ns % 1_000_000 == 0 else _FINE_WINDOW
    return mtime_ns > now_ns - window


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


class FileCache(Generic[T]):
    """One file, parsed again only when it changed; `load` returns the same object as long as it did not.

    `parse` gets the path and the bytes, None when there is no file. What it raises, `load` raises, and
    nothing is kept. Not for several threads at once.
    """

    def __init__(self, file: Path, parse: Callable[[Path, bytes | None], T]) -> None:
        self.file = file
        self._parse = parse
        self._known: tuple[Stamp | None, bytes | None, T] | None = None

    def load(self) -> T:
        now = time.time_ns()
        stamp = stamp_of(self.file)
        known = self._known
        if known is not None and known[0] == stamp and known[1] is None:
            return known[2]
        data = read_bytes(self.file) if stamp is not None else None
        racy = data is not None and stamp is not None and _may_hide_a_change(stamp.mtime_ns, now)
        digest = _digest(data) if data is not None and (racy or known is not None) else None
        if known is not None and known[0] == stamp and known[1] == digest:
            value = known[2]
        else:
            self._known = None
            value = self._parse(self.file, data)
        self._known = (stamp, digest if racy else None, value)
        return value


@contextmanager
def _collecting_later() -> Iterator[None]:
    """Keep the garbage collector still: what is read stays, and going through it again and again costs a fifth."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


@dataclass(slots=True)
class _Entry(Generic[T]):
    stamp: tuple[int, int, int]
    digest: bytes | None
    """Set while the stamp can't be trusted: the content is compared instead."""
    value: T | None
    problems: tuple[Problem, ...]


_NO_STAMP: Final = (-1, -1, -1)
"""The stamp of a file that is not looked at."""
_OUTSIDE: Final = "is a link that leads out of the story"
_LINK_REPAIR: Final = "put a copy of what it leads to in its place"


def _told(error: OSError) -> Phrase:
    return Phrase(_OUTSIDE) if error.args == (_OUTSIDE,) else Phrase("can't be read: {reason}", reason=_reason(error))


class FolderCache(Generic[T]):
    """Every `*.json` of one folder, parsed; a scan reads only the files that changed since the last one.

    `parse` gets a path and bytes and returns the value, None when the file is of no use, and what is wrong
    with it; a `StonehandError` it raises counts as a problem. No file takes the others down (spec, bug 30),
    and neither a missing folder nor a file that vanishes during the scan is an error. With `within`, a link
    that leads out of that folder is not followed, neither a file nor the folder itself. Not for several
    threads at once.
    """

    def __init__(
        self,
        folder: Path,
        parse: Callable[[Path, bytes], tuple[T | None, tuple[Problem, ...]]],
        within: Path | None = None,
    ) -> None:
        self.folder = folder
        self._parse = parse
        self._within = within
        self._known: dict[str, _Entry[T]] = {}
        self._folder_problem: tuple[Problem, ...] = ()
        self._entries: Mapping[str, T] = MappingProxyType({})
        self._problems: tuple[Problem, ...] = ()

    @property
    def entries(self) -> Mapping[str, T]:
        """File name without `.json` to value, in byte order of the file names; a new mapping after each
        change.
        """
        return self._entries

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files, in the same order."""
        return self._problems

    def scan(self) -> bool:
        """Look at the folder again; True when anything changed."""
        with _collecting_later():
            return self._scan()

    def _scan(self) -> bool:
        now = time.time_ns()
        known = self._known
        fresh: dict[str, _Entry[T]] = {}
        changed = False
        folder_problem: tuple[Problem, ...] = ()
        try:
            with self._listing() as files:
                for file in files:
                    name = file.name
                    if not name.endswith(".json"):
                        continue
                    entry = known.get(name)
                    try:
                        if file.is_symlink() and self._leads_out(file):
                            raise OSError(_OUTSIDE)
                        found = file.stat()
                    except FileNotFoundError:
                        continue
                    except OSError as error:  # also a link that leads to itself
                        repair = _LINK_REPAIR if file.is_symlink() else "see to it that it can be read"
                        problem = Problem(
                            Phrase("{told}, so it was skipped", told=_told(error)), self.folder / name, repair=repair
                        )
                        changed = changed or entry is None or entry.problems != (problem,)
                        fresh[name] = _Entry(_NO_STAMP, None, None, (problem,))
                        continue
                    stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
                    if entry is None or entry.stamp != stamp or entry.digest is not None:
                        entry, new = self._load(file, entry, found, stamp, now)
                        if entry is None:
                            continue
                        changed = changed or new
                    fresh[name] = entry
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            folder_problem = (Problem(_told(error), self.folder),)
        changed = changed or len(fresh) != len(known) or folder_problem != self._folder_problem
        if changed:
            names = sorted(fresh, key=os.fsencode)
            entries = ((name, fresh[name].value) for name in names)
            self._entries = MappingProxyType({name[:-5]: value for name, value in entries if value is not None})
            self._problems = (*folder_problem, *(p for name in names for p in fresh[name].problems))
            self._folder_problem = folder_problem
        self._known = fresh
        return changed

    @contextmanager
    def _listing(self) -> Iterator[Iterator[os.DirEntry[str]]]:
        if self.folder.is_symlink() and self._leads_out(self.folder):
            raise OSError(_OUTSIDE)
        with os.scandir(self.folder) as files:
            yield files

    def _leads_out(self, link: os.DirEntry[str] | Path) -> bool:
        if self._within is None:
            return False
        real, real_within = Path(os.path.realpath(link)), Path(os.path.realpath(self._within))
        return real != real_within and real_within not in real.parents

    def _load(
        self,
        file: os.DirEntry[str],
        entry: _Entry[T] | None,
        found: os.stat_result,
        stamp: tuple[int, int, int],
        now: int,
    ) -> tuple[_Entry[T] | None, bool]:
        """The entry of a file to be read, None when it has vanished; and whether it is not what was known."""
        path = self.folder / file.name
        try:
            if not stat.S_ISREG(found.st_mode):
                problem = Problem("is not a regular file, so it was skipped", path)
                return _Entry(stamp, None, None, (problem,)), entry is None or entry.stamp != stamp
            data = _read(file.path, found.st_size)
        except FileNotFoundError:
            return None, True
        except OSError as error:
            problem = Problem(Phrase("can't be read, so it was skipped: {reason}", reason=_reason(error)), path)
            # No digest can match: it is tried again at the next scan, whatever its stamp.
            return _Entry(stamp, b"", None, (problem,)), entry is None or entry.problems != (problem,)
        digest = _digest(data) if (entry is not None and entry.digest) or _may_hide_a_change(stamp[0], now) else None
        kept = digest if _may_hide_a_change(stamp[0], now) else None
        if entry is not None and entry.stamp == stamp and entry.digest == digest:
            entry.digest = kept
            return entry, False
        try:
            value, problems = self._parse(path, data)
        except StonehandError as error:
            value, problems = None, (error.problem,)
        return _Entry(stamp, kept, value, problems), True
