"""Running an agent on a fragment: what it is about, how far it has come, and what becomes of what it found or changed.

For the librarian's agents that are neither talked with nor write passages: analyze, refine, optimize a character,
transform a span.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Button, Static, TextArea

from engine.errors import StonehandError
from engine.text import collapse_space
from tui.actions import Place, keys_now
from tui.agent_run_pieces import analysis_pieces, run_pieces
from tui.bindings import bindings_for
from tui.language import of_engine, of_error, t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.screens.agent_part import RunWithPart
from tui.screens.run_again import choose_run_with, run_with
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.cells import short_count
from tui.widgets.chat_view import ChatView, Piece
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.text_editor import TextEditor

if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Sequence

    from engine.runs import Run, RunView
    from engine.session import Session
    from engine.tools import Plan, Span
    from engine.workspace import Fragment
    from engine.workspace.analyses import FoundAnalysis
    from tui.screens.base import WorkingScreen

ANALYZE = "librarian.analyze"
TRANSFORM = "librarian.prose-transform"
STREAM_RATE = 10
"""Looks at a run a second, unless the terminal is behind a slow link."""
BEGINNING = 40
"""Characters of a passage's text that tell it from others in a list."""


class AgentRunScreen(RunWithPart):
    """One run after another of an agent, each on a fragment. Changes are made when they are accepted."""

    places: tuple[Place, ...] = ("agent-run",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("agent-run"),
        Binding("escape", "back", "Back", show=False),
        Binding("tab", "app.focus_next", "Next", show=False),
        Binding("shift+tab", "app.focus_previous", "Previous", show=False),
    ]

    def __init__(self, session: Session, fragment_id: str | None = None) -> None:
        """`session` is this screen's own: what is asked for here is shown nowhere else. `fragment_id` is what the agent
        is to work on at first.
        """
        super().__init__()
        self._session = session
        self._wanted = fragment_id
        self._fragments: Sequence[Fragment] = ()
        self._fragment: Fragment | None = None
        self._run: Run | None = None
        self._ended: concurrent.futures.Future[RunView] | None = None
        self._timer: Timer | None = None
        self._stated: tuple[object, ...] = ()
        self._offered: set[str] = set()
        self._found: FoundAnalysis | None = None
        self._thoughts = False

    @property
    def _analyzes(self) -> bool:
        return self._session.agent == ANALYZE

    @property
    def _transforms(self) -> bool:
        return self._session.agent == TRANSFORM

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        yield Button("", id="subject", compact=True)
        if self._transforms:
            yield ChoiceBar(_operations(), "rewrite", id="operation")
        if not self._analyzes:
            yield Static("", id="label", classes="label", markup=False)
            yield TextEditor(id="instruction")
        yield Static("", id="status", classes="label", markup=False)
        yield TextEditor(id="source")
        yield ChatView(id="result")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self._show_side(result=False)
        self.say_again()
        # A span is selected first, an instruction written.
        self.query_one("#source" if self._analyzes or self._transforms else "#instruction").focus()
        self.begin(self._open, "open", exclusive=True)

    @property
    def source(self) -> TextEditor:
        return self.query_one("#source", TextEditor)

    @property
    def result(self) -> ChatView:
        return self.query_one("#result", ChatView)

    @property
    def running(self) -> bool:
        """Whether the agent is at work."""
        return self._ended is not None and not self._ended.done()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that do something in a text, as to cut, are the screen's only while it has something to do for them."""
        if action == "agent_take_back":
            return self._changed
        return self.running if action == "agent_stop" else True

    # -- what it is about

    async def _open(self) -> None:
        session, workspace = self._session, self.workspace

        def listed() -> Sequence[Fragment]:
            found = workspace.targets(session.story, session.agent, session.branch)
            chain = workspace.story(session.story).snapshot(session.branch).chain.active_ids
            place = {fragment_id: at for at, fragment_id in enumerate(chain)}
            # Passages newest first, as they are mostly worked on, and behind all else.
            return sorted(found, key=lambda item: (item.type == "prose", -place.get(item.id, -1)))

        try:
            self._fragments = await self.wait(listed)
            self._with = await run_with(self, session.story, session.agent)
        except StonehandError as error:
            self.report(error)
            return
        self._show_title()
        chosen = next((item for item in self._fragments if item.id == self._wanted), None)
        subject = workspace.agent(session.agent).subject
        if chosen is None and self._fragments and subject is not None and subject.types == ("prose",):
            chosen = self._fragments[0]
        if chosen is not None:
            await self._take(chosen)
        elif self._fragments:
            await self._choose_subject()
        else:
            self.say(t("agent.no-fragments"), warning=True)

    async def _take(self, fragment: Fragment) -> None:
        """Work on this fragment; of a passage that was analyzed, what was found is shown."""
        self._fragment, self._found = fragment, None
        self._forget_run()
        self.source.load(fragment.content, read_only=True)
        self._show_subject()
        self._show_side(result=False)
        if self._analyzes:
            await self._show_analysis()
        self._show_state()

    async def _show_analysis(self) -> None:
        session, fragment = self._session, self._fragment
        if fragment is None:
            return
        try:
            self._found = await self.wait(
                lambda: self.workspace.analyses.latest(session.story, session.branch, fragment.id)
            )
        except StonehandError as error:
            self.report(error)
            return
        if self._found is not None and self._run is None:
            self._show_side(result=True)
            self._show_pieces()

    def action_agent_subject(self) -> None:
        """Choose the fragment it is about."""
        if self.running:
            self.say(t("agent.at-work"), warning=True)
        else:
            self.begin(self._choose_subject, "open", exclusive=True)

    @on(Button.Pressed, "#subject")
    def _subject_pressed(self) -> None:
        self.action_agent_subject()

    async def _choose_subject(self) -> None:
        chosen = await ask_fragment(self, self._fragments)
        if chosen is not None and await self._settled():
            await self._take(chosen)

    # -- running

    def action_agent_begin(self) -> None:
        """Send the prompt; again, when what came of it is not wanted."""
        if self.running:
            self.say(t("agent.at-work"), warning=True)
        else:
            self.begin(self._begin, "begin", exclusive=True)

    async def _begin(self) -> None:
        await self._look_up_model()
        session, workspace, fragment, chosen = self._session, self.workspace, self._fragment, self._with
        if fragment is None or chosen is None:
            self.say(t("agent.nothing-chosen"), warning=True)
            return
        if not await self._settled():
            return
        session.author_input = self._instruction
        provider, model = chosen.asked
        span = self._span() if self._transforms else None
        try:
            run = await self.wait(
                lambda: workspace.generation.prepare(
                    session, fragment=fragment.id, span=span, provider=provider, model=model
                )
            )
            if not await self._may_send(run, provider, model):
                return
        except StonehandError as error:
            self.say(of_error(error), warning=True)
            return
        self._forget_run()
        self._run, self._ended = run, workspace.generate(run)
        self._show_side(result=True)
        self.set_focus(self.result)  # at once: a short run is over by the next look at it
        profile = self.stonehand.profile
        self._timer = self.set_interval(1 / (STREAM_RATE if profile is None else profile.stream_rate), self._show_run)
        self._show_run()
        self.refresh_bindings()

    @property
    def _instruction(self) -> str:
        """What the author says to the agent."""
        return "" if self._analyzes else self.query_one("#instruction", TextEditor).value

    def _span(self) -> Span:
        """What is selected of the passage, or else all of it."""
        from engine.tools import OPERATIONS, Span

        value = self.query_one("#operation", ChoiceBar).value
        operation = next(item for item in OPERATIONS if item == value)
        start, end = self._selected()
        return Span(start, end, operation) if start < end else Span(0, len(self.source.value), operation)

    def _selected(self) -> tuple[int, int]:
        start, end = sorted(map(self.source.document.index, self.source.selection))
        return start, end

    def _show_run(self) -> None:
        run, over = self._run, not self.running
        if run is None:
            return
        if over and self._timer is not None:
            self._timer.stop()
            self._timer = None
            self.refresh_bindings()
            self.begin(self._conclude, "conclude", exclusive=True)
        self._show_pieces()
        self._show_state()
        waiting = self._waiting()
        # What is typed elsewhere must not answer a question that comes up by itself.
        if (
            waiting is not None
            and waiting not in self._offered
            and self.app.screen is self
            and self.focused is self.result
        ):
            self.action_agent_changes()

    async def _conclude(self) -> None:
        """It has ended: look at what it noted, and at the fragment as it is by now."""
        run, ended = self._run, self._ended
        if run is None or ended is None:
            return
        if (error := ended.exception()) is not None:
            self.report(error)
        view = run.view()
        if view.failure:
            self.report(StonehandError(view.failure))
        elif is_spoken(self):
            self.say(t(f"passage.phase.{view.phase}"))
        if run.analysis_id:
            await self._show_analysis()
        # Warnings of what was recorded come last.
        self._show_pieces()
        self._show_state()
        if self.result.following:
            self.result.show_end()  # without the rows that are left free while more may come
        await self._read_again()

    async def _read_again(self) -> None:
        """Show the fragment as it is after a change was accepted."""
        session, fragment = self._session, self._fragment
        if fragment is None:
            return
        with_id = {item.id: item for item in self._fragments}
        try:
            found = await self.wait(lambda: self.workspace.targets(session.story, session.agent, session.branch))
        except StonehandError as error:
            self.report(error)
            return
        with_id.update((item.id, item) for item in found)
        self._fragments = [with_id[item.id] for item in self._fragments]
        now = with_id[fragment.id]
        if now.content != self.source.value:
            self.source.load(now.content, read_only=True)
        self._fragment = now
        self._show_subject()

    def action_agent_stop(self) -> None:
        """End the run; what has arrived stays."""
        if self._run is not None and self.running:
            self._run.stop()

    def _forget_run(self) -> None:
        self._run = self._ended = None
        self._offered.clear()
        self._stated = ()
        self.result.show_pieces(())

    # -- what becomes of it

    def _waiting(self) -> str | None:
        """The id of the plan of changes that is to be decided on next."""
        run = self._run
        if run is None:
            return None
        view = run.view()
        waiting = [plan.id for plan in view.waiting_plans if plan.waits or not self.running]
        return waiting[0] if waiting else None

    def action_agent_changes(self) -> None:
        """Show the changes that wait, and accept or decline them."""
        found = self._found
        if (waiting := self._waiting()) is not None:
            self._offered.add(waiting)
            self.begin(lambda: self._decide(waiting), "changes", exclusive=True)
        elif not self.running and found is not None and found.open_proposals:
            self.begin(lambda: self._decide_proposal(found), "changes", exclusive=True)
        else:
            self.say(t("chat.no-changes"), warning=True)

    async def _ask(self, plan: Plan) -> bool | None:
        from tui.screens.plan import PlanDialog

        return await self.app.push_screen_wait(PlanDialog(plan))

    async def _decide(self, plan_id: str) -> None:
        run = self._run
        plan = None if run is None else next(item.plan for item in run.view().plans if item.id == plan_id)
        if run is None or plan is None:
            return
        accepted = await self._ask(plan)
        if accepted is None:
            self._show_state()
            return
        try:
            await self.wait(lambda: run.decide(plan_id, accepted))
        except StonehandError as error:
            self.report(error)
        if not self.running:
            self._show_pieces()
            self._show_state()
            await self._read_again()

    async def _decide_proposal(self, found: FoundAnalysis) -> None:
        """Decide on the first proposal of an analysis that is open."""
        session, analyses = self._session, self.workspace.analyses
        story, branch, index = session.story, session.branch, found.open_proposals[0]
        try:
            accepted = await self._ask(await self.wait(lambda: analyses.plan(story, branch, found.id, index)))
            if accepted is None:
                return
            problems = await self.wait(lambda: analyses.decide(story, branch, found.id, index, accepted))
        except StonehandError as error:
            self.report(error)
            return
        for problem in problems:
            self.report(StonehandError.of(problem))
        await self._show_analysis()
        self._show_pieces()
        self._show_state()

    def action_agent_take_back(self) -> None:
        """Take back what the agent changed last."""
        self.begin(self._take_back, "changes", exclusive=True)

    async def _take_back(self) -> None:
        if not await self._take_changes_back():
            return
        if self._found is not None:
            await self._show_analysis()
        self._show_pieces()
        self._show_state()
        if not self.running:
            await self._read_again()

    # -- what is sent

    def action_agent_prompt(self) -> None:
        """Show the prompt of a run as it would be sent now."""
        self.begin(self._show_prompt, "prompt", exclusive=True)

    async def _show_prompt(self) -> None:
        from tui.screens.prompt import PromptScreen

        shown, fragment, workspace = self._session, self._fragment, self.workspace
        if fragment is None:
            self.say(t("agent.nothing-chosen"), warning=True)
            return
        session = workspace.session(shown.story, shown.agent, shown.branch, target=fragment.id)
        session.author_input = self._instruction
        span = self._span() if self._transforms else None
        provider, model = asked = self._with.asked if self._with is not None else (None, None)
        try:
            loaded = await self.wait(
                lambda: workspace.generation.loaded(session, span=span, provider=provider, model=model)
            )
        except StonehandError as error:
            self.say(of_error(error), warning=True)
            return
        session.install(loaded)
        self.app.push_screen(PromptScreen(session, asked))

    # -- with what

    def action_agent_model(self) -> None:
        """Choose the provider and the model, until the program ends."""
        self.begin(self._choose_model, "model", exclusive=True)

    @on(TopBar.Pressed)
    def _model_pressed(self) -> None:
        self.action_agent_model()

    async def _choose_model(self) -> None:
        try:
            self._with = await choose_run_with(self, self._session.story, self._session.agent) or self._with
        except StonehandError as error:
            self.report(error)
        self._show_title()

    # -- what is shown

    def _show_side(self, *, result: bool) -> None:
        """The run, or the text of the fragment: they have the same place."""
        focused = self.focused in (self.source, self.result)
        self.result.display, self.source.display = result, not result
        if focused:
            (self.result if result else self.source).focus()

    def action_agent_view(self) -> None:
        """The fragment's text, or the run."""
        self._show_side(result=not self.result.display)
        (self.result if self.result.display else self.source).focus()

    def action_agent_thoughts(self) -> None:
        """Show what the model thought, or fold it away."""
        self._thoughts = not self._thoughts
        self._show_pieces()

    def _show_pieces(self) -> None:
        pieces: list[Piece] = []
        run, found = self._run, self._found
        if run is not None:
            is_taken_back = self.workspace.changes.is_taken_back
            pieces += run_pieces(
                run.view(), thoughts=self._thoughts, spoken=is_spoken(self), is_taken_back=is_taken_back
            )
        if found is not None and not self.running:
            pieces += ([Piece("space")] if pieces else []) + analysis_pieces(found)
        self.result.show_pieces(pieces)

    def _show_title(self) -> None:
        agent = of_engine(self.workspace.agent(self._session.agent).display_name)
        label = self._with.label() if self._with is not None else ""
        self.query_one("#top", TopBar).show(agent, self.branch_name(self._session.branch), label)

    def _show_subject(self) -> None:
        fragment = self._fragment
        text = t("agent.choose") if fragment is None else fragment_label(fragment)
        self.query_one("#subject", Button).label = Content(visible(text))

    def _show_state(self) -> None:
        waits = self._waiting() is not None or (
            not self.running and self._found is not None and bool(self._found.open_proposals)
        )
        first = {"agent-changes": waits, "agent-take-back": self._changed}
        for_some = {"agent-stop": self.running}
        self.query_one("#keys", KeyBar).show(keys_now(self.stonehand.keys, "agent-run", first, for_some))
        if self._run is None:
            text = self._hint()
        else:
            view = self._run.view()
            # Once a second is often enough, and little over a slow link; who hears it is told of the phases only.
            second = 0 if is_spoken(self) else int(view.seconds)
            stated = (view.phase, view.step, view.tool, view.target, waits, self.running, second)
            if self.running and stated == self._stated:
                return
            self._stated = stated
            text = _progress(view, waits)
        self.query_one("#status", Static).update(Content(text))

    def _hint(self) -> str:
        if not self._transforms:
            return t("agent.hint")
        start, end = self._selected()
        return t("agent.selected", count=end - start) if start < end else t("agent.hint-span")

    @on(TextArea.SelectionChanged, "#source")
    def _selection_changed(self) -> None:
        if self._run is None and self._transforms:
            self.query_one("#status", Static).update(Content(self._hint()))

    def say_again(self) -> None:
        if not self._analyzes:
            self.query_one("#label", Static).update(Content(t("agent.instruction")))
        if self._transforms:
            self.query_one("#operation", ChoiceBar).name_choices(_operations())
        self._stated = ()
        self._show_title()
        self._show_subject()
        self._show_pieces()
        self._show_state()

    # -- leaving

    @on(TextEditor.Left)
    def action_back(self) -> None:
        """Leave; a run that is at work, or changes that wait, are asked about."""
        self.begin(self._back, "leave", exclusive=True)

    async def _back(self) -> None:
        if await self.settle():
            self.dismiss(None)

    async def settle(self) -> bool:
        """Ask what becomes of a run that is at work and of changes that wait; False when the user wants to stay."""
        from tui.screens.choice import ChoiceDialog

        if self.running:
            choices = [("s", t("agent.stop-and-leave")), ("escape", t("passage.stay"))]
            title = t("agent.changes-undecided") if self._waiting() is not None else t("agent.at-work")
            if await self.app.push_screen_wait(ChoiceDialog(title, "", choices, safe=True)) is None:
                return False
            self.action_agent_stop()
            return True
        return await self._settled()

    async def _settled(self) -> bool:
        """Ask what becomes of changes that wait after a run; False when the user wants to go on with them."""
        from tui.screens.choice import ChoiceDialog

        if self._waiting() is None:
            return True
        choices = [("d", t("agent.drop")), ("escape", t("passage.stay"))]
        dialog = ChoiceDialog(t("agent.changes-undecided"), "", choices, safe=True)
        return await self.app.push_screen_wait(dialog) is not None


async def open_agent_run(
    screen: WorkingScreen[None], story: str, branch: str, agent: str, fragment_id: str | None
) -> None:
    """Open an agent on a fragment, or on one that is chosen there; closing it leads back. Raises `StonehandError`."""
    session = await screen.wait(lambda: screen.workspace.session(story, agent, branch))
    session.document.check_file()
    screen.app.push_screen(AgentRunScreen(session, fragment_id))


async def ask_agent(screen: WorkingScreen[None], fragment: Fragment) -> str | None:
    """Ask for one of the agents that work on a fragment of this type."""
    from tui.screens.pick import PickDialog

    talked_with = await screen.wait(lambda: screen.workspace.conversations.agents)
    found = [
        definition
        for definition in screen.workspace.definitions()
        if (subject := definition.subject) is not None
        and definition.name not in talked_with
        and (not subject.types or fragment.type in subject.types)
    ]
    names = [definition.name for definition in found]
    labels = [of_engine(definition.display_name) for definition in found]
    dialog = PickDialog(t("agent.choose-agent", name=fragment.name or fragment.id), names, labels)
    return await screen.app.push_screen_wait(dialog)


async def ask_fragment(screen: WorkingScreen[None], fragments: Sequence[Fragment]) -> Fragment | None:
    """Ask for one of some fragments, by a part of its name or its beginning."""
    from tui.screens.target import TargetDialog

    dialog = TargetDialog(
        t("agent.choose"),
        await screen.wait(lambda: [fragment_label(item) for item in fragments]),
        wanted=t("agent.wanted"),
        none=t("agent.no-match"),
        hint=t("dialog.choose"),
    )
    chosen = await screen.app.push_screen_wait(dialog)
    return None if chosen is None else fragments[chosen]


def fragment_label(fragment: Fragment) -> str:
    """A fragment on one line: its name and id, and how a passage begins."""
    beginning = fragment.type
    if beginning == "prose":
        beginning = collapse_space(fragment.content[:BEGINNING]) + "…" * (len(fragment.content) > BEGINNING)
    return " · ".join(filter(None, (fragment.name, fragment.id, beginning)))


def _operations() -> list[tuple[str, str]]:
    from engine.tools import OPERATIONS

    return [(operation, t(f"agent.operation.{operation}")) for operation in OPERATIONS]


def _progress(view: RunView, waits: bool) -> str:
    """How far a run has come, on one line."""
    tool = " ".join(filter(None, (view.tool, view.target)))
    parts = [
        t("passage.phase.asking" if waits and not view.finished else f"passage.phase.{view.phase}"),
        tool if view.phase == "tool" else "",
        t("agent.step", step=view.step, of=view.max_steps) if view.step > 1 else "",
        t("passage.seconds", seconds=f"{view.seconds:.1f}" if view.finished else int(view.seconds)),
        t("agent.characters", count=len(view.text) + len(view.thoughts)),
        t("passage.tokens", sent=short_count(view.input_tokens), received=short_count(view.output_tokens)),
        t("agent.decide") if waits else "",
    ]
    return " · ".join(filter(None, parts))
