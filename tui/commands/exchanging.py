"""`export`, `import` and `copy`: block configs on their way from one place to another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.errors import StonehandError, WrongInput
from tui.commands.frame import Command, branch_option, full_agent, warn, with_workspace
from tui.output import PROGRAM, inert, message, one_line, write, write_json

if TYPE_CHECKING:
    from engine.exchange import Import
    from engine.workspace import Workspace


@click.command("export", cls=Command)
@click.argument("story")
@click.argument("agent", required=False)
@branch_option
@with_workspace
def export(workspace: Workspace, story: str, agent: str | None, branch: str | None, as_json: bool) -> None:
    """Print a block config as a bundle.

    Always as JSON, in the format that `import` and Errata read. Without AGENT the configs of all agents that have one.

    \b
    Examples:
      stonehand export my-story generation.writer > writer.json
      stonehand export my-story --branch main > configs.json
    """
    if agent is None:
        write_json(workspace.exchange.export_story(story, branch))
    else:
        write_json(workspace.exchange.export_agent(story, agent, branch))


@click.command("import", cls=Command)
@click.argument("story")
@click.argument("target", metavar="[AGENT]", required=False)
@click.argument("file", metavar="FILE|-", required=False)
@click.option("--dry-run", is_flag=True, help="Tell what it would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--undo", is_flag=True, help="Take the last import, copy or reset in the branch back.")
@branch_option
@with_workspace
def import_bundle(
    workspace: Workspace,
    story: str,
    target: str | None,
    file: str | None,
    dry_run: bool,
    yes: bool,
    undo: bool,
    branch: str | None,
    as_json: bool,
) -> None:
    """Replace block configs by those of a bundle.

    With AGENT one config, else those of all agents the bundle names. A config is replaced whole: what the bundle does
    not say becomes the default. What changes is told, and asked about, before it is done. Script blocks arrive switched
    off: read them, then switch them on. --undo puts back what the last import replaced.

    \b
    Examples:
      stonehand export old-story generation.writer > writer.json
      stonehand import new-story generation.writer writer.json
      stonehand import new-story --undo
    """
    if undo:
        if target is not None or file is not None:
            raise WrongInput("--undo takes the whole import back and names no agent and no file")
        names = workspace.exchange.take_back(story, branch)
        if as_json:
            write_json({"changed": True, "agents": list(names)})
        else:
            message(f"the last import was taken back: {', '.join(names)}")
        return
    if file is None:
        target, file = None, target  # the one argument is the file
    if file is None:
        raise WrongInput("no file is named", repair=f"{PROGRAM} import STORY [AGENT] FILE; - is standard input")
    agent = full_agent(workspace, target) if target is not None else None
    data, name = _read(file)
    apply_plan(workspace, workspace.exchange.plan_import(story, data, name, agent, branch), dry_run, yes, as_json)


@click.command("copy", cls=Command)
@click.argument("story")
@click.argument("agent")
@click.option("--to-story", metavar="STORY", help="The story to copy to; the same one by default.")
@click.option(
    "--to-branch", metavar="B", help="The branch to copy to; by default the same, or that story's active one."
)
@click.option("--to-agent", metavar="AGENT", help="The agent to copy to; the same one by default.")
@click.option("--dry-run", is_flag=True, help="Tell what it would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@branch_option
@with_workspace
def copy(
    workspace: Workspace,
    story: str,
    agent: str,
    to_story: str | None,
    to_branch: str | None,
    to_agent: str | None,
    dry_run: bool,
    yes: bool,
    branch: str | None,
    as_json: bool,
) -> None:
    """Copy a block config to another place.

    It replaces the config of the other agent, branch or story whole. What changes is told, and asked about, before it
    is done; `import STORY --undo` takes it back.

    \b
    Example:
      stonehand copy my-story generation.writer --to-story other-story
    """
    target_story = story if to_story is None else to_story
    target_branch = to_branch if to_branch is not None or target_story != story else branch
    target_agent = agent if to_agent is None else to_agent
    here = workspace.story(story).branch(branch).id
    there = workspace.story(target_story).branch(target_branch).id
    if (story, here, agent) == (target_story, there, target_agent):
        raise WrongInput("that is the same config", repair="name another agent, branch or story to copy to")
    plan = workspace.exchange.plan_copy((story, branch, agent), target_story, target_agent, target_branch)
    apply_plan(workspace, plan, dry_run, yes, as_json)


def _read(file: str) -> tuple[bytes, Path]:
    if file == "-":
        if sys.stdin is None:
            raise WrongInput("standard input is closed", repair="name a file instead of -")
        return sys.stdin.buffer.read(), Path("standard input")
    try:
        return Path(file).read_bytes(), Path(file)
    except OSError as error:
        raise StonehandError(f"can't be read: {(error.strerror or str(error)).lower()}", file=Path(file)) from None


def apply_plan(workspace: Workspace, plan: Import, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Tell what a plan changes, ask, and do it. Raises `WrongInput` where nobody can be asked and `yes` is missing."""
    for note in plan.notes:
        warn(note)
    if not as_json:
        _tell(plan)
    ask = plan.changed and not dry_run and not yes
    if ask:
        if as_json or sys.stdin is None or not sys.stdin.isatty():
            raise WrongInput("nothing was changed: configs would be replaced", repair="say --yes if it is meant")
        click.confirm(f"Do this in {plan.story}, branch {plan.branch}?", abort=True, err=True)
    if not dry_run:
        workspace.exchange.carry_out(plan)
    if as_json:
        write_json({"changed": bool(plan.changed) and not dry_run, "notes": list(plan.notes), "agents": _as_json(plan)})
    elif plan.changed and not dry_run:
        message(f"done; '{PROGRAM} import {plan.story} --branch {plan.branch} --undo' takes it back")


def _tell(plan: Import) -> None:
    if not plan.changed:
        message("nothing changes")
    lines = []
    for item in plan.changed:
        lines.append(item.agent)
        lines += [f"  {one_line(change)}" for change in item.changes]
        if item.disarmed:
            names = ", ".join(map(repr, item.disarmed))
            lines.append(f"  scripts are off until you have read them and switched them on: {one_line(names)}")
    if lines:
        write(inert("\n".join(lines) + "\n"))


def _as_json(plan: Import) -> list[dict[str, Any]]:
    return [
        {"agent": item.agent, "changes": list(item.changes), "scriptsOff": list(item.disarmed)} for item in plan.agents
    ]
