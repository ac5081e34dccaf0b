"""The command line: the engine without the editor, for scripts, CI and diffing. `stonehand [DIR]` opens the editor.

Source: design, "The command line". Textual is loaded to open the editor and for nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import click

from engine import __version__
from engine.errors import WrongInput
from tui.commands import (
    branching,
    chatting,
    comparing,
    configuring,
    examining,
    exchanging,
    generating,
    looking,
    models,
    runs,
)
from tui.commands.frame import Call, Group, data_option
from tui.launch import is_path, open_editor, told
from tui.output import DONE, FAILED, INTERRUPTED, PROGRAM, WRONG_USAGE, message


class Program(Group):
    """The program: a first argument that names no command is the folder to open; every error is one line."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is not None or name.startswith("-"):
            return super().resolve_command(ctx, args)
        if not name:
            raise click.BadParameter("the name is empty", ctx, param_hint="DIR")
        if is_path(name) or Path(name).exists():
            return open_folder.name, open_folder, args
        close = get_close_matches(name.casefold(), self.commands, 1)
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
        except Exception as error:
            code = told(error)
        sys.exit(code)


def _usage(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx is not None else PROGRAM
    # The parser lists choices on lines of their own.
    text = error.format_message().replace("\n\t", " ").rstrip(".")
    return f"{text} — see {command} -h"


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

    A story may be named by the beginning of its id or name, an agent by a part of its name (writer), if only one is
    meant.

    \b
    Results go to standard output, messages to standard error.
    Exit codes: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        return open_editor(context.ensure_object(Call).data)
    return None


cli.params.append(data_option())


@click.command("DIR", add_help_option=False)
@click.argument("folder", metavar="DIR")
@click.pass_obj
def open_folder(call: Call, folder: str) -> int:
    """Open the editor on a data folder; reached by naming the folder."""
    if call.data is not None:
        raise WrongInput("the data folder is given twice: with --data and as DIR")
    return open_editor(Path(folder).expanduser())


for _command in (
    looking.stories,
    looking.list_agents,
    looking.list_blocks,
    looking.compile_prompt,
    comparing.diff,
    looking.evaluate,
    examining.doctor,
    configuring.config,
    exchanging.export,
    exchanging.import_bundle,
    exchanging.copy,
    branching.branch,
    models.model,
    models.providers,
    generating.generate,
    chatting.chat,
    runs.runs,
):
    cli.add_command(_command)
