"""The command line as a real process: what it loads, pipes, signals, terminals, several at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.stories import config_file, custom_block, make_story

ROOT = Path(__file__).resolve().parents[2]
WRITER = "generation.writer"
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and closed streams as on Unix")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "tui", *map(str, arguments)]


def environment(data: Path, **more: str) -> Mapping[str, str]:
    state = str(data.parent / "state")
    return {**os.environ, "STONEHAND_DATA": str(data), "STONEHAND_STATE": state, "PYTHONPATH": str(ROOT), **more}


def start(data: Path, *arguments: object, **options: object) -> subprocess.Popen[bytes]:
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(command(*arguments), env=environment(data), cwd=data, **given)


def run(data: Path, *arguments: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    process = start(data, *arguments, **options)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


LOADED = """
import sys
try:
    {work}
except SystemExit as end:
    assert not end.code, end.code
print(*sorted(name for name in {watched} if name in sys.modules), file=sys.stderr)
"""
HEAVY = ("textual", "rich", "wasmtime", "quickjs_rs", "watchfiles", "httpx", "tree_sitter", "tui.app")


@pytest.mark.parametrize(
    "work",
    [
        "import engine; engine.Workspace",
        "from tui.cli import cli; cli.main(['compile', 'the-quay'])",
        "from tui.cli import cli; cli.main(['blocks', 'the-quay', 'generation.writer'])",
        "from tui.cli import cli; cli.main(['config', 'the-quay', 'generation.writer', 'disable', 'tools'])",
        "from tui.cli import cli; cli.main(['generate', 'the-quay', '--input', 'x', '--pace', '0'])",
        "from tui.cli import cli; cli.main(['providers', 'list'])",
        "from tui.cli import cli; cli.main(['--help'])",
    ],
    ids=("engine", "compile", "blocks", "config", "generate", "providers", "help"),
)
def test_nothing_heavy_is_loaded(data: Path, work: str) -> None:
    make_story(data)
    code = LOADED.format(work=work, watched=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], env=environment(data), capture_output=True, check=True)
    assert done.stderr.splitlines()[-1].strip() == b""


EDITOR = """
import asyncio, sys
from pathlib import Path
from engine.workspace import Workspace
from tui.app import StonehandApp

async def main():
    app = StonehandApp(Workspace(Path(sys.argv[1])))
    async with app.run_test() as pilot:
        while app.desk is None or app.desk.session is None:
            await pilot.pause(0.05)
        await pilot.press("p")
        await pilot.pause(0.2)
    app.workspace.close()

asyncio.run(main())
print(*sorted(name for name in ("httpx", "httpcore") if name in sys.modules))
"""


def test_the_editor_loads_no_http_client_until_a_provider_is_called(data: Path) -> None:
    make_story(data)
    done = subprocess.run(
        [sys.executable, "-c", EDITOR, str(data)], env=environment(data), capture_output=True, check=True
    )
    assert done.stdout.split() == []


def test_the_script_engine_is_loaded_for_a_script(data: Path) -> None:
    block = custom_block("cb-aaaa", "return 'from a script'", type="script")
    make_story(data, configs={WRITER: {"customBlocks": [block], "overrides": {}, "blockOrder": []}})
    code = LOADED.format(work="from tui.cli import cli; cli.main(['compile', 'the-quay'])", watched=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], env=environment(data), capture_output=True, check=True)
    assert done.stderr.splitlines()[-1] == b"wasmtime"
    assert b"from a script" in done.stdout


def test_edits_of_several_processes_at_once_are_all_kept(data: Path) -> None:
    story = make_story(data)
    texts = [[f"text {process}-{edit}" for edit in range(3)] for process in range(4)]
    shell = "import sys\nfrom tui.cli import cli\nfor text in sys.argv[1:]:\n    try:\n        cli.main({call})\n" + (
        "    except SystemExit as end:\n        if end.code:\n            raise\n"
    )
    call = f"['config', 'the-quay', '{WRITER}', 'add', text, '--role', 'user', '--type', 'simple', text]"
    code = shell.format(call=call)
    editors = [
        subprocess.Popen([sys.executable, "-c", code, *mine], env=environment(data), stdout=subprocess.PIPE)
        for mine in texts
    ]
    printed = [editor.communicate(timeout=120)[0].decode().split() for editor in editors]
    assert [editor.returncode for editor in editors] == [0] * 4
    saved = json.loads(config_file(story).read_bytes())["customBlocks"]
    assert sorted(block["content"] for block in saved) == sorted(text for mine in texts for text in mine)
    assert sorted(block["id"] for block in saved) == sorted(block for mine in printed for block in mine)


def test_output_is_utf8_whatever_the_locale(data: Path) -> None:
    make_story(data, name="Ünïcode 漢字")
    more = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command("stories"), env=environment(data, **more), cwd=data, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Ünïcode 漢字".encode() in done.stdout


@POSIX
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_error(data: Path, monkeypatch: pytest.MonkeyPatch, unbuffered: str) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    make_story(data, prose=["word " * 200_000])
    process = start(data, "compile", "the-quay")
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.read(10)
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr.read() == b""


@POSIX
@pytest.mark.parametrize("pace", ["20", "0"])
def test_a_reader_that_goes_away_from_a_passage_is_told_of(data: Path, pace: str) -> None:
    story = make_story(data)
    chain = (story / "branches" / "main" / "prose-chain.json").read_bytes()
    ours, theirs = os.pipe()
    process = start(data, "generate", "the-quay", "--input", "Go on.", "--pace", pace, "--save", stdout=theirs)
    os.close(theirs)
    if pace != "0":
        assert os.read(ours, 5)
    os.close(ours)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err == b"stonehand: whoever read standard output has gone; the passage was not saved\n"
    assert (story / "branches" / "main" / "prose-chain.json").read_bytes() == chain


@POSIX
def test_a_passage_that_was_saved_is_named_when_its_reader_has_gone(data: Path) -> None:
    story = make_story(data)
    ours, theirs = os.pipe()
    process = start(data, "generate", "the-quay", "--input", "Go on.", "--pace", "0", "--save", "--json", stdout=theirs)
    os.close(theirs)
    os.close(ours)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    saved, gone = err.decode().splitlines()
    entries = json.loads((story / "branches" / "main" / "prose-chain.json").read_bytes())["entries"]
    assert saved.startswith(f"stonehand: saved as {entries[-1]['active']}, log ")
    assert gone == "stonehand: whoever read standard output has gone"


@POSIX
def test_an_interrupt_of_a_script_is_told_of(data: Path) -> None:
    make_story(data)
    process = start(data, "eval", "the-quay", "-", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"// more than a pipe holds: it is being read\n" * 5_000 + b"for (;;);")
    process.stdin.close()
    process.send_signal(signal.SIGINT)
    process.stdin = None
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"stonehand: stopped\n")


@POSIX
def test_a_full_disk_is_an_error(data: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    make_story(data)
    with full.open("wb") as out:
        done = run(data, "compile", "the-quay", stdout=out)
    assert done.returncode == 1
    assert done.stderr.startswith(b"stonehand: standard output can't be written: ") and done.stderr.count(b"\n") == 1


@POSIX
def test_closed_streams(data: Path) -> None:
    make_story(data)
    for redirection, code, told in (
        ("compile the-quay <&-", 0, b""),
        (f"config the-quay {WRITER} edit tools - <&-", 2, b"standard input is closed"),
        ("compile the-quay >&-", 1, b"standard output is closed"),
        ("compile no-such-story 2>&-", 1, b""),
    ):
        line = f'"{sys.executable}" -m tui {redirection}'
        done = subprocess.run(["sh", "-c", line], env=environment(data), cwd=data, capture_output=True)
        assert (done.returncode, told in done.stderr) == (code, True), (redirection, done)
        assert b"Traceback" not in done.stderr and (told or not done.stderr)


@POSIX
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_keeps_the_text_so_far_and_saves_nothing(data: Path, sent: signal.Signals, code: int) -> None:
    story = make_story(data)
    chain = (story / "branches" / "main" / "prose-chain.json").read_bytes()
    process = start(data, "generate", "the-quay", "--input", "Go on.", "--pace", "5", "--save")
    assert process.stdout is not None
    assert process.stdout.read(5)
    process.send_signal(sent)
    rest, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err == b"stonehand: stopped; nothing was saved\n"
    assert rest.endswith(b"\n")
    assert (story / "branches" / "main" / "prose-chain.json").read_bytes() == chain


@POSIX
def test_a_terminal_is_shown_inert_text(data: Path) -> None:
    import pty

    make_story(data, name="\x1b]0;owned\x07 story", prose=["red \x1b[31m alert \x9b5n"])
    for arguments, shown in ((("compile", "the-quay"), "red ␛[31m alert �5n"), (("stories",), "␛]0;owned␇ story")):
        ours, theirs = pty.openpty()
        process = start(data, *arguments, stdout=theirs, stderr=theirs)
        os.close(theirs)
        seen = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
        os.close(ours)
        assert process.wait(60) == 0
        assert shown in seen.decode("utf-8")
        assert b"\x1b" not in seen and b"\x07" not in seen
