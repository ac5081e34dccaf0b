"""Talking with an agent: the conversation, the answer as it arrives, and what is being written."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from engine.budget import OverBudget
from engine.chat import STRANGER, PersonaChoice
from engine.errors import StonehandError
from engine.session import Session
from engine.workspace.conversations import Partner
from tui.actions import Place, keys_now
from tui.bindings import bindings_for
from tui.chat_pieces import live_pieces, message_pieces
from tui.language import of_engine, t
from tui.screen_reader import is_spoken
from tui.screens.agent_part import RunWithPart
from tui.screens.run_again import choose_run_with, run_with
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.cells import short_count
from tui.widgets.chat_view import ChatView, Piece
from tui.widgets.text_editor import TextEditor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.chat import Conversation, ConversationStore
    from engine.runs.view import PlanView
    from engine.workspace import Fragment
    from engine.workspace.conversations import Compacting, Conversations, Turn

STREAM_RATE = 10
"""Looks at an answer a second, unless the terminal is behind a slow link."""
REMEMBER_PAUSE = 0.2
"""Seconds until what is typed is on disk."""
SHOWN = 200
"""Messages shown of a long conversation, the last ones, and how many more each time."""


class ChatScreen(RunWithPart):
    """The conversations with one agent of a branch. An answer that arrives goes on, and is kept, when it is left."""

    places: tuple[Place, ...] = ("chat",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("chat"),
        Binding("escape", "back", "Back", show=False),
        Binding("tab", "app.focus_next", "Next", show=False),
        Binding("shift+tab", "app.focus_previous", "Previous", show=False),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._store: ConversationStore | None = None
        self._known: Conversation | None = None
        self._partner = Partner()
        self._characters: Sequence[Fragment] = ()
        self._turn: Turn | None = None
        self._compacting: Compacting | None = None
        self._timer: Timer | None = None
        self._remembering: Timer | None = None
        self._said: list[Piece] = []
        self._stated: tuple[object, ...] = ()
        self._thoughts = False
        self._shown = SHOWN

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        yield ChatView(id="chat")
        yield Static("", id="status", classes="label", markup=False)
        yield TextEditor(id="message")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.input.focus()
        self._show_state()
        self.begin(self._open_last, "open", exclusive=True)

    @property
    def input(self) -> TextEditor:
        return self.query_one("#message", TextEditor)

    @property
    def view(self) -> ChatView:
        return self.query_one("#chat", ChatView)

    @property
    def talk(self) -> Conversations:
        return self.workspace.conversations

    @property
    def store(self) -> ConversationStore:
        if self._store is None:
            self._store = self.talk.store(self._session.story, self._session.agent, self._session.branch)
        return self._store

    @property
    def answering(self) -> bool:
        """Whether an answer is arriving."""
        return self._turn is not None and not self._turn.finished

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that do something in a text are the screen's only while there is something for them to do."""
        if action == "stop_answer":
            return self.answering or self._compacting is not None
        if action == "chat_take_back":
            return self._changed
        return self.focused is self.input if action == "new_line" else True

    # -- which conversation

    async def _open_last(self) -> None:
        """Go on with the conversation changed last, and what was being written."""
        story, branch = self._session.story, self._session.branch
        try:
            draft = await self.wait(lambda: self.talk.draft(self.store))
            self._characters = await self.wait(lambda: self.talk.characters(story, branch))
            self._with = await run_with(self, story, self._session.agent)
            listed = await self.wait(self.store.summaries)
        except StonehandError as error:
            self.report(error)
            return
        if draft and not self.input.value:
            self.input.load(draft)
            self.input.move_cursor(self.input.document.end)
        for item in listed:
            if item.problem is not None:
                self.report(StonehandError.of(item.problem))
        usable = next((item for item in listed if item.problem is None), None)
        if usable is not None:
            await self._open(usable.id)
        else:
            await self._begin_new()

    async def _open(self, conversation_id: str) -> None:
        try:
            known = await self.wait(lambda: self.store.read(conversation_id))
        except StonehandError as error:
            self.report(error)
            return
        self._shown = SHOWN
        self._turn = self.talk.turn(known)
        self._show(known)
        self.view.show_end()
        if self._turn is not None:
            self._follow()

    async def _begin_new(self) -> None:
        """A conversation that is written to disk with its first question; with a character, who it is is asked."""
        partner = Partner()
        if self._session.agent != self.talk.agents[0]:
            character = await self._ask_character(t("chat.who-speaks"))
            if character is None:
                return
            partner = Partner(character)
        self._partner, self._known, self._turn = partner, None, None
        self._show(None)
        self.input.focus()

    async def _ask_character(self, title: str) -> str | None:
        from tui.screens.pick import PickDialog

        if not self._characters:
            self.say(t("chat.no-characters"), warning=True)
            return None
        ids, names = [item.id for item in self._characters], [item.name for item in self._characters]
        chosen: str | None = await self.app.push_screen_wait(PickDialog(title, ids, names))
        return chosen

    def action_conversations(self) -> None:
        """List the conversations."""
        self.begin(self._choose, "open", exclusive=True)

    async def _choose(self) -> None:
        from tui.screens.conversations import ConversationsDialog

        listed = await self.wait(self.store.summaries)
        names = {item.id: item.name for item in self._characters}
        now = self._known.id if self._known is not None else ""
        wanted = await self.app.push_screen_wait(ConversationsDialog(listed, now, names))
        if wanted is None:
            return
        if wanted.what == "new":
            await self._begin_new()
        elif wanted.what == "open":
            await self._open(wanted.id)
        elif wanted.what == "rename":
            await self._rename(wanted.id, next(item.title for item in listed if item.id == wanted.id))
        else:
            await self._delete(wanted.id)

    async def _rename(self, conversation_id: str, title: str) -> None:
        from tui.screens.conversations import TitleDialog

        given = await self.app.push_screen_wait(TitleDialog(t("chat.rename"), title))
        if given is None:
            return
        try:
            renamed = await self.wait(lambda: self.store.rename(conversation_id, given))
        except StonehandError as error:
            self.report(error)
            return
        if self._known is not None and self._known.id == conversation_id:
            self._show(renamed)

    async def _delete(self, conversation_id: str) -> None:
        """Delete a conversation; it can be put back at once, and a copy stays."""
        from tui.screens.choice import ChoiceDialog

        if self.answering and self._known is not None and self._known.id == conversation_id:
            self.say(t("chat.arriving"), warning=True)
            return
        try:
            deleted = await self.wait(lambda: self.store.delete(conversation_id))
        except StonehandError as error:
            self.report(error)
            return
        choices = [("u", t("chat.put-back")), ("escape", t("chat.leave-deleted"))]
        title = t("chat.deleted", title=deleted.title)
        copy = t("chat.copy", file=deleted.copy) if deleted.copy is not None else ""
        if await self.app.push_screen_wait(ChoiceDialog(title, copy, choices, safe=True)) == "u":
            try:
                await self.wait(lambda: self.store.restore(deleted))
            except StonehandError as error:
                self.report(error)
        elif self._known is not None and self._known.id == conversation_id:
            self._known = None
            await self._open_last()

    def action_new_chat(self) -> None:
        """Begin another conversation."""
        self.begin(self._begin_new, "open", exclusive=True)

    def action_persona(self) -> None:
        """Choose whom the character talks to."""
        if self._session.agent == self.talk.agents[0]:
            self.say(t("chat.no-persona"), warning=True)
        else:
            self.begin(self._choose_persona, "open", exclusive=True)

    async def _choose_persona(self) -> None:
        from tui.screens.conversations import TitleDialog
        from tui.screens.pick import PickDialog

        kinds = ["stranger", "character", "custom"]
        labels = [t(f"chat.persona.{kind}") for kind in kinds]
        before = self._known.persona if self._known is not None else self._partner.persona
        kind = await self.app.push_screen_wait(PickDialog(t("chat.who-listens"), kinds, labels, now=before.kind))
        persona = STRANGER
        if kind == "character":
            character = await self._ask_character(t("chat.who-listens"))
            persona = PersonaChoice("character", character or "")
        elif kind == "custom":
            prompt = await self.app.push_screen_wait(TitleDialog(t("chat.persona.custom"), before.prompt))
            persona = PersonaChoice("custom", prompt=(prompt or "").strip())
        if kind is None or (kind != "stranger" and not (persona.character or persona.prompt)):
            return
        self._partner = Partner(self._partner.character, persona, self._partner.story_point)
        known = self._known
        if known is not None:
            try:
                self._known = await self.wait(lambda: self.store.set_persona(known.id, persona))
            except StonehandError as error:
                self.report(error)
        self._show_state()

    # -- talking

    def action_send(self) -> None:
        """Send what is written; from elsewhere, go to it first."""
        text = self.input.value
        if self.focused is not self.input:
            self.input.focus()
        elif self.answering:
            self.say(t("chat.arriving"), warning=True)
        elif self._compacting is not None:
            self.say(t("chat.compacting"), warning=True)
        elif text.strip():
            self.begin(lambda: self._send(text), "send", exclusive=True)

    def action_new_line(self) -> None:
        """Begin another line of the message."""
        self.input.insert("\n")

    def action_retry(self) -> None:
        """Send the last question again, or go on with an answer that broke off."""
        if self.answering:
            self.say(t("chat.arriving"), warning=True)
        else:
            self.begin(lambda: self._send(None), "send", exclusive=True)

    async def _send(self, text: str | None, *, over_budget: bool = False) -> None:
        await self._look_up_model()
        session, known, partner = self._session, self._known, self._partner
        provider, model = self._with.asked if self._with is not None else (None, None)
        if known is None and partner.character is None and session.agent != self.talk.agents[0]:
            await self._begin_new()
            partner = self._partner
            if partner.character is None:
                return
        try:
            turn = await self.wait(
                lambda: self.talk.ask(
                    self.store,
                    session.story,
                    known,
                    text,
                    partner=partner,
                    provider=provider,
                    model=model,
                    over_budget=over_budget,
                )
            )
        except OverBudget as error:
            chosen = await self._ask_over_budget(error)
            if chosen == "s":
                await self._send(text, over_budget=True)
            elif chosen == "c":
                self.action_compact()
            return
        except StonehandError as error:
            self.report(error)
            return
        if text is not None and self.input.value == text:
            self.input.load("")
            await self.wait(lambda: self.talk.remember_draft(self.store, ""))
        if turn.warnings:
            self.say(of_engine(turn.warnings[0]), warning=True)
        self._turn = turn
        self._show(turn.conversation)
        self.view.show_end()
        self._follow()

    async def _ask_over_budget(self, error: OverBudget) -> str | None:
        from tui.screens.choice import ChoiceDialog

        choices = [
            ("c", t("chat.compact-yes")),
            ("s", t("chat.send-all-the-same")),
            ("escape", t("chat.stay")),
        ]
        text = f"{of_engine(error.problem.message)}.\n\n{t('chat.over-budget-do')}"
        return await self.app.push_screen_wait(ChoiceDialog(t("chat.over-budget"), text, choices, safe=True))

    def action_compact(self) -> None:
        """Have the beginning of the conversation summarised, when it is confirmed."""
        if self.answering:
            self.say(t("chat.arriving"), warning=True)
        elif self._compacting is None:
            self.begin(self._compact, "compact", exclusive=True)

    async def _compact(self) -> None:
        from tui.screens.choice import ChoiceDialog

        known = self._known
        beginning = await self.wait(lambda: self.talk.beginning(known)) if known is not None else None
        if known is None or beginning is None:
            self.say(t("chat.nothing-to-compact"), warning=True)
            return
        told = {"count": beginning.messages, "tokens": f"{beginning.tokens:,}", "kept": beginning.kept}
        choices = [("c", t("chat.compact-yes")), ("escape", t("chat.compact-no"))]
        dialog = ChoiceDialog(t("chat.compact"), t("chat.compact-how", **told), choices, safe=True)
        if await self.app.push_screen_wait(dialog) is None:
            return
        story, store = self._session.story, self.store
        provider, model = self._with.asked if self._with is not None else (None, None)
        try:
            compacting = await self.wait(
                lambda: self.talk.compact(store, story, known, keep=beginning.kept, provider=provider, model=model)
            )
            self._compacting = compacting
            self._show_state()
            self.refresh_bindings()
            saved = await asyncio.shield(asyncio.wrap_future(compacting.saved))
            less = await self.wait(lambda: self.talk.sent_tokens(known) - self.talk.sent_tokens(saved))
        except StonehandError as error:
            if self._compacting is not None and self._compacting.run.view().phase == "stopped":
                self.say(t("chat.compact-stopped"))
            else:
                self.report(error)
            return
        finally:
            self._compacting = None
            if self.is_attached:
                self._show_state()
        if self._known is not None and self._known.id == saved.id:
            self._show(saved)
        self.say(t("chat.compacted", count=beginning.messages, saved=f"{less:,}"))

    def action_stop_answer(self) -> None:
        """End the answer; what has arrived stays. A summary that is being made is given up."""
        if self._compacting is not None:
            self._compacting.stop()
        if self._turn is not None:
            self._turn.stop()

    def action_changes(self) -> None:
        """Show the changes to the story that wait, and accept or decline them."""
        waiting = self._turn.waiting if self._turn is not None else ()
        if waiting:
            self.begin(lambda: self._decide(waiting[0]), "changes", exclusive=True)
        else:
            self.say(t("chat.no-changes"), warning=True)

    async def _decide(self, waiting: PlanView) -> None:
        from tui.screens.plan import PlanDialog

        turn = self._turn
        accepted = await self.app.push_screen_wait(PlanDialog(waiting.plan))
        if accepted is None or turn is None:
            return
        try:
            await self.wait(lambda: turn.decide(waiting.id, accepted))
        except StonehandError as error:
            self.report(error)

    def action_chat_take_back(self) -> None:
        """Take back what the agent changed last."""
        self.begin(self._take_back, "changes", exclusive=True)

    async def _take_back(self) -> None:
        if await self._take_changes_back():
            self._show_keys(self._turn is not None and bool(self._turn.waiting))

    def _follow(self) -> None:
        profile = self.stonehand.profile
        rate = STREAM_RATE if profile is None else profile.stream_rate
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1 / rate, self._show_turn)
        self._show_turn()
        self.refresh_bindings()

    def _show_turn(self) -> None:
        turn = self._turn
        if turn is None:
            return
        if turn.finished:
            if self._timer is not None:
                self._timer.stop()
                self._timer = None
            self._turn = None
            self._show_saved(turn)
            return
        view = turn.view()
        live = live_pieces(view, self._answers, thoughts=self._thoughts)
        self.view.show_pieces([*self._said, *live])
        self._show_state()

    def _show_saved(self, turn: Turn) -> None:
        view = turn.view()
        try:
            saved = turn.saved.result(0)
        except (StonehandError, asyncio.CancelledError) as error:
            self.report(error)
            return
        self._show(saved)
        if self.view.following:
            self.view.show_end()
        self._show_state(done=turn)
        for problem in saved.problems:
            self.report(StonehandError.of(problem))
        if view.failure:
            self.report(StonehandError(view.failure))
        elif is_spoken(self):
            self.say(t(f"chat.phase.{view.phase}"))
        self.refresh_bindings()

    # -- with what

    def action_chat_model(self) -> None:
        """Choose the provider and the model that answer, until the program ends."""
        self.begin(self._choose_model, "model", exclusive=True)

    @on(TopBar.Pressed)
    def _model_pressed(self) -> None:
        self.action_chat_model()

    async def _choose_model(self) -> None:
        try:
            self._with = await choose_run_with(self, self._session.story, self._session.agent) or self._with
        except StonehandError as error:
            self.report(error)
        self._show_state()

    @property
    def _model(self) -> str:
        """What answers, on one line; empty while that is not known."""
        return self._with.label() if self._with is not None else ""

    # -- what is shown

    @property
    def _answers(self) -> str:
        """Who answers."""
        character = self._known.character if self._known is not None else self._partner.character
        if character is None:
            return of_engine(self.workspace.agent(self._session.agent).display_name)
        return next((item.name for item in self._characters if item.id == character), character)

    def _show(self, known: Conversation | None) -> None:
        self._known = known
        messages = known.messages if known is not None else ()
        earlier = max(0, len(messages) - self._shown)
        self._said = message_pieces(messages[earlier:], self._answers, thoughts=self._thoughts)
        if earlier:
            self._said.insert(0, Piece("call", t("chat.earlier", count=earlier)))
        if not messages:
            self._said = [Piece("call", t("chat.empty", name=self._answers))]
        if known is not None:
            self._partner = Partner(known.character, known.persona, known.story_point)
        self.view.show_pieces(self._said)
        self._show_state()

    def _show_keys(self, waiting: bool) -> None:
        """The keys that matter now: first that of changes that wait, that of stopping while there is an answer."""
        first = {"changes": waiting, "chat-take-back": self._changed}
        for_some = {"stop-answer": self.answering or self._compacting is not None}
        self.query_one("#keys", KeyBar).show(keys_now(self.stonehand.keys, "chat", first, for_some))

    def _show_title(self) -> None:
        title = self._known.title if self._known is not None else t("chat.new")
        self.query_one("#top", TopBar).show(
            title,
            self.branch_name(self._session.branch),
            " · ".join(filter(None, (self._answers, self._model))),
            self._answers,
        )

    def _show_state(self, done: Turn | None = None) -> None:
        turn = done or self._turn
        self._show_keys(turn is not None and bool(turn.waiting))
        self._show_title()
        if self._compacting is not None:
            text = t("chat.compacting")
        elif turn is None:
            text = t("chat.hint")
            if self._partner.character is not None:
                text = f"{t('chat.to', who=self._persona_name())} · {text}"
        else:
            view, waiting = turn.view(), turn.waiting
            seconds = 0 if is_spoken(self) else int(view.seconds)
            stated = (view.phase, seconds, len(waiting))
            if done is None and stated == self._stated:
                return
            self._stated = stated
            parts = [
                t(f"chat.phase.{view.phase}"),
                t("passage.seconds", seconds=int(view.seconds)),
                t(
                    "passage.tokens",
                    sent=short_count(view.input_tokens),
                    received=short_count(view.output_tokens),
                ),
                view.model,
            ]
            if waiting:
                parts = [t("chat.phase.asking"), t("chat.changes-wait", count=len(waiting[0].plan.changes))]
            text = " · ".join(part for part in parts if part)
        self.query_one("#status", Static).update(Content(text))

    def _persona_name(self) -> str:
        persona = self._partner.persona
        if persona.kind == "character":
            return next((item.name for item in self._characters if item.id == persona.character), persona.character)
        return persona.prompt if persona.kind == "custom" else t("chat.persona.stranger")

    def action_thoughts(self) -> None:
        """Show what the model thought, or fold it away."""
        self._thoughts = not self._thoughts
        self._show(self._known)

    def action_earlier(self) -> None:
        """Show earlier messages of a long conversation."""
        if self._known is not None and len(self._known.messages) > self._shown:
            self._shown += SHOWN
            self._show(self._known)

    def say_again(self) -> None:
        self._stated = ()
        self._show(self._known)

    def action_chat_prompt(self) -> None:
        """Show what is sent before the messages."""
        self.begin(self._show_prompt, "prompt", exclusive=True)

    async def _show_prompt(self) -> None:
        from tui.screens.prompt import PromptScreen

        shown, partner = self._session, self._partner
        provider, model = self._with.asked if self._with is not None else (None, None)
        session = self.workspace.session(shown.story, shown.agent, shown.branch)
        try:
            loaded = await self.wait(lambda: self.talk.loaded(self.store, shown.story, partner, model=model))
        except StonehandError as error:
            self.report(error)
            return
        session.install(loaded)
        self.app.push_screen(PromptScreen(session, (provider, model)))

    # -- what is being written outlives a lost connection

    @on(TextEditor.Edited, "#message")
    def _edited(self) -> None:
        if self._remembering is None:
            self._remembering = self.set_timer(REMEMBER_PAUSE, self._remember)

    def _remember(self) -> None:
        self._remembering = None
        text = self.input.value
        self.begin(lambda: self.wait(lambda: self.talk.remember_draft(self.store, text)), "draft")

    # -- leaving

    @on(TextEditor.Left)
    def action_back(self) -> None:
        """From the message to the conversation, from there to the blocks; an answer goes on."""
        if self.focused is self.input and self._known is not None:
            self.view.focus()
            return
        if self._remembering is not None:
            self._remembering.stop()
            self._remember()
        if self.answering:
            self.stonehand.notify(t("chat.goes-on"), markup=False)
        self.dismiss(None)
