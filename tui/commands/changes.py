"""The changes to the story that an agent planned: told as a difference, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tui.output import message

if TYPE_CHECKING:
    from engine.differences import Line
    from engine.tools.plan import FragmentChange, Plan

FIELDS: Final = ("name", "description", "content")


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
