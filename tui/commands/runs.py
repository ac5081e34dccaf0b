"""`runs`: look back on generations, from their logs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from engine.errors import WrongInput
from engine.text import collapse_space
from tui.commands.comparing import comparison_document
from tui.commands.frame import Group, branch_option, checked, ended, warn, warn_of_doubt, with_workspace
from tui.output import message, table, write, write_json

if TYPE_CHECKING:
    from engine.runs.details import LoggedCall, RunDetail
    from engine.runs.records import RunRecord, Tokens
    from engine.runs.used import Used
    from engine.workspace import Workspace


@click.group("runs", cls=Group, no_args_is_help=True)
def runs() -> None:
    """Look back on generations: what was sent, called and answered.

    Nothing is sent and nothing is written. ID may be the beginning of an id, with or without gen-, or last for the
    newest run.

    \b
    Examples:
      stonehand runs list my-story is:failed since:2026-03
      stonehand runs show my-story last
      stonehand runs diff my-story last
      stonehand runs replay my-story last --events
      stonehand runs usage my-story
    """


@runs.command("list")
@click.argument("story")
@click.argument("words", metavar="[FILTER…]", nargs=-1)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The newest N only.")
@branch_option
@with_workspace
def list_runs(
    workspace: Workspace, story: str, words: tuple[str, ...], limit: int | None, branch: str | None, as_json: bool
) -> None:
    """List the runs of a branch, newest first.

    A FILTER is words, all of which a run must meet. A plain word is looked for in inputs, agents, models and ids; = and
    what follows it in whole inputs and answers.

    \b
      is:failed is:stopped is:cut is:exceeded is:kept is:tools is:retried
      agent:A model:M provider:P finish:F fragment:ID id:ID
      on:2026-03-05 since:2026-03 until:2026-03-05T18:30

    \b
    Examples:
      stonehand runs list my-story
      stonehand runs list my-story agent:writer is:failed
      stonehand runs list my-story '= the lighthouse' --json | jq -r '.[].id'
    """
    from engine.runs.filtering import RunFilter

    wanted = RunFilter(checked(" ".join(words)))
    wanted.check()
    warn_of_doubt(workspace, story, branch)
    found = workspace.runs.filtered(story, branch, wanted)
    for problem in found.problems:
        warn(problem)
    shown = found.runs[:limit]
    if as_json:
        write_json([record_document(run) for run in shown])
    elif shown:
        header = ("ID", "AT", "AGENT", "MODEL", "IN", "OUT", "SECONDS", "END", "INPUT")
        write(table(header, [_row(run) for run in shown], right=(4, 5, 6)))
    else:
        message("no run meets the filter" if wanted else "there is no run yet")


@runs.command("show")
@click.argument("story")
@click.argument("run_id", metavar="ID")
@click.option("--prompt", "part", flag_value="prompt", help="Only what was sent, as it was sent.")
@click.option("--answer", "part", flag_value="answer", help="Only what was answered.")
@branch_option
@with_workspace
def show_run(
    workspace: Workspace, story: str, run_id: str, part: str | None, branch: str | None, as_json: bool
) -> None:
    """Show one run, whole.

    With --json also the blocks that its messages were made of, where its log says them.

    \b
    Examples:
      stonehand runs show my-story last
      stonehand runs show my-story mab12 --prompt > sent.txt
      stonehand runs show my-story last --json | jq .usage
    """
    if as_json and part is not None:
        raise WrongInput(f"--json and --{part} are two forms of output", repair="choose one; --json has both parts")
    detail = _detail(workspace, story, branch, run_id)
    if as_json:
        write_json(run_document(detail))
    elif part == "prompt":
        write(ended("\n\n".join(message.content for message in detail.messages)))
    elif part == "answer":
        write(ended(detail.answer))
    else:
        write(_told(detail))


@runs.command("replay")
@click.argument("story")
@click.argument("run_id", metavar="ID")
@click.option("--events", is_flag=True, help="One JSON object a line for each event, instead of the text alone.")
@click.option(
    "--pace", type=click.FloatRange(min=0), metavar="WORDS", help="Words a second, 12 by default; 0: at once."
)
@branch_option
@with_workspace
def replay_run(
    workspace: Workspace, story: str, run_id: str, events: bool, pace: float | None, branch: str | None, as_json: bool
) -> None:
    """Stream a run once more from its log, without sending anything.

    The answer goes to standard output; what happened besides, such as calls of tools, is told on standard error. Events
    are named as those of a generation; with --json they are one document, at once.

    \b
    Examples:
      stonehand runs replay my-story last
      stonehand runs replay my-story last --pace 0 --events | jq -c 'select(.type == "tool-call")'
    """
    from engine.runs.replaying import TEXTS, pause_before, replay_steps

    if as_json and events:
        raise WrongInput("--json and --events are two forms of output", repair="choose one")
    detail = _detail(workspace, story, branch, run_id)
    if as_json:
        write_json([step.data for step in replay_steps(detail)])
        return
    last = "\n"
    for step in replay_steps(detail):
        time.sleep(pause_before(step, pace))
        if events:
            write(json.dumps(step.data, ensure_ascii=False) + "\n")
        elif step.type == "text":
            write(step.text)
            last = step.text[-1]
        elif step.type not in TEXTS and (said := _said(step.type, step.data, step.call)):
            message(said)
    if not events and last != "\n":
        write("\n")


@runs.command("diff")
@click.argument("story")
@click.argument("before_id", metavar="ID")
@click.argument("after_id", metavar="[ID2]", required=False)
@branch_option
@with_workspace
def diff_runs(
    workspace: Workspace, story: str, before_id: str, after_id: str | None, branch: str | None, as_json: bool
) -> None:
    """Compare two runs, or one with the prompt as it is now.

    Without ID2, with what would be sent now for the same input. Of two runs the prompts are compared by block, then
    what they gave. Nothing is printed when nothing differs; the exit code says nothing of it.

    \b
    Examples:
      stonehand runs diff my-story last
      stonehand runs diff my-story mab12 mab34 --json | jq '.prompt.changed[].id'
    """
    before = _detail(workspace, story, branch, before_id)
    if after_id is None:
        compared = workspace.runs.compare_with_now(story, branch, before)
    else:
        after = _detail(workspace, story, branch, after_id)
        compared = workspace.runs.compare(before, after)
    prompt, answer = compared.prompt, compared.answer
    if prompt.by_message:
        message("the blocks of what was sent were not recorded, so whole messages are compared")
    if as_json:
        write_json(
            {
                "before": before.record.id,
                "after": after.record.id if after_id is not None else None,
                "prompt": comparison_document(prompt),
                "answer": None if answer is None else comparison_document(answer),
            }
        )
        return
    write(prompt.text + (answer.text if answer is not None else ""))


@runs.command("usage")
@click.argument("story")
@with_workspace
def show_usage(workspace: Workspace, story: str, as_json: bool) -> None:
    """Show the tokens used so far, by agent and model, on all branches.

    \b
    Examples:
      stonehand runs usage my-story
      stonehand runs usage my-story --json | jq .total
    """
    usage = workspace.runs.usage(story)
    for problem in usage.problems:
        warn(problem)
    if as_json:
        write_json(
            {
                "total": _used_document(usage.total),
                "agents": [
                    {"agent": item.used.name, **_used_document(item.used), "byModel": _by_model(item.models)}
                    for item in usage.agents
                ],
                "byModel": _by_model(usage.models),
                "updatedAt": usage.updated_at or None,
            }
        )
        return
    if not usage.agents and not usage.total.calls:
        message("no usage is recorded yet")
        return
    rows: list[tuple[str, ...]] = []
    for item in usage.agents:
        rows.append((item.used.name, "all models", *_figures(item.used)))
        rows += [("", model.name, *_figures(model)) for model in item.models]
    rows += [("all agents", model.name, *_figures(model)) for model in usage.models]
    rows.append(("all agents", "all models", *_figures(usage.total)))
    write(table(("AGENT", "MODEL", "CALLS", "IN", "OUT"), rows, right=(2, 3, 4)))


def _detail(workspace: Workspace, story: str, branch: str | None, given: str) -> RunDetail:
    return workspace.runs.detail(story, branch, workspace.runs.find(story, branch, checked(given)))


# -- as text


def _row(run: RunRecord) -> tuple[str, ...]:
    sent, received = (str(run.tokens.sent), str(run.tokens.received)) if run.tokens is not None else ("?", "?")
    seconds = "?" if run.seconds is None else f"{run.seconds:.1f}"
    return run.id, run.at, run.agent, run.model, sent, received, seconds, _end(run), collapse_space(run.input)


def _end(run: RunRecord) -> str:
    return "failed" if run.failed else "stopped" if run.stopped else run.finish or "?"


def _told(detail: RunDetail) -> str:
    """A run as a text: its figures a line each, then what was asked, planned, called, thought and answered."""
    from engine.runs.details import value_lines

    run = detail.record
    figures = {
        "run": run.id,
        "at": run.at,
        "agent": run.agent,
        "provider": run.provider,
        "model": run.model,
        "answered": f"as {run.answered_by}" if run.answered_by else "",
        "end": _end(run) + (", its steps were used up" if run.steps_exceeded else ""),
        "error": run.error,
        "seconds": "" if run.seconds is None else f"{run.seconds:.1f}",
        "tokens": _tokens(run.tokens) + (", estimated" if detail.estimated else ""),
        "cost": "" if detail.cost is None else f"{detail.cost:.6f} USD",
        "steps": str(run.steps),
        "retries": str(run.retries) if run.retries else "",
        "request": ", ".join(detail.request_hashes),
        "kept as": run.fragment_id,
    }
    text = "".join(f"{name + ':':<10} {value}\n" for name, value in figures.items() if value)
    if more := {name: value for name, value in detail.error.items() if name != "message"}:
        text += "".join(f"    {line}\n" for line in value_lines(more).splitlines())
    text += "".join(f"{'warning:':<10} {warning}\n" for warning in detail.warnings)
    text += "".join(f"{'retry:':<10} {why}\n" for why in detail.retries if why)
    for title, part in (("input", detail.input), ("brief", detail.brief), ("brief reasoning", detail.brief_reasoning)):
        text += f"\n-- {title}\n{ended(part)}" if part else ""
    if detail.calls:
        text += "\n-- tool calls\n"
        for call in detail.calls:
            text += f"{call.line}\n"
            for name, value in (("arguments", call.arguments), ("result", call.result)):
                lines = value_lines(value).splitlines()
                text += "".join(f"    {line}\n" for line in [f"{name}:", *(f"  {line}" for line in lines)] if lines)
    for title, part in (("reasoning", detail.reasoning), ("answer", detail.answer)):
        text += f"\n-- {title}\n{ended(part)}" if part else ""
    return text


def _tokens(tokens: Tokens | None) -> str:
    if tokens is None:
        return ""
    cached = "" if tokens.cached is None else f" ({tokens.cached} of them cached)"
    return f"{tokens.sent} in{cached}, {tokens.received} out"


def _said(kind: str, data: dict[str, Any], call: LoggedCall | None) -> str:
    """What a replay tells on the side of a step that is no text."""
    if kind == "phase":
        return str(data["phase"])
    if kind == "tool-result" and call is not None:
        return call.line
    if kind == "error":
        return f"the run failed: {data['message']}"
    return ""


def _figures(used: Used) -> tuple[str, str, str]:
    return str(used.calls), str(used.tokens.sent), str(used.tokens.received)


# -- as JSON


def record_document(run: RunRecord) -> dict[str, Any]:
    """A run of the list."""
    return {
        "id": run.id,
        "createdAt": run.created_at,
        "agent": run.agent,
        "provider": run.provider or None,
        "model": run.model,
        "answeredBy": run.answered_by or None,
        "input": run.input,
        "finishReason": run.finish or None,
        "failed": run.failed,
        "error": run.error or None,
        "stopped": run.stopped,
        "stepCount": run.steps,
        "stepsExceeded": run.steps_exceeded,
        "toolCallCount": run.calls,
        "retryCount": run.retries,
        "durationMs": None if run.seconds is None else round(run.seconds * 1000),
        "usage": None if run.tokens is None else _tokens_document(run.tokens),
        "fragmentId": run.fragment_id or None,
    }


def run_document(detail: RunDetail) -> dict[str, Any]:
    """A run, whole. `blocks` are null where its log does not say them."""
    blocks = None
    if detail.by_block:
        blocks = [
            {"id": span.block.id, "name": span.block.name, "role": message.role, "content": span.block.content}
            for message in detail.messages
            for span in message.spans
        ]
    return {
        **record_document(detail.record),
        "input": detail.input,
        "mode": detail.mode or None,
        "target": detail.target or None,
        "requestHashes": list(detail.request_hashes),
        "error": dict(detail.error) or None,
        "estimated": detail.estimated,
        "cost": detail.cost,
        "warnings": list(detail.warnings),
        "retries": list(detail.retries),
        "messages": [{"role": message.role, "content": message.content} for message in detail.messages],
        "blocks": blocks,
        "prewriterBrief": detail.brief or None,
        "prewriterReasoning": detail.brief_reasoning or None,
        "toolCalls": [
            {
                "toolName": call.logged_name,
                "did": call.line,
                "failed": call.failed,
                "byPrewriter": call.planning,
                "args": call.arguments,
                "result": call.result,
            }
            for call in detail.calls
        ],
        "reasoning": detail.reasoning or None,
        "generatedText": detail.answer,
    }


def _tokens_document(tokens: Tokens) -> dict[str, Any]:
    return {"inputTokens": tokens.sent, "outputTokens": tokens.received, "cachedTokens": tokens.cached}


def _used_document(used: Used) -> dict[str, Any]:
    return {"calls": used.calls, "inputTokens": used.tokens.sent, "outputTokens": used.tokens.received}


def _by_model(models: Sequence[Used]) -> dict[str, Any]:
    return {model.name: _used_document(model) for model in models}
