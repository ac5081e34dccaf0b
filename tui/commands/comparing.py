"""The command that compares a compiled prompt with another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engine.errors import WrongInput
from tui.commands.frame import (
    INPUT_HELP,
    WRITER,
    Command,
    branch_option,
    raise_fault,
    read_text,
    warn_of_doubt,
    with_workspace,
)
from tui.output import message, write, write_json

if TYPE_CHECKING:
    from engine.comparison import BlockChange, Comparison
    from engine.workspace import Reference, Workspace

_BRANCH = "branch:"
_STATES = {"+": "added", "-": "removed", "~": "changed", ">": "moved", "=": "same"}


@click.command("diff", cls=Command)
@click.argument("story")
@click.argument("agent", default=WRITER)
@click.option(
    "--against",
    metavar="WHAT",
    default="default",
    show_default=True,
    help="default (no config), sent (what was sent last), or branch:B (another branch).",
)
@click.option("--input", "author_input", metavar="TEXT", default="", help=INPUT_HELP)
@click.option("--target", metavar="ID", help="The fragment that the prompt is about, for an agent that takes one.")
@branch_option
@with_workspace
def diff(
    workspace: Workspace,
    story: str,
    agent: str,
    against: str,
    author_input: str,
    target: str | None,
    branch: str | None,
    as_json: bool,
) -> None:
    """Compare the compiled prompt, block by block.

    Nothing is printed when nothing differs. A block is + added, - removed, ~ changed or > moved, with the estimated
    tokens of what differs, then its lines. The exit code says nothing of it.

    \b
    Examples:
      stonehand diff my-story
      stonehand diff my-story writer --against sent
      stonehand diff my-story writer --against branch:br-tokumi --json | jq .changed
    """
    reference = _reference(against)
    warn_of_doubt(workspace, story, branch)
    session = workspace.session(story, agent, branch, target=target)
    raise_fault(session.document)
    session.author_input = read_text(author_input)
    session.install(session.load())
    comparison = workspace.comparing(session, reference)()
    if comparison.by_message:
        message("the blocks of what was sent were not recorded, so whole messages are compared")
    if as_json:
        write_json({"against": against, **comparison_document(comparison)})
    elif not comparison.same:
        write(comparison.text)


def _reference(against: str) -> Reference:
    from engine.workspace import Reference

    if against.startswith(_BRANCH) and against != _BRANCH:
        return Reference("branch", against.removeprefix(_BRANCH))
    if against == "default":
        return Reference("default")
    if against == "sent":
        return Reference("sent")
    raise WrongInput(f"there is no {against!r} to compare with", repair="use default, sent or branch:B")


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """A comparison of two prompts, as JSON has it."""
    return {
        "at": comparison.at or None,
        "same": comparison.same,
        "byMessage": comparison.by_message,
        "tokens": {
            "before": comparison.before_tokens,
            "after": comparison.after_tokens,
            "added": comparison.added,
            "removed": comparison.removed,
        },
        "changed": [_change(change) for change in comparison.changed],
    }


def _change(change: BlockChange) -> dict[str, Any]:
    before, after = change.before, change.after
    return {
        "id": change.block.id,
        "change": _STATES[change.sign],
        "moved": change.moved,
        "name": {"before": before and before.name, "after": after and after.name},
        "role": {"before": before and before.role, "after": after and after.role},
        "tokens": {
            "before": before.tokens if before is not None else 0,
            "after": after.tokens if after is not None else 0,
            "added": change.added,
            "removed": change.removed,
        },
        "lines": [
            {"sign": line.sign, "text": line.text, "marks": None if line.marks is None else [*map(list, line.marks)]}
            for line in change.lines
        ],
    }
