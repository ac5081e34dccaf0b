"""What became of a plan, as the model that made it is told.

Source: spec, section 10.7: a result for each operation. Of many fragments only some are named, with their number.
"""

from __future__ import annotations

from typing import Any, Final

from engine.errors import Problem
from engine.tools.applying import Applied
from engine.tools.hashing import state_hash
from engine.tools.plan import Plan
from engine.tools.tool import told

FRAGMENTS_NAMED: Final = 20
FAULTS_TOLD: Final = 3


def described(plan: Plan, decision: str, applied: Applied | None = None) -> dict[str, Any]:
    """A plan and what became of it as JSON; `decision` stands where nothing kept an operation from it.

    With `applied` it has the hashes of what was written, for the next edit.
    """
    named, problems = _carried_out(plan, applied)
    results = []
    for outcome in plan.outcomes:
        ids = [named.get(item, item) for item in outcome.fragment_ids]
        entry: dict[str, Any] = {"index": outcome.index, "operation": outcome.label}
        status, error = decision if outcome.status == "planned" else outcome.status, outcome.error
        kept_from = [problems[item] for item in ids if item in problems] if outcome.status == "planned" else []
        if kept_from:
            status = "failed" if len(kept_from) == len(ids) else "partly applied"
            error = "; ".join(list(dict.fromkeys(map(told, kept_from)))[:FAULTS_TOLD])
        entry["status"] = status
        if len(ids) == 1:
            entry["fragmentId"] = ids[0]
        elif ids:
            entry["fragmentIds"] = ids[:FRAGMENTS_NAMED]
        if len(ids) > FRAGMENTS_NAMED:
            entry["fragments"] = len(ids)
        if outcome.count is not None:
            entry["replacements"] = outcome.count
        if error:
            entry["error"] = error
        results.append(entry)
    hashes = {
        fragment_id: state_hash(change.after)
        for change in (plan.changes if applied is not None else ())
        if (fragment_id := named.get(change.fragment_id, change.fragment_id)) not in problems and change.type != "prose"
    }
    return {"results": results, **({"baseHashes": hashes} if hashes else {})}


def _carried_out(plan: Plan, applied: Applied | None) -> tuple[dict[str, str], dict[str, Problem]]:
    """The ids that new fragments were given, by those planned, and why fragments were not changed, by id."""
    if applied is None:
        return {}, {}
    named = {
        change.fragment_id: item.change.fragment_id for change, item in zip(plan.changes, applied.written, strict=True)
    }
    return named, {item.change.fragment_id: item.problem for item in applied.written if item.problem is not None}
