"""`branch`: the branches of a story."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from engine.errors import WrongInput
from tui.commands.frame import TargetGroup, checked, with_workspace
from tui.output import message, table, write, write_json

if TYPE_CHECKING:
    from engine.story import StoryFolder
    from engine.workspace import Workspace


@click.group(cls=TargetGroup, no_args_is_help=False)
@click.argument("story")
def branch(story: str) -> None:
    """List, make, choose, rename and delete a story's branches.

    A branch is a full copy of another one: prose, fragments, block configs. B is a branch's id.

    \b
    Examples:
      stonehand branch my-story list
      stonehand branch my-story create 'What if she stays' --after 12
      stonehand branch my-story switch main
    """


def _story(workspace: Workspace) -> StoryFolder:
    parent = click.get_current_context().parent
    return workspace.story(parent.params["story"] if parent is not None else "")


@branch.command("list")
@with_workspace
def list_branches(workspace: Workspace, as_json: bool) -> None:
    """List the branches; the active one is marked."""
    found = _story(workspace).branches()
    for problem in found.problems:
        message(f"warning: {problem}")
    if as_json:
        write_json(
            [
                {
                    "id": item.id,
                    "name": item.name,
                    "active": item.id == found.active,
                    "parent": item.parent,
                    "createdAt": item.created_at,
                }
                for item in found.all
            ]
        )
        return
    rows = [
        ("*" if item.id == found.active else "", item.id, item.parent or "", item.created_at[:10], item.name)
        for item in found.all
    ]
    write(table(("", "ID", "FROM", "SINCE", "NAME"), rows))


@branch.command()
@click.argument("name")
@click.option("--from", "parent", metavar="B", help="The branch to copy; the active one by default.")
@click.option("--after", type=click.IntRange(min=1), help="Keep the sections up to this one, counted from 1.")
@with_workspace
def create(workspace: Workspace, name: str, parent: str | None, after: int | None, as_json: bool) -> None:
    """Copy a branch, make the copy the active one and print its id.

    Sections that are cut stay in the copy as fragments.
    """
    folder = _story(workspace)
    if after is not None:
        count = len(folder.snapshot(parent).chain.entries)
        if after > count:
            raise WrongInput(f"there is no section {after}", repair=f"the branch has {count}")
    made = folder.create_branch(checked(name), parent, None if after is None else after - 1)
    if as_json:
        write_json({"id": made.id, "name": made.name, "parent": made.parent})
    else:
        write(f"{made.id}\n")


@branch.command()
@click.argument("branch_id", metavar="B")
@with_workspace
def switch(workspace: Workspace, branch_id: str, as_json: bool) -> None:
    """Make a branch the active one."""
    folder = _story(workspace)
    found = folder.branches()
    changed = found.active != folder.branch(branch_id).id or found.doubt is not None
    if changed:
        folder.switch_branch(branch_id)
    _report(as_json, changed, f"{branch_id} is the active branch" if changed else f"{branch_id} is active already")


@branch.command()
@click.argument("branch_id", metavar="B")
@click.argument("name")
@with_workspace
def rename(workspace: Workspace, branch_id: str, name: str, as_json: bool) -> None:
    """Give a branch another name. Its id stays."""
    folder = _story(workspace)
    before = folder.branch(branch_id).name
    folder.rename_branch(branch_id, checked(name))
    changed = folder.branch(branch_id).name != before
    _report(as_json, changed, f"{branch_id} is named {folder.branch(branch_id).name}")


@branch.command()
@click.argument("branch_id", metavar="B")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@with_workspace
def delete(workspace: Workspace, branch_id: str, yes: bool, as_json: bool) -> None:
    """Delete a branch with all its prose, fragments and configs. This can't be undone.

    Of the active branch, main takes the place; main itself can't be deleted.
    """
    folder = _story(workspace)
    found = folder.branch(branch_id)
    if not yes and found.deletable:
        if not sys.stdin.isatty() or as_json:
            raise WrongInput(f"deleting {branch_id} can't be undone", repair="say --yes if it is meant")
        count = len(folder.snapshot(branch_id).fragments)
        click.confirm(f"Delete {found.name!r} with its {count} fragments? This can't be undone.", abort=True, err=True)
    folder.delete_branch(branch_id)
    _report(as_json, True, f"{branch_id} is deleted; {folder.branches().active} is the active branch")


def _report(as_json: bool, changed: bool, text: str) -> None:
    if as_json:
        write_json({"changed": changed})
    else:
        message(text)
