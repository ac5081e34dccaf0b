"""What a bench runs in a process of its own: `python -m tests.bench.child WHAT ARGUMENTS`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def cold(data: Path, first: str) -> None:
    """Print the seconds of a first compile and of reading and parsing the same files; `first` says what comes first."""
    from engine.workspace import Workspace
    from tests.bench.engine import INPUT, STORY, WRITER, read_and_parse, story_files

    files = story_files(data)

    def compiling() -> float:
        begin = time.perf_counter()
        workspace = Workspace(data)
        workspace.prompt(STORY, WRITER, None, INPUT)
        seconds = time.perf_counter() - begin
        workspace.close()
        return seconds

    def reading() -> float:
        begin = time.perf_counter()
        read_and_parse(files)
        return time.perf_counter() - begin

    if first == "compiling":
        compiled, read = compiling(), reading()
    else:
        read, compiled = reading(), compiling()
    print(json.dumps([compiled, read]))


def memory(data: Path) -> None:
    """Print the peak memory before and after a story was loaded and compiled."""
    from engine.workspace import Workspace
    from tests.bench.engine import INPUT, STORY, WRITER
    from tests.bench.measure import peak_memory

    before = peak_memory()
    workspace = Workspace(data)
    workspace.prompt(STORY, WRITER, None, INPUT)
    print(json.dumps([before, peak_memory()]))
    workspace.close()


def bare() -> None:
    """Run the smallest Textual app there is to compare with: one line of text."""
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("bare-and-painted")

    Bare().run()


def stream(data: Path, tokens_per_second: float, tokens: int) -> None:
    """Run the editor on `data`, with a wire that streams a long passage at a pace of its own."""
    import engine.workspace.door
    from engine.models.wire.base import Wire
    from engine.prompt import Prompt
    from engine.workspace.wires import Wires
    from tests.bench.terminal import StreamingWire
    from tui import app

    class Streaming(Wires):
        def of(
            self,
            prompt: Prompt,
            provider: str | None = None,
            *,
            model: str | None = None,
            words_per_second: float | None = None,
        ) -> Wire:
            return StreamingWire(tokens, tokens_per_second)

    engine.workspace.door.Wires = Streaming  # type: ignore[misc]
    sys.exit(app.run_editor(data))


def main(arguments: list[str]) -> None:
    what, *rest = arguments
    if what == "cold":
        cold(Path(rest[0]), rest[1])
    elif what == "memory":
        memory(Path(rest[0]))
    elif what == "bare":
        bare()
    elif what == "stream":
        stream(Path(rest[0]), float(rest[1]), int(rest[2]))
    else:
        sys.exit(f"there is no {what!r} to run")


if __name__ == "__main__":
    main(sys.argv[1:])
