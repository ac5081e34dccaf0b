"""The editor in a real pseudo-terminal of 120×40 cells in truecolor: bytes, processor time, start, memory.

Bytes are exact and the same on every machine; processor time comes from the system's own account of the process, which
other load hardly touches; wall-clock times are medians of starts in turns.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from engine.library import install_sample
from engine.models.tokens import estimate_tokens
from engine.models.wire.base import Request, Start, Stop, Text, Usage
from engine.models.wire.events import Event
from engine.models.wire.pacing import pieces_of
from tests.bench.generate import prose
from tests.bench.measure import Bench, Measurement, Samples, Target, Topic, in_turns, peak_memory
from tests.tui.pty.harness import PtyApp

QUIET = 0.08
"""Seconds of silence after which the answer to a key counts as whole."""
FRAME = 16
DOWN, DROP_DOWN, EDIT, BEGIN, NEXT = b"j", b"J", b"e", b"\x07", b"\t"
PAGE_DOWN, AGENTS = b"\x1b[6~", b"1"
AGENTS_ABOVE_CHAT, CHAT_TITLE = 3, "Librarian Chat ·"
FIRST_ROW = "instructions"
ROWS_ABOVE_CUSTOM = 3
"""Built-in blocks of the system message in the generated stories: instructions, tools, pinned fragments."""
TOKENS_PER_SECOND = 200
DIRECTION_LINE = 2
"""The line of the generate screen, from 0, that shows what the author types."""


def _command(data: Path) -> list[str]:
    return [sys.executable, "-m", "tui", str(data)]


@contextmanager
def editor(bench: Bench, argv: Sequence[str], **env: str) -> Iterator[PtyApp]:
    """The editor with its rows shown and nothing left to do."""
    with PtyApp(argv, env={**bench.variables(), **env}) as app:
        app.wait_for(FIRST_ROW, 60)
        settle(app, bench)
        yield app


def settle(app: PtyApp, bench: Bench) -> int:
    """Wait until nothing follows any more (saves, previews, what waits for a pause); the bytes that came meanwhile."""
    pause = bench.seconds(1.5)
    return app.drain(pause, pause, 60).size


@dataclass(frozen=True, slots=True)
class Typed:
    """What a series of keys cost: processor milliseconds and bytes for each, whatever followed the last included."""

    milliseconds: float
    bytes: float
    most: int
    answered: float


def _type(app: PtyApp, bench: Bench, keys: Iterable[bytes], pause: float = QUIET) -> Typed:
    before = app.cpu()
    responses = [app.press(key, pause, 0.5) for key in keys]
    total = sum(response.size for response in responses) + settle(app, bench)
    return Typed(
        (app.cpu() - before) * 1000 / len(responses),
        total / len(responses),
        max(response.size for response in responses),
        statistics.median(response.done or 0.0 for response in responses) * 1000,
    )


def _lines(name: str, typed: Typed, bytes_limit: int, of: str = "key") -> Iterable[Measurement]:
    note = f"answered whole after {typed.answered:.0f} ms of wall clock"
    yield Measurement(f"{name}.cpu", typed.milliseconds, f"ms/{of}", target=Target(FRAME), note=note)
    note = f"at most {typed.most:,} for one {of}"
    yield Measurement(f"{name}.bytes", typed.bytes, f"B/{of}", target=Target(bytes_limit), note=note)


# -- the list


def _list_bench(name: str, key: bytes) -> Callable[[Bench], Iterable[Measurement]]:
    def run(bench: Bench) -> Iterable[Measurement]:
        lengths = (10, 20) if bench.quick else (100, 1_000)
        costs: list[float] = []
        for length in lengths:
            with editor(bench, _command(bench.copy(bench.data(bench.sizes[0], length)))) as app:
                app.press(key, 0.5, 0.5)
                settle(app, bench)
                typed = _type(app, bench, [key] * bench.keys(40))
                rested = _type(app, bench, [key] * bench.keys(8), bench.seconds(0.8))
            costs.append(typed.milliseconds)
            yield from _lines(f"{name}.{length}", typed, 1024)
        note = "with a rest after each key, so that the inspector follows and edits are saved"
        yield Measurement(f"{name}.rested.cpu", rested.milliseconds, "ms/key", note=note)
        note = f"{note}; at most {rested.most:,}"
        yield Measurement(f"{name}.rested.bytes", rested.bytes, "B/key", target=Target(1024), note=note)
        longer = Samples([costs[1]], [max(costs[0], 0.01)])
        note = f"{lengths[1]} rows against {lengths[0]}: independent of the length"
        yield longer.measurement(f"{name}.length", "ms/key", limit=1.3, note=note)

    run.__doc__ = f"The {name} in a short and a long list: processor time and bytes a key."
    return run


def paging(bench: Bench) -> Iterable[Measurement]:
    """Scrolling: a page of the list, and half of one, as the cursor does at the end of what is in sight."""
    with editor(bench, _command(bench.copy(bench.data(bench.sizes[0], 20 if bench.quick else 1_000)))) as app:
        app.press(DOWN, 0.5, 0.5)
        settle(app, bench)
        page = _type(app, bench, [PAGE_DOWN] * bench.keys(10))
        yield Measurement("list.page.cpu", page.milliseconds, "ms/page")
        note = f"at most {page.most:,} for one page"
        yield Measurement("list.page.bytes", page.bytes, "B/page", note=note)
        typed = [app.press(key).size for key in [DOWN] * bench.keys(60)]
        note = "the step of the cursor that scrolls"
        yield Measurement("list.half-page.bytes", max(typed), "B", note=note)


# -- the inspector


def _typing(bench: Bench, name: str, row: int, text: bytes, **env: str) -> Iterable[Measurement]:
    """Keys typed into the text of the row that many steps below the first."""
    keys = [bytes([char]) for char in islice(cycle(text), bench.keys(60))]
    data = bench.copy(bench.data(bench.sizes[0], 20, script=True))
    plain = "STONEHAND_DIFF" in env
    with editor(bench, _command(data), **env) as app:
        for _ in range(row):
            app.press(DOWN)
        app.press(EDIT, 0.5)
        settle(app, bench)
        app.press(keys[0], 0.5)
        settle(app, bench)
        typed = _type(app, bench, keys)
        if (keys[0] * 2 + keys[1]).decode() not in app.screen():
            raise RuntimeError("what was typed is not on the screen")
        yield from _lines(f"{name}.{'plain' if plain else 'diff'}", typed, 2500 if plain else 600)


def _typing_bench(name: str, row: int, text: bytes) -> Callable[[Bench], Iterable[Measurement]]:
    def run(bench: Bench) -> Iterable[Measurement]:
        yield from _typing(bench, name, row, text)
        yield from _typing(bench, name, row, text, STONEHAND_DIFF="0")

    run.__doc__ = f"{name}: processor time and bytes a key, with the span diff and without."
    return run


# -- nothing to do


def idle(bench: Bench) -> Iterable[Measurement]:
    """Bytes written while nothing happens: in the list, in a text, and while the mouse moves over everything."""
    seconds = bench.seconds(5.0)
    with editor(bench, _command(bench.copy(bench.data(bench.sizes[0], 20, script=True)))) as app:
        for _ in range(ROWS_ABOVE_CUSTOM + 1):
            app.press(DOWN)
        settle(app, bench)
        before = app.cpu()
        written = app.drain(seconds, limit=seconds).size
        note = f"in {seconds:g} s; {(app.cpu() - before) / seconds:.1%} of a core"
        yield Measurement("idle.list", written, "B", target=Target(0), note=note)
        lines = range(1, 39, 6 if bench.quick else 1)
        moves = [app.mouse(column, line, 35) for line in lines for column in (5, 30, 60, 100)]
        written = sum(app.press(move, 0.03, 0.03).size for move in moves) + settle(app, bench)
        yield Measurement("idle.hover", written, "B", target=Target(0), note=f"{len(moves)} moves of the mouse")
        app.press(EDIT, 0.5)
        settle(app, bench)
        written = app.drain(seconds, limit=seconds).size
        yield Measurement("idle.text", written, "B", target=Target(0), note=f"in {seconds:g} s, focus in a text")


# -- streaming


class StreamingWire:
    """A passage of `tokens` tokens at `pace` tokens a second, by the clock: others catch up after a late one."""

    name = label = "bench"

    def __init__(self, tokens: int, pace: float) -> None:
        self._tokens = tokens
        self._pace = pace

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """The passage as events."""
        yield Start(self.name)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        sent = 0
        for piece in pieces_of(passage(self._tokens)):
            await asyncio.sleep(max(0.0, begin + sent / self._pace - loop.time()))
            sent += max(1, estimate_tokens(piece))
            yield Text(piece)
        yield Usage(0, sent)
        yield Stop("end_turn")


def passage(tokens: int) -> str:
    """A text of about that many tokens."""
    return prose(tokens * 5)


def streaming(bench: Bench) -> Iterable[Measurement]:
    """A stream of 200 tokens a second: bytes against its text, processor time, and how soon a key is answered."""
    tokens = 400 if bench.quick else 3_000
    with editor(bench, _streaming_editor(bench, tokens)) as app:
        app.press(b"g", 0.5, 2.0)
        app.write(BEGIN)
        app.wait_for("writing")
        yield from _watched(app, bench, "streaming", tokens)
        answers = _answers(app, bench.keys(20))
        note = f"a letter typed while streaming; at most {max(answers):.0f}"
        yield Measurement(
            "streaming.key", statistics.median(answers), "ms", target=Target(50), low=min(answers), note=note
        )


def streaming_chat(bench: Bench) -> Iterable[Measurement]:
    """An answer of 200 tokens a second in a conversation: bytes against its text, and processor time."""
    tokens = 400 if bench.quick else 3_000
    with editor(bench, _streaming_editor(bench, tokens)) as app:
        app.press(AGENTS, 0.2, 1.0)
        for _ in range(AGENTS_ABOVE_CHAT):
            app.press(DOWN)
        app.write(b"\r")
        app.wait_for(CHAT_TITLE)
        settle(app, bench)
        app.press(b"c", 0.5, 2.0)
        settle(app, bench)
        app.write(b"the tide\r")
        app.wait_for("stop")
        yield from _watched(app, bench, "chat.streaming", tokens)


def _streaming_editor(bench: Bench, tokens: int) -> list[str]:
    data = bench.copy(bench.data(bench.sizes[0]))
    return [sys.executable, "-m", "tests.bench.child", "stream", str(data), str(TOKENS_PER_SECOND), str(tokens)]


def _watched(app: PtyApp, bench: Bench, name: str, tokens: int) -> Iterable[Measurement]:
    """What a stream that has begun writes, and what it takes."""
    seconds = bench.seconds(8.0)
    app.drain(0.5, limit=0.5)
    cpu, begin = app.cpu(), time.perf_counter()
    written = app.drain(seconds, limit=seconds).size
    took = time.perf_counter() - begin
    share = (app.cpu() - cpu) / took
    # Characters that arrived meanwhile: the pace is kept by the clock.
    text = len(passage(tokens).encode()) / estimate_tokens(passage(tokens)) * TOKENS_PER_SECOND * took
    note = f"against the {text:,.0f} bytes of text; {written / took:,.0f} bytes a second"
    yield Measurement(f"{name}.bytes", written, "B", written / text, Target(4, "ratio"), note=note)
    note = f"of a core, at {TOKENS_PER_SECOND} tokens/s"
    yield Measurement(f"{name}.cpu", share * 100, "%", target=Target(25), note=note)


def _answers(app: PtyApp, count: int) -> list[float]:
    """Milliseconds until a letter typed into the author's direction is on the screen."""
    app.press(NEXT, 0.1, 0.2)
    letters = "qzxjkvwyqzxjkvwyqzxjkvwy"[:count]
    answers: list[float] = []
    for shown in range(1, count + 1):
        begin = time.perf_counter()
        app.write(letters[shown - 1])
        while letters[:shown] not in line_of(app, DIRECTION_LINE):
            app.read(0.005)
            if time.perf_counter() - begin > 5:
                raise RuntimeError("a letter typed while streaming never appeared")
        answers.append((time.perf_counter() - begin) * 1000)
        app.drain(0.13, limit=0.13)
    return answers


def line_of(app: PtyApp, number: int) -> str:
    cells = app.terminal.buffer[number]
    return "".join(cells[column].data for column in range(app.terminal.columns))


# -- starting


class _Starting(PtyApp):
    """A program of which only the moments matter at which words first appear, not the screen."""

    def _feed(self, chunk: bytes) -> None:
        pass  # keeping a screen would take longer than what is measured

    def seconds_until(self, word: bytes) -> float:
        """Seconds from the start of the process until a word has been written."""
        while word not in self.output:
            if not self.read(0.5) and (not self._open or time.perf_counter() - self.started > 60):
                raise RuntimeError(f"{word.decode()!r} was never written")
        return time.perf_counter() - self.started


def start(bench: Bench) -> Iterable[Measurement]:
    """From the start of the process to the first frame and to the block list, against a bare Textual app."""
    sample = bench.folder / "sample"
    install_sample(sample)
    bare = [sys.executable, "-m", "tests.bench.child", "bare"]
    times: dict[str, list[float]] = {"bare": [], "frame": [], "blocks": [], "sample": []}
    for turn in range(bench.rounds(9) + 1):
        rounds: dict[str, list[float]] = {}
        with _Starting(bare, env=bench.variables()) as app:
            rounds["bare"] = [app.seconds_until(b"bare-and-painted")]
        for name, data in (("blocks", bench.data(bench.sizes[0])), ("sample", sample)):
            with _Starting(_command(data), env=bench.variables()) as app:
                rounds.setdefault("frame", []).append(app.seconds_until(b"Agents"))
                rounds[name] = [app.seconds_until(FIRST_ROW.encode())]
        if turn:  # the first one writes compiled modules
            for name, found in rounds.items():
                times[name] += found
    note = "a bare Textual app: {:.0f} ms".format(statistics.median(times["bare"]) * 1000)
    for name, limit, what in (
        ("frame", 1.5, "first frame"),
        ("blocks", None, f"block list of a story of {bench.sizes[0]} fragments"),
        ("sample", None, "block list of the sample story, its scripts run"),
    ):
        samples = Samples(times[name], times["bare"])
        yield samples.measurement(f"start.{name}", "ms", 1000, limit, f"{what}; {note}")


def command_line(bench: Bench) -> Iterable[Measurement]:
    """Commands without the editor, against a Python that does nothing. For information."""
    data = bench.data(bench.sizes[0])
    commands = {"help": ["--help"], "compile": ["--data", str(data), "compile", "tide"]}
    for name, arguments in commands.items():
        samples = in_turns(
            lambda arguments=arguments: bench.run("-m", "tui", *arguments),
            lambda: bench.run("-c", "pass"),
            bench.rounds(7),
        )
        yield samples.measurement(f"command.{name}", "ms", 1000, note="against python -c pass")


# -- memory


def memory(bench: Bench) -> Iterable[Measurement]:
    """The most memory of the editor with the very large story, its prompt opened once."""
    size = bench.sizes[-1]
    with editor(bench, _command(bench.copy(bench.data(size)))) as app:
        listed = peak_memory(app.pid)
        app.press(b"p", 1.0, 5.0)
        note = f"{size} fragments, the compiled prompt opened; {listed:.0f} MB with the list alone"
        yield Measurement("memory.editor", peak_memory(app.pid), "MB", target=Target(150), note=note)


BENCHES: Topic = {
    "list.cursor": _list_bench("list.cursor", DOWN),
    "list.move": _list_bench("list.move", DROP_DOWN),
    "list.page": paging,
    "typing.text": _typing_bench("typing.text", ROWS_ABOVE_CUSTOM + 1, b"the tide came in and "),
    "typing.script": _typing_bench("typing.script", ROWS_ABOVE_CUSTOM, b"words + count; "),
    "idle": idle,
    "streaming": streaming,
    "chat.streaming": streaming_chat,
    "start": start,
    "command": command_line,
    "memory.editor": memory,
}
