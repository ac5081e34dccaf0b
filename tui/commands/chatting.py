"""`chat`: talk with an agent, and look after its conversations."""

from __future__ import annotations

import json
import queue
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from engine.errors import StonehandError, WrongInput
from tui.commands.changes import changes_document, named, tell_changes
from tui.commands.frame import (
    POLL,
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
from tui.output import DONE, INTERRUPTED, TERMINATED, OutputClosed, inert, message, one_line, write, write_json

if TYPE_CHECKING:
    from engine.chat import Conversation, ConversationStore, PersonaChoice, Summary
    from engine.runs.events import RunEvent
    from engine.runs.view import PlanView
    from engine.workspace import Workspace
    from engine.workspace.conversations import Conversations, Partner, Turn

GONE = "whoever read standard output has gone; the answer so far is in the conversation"
PERSONAS = "stranger, the id of a character, or who it is in your words"


@click.command(cls=Command)
@click.argument("story")
@click.argument("agent")
@click.argument("text", metavar="[MESSAGE|-]", required=False)
@click.option("--conversation", metavar="C", help="Go on with this one; the one changed last by default.")
@click.option("--new", is_flag=True, help="Begin another conversation.")
@click.option("--character", metavar="ID", help="Who speaks, in a new conversation of character-chat.chat.")
@click.option("--persona", metavar="P", help=f"Whom the character talks to from now on: {PERSONAS}.")
@click.option("--provider", metavar="P", help="As for generate; the one in force by default.")
@click.option("--model", metavar="M", help="The provider's model.")
@click.option(
    "--pace", type=click.FloatRange(min=0), metavar="WORDS", help="Words a second of the rehearsal; 0: at once."
)
@click.option("--over-budget", is_flag=True, help="Send what does not fit the model, too.")
@click.option(
    "--edits",
    type=click.Choice(["ask", "accept", "decline"]),
    default="ask",
    help="What becomes of changes to the story; where nobody can be asked they are declined.",
)
@click.option("--accept-edits", is_flag=True, help="The same as --edits accept.")
@click.option("--retry", is_flag=True, help="Send the last question again, or go on with an answer that broke off.")
@click.option(
    "--events", "--ndjson", "events", is_flag=True, help="Print each event as it comes, a JSON object a line."
)
@click.option("--list", "listed", is_flag=True, help="List the conversations.")
@click.option("--show", is_flag=True, help="Print a conversation.")
@click.option("--rename", metavar="TITLE", help="Give the conversation another title.")
@click.option(
    "--compact",
    is_flag=True,
    help="Have all but the last turns summarised by the model, which is sent in their place; they stay to be read.",
)
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    metavar="N",
    default=2,
    show_default=True,
    help="With --compact: how many of the last turns are sent as they are.",
)
@click.option("--delete", is_flag=True, help="Delete the conversation; a copy of it is kept.")
@branch_option
@with_workspace
def chat(
    workspace: Workspace,
    story: str,
    agent: str,
    text: str | None,
    conversation: str | None,
    new: bool,
    character: str | None,
    persona: str | None,
    provider: str | None,
    model: str | None,
    pace: float | None,
    over_budget: bool,
    edits: str,
    accept_edits: bool,
    retry: bool,
    events: bool,
    listed: bool,
    show: bool,
    rename: str | None,
    compact: bool,
    keep: int,
    delete: bool,
    branch: str | None,
    as_json: bool,
) -> int:
    """Talk with an agent: librarian.chat, or character-chat.chat as one of the story's characters.

    What is said is kept in the story, and the conversation changed last is gone on with. The answer is streamed to
    standard output; Ctrl+C stops it, and what has arrived stays. On a terminal without a message, each line is a
    message, until Ctrl+D.

    A conversation that does not fit the model is not sent, and nothing of it is ever left out unsaid: --compact has a
    model summarise its beginning, and from then on the summary is sent in place of that.

    \b
    Examples:
      stonehand chat my-story librarian.chat 'Who knows about the letter?'
      stonehand chat my-story character-chat.chat --new --character ch-bafego 'Hello'
      stonehand chat my-story librarian.chat --list
      stonehand chat my-story librarian.chat --conversation cv-x1 --rename 'The letter'
      stonehand chat my-story librarian.chat --compact --keep 4 --model cheap-model
    """
    if sum((listed, show, rename is not None, compact, delete, text is not None or retry)) > 1:
        raise WrongInput("one thing at a time: a message, --list, --show, --rename, --compact, --delete or --retry")
    if accept_edits:
        if edits == "decline":
            raise WrongInput("changes are to be accepted and declined", repair="leave out --edits or --accept-edits")
        edits = "accept"
    if new and conversation is not None:
        raise WrongInput("--new begins another conversation", repair="leave out --new or --conversation")
    reads = listed or show
    if not reads:
        branch = workspace.story(story).branch_to_write(branch).id
    talk = workspace.conversations
    store = talk.store(story, agent, branch)
    if listed:
        return _list(store, as_json)
    if rename is not None or delete:
        if conversation is None:
            raise WrongInput("say which conversation", repair="--conversation C; --list shows them")
        return _rename(store, conversation, rename, as_json) if rename is not None else _delete(store, conversation)
    known = None if new else _known(store, conversation, character)
    if show:
        if known is None:
            raise WrongInput("there is no conversation yet")
        return _show(known, as_json)
    if compact:
        if known is None:
            raise WrongInput("there is no conversation yet")
        return _compact(workspace, story, store, known, keep, provider, model, as_json)
    if known is not None and character is not None and known.character != character:
        raise WrongInput(f"in {known.id} another character speaks", repair="--new begins another conversation")
    if known is not None and persona is not None:
        known = store.set_persona(known.id, _persona(talk, story, branch, persona))
    partner = _partner(talk, story, branch, character, persona)
    talking = _Talking(workspace, story, store, partner, provider, model, pace, over_budget, edits, as_json, events)
    if text is None and not retry:
        if as_json or events or sys.stdin is None or not sys.stdin.isatty():
            raise WrongInput("there is no message", repair="give one, or - for standard input")
        return talking.by_line(known)
    return talking.once(known, None if retry else read_text(text or ""))[1]


class _Talking:
    """A conversation with the options of one call."""

    def __init__(
        self,
        workspace: Workspace,
        story: str,
        store: ConversationStore,
        partner: Partner,
        provider: str | None,
        model: str | None,
        pace: float | None,
        over_budget: bool,
        edits: str,
        as_json: bool,
        events: bool,
    ) -> None:
        self._workspace, self._story, self._store, self._partner = workspace, story, store, partner
        self._provider, self._model, self._pace, self._over = provider, model, pace, over_budget
        self._decided: set[str] = set()
        self._edits, self._as_json, self._events = edits, as_json, events

    def once(self, known: Conversation | None, text: str | None) -> tuple[Conversation, int]:
        """One question and its answer; returns the conversation and the exit code. Raises what went wrong."""
        events: queue.SimpleQueue[RunEvent | None] = queue.SimpleQueue()
        self._decided.clear()
        turn = self._workspace.conversations.ask(
            self._store,
            self._story,
            known,
            text,
            partner=self._partner,
            provider=self._provider,
            model=self._model,
            words_per_second=self._pace,
            over_budget=self._over,
            edits="ask",
            on_event=events.put,
        )
        for warning in turn.warnings:
            warn(warning)
        end = self._stream(turn, events)
        saved = waited(turn.saved)
        view = turn.view()
        for problem in saved.problems:
            warn(problem)
        if self._as_json:
            write_json(_answer_document(saved, turn))
        elif self._events:
            self._event({"type": "saved", "conversation": saved.id, "title": saved.title})
        if view.failure:
            raise StonehandError(f"the answer failed: {view.failure}", repair="--retry sends the question again")
        if view.phase == "stopped":
            message("stopped; what has arrived is in the conversation")
            return saved, end
        return saved, DONE

    def by_line(self, known: Conversation | None) -> int:
        """Each line of the terminal a question, until its end."""
        name = one_line(known.title) if known is not None else "a new conversation"
        message(f"{name} · Ctrl+C stops an answer, Ctrl+D ends")
        while True:
            try:
                line = input("> ")
            except EOFError:
                write("\n")
                return DONE
            if line.strip():
                try:
                    known, _ = self.once(known, checked(line))
                except StonehandError as error:
                    message(str(error))
                    if known is not None:
                        known = self._store.read(known.id)

    def _event(self, event: dict[str, Any]) -> None:
        write(json.dumps(event, ensure_ascii=False) + "\n")

    def _stream(self, turn: Turn, events: queue.SimpleQueue[RunEvent | None]) -> int:
        """Write the answer as it comes; the exit code for when it was stopped."""
        turn.saved.add_done_callback(lambda _: events.put(None))  # wakes the loop below
        last = "\n"
        end = INTERRUPTED

        def show(event: RunEvent | None) -> None:
            nonlocal last
            if event is None or self._as_json:
                return
            told = event.as_json()
            if self._events:
                self._event(told)
            elif told["type"] == "text" and told["text"]:
                write(told["text"])
                last = told["text"][-1]
            elif told["type"] == "tool-result":
                from engine.tools import describe_call

                message(describe_call(told["toolName"], None, told["result"]))

        try:
            with terminable():
                while not turn.finished:
                    with suppress(queue.Empty):
                        show(events.get(timeout=POLL))
                    for waiting in turn.waiting:
                        self._decide(turn, waiting)
        except KeyboardInterrupt as interrupt:
            if isinstance(interrupt, Terminated):
                end = TERMINATED
            turn.stop()
            waited(turn.saved)
        except OutputClosed:
            turn.stop()
            waited(turn.saved)
            raise StonehandError(GONE) from None
        while not events.empty():
            show(events.get())
        if last != "\n":
            write("\n")
        return end

    def _decide(self, turn: Turn, waiting: PlanView) -> None:
        """Accept or decline changes to the story, as the call says, or as the author does who is asked."""
        if waiting.id in self._decided:
            return
        self._decided.add(waiting.id)
        accept = self._edits == "accept"
        asks = sys.stdin is not None and sys.stdin.isatty() and not (self._as_json or self._events)
        if self._edits == "ask" and asks:
            tell_changes(waiting.plan)
            accept = click.confirm("Accept them?", default=False, err=True)
        elif accept:
            for change in waiting.plan.changes:
                message(f"accepted: {named(change)}")
        else:
            tell_changes(waiting.plan)
        if self._edits == "ask" and not asks:
            message("declined, for nobody can be asked; --accept-edits accepts them")
        turn.decide(waiting.id, accept)


def _known(store: ConversationStore, conversation: str | None, character: str | None) -> Conversation | None:
    """The conversation that is meant: the one named, else the one changed last, with this character if one is given."""
    if conversation is not None:
        return store.read(conversation)
    usable = (item for item in store.summaries() if item.problem is None)
    found = next((item for item in usable if character in (None, item.character)), None)
    return None if found is None else store.read(found.id)


def _persona(talk: Conversations, story: str, branch: str | None, given: str) -> PersonaChoice:
    from engine.chat import STRANGER, PersonaChoice

    if given == "stranger":
        return STRANGER
    if any(item.id == given for item in talk.characters(story, branch)):
        return PersonaChoice("character", given)
    return PersonaChoice("custom", prompt=checked(given))


def _partner(
    talk: Conversations, story: str, branch: str | None, character: str | None, persona: str | None
) -> Partner:
    from engine.chat import STRANGER
    from engine.workspace.conversations import Partner

    return Partner(character, STRANGER if persona is None else _persona(talk, story, branch, persona))


def _list(store: ConversationStore, as_json: bool) -> int:
    found = store.summaries()
    if as_json:
        write_json(
            [
                {
                    "id": item.id,
                    "title": item.title,
                    "messages": item.count,
                    "character": item.character,
                    "createdAt": item.created_at or None,
                    "updatedAt": item.updated_at or None,
                    "problem": None if item.problem is None else str(item.problem),
                }
                for item in found
            ]
        )
        return DONE
    width = max((len(item.id) for item in found), default=0)
    for item in found:
        told = "" if item.problem is None else f"  ! {item.problem.message}"
        write(one_line(f"{item.id:{width}}  {item.updated_at[:16]:16}  {item.count:4}  {item.title}{told}") + "\n")
    return DONE


def _show(known: Conversation, as_json: bool) -> int:
    for problem in known.problems:
        warn(problem)
    if as_json:
        messages = [
            {
                "role": item.role,
                "content": item.content,
                **({"reasoning": item.reasoning} if item.reasoning else {}),
                **({"interrupted": item.interrupted} if item.interrupted else {}),
                **({"withdrawn": item.withdrawn} if item.withdrawn else {}),
            }
            for item in known.messages
        ]
        write_json(
            {
                "id": known.id,
                "title": known.title,
                "character": known.character,
                "summary": _summary_document(known.summary),
                "messages": messages,
            }
        )
        return DONE
    for index, item in enumerate(known.messages):
        if known.summary is not None and index == known.summary.count:
            write(f"(what stands above is sent as this summary)\n{inert(known.summary.text)}\n\n")
        mark = item.interrupted or item.withdrawn
        write(f"{item.role}{f' ({one_line(mark)})' if mark else ''}:\n{inert(item.content)}\n\n")
    return DONE


def _compact(
    workspace: Workspace,
    story: str,
    store: ConversationStore,
    known: Conversation,
    keep: int,
    provider: str | None,
    model: str | None,
    as_json: bool,
) -> int:
    compacting = workspace.conversations.compact(store, story, known, keep=keep, provider=provider, model=model)
    try:
        with terminable():
            saved = waited(compacting.saved)
    except KeyboardInterrupt as interrupt:
        compacting.stop()
        with suppress(StonehandError):
            waited(compacting.saved)
        message("stopped; the conversation is as it was")
        return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED
    for warning in compacting.run.view().warnings:
        warn(warning)
    summary = saved.summary
    assert summary is not None
    if as_json:
        write_json({"conversation": saved.id, "summary": _summary_document(summary)})
    else:
        write(f"{summary.text}\n")
    message(f"the first {summary.count} messages of {saved.id} are sent as this summary from now on")
    return DONE


def _summary_document(summary: Summary | None) -> dict[str, Any] | None:
    if summary is None:
        return None
    return {"messages": summary.count, "text": summary.text, "model": summary.model, "createdAt": summary.created_at}


def _rename(store: ConversationStore, conversation: str, title: str, as_json: bool) -> int:
    renamed = store.rename(conversation, checked(title))
    for problem in renamed.problems:
        warn(problem)
    if as_json:
        write_json({"id": renamed.id, "title": renamed.title})
    else:
        message(f"{renamed.id}: {renamed.title}")
    return DONE


def _delete(store: ConversationStore, conversation: str) -> int:
    deleted = store.delete(conversation)
    message(f"deleted {deleted.id} ({deleted.title})" + (f"; a copy is {deleted.copy}" if deleted.copy else ""))
    return DONE


def _answer_document(saved: Conversation, turn: Turn) -> dict[str, Any]:
    view = turn.view()
    changes = [changes_document(plan.plan, plan.decision) for plan in view.plans]
    return {
        "conversation": saved.id,
        "title": saved.title,
        "text": view.text,
        "model": view.model,
        **({"answeredBy": view.answered_by} if view.answered_by else {}),
        "finish": view.finish,
        "failure": view.failure or None,
        "inputTokens": view.input_tokens,
        "outputTokens": view.output_tokens,
        "seconds": round(view.seconds, 3),
        **({"changes": changes} if changes else {}),
    }
