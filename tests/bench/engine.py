"""The engine without the editor: compiling, scripts, memory."""

from __future__ import annotations

import functools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.scripts import Limits
from engine.workspace import WRITER, Workspace
from tests.bench.measure import Bench, Measurement, Samples, Target, Topic, counted_file_access, in_turns

STORY = "tide"
INPUT = "Let the storm arrive before the letter does."
WATCH_TIMEOUT = 10.0


@contextmanager
def _open(bench: Bench, data: Path, *, watch: bool = False) -> Iterator[Workspace]:
    workspace = Workspace(data, state=bench.state(), watch=watch)
    try:
        yield workspace
    finally:
        workspace.close()


def story_files(data: Path) -> list[Path]:
    """The files a prompt of the story is made of."""
    story = data / "stories" / STORY
    root = story / "branches" / "main"
    single = [
        story / "meta.json",
        story / "branches.json",
        root / "prose-chain.json",
        root / "associations.json",
        root / "agent-blocks" / f"{WRITER}.json",
    ]
    return [*single, *sorted((root / "fragments").iterdir())]


def look_at(data: Path) -> int:
    """`scandir` and `stat` of the story's files: the least that can tell that nothing has changed."""
    story = data / "stories" / STORY
    root = story / "branches" / "main"
    bytes_seen = 0
    for folder in (story, root, root / "fragments", root / "agent-blocks"):
        with os.scandir(folder) as entries:
            for entry in entries:
                bytes_seen += entry.stat().st_size
    return bytes_seen


def read_and_parse(files: Iterable[Path]) -> None:
    """Every file read and parsed once."""
    for file in files:
        with open(file, "rb") as stream:
            json.loads(stream.read())


def compile_warm(bench: Bench) -> Iterable[Measurement]:
    """A compile when nothing changed on disk and nobody watches it, against looking at the same files."""
    for size in bench.sizes:
        data = bench.data(size)
        with _open(bench, data) as workspace:
            samples = in_turns(
                lambda workspace=workspace: workspace.prompt(STORY, WRITER, None, INPUT),
                functools.partial(look_at, data),
                bench.rounds(21),
            )
        note = "against scandir + stat of the same files"
        yield samples.measurement(f"compile.warm.{size}", "ms", 1000, 3, note)


def compile_watched(bench: Bench) -> Iterable[Measurement]:
    """The same in the open editor, where the story's folder is watched: files touched, and time."""
    for size in bench.sizes:
        with _open(bench, bench.data(size), watch=True) as workspace:

            def compile_once(workspace: Workspace = workspace) -> None:
                workspace.prompt(STORY, WRITER, None, INPUT)

            _await_watch(compile_once)
            times: list[float] = []
            with counted_file_access() as touched:
                for _ in range(bench.rounds(21)):
                    begin = time.perf_counter()
                    compile_once()
                    times.append(time.perf_counter() - begin)
        name = f"compile.watched.{size}"
        note = ", ".join(sorted(set(touched))) or "no file is looked at"
        yield Measurement(f"{name}.files", len(touched) / len(times), "files", target=Target(0), note=note)
        yield Measurement(f"{name}.time", statistics.median(times) * 1000, "ms", low=min(times) * 1000)


def _await_watch(compile_once: Callable[[], None]) -> None:
    """Compile until no file is looked at any more, or until that has taken too long; then the bench says so."""
    deadline = time.monotonic() + WATCH_TIMEOUT
    while time.monotonic() < deadline:
        compile_once()
        with counted_file_access() as touched:
            compile_once()
        if not touched:
            return
        time.sleep(0.1)


def compile_cold(bench: Bench) -> Iterable[Measurement]:
    """The first compile of a process, its imports not counted, against reading and parsing the same files once."""
    for size in bench.sizes:
        data = bench.data(size)
        pairs: list[tuple[float, float]] = []
        for turn in range(bench.rounds(8 if size < 10_000 else 6) + 1):
            first = "reading" if turn % 2 else "compiling"
            done = bench.run("-m", "tests.bench.child", "cold", str(data), first)
            pairs.append(tuple(json.loads(done.stdout)))
        samples = Samples(*zip(*pairs[1:], strict=True))
        note = "against reading and parsing the same files"
        yield samples.measurement(f"compile.cold.{size}", "ms", 1000, 2, note)


def script_time(bench: Bench) -> Iterable[Measurement]:
    """One evaluation of a script that touches little, on the very large story."""
    body = "return `${ctx.story.name}: ${ctx.authorInput.length} characters of direction`"
    with _open(bench, bench.data(bench.sizes[-1])) as workspace:
        base = workspace.base(STORY, WRITER, None, INPUT)
        times: list[float] = []
        for _ in range(bench.rounds(30) + 1):
            begin = time.perf_counter()
            result = workspace.preview(base, body).result()
            times.append((time.perf_counter() - begin) * 1000)
            if result.text is None:
                raise RuntimeError(result.described)
    times = times[1:]  # the first one loads the engine
    note = f"{bench.sizes[-1]} fragments; story and direction read"
    yield Measurement("script.preview", statistics.median(times), "ms", target=Target(15), low=min(times), note=note)


def script_stop(bench: Bench) -> Iterable[Measurement]:
    """How long an endless script runs, against its limit: a loop of its own, and one inside the engine."""
    endless = {"loop": "for (;;) {}", "native": "const a = 'a'.repeat(1e6); for (;;) a.normalize('NFKD')"}
    limits = Limits(seconds=0.1 if bench.quick else 0.5)
    with _open(bench, bench.data(bench.sizes[0])) as workspace:
        base = workspace.base(STORY, WRITER, None, INPUT)
        workspace.scripts.warm()
        for name, body in endless.items():
            times: list[float] = []
            for _ in range(bench.rounds(5)):
                begin = time.perf_counter()
                result = workspace.preview(base, body, limits).result()
                times.append(time.perf_counter() - begin)
                if not result.cut_short:
                    raise RuntimeError(f"the endless script ended as {result.kind}")
            samples = Samples(times, [limits.seconds])
            yield samples.measurement(f"script.stop.{name}", "ms", 1000, 1.2, "against its limit")


def memory(bench: Bench) -> Iterable[Measurement]:
    """The most memory of a process that loaded and compiled the very large story."""
    size = bench.sizes[-1]
    done = bench.run("-m", "tests.bench.child", "memory", str(bench.data(size)))
    before, peak = json.loads(done.stdout)
    note = f"{size} fragments; {before:.0f} MB before anything was loaded"
    yield Measurement("memory.engine", peak, "MB", target=Target(150), note=note)


BENCHES: Topic = {
    "compile.warm": compile_warm,
    "compile.watched": compile_watched,
    "compile.cold": compile_cold,
    "script.preview": script_time,
    "script.stop": script_stop,
    "memory.engine": memory,
}
