"""`editProse`: passages of the story's prose replaced, planned first (spec, section 10.7).

It sees what the reader sees, the shown variant of every section, in order. An edit sees what those before it made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field

from engine.story import Fragment, StorySnapshot
from engine.tools import matching
from engine.tools.draft import Draft, why_protected
from engine.tools.plan import Outcome, Plan
from engine.tools.reading import active_ids
from engine.tools.schema import FROM_TEXT, ToolInput

NAME: Final = "editProse"
EDITS: Final = 100


class ProseEdit(ToolInput):
    oldText: str = Field(min_length=1, description="Text to replace, exactly as it stands in one section.")
    newText: str = Field(description="What to put in its place.")
    replaceAll: bool = Field(True, description="Replace every occurrence in the story; otherwise only the first.")
    occurrence: int | None = Field(
        None, ge=1, description="Replace only this occurrence, counted from 1 through the whole story."
    )
    reason: str | None = Field(None, max_length=500, description="Why it is changed.")


class EditProse(ToolInput):
    edits: Annotated[list[ProseEdit], FROM_TEXT] = Field(
        min_length=1, max_length=EDITS, description="The replacements, in order."
    )


def plan_prose_edits(snapshot: StorySnapshot, given: EditProse) -> Plan:
    """What the edits would change in the snapshot, and what each comes to; one that matches nothing has failed."""
    draft = Draft(snapshot)
    prose = _active_prose(snapshot)
    outcomes = tuple(_planned(draft, prose, edit, index) for index, edit in enumerate(given.edits))
    reasons = dict.fromkeys(edit.reason for edit in given.edits if edit.reason)
    return Plan(NAME, snapshot.story_id, snapshot.branch, draft.changes(), outcomes, rationale="; ".join(reasons))


def _active_prose(snapshot: StorySnapshot) -> list[Fragment]:
    found = (snapshot.get(fragment_id) for fragment_id in dict.fromkeys(active_ids(snapshot)))
    return [item for item in found if item is not None and item.type == "prose" and not item.archived]


def _planned(draft: Draft, prose: list[Fragment], edit: ProseEdit, index: int) -> Outcome:
    counts = [(fragment, found) for fragment in prose if (found := _count(draft, fragment, edit))]
    total = sum(found for _, found in counts)
    if not total:
        return _failed(index, "unmatched: oldText does not occur in the story's prose, exactly as it is written")
    if edit.occurrence is not None and edit.occurrence > total:
        return _failed(index, f"unmatched: occurrence is {edit.occurrence}, but oldText occurs {total} times")
    if edit.oldText == edit.newText:
        return Outcome(index, "replace", "unchanged", error="oldText and newText are the same")
    one = edit.occurrence or (None if edit.replaceAll else 1)
    done, replaced, refusals, passed = [], 0, [], 0
    for fragment, found in counts:
        state = draft.state(fragment)
        if one is None:
            content, made = matching.replace_all(state.content, edit.oldText, edit.newText), found
        elif passed < one <= passed + found:
            content, made = matching.replace_one(state.content, edit.oldText, edit.newText, one - passed), 1
        else:
            passed += found
            continue
        passed += found
        if refusal := why_protected(fragment, content):
            refusals.append(refusal)
            continue
        draft.set(fragment, replace(state, content=content))
        done.append(fragment.id)
        replaced += made
    if not done:
        return _failed(index, "; ".join(refusals))
    return Outcome(index, "replace", "planned", tuple(done), "; ".join(refusals), replaced)


def _count(draft: Draft, fragment: Fragment, edit: ProseEdit) -> int:
    return matching.count(draft.state(fragment).content, edit.oldText)


def _failed(index: int, error: str) -> Outcome:
    return Outcome(index, "replace", "failed", error=error)
