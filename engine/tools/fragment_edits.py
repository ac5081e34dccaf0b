"""`editFragments`: changes to everything but prose, planned first (spec, section 10.7).

The operations on one fragment hold together: if one of them can't be done, none is. Each has its own result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random, SystemRandom
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from engine.story import Fragment, StorySnapshot
from engine.story.ids import new_fragment_id
from engine.story.render import BUILTIN_TYPES
from engine.story.revising import FragmentState
from engine.tools import matching
from engine.tools.draft import Draft, why_protected
from engine.tools.hashing import base_hash
from engine.tools.plan import Outcome, Plan
from engine.tools.schema import FROM_TEXT, ToolInput

NAME: Final = "editFragments"
OPERATIONS: Final = 50
NOT_EDITED: Final[Mapping[str, str]] = {"prose": "prose is changed with editProse"}
NOT_CREATED: Final = ("prose", "marker", "image", "icon")
"""Types that are made by writing, by placing a chapter, or from a picture."""

_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_SYSTEM: Final = SystemRandom()

Kind = Literal["replace_text", "append_paragraph", "set_fields", "create_fragment", "archive_fragment"]

_TAKES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "replace_text": (("fragmentId", "oldText", "newText"), ("replaceAll", "occurrence")),
    "append_paragraph": (("fragmentId", "text"), ()),
    "set_fields": (("fragmentId", "baseHash"), ("name", "description", "content")),
    "create_fragment": (("type", "name", "content"), ("description",)),
    "archive_fragment": (("fragmentId",), ()),
}
"""What each operation needs, and what else it takes."""


class Operation(ToolInput):
    op: Kind = Field(
        description="replace_text (fragmentId, oldText, newText, replaceAll or occurrence), append_paragraph "
        "(fragmentId, text), set_fields (fragmentId, baseHash, and name, description or content), create_fragment "
        "(type, name, description, content) or archive_fragment (fragmentId)."
    )
    fragmentId: str | None = Field(None, description="The fragment to change.")
    baseHash: str | None = Field(None, description="The baseHash that readFragments gave for it.")
    oldText: str | None = Field(None, min_length=1, description="Text to replace, exactly as it stands there.")
    newText: str | None = Field(None, description="What to put in its place.")
    replaceAll: bool | None = Field(None, description="Replace every occurrence, not only one.")
    occurrence: int | None = Field(None, ge=1, description="Which occurrence to replace, counted from 1.")
    text: str | None = Field(None, min_length=1, description="The paragraph to append.")
    type: str | None = Field(None, description="The type of the new fragment, such as character or knowledge.")
    name: str | None = Field(None, min_length=1, max_length=100, description="Its name.")
    description: str | None = Field(None, max_length=250, description="What it is, in one line.")
    content: str | None = Field(None, description="Its whole text.")

    @model_validator(mode="after")
    def _complete(self) -> Operation:
        needed, other = _TAKES[self.op]
        if missing := [name for name in needed if getattr(self, name) is None]:
            raise ValueError(f"{missing[0]} is missing, which {self.op} needs")
        for name in type(self).model_fields:
            if name not in ("op", *needed, *other) and getattr(self, name) is not None:
                raise ValueError(f"{self.op} takes no {name}; it takes {', '.join((*needed, *other))}")
        if self.op == "set_fields" and all(getattr(self, name) is None for name in other):
            raise ValueError("set_fields needs a name, a description or a content")
        return self

    def document(self) -> dict[str, Any]:
        """The operation with what was given, for a file."""
        return self.model_dump(exclude_none=True)


class EditFragments(ToolInput):
    title: str | None = Field(None, max_length=200, description="What the changes are about, in a few words.")
    rationale: str | None = Field(None, max_length=2000, description="Why they are needed.")
    operations: Annotated[list[Operation], FROM_TEXT] = Field(
        min_length=1, max_length=OPERATIONS, description="The changes, in order."
    )


class _Refused(Exception):
    """An operation can't be done; the text says why."""


@dataclass(slots=True)
class _Step:
    index: int
    operation: Operation
    target: str = ""
    status: Literal["planned", "unchanged", "failed"] = "planned"
    error: str = ""
    count: int | None = None


def plan_fragment_edits(
    snapshot: StorySnapshot, given: EditFragments, *, tool: str = NAME, rng: Random = _SYSTEM
) -> Plan:
    """What the operations would change in the snapshot, and what each comes to. Writes nothing.

    `rng` makes the ids of new fragments.
    """
    draft = Draft(snapshot)
    steps = [_Step(index, operation) for index, operation in enumerate(given.operations)]
    creations = _Creations(draft, rng)
    planners: dict[str, Callable[[_Step], None]] = {"create_fragment": creations.plan}
    changes = _Changes(draft)
    for step in steps:
        try:
            planners.get(step.operation.op, changes.plan)(step)
        except _Refused as refusal:
            step.status, step.error = "failed", str(refusal)
    _hold_together(draft, steps)
    outcomes = (
        Outcome(
            step.index,
            step.operation.op,
            step.status,
            (step.target,) if step.target else (),
            step.error,
            step.count,
        )
        for step in steps
    )
    return Plan(
        tool,
        snapshot.story_id,
        snapshot.branch,
        draft.changes(),
        tuple(outcomes),
        given.title or "",
        given.rationale or "",
    )


def _hold_together(draft: Draft, steps: Iterable[_Step]) -> None:
    """All operations on a fragment, or none: one that fails takes those on the same fragment with it."""
    steps = [step for step in steps if step.operation.fragmentId is not None]
    failed = {step.target: step.index for step in reversed(steps) if step.status == "failed"}
    for step in steps:
        if step.target in failed:
            draft.drop(step.target)
            if step.status != "failed":
                step.status = "failed"
                step.error = f"not done, because operation {failed[step.target]} on the same fragment failed"
                step.count = None


class _Creations:
    def __init__(self, draft: Draft, rng: Random) -> None:
        self._draft = draft
        self._rng = rng

    def plan(self, step: _Step) -> None:
        given = step.operation
        kind = given.type or ""
        self._check(kind)
        fragment_id = new_fragment_id(kind, _Taken(self._draft), self._rng)
        state = FragmentState(given.name or "", given.description or "", given.content or "")
        self._draft.create(fragment_id, kind, state)
        step.target = fragment_id

    def _check(self, kind: str) -> None:
        snapshot = self._draft.snapshot
        known = dict.fromkeys(
            (
                *sorted(BUILTIN_TYPES),
                *(item.type for item in snapshot.meta.settings.custom_types),
                *snapshot.by_type,
            )
        )
        open_to = [name for name in known if name not in NOT_CREATED and _TYPE.fullmatch(name)]
        if kind not in open_to:
            raise _Refused(f"type: a fragment of type {kind[:40]!r} can't be made here; types: {', '.join(open_to)}")


class _Taken:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def __contains__(self, fragment_id: object) -> bool:
        return isinstance(fragment_id, str) and self._draft.is_taken(fragment_id)


class _Changes:
    """Plans the operations on fragments there are."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._touched: dict[tuple[str, str], int] = {}
        """The operation that last changed a field of a fragment."""

    def plan(self, step: _Step) -> None:
        step.target = step.operation.fragmentId or ""
        fragment = self._fragment(step.target)
        before = self._draft.state(fragment)
        after = _OPERATIONS[step.operation.op](self, step, fragment, before)
        if after == before:
            step.status = "unchanged"
            return
        if refusal := why_protected(fragment, after.content):
            raise _Refused(refusal)
        for name in before.changed_to(after):
            self._touched[step.target, name] = step.index
        self._draft.set(fragment, after)

    def _fragment(self, fragment_id: str) -> Fragment:
        fragment = self._draft.snapshot.get(fragment_id)
        if fragment is None:
            raise _Refused(f"there is no fragment {fragment_id[:100]}")
        if reason := NOT_EDITED.get(fragment.type):
            raise _Refused(f"{fragment_id} is {fragment.type}; {reason}")
        return fragment

    def replace_text(self, step: _Step, _fragment: Fragment, state: FragmentState) -> FragmentState:
        given = step.operation
        old, new = given.oldText or "", given.newText or ""
        found = matching.count(state.content, old)
        if not found:
            raise _Refused("oldText does not occur in the fragment's content, exactly as it is written")
        if given.occurrence is not None:
            if given.occurrence > found:
                raise _Refused(f"occurrence is {given.occurrence}, but oldText occurs {found} times")
            step.count = 1
            return replace(state, content=matching.replace_one(state.content, old, new, given.occurrence))
        if found > 1 and not given.replaceAll:
            raise _Refused(f"oldText occurs {found} times; say which occurrence, or set replaceAll")
        step.count = found
        return replace(state, content=matching.replace_all(state.content, old, new))

    def append_paragraph(self, step: _Step, _fragment: Fragment, state: FragmentState) -> FragmentState:
        text = (step.operation.text or "").strip("\n")
        if not text.strip():
            raise _Refused("text is blank")
        before = state.content.rstrip("\n")
        return replace(state, content=f"{before}\n\n{text}" if before else text)

    def set_fields(self, step: _Step, fragment: Fragment, state: FragmentState) -> FragmentState:
        given = step.operation
        if given.baseHash != base_hash(fragment):
            raise _Refused(
                "baseHash is not that of the fragment as it is now; read it again, and set what you still want to"
            )
        for name in ("name", "description", "content"):
            value = getattr(given, name)
            if value is None:
                continue
            earlier = self._touched.get((fragment.id, name))
            if earlier is not None:
                raise _Refused(f"{name} is changed by operation {earlier} too, which setting it would undo")
            state = replace(state, **{name: value})
        return state

    def archive_fragment(self, _step: _Step, _fragment: Fragment, state: FragmentState) -> FragmentState:
        return replace(state, archived=True)


_OPERATIONS: Final[Mapping[str, Callable[[_Changes, _Step, Fragment, FragmentState], FragmentState]]] = {
    "replace_text": _Changes.replace_text,
    "append_paragraph": _Changes.append_paragraph,
    "set_fields": _Changes.set_fields,
    "archive_fragment": _Changes.archive_fragment,
}
