"""`Plan`: changes to fragments, as they will be, before any is written. Pure until it is applied.

A plan is shown as a difference and applied, or not; applying it writes each fragment in one step, or leaves it alone
when another program changed what was to be changed.

Source: spec, sections 1.6 and 10.7.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from engine.errors import Problem, StonehandError, WrongInput
from engine.story import FileEdit, Fragment, StoryFolder, StorySnapshot
from engine.story.branches import now_iso
from engine.story.fragment import new_document
from engine.story.revising import FragmentState
from engine.tools.hashing import state_hash

FRAGMENTS_NAMED: Final = 20
FAULTS_TOLD: Final = 3

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
    written: tuple[Written, ...] = field(default=())

    @property
    def edits(self) -> tuple[FileEdit, ...]:
        """The files that were written, in that order."""
        return tuple(item.edit for item in self.written if item.edit is not None)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why changes were not carried out."""
        return tuple(item.problem for item in self.written if item.problem is not None)


def apply(plan: Plan, folder: StoryFolder, reason: str | None = None) -> Applied:
    """Write a plan to the story and branch it was made for.

    Each fragment is written in one step, and left as it is when it can't be or when what is to change was changed by
    another program: that is one of the result's problems. `reason` stands in the versions; left out, it names the tool.
    Raises `WrongInput` for a plan of another story.
    """
    _check_place(plan, folder.id, plan.branch)
    why = f"llm-{plan.tool}" if reason is None else reason
    written = []
    for change in plan.changes:
        try:
            written.append(_write(change, plan.branch, folder, why))
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


def _write(change: FragmentChange, branch: str, folder: StoryFolder, reason: str) -> Written:
    if change.before is not None:
        edit = folder.revise_fragment(branch, change.fragment_id, change.before, change.after, reason)
        return Written(change, edit)
    after = change.after
    document = new_document(
        change.fragment_id, change.type, after.name, after.description, after.content, now_iso(), meta={}
    )
    made = folder.create_fragment(branch, document)
    return Written(replace(change, fragment_id=_stem(made.file)), made)


def _stem(file: Path) -> str:
    return file.name.removesuffix(".json")


def _check_place(plan: Plan, story: str, branch: str) -> None:
    if (plan.story, plan.branch) != (story, branch):
        raise WrongInput(
            f"the changes were made for the story {plan.story}, branch {plan.branch}, not for {story}, branch {branch}"
        )


class Draft:
    """The fragments of a branch as the operations of one call leave them, one after another."""

    def __init__(self, snapshot: StorySnapshot) -> None:
        self.snapshot = snapshot
        self._states: dict[str, FragmentState] = {}
        self._created: dict[str, tuple[str, FragmentState]] = {}

    def state(self, fragment: Fragment) -> FragmentState:
        """A fragment as it is by now."""
        return self._states.get(fragment.id) or FragmentState.of(fragment)

    def set(self, fragment: Fragment, state: FragmentState) -> None:
        self._states[fragment.id] = state

    def drop(self, fragment_id: str) -> None:
        """Forget what was changed about a fragment."""
        self._states.pop(fragment_id, None)

    def create(self, fragment_id: str, fragment_type: str, state: FragmentState) -> None:
        self._created[fragment_id] = (fragment_type, state)

    def is_taken(self, fragment_id: str) -> bool:
        """Whether an id is in use, by a fragment there is or by one that is planned."""
        return fragment_id in self.snapshot.fragments or fragment_id in self._created

    def changes(self) -> tuple[FragmentChange, ...]:
        """What is different now, in the order of the first operation on each fragment; new fragments last."""
        found = []
        for fragment_id, after in self._states.items():
            fragment = self.snapshot.fragments[fragment_id]
            before = FragmentState.of(fragment)
            if before != after:
                found.append(FragmentChange(fragment_id, fragment.type, before, after))
        for fragment_id, (fragment_type, after) in self._created.items():
            found.append(FragmentChange(fragment_id, fragment_type, None, after))
        return tuple(found)


def why_protected(fragment: Fragment, content: str) -> str:
    """Why a model may not give a fragment this content: it is locked, or a frozen part would vanish; else nothing.

    Source: spec, sections 1.6 and 10.7.
    """
    if fragment.meta.get("locked"):
        return f"{fragment.id} is locked by the author"
    frozen = fragment.meta.get("frozenSections")
    for section in frozen if isinstance(frozen, list) else ():
        text = section.get("text") if isinstance(section, dict) else None
        if isinstance(text, str) and text and text in fragment.content and text not in content:
            return f"a part of {fragment.id} that the author froze would be changed"
    return ""


def described(plan: Plan, decision: str, applied: Applied | None = None) -> dict[str, Any]:
    """A plan and what became of it as the model is told it (spec, section 10.7: a result for each operation).

    `decision` stands where nothing kept an operation from it. Of many fragments only some are named, with their number.
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
            error = "; ".join(list(dict.fromkeys(map(_told, kept_from)))[:FAULTS_TOLD])
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


def _told(problem: Problem) -> str:
    return f"{problem.message} — {problem.repair}" if problem.repair else problem.message
