"""The display diff: a terminal that gets the differences ends up showing what one that gets everything shows."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyte
import pytest
import textual
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App, ComposeResult, ReturnType
from textual.containers import Horizontal, Vertical
from textual.geometry import Region, Size
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import DataTable, Footer, Input, OptionList, Static, TextArea

from tests.thorough import times
from tests.tui.pty.harness import PtyApp
from tui import diff_display
from tui.diff_display import DiffDisplayApp, TerminalModel, diff_supported

LINES = [
    "The quick brown fox jumps over the lazy dog",
    "Юрий Гагарин первым полетел в космос",
    "漢字かな交じり文と한국어 text mixed",
    "naïve façade — “quotes” … ✓ ✗ ◆ ◇ ▆",
    "",
]


CONSOLE = Console(color_system="truecolor", force_terminal=True, legacy_windows=False)


class Terminal:
    """A pyte terminal as Textual leaves it set up."""

    def __init__(self, columns: int, rows: int) -> None:
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.Stream(self.screen)
        self.stream.feed("\x1b[?7l")
        self.bytes = 0

    def feed(self, text: str) -> None:
        self.bytes += len(text.encode())
        self.stream.feed(text)

    def line(self, y: int) -> list[Any]:
        """The cells of a row as they are seen: of a space without a line at it, only its background is."""
        return [_seen(self.screen.buffer[y][x]) for x in range(self.screen.columns)]


def _seen(cell: Any) -> Any:
    if cell.data != " " or cell.underscore or cell.strikethrough:
        return cell
    plain = cell._replace(fg="default", bold=False, italics=False, blink=False, reverse=False)
    if not cell.reverse:
        return plain
    if cell.fg == "default" or cell.bold:
        return plain._replace(reverse=True, fg=cell.fg, bold=cell.bold)
    return plain._replace(bg=cell.fg)


def differences(one: Terminal, other: Terminal) -> list[tuple[int, Any, Any]]:
    """Row and both lines wherever the terminals differ, among the lines drawn on since the last time."""
    drawn = one.screen.dirty | other.screen.dirty
    found = [(y, one.line(y), other.line(y)) for y in sorted(drawn) if one.line(y) != other.line(y)]
    one.screen.dirty.clear()
    other.screen.dirty.clear()
    return found


def lines_of(frame: LayoutUpdate | ChopsUpdate) -> Sequence[Any]:
    return frame.strips if isinstance(frame, LayoutUpdate) else frame.chops


class Question(ModalScreen[None]):
    DEFAULT_CSS = "Question { align: center middle; } Question Static { width: 30; height: 5; background: $panel; }"

    def compose(self) -> ComposeResult:
        yield Static("Really?\n漢字")


class WithTwoTerminals(App[ReturnType]):
    """Feeds each frame whole to one terminal and as a difference to another. Put it before `App` in the bases."""

    def on_load(self) -> None:
        self.frames = 0
        self.new_terminals()

    def new_terminals(self) -> None:
        width, height = self.size
        self.whole, self.diffed = Terminal(width, height), Terminal(width, height)
        self.model = TerminalModel(width, height)

    def _display(self, screen: Any, renderable: Any) -> None:
        if isinstance(renderable, LayoutUpdate | ChopsUpdate) and not self._batch_count:
            if (self.whole.screen.columns, self.whole.screen.lines) != tuple(self.size):
                self.new_terminals()
            if len(lines_of(renderable)) != self.size.height:
                return  # laid out before the resize; whole, it would scroll the terminal
            self.frames += 1
            self.whole.feed(renderable.render_segments(self.console))
            self.diffed.feed(self.model.update(renderable, self.console._color_system or ColorSystem.TRUECOLOR))
            assert differences(self.diffed, self.whole) == []
        super()._display(screen, renderable)


class TwoTerminals(WithTwoTerminals[None]):
    """Several of Textual's widgets."""

    CSS = "Vertical { width: 1fr; } Input { height: 3; } #counter { width: 20; }"

    def compose(self) -> ComposeResult:
        with Horizontal():
            with Vertical():
                yield OptionList(*(f"{i} {LINES[i % len(LINES)]}" for i in range(60)))
                yield Input("some text")
            with Vertical():
                yield TextArea("\n".join(LINES * 4))
                yield DataTable()
            yield Static("0", id="counter")
        yield Footer()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns("a", "b")
        table.add_rows([(i, LINES[i % len(LINES)]) for i in range(30)])


KEYS = ["down", "up", "pagedown", "end", "home", "tab", "tab", "a", "x", "enter", "backspace", "delete", "left"]


@pytest.mark.parametrize("seed", range(times(1, 10)))
async def test_random_sessions_end_in_the_same_screen(seed: int) -> None:
    rng = random.Random(seed)
    app = TwoTerminals()
    async with app.run_test(size=(100, 30)) as pilot:
        for step in range(45):
            action = rng.random()
            if action < 0.7:
                await pilot.press(rng.choice(KEYS))
            elif action < 0.8:
                app.query_one("#counter", Static).update(f"{step} {rng.choice(LINES)}")
            elif action < 0.86:
                await app.push_screen(Question())
                await pilot.pause()
                app.pop_screen()
            elif action < 0.9:
                await pilot.resize_terminal(rng.randint(70, 130), rng.randint(10, 40))
            elif action < 0.95:
                app.theme = rng.choice(["nord", "ansi-dark", "textual-light"])
            else:
                app.query_one(TextArea).insert(rng.choice(LINES))
            await pilot.pause()
        assert app.frames > 40
        assert app.diffed.bytes < app.whole.bytes / 1.5


class OneTerminal(TwoTerminals):
    """Feeds the differences of all frames to a terminal that shows something else at each new size."""

    stale = 0

    def new_terminals(self) -> None:
        super().new_terminals()
        self.diffed.feed("".join(f"\x1b[{y + 1}H{'#' * self.size.width}" for y in range(self.size.height)))

    def _display(self, screen: Any, renderable: Any) -> None:
        if isinstance(renderable, LayoutUpdate | ChopsUpdate) and not self._batch_count:
            if (self.model.width, self.model.height) != tuple(self.size):
                self.new_terminals()
            self.stale += len(lines_of(renderable)) != self.size.height
            self.diffed.feed(self.model.update(renderable, ColorSystem.TRUECOLOR))
        App._display(self, screen, renderable)


async def test_frames_of_another_size_leave_no_trace() -> None:
    rng = random.Random(5)
    app = OneTerminal()
    async with app.run_test(size=(100, 30)) as pilot:
        for step in range(25):
            size = Size(*rng.choice(((100, 30), (61, 20), (120, 40), (99, 31), (44, 12))))
            app.post_message(events.Resize(size, size))
            app.post_message(events.Key(rng.choice(("down", "pagedown", "tab")), None))
            app.query_one("#counter", Static).update(f"{step} 漢字漢字")
            await asyncio.sleep(rng.choice((0, 0, 0.004, 0.01)))
        assert app.stale > 3

        def shown() -> tuple[list[str], list[str]]:
            strips = app.screen._compositor.render_strips()
            return [line.rstrip() for line in app.diffed.screen.display], [strip.text.rstrip() for strip in strips]

        for _ in range(60):
            await pilot.pause(0.05)
            terminal, drawn = shown()
            if terminal == drawn:
                break
        assert terminal == drawn


def frame(*lines: list[Strip], width: int = 20) -> LayoutUpdate:
    return LayoutUpdate(list(lines), Region(0, 0, width, len(lines)))


def strip(*parts: tuple[str, str]) -> Strip:
    return Strip([Segment(text, Style.parse(style)) for text, style in parts])


def update(model: TerminalModel, *lines: list[Strip]) -> str:
    return model.update(frame(*lines), ColorSystem.TRUECOLOR)


def test_random_strips_of_narrow_and_wide_characters() -> None:
    rng = random.Random(7)
    model, whole, diffed = TerminalModel(24, 3), Terminal(24, 3), Terminal(24, 3)
    styles = ["", "red", "bold", "on blue", "bold red on blue", "dim", "reverse", "underline green"]
    for _ in range(times(1000, 10_000)):
        lines = []
        for _ in range(3):
            cells, parts = 0, []
            while cells < 24:
                char = rng.choice("ab 漢字é" if cells < 23 else "ab ")
                parts.append(Segment(char, Style.parse(rng.choice(styles))))
                cells += 2 if char in "漢字" else 1
            cut = rng.randrange(1, 24)
            lines.append(list(Strip(parts).divide([cut, 24])) if rng.random() < 0.5 else [Strip(parts)])
        update_ = frame(*lines, width=24)
        for y, line in enumerate(lines, 1):
            whole.feed(f"\x1b[{y}H" + "".join(part.render(CONSOLE) for part in line))
        diffed.feed(model.update(update_, ColorSystem.TRUECOLOR))
        assert differences(diffed, whole) == []


def test_a_wide_character_is_not_cut_in_two_at_the_edge() -> None:
    """Of a frame that was laid out before the terminal shrank."""
    model = TerminalModel(5, 1)
    assert "漢" not in update(model, [strip(("abcd漢字", ""))])
    terminal = Terminal(5, 1)
    terminal.feed(update(model, [strip(("abcde", ""))]))
    assert terminal.screen.display == ["    e"]


def test_nothing_is_sent_twice() -> None:
    model = TerminalModel(20, 2)
    lines = [[strip(("hello 漢字", "red"), ("          ", "on blue"))], [strip((" " * 20, ""))]]
    assert update(model, *lines) != ""
    assert update(model, *lines) == ""


def test_only_the_changed_cells_are_sent() -> None:
    model = TerminalModel(20, 1)
    update(model, [strip(("aaaaaaaaaaaaaaaaaaaa", "red"))])
    sent = update(model, [strip(("aaaaXaaaaaaaaaaaaaYa", "red"))])
    assert sent == "\x1b[1;5H\x1b[31mX\x1b[13CY\x1b[0m"


def test_blanks_are_erased_where_the_terminal_can() -> None:
    text, blue = strip(("aaaaaaaaaaaaaaaaaaaa", "red")), strip(("a", "red"), (" " * 19, "green on blue"))
    for erases, blanks in ((True, "\x1b[19X"), (False, " " * 19)):
        model = TerminalModel(20, 1, erases=erases)
        update(model, [text])
        assert update(model, [blue]) == f"\x1b[1;2H\x1b[44m{blanks}\x1b[0m"
        assert update(model, [strip(("a", "red"), (" " * 19, "bold yellow on blue"))]) == "", "it looks the same"


def test_spans_are_sent_by_background() -> None:
    model = TerminalModel(20, 2)
    row = strip(("x" * 18, "on blue"), ("y" * 2, "on red"))
    assert update(model, [row], [row]).count("m") == 3, "a colour is set once for both rows"


def test_attributes_begin_and_end_by_themselves() -> None:
    model = TerminalModel(20, 1)
    sent = update(model, [strip(("aa", "red on blue"), ("bb", "bold red on blue"), ("c" * 16, "italic red on blue"))])
    assert sent == f"\x1b[1;1H\x1b[31;44maa\x1b[1mbb\x1b[0;3;31;44m{'c' * 16}\x1b[0m"


def test_rows_are_sent_whole_to_those_who_hear_them() -> None:
    model = TerminalModel(20, 2, whole_rows=True)
    update(model, [strip(("a" * 20, ""))], [strip(("b" * 20, ""))])
    assert update(model, [strip(("a" * 20, ""))], [strip(("b" * 19 + "c", ""))]) == "\x1b[2;1H" + "b" * 19 + "c"


def test_colours_change_without_a_reset() -> None:
    model = TerminalModel(20, 1)
    sent = update(model, [strip(("aa", "red on blue"), ("bb", "green on blue"), ("c" * 16, "green"))])
    assert sent == f"\x1b[1;1H\x1b[31;44maa\x1b[32mbb\x1b[49m{'c' * 16}\x1b[0m"


def test_only_the_look_counts() -> None:
    model = TerminalModel(20, 1)
    text = "x" * 20
    update(model, [Strip([Segment(text, Style.from_meta({"offset": (0, 0)}) + Style(bold=True))])])
    assert update(model, [Strip([Segment(text, Style.from_meta({"offset": (0, 9)}) + Style(bold=True))])]) == ""


def test_a_strip_that_lies_about_its_width_is_sent_as_it_is() -> None:
    model = TerminalModel(20, 1)
    lying = Strip([Segment("abc")], 20)
    assert "abc" in update(model, [lying])
    assert "abc" in update(model, [lying]), "what it covers is unknown, so it is sent again"
    assert "x" * 20 in update(model, [Strip([Segment("x" * 20)])])


def test_a_look_kept_from_span_to_span_ends_before_what_is_sent_as_it_is() -> None:
    model, terminal = TerminalModel(20, 3), Terminal(20, 3)
    red = strip(("r" * 20, "bold red link https://example.org"))
    terminal.feed(update(model, [red], [Strip([Segment("abc")], 20)], [red]))
    assert [terminal.screen.buffer[y][0].fg for y in range(3)] == ["red", "default", "red"]
    assert [terminal.screen.buffer[y][0].bold for y in range(3)] == [True, False, True]


@pytest.mark.parametrize("cluster", ["👩‍👩‍👧", "🏳️‍🌈", "👍🏽", "e\u0301", "☺️", "🇫🇷"])
def test_clusters_shift_nothing(cluster: str) -> None:
    width = Segment(cluster).cell_length
    model, terminal = TerminalModel(20, 1), Terminal(20, 1)
    tail = "|" + "abcdefghijklmnopqrst"[: 20 - 3 - width]
    terminal.feed(update(model, [strip(("ab" + cluster, ""), (tail, ""))]))
    shown = "".join(terminal.screen.buffer[0][x].data for x in range(2 + width, 20))
    assert shown == tail
    terminal.feed(update(model, [strip(("ab" + " " * width, ""), (tail, ""))]))
    assert terminal.screen.display[0] == "ab" + " " * width + tail
    terminal.feed(update(model, [strip(("ab" + cluster, ""), (tail, ""))]))
    shown = "".join(terminal.screen.buffer[0][x].data for x in range(2 + width, 20))
    assert shown == tail, "what the terminal drew over is sent again"


def test_off_for_other_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert textual.__version__ == diff_display.TEXTUAL_VERSION, "the diff reads private frames: review it, then move on"
    assert diff_supported()
    monkeypatch.setattr(diff_display, "is_textual", lambda version: False)
    assert not diff_supported()


APP = """
    import os
    from textual.app import App
    from textual.binding import Binding
    from textual.widgets import OptionList, TextArea
    from tui.diff_display import DiffDisplayApp
    class Demo(DiffDisplayApp[None]):
        BINDINGS = [Binding("ctrl+l", "redraw", priority=True), Binding("ctrl+e", "shell", priority=True),
                    Binding("ctrl+t", "fail", priority=True)]
        CSS = "TextArea { height: 10; } OptionList { height: 1fr; }"
        def compose(self):
            yield OptionList(*(f"option {i} the quick brown fox" for i in range(50)))
            area = TextArea("READY")
            area.cursor_blink = False
            yield area
        def action_shell(self):
            import subprocess
            with self.suspend():
                subprocess.run(["sh", "-c", "printf '\\\\033[2JOTHER PROGRAM\\\\n'"])
        def action_fail(self):
            class Broken:
                width, height = self.size
                def update(self, *_): raise ValueError("broken")
            self._terminal = Broken()
            self.screen.refresh()
    Demo.diff_display = os.environ.get("DIFF") != "0"
    Demo().run()
"""


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    path = tmp_path / "demo.py"
    path.write_text(textwrap.dedent(APP))
    return [sys.executable, str(path)]


def started(app: PtyApp) -> str:
    app.wait_for("READY")
    app.drain(0.4)
    return app.screen()


def test_in_a_real_terminal(script: list[str]) -> None:
    keys = [b"\x1b[B"] * 3 + [b"\t", b"h", b"i", b"\r", b"x"]
    seen: list[tuple[str, int]] = []
    for diff in ("0", "1"):
        with PtyApp(script, env={"DIFF": diff}) as app:
            started(app)
            total = sum(app.press(key).size for key in keys)
            seen.append((app.screen(), total))
    assert seen[0][0] == seen[1][0]
    assert "hi" in seen[1][0]
    assert seen[1][1] < seen[0][1] / 5


def blank(app: PtyApp) -> None:
    app.terminal.reset()
    app.terminal.resize(40, 120)
    assert app.screen().strip() == ""


def test_redraw_paints_a_cleared_terminal(script: list[str]) -> None:
    with PtyApp(script) as app:
        before = started(app)
        blank(app)
        app.press(b"\x0c")
        assert app.screen() == before


def test_resize_paints_everything(script: list[str]) -> None:
    with PtyApp(script) as app:
        started(app)
        app.resize(100, 30)
        app.drain(0.4, first=2)
        blank(app)
        app.resize(120, 40)
        app.drain(0.4, first=2)
        assert "READY" in app.screen() and "option 26" in app.screen()


def test_another_program_leaves_no_trace(script: list[str]) -> None:
    with PtyApp(script) as app:
        before = started(app)
        app.press(b"\x05", quiet=0.5, first=2)
        assert b"OTHER PROGRAM" in app.output
        assert app.screen() == before


def test_continuing_after_a_stop_paints_everything(script: list[str]) -> None:
    with PtyApp(script) as app:
        before = started(app)
        app.signal(signal.SIGSTOP)
        os.waitpid(app.pid, os.WUNTRACED)
        blank(app)
        app.signal(signal.SIGCONT)
        app.drain(0.5, first=2)
        assert app.screen() == before


def test_a_failure_falls_back_to_whole_frames(script: list[str]) -> None:
    with PtyApp(script) as app:
        before = started(app)
        app.press(b"\x14")
        assert app.screen() == before
        assert app.press(b"\x1b[B").size > 3000, "whole regions again"


def test_the_mixin_stays_out_of_headless_runs() -> None:
    class Headless(DiffDisplayApp[None]):
        def compose(self) -> ComposeResult:
            yield Static("text")

    async def run() -> None:
        app = Headless()
        async with app.run_test() as pilot:
            await pilot.pause()
            assert app._terminal is None

    asyncio.run(run())
