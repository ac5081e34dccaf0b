"""What the agents' tools do, in a sentence each, as the author reads it and a model is told it.

Source: spec, sections 4.5 and 10.7, for the names and what they take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TOOLS: Final[Mapping[str, str]] = {
    "readFragments": "Reads the whole text of up to 30 fragments by their ids.",
    "findFragments": "Searches fragments' names, descriptions and texts, with an excerpt of each match.",
    "listFragments": "Lists fragments with their names and descriptions, all or those of one type.",
    "readProseChain": "Lists the story's sections in order, with their texts if asked.",
    "listFragmentTypes": "Lists the types of fragments the story has.",
    "readStorySummary": "Reads the summary of the story so far.",
    "editFragments": "Creates, changes or archives fragments; prose is not among them.",
    "editProse": "Replaces passages in the story's prose.",
    "reportAnalysis": "Records what a passage establishes: summary, events, mentions, contradictions, open threads.",
    "proposeFragmentChanges": "Proposes changes to fragments, for the author to accept.",
    "proposeDirections": "Proposes directions the story could take next.",
    "finishAnalysis": "Ends the analysis.",
    "askClarifyingQuestions": "Asks the author up to four questions before the passage is planned.",
    "invokeAgent": "Has another agent do a task and brings back what came of it.",
    "inspectRun": "Shows what an earlier run was sent and what it did.",
}


def describe(tool: str) -> str:
    """What a tool does; the empty text for one that is not ours, a plugin's for instance."""
    return TOOLS.get(tool, "")
