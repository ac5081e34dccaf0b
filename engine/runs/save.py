"""Keeping what a run wrote: a prose fragment, its place in the chain, and the run's log (spec, section 10.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from engine.errors import Problem, StonehandError
from engine.runs.log import generation_log
from engine.runs.run import Run
from engine.story import Fragment, StoryFolder
from engine.story.branches import now_iso
from engine.text import Phrase, cut, is_blank

NAME_LIMIT = 100
DESCRIPTION_LIMIT = 250
TITLES: Final = {"generate": "Continuation", "regenerate": "Regenerate", "refine": "Refine"}


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


def save_passage(folder: StoryFolder, run: Run, *, broken: bool = False) -> Saved:
    """Save a finished run's text on the branch its prompt came from, and tell the prompt's hooks of it: as the last
    section, or as the variant that is shown of the passage it replaces.

    With `broken`, the text a failed run came to is saved too; its fragment's meta says what ended it.

    Raises `StonehandError` when there is nothing to save (the run failed, is not finished, or its text is blank) and
    when the story can't be written; nothing is there of the passage then.
    """
    view, prompt = run.view(), run.prompt
    if not run.is_passage():
        raise StonehandError(Phrase("what {agent} answers is no passage, so nothing was saved", agent=run.agent))
    if not view.finished:
        raise StonehandError("the generation is still running", repair="stop it first, or wait")
    if view.phase == "failed" and not broken:
        raise StonehandError(Phrase("the generation failed, so nothing was saved: {failure}", failure=view.failure))
    if is_blank(view.text):
        raise StonehandError("the generation has no text, so nothing was saved")
    meta: dict[str, Any] = {"generatedFrom": run.input}
    if view.failure:
        meta["stonehand"] = {"broken": str(view.failure)}
    if context_ids := tuple(dict.fromkeys((*prompt.context_ids, *run.read_ids))):
        meta["writerContextIds"] = list(context_ids)
    name = cut(f"[{TITLES[run.mode]}] {run.input}".strip(), NAME_LIMIT)
    description = cut(run.input, DESCRIPTION_LIMIT)
    if run.replaced is None:
        fragment = folder.append_prose(prompt.branch, name=name, description=description, content=view.text, meta=meta)
    else:
        meta["generationMode"] = run.mode
        fragment = folder.add_variant(
            prompt.branch, run.replaced.id, name=name, description=description, content=view.text, meta=meta
        )
    skipped = prompt.hooks.after_save(fragment, prompt.hook_context)
    try:
        return Saved(fragment, record(folder, run, fragment.id), skipped=skipped)
    except StonehandError as error:
        return Saved(fragment, "", error.problem, skipped)


def record(folder: StoryFolder, run: Run, fragment_id: str | None = None) -> str:
    """Write the log of a finished run, or write into it which fragment the run became; its id. Raises as writing does.

    The logs of all agents lie in one folder: one that became no fragment has none, which the reference allows.
    """
    log = {**generation_log(run, now_iso()), "fragmentId": fragment_id}
    if run.log_id and folder.update_log(run.prompt.branch, run.log_id, {"fragmentId": fragment_id}):
        return run.log_id
    run.log_id = folder.write_log(run.prompt.branch, log, adopt=fragment_id is not None)
    return run.log_id
