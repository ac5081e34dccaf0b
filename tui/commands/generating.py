"""`generate`: run an agent, streaming what it writes; save a passage."""

from __future__ import annotations

import json
import queue
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from engine.errors import StonehandError, WrongInput
from engine.text import is_blank
from tui.commands.changes import Proposed, changes_document, named, proposed_in, tell_changes
from tui.commands.frame import (
    INPUT_HELP,
    POLL,
    WRITER,
    Command,
    Terminated,
    branch_option,
    checked,
    read_text,
    terminable,
    waited,
    warn,
    with_workspace,
)
from tui.output import DONE, INTERRUPTED, TERMINATED, OutputClosed, message, one_line, write, write_json

if TYPE_CHECKING:
    from engine.runs import Mode, Run, RunEvent, RunView, Saved
    from engine.tools.collected import Question
    from engine.workspace import Workspace
    from engine.workspace.generation import Cost

PREWRITER: Final = "generation.prewriter"
DIRECTIONS: Final = "directions.suggest"
WITHOUT_INPUT: Final = (
    "librarian.analyze",
    "librarian.optimize-character",
    "librarian.prose-transform",
    "librarian.refine",
    DIRECTIONS,
)
"""The agents that have work without a word of the author's."""
GONE = "whoever read standard output has gone"
OVER_BUDGET = "switch blocks off, shorten them or choose another model; --over-budget sends it all the same"


@click.command(cls=Command)
@click.argument("story")
@click.argument("agent", default=WRITER)
@click.option("--input", "author_input", metavar="TEXT", help=INPUT_HELP)
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
@click.option(
    "--answer",
    "answers",
    nargs=2,
    multiple=True,
    metavar="QUESTION ANSWER",
    help="What you answer to a question of the prewriter's; once for each.",
)
@click.option(
    "--round",
    "asked",
    type=click.IntRange(min=0),
    metavar="N",
    help="How often the prewriter has asked; left out: once where there is an --answer.",
)
@click.option(
    "--directions",
    type=click.IntRange(1, 12),
    default=3,
    show_default=True,
    metavar="N",
    help=f"How many directions {DIRECTIONS} is to propose.",
)
@click.option(
    "--accept-edits",
    is_flag=True,
    help="Apply the changes an agent makes or proposes; else they are shown, whatever the story's setting.",
)
@click.option("--events", is_flag=True, help="Stream events to standard output instead of text, one JSON a line.")
@click.option("--save", is_flag=True, help="Append the passage to the story when it is complete and no refusal.")
@branch_option
@with_workspace
def generate(
    workspace: Workspace,
    story: str,
    agent: str,
    author_input: str | None,
    provider: str,
    model: str,
    max_tokens: int | None,
    pace: float | None,
    over_budget: bool,
    fragment: str | None,
    mode: Mode,
    max_steps: int | None,
    answers: tuple[tuple[str, str], ...],
    asked: int | None,
    directions: int,
    accept_edits: bool,
    events: bool,
    save: bool,
    branch: str | None,
    as_json: bool,
) -> int:
    """Generate a passage, or run another agent.

    It is streamed to standard output. Ctrl+C or SIGTERM stops it: the text so far stays on standard output and no
    passage is saved. A run that asks a provider leaves a log in the story, saved or not, and counts its tokens; the
    rehearsal and a replay leave nothing but what --save keeps. With --json there is one document, at the end; with
    --events one a line, as they happen. AGENT is generation.writer by default.

    In a story with a prewriter that plans first. It may ask: on a terminal you are asked at once, else its questions
    are told, and the same command with an --answer to each goes on from there. It plans with the model of --model, too,
    unless it has one of its own with that provider; where two models are at work, both are named.

    What an agent changes in the story is applied with --accept-edits only. Without it, it is shown line by line on
    standard error, and what librarian.analyze proposes stays open in its analysis.

    A provider's own model is used where --model names none: the one the story chose of it, else its default one.

    A prompt that can't fit the context window of the model in force, or of --model, is not sent: the rehearsal stands
    in for that model.

    \b
    Examples:
      stonehand generate my-story --input 'They reach the harbour at night.'
      stonehand generate my-story --input - --save < direction.txt
      stonehand generate my-story --input 'Go on.' --pace 0 --json | jq -r .text
      stonehand generate my-story --mode refine --fragment pr-bafego --input 'Shorter.'
      stonehand generate my-story --input 'A storm.' --answer 'Who sees it?' 'Ines'
      stonehand generate my-story analyze --fragment pr-bafego --provider openrouter
      stonehand generate my-story directions.suggest --directions 5 --provider openrouter --json
    """
    _check(agent, author_input, mode, fragment, answers, asked, save)
    if save:
        branch = workspace.story(story).branch_to_write(branch).id
    session = workspace.session(story, agent, branch)
    session.author_input = read_text(author_input or "")
    told = tuple((checked(question), checked(answer)) for question, answer in answers)
    while True:
        pieces: queue.SimpleQueue[str] = queue.SimpleQueue()
        run = workspace.generation.prepare(
            session,
            provider=provider,
            model=model or None,
            mode=mode,
            fragment=fragment,
            clarifications=told,
            clarify_round=asked,
            directions=directions,
            max_steps=max_steps,
            max_output_tokens=max_tokens,
            words_per_second=pace,
            edits="apply" if accept_edits else "aside",
            on_text=None if as_json or events else pieces.put,
            on_event=_lines_into(pieces) if events else None,
        )
        for warning in run.prompt.warnings:
            warn(warning)
        if run.planner is not None and (plans := run.planner.setup.wire.label) != run.wire.label:
            message(f"{plans} plans the passage, {run.wire.label} writes it")
        for cost in workspace.generation.costs(run, provider, model or None, max_output_tokens=max_tokens):
            _check_budget(cost, over_budget)
        view, end = _stream(workspace, run, pieces)
        for warning in view.warnings:
            warn(warning)
        if as_json or events or view.phase != "done" or not view.questions or not _at_terminal():
            break
        answered = _ask(view.questions)
        if not answered:
            break
        told += answered
        asked = (asked if asked is not None else int(bool(answers))) + 1
    if view.rewritten and not as_json:
        warn("a hook changed the passage after it was streamed")
    saved: Saved | None = None
    failure: Exception | None = None
    if view.phase == "failed":
        failure = StonehandError(f"the generation failed: {view.failure}")
    elif save and view.phase == "done" and view.finish == "clarify":
        failure = StonehandError("the prewriter asks first, so nothing was written", repair="--answer answers it")
    elif save and view.phase == "done" and view.finish == "refusal" and not is_blank(view.text):
        failure = _refused(workspace, run)
    elif save and view.phase == "done":
        try:
            saved = workspace.passages.keep(run)
        except Exception as error:  # whatever it is, the text is given first
            failure = error
    elif view.phase == "done" and not run.analysis_id and _came_to_nothing(view):
        failure = StonehandError("the answer holds no text", repair="try again, or choose another model")
    proposed = proposed_in(workspace, story, run.prompt.branch, run.analysis_id) if run.analysis_id else ()
    if as_json:
        try:
            write_json(_document(run, provider, saved, proposed))
        except OutputClosed:
            failure = failure or StonehandError(GONE)
    if saved is not None:
        message(f"saved as {saved.fragment.id}, {f'log {saved.log_id}' if saved.log_id else 'without a log'}")
        for problem in (saved.problem, *saved.skipped):
            if problem is not None:
                warn(problem)
    _tell_rest(view, proposed, run.analysis_id)
    if failure is not None:
        raise failure
    if view.phase == "stopped":
        message("stopped; nothing was saved")
        return end
    return DONE


def _check(
    agent: str,
    author_input: str | None,
    mode: Mode,
    fragment: str | None,
    answers: tuple[tuple[str, str], ...],
    asked: int | None,
    save: bool,
) -> None:
    """Refuse options that do not go together. Raises `UsageError` and `WrongInput`."""
    if save and agent != WRITER:
        raise click.UsageError(f"--save is for {WRITER}: what {agent} answers is no passage")
    if author_input is None and agent not in WITHOUT_INPUT and mode != "regenerate":
        raise click.UsageError("Missing option '--input'", click.get_current_context())
    if mode != "generate" and fragment is None:
        raise WrongInput(f"to {mode}, a passage has to be chosen", repair="--fragment names it")
    if mode == "generate" and agent == WRITER and fragment is not None:
        raise WrongInput("the next passage is about no fragment", repair="--mode regenerate or refine takes one")
    if (answers or asked) and agent not in (WRITER, PREWRITER):
        raise click.UsageError(f"--answer and --round are for {WRITER} and {PREWRITER}: {agent} asks nothing")


def _at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _ask(questions: tuple[Question, ...]) -> tuple[tuple[str, str], ...]:
    """The author's answers on the terminal; a question that is left empty is not answered."""
    answered = []
    for question in questions:
        message(question.question)
        for number, option in enumerate(question.options, 1):
            message(f"  {number}. {option.label}{f': {option.description}' if option.description else ''}")
        hint = " (numbers or your own words; several with commas)" if question.several else ""
        given = click.prompt(f"> {one_line(question.header)}{hint}", default="", show_default=False, err=True)
        if answer := _chosen(checked(given).strip(), question):
            answered.append((question.question, answer))
    return tuple(answered)


def _chosen(given: str, question: Question) -> str:
    """An answer in words: numbers stand for the options they name."""
    parts = [part.strip() for part in given.split(",")] if question.several else [given]
    numbers = {str(number): option.label for number, option in enumerate(question.options, 1)}
    return ", ".join(numbers[part] for part in parts) if all(part in numbers for part in parts) else given


def _lines_into(pieces: queue.SimpleQueue[str]) -> Callable[[RunEvent], None]:
    """What puts each event there as a line of JSON."""
    return lambda event: pieces.put(json.dumps(event.as_json(), ensure_ascii=False, separators=(",", ":")) + "\n")


def _check_budget(cost: Cost, over_budget: bool) -> None:
    """Warn of a prompt that may not fit. Raises `OverBudget` for one that can't, unless it is wanted all the same."""
    from engine.budget import refusal, warning

    fit = cost.budget.fit(cost.used)
    if fit == "no" and not over_budget:
        raise refusal(cost.budget, cost.used, cost.prompt.blocks, OVER_BUDGET)
    if fit in ("no", "maybe"):
        warn(warning(cost.budget, cost.used))


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


def _came_to_nothing(view: RunView) -> bool:
    return is_blank(view.text) and not (view.questions or view.directions or view.plans)


def _refused(workspace: Workspace, run: Run) -> StonehandError:
    """That a passage was not saved, since its model refused to write it; what it wrote of it lies in a file then."""
    try:
        file = workspace.rescue.passage(run)
    except StonehandError as error:
        return StonehandError(f"the model refused, so nothing was saved, and its text can't be put aside: {error}")
    return StonehandError(f"the model refused, so nothing was saved; what it wrote is in {file}")


def _tell_rest(view: RunView, proposed: tuple[Proposed, ...], analysis_id: str) -> None:
    """What a run came to besides its text."""
    for question in view.questions:
        choices = f" ({' / '.join(option.label for option in question.options)})" if question.options else ""
        message(f"asked: {question.question}{choices}")
    for direction in view.directions:
        message(f"direction: {direction.title}: {direction.instruction}")
    if analysis_id:
        message(f"saved as the analysis {analysis_id}")
    waiting = [plan.plan for plan in view.waiting_plans]
    for plan in view.plans:
        if plan.decision == "applied" and plan.applied is not None:
            for written in plan.applied.written:
                if written.problem is not None:
                    warn(written.problem)
                else:
                    message(f"changed: {named(written.change)}")
    for item in proposed:
        if item.problem is not None:
            warn(f"proposed, and not possible: {item.proposal.title}: {item.problem}")
        elif item.plan is not None:
            waiting.append(item.plan)
        else:
            message(f"{item.proposal.status}: {item.proposal.title}")
    for waits in waiting:
        tell_changes(waits)
    if waiting:
        warn("not changed, only proposed; --accept-edits applies what an agent changes")


def _document(run: Run, provider: str, saved: Saved | None, proposed: tuple[Proposed, ...]) -> dict[str, Any]:
    view, analysis_id = run.view(), run.analysis_id
    changes = [changes_document(plan.plan, plan.decision) for plan in view.plans]
    proposals = [
        {
            "title": item.proposal.title,
            "rationale": item.proposal.rationale,
            "status": item.proposal.status,
            "problem": None if item.problem is None else str(item.problem),
            "changes": [] if item.plan is None else changes_document(item.plan, "waiting")["changes"],
        }
        for item in proposed
    ]
    return {
        "text": view.text,
        "provider": provider,
        "model": view.model,
        **({"answeredBy": view.answered_by} if view.answered_by else {}),
        **({"prewriterModel": run.planner.model} if run.planner is not None else {}),
        "finish": view.finish,
        **({"failure": view.failure} if view.failure else {}),
        "inputTokens": view.input_tokens,
        "outputTokens": view.output_tokens,
        "seconds": round(view.seconds, 3),
        "steps": view.step,
        **({"stepsExceeded": True} if view.steps_exceeded else {}),
        **({"brief": view.brief} if view.brief is not None else {}),
        **({"directions": [item.document() for item in view.directions]} if view.directions else {}),
        **({"questions": [item.document() for item in view.questions]} if view.questions else {}),
        **({"changes": changes} if changes else {}),
        **({"analysisId": analysis_id} if analysis_id else {}),
        **({"proposals": proposals} if proposals else {}),
        "saved": None if saved is None else {"fragmentId": saved.fragment.id, "logId": saved.log_id or None},
    }
