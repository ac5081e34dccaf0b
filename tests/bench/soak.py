"""A long stream into the editor, with keys pressed throughout: whether anything grows, slows down or gets lost.

It takes as long as it is told, so it is run only by its name: `python -m tests.bench soak --seconds 600`.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import cycle

from engine.models.tokens import estimate_tokens
from tests.bench.measure import Bench, Measurement, Target, Topic, memory_in_use
from tests.bench.terminal import BEGIN, DIRECTION_LINE, NEXT, TOKENS_PER_SECOND, editor, line_of, passage
from tests.tui.pty.harness import PtyApp

PAUSE = 0.35
"""Seconds between two keys."""
GIVEN_UP = 5.0
"""Seconds after which the answer to a key is not waited for any more; it counts as that long."""
BACKSPACE, PAGE_UP, END, BACK_TAB = b"\x7f", b"\x1b[5~", b"\x1b[F", b"\x1b[Z"
SCROLLED_EVERY = 40
"""Keys typed between two looks back in the passage."""


def soak(bench: Bench) -> Iterable[Measurement]:
    """A stream for `bench.soaked` seconds: processor time, bytes, how soon keys are answered, memory."""
    seconds = bench.seconds(bench.soaked)
    tokens = int(TOKENS_PER_SECOND * (seconds + 60))
    data = bench.copy(bench.data(bench.sizes[0]))
    argv = [sys.executable, "-m", "tests.bench.child", "stream", str(data), str(TOKENS_PER_SECOND), str(tokens)]
    with editor(bench, argv) as app:
        app.press(b"g", 0.5, 2.0)
        app.write(BEGIN)
        app.wait_for("writing")
        app.press(NEXT, 0.1, 0.2)
        memory, cpu, written, begin = memory_in_use(app.pid), app.cpu(), len(app.output), time.perf_counter()
        answers: list[float] = []
        keys = _keys()
        while (took := time.perf_counter() - begin) < seconds:
            if len(answers) % SCROLLED_EVERY == SCROLLED_EVERY - 1:
                for key in (BACK_TAB, PAGE_UP, PAGE_UP, END, NEXT):
                    app.write(key)
                    app.drain(0.1, limit=0.1)
            answers.append(_answer(app, *next(keys)))
            app.drain(PAUSE, limit=PAUSE)
        share = (app.cpu() - cpu) / took
        bytes_a_second = (len(app.output) - written) / took
        after = memory_in_use(app.pid)
        if "writing" not in app.screen():
            raise RuntimeError("the stream did not last")
        sample = passage(2_000)
        text = len(sample.encode()) / estimate_tokens(sample) * TOKENS_PER_SECOND
        last = answers[-max(1, len(answers) // 10) :]
        note = f"of a core, for {took:.0f} s at {TOKENS_PER_SECOND} tokens/s"
        yield Measurement("soak.cpu", share * 100, "%", target=Target(25), note=note)
        note = f"against {text:,.0f} bytes of text a second"
        yield Measurement("soak.bytes", bytes_a_second, "B/s", bytes_a_second / text, Target(4, "ratio"), note=note)
        note = f"median of {len(answers)} keys; {statistics.median(last):.1f} in the last tenth"
        yield Measurement("soak.key", statistics.median(answers), "ms", None, Target(50), min(answers), note=note)
        late = sum(answer > 50 for answer in answers)
        note = f"the 99th of 100 keys; at most {max(answers):.0f}, {late} later than 50 ms (other load counts)"
        yield Measurement("soak.key.p99", _percentile(answers, 99), "ms", note=note)
        yield Measurement("soak.memory.start", memory, "MB", note="in use when the stream had begun")
        note = f"in use at the end: {after - memory:+.1f} MB for {text * took / 1e6:.2f} MB of text"
        yield Measurement("soak.memory.end", after, "MB", target=Target(150), note=note)


def _keys() -> Iterator[tuple[bytes, str]]:
    """Keys typed into the direction, each with what the line then ends with: letters, and all of them taken back."""
    typed = ""
    for letter in cycle("qzxjkvwy"):
        typed += letter
        yield letter.encode(), typed
        if len(typed) == 24:
            while len(typed) > 1:
                typed = typed[:-1]
                yield BACKSPACE, typed


def _answer(app: PtyApp, key: bytes, expected: str) -> float:
    """Milliseconds until a key's effect is on the screen."""
    begin = time.perf_counter()
    app.write(key)
    while (took := time.perf_counter() - begin) < GIVEN_UP:
        line = line_of(app, DIRECTION_LINE)
        if expected in line and expected + "qzxjkvwy"[len(expected) % 8] not in line:
            break
        app.read(0.005)
    return took * 1000


def _percentile(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


BENCHES: Topic = {"soak": soak}
