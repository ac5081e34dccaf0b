"""The command line: the engine without the editor, for scripts, CI and diffing. `stonehand [DIR]` opens the editor.

Source: design, "The command line". Textual is loaded to open the editor and for nothing else.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import click

from engine import __version__
from engine.errors import StonehandError, WrongInput
from tui.commands import configuring, generating, looking
from tui.commands.frame import DONE, FAILED, INTERRUPTED, WRONG_USAGE, Call, Group, data_option
from tui.output import PROGRAM, OutputClosed, message


class Program(Group):
    """The program: a first argument that names no command is the folder to open; every error is one line."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is not None or name.startswith("-"):
            return super().resolve_command(ctx, args)
        looks_like_path = name.startswith(("~", ".")) or any(mark in name for mark in (os.sep, os.altsep) if mark)
        if looks_like_path or Path(name).is_dir():
            return open_folder.name, open_folder, args
        close = get_close_matches(name, self.commands, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise click.UsageError(f"there is no command and no folder {name!r}{hint}", ctx)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run, report what went wrong, and exit, whatever `standalone_mode` says.

        Exit codes: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted.
        """
        # Passed on, so that click on Windows does not take a text with a star for file names.
        given = list(sys.argv[1:] if args is None else args)
        try:
            outcome = super().main(given, prog_name or PROGRAM, complete_var, standalone_mode=False, **extra)
            code = outcome if isinstance(outcome, int) else DONE
        except click.UsageError as error:
            message(_usage(error))
            code = WRONG_USAGE
        except click.ClickException as error:
            message(error.format_message())
            code = FAILED
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except OutputClosed:
            code = FAILED
        except StonehandError as error:
            message(str(error))
            code = WRONG_USAGE if isinstance(error, WrongInput) else FAILED
        except Exception as error:
            message(_crashed(error))
            code = FAILED
        sys.exit(code)


def _usage(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx is not None else PROGRAM
    return f"{error.format_message().rstrip('.')} — see {command} -h"


def _crashed(error: Exception) -> str:
    """Write down where the program failed; returns what to tell the person."""
    from engine.library import state_folder

    log = state_folder() / "crash.log"
    details = f"details in {log}"
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write("".join(traceback.format_exception(error)) + "\n")
    except OSError as reason:
        details = f"no details: {log} can't be written ({reason.strerror})"
    return f"{type(error).__name__}: {error} — this is a bug; {details}"


@click.group(
    PROGRAM, cls=Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> int | None:
    """The blocks of an LLM prompt: see them, arrange them, read what is sent.

    \b
      stonehand                   open the editor
      stonehand DIR               open the editor on a data folder
      stonehand COMMAND ARGS…     work without the editor

    A data folder holds stories/. Without --data it is the one STONEHAND_DATA names, else the current folder if it holds
    stories, else your own, which starts with a sample story.

    \b
    Results go to standard output, messages to standard error.
    Exit codes: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        return _open_editor(context.ensure_object(Call).data)
    return None


cli.params.append(data_option())


@click.command("DIR", add_help_option=False)
@click.argument("folder", metavar="DIR")
@click.pass_obj
def open_folder(call: Call, folder: str) -> int:
    """Open the editor on a data folder; reached by naming the folder."""
    if call.data is not None:
        raise WrongInput("the data folder is given twice: with --data and as DIR")
    return _open_editor(Path(folder).expanduser())


def _open_editor(data: Path | None) -> int:
    from engine.library import find_data

    found = find_data(data)
    if not _has_terminal():
        raise StonehandError("the editor needs a terminal", repair=f"{PROGRAM} -h lists the commands that need none")
    from tui.terminal import prepare_environ

    profile = prepare_environ()  # before Textual is imported, which reads its settings then
    from tui.app import run_editor

    return run_editor(found, profile)


def _has_terminal() -> bool:
    # Textual reads standard input and draws on standard error.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


for _command in (
    looking.stories,
    looking.list_agents,
    looking.list_blocks,
    looking.compile_prompt,
    looking.evaluate,
    looking.doctor,
    configuring.config,
    generating.generate,
):
    cli.add_command(_command)


def main() -> NoReturn:
    """The entry point `stonehand`."""
    cli.main()
