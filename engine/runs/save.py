"""Saving a generated passage: a prose fragment, a chain entry, a log (spec, section 10.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.context import ContextState
from engine.errors import StonehandError
from engine.prompt import Prompt
from engine.runs.log import generation_log
from engine.runs.run import RunView
from engine.story import Fragment, StoryFolder
from engine.story.branches import now_iso
from engine.text import cut, is_blank

NAME_LIMIT = 100
DESCRIPTION_LIMIT = 250


@dataclass(frozen=True, slots=True)
class Saved:
    """What was written: the new prose fragment and the id of its log."""

    fragment: Fragment
    log_id: str


def save_passage(folder: StoryFolder, prompt: Prompt, state: ContextState, view: RunView, thoughts: str = "") -> Saved:
    """Append a finished run's text to the branch its prompt came from.

    Raises `StonehandError` when there is nothing to save: the run failed, is not finished, or its text is blank.
    """
    if not view.finished:
        raise StonehandError("the generation is still running", repair="stop it first, or wait")
    if view.phase == "failed":
        raise StonehandError(f"the generation failed, so nothing was saved: {view.failure}")
    if is_blank(view.text):
        raise StonehandError("the generation has no text, so nothing was saved")
    meta: dict[str, Any] = {"generatedFrom": prompt.input}
    context_ids = writer_context_ids(state)
    if context_ids:
        meta["writerContextIds"] = context_ids
    fragment = folder.append_prose(
        prompt.branch,
        name=cut(f"[Continuation] {prompt.input}".strip(), NAME_LIMIT),
        description=cut(prompt.input, DESCRIPTION_LIMIT),
        content=view.text,
        meta=meta,
    )
    log = generation_log(prompt, view, now_iso(), thoughts)
    return Saved(fragment, folder.write_log(prompt.branch, {**log, "fragmentId": fragment.id}))


def writer_context_ids(state: ContextState) -> list[str]:
    """Ids of what the writer had in full, in the order the reference records them (spec, section 3.6)."""
    groups = [
        state.sticky_characters,
        state.recent_characters,
        state.sticky_knowledge,
        state.recent_knowledge,
        *(group.fragments for group in state.sticky_custom_fragments),
        *(group.fragments for group in state.recent_custom_fragments),
    ]
    return list(dict.fromkeys(fragment.id for group in groups for fragment in group))
