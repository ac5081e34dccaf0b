"""`workspace.order`: the order of a story's pinned fragments, and the message each becomes part of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from engine.story import FileEdit, Fragment, StoryFolder
from engine.workspace.views import FragmentOrder


class Order:
    """Edits of where pinned fragments stand, each written at once; `take_back` undoes one."""

    def __init__(self, story: Callable[[str], StoryFolder]) -> None:
        self._story = story

    def pinned(self, story_id: str, branch: str | None = None) -> FragmentOrder:
        """The pinned fragments of a branch, in the order they are given in. Waits."""
        from engine.agents.sections import pinned_order
        from engine.context import build_context
        from engine.models.tokens import estimate_tokens
        from engine.story.render import sheet

        snapshot = self._story(story_id).snapshot(branch)
        settings = snapshot.meta.settings
        pinned = pinned_order(build_context(snapshot, ""))
        tokens = tuple(estimate_tokens(sheet(fragment)) for fragment in pinned)
        return FragmentOrder(settings.context_order_mode, pinned, settings.fragment_order, tokens)

    def write(self, story_id: str, ids: Sequence[str], shown: FragmentOrder) -> FileEdit | None:
        """Write another order of the pinned fragments than the one that was `shown`, into the story's meta.

        Ids that are not among `ids`, as those of another branch, stay behind their neighbours. Returns what was
        written, for `take_back`. Raises `Conflict` when the order is no longer the one that was shown.
        """
        return self._story(story_id).order_fragments(ids, shown.order)

    def use_mode(self, story_id: str, mode: Literal["simple", "advanced"]) -> FileEdit | None:
        """Have the context ordered by types, or by the order of `write`. Raises as writing does."""
        return self._story(story_id).use_context_order(mode)

    def place(
        self, story_id: str, branch: str, fragment: Fragment, placement: Literal["system", "user"]
    ) -> FileEdit | None:
        """Choose the message a pinned fragment becomes part of, in its file.

        Raises `Conflict` when its placement is no longer that of `fragment`.
        """
        return self._story(story_id).place_fragment(branch, fragment.id, placement, fragment.placement)

    def take_back(self, story_id: str, edit: FileEdit) -> FileEdit:
        """Undo one of these edits, to the byte; returns what does it again. Raises `Conflict`."""
        return self._story(story_id).take_back(edit)
