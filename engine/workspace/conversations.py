"""`Conversations`: talking with an agent. A question is on disk before it is sent, the answer when it has ended.

Source: spec assistant, B2.3 and B2.5; spec context-blocks, section 4.4.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from engine import disk
from engine.agents.sources import NO_SOURCES, Persona, Sources
from engine.blocks.block import ContextBlock
from engine.blocks.compile import compile_blocks
from engine.budget import refusal, warning
from engine.chat import (
    CHAT_AGENTS,
    STRANGER,
    Conversation,
    ConversationStore,
    PersonaChoice,
    history,
    question,
    settled_answer,
)
from engine.chat import ConversationSummary as ConversationSummary
from engine.chat import Deleted as Deleted
from engine.chat import Message as Message
from engine.chat.compaction import KEPT_TURNS, TASK, history_tokens, older_than, summary_of, transcript
from engine.chat.turns import INTERRUPTED as INTERRUPTED
from engine.errors import InvalidFile, NotFound, StonehandError, WrongInput
from engine.models import REHEARSAL
from engine.models.wire.base import ChatMessage
from engine.prompt import Prompt
from engine.runs import Directions, Run, RunView
from engine.session import Loaded
from engine.story import Fragment
from engine.story.branches import now_iso
from engine.text import Phrase, is_blank

if TYPE_CHECKING:
    from engine.runs.events import RunEvent
    from engine.runs.run import Edits
    from engine.runs.view import PlanView
    from engine.workspace import Workspace

CONTINUE: Final = "Go on from where you were interrupted."
"""What is asked to go on with an answer that broke off."""
STOPPED: Final = "stopped"
SUMMARISING: Final = "(summary of a conversation)"
"""What stands as the input of the run that summarises."""
CLOSED: Final = "the program was closed"
OVER_BUDGET: Final = (
    "~{said:,} of them are the conversation: have its beginning summarised (stonehand chat --compact), "
    "begin a new conversation, switch blocks off, or choose a model with a larger context"
)


class Submit(Protocol):
    """Runs a coroutine on the engine's loop."""

    def __call__(self, coroutine: Coroutine[Any, Any, Conversation], /) -> concurrent.futures.Future[Conversation]: ...


@dataclass(frozen=True, slots=True)
class Partner:
    """Who is talked with in a conversation that is begun: the `character` that speaks (an id; None for the librarian),
    whom it speaks with, and the last section it knows of, None: the whole story.
    """

    character: str | None = None
    persona: PersonaChoice = STRANGER
    story_point: str | None = None


NOBODY: Final = Partner()


class Turn:
    """A question that was sent, and its answer as it arrives. It goes on, and is saved, when nobody looks."""

    def __init__(
        self,
        store: ConversationStore,
        conversation: Conversation,
        run: Run,
        warnings: tuple[str, ...],
        rescued: Path,
    ) -> None:
        """`rescued` is the folder for an answer that can't be kept where it belongs."""
        self.store = store
        self._rescued = rescued
        self.conversation = conversation
        """As it was with the question."""
        self.run = run
        self.warnings = (*run.prompt.warnings, *warnings)
        """What is to be said before the answer comes."""
        self._settling = threading.Lock()
        self._settled: Conversation | None = None
        self.saved: concurrent.futures.Future[Conversation]
        """The conversation with its answer, once that has ended and is on disk; what went wrong with saving it."""

    def view(self) -> RunView:
        """The answer as it stands; thread-safe."""
        return self.run.view()

    @property
    def waiting(self) -> tuple[PlanView, ...]:
        """The changes to the story for which the answer waits: `decide` on each."""
        return tuple(plan for plan in self.view().plans if plan.waits)

    @property
    def finished(self) -> bool:
        """Whether it has ended and is saved, or could not be."""
        return self.saved.done()

    def decide(self, plan_id: str, accept: bool) -> None:
        """Accept or decline changes to the story that wait for the author. May wait for the disk; raises
        `StonehandError`.
        """
        self.run.decide(plan_id, accept)

    def stop(self) -> None:
        """End the answer; what has arrived of it stays. Thread-safe."""
        self.run.stop()

    async def conclude(self, ended: concurrent.futures.Future[RunView]) -> Conversation:
        """Wait for the end of the run and save what came; returns the conversation."""
        try:
            await asyncio.wrap_future(ended)
            return await asyncio.to_thread(self._settle)
        except asyncio.CancelledError:
            # The program ends, and with it the loop: there is nobody to wait for, and the thread may not have begun.
            with suppress(StonehandError):
                self._settle(CLOSED)
            raise

    def _settle(self, closed: str = "") -> Conversation:
        """Save what came, once; `closed` is why it is saved before its end, where it has not ended."""
        with self._settling:
            if self._settled is None:
                self._settled = self._save(closed)
            return self._settled

    def _save(self, closed: str) -> Conversation:
        view = self.run.view()
        why = view.failure or (STOPPED if view.phase == "stopped" else "" if view.finished else closed)
        keeps = view.error.keeps_progress if view.error is not None else True
        settled = settled_answer(
            view.text,
            self.run.added,
            now_iso(),
            failure=why,
            keeps_progress=keeps,
            reasoning=view.thoughts,
            model=view.model,
            step_limit=view.steps_exceeded,
        )
        asked = self.conversation.messages[-1]
        if settled is None:
            return self.store.withdraw(self.conversation.id, asked.id, why)
        try:
            return self.store.append(self.conversation.id, settled)
        except StonehandError as error:
            # As when the branch was deleted meanwhile: what was said is put where it can be found.
            file = self._rescued / f"{self.conversation.id}-{asked.id}.txt"
            with suppress(OSError):  # the write says what is wrong
                self._rescued.mkdir(mode=0o700, parents=True, exist_ok=True)
            disk.write_atomic(file, settled.content.encode("utf-8", "replace"))
            raise StonehandError(
                Phrase("the answer can't be kept: {error}", error=error.problem.told()),
                repair=Phrase("it is written to {file}", file=file),
            ) from None


@dataclass(frozen=True, slots=True)
class Compacting:
    """A summary under way, of the first `count` messages; `saved` is the conversation with it, or what went wrong."""

    run: Run
    count: int
    saved: concurrent.futures.Future[Conversation]

    def stop(self) -> None:
        """Give it up; the conversation stays as it was. Thread-safe."""
        self.run.stop()


@dataclass(frozen=True, slots=True)
class Beginning:
    """What can be summarised of a conversation: the first `messages`, sent as ~`tokens`; the last `kept` turns stay."""

    messages: int
    tokens: int
    kept: int


async def _summarised(
    store: ConversationStore,
    conversation: Conversation,
    count: int,
    ended: concurrent.futures.Future[RunView],
) -> Conversation:
    view = await asyncio.wrap_future(ended)
    if view.phase != "done":
        why = Phrase.of(view.failure or STOPPED)
        raise StonehandError(Phrase("the conversation was not summarised and is as it was: {why}", why=why))
    if view.finish != "end_turn" or is_blank(view.text):
        why = Phrase("its summary was cut off")
        if view.finish != "max_tokens":
            why = Phrase("there is no summary ({finish})", finish=view.finish)
        said = Phrase("the conversation is as it was: {why}", why=why)
        raise StonehandError(said, repair="try again, or with another model")
    summary = summary_of(conversation.messages, count, view.text, now_iso(), view.model)
    return await asyncio.to_thread(store.summarise, conversation.id, summary)


class Conversations:
    """The conversations of a data folder. Except for a turn, its methods wait; they raise `StonehandError`."""

    def __init__(self, workspace: Workspace, submit: Submit) -> None:
        self._workspace = workspace
        self._submit = submit
        self._lock = threading.Lock()
        self._turns: dict[Path, Turn] = {}
        self._drafts = Directions(workspace.state / "drafts")

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents that are talked with."""
        return CHAT_AGENTS

    def store(self, story_id: str, agent_name: str, branch: str | None = None) -> ConversationStore:
        """The conversations of an agent in a branch, to list, read, rename and delete. Raises `WrongInput` for an agent
        that is not talked with.
        """
        folder = self._workspace.story(story_id)
        return ConversationStore(folder, folder.branch(branch).id, agent_name, self._workspace.state / "conversations")

    def characters(self, story_id: str, branch: str | None = None) -> Sequence[Fragment]:
        """The characters that can be talked with, or as."""
        return self._workspace.story(story_id).snapshot(branch).of_type("character")

    def turn(self, conversation: Conversation) -> Turn | None:
        """The turn of a conversation that is under way; None when there is none."""
        with self._lock:
            found = self._turns.get(conversation.file)
            return found if found is not None and not found.finished else None

    def loaded(
        self,
        store: ConversationStore,
        story_id: str,
        partner: Partner = NOBODY,
        *,
        model: str | None = None,
    ) -> Loaded:
        """What the prompt of a conversation is built from, for a session to show. It may run scripts."""
        document = self._workspace.document(story_id, store.agent, store.branch)
        if (fault := document.fault) is not None:
            raise InvalidFile.of(fault)
        config = document.config
        sources = self._sources(story_id, store, partner)
        base = self._workspace.base(story_id, store.agent, store.branch, "", config, model=model, sources=sources)
        return Loaded(base, self._workspace.evaluate(base, config))

    def draft(self, store: ConversationStore) -> str:
        """What was being written to an agent of a branch, perhaps in an earlier session."""
        return self._drafts.read(self._place(store))

    def remember_draft(self, store: ConversationStore, text: str) -> None:
        """Keep what is being written; an empty text is forgotten."""
        self._drafts.write(self._place(store), text)

    def _place(self, store: ConversationStore) -> Path:
        return store.root / store.agent

    def ask(
        self,
        store: ConversationStore,
        story_id: str,
        conversation: Conversation | None,
        text: str | None,
        *,
        partner: Partner = NOBODY,
        provider: str | None = None,
        model: str | None = None,
        words_per_second: float | None = None,
        over_budget: bool = False,
        edits: Edits | None = None,
        on_event: Callable[[RunEvent], None] | None = None,
    ) -> Turn:
        """Say something in a conversation, in a new one with `partner` where there is none, and begin the answer.

        Without a text, the last question is sent again, or an answer that broke off is gone on with. Nothing is written
        before it is known that the prompt can be built and the provider called; then the question is on disk before it
        is sent. Raises `WrongInput` while an answer is arriving and when there is nothing to say, `OverBudget` for what
        can't fit unless `over_budget` says that it is to be sent all the same. `edits` as for `Generation.prepare`.
        """
        if text is not None and is_blank(text):
            raise WrongInput("there is nothing to send", repair="write something")
        if conversation is not None:
            conversation = store.read(conversation.id)
            partner = Partner(conversation.character, conversation.persona, conversation.story_point)
            if self.turn(conversation) is not None:
                raise WrongInput("an answer is still arriving", repair="wait for it, or stop it")
        again = None
        if text is None:
            again = conversation.unanswered if conversation is not None else None
            last = conversation.messages[-1] if conversation is not None and conversation.messages else None
            if again is None and (last is None or not last.interrupted):
                raise WrongInput("there is nothing to send again", repair="write something")
            text = CONTINUE if again is None else again.content
        loaded = self.loaded(store, story_id, partner, model=model)
        session = self._workspace.session(story_id, store.agent, store.branch)
        session.install(loaded)
        prompt = session.prompt()
        self._workspace.wires.of(prompt, provider, model=model)  # raises for a provider that can't be called
        known = conversation.messages if conversation is not None else ()
        summary = conversation.summary if conversation is not None else None
        sent = history(known if again is not None else (*known, question(text)), summary)
        warned = self._check_budget(story_id, store.agent, prompt, sent, provider, model, over_budget)
        if conversation is None:
            conversation = store.create(
                character=partner.character,
                persona=partner.persona,
                story_point=partner.story_point,
                messages=(question(text),),
            )
        elif again is None:
            conversation = store.append(conversation.id, question(text))
        elif again.withdrawn and again.id:
            conversation = store.withdraw(conversation.id, again.id, "")
        run = self._workspace.generation.prepare(
            session,
            provider=provider,
            model=model,
            sources=self._sources(story_id, store, partner),
            history=history(conversation.messages, conversation.summary),
            edits=edits,
            on_event=on_event,
            words_per_second=words_per_second,
        )
        run.input = text
        turn = Turn(store, conversation, run, warned, self._workspace.state / "rescued")
        with self._lock:
            turn.saved = self._submit(turn.conclude(self._workspace.generation.start(run)))
            self._turns[conversation.file] = turn
        return turn

    def beginning(self, conversation: Conversation) -> Beginning | None:
        """What `compact` can have summarised: all but the last turns, as many of `KEPT_TURNS` as leave something; None
        when nothing is left.
        """
        messages, known = conversation.messages, conversation.summary
        for kept in range(KEPT_TURNS, -1, -1):
            count = older_than(messages, kept)
            if count > (known.count if known is not None else 0):
                return Beginning(count, history_tokens(history(messages[:count], known)), kept)
        return None

    def sent_tokens(self, conversation: Conversation) -> int:
        """Estimated tokens of what is sent of a conversation with the next question."""
        return history_tokens(history(conversation.messages, conversation.summary))

    def compact(
        self,
        store: ConversationStore,
        story_id: str,
        conversation: Conversation,
        *,
        keep: int = KEPT_TURNS,
        provider: str | None = None,
        model: str | None = None,
        on_event: Callable[[RunEvent], None] | None = None,
    ) -> Compacting:
        """Have all but the last `keep` turns summarised by a model, which is then sent in their place; what people read
        stays as it is. The model sees what was said and no tools; nothing changes unless its summary is whole.

        Raises `WrongInput` when nothing is older than those turns, while an answer is arriving, and for what is no
        model; `OverBudget` when what is to be summarised does not fit the model.
        """
        from engine.workspace.generation import REPLAY

        conversation = store.read(conversation.id)
        if self.turn(conversation) is not None:
            raise WrongInput("an answer is still arriving", repair="wait for it, or stop it")
        messages, known = conversation.messages, conversation.summary
        count = older_than(messages, keep)
        if count <= (known.count if known is not None else 0):
            raise WrongInput("nothing is left to summarise before the turns that are kept", repair="keep fewer turns")
        block = ContextBlock("summary-task", "system", TASK, 100)
        prompt = Prompt(store.agent, story_id, store.branch, "", compile_blocks((block,)), (), ())
        wire = self._workspace.wires.of(prompt, provider, model=model)
        if wire.name == REHEARSAL or wire.name.startswith(REPLAY):
            raise WrongInput("a rehearsal can't summarise", repair="choose a provider")
        sent = (ChatMessage("user", transcript(history(messages[:count], known))),)
        budget = self._workspace.models.budget(story_id, store.agent, provider=provider, model=model)
        used = prompt.tokens.total + history_tokens(sent)
        if budget.fit(used) == "no":
            raise refusal(budget, used, prompt.blocks, "have it summarised by a model with a larger context")
        run = Run(prompt, wire, model=model or "", history=sent, on_event=on_event, max_steps=1, input=SUMMARISING)
        ended = self._workspace.generation.start(run)
        return Compacting(run, count, self._submit(_summarised(store, conversation, count, ended)))

    def _sources(self, story_id: str, store: ConversationStore, partner: Partner) -> Sources:
        if partner.character is None:
            return NO_SOURCES
        snapshot = self._workspace.story(story_id).snapshot(store.branch)
        character = snapshot.get(partner.character)
        if character is None:
            raise NotFound(
                Phrase("the character {character} is not in the story", character=partner.character),
                repair="begin another conversation",
            )
        persona: Persona = partner.persona.persona(snapshot)
        return Sources(character=character, persona=persona, story_point=partner.story_point)

    def _check_budget(
        self,
        story_id: str,
        agent: str,
        prompt: Prompt,
        sent: Sequence[ChatMessage],
        provider: str | None,
        model: str | None,
        over_budget: bool,
    ) -> tuple[str, ...]:
        """A warning where the prompt with its conversation may not fit. Raises `OverBudget` for one that can't."""
        budget = self._workspace.models.budget(story_id, agent, provider=provider, model=model)
        used = prompt.tokens.total + self._workspace.generation.tool_tokens(prompt)
        said = history_tokens(sent)
        used += said
        fit = budget.fit(used)
        if fit == "no" and not over_budget:
            raise refusal(budget, used, prompt.blocks, Phrase(OVER_BUDGET, said=said))
        return (warning(budget, used),) if fit in ("no", "maybe") else ()
