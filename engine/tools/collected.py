"""What the tools of analyzing, directing and asking bring together, as values.

Source: spec, sections 1.10, 1.12, 10.5 and 10.7, for the fields and the shape of the librarian's files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Pacing = Literal["linger", "continue", "end"]
ProposalStatus = Literal["open", "applied", "declined"]
Position = Literal["before", "during", "after"]


@dataclass(frozen=True, slots=True)
class Direction:
    """A way the story could go on; `pacing` is the prewriter's, empty for the other agents."""

    title: str
    description: str
    instruction: str
    pacing: Pacing | Literal[""] = ""

    def document(self) -> dict[str, str]:
        """As logs and analyses have it."""
        paced = {"pacing": self.pacing} if self.pacing else {}
        return {**paced, "title": self.title, "description": self.description, "instruction": self.instruction}


@dataclass(frozen=True, slots=True)
class Option:
    """An answer that is offered to a question."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What the prewriter asks the author; without options any answer will do."""

    question: str
    header: str
    several: bool = False
    options: tuple[Option, ...] = ()

    def document(self) -> dict[str, Any]:
        """As the event of a stream has it (spec, section 10.4)."""
        options = [
            {"label": option.label, **({"description": option.description} if option.description else {})}
            for option in self.options
        ]
        base: dict[str, Any] = {"question": self.question, "header": self.header, "multiSelect": self.several}
        return {**base, "options": options} if options else base


@dataclass(frozen=True, slots=True)
class Mention:
    """A known fragment, and the words of the passage that mention it."""

    fragment_id: str
    text: str
    character: bool = False


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a passage says against fragments or earlier prose."""

    description: str
    fragment_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happens, before, during or after the passage."""

    event: str
    position: Position = "during"


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes to fragments for the author to accept: `operations` as `editFragments` takes them."""

    title: str
    rationale: str
    operations: tuple[Mapping[str, Any], ...]
    status: ProposalStatus = "open"


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found in a passage; `finished`: the agent said that it is done."""

    reported: bool = False
    summary: str = ""
    events: tuple[str, ...] = ()
    state_changes: tuple[str, ...] = ()
    open_threads: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    timeline: tuple[TimelineEvent, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    directions: tuple[Direction, ...] = ()
    finished: bool = False

    def document(self, fragment_id: str) -> dict[str, Any]:
        """The analysis of a passage as the reference's file has it, without `id` and `createdAt`.

        Mentions carry the name of their key in both of the reference's versions; a list that only its older version
        reads is there and empty.
        """
        characters = dict.fromkeys(mention.fragment_id for mention in self.mentions if mention.character)
        document: dict[str, Any] = {
            "fragmentId": fragment_id,
            "summaryUpdate": self.summary,
            "structuredSummary": {
                "events": list(self.events),
                "stateChanges": list(self.state_changes),
                "openThreads": list(self.open_threads),
            },
            "mentionedCharacters": list(characters),
            "mentions": [
                {
                    **({"characterId": mention.fragment_id} if mention.character else {}),
                    "fragmentId": mention.fragment_id,
                    "text": mention.text,
                }
                for mention in self.mentions
            ],
            "contradictions": [
                {"description": item.description, "fragmentIds": list(item.fragment_ids)}
                for item in self.contradictions
            ],
            "fragmentSuggestions": [],
            "fragmentChangeProposals": [
                {"title": item.title, "rationale": item.rationale, "operations": [dict(op) for op in item.operations]}
                for item in self.proposals
            ],
            "timelineEvents": [{"event": item.event, "position": item.position} for item in self.timeline],
        }
        if self.directions:
            document["directions"] = [direction.document() for direction in self.directions]
        return document


NOTHING_FOUND = Analysis()


def analysis_of(document: Mapping[str, Any]) -> Analysis:
    """The findings of an analysis on disk, in either of the reference's versions; what can't be used is left out. The
    changes it proposes are those of `proposals_of`.
    """
    summary = document.get("structuredSummary")
    parts = summary if isinstance(summary, Mapping) else {}
    return Analysis(
        reported=True,
        summary=_text(document.get("summaryUpdate")),
        events=_texts(parts.get("events")),
        state_changes=_texts(parts.get("stateChanges")),
        open_threads=_texts(parts.get("openThreads")),
        mentions=tuple(
            Mention(_text(item.get("fragmentId") or item.get("characterId")), _text(item.get("text")))
            for item in _objects(document.get("mentions"))
        ),
        contradictions=tuple(
            Contradiction(_text(item.get("description")), _texts(item.get("fragmentIds")))
            for item in _objects(document.get("contradictions"))
        ),
        timeline=tuple(
            TimelineEvent(_text(item.get("event")), _POSITIONS.get(_text(item.get("position")), "during"))
            for item in _objects(document.get("timelineEvents"))
        ),
        directions=tuple(
            Direction(_text(item.get("title")), _text(item.get("description")), _text(item.get("instruction")))
            for item in _objects(document.get("directions"))
        ),
        finished=True,
    )


_POSITIONS: Mapping[str, Position] = {"before": "before", "during": "during", "after": "after"}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str) and item) if isinstance(value, list) else ()


def _objects(value: object) -> tuple[Mapping[str, Any], ...]:
    return tuple(item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()
