"""The changes to the story that an agent planned: told as a difference, and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.errors import Problem, StonehandError
from tui.output import message

if TYPE_CHECKING:
    from engine.differences import Line
    from engine.tools.collected import Proposal
    from engine.tools.plan import FragmentChange, Plan
    from engine.workspace import Workspace

FIELDS: Final = ("name", "description", "content")


@dataclass(frozen=True, slots=True)
class Proposed:
    """A change that an analysis proposed: the `plan` of one that is open, as the story is now, or the `problem` that
    keeps it from being carried out.
    """

    proposal: Proposal
    plan: Plan | None = None
    problem: Problem | None = None


def proposed_in(workspace: Workspace, story: str, branch: str, analysis_id: str) -> tuple[Proposed, ...]:
    """What an analysis proposed to change, in its order. Raises `StonehandError`."""
    found = []
    for index, proposal in enumerate(workspace.analyses.read(story, branch, analysis_id).proposals):
        if proposal is None or proposal.status != "open":
            found += [] if proposal is None else [Proposed(proposal)]
            continue
        try:
            found.append(Proposed(proposal, workspace.analyses.plan(story, branch, analysis_id, index)))
        except StonehandError as error:
            found.append(Proposed(proposal, problem=error.problem))
    return tuple(found)


def tell_changes(plan: Plan) -> None:
    """What a plan would change, fragment by fragment, on standard error: only the lines that differ."""
    if plan.title:
        message(f"{plan.title}{f': {plan.rationale}' if plan.rationale else ''}")
    for change in plan.changes:
        message(named(change))
        for field, lines in changed_fields(change).items():
            message(f"  {field}:")
            for line in lines:
                if line.sign != " ":
                    message(f"  {line.sign} {line.text}")


def named(change: FragmentChange) -> str:
    """A change in a line, without its texts."""
    return f"{change.kind} {change.type} {change.fragment_id} ({(change.before or change.after).name})"


def changed_fields(change: FragmentChange) -> dict[str, tuple[Line, ...]]:
    """The lines of each field that differs."""
    from engine.differences import compare_lines

    before = {field: getattr(change.before, field) if change.before is not None else "" for field in FIELDS}
    after = {field: getattr(change.after, field) for field in FIELDS}
    return {field: compare_lines(before[field], after[field]) for field in FIELDS if before[field] != after[field]}


def changes_document(plan: Plan, decision: str) -> dict[str, Any]:
    """A plan and what became of it: `applied`, `declined`, or `waiting`, which is: nothing was done."""
    return {
        "tool": plan.tool,
        "title": plan.title or None,
        "rationale": plan.rationale or None,
        "decision": decision,
        "changes": [
            {
                "kind": change.kind,
                "type": change.type,
                "fragmentId": change.fragment_id,
                "name": (change.before or change.after).name,
                "fields": {
                    field: [{"sign": line.sign, "text": line.text} for line in lines]
                    for field, lines in changed_fields(change).items()
                },
            }
            for change in plan.changes
        ],
    }
