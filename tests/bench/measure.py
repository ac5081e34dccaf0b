"""What a bench gives, how two things are timed against each other, and what every bench shares."""

from __future__ import annotations

import gc
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.generate import write_story

ROOT = Path(__file__).resolve().parents[2]
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Target:
    """A limit on a measurement's `value`, or on its `ratio` to what it is compared with."""

    limit: float
    of: str = "value"

    def __str__(self) -> str:
        return f"≤ {self.limit:g}{'×' if self.of == 'ratio' else ''}"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of the table.

    `value` is a median (in `unit`), `low` the smallest of the values it was taken from; `ratio` and `ratio_low` are
    the same against the reference that `note` names, taken in the same run. Without a target it is information.
    """

    name: str
    value: float
    unit: str
    ratio: float | None = None
    target: Target | None = None
    low: float | None = None
    ratio_low: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one. A bench that failed meets nothing."""
        if self.target is None:
            return None if not math.isnan(self.value) else False
        measured = self.ratio if self.target.of == "ratio" else self.value
        return measured is not None and measured <= self.target.limit

    def document(self) -> dict[str, object]:
        """As a JSON value: figures rounded to four digits, nothing left out."""
        return {
            "name": self.name,
            "value": _rounded(self.value),
            "unit": self.unit,
            "ratio": _rounded(self.ratio),
            "target": None if self.target is None else str(self.target),
            "met": self.met,
            "low": _rounded(self.low),
            "ratioLow": _rounded(self.ratio_low),
            "note": self.note,
        }


def _rounded(number: float | None) -> float | int | None:
    if number is None or math.isnan(number):
        return None
    return int(number) if number == int(number) else float(f"{number:.4g}")


def failed(name: str, error: BaseException) -> Measurement:
    """The line of a bench that could not be run."""
    reason = (str(error).strip().splitlines() or [""])[0]
    return Measurement(name, NAN, "", note=f"failed: {type(error).__name__}: {reason}"[:300])


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds (or any other unit) of a thing and of its reference, measured in turns."""

    of: Sequence[float]
    reference: Sequence[float]

    @property
    def value(self) -> float:
        return statistics.median(self.of)

    @property
    def low(self) -> float:
        return min(self.of)

    @property
    def ratio(self) -> float:
        return statistics.median(self.of) / statistics.median(self.reference)

    @property
    def ratio_low(self) -> float:
        """The ratio of the smallest values, which other load on the machine hardly touches."""
        return min(self.of) / min(self.reference)

    def measurement(
        self, name: str, unit: str, scale: float = 1.0, limit: float | None = None, note: str = ""
    ) -> Measurement:
        """As a line of the table, values multiplied by `scale`; `limit` is one on the ratio."""
        target = None if limit is None else Target(limit, "ratio")
        return Measurement(name, self.value * scale, unit, self.ratio, target, self.low * scale, self.ratio_low, note)


def in_turns(thing: Callable[[], object], reference: Callable[[], object], rounds: int) -> Samples:
    """Wall-clock seconds of both, one after the other `rounds` times, so that both see the same noise.

    Each is called once before. Garbage is collected before a call, and not during it by chance of the other's making.
    """
    thing()
    reference()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for function, into in zip((thing, reference), times, strict=True):
            gc.collect()
            begin = time.perf_counter()
            function()
            into.append(time.perf_counter() - begin)
    return Samples(*times)


@dataclass
class Bench:
    """What the benches of one run share: sizes, and story folders made once. Use it as a context manager."""

    quick: bool = False
    soaked: float = 600.0
    """Seconds that a soak lasts."""
    _folder: tempfile.TemporaryDirectory[str] | None = None
    _stories: dict[tuple[int, int, bool], Path] = field(default_factory=dict)

    def __enter__(self) -> Bench:
        self._folder = tempfile.TemporaryDirectory(prefix="stonehand-bench-")
        return self

    def __exit__(self, *error: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def folder(self) -> Path:
        """A folder for this run's files."""
        assert self._folder is not None, "a bench is used as a context manager"
        return Path(self._folder.name)

    def rounds(self, wanted: int) -> int:
        """How often to measure."""
        return 1 if self.quick else wanted

    def keys(self, wanted: int) -> int:
        """How many keys to press."""
        return min(wanted, 3) if self.quick else wanted

    def seconds(self, wanted: float) -> float:
        """How long to wait or to watch."""
        return min(wanted, 0.3) if self.quick else wanted

    @property
    def sizes(self) -> tuple[int, ...]:
        """Fragments of the small, the large and the very large story."""
        return (30, 60) if self.quick else (300, 3_000, 10_000)

    def data(self, fragments: int, blocks: int = 3, script: bool = False) -> Path:
        """A data folder with the one story `tide`, whose writer has that many custom blocks (see `write_story`)."""
        key = (fragments, blocks, script)
        if key not in self._stories:
            data = self.folder / f"{fragments}-{blocks}{'-script' if script else ''}"
            write_story(data / "stories" / "tide", fragments, blocks, script)
            self._stories[key] = data
        return self._stories[key]

    def copy(self, data: Path) -> Path:
        """A copy of a data folder, for an editor that changes it."""
        copied = Path(tempfile.mkdtemp(prefix="copy-", dir=self.folder)) / data.name
        shutil.copytree(data, copied)
        return copied

    def state(self) -> Path:
        """A fresh folder for the program's own files."""
        return Path(tempfile.mkdtemp(prefix="state-", dir=self.folder))

    def variables(self) -> dict[str, str]:
        """Environment variables for a child process: files of its own, and compiled modules as after an installation.

        The first process that uses a module compiles it, so each measurement begins with a run that does not count.
        """
        own = {"STONEHAND_STATE": str(self.state())}
        if self.quick or not sys.dont_write_bytecode:
            return own
        return own | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(self.folder / "pycache")}

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a Python command (`-m …`, `-c …`) to its end. Raises `RuntimeError` with its last line when it fails."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("STONEHAND")}
        env = {**kept, **self.variables(), "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, *argv], env=env, capture_output=True, text=True, timeout=120)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise RuntimeError(f"{' '.join(argv)[:60]} ended with {done.returncode}: {lines[-1]}")
        return done


Topic = Mapping[str, Callable[[Bench], Iterable[Measurement]]]
"""Benches by name. The lines of a bench have its name as a prefix."""


def peak_memory(pid: int | str = "self") -> float:
    """The most memory a process held at once so far, in MB (Linux: since its program was loaded)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1000
    raise RuntimeError("the system does not say how much memory a process used")


def memory_in_use(pid: int) -> float:
    """The memory a process holds now, in MB (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise RuntimeError("the system does not say how much memory a process uses")


@contextmanager
def counted_file_access() -> Iterator[list[str]]:
    """The names of all functions that touch a file, in the order of their calls in this process, while it lasts."""
    touched: list[str] = []
    names = ("stat", "lstat", "scandir", "listdir", "open", "readlink", "access")
    originals = {name: getattr(os, name) for name in names}

    def counting(name: str, original: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            touched.append(name)
            return original(*args, **kwargs)

        return call

    def hook(event: str, _: tuple[object, ...]) -> None:
        if event == "open" and recording:
            touched.append("open")

    recording = True
    sys.addaudithook(hook)
    try:
        for name, original in originals.items():
            if name != "open":  # the audit event has it, however the file is opened
                setattr(os, name, counting(name, original))
        yield touched
    finally:
        recording = False
        for name, original in originals.items():
            setattr(os, name, original)
