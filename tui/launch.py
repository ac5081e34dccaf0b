"""The entry point `stonehand`: opens the editor itself, and leaves everything else to the command line.

The command line's parser takes a fifth of the time the editor needs to appear, so it is loaded only for commands.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from engine.errors import StonehandError, WrongInput
from tui import collector
from tui.output import FAILED, INTERRUPTED, PROGRAM, WRONG_USAGE, OutputClosed, message


def main() -> NoReturn:
    """Open the editor for no argument or a folder, else run a command; exits with the code of either."""
    arguments = sys.argv[1:]
    # Looking for plugins of pydantic, which has none here, reads the metadata of every installed distribution.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if arguments and not (len(arguments) == 1 and is_path(arguments[0])):
        from tui.cli import cli

        cli.main()
    try:
        code = open_editor(Path(arguments[0]).expanduser() if arguments else None)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        code = told(error)
    sys.exit(code)


def is_path(argument: str) -> bool:
    """Whether an argument can only mean a folder: no command is written like this."""
    marks = [mark for mark in (os.sep, os.altsep) if mark]
    return argument.startswith(("~", ".")) or any(mark in argument for mark in marks)


def open_editor(data: Path | None) -> int:
    """Open the editor on the folder given, or on the one there is; its exit code. Raises `StonehandError`."""
    from engine.library import find_data

    collector.hold()  # released by the main screen, when it is filled
    found = find_data(data)
    if not has_terminal():
        raise StonehandError("the editor needs a terminal", repair=f"{PROGRAM} -h lists the commands that need none")
    from tui.settings import read_settings
    from tui.terminal import prepare_environ

    settings = read_settings(os.environ)
    profile = prepare_environ(chosen=settings.values)  # before Textual is imported, which reads its settings then
    from tui.app import run_editor

    return run_editor(found, profile, settings)


def has_terminal() -> bool:
    # Textual reads standard input and draws on standard error.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def told(error: Exception) -> int:
    """Tell the person what went wrong, in one line; returns the exit code."""
    if isinstance(error, OutputClosed):
        return FAILED
    if isinstance(error, StonehandError):
        from tui.language import of_error

        message(of_error(error))
        return WRONG_USAGE if isinstance(error, WrongInput) else FAILED
    message(crashed(error))
    return FAILED


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def crashed(error: BaseException) -> str:
    """Write down where the program failed; returns what to tell the person, in the language of the interface."""
    import traceback

    from engine.folders import state_folder
    from tui.language import of_engine, t

    log = state_folder() / "crash.log"
    details = t("app.fault-log", file=log)
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(log, "a", encoding="utf-8", errors="backslashreplace", opener=_private) as file:
            file.write("".join(traceback.format_exception(error)) + "\n")
    except OSError as reason:
        details = t("app.fault-no-log", file=log, reason=of_engine(reason.strerror or str(reason)))
    return t("app.fault", error=f"{type(error).__name__}: {error}", details=details)
