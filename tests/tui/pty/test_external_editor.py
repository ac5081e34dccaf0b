"""Lending the terminal to an editor: exact bytes, a live app, clear errors, nothing lost."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import stat
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.app import App

from engine.errors import StonehandError
from tests.tui.pty.harness import PtyApp
from tui.external_editor import edit_text, editor_command

TEXT = "one\r\ntwo\u2028three\x0c\ttab\x85\u202e漢字\ud800 no newline at the end"

APP = """
    import json, sys
    from textual.app import App
    from textual.binding import Binding
    from textual.widgets import Static
    from engine.errors import StonehandError
    from tui.diff_display import DiffDisplayApp
    from tui.external_editor import edit_text
    OUT, TEXT = sys.argv[1], json.loads(sys.argv[2])
    class Demo(DiffDisplayApp[None]):
        BINDINGS = [Binding("e", "edit"), Binding("q", "quit")]
        ticks = 0
        def compose(self):
            yield Static("READY", id="state")
            yield Static("", id="ticks")
        def on_mount(self): self.set_interval(0.02, self.tick)
        def tick(self):
            self.ticks += 1
            self.query_one("#ticks", Static).update(f"tick {self.ticks % 7}")
        def action_edit(self): self.run_worker(self.edit(), exit_on_error=False)
        async def edit(self):
            before = self.ticks
            try:
                result = await edit_text(self, TEXT, ".md")
                found = {"result": result}
            except StonehandError as error:
                found = {"error": str(error)}
            found["ticks"] = self.ticks - before
            with open(OUT, "w") as file: json.dump(found, file)
            self.query_one("#state", Static).update("BACK")
    Demo().run()
"""


@pytest.fixture
def edit(tmp_path: Path) -> Callable[..., dict[str, object]]:
    """Press `e` in an app whose editor is the Python program `body`, which has the file's path in `path`."""

    def run(body: str, *, text: str = TEXT, during: Callable[[PtyApp], None] | None = None) -> dict[str, object]:
        app_file, editor, out = tmp_path / "app.py", tmp_path / "my editor.py", tmp_path / "out.json"
        app_file.write_text(textwrap.dedent(APP))
        editor.write_text("import sys, os, time, pathlib\npath = pathlib.Path(sys.argv[-1])\n" + textwrap.dedent(body))
        (tmp_path / "tmp").mkdir(exist_ok=True)
        env = {"EDITOR": f"'{sys.executable}' '{editor}' --flag", "VISUAL": "", "TMPDIR": str(tmp_path / "tmp")}
        with PtyApp([sys.executable, str(app_file), str(out), json.dumps(text)], env=env) as app:
            app.wait_for("READY")
            app.write("e")
            if during:
                during(app)
            app.wait_for("BACK")
            screen = app.wait_for(lambda screen: "tick" in screen)
            assert "READY" not in screen and "IN EDITOR" not in screen
            app.write("q")
            assert app.wait() == 0
        found: dict[str, object] = json.loads(out.read_text())
        return found

    return run


def kept(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "tmp").iterdir())


def test_exact_bytes_both_ways(edit: Callable[..., dict[str, object]], tmp_path: Path) -> None:
    found = edit(
        """
        import json
        mode = path.stat().st_mode & 0o777
        data = path.read_bytes()
        pathlib.Path(__file__).with_name("seen.json").write_text(json.dumps([mode, data.hex(), path.suffix]))
        path.write_bytes(b"new\\r\\n" + data)
        """
    )
    assert found["result"] == "new\r\n" + TEXT
    mode, data, suffix = json.loads((tmp_path / "seen.json").read_text())
    assert stat.S_IMODE(mode) == 0o600 and suffix == ".md"
    assert bytes.fromhex(data) == TEXT.encode("utf-8", "surrogatepass")
    assert kept(tmp_path) == []


def test_no_change(edit: Callable[..., dict[str, object]]) -> None:
    assert edit("pass")["result"] is None


@pytest.mark.parametrize(
    ("text", "added", "result"),
    [("abc", "\\n", None), ("abc", "d\\n", "abcd"), ("abc", "\\n\\n", "abc\n\n"), ("abc\n", "\\n", "abc\n\n")],
)
def test_the_newline_an_editor_adds(
    edit: Callable[..., dict[str, object]], text: str, added: str, result: str | None
) -> None:
    assert edit(f"path.open('ab').write(b'{added}')", text=text)["result"] == result


def test_the_app_lives_and_ctrl_c_is_the_editors(edit: Callable[..., dict[str, object]]) -> None:
    def during(app: PtyApp) -> None:
        app.wait_for("IN EDITOR")
        start = len(app.output)
        app.write(b"\x03")
        app.drain(0.3, first=0.3)
        assert b"tick" not in bytes(app.output[start:]), "nothing is painted over the editor"
        app.write("saved\n")

    found = edit(
        """
        import signal
        signal.signal(signal.SIGINT, lambda *_: print("got ctrl+c", flush=True))
        print("IN EDITOR", flush=True)
        path.write_text(input())
        """,
        during=during,
    )
    assert found["result"] == "saved"
    assert isinstance(found["ticks"], int) and found["ticks"] > 3


def test_the_keyboard_is_handed_over_and_taken_back(edit: Callable[..., dict[str, object]]) -> None:
    """Terminals that report every key in the Kitty protocol would send the editor what it can't read."""
    marks: list[bytes] = []

    def during(app: PtyApp) -> None:
        app.wait_for("IN EDITOR")
        app.drain(0.2)
        marks.append(bytes(app.output))
        app.resize(60, 15)
        app.write("saved\n")
        app.wait_for("BACK")
        marks.append(bytes(app.output)[len(marks[0]) :])
        assert "BACK" in app.screen().split("\n")[0] and len(app.screen().split("\n")) == 15
        app.press("e")
        app.wait_for("IN EDITOR")
        app.write("again\n")

    edit("print('IN EDITOR', flush=True); path.write_text(input())", during=during)
    before, after = marks
    assert before.rindex(b"\x1b[<u") > before.rindex(b"\x1b[>25u"), "popped while the editor runs"
    assert before.rindex(b"\x1b[?1049l") > before.rindex(b"\x1b[?1049h") and b"\x1b[?25h" in before
    assert b"\x1b[?1003l" in before and b"\x1b[?2004l" in before
    assert b"\x1b[>25u" in after and b"\x1b[?1049h" in after and b"\x1b[?1003h" in after and b"\x1b[?2004h" in after


def test_an_editor_that_stops_where_no_shell_could_continue_it(edit: Callable[..., dict[str, object]]) -> None:
    found = edit(
        """
        import signal
        os.kill(os.getpid(), signal.SIGSTOP)
        path.write_text("went on")
        """
    )
    assert found["result"] == "went on"


@pytest.mark.parametrize("stop", ["os.kill(os.getpid(), signal.SIGSTOP)", "os.kill(0, signal.SIGTSTP)"])
def test_ctrl_z_in_the_editor_stops_the_program_with_it(tmp_path: Path, stop: str) -> None:
    """Whether an editor stops itself or its whole job, the shell has the terminal then, and `fg` continues both."""
    if shutil.which("bash") is None:
        pytest.skip("needs a shell with job control")
    app_file, editor, out = tmp_path / "app.py", tmp_path / "editor.py", tmp_path / "out.json"
    app_file.write_text(textwrap.dedent(APP))
    editor.write_text(
        f"import os, signal, sys\n{stop}\nprint('WENT ON', flush=True)\nopen(sys.argv[1], 'w').write(input())"
    )
    env = {"EDITOR": f"'{sys.executable}' '{editor}'", "VISUAL": "", "PS1": "SHELL> ", "TMPDIR": str(tmp_path)}
    with PtyApp(["bash", "--norc", "--noprofile", "-i"], env=env) as app:
        app.wait_for("SHELL>")
        app.write(f"'{sys.executable}' '{app_file}' '{out}' '\"text\"'\n")
        app.wait_for("READY")
        app.write("e")
        app.wait_for(lambda screen: "Stopped" in screen and screen.rstrip().endswith("SHELL>"))
        app.write("fg\n")
        app.wait_for("WENT ON")
        app.write("written\n")
        app.wait_for("BACK")
        app.write("q")
        app.wait_for("SHELL>")
        app.write("exit\n")
    assert json.loads(out.read_text())["result"] == "written"


def test_a_failing_editor_changes_nothing_and_keeps_its_text(
    edit: Callable[..., dict[str, object]], tmp_path: Path
) -> None:
    found = edit("path.write_text('half done'); sys.exit(3)")
    (path,) = kept(tmp_path)
    assert path.read_text() == "half done"
    assert found["error"] == f"the editor ended with code 3, so nothing was changed; what it wrote is in {path}"


def test_an_abandoned_edit(edit: Callable[..., dict[str, object]], tmp_path: Path) -> None:
    assert edit("sys.exit(1)")["error"] == "the editor ended with code 1, so nothing was changed"
    assert kept(tmp_path) == []


def test_not_utf8(edit: Callable[..., dict[str, object]], tmp_path: Path) -> None:
    found = edit("path.write_bytes(b'caf\\xe9')")
    (path,) = kept(tmp_path)
    assert "not UTF-8" in str(found["error"]) and str(path) in str(found["error"])


def test_nul_characters(edit: Callable[..., dict[str, object]], tmp_path: Path) -> None:
    found = edit("path.write_bytes('text'.encode('utf-16-le'))")
    (path,) = kept(tmp_path)
    assert "NUL" in str(found["error"]) and str(path) in str(found["error"])
    path.unlink()
    found = edit("path.write_bytes(path.read_bytes() + b'x')", text="a\0b")
    assert found["result"] == "a\0bx", "what the text had before it may keep"


def test_an_emptied_file(edit: Callable[..., dict[str, object]]) -> None:
    assert edit("path.write_text('')")["result"] == ""


def test_a_deleted_file(edit: Callable[..., dict[str, object]]) -> None:
    assert "can't be read" in str(edit("path.unlink()")["error"])


# --- without a terminal


def test_visual_before_editor() -> None:
    command = editor_command({"VISUAL": sys.executable, "EDITOR": "nothing", "PATH": os.defpath})
    assert command == [sys.executable]


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "no external editor is set — set the environment variable VISUAL or EDITOR"),
        ({"EDITOR": "  "}, "no external editor is set"),
        ({"EDITOR": "vi 'unbalanced"}, "EDITOR can't be read: No closing quotation"),
        ({"VISUAL": "surely-no-such-editor -w"}, "VISUAL names the editor 'surely-no-such-editor', which is not there"),
    ],
)
def test_clear_errors(environ: dict[str, str], message: str) -> None:
    with pytest.raises(StonehandError) as caught:
        editor_command({"PATH": os.defpath, **environ})
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_graphical_editors_are_waited_for(tmp_path: Path) -> None:
    program = tmp_path / "code"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environ = {"PATH": str(tmp_path)}
    assert editor_command({**environ, "EDITOR": "code -n"}) == [str(program), "-n", "--wait"]
    assert editor_command({**environ, "EDITOR": "code -w"}) == [str(program), "-w"]


async def test_a_terminal_that_cannot_be_lent() -> None:
    app: App[None] = App()
    async with app.run_test():
        with pytest.raises(StonehandError, match="can't be lent"):
            await edit_text(app, "text", environ={"EDITOR": sys.executable, "PATH": os.defpath})


def test_cancelled_while_the_editor_runs(tmp_path: Path) -> None:
    """The terminal stays the editor's until it ends, and its file stays."""
    from tui import external_editor

    async def run() -> float:
        loop = asyncio.get_running_loop()
        editor = asyncio.create_task(asyncio.to_thread(external_editor._call, [sys.executable, "-c", SLEEP]))
        waiting = asyncio.create_task(external_editor._finished(editor))
        await asyncio.sleep(0.05)
        waiting.cancel()
        start = loop.time()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert editor.done()
        return loop.time() - start

    assert asyncio.run(run()) > 0.2


SLEEP = "import time; time.sleep(0.6)"


def test_interrupts_are_back_to_normal() -> None:
    from tui import external_editor

    before = signal.getsignal(signal.SIGINT)
    with external_editor._interrupts_ignored():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before
