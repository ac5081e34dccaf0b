"""`export`, `import` and `copy`: block configs on their way from one place to another."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.errors import WrongInput
from tui.commands.frame import Call, Command, branch_option, full_agent, read_data, warn, warn_of_doubt, with_workspace
from tui.output import DONE, FAILED, PROGRAM, inert, message, one_line, write, write_json

if TYPE_CHECKING:
    from engine.workspace import Workspace
    from engine.workspace.exchange import AgentImport, Import, LeftAlone, TakingBack


@click.command("export", cls=Command)
@click.argument("story")
@click.argument("agent", required=False)
@branch_option
@with_workspace
def export(workspace: Workspace, story: str, agent: str | None, branch: str | None, as_json: bool) -> int:
    """Print a block config as a bundle.

    Always as JSON, in the format that `import` and Errata read. Without AGENT the configs of all agents that have one;
    a config that is not valid is left out and named on standard error, and the exit code is 1.

    \b
    Examples:
      stonehand export my-story generation.writer > writer.json
      stonehand export my-story --branch main > configs.json
    """
    warn_of_doubt(workspace, story, branch)
    if agent is not None:
        write_json(workspace.exchange.export_agent(story, agent, branch))
        return DONE
    for unknown in workspace.exchange.unknown_configs(story, branch):
        warn(f"{unknown}: there is no agent {unknown.stem}: its config was left out")
    exported = workspace.exchange.export_story(story, branch)
    for problem in exported.left_out:
        warn(f"left out: {problem}")
    write_json(exported.bundle)
    return FAILED if exported.left_out else DONE


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
) -> int:
    """Replace block configs by those of a bundle.

    With AGENT one config, else those of all agents the bundle names. A config is replaced whole: what the bundle does
    not say becomes the default, except keys that this program does not know, which stay. What changes is told, and
    asked about, before it is done. Script blocks arrive switched off: read them, then switch them on. A file that is no
    valid config is replaced, too: a copy of it is kept, and named. Imports at the same time wait for each other.

    --undo puts back what the last import, copy or reset replaced. A config that was changed since is left alone, and
    the file that holds its earlier version is named; the exit code is then 1.

    \b
    Examples:
      stonehand export old-story generation.writer > writer.json
      stonehand import new-story generation.writer writer.json
      stonehand import new-story --undo
    """
    if undo:
        if target is not None or file is not None:
            raise WrongInput("--undo takes the whole import back and names no agent and no file")
        return _take_back(workspace, workspace.exchange.plan_take_back(story, branch), dry_run, yes, as_json)
    if file is None:
        target, file = None, target  # the one argument is the file
    if file is None:
        raise WrongInput("no file is named", repair=f"{PROGRAM} import STORY [AGENT] FILE; - is standard input")
    agent = full_agent(workspace, target) if target is not None else None
    data, name = _read(file)
    exchange = workspace.exchange
    apply_plan(workspace, lambda: exchange.plan_import(story, data, name, agent, branch), dry_run, yes, as_json)
    return DONE


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

    It replaces the config of the other agent, branch or story whole; what is said of blocks another agent does not have
    is left out. What changes is told, and asked about, before it is done; `import STORY --undo` takes it back.

    \b
    Example:
      stonehand copy my-story generation.writer --to-story other-story
    """
    target_story = story if to_story is None else to_story
    target_branch = to_branch if to_branch is not None or target_story != story else branch
    target_agent = agent if to_agent is None else to_agent
    here = workspace.story(story).branch(branch).id
    there = workspace.story(target_story).branch_to_write(target_branch).id
    if (story, here, agent) == (target_story, there, target_agent):
        raise WrongInput("that is the same config", repair="name another agent, branch or story to copy to")
    warn_of_doubt(workspace, story, branch)
    source, exchange = (story, branch, agent), workspace.exchange
    apply_plan(
        workspace, lambda: exchange.plan_copy(source, target_story, target_agent, target_branch), dry_run, yes, as_json
    )


def _read(file: str) -> tuple[bytes, Path]:
    if file == "-":
        if sys.stdin is None:
            raise WrongInput("standard input is closed", repair="name a file instead of -")
        return sys.stdin.buffer.read(), Path("standard input")
    return read_data(Path(file)), Path(file)


def apply_plan(workspace: Workspace, make: Callable[[], Import], dry_run: bool, yes: bool, as_json: bool) -> None:
    """Make a plan, tell what it changes, ask, and do it; with `yes` it is told of what was done.

    Raises `WrongInput` where nobody can be asked and `yes` is missing.
    """
    kept: dict[str, Path] = {}
    if yes and not dry_run:
        plan, kept = workspace.exchange.carry_out_anew(make)
    else:
        plan = make()
    for note in plan.notes:
        warn(note)
    if not as_json:
        _tell(plan)
    if plan.changed and not dry_run and not yes:
        ask(f"Do this in {plan.story}, branch {plan.branch}?", "configs would be replaced", as_json)
        kept = workspace.exchange.carry_out(plan)
    for item in plan.changed:
        if item.invalid is not None and item.agent in kept:
            message(f"the file of {item.agent} as it was is kept: {kept[item.agent]}")
    if as_json:
        write_json({"changed": bool(plan.changed) and not dry_run, "notes": list(plan.notes), "agents": _as_json(plan)})
    elif plan.changed and not dry_run:
        message(f"done; '{PROGRAM} import {plan.story} --branch {plan.branch} --undo' takes it back")


def ask(question: str, would: str, as_json: bool) -> None:
    """Ask, and end the command on a no. Raises `WrongInput`, with what the command `would` do, where nobody can be."""
    if as_json or sys.stdin is None or not sys.stdin.isatty():
        raise WrongInput(f"nothing was changed: {would}", repair="say --yes if it is meant")
    click.confirm(question, abort=True, err=True)


def _take_back(workspace: Workspace, plan: TakingBack, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Tell what is put back, ask, and do it; the exit code says whether that is all of it."""
    if not as_json:
        _write_changes((item.agent, item.changes) for item in plan.agents)
    asked = bool(plan.agents) and not dry_run and not yes
    if dry_run or asked:
        for other in plan.changed:
            warn(f"{other.file}: has changed since, so it is left alone")
    if asked:
        ask(f"Put this back in {plan.story}, branch {plan.branch}?", "configs would be put back", as_json)
    left = () if dry_run else workspace.exchange.take_back(plan)
    names = [item.agent for item in plan.agents if item.agent not in {other.agent for other in left}]
    if as_json:
        places = {item.agent: None if item.copy is None else str(item.copy) for item in left}
        write_json(
            {
                "changed": bool(names) and not dry_run,
                "agents": names,
                "left": [
                    {"agent": item.agent, "file": str(item.file), "before": places.get(item.agent)}
                    for item in (plan.changed if dry_run else left)
                ],
            }
        )
    elif names and not dry_run:
        message(f"put back: {', '.join(names)}")
    for item in left:
        warn(f"{item.file}: has changed since, so it was left alone; {_earlier(plan, item)}")
    return FAILED if left else DONE


def _earlier(plan: TakingBack, item: LeftAlone) -> str:
    """How to have a config again as it was before the import."""
    if item.copy is None:
        command = f"{PROGRAM} config {plan.story} {item.agent} reset --branch {plan.branch}{_data()}"
        return f"before, it was the default: '{command}'"
    copy = shlex.quote(str(item.copy))
    command = f"{PROGRAM} import {plan.story} {item.agent} {copy} --branch {plan.branch}{_data()}"
    return f"the version before is kept: {command}"


def _data() -> str:
    """`--data` as this command was given it, for another one."""
    data = click.get_current_context().ensure_object(Call).data
    return "" if data is None else f" --data {shlex.quote(str(data))}"


def _tell(plan: Import) -> None:
    if not plan.changed:
        message("nothing changes")
    _write_changes((item.agent, (*item.changes, *_scripts_off(item))) for item in plan.changed)


def _scripts_off(item: AgentImport) -> Iterator[str]:
    if item.disarmed:
        names = ", ".join(map(repr, item.disarmed))
        yield f"scripts are off until you have read them and switched them on: {names}"


def _write_changes(agents: Iterable[tuple[str, Iterable[str]]]) -> None:
    lines = []
    for agent, changes in agents:
        lines += [agent, *(f"  {one_line(change)}" for change in changes)]
    if lines:
        write(inert("\n".join(lines) + "\n"))


def _as_json(plan: Import) -> list[dict[str, Any]]:
    return [
        {"agent": item.agent, "changes": list(item.changes), "scriptsOff": list(item.disarmed)} for item in plan.agents
    ]
