"""What the generate screen asks, and is asked: the passage a run is for, directions, the brief, questions, changes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on

from engine.errors import StonehandError
from engine.runs import Answer, Unfinished
from engine.text import collapse_space, is_blank
from engine.workspace import REHEARSAL
from tui.language import t
from tui.screens.agent_part import AgentPart
from tui.widgets.stream_view import StreamView
from tui.widgets.text_editor import TextEditor

if TYPE_CHECKING:
    from engine.runs import Mode, Run, RunView
    from engine.runs.view import PlanView
    from engine.session import Session
    from engine.tools import Direction
    from engine.workspace import Fragment

DIRECTIONS = "directions.suggest"
NAME_LENGTH = 40
"""Characters that a passage is named by."""
START_LENGTH = 160
"""Characters of a passage that are shown of it, and found, in a list."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is written: the story goes on, or the passage `id` is written anew or revised; `name` is for people."""

    mode: Mode = "generate"
    id: str | None = None
    name: str = ""

    @classmethod
    def of(cls, mode: Mode, passage: Fragment) -> Target:
        name = collapse_space(passage.name or passage.content[:START_LENGTH])
        return cls(mode, passage.id, name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1].rstrip()}…")


class PassageAsking(AgentPart):
    """The part of `PassageScreen` in which author and agents ask each other."""

    def __init__(self, session: Session, *, provider: str | None, model: str, as_set: str, target: Target) -> None:
        super().__init__()
        self._session = session
        self._provider, self._model, self._as_set = provider, model, as_set
        self._target = target
        self._run: Run | None = None
        self._run_target = Target()
        self._said: tuple[tuple[str, str], ...] = ()
        self._unfinished: Unfinished | None = None
        self._suggesting: Run | None = None
        self._proposed: tuple[Direction, ...] = ()
        self._brief_editor: TextEditor | None = None
        self._brief_shown = False
        self._offered = ""

    # -- what the screen does with it

    @property
    def running(self) -> bool:
        raise NotImplementedError

    async def _send(
        self, target: Target, said: tuple[tuple[str, str], ...] = (), asked: int = 0, brief: str = ""
    ) -> None:
        raise NotImplementedError

    def _remember_soon(self) -> None:
        raise NotImplementedError

    def _show_run(self) -> None:
        raise NotImplementedError

    def _show_status(self) -> None:
        raise NotImplementedError

    def _show_label(self) -> None:
        raise NotImplementedError

    @property
    def _direction(self) -> TextEditor:
        return self.query_one("#direction", TextEditor)

    # -- what is written

    def action_passage_target(self) -> None:
        """Choose whether the story goes on, or which passage is written anew or revised."""
        self.begin(self._choose_target, "ask", exclusive=True)

    async def _choose_target(self) -> None:
        from tui.screens.choice import ChoiceDialog
        from tui.screens.target import TargetDialog

        session = self._session
        modes: dict[str, Mode] = {"g": "generate", "v": "regenerate", "r": "refine"}
        choices = [*((key, t(f"passage.target-{mode}")) for key, mode in modes.items())]
        key = await self.app.push_screen_wait(
            ChoiceDialog(t("passage.target"), "", [*choices, ("escape", t("passage.target-stay"))])
        )
        if key is None:
            return
        mode = modes[key]
        target = Target()
        if mode != "generate":
            try:
                passages = await self.wait(lambda: self.workspace.passages.shown(session.story, session.branch))
            except StonehandError as error:
                self.report(error)
                return
            if not passages:
                self.say(t("passage.no-passages"), warning=True)
                return
            newest = [*reversed(passages)]
            names = [collapse_space(f"{item.name}: {item.content[:START_LENGTH]}") for item in newest]
            dialog = TargetDialog(
                t("passage.target-which"),
                names,
                wanted=t("passage.target-search"),
                none=t("passage.target-none"),
                hint=t("passage.target-hint"),
            )
            chosen = await self.app.push_screen_wait(dialog)
            if chosen is None:
                return
            target = Target.of(mode, newest[chosen])
        self._target = target
        self._show_label()
        self._direction.focus()

    # -- what waits for the author

    @property
    def _questions_wait(self) -> bool:
        """Whether there are questions that the prewriter did not get all its answers to yet."""
        return self._unfinished is not None and bool(self._unfinished.questions) and not self.running

    @property
    def _brief_left(self) -> bool:
        """Whether there is a brief, of a run that is over, that another run can write from."""
        waits = self._unfinished
        return waits is not None and not waits.questions and self._brief_editor is not None and not self.running

    def _take_up(self, unfinished: Unfinished | None) -> None:
        """Have this wait for the author, on disk too."""
        self._unfinished = unfinished
        self._remember_soon()

    async def _recall_unfinished(self) -> None:
        """Go on with what waited in an earlier session."""
        session, workspace = self._session, self.workspace
        try:
            found = await self.wait(lambda: workspace.passages.unfinished(session.story, session.branch))
        except StonehandError as error:
            self.report(error)
            return
        if found is None or self._unfinished is not None or self._run is not None:
            return
        self._unfinished, self._said = found, found.said
        self._target = self._run_target = Target(found.mode, found.target, found.name)
        self._show_label()
        if not found.questions:
            await self._edit_brief(found.brief)
        self._show_status()

    def _waits_with(self, **more: Any) -> Unfinished:
        """What waits after the rounds of questions that the run was given the answers of."""
        run, target = self._run, self._run_target
        asked = run.prewriting.round if run is not None and run.prewriting is not None else 0
        return replace(Unfinished(target.mode, target.id, target.name, self._said, asked), **more)

    def _conclude(self, seen: RunView) -> None:
        """A run is over: take up its questions, forget those that were answered, offer a brief again."""
        waits = self._unfinished
        if seen.finish == "clarify":
            self._take_up(self._waits_with(questions=seen.questions, answers=(Answer(),) * len(seen.questions)))
        elif seen.phase == "done" and waits is not None and waits.questions:
            self._take_up(None)
        elif self._brief_left and waits is not None and not is_blank(waits.brief):
            self._show_brief(bool(seen.failure) or is_blank(seen.text))

    def _waiting_plan(self) -> PlanView | None:
        """The plan that was not decided on longest, which a run may wait for."""
        waiting = self._run.view().waiting_plans if self._run is not None else ()
        return waiting[0] if waiting else None

    def action_answer(self) -> None:
        """Go to what waits: questions, changes to the story, or a brief."""
        plan = self._waiting_plan()
        if self._questions_wait:
            self.begin(self._ask, "ask", exclusive=True)
        elif plan is not None:
            self.begin(lambda: self._decide(plan), "ask", exclusive=True)
        elif (self._reviewing or self._brief_left) and self._brief_editor is not None:
            self._show_brief(True)
            self._brief_editor.focus()
        else:
            self.say(t("passage.nothing-waits"), warning=True)

    async def _decide(self, waiting: PlanView) -> None:
        from tui.screens.plan import PlanDialog

        run = self._run
        accepted = await self.app.push_screen_wait(PlanDialog(waiting.plan))
        if accepted is None or run is None:
            return
        try:
            await self.wait(lambda: run.decide(waiting.id, accepted))
        except StonehandError as error:
            self.report(error)
        self._show_run()

    def action_passage_take_back(self) -> None:
        """Take back what the agent changed last."""
        self.begin(self._take_back, "ask", exclusive=True)

    async def _take_back(self) -> None:
        if await self._take_changes_back():
            self._show_status()

    async def _ask(self) -> None:
        """Ask the prewriter's questions one by one, and write with the answers there are."""
        from tui.screens.question import QuestionDialog

        waits = self._unfinished
        if waits is None:
            return
        questions, rounds = waits.questions, waits.round + 1
        for at, question in enumerate(questions):
            remember = partial(self._answered, at)
            dialog = QuestionDialog(question, waits.answers[at], at + 1, len(questions), remember)
            answer, then = await self.app.push_screen_wait(dialog)
            waits = self._answered(at, answer)
            if then == "later":
                return
            if then == "write":
                rounds = self.workspace.generation.clarifying_rounds
                break
        given = [
            (question.question, answer.text(question))
            for question, answer in zip(questions, waits.answers, strict=True)
        ]
        pairs = tuple((question, answer) for question, answer in given if answer)
        # Who answers nothing wants to be asked no more.
        rounds = rounds if pairs else self.workspace.generation.clarifying_rounds
        await self._send(Target(waits.mode, waits.target, waits.name), (*waits.said, *pairs), rounds)

    def _answered(self, at: int, answer: Answer) -> Unfinished:
        """Take the answer to a question, as far as it is given."""
        waits = self._unfinished
        assert waits is not None
        answers = (*waits.answers[:at], answer, *waits.answers[at + 1 :])
        if answers != waits.answers:
            self._take_up(replace(waits, answers=answers))
        return replace(waits, answers=answers)

    # -- the brief

    @property
    def _reviewing(self) -> bool:
        return self._run is not None and self._run.view().reviewing

    async def _offer_brief(self, brief: str) -> None:
        """Put the brief where it can be changed, before the writer begins."""
        self._take_up(self._waits_with(brief=brief))
        await self._edit_brief(brief)

    async def _edit_brief(self, brief: str) -> None:
        if self._brief_editor is None:
            self._brief_editor = TextEditor(id="brief")
            await self.mount(self._brief_editor, after=self.query_one("#passage"))
        self._brief_editor.load(brief)
        self._show_brief(True)

    def _use_brief(self) -> None:
        """Write from the brief as it stands in its editor."""
        run, editor = self._run, self._brief_editor
        if run is None or editor is None:
            return
        try:
            run.use_brief(editor.value)
        except StonehandError as error:  # stopped in the same moment
            self.report(error)
        self._show_brief(False)
        self.query_one("#passage").focus()

    @on(TextEditor.Edited, "#brief")
    def _brief_edited(self) -> None:
        if self._brief_editor is None:
            return
        brief = self._brief_editor.value
        if self._run is not None:
            self._run.draft_brief(brief)
        if self._unfinished is not None and brief != self._unfinished.brief:
            self._take_up(replace(self._unfinished, brief=brief))

    def action_brief(self) -> None:
        """Show the brief in place of the passage, or the passage again."""
        if not self._brief_left and (self._run is None or not self._run.view().brief):
            self.say(t("passage.no-brief"), warning=True)
        else:
            self._show_brief(not self._brief_shown)
            self._show_run()
            self._show_status()

    def _show_brief(self, shown: bool) -> None:
        self._brief_shown = shown
        passage, brief = self.query_one("#passage", StreamView), self._brief_editor
        editing = brief is not None and shown and (self._reviewing or self._brief_left)
        shows, hides = (brief, passage) if editing else (passage, brief)
        assert shows is not None
        shows.display = True
        # Before it is hidden: what is hidden with the focus gives it up, a moment later and to nobody.
        if hides is not None and self.focused is hides:
            self.set_focus(shows)
        if hides is not None:
            hides.display = False

    # -- directions

    def action_directions(self) -> None:
        """Show the directions that were proposed; without any, have some proposed."""
        if self._suggesting is not None:
            self.say(t("passage.suggesting-still"), warning=True)
        else:
            self.begin(self._choose_direction, "directions", exclusive=True)

    async def _choose_direction(self) -> None:
        from tui.screens.directions import OTHERS, DirectionsDialog

        proposed = self._run.view().directions if self._run is not None and not self._proposed else self._proposed
        while True:
            if not proposed:
                proposed = await self._suggested()
                if not proposed or self.app.screen is not self:
                    return  # they are there when they are asked for again
            chosen = await self.app.push_screen_wait(DirectionsDialog(proposed))
            if chosen != OTHERS:
                break
            proposed = ()
        if chosen is not None:
            direction = self._direction
            direction.replace(
                proposed[chosen].instruction, (0, 0), direction.document.end, maintain_selection_offset=False
            )
            direction.focus()
            self.say(t("passage.direction-taken"))

    async def _suggested(self) -> tuple[Direction, ...]:
        """Have directions proposed, by the provider that writes; the author's direction so far is told."""
        session, workspace = self._session, self.workspace
        provider = self._provider
        if provider is not None and provider.startswith("replay:"):
            provider = None
        if (REHEARSAL if provider is None and self._as_set == REHEARSAL else provider) == REHEARSAL:
            self.say(t("passage.no-directions-rehearsal"), warning=True)
            return ()
        said, model = self._direction.value, self._model or None if provider is not None else None
        try:
            own = await self.wait(lambda: workspace.session(session.story, DIRECTIONS, session.branch))
            own.author_input = said
            run = await self.wait(lambda: workspace.generation.prepare(own, provider=provider, model=model))
            if not await self._may_send(run, provider, model):
                return ()
        except StonehandError as error:
            self.report(error)
            return ()
        self._suggesting = run
        self._show_status()
        self.refresh_bindings()
        try:
            await asyncio.shield(asyncio.wrap_future(workspace.generation.start(run)))
        finally:
            self._suggesting = None
            self._show_status()
        seen = run.view()
        if seen.failure:
            self.report(StonehandError(seen.failure))
        elif not seen.directions and seen.phase != "stopped":
            self.say(t("passage.no-directions"), warning=True)
        if seen.directions:
            self._proposed = seen.directions
        return seen.directions
