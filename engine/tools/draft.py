"""`Draft`: a branch as the operations of one call leave it, one after another, and what they may not touch.

Source: spec, sections 1.6 and 10.7.
"""

from __future__ import annotations

from engine.story import Fragment, StorySnapshot
from engine.story.revising import FragmentState
from engine.tools.plan import FragmentChange


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
    """Why a model may not give a fragment this content: it is locked, or a frozen part would vanish; else nothing."""
    if fragment.meta.get("locked"):
        return f"{fragment.id} is locked by the author"
    frozen = fragment.meta.get("frozenSections")
    for section in frozen if isinstance(frozen, list) else ():
        text = section.get("text") if isinstance(section, dict) else None
        if isinstance(text, str) and text and text in fragment.content and text not in content:
            return f"a part of {fragment.id} that the author froze would be changed"
    return ""
