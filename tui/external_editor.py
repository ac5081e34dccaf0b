"""Editing a text in the user's own editor while the app waits, asleep, behind it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from engine.errors import StonehandError
from tui.language import t

STOP_PAUSE = 0.2
"""Seconds in which an editor that stops its job, us included, is let go on again by the shell."""

# Graphical editors that return at once unless they are asked to wait.
_WAIT = dict.fromkeys(("code", "code-insiders", "codium", "cursor", "zed", "subl", "mate"), "--wait")


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """The editor's command line, without a file: VISUAL, else EDITOR.

    Raises StonehandError when none is set, the setting can't be read or there is no such program.
    """
    name = next((name for name in ("VISUAL", "EDITOR") if environ.get(name, "").strip()), None)
    if name is None:
        raise StonehandError(t("external.none"), repair=t("external.how"))
    try:
        command = shlex.split(environ[name], posix=os.name != "nt")
    except ValueError as error:
        raise StonehandError(t("external.unreadable", name=name, error=error), repair=t("external.how")) from None
    if os.name == "nt":
        command = [part.strip('"') for part in command]
    program = shutil.which(command[0], path=environ.get("PATH"))
    if program is None:
        fault = t("external.not-there", name=name, program=command[0])
        raise StonehandError(fault, repair=t("external.how"))
    wait = _WAIT.get(Path(program).stem)
    if wait is not None and not {wait, "-w"} & set(command):
        command.append(wait)
    return [program, *command[1:]]


async def edit_text(
    app: App[Any], text: str, suffix: str = ".md", environ: Mapping[str, str] | None = None
) -> str | None:
    """Let the user edit `text` in their editor; the new text, or None when it is the same.

    No newline or character is translated on the way. When `text` does not end in a newline and the result ends in
    exactly one, that one is the editor's, and dropped. `suffix` tells the editor the language. The app's event loop
    goes on meanwhile, but nothing is painted. `environ` is the process's by default.

    Raises StonehandError, with the path of the text when there is something to keep, if there is no editor, the
    terminal can't be lent, or the editor fails.
    """
    command = editor_command(os.environ if environ is None else environ)
    original = text.encode("utf-8", "surrogatepass")
    path = keep_text(text, suffix)
    keep = False
    try:
        code = await _run_suspended(app, [*command, str(path)])
        try:
            edited = path.read_bytes()
        except OSError as error:
            fault = t("external.file-unreadable", error=error.strerror)
            raise StonehandError(fault, file=path, repair=t("external.again")) from None
        if code != 0:
            keep = edited != original
            raise StonehandError(t("external.failed-kept" if keep else "external.failed", code=code, file=path))
        try:
            result = edited.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            keep = True
            raise StonehandError(t("external.not-utf8"), file=path, repair=t("external.convert")) from None
        if "\0" in result and "\0" not in text:
            keep = True
            raise StonehandError(t("external.nul"), file=path, repair=t("external.save-utf8"))
        if not text.endswith("\n") and result.endswith("\n") and not result.endswith("\n\n"):
            result = result.removesuffix("\n").removesuffix("\r")
        return None if result == text else result
    except asyncio.CancelledError:
        keep = True
        raise
    finally:
        if not keep:
            path.unlink(missing_ok=True)


async def edit_file(app: App[object], file: Path, environ: Mapping[str, str] | None = None) -> None:
    """Let the user edit a file in place, in their own editor. Raises StonehandError as `edit_text` does."""
    command = editor_command(os.environ if environ is None else environ)
    code = await _run_suspended(app, [*command, str(file)])
    if code != 0:
        raise StonehandError(t("external.file-failed", code=code), file=file)


def keep_text(text: str, suffix: str) -> Path:
    """A new file, readable by its owner only, with `text`."""
    descriptor, name = tempfile.mkstemp(prefix="stonehand-", suffix=suffix)
    with open(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "surrogatepass"))
    return Path(name)


async def _run_suspended(app: App[Any], command: list[str]) -> int:
    """Run `command` on the terminal; its exit code.

    `suspend` gives the terminal away, and takes it back only when its block ends without an exception. `batch_update`
    keeps everything from painting: a paint would wait for the terminal forever (spec terminal, section 0.8).
    """
    failure: BaseException | None = None
    code = 0
    try:
        with app.suspend(), app.batch_update(), _interrupts_ignored():
            try:
                code = await _finished(asyncio.create_task(asyncio.to_thread(_call, command)))
            except BaseException as error:
                failure = error
    except SuspendNotSupported:
        raise StonehandError(t("external.not-lent"), repair=t("external.here")) from None
    if isinstance(failure, OSError):
        raise StonehandError(t("external.not-started", program=command[0], error=failure.strerror)) from None
    if failure is not None:
        raise failure
    return code


def _call(command: list[str]) -> int:
    if os.name == "nt":
        return subprocess.run(command, check=False).returncode
    process = subprocess.Popen(command)
    while True:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode
        _share_stop(process.pid)


def _share_stop(editor: int) -> None:
    """The editor was stopped, by ctrl+z in it: stop with it, or the shell would wait for us and we for the editor.

    An editor that stops its whole job has stopped us too, and both go on when the shell says so. Where there is no
    shell that could let the job go on, the editor does at once.
    """
    time.sleep(STOP_PAUSE)
    if os.getsid(0) == os.getpgrp():
        os.kill(editor, signal.SIGCONT)
    elif os.waitid(os.P_PID, editor, os.WCONTINUED | os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(STOP_PAUSE)  # this thread may run on for a moment, and the editor must not before the shell says so
        os.kill(editor, signal.SIGCONT)


async def _finished(editor: asyncio.Task[int]) -> int:
    """Wait for the editor even when cancelled: until it ends, the terminal is its own."""
    cancelled = False
    while not editor.done():
        try:
            await asyncio.shield(editor)
        except asyncio.CancelledError:
            cancelled = True
        except OSError:
            break
    if cancelled:
        raise asyncio.CancelledError
    return editor.result()


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ctrl+c in the editor reaches every program of the terminal: it is the editor's, not ours.

    A handler that does nothing, unlike SIG_IGN, is not inherited by the editor.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
