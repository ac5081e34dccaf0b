"""The two tools that change a story. What becomes of their plans is for the host to decide.

Source: spec, section 10.7. When changes are applied at once and when the author is asked: `when_applied`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from engine.errors import StonehandError
from engine.story import Settings
from engine.tools.fragment_edits import EditFragments, plan_fragment_edits
from engine.tools.host import Host, Settled
from engine.tools.outcomes import described
from engine.tools.plan import Plan
from engine.tools.prose_edits import EditProse, plan_prose_edits
from engine.tools.tool import Tool, ToolResult

_SAID: Final = {
    "waiting": "The author has not decided yet; nothing is changed so far.",
    "declined": "The author declined the changes; nothing was changed.",
}


@dataclass(frozen=True, slots=True)
class WhenApplied:
    """Whether changes are applied at once or after the author accepts; `source` is what says so."""

    at_once: bool
    source: str


def when_applied(settings: Settings) -> WhenApplied:
    """When what a librarian plans or proposes is applied: at once where the story says so, else when it is accepted.

    Source: spec, section 1.4, `autoApplyLibrarianSuggestions`.
    """
    if settings.auto_apply_librarian_suggestions:
        return WhenApplied(True, "settings.autoApplyLibrarianSuggestions is on")
    return WhenApplied(False, "settings.autoApplyLibrarianSuggestions is off")


async def apply_now(plan: Plan, host: Host, reason: str | None = None) -> Settled:
    """Settles a plan by applying it at once; `reason` as for `apply`.

    A run that is stopped meanwhile ends when what is being written is written and recorded.
    """
    work = asyncio.ensure_future(asyncio.to_thread(host.apply, plan, reason))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await work
        raise


async def put_aside(plan: Plan, host: Host) -> Settled:
    """Settles a plan by leaving it for the author, who decides after the run."""
    return Settled("waiting", plan)


async def _edit_fragments(given: EditFragments, host: Host) -> ToolResult:
    return await _settled(await asyncio.to_thread(lambda: plan_fragment_edits(host.snapshot(), given)), host)


async def _edit_prose(given: EditProse, host: Host) -> ToolResult:
    return await _settled(await asyncio.to_thread(lambda: plan_prose_edits(host.snapshot(), given)), host)


async def _settled(plan: Plan, host: Host) -> ToolResult:
    if not plan.changes:
        return ToolResult(described(plan, "unchanged"))
    if host.settle is None:
        raise StonehandError("this run can't change the story")
    settled = await host.settle(plan, host)
    if not any(known is settled for known in host.collected.settled):
        host.collected.settled.append(settled)
    value = described(plan, settled.decision, settled.applied)
    if settled.decision in _SAID:
        value = {"note": _SAID[settled.decision], **value}
    return ToolResult(value)


EDIT_FRAGMENTS: Final = Tool("editFragments", EditFragments, _edit_fragments)
EDIT_PROSE: Final = Tool("editProse", EditProse, _edit_prose)
