"""`generate`: stream a passage, and save it."""

from __future__ import annotations

import json
import queue
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from engine.errors import StonehandError
from tui.commands.frame import (
    INPUT_HELP,
    POLL,
    WRITER,
    Command,
    Terminated,
    branch_option,
    read_text,
    terminable,
    waited,
    warn,
    with_workspace,
)
from tui.output import DONE, INTERRUPTED, TERMINATED, OutputClosed, message, write, write_json

if TYPE_CHECKING:
    from engine.budget import Budget
    from engine.prompt import Prompt
    from engine.runs import Mode, Run, RunEvent, RunView, Saved
    from engine.workspace import Workspace

GONE = "whoever read standard output has gone"
OVER_BUDGET = "switch blocks off, shorten them or choose another model; --over-budget sends it all the same"


@click.command(cls=Command)
@click.argument("story")
@click.argument("agent", default=WRITER)
@click.option("--input", "author_input", metavar="TEXT", required=True, help=INPUT_HELP)
@click.option(
    "--provider",
    metavar="P",
    default="rehearsal",
    show_default=True,
    help="rehearsal (no model: it imitates the story's prose), replay:<log id>, or the id of a provider.",
)
@click.option("--model", metavar="M", default="", help="The provider's model.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Stop after about N tokens.")
@click.option(
    "--pace", type=click.FloatRange(min=0), metavar="WORDS", help="Words a second of rehearsal and replay; 0: at once."
)
@click.option("--over-budget", is_flag=True, help="Send a prompt that does not fit the model, too.")
@click.option(
    "--fragment", metavar="ID", help="What it is about: the fragment to refine, analyze, transform or talk to."
)
@click.option(
    "--mode",
    type=click.Choice(("generate", "regenerate", "refine")),
    default="generate",
    show_default=True,
    help="For the writer: the next passage, or another version of the one that --fragment names.",
)
@click.option("--max-steps", type=click.IntRange(min=1), metavar="N", help="Call the model at most N times.")
@click.option("--accept-edits", is_flag=True, help="Apply the changes an agent makes; else they are only told of.")
@click.option("--events", is_flag=True, help="Stream events to standard output instead of text, one JSON a line.")
@click.option("--save", is_flag=True, help="Append the passage to the story when it is complete.")
@branch_option
@with_workspace
def generate(
    workspace: Workspace,
    story: str,
    agent: str,
    author_input: str,
    provider: str,
    model: str,
    max_tokens: int | None,
    pace: float | None,
    over_budget: bool,
    fragment: str | None,
    mode: Mode,
    max_steps: int | None,
    accept_edits: bool,
    events: bool,
    save: bool,
    branch: str | None,
    as_json: bool,
) -> int:
    """Generate a passage, or run another agent.

    It is streamed to standard output. Ctrl+C or SIGTERM stops it: the text so far stays on standard output and nothing
    is saved. With --json there is one document, at the end; with --events one a line, as they happen. AGENT is
    generation.writer by default. In a story with a prewriter that plans first.

    A provider's own model is used where --model names none: the one the story chose of it, else its default one.

    A prompt that can't fit the context window of the model in force, or of --model, is not sent: the rehearsal stands
    in for that model.

    \b
    Examples:
      stonehand generate my-story --input 'They reach the harbour at night.'
      stonehand generate my-story --input - --save < direction.txt
      stonehand generate my-story --input 'Go on.' --pace 0 --json | jq -r .text
      stonehand generate my-story librarian.analyze --fragment pr-bafego --input '' --provider openrouter
    """
    if save:
        if agent != WRITER:
            raise click.UsageError(f"--save is for {WRITER}: what {agent} answers is no passage")
        branch = workspace.story(story).branch_to_write(branch).id
    session = workspace.session(story, agent, branch)
    session.author_input = read_text(author_input)
    pieces: queue.SimpleQueue[str] = queue.SimpleQueue()
    run = workspace.generation.prepare(
        session,
        provider=provider,
        model=model or None,
        mode=mode,
        fragment=fragment,
        max_steps=max_steps,
        max_output_tokens=max_tokens,
        words_per_second=pace,
        edits="apply" if accept_edits else "aside",
        on_text=None if as_json or events else pieces.put,
        on_event=(lambda event: pieces.put(_line(event))) if events else None,
    )
    for warning in run.prompt.warnings:
        warn(warning)
    if not provider.startswith("replay:"):  # which sends nothing
        budget = workspace.models.budget(
            story, agent, provider=provider, model=model or None, max_output_tokens=max_tokens
        )
        _check_budget(budget, run.prompt, workspace.generation.tool_tokens(run.prompt), over_budget)
    view, end = _stream(workspace, run, pieces)
    for warning in view.warnings:
        warn(warning)
    if view.rewritten and not as_json:
        warn("a hook changed the passage after it was streamed")
    saved: Saved | None = None
    failure: Exception | None = None
    if view.phase == "failed":
        failure = StonehandError(f"the generation failed: {view.failure}")
    elif save and view.phase == "done":
        try:
            saved = workspace.passages.keep(run)
        except Exception as error:  # whatever it is, the text is given first
            failure = error
    if as_json:
        try:
            write_json(_passage_document(view, provider, saved))
        except OutputClosed:
            failure = failure or StonehandError(GONE)
    if saved is not None:
        message(f"saved as {saved.fragment.id}, {f'log {saved.log_id}' if saved.log_id else 'without a log'}")
        for problem in (saved.problem, *saved.skipped):
            if problem is not None:
                warn(problem)
    if failure is not None:
        raise failure
    _tell_rest(view)
    if view.phase == "stopped":
        message("stopped; nothing was saved")
        return end
    return DONE


def _line(event: RunEvent) -> str:
    """An event as a line of JSON."""
    return json.dumps(event.as_json(), ensure_ascii=False, separators=(",", ":")) + "\n"


def _check_budget(budget: Budget, prompt: Prompt, tools: int, over_budget: bool) -> None:
    """Warn of a prompt that may not fit. Raises `OverBudget` for one that can't, unless it is wanted all the same."""
    from engine.budget import refusal, warning

    used = prompt.tokens.total + tools
    fit = budget.fit(used)
    if fit == "no" and not over_budget:
        raise refusal(budget, used, prompt.blocks, OVER_BUDGET)
    if fit in ("no", "maybe"):
        warn(warning(budget, used))


def _stream(workspace: Workspace, run: Run, pieces: queue.SimpleQueue[str]) -> tuple[RunView, int]:
    """Run to the end, writing the text as it comes; also the exit code, if it was stopped.

    Ctrl+C and SIGTERM stop the run, and so does a reader that has gone, which raises `StonehandError`.
    """
    future = workspace.generate(run)
    future.add_done_callback(lambda _: pieces.put(""))  # wakes the loop below
    last = "\n"
    end = INTERRUPTED

    def show(text: str) -> None:
        nonlocal last
        if text:
            write(text)
            last = text[-1]

    try:
        with terminable():
            while not future.done():
                with suppress(queue.Empty):
                    show(pieces.get(timeout=POLL))
        view = waited(future)
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, Terminated):
            end = TERMINATED
        run.stop()
        view = waited(future)
    except OutputClosed:
        run.stop()
        raise StonehandError(f"{GONE}; the passage was not saved") from None
    except BaseException:
        run.stop()
        raise
    try:
        while not pieces.empty():
            show(pieces.get())
        if last != "\n":
            write("\n")
    except OutputClosed:
        raise StonehandError(f"{GONE}; the passage was not saved") from None
    return view, end


def _tell_rest(view: RunView) -> None:
    """What a run came to besides its text."""
    for question in view.questions:
        message(f"asked: {question.question}")
    for direction in view.directions:
        message(f"direction: {direction.title}: {direction.instruction}")
    for plan in view.waiting_plans:
        names = ", ".join(change.after.name or change.fragment_id for change in plan.plan.changes)
        warn(f"not changed: {names}; --accept-edits applies what an agent changes")


def _passage_document(view: RunView, provider: str, saved: Saved | None) -> dict[str, Any]:
    return {
        "text": view.text,
        "provider": provider,
        "model": view.model,
        "finish": view.finish,
        "inputTokens": view.input_tokens,
        "outputTokens": view.output_tokens,
        "seconds": round(view.seconds, 3),
        "steps": view.step,
        **({"brief": view.brief} if view.brief is not None else {}),
        **({"directions": [item.document() for item in view.directions]} if view.directions else {}),
        **({"questions": [item.document() for item in view.questions]} if view.questions else {}),
        "saved": None if saved is None else {"fragmentId": saved.fragment.id, "logId": saved.log_id or None},
    }
