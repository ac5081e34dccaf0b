"""`Plan`: changes to fragments as they will be, before any is written. A value, to be shown as a difference.

Source: spec, sections 1.6 and 10.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.story.revising import FragmentState

ChangeKind = Literal["create", "change", "archive"]
Status = Literal["planned", "unchanged", "failed"]


@dataclass(frozen=True, slots=True)
class FragmentChange:
    """One fragment as it is (`before`, None for a new one) and as it will be."""

    fragment_id: str
    type: str
    before: FragmentState | None
    after: FragmentState

    @property
    def kind(self) -> ChangeKind:
        if self.before is None:
            return "create"
        return "archive" if self.after.archived and not self.before.archived else "change"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one operation or edit of a call comes to; `fragment_ids` are those it changes, `count` the replacements."""

    index: int
    label: str
    status: Status
    fragment_ids: tuple[str, ...] = ()
    error: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a call of a tool would change in a branch, fragment by fragment, and what each part of it comes to."""

    tool: str
    story: str
    branch: str
    changes: tuple[FragmentChange, ...]
    outcomes: tuple[Outcome, ...]
    title: str = ""
    rationale: str = ""
