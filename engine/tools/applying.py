"""Applying plans, and taking back what was applied.

Each fragment is written in one step, or left alone when another program changed what was to be changed.

Source: spec, sections 1.2 and 1.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.errors import Problem, StonehandError, WrongInput
from engine.story import FileEdit, StoryFolder
from engine.story.branches import now_iso
from engine.story.fragment import NO_META, new_document
from engine.tools.plan import FragmentChange, Plan

ACCEPTED: Final = "librarian-manual-accept"
AUTOMATIC: Final = "librarian-auto-apply"
"""Reasons of versions for changes that the author accepted, or the story's setting did (spec, section 1.6)."""


@dataclass(frozen=True, slots=True)
class Written:
    """A change that was carried out (`edit`; None: it was so already), or the problem that kept it from being."""

    change: FragmentChange
    edit: FileEdit | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of applying a plan, change by change, and what is needed to take it back."""

    plan: Plan
    written: tuple[Written, ...]

    @property
    def edits(self) -> tuple[FileEdit, ...]:
        """The files that were written, in that order."""
        return tuple(item.edit for item in self.written if item.edit is not None)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why changes were not carried out."""
        return tuple(item.problem for item in self.written if item.problem is not None)


def apply(plan: Plan, folder: StoryFolder, reason: str | None = None, *, meta: Mapping[str, Any] = NO_META) -> Applied:
    """Write a plan to the story and branch it was made for.

    Each fragment is written in one step, and left as it is when it can't be or when what is to change was changed by
    another program: that is one of the result's problems. `reason` stands in the versions; left out, it names the tool.
    `meta` is what new fragments note of where they come from. Raises `WrongInput` for a plan of another story.
    """
    _check_place(plan, folder.id, plan.branch)
    why = f"llm-{plan.tool}" if reason is None else reason
    written = []
    for change in plan.changes:
        try:
            written.append(_write(change, plan.branch, folder, why, meta))
        except StonehandError as error:
            written.append(Written(change, problem=error.problem))
    return Applied(plan, tuple(written))


def take_back(applied: Applied, folder: StoryFolder) -> Applied:
    """Undo what applying a plan wrote, newest first; what it gives undoes that again.

    A fragment that was changed since is left as it is, and its problem said.
    """
    _check_place(applied.plan, folder.id, applied.plan.branch)
    undone = []
    for item in reversed(applied.written):
        if item.edit is None:
            undone.append(Written(item.change))
            continue
        try:
            undone.append(Written(item.change, folder.take_back(item.edit)))
        except StonehandError as error:
            undone.append(Written(item.change, problem=error.problem))
    return Applied(applied.plan, tuple(undone))


def _write(change: FragmentChange, branch: str, folder: StoryFolder, reason: str, meta: Mapping[str, Any]) -> Written:
    if change.before is not None:
        edit = folder.revise_fragment(branch, change.fragment_id, change.before, change.after, reason)
        return Written(change, edit)
    texts = (change.after.name, change.after.description, change.after.content)
    document = new_document(change.fragment_id, change.type, *texts, now_iso(), meta=meta)
    made = folder.create_fragment(branch, document)
    return Written(replace(change, fragment_id=made.file.name.removesuffix(".json")), made)


def _check_place(plan: Plan, story: str, branch: str) -> None:
    if (plan.story, plan.branch) != (story, branch):
        raise WrongInput(
            f"the changes were made for the story {plan.story}, branch {plan.branch}, not for {story}, branch {branch}"
        )
