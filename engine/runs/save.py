"""Saving a generated passage: a prose fragment, a chain entry, a log (spec, section 10.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.errors import Problem, StonehandError
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
    """What was written: the new prose fragment and the id of its log.

    `problem` is set, and the id empty, when the passage is in the story but its log could not be written; `skipped`
    are the hooks that failed when they were told of it.
    """

    fragment: Fragment
    log_id: str
    problem: Problem | None = None
    skipped: tuple[Problem, ...] = ()


def save_passage(folder: StoryFolder, prompt: Prompt, view: RunView, thoughts: str = "") -> Saved:
    """Append a finished run's text to the branch its prompt came from, and tell the prompt's hooks of it.

    Raises `StonehandError` when there is nothing to save (the run failed, is not finished, or its text is blank) and
    when the story can't be written; nothing is there of the passage then.
    """
    if not view.finished:
        raise StonehandError("the generation is still running", repair="stop it first, or wait")
    if view.phase == "failed":
        raise StonehandError(f"the generation failed, so nothing was saved: {view.failure}")
    if is_blank(view.text):
        raise StonehandError("the generation has no text, so nothing was saved")
    meta: dict[str, Any] = {"generatedFrom": prompt.input}
    if prompt.context_ids:
        meta["writerContextIds"] = list(prompt.context_ids)
    fragment = folder.append_prose(
        prompt.branch,
        name=cut(f"[Continuation] {prompt.input}".strip(), NAME_LIMIT),
        description=cut(prompt.input, DESCRIPTION_LIMIT),
        content=view.text,
        meta=meta,
    )
    skipped = prompt.hooks.after_save(fragment, prompt.hook_context)
    log = generation_log(prompt, view, now_iso(), thoughts)
    try:
        return Saved(fragment, folder.write_log(prompt.branch, {**log, "fragmentId": fragment.id}), skipped=skipped)
    except StonehandError as error:
        return Saved(fragment, "", error.problem, skipped)
