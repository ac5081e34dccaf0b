"""`config`: read and change the block config of an agent."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from engine.errors import WrongInput
from tui.commands.exchanging import apply_plan
from tui.commands.frame import (
    TargetGroup,
    branch_option,
    checked,
    raise_fault,
    read_text,
    warn,
    warn_of_doubt,
    with_workspace,
)
from tui.output import PROGRAM, message, write, write_json

if TYPE_CHECKING:
    from engine.document import Change
    from engine.session import Session
    from engine.workspace import Workspace

T = TypeVar("T")


@click.group(cls=TargetGroup, no_args_is_help=False)
@click.argument("story")
@click.argument("agent")
@branch_option
def config(story: str, agent: str, branch: str | None) -> None:
    """Read and change an agent's block config.

    Each change is loaded, made and saved as one step; those of other programs are kept. ID is a block's id as `blocks`
    lists it. A TEXT of - is read from standard input; before a TEXT that begins with a dash put --.

    \b
    Examples:
      stonehand config my-story generation.writer disable fragment-catalog
      stonehand config my-story generation.writer move prose-recent 1
      stonehand config my-story generation.writer mode instructions append 'Write in the past tense.'
      stonehand config my-story generation.writer add 'Word count' --role user --type script - < words.js
    """


def _target(branch: str | None) -> tuple[str, str, str | None]:
    """Story, agent and branch of a config command; its own `--branch` goes before that of `config`."""
    parent = click.get_current_context().parent
    given = parent.params if parent is not None else {}
    return given["story"], given["agent"], given["branch"] if branch is None else branch


def _reset_hint(story: str, agent: str) -> str:
    return f"repair the file, or start anew with '{PROGRAM} config {story} {agent} reset', which keeps a copy"


def _edit(workspace: Workspace, branch: str | None, change: Callable[[Session], T]) -> T:
    """Make a change and save it."""
    story, agent, branch = _target(branch)

    def on_valid(session: Session) -> T:
        raise_fault(session.document, _reset_hint(story, agent))
        lost = session.document.repeated_keys
        changed = change(session)
        for problem in lost if changed is not None else ():
            warn(problem)
        return changed

    return workspace.edit(story, agent, branch, on_valid)


def _report(as_json: bool, change: Change | None, **more: Any) -> None:
    if as_json:
        write_json({"changed": change is not None, **more})
    else:
        message("nothing changed" if change is None else f"{change.label}: saved")


def _add(workspace: Workspace, branch: str | None, add: Callable[[Session], str], as_json: bool) -> None:
    """Add a block and print its id; what is said of it goes to standard error, as for every other change."""

    def change(session: Session) -> tuple[str, str]:
        return add(session), session.document.undo_label or ""

    block, label = _edit(workspace, branch, change)
    if as_json:
        write_json({"changed": True, "id": block})
    else:
        message(f"{label}: saved")
        write(f"{block}\n")


@config.command("get")
@branch_option
@with_workspace
def get_config(workspace: Workspace, branch: str | None, as_json: bool) -> None:
    """Print the block config as it is on disk.

    Always as JSON; without a file it is the empty config.
    """
    story, agent, branch = _target(branch)
    warn_of_doubt(workspace, story, branch)
    raise_fault(workspace.document(story, agent, branch), _reset_hint(story, agent))
    write_json(workspace.saved_config(story, agent, branch))


@config.command()
@click.argument("block", metavar="ID")
@branch_option
@with_workspace
def enable(workspace: Workspace, block: str, branch: str | None, as_json: bool) -> None:
    """Switch a block on."""
    change = _edit(workspace, branch, lambda session: session.toggle(block, True))
    _report(as_json, change, id=block)


@config.command()
@click.argument("block", metavar="ID")
@branch_option
@with_workspace
def disable(workspace: Workspace, block: str, branch: str | None, as_json: bool) -> None:
    """Switch a block off."""
    change = _edit(workspace, branch, lambda session: session.toggle(block, False))
    _report(as_json, change, id=block)


@config.command()
@click.argument("block", metavar="ID")
@click.argument("position", type=click.IntRange(min=1))
@branch_option
@with_workspace
def move(workspace: Workspace, block: str, position: int, branch: str | None, as_json: bool) -> None:
    """Move a block inside its role.

    POSITION counts from 1, as the column POS of `blocks`. No other block changes places with its neighbours.
    """

    def change(session: Session) -> Change | None:
        row = session.row(block)
        count = sum(other.role == row.role for other in session.rows)
        if position > count:
            raise WrongInput(f"position {position} is too high: the {row.role} message has {count} blocks")
        return session.move(block, position - 1)

    _report(as_json, _edit(workspace, branch, change), id=block)


def _order(_context: click.Context, _parameter: click.Parameter, value: str) -> float | None:
    """`none` as None, anything else as a number."""
    if value == "none":
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise click.BadParameter(f"{value!r} is neither a number nor none")
    with suppress(ValueError):
        return int(value)  # not by way of a float, which would make another number of a large one
    return int(number) if number.is_integer() else number


def _number(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    if value == "none":
        raise click.BadParameter("a custom block always has an order of its own")
    return None if value is None else _order(context, parameter, value)


# A negative number is no option.
@config.command(context_settings={"ignore_unknown_options": True})
@click.argument("block", metavar="ID")
@click.argument("number", metavar="N|none", callback=_order)
@branch_option
@with_workspace
def order(workspace: Workspace, block: str, number: float | None, branch: str | None, as_json: bool) -> None:
    """Pin a block to a numeric order.

    The number wins over the place it was moved to; none takes the pin away.
    """
    change = _edit(workspace, branch, lambda session: session.pin_order(block, number))
    _report(as_json, change, id=block)


@config.command()
@click.argument("block", metavar="ID")
@click.argument("mode", type=click.Choice(["none", "prepend", "append", "override"]))
@click.argument("text", metavar="[TEXT|-]", required=False)
@branch_option
@with_workspace
def mode(workspace: Workspace, block: str, mode: Any, text: str | None, branch: str | None, as_json: bool) -> None:
    """Choose how a block's text is changed.

    TEXT stands before (prepend), after (append) or instead of (override) the default. Without TEXT the text stays
    as it is; `none` keeps it for later.
    """
    if mode == "none" and text is not None:
        raise WrongInput("mode none takes no text", repair=f"change the text with edit {block}")
    content = None if text is None else read_text(text)

    def change(session: Session) -> Change | None:
        return session.set_mode(block, None if mode == "none" else mode, content)

    _report(as_json, _edit(workspace, branch, change), id=block)


@config.command()
@click.argument("name")
@click.option("--role", type=click.Choice(["system", "user"]), required=True, help="The message it stands in.")
@click.option("--type", "kind", type=click.Choice(["simple", "script"]), required=True, help="Text, or JavaScript.")
@click.argument("text", metavar="[TEXT|-]", default="")
@branch_option
@with_workspace
def add(workspace: Workspace, name: str, role: Any, kind: Any, text: str, branch: str | None, as_json: bool) -> None:
    """Add a custom block and print its id.

    It becomes the last of its role.
    """
    content = read_text(text)
    _add(workspace, branch, lambda session: session.add(checked(name), role, kind, content), as_json)


@config.command()
@click.argument("block", metavar="ID")
@click.argument("text", metavar="TEXT|-")
@branch_option
@with_workspace
def edit(workspace: Workspace, block: str, text: str, branch: str | None, as_json: bool) -> None:
    """Replace the text of a block.

    The body of a custom block; of a built-in one the text that its mode adds or puts in its place.
    """
    content = read_text(text)
    change = _edit(workspace, branch, lambda session: session.set_text(block, content))
    _report(as_json, change, id=block)


@config.command()
@click.argument("block", metavar="ID")
@click.argument("name")
@branch_option
@with_workspace
def rename(workspace: Workspace, block: str, name: str, branch: str | None, as_json: bool) -> None:
    """Rename a custom block. Its id stays."""
    change = _edit(workspace, branch, lambda session: session.change(block, name=checked(name)))
    _report(as_json, change, id=block)


@config.command("set")
@click.argument("block", metavar="ID")
@click.option("--name", help="Its name; the id stays.")
@click.option("--role", type=click.Choice(["system", "user"]), help="The message it stands in.")
@click.option("--type", "kind", type=click.Choice(["simple", "script"]), help="Text, or JavaScript.")
@click.option("--order", "number", metavar="N", callback=_number, help="Its own order, where nothing else places it.")
@branch_option
@with_workspace
def set_block(
    workspace: Workspace,
    block: str,
    name: str | None,
    role: Any,
    kind: Any,
    number: float | None,
    branch: str | None,
    as_json: bool,
) -> None:
    """Change what a custom block is: name, role, type, own order."""
    if name is None and role is None and kind is None and number is None:
        raise WrongInput("nothing to change is given", repair="give --name, --role, --type or --order")

    def change(session: Session) -> Change | None:
        return session.change(block, name=None if name is None else checked(name), role=role, type=kind, order=number)

    _report(as_json, _edit(workspace, branch, change), id=block)


@config.command()
@click.argument("block", metavar="ID")
@branch_option
@with_workspace
def duplicate(workspace: Workspace, block: str, branch: str | None, as_json: bool) -> None:
    """Add a copy of a block behind it and print its id.

    Of a built-in block, its text as a block of your own.
    """
    _add(workspace, branch, lambda session: session.duplicate(block), as_json)


@config.command()
@click.argument("block", metavar="ID")
@branch_option
@with_workspace
def delete(workspace: Workspace, block: str, branch: str | None, as_json: bool) -> None:
    """Delete a custom block.

    A built-in one can only be disabled.
    """
    change = _edit(workspace, branch, lambda session: session.delete(block))
    _report(as_json, change, id=block)


@config.command()
@click.argument("name", metavar="TOOL")
@click.argument("state", type=click.Choice(["on", "off"]))
@branch_option
@with_workspace
def tool(workspace: Workspace, name: str, state: str, branch: str | None, as_json: bool) -> None:
    """Let the agent have a tool, or not."""
    known = workspace.agent(_target(branch)[1]).tools
    change = _edit(workspace, branch, lambda session: session.set_tool(name, state == "on", known))
    _report(as_json, change, id=name)


@config.command()
@click.argument("state", type=click.Choice(["on", "off"]))
@branch_option
@with_workspace
def analysis(workspace: Workspace, state: str, branch: str | None, as_json: bool) -> None:
    """Let the analysis run after a save, or not.

    For librarian.analyze, the only agent that runs by itself.
    """
    _report(as_json, _edit(workspace, branch, lambda session: session.set_auto_analysis(state == "on")))


@config.command()
@click.argument("block", metavar="[ID]", required=False)
@click.option("--dry-run", is_flag=True, help="Without ID: tell what it would drop, and change nothing.")
@click.option("--yes", is_flag=True, help="Without ID: do it without asking.")
@branch_option
@with_workspace
def reset(workspace: Workspace, block: str | None, dry_run: bool, yes: bool, branch: str | None, as_json: bool) -> None:
    """Go back to the defaults.

    With ID, drops all that is overridden about that block. Without ID, drops the whole config, custom blocks too, which
    is told, and asked about, before it is done; an invalid config is replaced by the empty one without asking, and a
    copy of the file is kept beside it. `import STORY --undo` takes the reset of a whole config back.
    """
    if block is not None:
        if dry_run:
            raise WrongInput("--dry-run is for the whole config", repair="leave out ID, or --dry-run")
        change = _edit(workspace, branch, lambda session: session.reset(block))
        _report(as_json, change, id=block)
        return
    story, agent, branch = _target(branch)
    branch = workspace.story(story).branch_to_write(branch).id
    if workspace.document(story, agent, branch).fault is None:
        apply_plan(workspace, lambda: workspace.exchange.plan_reset(story, agent, branch), dry_run, yes, as_json)
        return
    if dry_run:
        raise_fault(workspace.document(story, agent, branch), _reset_hint(story, agent))
    copy = workspace.exchange.reset_invalid(story, agent, branch)
    if as_json:
        write_json({"changed": True, "copy": str(copy)})
    else:
        message(f"reset {agent}: saved; the invalid file was kept as {copy}")
