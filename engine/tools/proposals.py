"""What analyses proposed to change: looked at, accepted or declined later, whatever the story has become by then.

Source: spec, sections 1.6 and 1.12. How the reference marks an accepted proposal is not known; ours has a `status`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from engine.errors import NotFound, StonehandError
from engine.story import StoryFolder, StorySnapshot
from engine.story.librarian import read_analysis
from engine.text import Phrase
from engine.tools.applying import ACCEPTED, AUTOMATIC, Applied, apply
from engine.tools.collected import Proposal, ProposalStatus
from engine.tools.fragment_edits import EditFragments, plan_fragment_edits
from engine.tools.plan import Plan
from engine.tools.schema import WrongCall, checked_input

NAME: Final = "proposeFragmentChanges"
_KEY: Final = "fragmentChangeProposals"
_STATUSES: Final[Mapping[object, ProposalStatus]] = {"applied": "applied", "declined": "declined"}


def proposals_of(analysis: Mapping[str, Any]) -> tuple[Proposal | None, ...]:
    """The proposals in an analysis on disk, None where one is of no use; `plan_proposal` checks what they hold."""
    found = analysis.get(_KEY)
    return tuple(_proposal(item) for item in (found if isinstance(found, list) else ()))


def _proposal(item: Any) -> Proposal | None:
    operations = item.get("operations") if isinstance(item, Mapping) else None
    if not isinstance(operations, list):
        return None
    title, rationale = item.get("title"), item.get("rationale")
    return Proposal(
        title if isinstance(title, str) else "",
        rationale if isinstance(rationale, str) else "",
        tuple(operation for operation in operations if isinstance(operation, Mapping)),
        _STATUSES.get(item.get("status") if isinstance(item.get("status"), str) else None, "open"),
    )


def plan_proposal(snapshot: StorySnapshot, proposal: Proposal) -> Plan:
    """What a proposal would change in the story as it is now. Raises `StonehandError` for one that is none."""
    given = {"title": proposal.title, "rationale": proposal.rationale, "operations": list(proposal.operations)}
    try:
        return plan_fragment_edits(snapshot, checked_input(EditFragments, given), tool=NAME)
    except WrongCall as error:
        raise StonehandError(Phrase("the proposal can't be used: {error}", error=error)) from None


def accept_proposal(
    folder: StoryFolder, branch: str, analysis_id: str, index: int, *, automatic: bool = False
) -> Applied:
    """Apply a proposal of an analysis, by its index from 0, and mark it when nothing kept it from being applied whole.

    `automatic`: because the story says so, and not the author. Raises `StonehandError` when there is no such proposal,
    it was settled before, or nothing of it can be done any more.
    """
    analysis = read_analysis(folder.content_root(branch), analysis_id)
    proposal = _open_proposal(analysis, analysis_id, index)
    plan = plan_proposal(folder.snapshot(branch), proposal)
    if not plan.changes:
        why = "; ".join(dict.fromkeys(outcome.error for outcome in plan.outcomes if outcome.error))
        raise StonehandError(
            Phrase("nothing of the proposal can be done any more: {why}", why=Phrase.of(why or "it is so already"))
        )
    notes = {
        "source": "librarian",
        "analysisId": analysis_id,
        "suggestionIndex": index,
        "sourceFragmentId": analysis.get("fragmentId"),
        **({"autoApplied": True} if automatic else {}),
    }
    applied = apply(plan, folder, AUTOMATIC if automatic else ACCEPTED, meta=notes)
    if not applied.problems and all(outcome.status != "failed" for outcome in plan.outcomes):
        mark_proposal(folder, branch, analysis_id, index, "applied")
    return applied


def mark_proposal(folder: StoryFolder, branch: str, analysis_id: str, index: int, status: ProposalStatus) -> None:
    """Note what became of a proposal: declined, applied, or open again after its changes were taken back.

    Raises `NotFound` when there is no such proposal, and as writing does.
    """

    def change(document: dict[str, Any]) -> dict[str, Any]:
        listed = document.get(_KEY)
        if not isinstance(listed, list) or not 0 <= index < len(listed) or not isinstance(listed[index], dict):
            raise _missing(analysis_id, index)
        marked = {**listed[index], "status": status}
        return {**document, _KEY: [*listed[:index], marked, *listed[index + 1 :]]}

    folder.update_analysis(branch, analysis_id, change)


def reopening(folder: StoryFolder, branch: str, analysis_id: str, index: int) -> Callable[[], None]:
    """What notes, when it is called, that a proposal is open again: its changes were taken back."""
    return lambda: mark_proposal(folder, branch, analysis_id, index, "open")


def _open_proposal(analysis: Mapping[str, Any], analysis_id: str, index: int) -> Proposal:
    found = proposals_of(analysis)
    proposal = found[index] if 0 <= index < len(found) else None
    if proposal is None:
        raise _missing(analysis_id, index)
    if proposal.status != "open":
        raise StonehandError(Phrase("the proposal was {status} before", status=Phrase(proposal.status)))
    return proposal


def _missing(analysis_id: str, index: int) -> NotFound:
    return NotFound(
        Phrase("the analysis {analysis_id} has no proposal {number}", analysis_id=analysis_id, number=index + 1)
    )
