"""Commands that look and change nothing: stories, agents, blocks, compile, eval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.errors import StonehandError
from engine.text import is_blank
from tui.commands.frame import (
    INPUT_HELP,
    WRITER,
    Command,
    branch_option,
    ended,
    fragment_option,
    raise_fault,
    read_file,
    read_text,
    warn,
    warn_of_doubt,
    with_workspace,
)
from tui.output import DONE, FAILED, message, table, write, write_json

if TYPE_CHECKING:
    from engine.blocks.rows import Row
    from engine.budget import Budget
    from engine.workspace import AgentSummary, Workspace


@click.command(cls=Command)
@with_workspace
def stories(workspace: Workspace, as_json: bool) -> None:
    """List the stories of the data folder.

    \b
    Examples:
      stonehand stories
      stonehand stories --json | jq -r '.[].id'
    """
    found = workspace.stories()
    for story in found:
        if story.problem is not None:
            warn(story.problem)
    if as_json:
        write_json(
            [
                {
                    "id": story.id,
                    "name": story.name,
                    "branches": [branch.id for branch in story.branches],
                    "activeBranch": story.active_branch,
                }
                for story in found
            ]
        )
    elif found:
        rows = [
            (
                story.id,
                story.name,
                " ".join(f"{b.id}*" if b.id == story.active_branch else b.id for b in story.branches),
            )
            for story in found
        ]
        write(table(("STORY", "NAME", "BRANCHES (* ACTIVE)"), rows))
    else:
        message(f"no stories in {workspace.data}")


@click.command("agents", cls=Command)
@click.argument("story")
@click.option("--tools", is_flag=True, help="Their tools, each with its state and what it is for.")
@branch_option
@with_workspace
def list_agents(workspace: Workspace, story: str, tools: bool, branch: str | None, as_json: bool) -> None:
    """List the agents of a story.

    With --tools, what each can do: its tools, whether they are on, and what they are for. In the --json document each
    tool is then an object instead of a name.

    \b
    Examples:
      stonehand agents my-story
      stonehand agents my-story --tools
    """
    warn_of_doubt(workspace, story, branch)
    found = workspace.agents(story, branch)
    for agent in found:
        if agent.problem is not None:
            warn(agent.problem)
    if as_json:
        write_json(
            [
                {
                    "agent": agent.name,
                    "displayName": agent.display_name,
                    "description": agent.description,
                    "tools": _tools(workspace, story, agent, branch) if tools else list(agent.tools),
                    # What an unreadable file holds is not known.
                    "customised": None if agent.problem is not None else agent.customised,
                }
                for agent in found
            ]
        )
        return
    if tools:
        lines = [(agent.name, tool) for agent in found for tool in _tools(workspace, story, agent, branch)]
        write(
            table(
                ("AGENT", "TOOL", "STATE", "DESCRIPTION"),
                [(name, tool["name"], _TOOL_STATES[tool["enabled"]], tool["description"]) for name, tool in lines],
            )
        )
        return
    rows = []
    for agent in found:
        if agent.problem is not None:
            state = "invalid"
        else:
            state = "customised" if agent.customised else "default"
        rows.append((agent.name, state, agent.description))
    write(table(("AGENT", "STATE", "DESCRIPTION"), rows))


_TOOL_STATES = {True: "on", False: "off", None: "invalid"}


def _tools(workspace: Workspace, story: str, agent: AgentSummary, branch: str | None) -> list[dict[str, Any]]:
    """The tools an agent can have, in the order it declares them; which are on is not known of an unreadable config."""
    disabled = workspace.document(story, agent.name, branch).config.disabled_tools
    described = workspace.tool_descriptions(agent.tools)
    return [
        {"name": name, "description": described[name], "enabled": None if agent.problem else name not in disabled}
        for name in agent.tools
    ]


@click.command("blocks", cls=Command)
@click.argument("story")
@click.argument("agent")
@fragment_option
@branch_option
@with_workspace
def list_blocks(
    workspace: Workspace, story: str, agent: str, fragment: str | None, branch: str | None, as_json: bool
) -> None:
    """List the blocks of an agent.

    They stand in the order they compile, as the editor shows them. Blocks that are off, or that exist only under
    other conditions, stand in their place with the reason. POS is the place inside the role, which `config … move`
    takes.

    \b
    Examples:
      stonehand blocks my-story generation.writer
      stonehand blocks my-story refine --fragment ch-bafego
    """
    warn_of_doubt(workspace, story, branch)
    session = workspace.session(story, agent, branch, target=fragment)
    raise_fault(session.document)
    session.install(session.load())
    for line in session.old_blocks:
        warn(line)
    budget = workspace.models.budget(story, agent)
    if as_json:
        write_json([{**_row_document(row), "share": _share(budget, row.tokens)} for row in session.rows])
        return
    table_rows = []
    places: dict[str, int] = {}
    for row in session.rows:
        places[row.role] = places.get(row.role, 0) + 1
        tokens = "" if row.tokens is None else f"{row.tokens:,}"
        state = _STATES[row.state]
        name = row.name if row.custom else ""
        cells = (row.role, str(places[row.role]), row.key, name, state, row.mode or "", f"{_number(row.order)}", tokens)
        table_rows.append((*cells, row.note))
    header = ("ROLE", "POS", "ID", "NAME", "STATE", "MODE", "ORDER", "TOKENS", "NOTE")
    write(table(header, table_rows, right=(1, 6, 7)))
    generation = workspace.generation
    beside = generation.tool_tokens_of(session) + generation.opening_tokens_of(session)
    used = sum(row.tokens or 0 for row in session.rows) + beside
    message(_budget_line(budget, used))


_STATES = {"compiled": "on", "disabled": "off", "absent": "absent", "pending": "not run", "silent": "no text"}


def _number(value: float) -> float:
    """A number as JSON has it: 1 for 1.0."""
    return int(value) if float(value).is_integer() else value


def _row_document(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "role": row.role,
        "order": _number(row.order),
        "source": row.source,
        "enabled": row.enabled,
        "mode": row.mode,
        "tokens": row.tokens,
        "note": row.note,
    }


def budget_document(budget: Budget, used: int | None = None) -> dict[str, Any]:
    """A budget as JSON: the window of the model in force and what is kept of it; with `used`, whether that fits."""
    window = budget.window
    document: dict[str, Any] = {
        "model": window.model,
        "context": window.tokens,
        "source": window.source,
        "reserve": budget.reserve,
        "reserved": budget.reserved,
        "room": budget.room,
    }
    if used is not None:
        document |= {"used": used, "share": _share(budget, used), "excess": budget.excess(used)}
        document["fits"] = budget.fit(used)
    return document


def _share(budget: Budget, tokens: int | None) -> float | None:
    share = None if tokens is None else budget.share(tokens)
    return None if share is None else round(share, 5)


def _budget_line(budget: Budget, used: int) -> str:
    window, share = budget.window, budget.share(used)
    if window.tokens is None or share is None:
        return f"~{used:,} tokens; the context window of {window.model} is {window.source}"
    over = f"; ~{budget.excess(used):,} too long"
    fits = {"maybe": "; it may not fit", "no": over}.get(budget.fit(used), "")
    kept = f"{budget.reserve:,} kept for the answer"
    return f"~{used:,} of the {window.tokens:,} tokens of {window.model} ({share:.0%}), {kept}{fits}"


@click.command("compile", cls=Command)
@click.argument("story")
@click.argument("agent", default=WRITER)
@click.option("--input", "author_input", metavar="TEXT", default="", help=INPUT_HELP)
@click.option("--model", metavar="M", help="With the instructions that instruction-sets/ has for this model.")
@click.option("--request", is_flag=True, help="The request's body instead, as JSON, as its provider is sent it.")
@fragment_option
@branch_option
@with_workspace
def compile_prompt(
    workspace: Workspace,
    story: str,
    agent: str,
    author_input: str,
    model: str | None,
    request: bool,
    fragment: str | None,
    branch: str | None,
    as_json: bool,
) -> None:
    """Print the compiled prompt, as it is sent.

    The system message, a blank line, the user message, and nothing else. AGENT is generation.writer by default.

    \b
    Examples:
      stonehand compile my-story
      stonehand compile my-story generation.writer --input 'She opens the door.'
      diff <(stonehand compile my-story) <(stonehand compile my-story --branch br-tokumi)
      stonehand compile my-story analyze --fragment pr-bafego
      stonehand compile my-story --json | jq .tokens.total
      stonehand compile my-story --request | jq .messages
    """
    prompt = workspace.prompt(story, agent, branch, read_text(author_input), model=model, target=fragment)
    for warning in prompt.warnings:
        warn(warning)
    if request:
        body = workspace.wires.request_body(prompt, model=model)
        if body is None:
            raise StonehandError("no request is sent: the rehearsal is no model", repair="set a provider for the agent")
        for told in body.warnings:
            warn(told)
        write_json(body.body)
        return
    if not as_json:
        text = "\n\n".join(sent.content for sent in prompt.messages).rstrip("\n")
        write(ended(text))
        return
    tokens, tools = prompt.tokens, workspace.generation.tool_tokens(prompt)
    write_json(
        {
            "agent": prompt.agent,
            "story": prompt.story,
            "branch": prompt.branch,
            "messages": [{"role": sent.role, "content": sent.content} for sent in prompt.messages],
            "blocks": [
                {
                    "id": block.id,
                    "name": block.name,
                    "role": block.role,
                    "order": _number(block.order),
                    "source": block.source,
                    "content": block.content,
                    "tokens": block.tokens,
                }
                for block in prompt.blocks
            ],
            "tools": list(prompt.tools),
            "warnings": list(prompt.warnings),
            "tokens": {"system": tokens.system, "user": tokens.user, "total": tokens.total, "tools": tools},
            "budget": budget_document(workspace.models.budget(story, agent, model=model), tokens.total + tools),
        }
    )


EVALUATED_INPUT = "(preview)"
"""The author's input that a script sees which is only evaluated (spec, section 7)."""


@click.command("eval", cls=Command)
@click.argument("story")
@click.argument("file", metavar="FILE|-")
@click.option("--agent", metavar="A", default=WRITER, show_default=True, help="Whose context the script gets.")
@fragment_option
@branch_option
@with_workspace
def evaluate(
    workspace: Workspace, story: str, file: str, agent: str, fragment: str | None, branch: str | None, as_json: bool
) -> int:
    """Run a script against the story as it is.

    It runs as a script block would. FILE holds the body of a function that gets `ctx`; the author's input is
    "(preview)". What it returns goes to standard output; console lines, and why there is no text, to standard error.
    With --json, `note` says why too; `error` is what a block would show of a failure. The exit code is 1 when it
    failed.

    \b
    Examples:
      stonehand eval my-story words.js
      echo 'return ctx.story.name' | stonehand eval my-story -
    """
    warn_of_doubt(workspace, story, branch)
    here = workspace.story(story).branch(branch).id
    sources = workspace.sources_of(story, here, agent, fragment, EVALUATED_INPUT)
    base = workspace.base(story, agent, here, EVALUATED_INPUT, sources=sources)
    body = read_text("-") if file == "-" else read_file(Path(file))
    result = workspace.run_script(base, body)
    # A blank text is none, as for a block (spec, section 7).
    text = None if result.text is None or is_blank(result.text) else result.text
    why = None if text is not None else result.described or "returned an empty text"
    for line in result.console:
        message(f"console: {line}")
    if as_json:
        write_json(
            {
                "result": text,
                "error": result.error,
                "note": why,
                "line": result.line,
                "console": list(result.console),
                "ms": round(result.milliseconds, 3),
            }
        )
    elif text is not None:
        write(ended(text))
    if why is not None:
        message(why)
    return DONE if result.error is None else FAILED
