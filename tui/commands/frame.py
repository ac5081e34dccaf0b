"""What every command has: its options, the open data folder, texts from the outside."""

from __future__ import annotations

import concurrent.futures
import functools
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Concatenate, Final, NoReturn, ParamSpec, TypeVar

import click

from engine.errors import InvalidFile, NotFound, Problem, StonehandError, WrongInput
from tui.output import INTERRUPTED, message

if TYPE_CHECKING:
    from engine.document import Document
    from engine.workspace import Workspace

T = TypeVar("T")
P = ParamSpec("P")

WRITER = "generation.writer"
POLL = 0.1
"""Seconds between two looks for Ctrl+C while waiting, which Windows does not interrupt."""
INPUT_HELP = "The author's direction; - reads it from standard input."


@dataclass
class Call:
    """What the options before a command's name said."""

    data: Path | None = None
    as_json: bool = False


def _remember_data(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    call = context.ensure_object(Call)
    if value is not None:
        if not value:
            raise click.BadParameter("the name is empty", context)
        call.data = Path(value)


def data_option() -> click.Option:
    """`--data`, which may stand before and behind a command's name; the last one counts."""
    return click.Option(
        ["--data"],
        metavar="DIR",
        expose_value=False,
        callback=_remember_data,
        help="The data folder: the one that holds stories/.",
    )


def _json_option(**attributes: Any) -> click.Option:
    """`--json`, which may stand before and behind a command's name."""

    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
        call = context.ensure_object(Call)
        call.as_json = call.as_json or value
        return call.as_json

    help = "Print one JSON document and nothing else."
    return click.Option(["--json", "as_json"], is_flag=True, callback=remember, help=help, **attributes)


class Command(click.Command):
    """A command with `--data`, and with `--json` as its function's `as_json`."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self.params += [_json_option(), data_option()]


class Group(click.Group):
    """A group that lists its commands in the order they are defined in."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class TargetGroup(Group):
    """A group with arguments of its own, which say what its commands work on.

    Its options, `--json` and `--data` among them, may stand before, between and behind the arguments.
    """

    def __init__(self, name: str | None = None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self.params += [_json_option(expose_value=False), data_option()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._options_first(ctx, args))

    def _options_first(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        # The parser ends the group's part at its first argument, or would take the options of its commands as well.
        options = {
            name: not item.is_flag for item in self.params if isinstance(item, click.Option) for name in item.opts
        }
        arguments = sum(isinstance(item, click.Argument) for item in self.params)
        first: list[str] = []
        others: list[str] = []
        left = iter(args)
        for given in left:
            name, equals, _ = given.partition("=")
            if name in options:
                first.append(given)
                if options[name] and not equals:
                    value = next(left, None)
                    if value is None:
                        raise click.BadOptionUsage(name, f"Option {name!r} requires an argument", ctx)
                    first.append(value)
                continue
            others.append(given)
            if given.startswith("-") or len(others) > arguments:
                break  # what is not the group's, or the command's name: the rest is the command's
        return [*first, *others, *left]


def with_workspace(function: Callable[Concatenate[Workspace, P], T]) -> Callable[P, T]:
    """Give a command the data folder as its first argument, open for as long as it runs.

    Its arguments that name a story or an agent, and those of the group it belongs to, may be shortened.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        from engine.library import find_data
        from engine.workspace import Workspace

        context = click.get_current_context()
        call = context.ensure_object(Call)
        # Unsaved edits belong to the editor that journalled them: a command sees and changes what is saved.
        workspace = Workspace(find_data(call.data), journal=False)
        try:
            for given in (kwargs, context.parent.params if context.parent is not None else {}):
                _lengthen(workspace, given)
            return function(workspace, *args, **kwargs)
        except KeyboardInterrupt:
            message("stopped")
            raise click.exceptions.Exit(INTERRUPTED) from None
        finally:
            workspace.close()

    return run


class Terminated(KeyboardInterrupt):
    """SIGTERM came: the program is to end."""


@contextmanager
def terminable() -> Iterator[None]:
    """While inside, SIGTERM raises `Terminated`, so that a command can say what it leaves."""

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def waited(future: concurrent.futures.Future[T]) -> T:
    """What a future gives, waiting for it so that Ctrl+C is noticed on every system."""
    while not future.done():
        concurrent.futures.wait((future,), POLL)
    return future.result()


def _lengthen(workspace: Workspace, given: dict[str, Any]) -> None:
    for key, full in _LENGTHENED.items():
        if isinstance(given.get(key), str):
            given[key] = full(workspace, given[key])


def full_story(workspace: Workspace, given: str) -> str:
    """The id of the story that is meant by the beginning of its id or name, when only one is.

    What means none is returned as it is. Raises `WrongInput` naming the stories that could be meant.
    """
    stories = workspace.stories()
    if any(story.id == given for story in stories):
        return given
    wanted = given.casefold()
    meant = [story.id for story in stories if wanted in (story.id.casefold(), story.name.casefold())]
    if not meant:
        meant = [story.id for story in stories if _begins(wanted, story.id, story.name)]
    return _one(given, meant, "story")


def full_agent(workspace: Workspace, given: str) -> str:
    """The name of the agent that is meant by a part of its name between dots or its title, as `full_story`."""
    names = {definition.name: definition.display_name for definition in workspace.definitions()}
    if given in names:
        return given
    wanted = given.casefold()
    meant = [name for name, title in names.items() if wanted in (name.rpartition(".")[2], title.casefold())]
    if not meant:
        meant = [name for name, title in names.items() if _begins(wanted, name, name.rpartition(".")[2], title)]
    return _one(given, meant, "agent")


def full_role(workspace: Workspace, given: str) -> str:
    """As `full_agent`, but a role that agents inherit from stays as it is, such as `librarian`."""
    if any(definition.name.startswith(f"{given}.") for definition in workspace.definitions()):
        return given
    return full_agent(workspace, given)


_LENGTHENED: Final[Mapping[str, Callable[[Workspace, str], str]]] = {
    "story": full_story,
    "to_story": full_story,
    "agent": full_agent,
    "to_agent": full_agent,
    "agent_or_role": full_role,
}
"""Parameters that may be shortened."""


def _begins(wanted: str, *names: str) -> bool:
    return bool(wanted) and any(name.casefold().startswith(wanted) for name in names)


def _one(given: str, meant: list[str], kind: str) -> str:
    if len(meant) > 1:
        raise WrongInput(f"{given!r} could be more than one {kind}", repair=f"say which: {', '.join(meant)}")
    return meant[0] if meant else given


branch_option = click.option("--branch", metavar="B", help="A branch by its id; the active one by default.")
fragment_option = click.option(
    "--fragment",
    metavar="ID",
    help="What the prompt is about: the fragment to refine, analyze, transform or talk to. Left out, "
    "librarian.analyze takes the newest passage, as a run does.",
)


def checked(given: str) -> str:
    """A text of the command line. Raises `WrongInput` for bytes that are no text."""
    try:
        given.encode("utf-8")
    except UnicodeEncodeError:
        raise WrongInput("an argument is not UTF-8 text", repair="give it as UTF-8") from None
    return given


def read_text(given: str) -> str:
    """A TEXT argument; `-` reads standard input to its end, changing nothing. Raises `WrongInput`."""
    if given != "-":
        return checked(given)
    if sys.stdin is None:
        raise WrongInput("standard input is closed", repair="give the text itself instead of -")
    try:
        data = sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        raise StonehandError(f"standard input can't be read: {error}") from None
    return _decoded(data, "standard input")


def read_file(file: Path) -> str:
    """The text of a file the user named. Raises `NotFound`, `StonehandError` and `WrongInput`."""
    return _decoded(read_data(file), str(file))


LARGEST_FILE = 64 * 2**20
"""Bytes of a file that the user names: a hundred times the largest config there is, and nowhere near the memory."""


def read_data(file: Path) -> bytes:
    """The bytes of a file the user named; a pipe is read too, as a shell's `<(…)` is one.

    Raises `NotFound`, and `StonehandError` for a device, a file that is too large or one that can't be read.
    """
    try:
        mode = file.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISDIR(mode)):
            raise StonehandError("is not a regular file", file=file, repair="name a file, or - for standard input")
        with file.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise NotFound("there is no such file", file=file) from None
    except OSError as error:
        raise StonehandError(f"can't be read: {(error.strerror or str(error)).lower()}", file=file) from None
    if len(data) > LARGEST_FILE:
        raise StonehandError(f"is larger than {LARGEST_FILE >> 20} MiB", file=file, repair="see whether it is meant")
    return data


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WrongInput(f"{source} is not UTF-8 text (line {line})", repair="save it as UTF-8") from None


def warn(problem: Problem | str) -> None:
    """Tell of something that did not stand in the way."""
    message(f"warning: {problem}")


def warn_of_doubt(workspace: Workspace, story: str, branch: str | None) -> None:
    """Tell a command that reads, and was given no branch, that it may not be the active one that it shows."""
    if branch is None and (found := workspace.story(story).branches()).doubt is not None:
        warn(replace(found.doubt, repair=f"{found.active} was used; --branch names another"))


def raise_fault(document: Document, repair: str = "") -> None:
    """Raise `InvalidFile` when the config's file is invalid."""
    if (fault := document.fault) is not None:
        raise InvalidFile.of(fault, repair)


def ended(text: str) -> str:
    """`text` ending with a newline."""
    return text if text.endswith("\n") or not text else text + "\n"
