"""What the librarian found in passages: read again, and its proposed changes decided on. Part of the door.

Source: spec context-blocks, sections 1.12 and 10.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import NotFound, Problem, StonehandError
from engine.session import ANALYZE
from engine.story import StoryFolder
from engine.story.librarian import latest_analysis, read_analysis
from engine.text import Phrase
from engine.tools.collected import Analysis, Proposal, analysis_of
from engine.tools.plan import Plan
from engine.tools.proposals import accept_proposal, mark_proposal, plan_proposal, proposals_of, reopening
from engine.workspace.changes import Changes


@dataclass(frozen=True, slots=True)
class FoundAnalysis:
    """An analysis on disk: of which passage, made when (ISO 8601), and what it found.

    `proposals` are its proposed changes by their index, None for one that is of no use; `names` gives the names of the
    fragments it speaks of.
    """

    id: str
    fragment_id: str
    created_at: str
    findings: Analysis
    proposals: tuple[Proposal | None, ...]
    names: Mapping[str, str]

    @property
    def open_proposals(self) -> tuple[int, ...]:
        """The indexes of the proposals that the author has not decided on."""
        return tuple(at for at, item in enumerate(self.proposals) if item is not None and item.status == "open")


class Analyses:
    """The analyses of a workspace's stories. Everything waits, and raises `StonehandError`."""

    def __init__(self, story: Callable[[str], StoryFolder], changes: Changes) -> None:
        """What is accepted is noted in `changes`, so that it can be taken back."""
        self._story, self._changes = story, changes

    def latest(self, story: str, branch: str, fragment_id: str | None = None) -> FoundAnalysis | None:
        """The newest analysis of a passage, or of any of the branch; None when there is none."""
        document = latest_analysis(self._story(story).content_root(branch), fragment_id)
        return None if document is None else self._found(story, branch, document)

    def read(self, story: str, branch: str, analysis_id: str) -> FoundAnalysis:
        """One analysis. Raises `NotFound` and `InvalidFile`."""
        return self._found(story, branch, read_analysis(self._story(story).content_root(branch), analysis_id))

    def plan(self, story: str, branch: str, analysis_id: str, index: int) -> Plan:
        """What a proposal would change in the story as it is now. Raises `NotFound` when there is no such proposal."""
        folder = self._story(story)
        proposals = proposals_of(read_analysis(folder.content_root(branch), analysis_id))
        proposal = proposals[index] if 0 <= index < len(proposals) else None
        if proposal is None:
            raise NotFound(
                Phrase("the analysis {analysis_id} has no proposal {number}", analysis_id=analysis_id, number=index + 1)
            )
        return plan_proposal(folder.snapshot(branch), proposal)

    def decide(self, story: str, branch: str, analysis_id: str, index: int, accept: bool) -> tuple[Problem, ...]:
        """Carry a proposal out, or note that it was declined; what kept parts of it from being carried out."""
        folder = self._story(story)
        if accept:
            applied = accept_proposal(folder, branch, analysis_id, index)
            self._changes.note(ANALYZE, applied, reopening(folder, branch, analysis_id, index))
            return applied.problems
        mark_proposal(folder, branch, analysis_id, index, "declined")
        return ()

    def _found(self, story: str, branch: str, document: Mapping[str, Any]) -> FoundAnalysis:
        findings = analysis_of(document)
        try:
            fragments = self._story(story).snapshot(branch).fragments
        except StonehandError:  # the analysis can be read all the same
            fragments = {}
        spoken_of = {item.fragment_id for item in findings.mentions}
        spoken_of.update(fragment_id for item in findings.contradictions for fragment_id in item.fragment_ids)
        return FoundAnalysis(
            str(document.get("id") or ""),
            str(document.get("fragmentId") or ""),
            str(document.get("createdAt") or ""),
            findings,
            proposals_of(document),
            {item: fragments[item].name for item in spoken_of if item in fragments},
        )
