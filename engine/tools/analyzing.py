"""The tools an analysis is made with: what a passage establishes, what should change, where it could go (spec, 10.7).

Lists are cut to the reference's working caps, and the agent is told; a mention whose words the passage does not hold is
left out, and so is one of a fragment that is not there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field

from engine.errors import StonehandError
from engine.story import StoryFolder, StorySnapshot
from engine.story.librarian import WrittenAnalysis
from engine.tools.collected import Analysis, Contradiction, Direction, Mention, Proposal, TimelineEvent
from engine.tools.fragment_edits import EditFragments, plan_fragment_edits
from engine.tools.host import Host
from engine.tools.outcomes import described
from engine.tools.schema import FROM_TEXT, Texts, ToolInput
from engine.tools.tool import Tool, ToolResult

T = TypeVar("T")

LIST_CAP: Final = 8
MENTION_CAP: Final = 60
CONTRADICTION_CAP: Final = 12
TIMELINE_CAP: Final = 12
PROPOSAL_CAP: Final = 20
SUMMARY_LIMIT: Final = 4_000
ITEM_LIMIT: Final = 2_000


Item = Annotated[str, Field(max_length=ITEM_LIMIT)]


class MentionInput(ToolInput):
    fragmentId: str = Field(description="The fragment that is mentioned.")
    text: str = Field(min_length=1, max_length=500, description="The words that mention it, copied from the passage.")


class ContradictionInput(ToolInput):
    description: str = Field(min_length=1, max_length=ITEM_LIMIT, description="What contradicts what.")
    fragmentIds: Texts = Field(default_factory=list, max_length=30, description="The fragments it concerns.")


class TimelineInput(ToolInput):
    event: str = Field(min_length=1, max_length=ITEM_LIMIT, description="What happens.")
    position: Literal["before", "during", "after"] = Field("during", description="When, seen from the passage.")


class ReportAnalysis(ToolInput):
    summary: str = Field(
        min_length=1, max_length=SUMMARY_LIMIT, description="What happens in the passage, at most 1200 characters."
    )
    events: Annotated[list[Item], FROM_TEXT] = Field(
        default_factory=list, description=f"What happens, in order; at most {LIST_CAP}."
    )
    stateChanges: Annotated[list[Item], FROM_TEXT] = Field(
        default_factory=list, description=f"What is different afterwards; at most {LIST_CAP}."
    )
    openThreads: Annotated[list[Item], FROM_TEXT] = Field(
        default_factory=list, description=f"What is left open; at most {LIST_CAP}."
    )
    mentions: Annotated[list[MentionInput], FROM_TEXT] = Field(
        default_factory=list, description=f"Known fragments the passage mentions; at most {MENTION_CAP}."
    )
    contradictions: Annotated[list[ContradictionInput], FROM_TEXT] = Field(
        default_factory=list, description=f"What the passage contradicts; at most {CONTRADICTION_CAP}."
    )
    timelineEvents: Annotated[list[TimelineInput], FROM_TEXT] = Field(
        default_factory=list, description=f"Events for the story's timeline; at most {TIMELINE_CAP}."
    )


class ProposedDirection(ToolInput):
    title: str = Field(min_length=1, max_length=200, description="A short title.")
    description: str = Field(min_length=1, max_length=ITEM_LIMIT, description="What happens and why it matters.")
    instruction: str = Field(min_length=1, max_length=ITEM_LIMIT, description="What the writer is to be told.")


class ProposeDirections(ToolInput):
    directions: Annotated[list[ProposedDirection], FROM_TEXT] = Field(
        min_length=1, max_length=LIST_CAP, description="Directions the story could take."
    )


class FinishAnalysis(ToolInput):
    pass


def report(
    given: ReportAnalysis, passage: str, snapshot: StorySnapshot, before: Analysis
) -> tuple[Analysis, dict[str, Any]]:
    """The analysis with what was reported, instead of any earlier report, and what the agent is told of it."""
    cuts: dict[str, int] = {}

    def capped(name: str, items: list[T], cap: int) -> list[T]:
        if len(items) > cap:
            cuts[name] = len(items) - cap
        return items[:cap]

    mentions, rejected = _mentions(given.mentions, passage, snapshot)
    analysis = replace(
        before,
        reported=True,
        summary=given.summary.strip(),
        events=tuple(capped("events", given.events, LIST_CAP)),
        state_changes=tuple(capped("stateChanges", given.stateChanges, LIST_CAP)),
        open_threads=tuple(capped("openThreads", given.openThreads, LIST_CAP)),
        mentions=tuple(capped("mentions", mentions, MENTION_CAP)),
        contradictions=tuple(
            Contradiction(item.description, tuple(id_ for id_ in item.fragmentIds if snapshot.get(id_) is not None))
            for item in capped("contradictions", given.contradictions, CONTRADICTION_CAP)
        ),
        timeline=tuple(
            TimelineEvent(item.event, item.position)
            for item in capped("timelineEvents", given.timelineEvents, TIMELINE_CAP)
        ),
    )
    told: dict[str, Any] = {"reported": True, "mentions": len(analysis.mentions)}
    if rejected:
        told["rejectedMentions"] = rejected[:MENTION_CAP]
    if cuts:
        told["leftOut"] = cuts
    return analysis, told


def _mentions(
    given: list[MentionInput], passage: str, snapshot: StorySnapshot
) -> tuple[list[Mention], list[dict[str, Any]]]:
    found: dict[Mention, None] = {}
    rejected = []
    for index, item in enumerate(given):
        fragment = snapshot.get(item.fragmentId)
        if fragment is None:
            reason = "there is no such fragment"
        elif item.text not in passage:
            reason = "the passage does not hold these words, exactly as they are written"
        else:
            found[Mention(fragment.id, item.text, fragment.type == "character")] = None
            continue
        rejected.append({"index": index, "fragmentId": item.fragmentId[:100], "error": reason})
    return list(found), rejected


def _report(given: ReportAnalysis, host: Host) -> ToolResult:
    if host.passage is None:
        raise StonehandError("this run analyzes no passage")
    host.collected.analysis, told = report(given, host.passage.content, host.snapshot(), host.collected.analysis)
    return ToolResult(told)


def _propose_changes(given: EditFragments, host: Host) -> ToolResult:
    analysis = host.collected.analysis
    if len(analysis.proposals) >= PROPOSAL_CAP:
        raise StonehandError(f"there are {PROPOSAL_CAP} proposals already, which is as many as are kept")
    plan = plan_fragment_edits(host.snapshot(), given, tool=PROPOSE_CHANGES.name)
    failed = {outcome.index for outcome in plan.outcomes if outcome.status != "planned"}
    kept = tuple(operation.document() for index, operation in enumerate(given.operations) if index not in failed)
    if kept:
        proposal = Proposal(given.title or "", given.rationale or "", kept)
        host.collected.analysis = replace(analysis, proposals=(*analysis.proposals, proposal))
    value = described(plan, "proposed")
    for entry in value["results"]:
        if entry["operation"] == "create_fragment":
            entry.pop("fragmentId", None)  # it is given one when the author accepts
    return ToolResult(value)


def _propose_directions(given: ProposeDirections, host: Host) -> ToolResult:
    directions = tuple(Direction(item.title, item.description, item.instruction) for item in given.directions)
    host.collected.analysis = replace(host.collected.analysis, directions=directions)
    host.collected.directions = directions
    return ToolResult({"proposed": len(directions)})


def _finish(_given: FinishAnalysis, host: Host) -> ToolResult:
    analysis = host.collected.analysis = replace(host.collected.analysis, finished=True)
    value: dict[str, Any] = {"finished": True}
    if not analysis.reported:
        value["note"] = "Nothing was reported about the passage."
    return ToolResult(value, ends=True)


def save_analysis(
    folder: StoryFolder, branch: str, passage_id: str, passage: str, analysis: Analysis
) -> WrittenAnalysis:
    """Write an analysis to the librarian's files. Raises `StonehandError` when there is nothing to write, or it can't
    be written; `passage` is the text that was analyzed.
    """
    if not (analysis.reported or analysis.proposals or analysis.directions):
        raise StonehandError("nothing was reported about the passage, so no analysis was saved")
    return folder.write_analysis(branch, analysis.document(passage_id), passage)


REPORT_ANALYSIS: Final = Tool("reportAnalysis", ReportAnalysis, _report)
PROPOSE_CHANGES: Final = Tool("proposeFragmentChanges", EditFragments, _propose_changes)
PROPOSE_DIRECTIONS: Final = Tool("proposeDirections", ProposeDirections, _propose_directions)
FINISH_ANALYSIS: Final = Tool("finishAnalysis", FinishAnalysis, _finish)
