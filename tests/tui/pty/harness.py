"""A program in a real pseudo-terminal: keys in, bytes and a screen out.

Bytes are deterministic and fit for hard limits; times depend on the machine and are for reports only.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pyte
import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals need a Unix system", allow_module_level=True)

import fcntl
import pty
import termios

ROOT = Path(__file__).resolve().parents[3]

# What decides how an app draws; a test sets what it needs instead of inheriting it.
_FORGOTTEN = (
    "TEXTUAL", "STONEHAND", "COLORTERM", "COLORFGBG", "NO_COLOR", "TERM", "LC_TERMINAL", "TMUX", "STY", "SSH_",
    "ESCDELAY", "COLUMNS", "LINES",
)  # fmt: skip
# Keyboard protocol and other private sequences, of which pyte would print the last letter.
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")

_POLL = 0.02
"""Seconds between two looks at what a program has written."""


@dataclass(frozen=True, slots=True)
class Response:
    """What came back for an input. `first` and `done` are seconds until the first and the last byte, or None."""

    data: bytes
    first: float | None
    done: float | None

    @property
    def size(self) -> int:
        return len(self.data)


def _fork_uncontrolled() -> tuple[int, int]:
    """As `pty.fork`, the child in a session without a controlling terminal."""
    master, slave = pty.openpty()
    pid = os.fork()
    if pid:
        os.close(slave)
        return pid, master
    os.setsid()
    for stream in range(3):
        os.dup2(slave, stream)
    os.closerange(3, max(master, slave) + 1)
    return 0, -1


class PtyApp:
    """A command on its own pseudo-terminal; use it as a context manager, which kills what is left of it.

    `env` is set on top of the inherited environment, without what would influence the drawing. `sync` answers the
    query for synchronized output as a modern terminal does. Without `controlled`, the terminal is not that of the
    program's session, so that it gets no signal when the terminal is closed.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 120,
        rows: int = 40,
        env: Mapping[str, str] | None = None,
        term: str = "xterm-256color",
        truecolor: bool = True,
        sync: bool = True,
        controlled: bool = True,
    ) -> None:
        self.output = bytearray()
        self.exit_status: int | None = None
        self._sync = sync
        self._resize_screen(columns, rows)
        environ = {key: value for key, value in os.environ.items() if not key.startswith(_FORGOTTEN)}
        environ |= {"TERM": term, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        if truecolor:
            environ["COLORTERM"] = "truecolor"
        environ |= env or {}
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork() if controlled else _fork_uncontrolled()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.execvpe(argv[0], list(argv), environ)
            finally:
                os._exit(127)
        os.set_blocking(self.fd, False)
        self._open = True

    def __enter__(self) -> PtyApp:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- input

    def write(self, data: bytes | str) -> None:
        """Send raw bytes, as the terminal would for key presses and mouse events."""
        view = memoryview(data.encode() if isinstance(data, str) else data)
        while view:
            try:
                view = view[os.write(self.fd, view) :]
            except BlockingIOError:
                self.read(0.05)

    def press(self, data: bytes | str, quiet: float = 0.12, first: float = 1.0, limit: float = 10.0) -> Response:
        """Send `data` and collect what comes back until `quiet` seconds of silence."""
        start = time.perf_counter()
        self.write(data)
        return self.drain(quiet, first, limit, start)

    def mouse(self, column: int, row: int, button: int = 0, *, release: bool = False) -> bytes:
        """The bytes of a mouse event (SGR). Columns and rows count from 0; button 35 is a move, 64 and 65 the wheel."""
        return f"\x1b[<{button};{column + 1};{row + 1}{'m' if release else 'M'}".encode()

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal; the program gets SIGWINCH."""
        self._resize_screen(columns, rows)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: int) -> None:
        """Send the program a signal."""
        os.kill(self.pid, number)

    # --- output

    def read(self, timeout: float = 0.0) -> bytes:
        """What the program wrote, at most one chunk, waiting up to `timeout` seconds for it."""
        if not self._open or not select.select([self.fd], [], [], timeout)[0]:
            return b""
        try:
            chunk = os.read(self.fd, 65536)
        except BlockingIOError:
            return b""
        except OSError:
            chunk = b""
        if not chunk:
            self._open = False
            return b""
        if self._sync and b"\x1b[?2026$p" in chunk:
            self.write(b"\x1b[?2026;2$y")
        self.output += chunk
        self._feed(chunk)
        return chunk

    def drain(
        self, quiet: float = 0.12, first: float | None = None, limit: float = 10.0, start: float | None = None
    ) -> Response:
        """Read until `quiet` seconds of silence, waiting up to `first` seconds (or `quiet`) for the first byte.

        Silence of a program that still computes, or waits for its turn on a loaded machine, does not count.
        """
        start = time.perf_counter() if start is None else start
        data = bytearray()
        first_at: float | None = None
        last = polled = time.perf_counter()
        silence = 0.0
        while self._open and polled - start < limit:
            chunk = self.read(min(quiet, _POLL))
            now = time.perf_counter()
            if chunk:
                data += chunk
                last, silence = now, 0.0
                first_at = last if first_at is None else first_at
            elif self.busy():
                silence = 0.0
            else:
                # Time in which this process did not get to run says nothing of the program.
                silence += min(now - polled, 2 * _POLL)
                if silence >= (quiet if data or first is None else first):
                    break
            polled = now
        return Response(
            bytes(data),
            None if first_at is None else first_at - start,
            None if first_at is None else last - start,
        )

    def wait_for(self, what: str | Callable[[str], bool], timeout: float = 20.0) -> str:
        """Read until the screen shows `what`, or until it says so; the screen.

        Raises AssertionError with the screen when that does not happen.
        """
        deadline = time.perf_counter() + timeout
        while True:
            screen = self.screen()
            if what in screen if isinstance(what, str) else what(screen):
                return screen
            if time.perf_counter() > deadline or not self._open:
                raise AssertionError(f"{what!r} never appeared on the screen:\n{screen}")
            self.read(0.05)

    def screen(self) -> str:
        """The text on the screen, one line a row, without spaces at the ends."""
        return "\n".join(line.rstrip() for line in self.terminal.display)

    # --- the process

    def cpu(self) -> float:
        """Processor time of the program so far, in seconds (Linux)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def busy(self) -> bool:
        """Whether a thread of the program runs or would, if it had a processor (Linux; False elsewhere)."""
        for task in Path(f"/proc/{self.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                if task.read_text().rpartition(")")[2].split()[0] == "R":
                    return True
        return False

    def wait(self, timeout: float = 10.0) -> int:
        """Wait for the program to end; its exit status (negative: the signal that ended it)."""
        deadline = time.perf_counter() + timeout
        while self.exit_status is None:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_status = os.waitstatus_to_exitcode(status)
            elif time.perf_counter() > deadline:
                raise AssertionError(f"the program did not end; the screen:\n{self.screen()}")
        self.drain(0.05)
        return self.exit_status

    def close(self) -> None:
        """Kill the program if it still runs and close the terminal."""
        if self.exit_status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                self.exit_status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        with contextlib.suppress(OSError):
            os.close(self.fd)
        self._open = False

    def _resize_screen(self, columns: int, rows: int) -> None:
        if hasattr(self, "terminal"):
            self.terminal.resize(rows, columns)
        else:
            self.terminal = pyte.Screen(columns, rows)
            self._stream = pyte.ByteStream(self.terminal)
            self._held = b""

    def _feed(self, chunk: bytes) -> None:
        # A sequence may be split between two reads: hold back an unfinished one.
        data = self._held + chunk
        start = data.rfind(b"\x1b", max(0, len(data) - 32))
        complete = start < 0 or re.match(rb"\x1b(?:[^\[\]P]|\[[0-9;?<>=$]*[@-~])", data[start:])
        self._held = b"" if complete else data[start:]
        if not complete:
            data = data[:start]
        if b"\x1b[?1049h" in data:
            # Entering the alternate screen clears it; pyte has only one.
            data = data.replace(b"\x1b[?1049h", b"\x1b[H\x1b[2J\x1b[?1049h")
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data))
