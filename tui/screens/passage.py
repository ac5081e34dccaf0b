"""Generating a passage: the author's direction, the text as it arrives, and what becomes of it."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from engine.errors import StonehandError
from engine.runs import Run, RunView, Unfinished
from engine.session import Session
from engine.text import collapse_space, is_blank
from engine.workspace import REHEARSAL, Replay
from tui.actions import Place, keys_now
from tui.bindings import bindings_for
from tui.language import of_engine, of_error, t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.screens.passage_asking import PassageAsking, Target
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.cells import short_count
from tui.widgets.stream_view import StreamView
from tui.widgets.text_editor import MAX_BYTES, TextEditor

if TYPE_CHECKING:
    from tui.widgets.find_bar import FindBar

STREAM_RATE = 10
"""Looks at a run a second: however fast it streams, the screen is not written more often. A terminal behind a slow link
has a lower rate of its own."""
LABEL_LENGTH = 60
"""Characters of a direction that a replay is named by."""
CONTINUE = Target()
TOLD_SECONDS = 8.0
"""Seconds for which it is told what was kept on the way out."""
REMEMBER_PAUSE = 0.2
"""Seconds until what is typed into the direction is on disk."""


class PassageScreen(PassageAsking):
    """One generation after another, on the branch of a session. A passage is saved when it is kept, and not before."""

    places: tuple[Place, ...] = ("passage",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("passage"),
        Binding("escape", "back", "Back", show=False),
        Binding("tab", "app.focus_next", "Next", show=False),
        Binding("shift+tab", "app.focus_previous", "Previous", show=False),
    ]

    def __init__(
        self,
        session: Session,
        *,
        provider: str | None = REHEARSAL,
        model: str = "",
        as_set: str = REHEARSAL,
        target: Target = CONTINUE,
    ) -> None:
        """`provider` and `model`: what is asked at first; a provider of None is what the agent is set to, which is
        called `as_set` as far as it is known. `target`: what is written.
        """
        super().__init__(session, provider=provider, model=model, as_set=as_set, target=target)
        self._kept = True
        self._kept_runs: list[tuple[Run, Target]] = []
        """What was kept on this screen, and not taken back."""
        self._stated: tuple[object, ...] = ()
        self._timer: Timer | None = None
        self._remembering: Timer | None = None
        self._find: FindBar | None = None

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        yield Static(t("passage.direction"), id="label", classes="label", markup=False)
        yield TextEditor(id="direction")
        yield Static("", id="status", classes="label", markup=False)
        yield StreamView(id="passage")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        direction = self.query_one("#direction", TextEditor)
        direction.load(self._session.author_input)
        if not self._session.author_input:
            self.begin(self._recall, "direction")
        if self._provider is None:  # another one is a run that is made again
            self.begin(self._recall_unfinished, "unfinished")
        direction.focus()
        self._show_label()
        self._show_status()

    async def _look_up_model(self) -> None:
        session = self._session
        with contextlib.suppress(StonehandError):  # told of where the story is read
            found = await self.wait(lambda: self.workspace.models.resolve(session.story, session.agent))
            as_set = " · ".join(filter(None, (found.provider.id, found.model)))
            if as_set != self._as_set:
                self._as_set = as_set
                self._show_status()

    @property
    def _rate(self) -> int:
        profile = self.stonehand.profile
        return STREAM_RATE if profile is None else profile.stream_rate

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that do something in a text, as to cut, are the screen's only while it has something to do for them."""
        if action == "passage_take_back":
            return self._changed
        return self.running or self._suggesting is not None if action == "stop" else True

    @property
    def running(self) -> bool:
        """Whether text is still arriving."""
        return self._run is not None and not self._run.view().finished

    # -- generating

    def action_begin(self) -> None:
        """Send the prompt; again, when a passage has arrived that is not wanted. What waits goes on with it."""
        if self._reviewing:
            self._use_brief()
        elif self.running:
            waits = self._waiting_plan() is not None
            self.say(t("passage.changes-wait", count=1) if waits else t("passage.writing"), warning=True)
        elif self._questions_wait:
            self.action_answer()
        else:
            # What was said of the passage before would stand under the new one.
            self.say("" if self._kept else t("passage.discarded"))
            left = self._unfinished
            if left is None or is_blank(left.brief) or not (self._brief_left and self._brief_shown):
                self.begin(lambda: self._send(self._target), "begin", exclusive=True)
            else:
                self.begin(lambda: self._write_from(left), "begin", exclusive=True)

    async def _write_from(self, left: Unfinished) -> None:
        """Write from a brief that there is."""
        await self._send(Target(left.mode, left.target, left.name), left.said, left.round, left.brief)

    async def _send(
        self, target: Target, said: tuple[tuple[str, str], ...] = (), asked: int = 0, brief: str = ""
    ) -> None:
        """Write; `said` are questions and their answers, `asked` how often there were any, `brief` what the passage is
        written from where that is planned.
        """
        session, workspace = self._session, self.workspace
        session.author_input = self.query_one("#direction", TextEditor).value
        config, model = session.document.config, self._model or None
        if target.mode == "refine" and not session.author_input.strip():
            self.say(t("passage.say-what"), warning=True)
            self.query_one("#direction").focus()
            return
        await self._look_up_model()
        provider = self._provider_asked
        try:
            session.install(await self.wait(lambda: session.load(config)))
            run = await self.wait(
                lambda: workspace.generation.prepare(
                    session,
                    provider=provider,
                    model=model,
                    mode=target.mode,
                    fragment=target.id,
                    clarifications=said,
                    clarify_round=asked,
                    brief=brief,
                    review_brief=True,
                )
            )
            prompt = run.prompt
            if not await self._may_send(run, provider, model):
                return
        except StonehandError as error:
            self.report(error)
            return
        if self._run is not None and not self._kept:
            workspace.passages.discard(self._run)
        if prompt.warnings:
            self.say(of_engine(prompt.warnings[0]), warning=True)
        self._run, self._run_target = run, target
        self._said, self._offered = said, ""
        if not said and not brief:
            self._take_up(None)
        self._kept = False
        self._show_brief(False)
        view = self.query_one("#passage", StreamView)
        view.clear()
        self.set_focus(view)  # at once: where the focus is decides what becomes of a brief that arrives
        workspace.generate(run)
        self._timer = self.set_interval(1 / self._rate, self._show_run)
        self._show_run()

    @property
    def _provider_asked(self) -> str | None:
        """The provider as a run is prepared with; where none is set, that is the rehearsal."""
        return REHEARSAL if self._provider is None and self._as_set == REHEARSAL else self._provider

    def _show_run(self) -> None:
        run = self._run
        if run is None:
            return
        seen = run.view()
        if seen.reviewing and not self._offered:
            self._offered = "brief"
            brief = seen.brief or ""
            self.begin(lambda: self._offer_brief(brief), "brief", exclusive=True)
        elif self._brief_editor is not None and self._brief_editor.display and not seen.reviewing:
            self._show_brief(self._brief_shown and seen.finished)
        planned = seen.brief or ""
        brief_first = not seen.text and not (seen.finished and seen.finish == "clarify")
        self._put(planned if self._brief_shown or brief_first else seen.text)
        if seen.finished and self._timer is not None:
            self._timer.stop()
            self._timer = None
            self._kept = self._kept or not seen.text.strip()
            self._conclude(seen)
            if seen.failure:
                self.say(of_engine(seen.failure), warning=True)
            elif seen.warnings:
                self.say(of_engine(seen.warnings[0]), warning=True)
            elif seen.phase == "done" and not (seen.text.strip() or seen.questions or seen.plans):
                self.say(t("passage.no-text"), warning=True)
            if self._questions_wait and self.focused is self.query_one("#passage") and self.app.screen is self:
                self.action_answer()
        self._show_status()

    def _put(self, text: str) -> None:
        """Show a text; one that has grown is only added to."""
        view = self.query_one("#passage", StreamView)
        if text.startswith(view.text):
            view.append(text[len(view.text) :])
        else:
            view.show(text)

    def _show_label(self) -> None:
        target = self._target
        goes_on = target.mode == "generate"
        label = t("passage.direction") if goes_on else t(f"passage.direction-{target.mode}", name=target.name)
        self.query_one("#label", Static).update(Content(visible(label)))

    def _show_status(self) -> None:
        agent = of_engine(self.workspace.agent(self._session.agent).display_name).lower()
        asked = self._provider_asked
        rehearsing = asked == REHEARSAL
        name = " · ".join(filter(None, (asked, self._model))) if asked is not None else self._as_set
        name = t("passage.rehearsal") if rehearsing else name
        self.query_one("#top", TopBar).show(
            t("passage.title"), self.branch_name(self._session.branch), f"{agent} · {name}"
        )
        run = self._run
        if self._suggesting is not None:
            text, self._stated = t("passage.suggesting"), ()
        elif run is None:
            text = t("passage.rehearsal-how", name=name) if rehearsing else name
            text = self._what_waits(None) or text
        else:
            seen = run.view()
            second = int(seen.seconds)
            waits = self._what_waits(seen)
            # Once a second is often enough, and little over a slow link; who hears it is told of the phases only.
            stated = (seen.phase, waits, seen.tool, self._brief_shown, 0 if is_spoken(self) else second)
            if not seen.finished and stated == self._stated:
                return
            self._stated = stated
            sent, received = short_count(seen.input_tokens), short_count(seen.output_tokens)
            phase = t(f"passage.phase.{seen.phase}")
            target = self._run_target
            about = "" if target.mode == "generate" else t(f"passage.about-{target.mode}", name=target.name)
            is_taken_back = self.workspace.changes.is_taken_back
            changed = sum(
                len(plan.plan.changes)
                for plan in seen.plans
                if plan.applied is not None and not is_taken_back(plan.applied)
            )
            parts = [
                f"{phase}: {seen.tool} {seen.target}".rstrip() if seen.tool else phase,
                *((waits, self._fate(seen)) if self._brief_shown else (self._fate(seen), waits)),
                seen.model if run.planner is not None and run.planner.asked != run.turn.asked else "",
                about,
                t("passage.changed", count=changed) if changed else "",
                t("passage.seconds", seconds=f"{seen.seconds:.1f}" if seen.finished else second),
                t("passage.tokens", sent=sent, received=received),
            ]
            if self._brief_shown and not seen.reviewing and not self._brief_left:
                parts.insert(0, t("passage.brief-shown"))
            text = " · ".join(filter(None, parts))
        self.query_one("#status", Static).update(Content(visible(text)))
        self._show_keys()

    def _fate(self, seen: RunView) -> str:
        """What has become of a passage that is complete, or can."""
        if not seen.finished or not seen.text.strip() or (self._kept and seen.failure):
            return ""
        return t("passage.kept" if self._kept else "passage.undecided")

    def _show_keys(self) -> None:
        """The keys that have something to do now: first what waits, and changes that can be taken back."""
        run = self._run
        seen = run.view() if run is not None else None
        undecided = seen is not None and not self._kept
        waits = self._questions_wait or (seen is not None and bool(seen.waiting_plans or seen.reviewing))
        first = {"answer": waits, "passage-take-back": self._changed}
        for_some = {
            "stop": self.running or self._suggesting is not None,
            "keep": undecided and not self.running,
            "discard": undecided,
            "unkeep": bool(self._kept_runs) and not undecided and not self.running,
            "brief": self._brief_left or (seen is not None and bool(seen.brief)),
        }
        self.query_one("#keys", KeyBar).show(keys_now(self.stonehand.keys, "passage", first, for_some))

    def _what_waits(self, seen: RunView | None) -> str:
        """What the author is asked to do."""
        if self._unfinished is not None and self._questions_wait:
            return t("passage.questions-wait", count=len(self._unfinished.questions))
        if seen is not None and seen.waiting_plans:
            return t("passage.changes-wait", count=len(seen.waiting_plans[0].plan.changes))
        if seen is not None and seen.reviewing:
            return t("passage.brief-waits")
        return t("passage.brief-left" if self._brief_shown else "passage.brief-aside") if self._brief_left else ""

    def say_again(self) -> None:
        self._show_label()
        self._stated = ()
        self._show_status()

    def action_stop(self) -> None:
        """End the stream; the text so far can be kept. While directions are proposed, that is ended."""
        if self._suggesting is not None:
            self._suggesting.stop()
        elif self._run is not None and self.running:
            self._run.stop()

    async def action_find_direction(self) -> None:
        """Find, and replace, in the direction."""
        from tui.widgets.find_bar import FindBar

        direction = self.query_one("#direction", TextEditor)
        if self._find is None:
            self._find = FindBar(id="find")
            await self.mount(self._find, after=direction)
        self._find.open(direction)

    def on_find_bar_closed(self) -> None:
        self.query_one("#direction").focus()

    def action_external_direction(self) -> None:
        """Write the direction in the user's own editor; a stream goes on meanwhile."""
        self.begin(self._edit_outside, "external", exclusive=True)

    async def _edit_outside(self) -> None:
        from tui.external_editor import edit_text

        direction = self.query_one("#direction", TextEditor)
        after = await edit_text(self.app, direction.value)
        if after is not None:
            if direction.too_large or len(after) > MAX_BYTES // 4:
                direction.load(after)
                self._direction_edited()
            else:
                direction.replace(after, (0, 0), direction.document.end, maintain_selection_offset=False)
            if not after.strip():
                self.say(t("text.emptied"))
        direction.focus()

    # -- the direction, which outlives a lost connection

    async def _recall(self) -> None:
        session, workspace = self._session, self.workspace
        text = await self.wait(lambda: workspace.passages.direction(session.story, session.branch))
        direction = self.query_one("#direction", TextEditor)
        if text and not direction.value:
            direction.load(text)
            direction.move_cursor(direction.document.end)

    @on(TextEditor.Edited, "#direction")
    def _direction_edited(self) -> None:
        if self._find is not None:
            self._find.refresh_matches()
        self._remember_soon()

    def _remember_soon(self) -> None:
        if self._remembering is None:
            self._remembering = self.set_timer(REMEMBER_PAUSE, self._remember)

    def _remember(self) -> None:
        self.begin(self._remember_now, "direction")

    async def _remember_now(self) -> None:
        """Bring what was written, and what waits, to disk."""
        if self._remembering is not None:
            self._remembering.stop()
            self._remembering = None
        story, branch, passages = self._session.story, self._session.branch, self.workspace.passages
        text, waits = self.query_one("#direction", TextEditor).value, self._unfinished

        def write() -> None:
            passages.remember_direction(story, branch, text)
            passages.remember_unfinished(story, branch, waits)

        await self.wait(write)

    # -- what becomes of it

    def action_keep(self) -> None:
        """Save the passage: a prose fragment, its place in the chain, a log."""
        if self.running:
            self.say(t("passage.writing"), warning=True)
        elif (run := self._run) is None or self._kept:
            self.say(t("passage.nothing"), warning=True)
        else:
            self.begin(lambda: self._keep(run), "keep", exclusive=True)

    async def _keep(self, run: Run, *, leaving: bool = False) -> bool:
        if run.view().finish == "refusal" and not await self._keeps_refusal():
            return False
        self._kept = True
        try:
            saved = await self.wait(lambda: self.workspace.passages.keep(run, broken=True))
        except StonehandError as error:
            self._kept = False
            await self._tell_not_kept(run, error)
            return False
        version = run.replaced is not None
        kept = (
            "passage.kept-as-version" if version else "passage.kept-broken" if run.view().failure else "passage.kept-as"
        )
        told, prompt = t(kept, id=saved.fragment.id, name=self._run_target.name), run.prompt
        if leaving:  # this screen is gone in a moment
            branch = self.branch_name(prompt.branch)
            self.stonehand.notify(t("passage.kept-on", kept=told, branch=branch), timeout=TOLD_SECONDS, markup=False)
        else:
            self._kept_runs.append((run, self._run_target))
            self.say(t("passage.kept-back", kept=told))
        direction = self.query_one("#direction", TextEditor)
        if leaving or direction.value == run.input:  # else it is the next one, which is being written
            if direction.too_large:
                direction.load("")
            else:
                direction.replace("", (0, 0), direction.document.end, maintain_selection_offset=False)
            with contextlib.suppress(StonehandError):
                await self.wait(lambda: self.workspace.passages.remember_direction(prompt.story, prompt.branch, ""))
        for skipped in saved.skipped:
            self.report(StonehandError.of(skipped))
        if saved.problem is not None:
            self.report(StonehandError(t("passage.log-not-kept", problem=of_engine(saved.problem.message))))
        self._take_up(None)
        self._show_brief(False)
        direction.focus()
        self._show_run()
        self._show_status()
        return True

    def action_unkeep(self) -> None:
        """Take what was kept last out of the story again; it can be kept after all."""
        if self.running:
            self.say(t("passage.writing"), warning=True)
        elif not self._kept:
            self.say(t("passage.undecided-yet"), warning=True)
        elif not self._kept_runs:
            self.say(t("passage.nothing-kept"), warning=True)
        else:
            run, target = self._kept_runs.pop()
            self.begin(lambda: self._unkeep(run, target), "unkeep")

    async def _unkeep(self, run: Run, target: Target) -> None:
        try:
            shown = await self.wait(lambda: self.workspace.passages.take_back(run))
        except StonehandError as error:
            self._kept_runs.append((run, target))
            self.report(error)
            return
        if not self._kept or self.running:  # another passage is being written already
            self.say(t("passage.taken-back-aside"))
            return
        self._run, self._run_target, self._kept = run, target, False
        direction = self.query_one("#direction", TextEditor)
        if not direction.value:
            direction.load(run.input)
            self._remember_soon()
        self._show_brief(False)
        self.query_one("#passage").focus()
        self._show_run()
        self.say(t("passage.taken-back") if shown is None else t("passage.taken-back-version", id=shown))

    async def _keeps_refusal(self) -> bool:
        """Ask before what a model wrote that refused becomes a passage of the story."""
        from tui.screens.choice import ChoiceDialog

        choices = [("k", t("passage.keep-refusal")), ("escape", t("passage.stay"))]
        dialog = ChoiceDialog(t("passage.refusal"), "", choices, safe=True)
        return await self.app.push_screen_wait(dialog) == "k"

    async def _tell_not_kept(self, run: Run, error: StonehandError) -> None:
        """It can't be saved, as on a branch that was deleted: its text is put where it can be found."""
        try:
            file = await self.wait(lambda: self.workspace.rescue.passage(run))
        except StonehandError as failure:
            self.report(failure)
            self.report(error)
        else:
            self.report(StonehandError(t("passage.written-to", error=of_error(error), file=file)))

    def action_discard(self) -> None:
        """Forget the passage."""
        if self._run is not None:
            self.workspace.passages.discard(self._run)
        self._run, self._kept, self._said = None, True, ()
        self._take_up(None)
        self._show_brief(False)
        self.query_one("#passage", StreamView).clear()
        self._show_status()
        self.query_one("#direction").focus()

    def action_provider(self) -> None:
        """Choose what generates: the rehearsal, or the replay of a log."""
        self.begin(self._choose_provider, "provider", exclusive=True)

    async def _choose_provider(self) -> None:
        from tui.screens.pick import PickDialog
        from tui.screens.run_again import faults_told

        session, workspace = self._session, self.workspace
        try:
            providers = await self.wait(workspace.models.providers)
            replays = await self.wait(lambda: workspace.wires.replays(session.story, session.branch))
        except StonehandError as error:
            self.report(error)
            return
        usable = [provider for provider in providers.all if provider.enabled and provider.id != REHEARSAL]
        offered: dict[str, str] = {}
        if self._as_set != REHEARSAL:
            offered[""] = t("passage.as-set", what=self._as_set)
        offered[REHEARSAL] = REHEARSAL
        offered |= {item.id: " · ".join(filter(None, (item.id, item.default_model))) for item in usable}
        offered |= {replay.provider: _replay_label(replay) for replay in replays}
        now = self._provider or ""
        notes = faults_told(providers)
        dialog = PickDialog(t("passage.providers"), [*offered], [*offered.values()], now=now, notes=notes)
        chosen = await self.app.push_screen_wait(dialog)
        if chosen is not None:
            self._provider, self._model = chosen or None, ""
            self._show_status()

    # -- leaving

    def action_back(self) -> None:
        """Leave; a passage that is neither kept nor discarded is asked about."""
        brief = self._brief_editor
        if brief is not None and brief.display and not brief.has_focus and self.query_one("#direction").has_focus:
            brief.focus()
            return
        direction = self.query_one("#direction", TextEditor)
        done_with = self._kept and not direction.value  # a passage was kept and no other one is thought of yet
        if direction.has_focus and self._run is not None and not done_with:
            self.query_one("#passage").focus()
            return
        self.begin(self._back, "leave", exclusive=True)

    async def _back(self) -> None:
        if await self.settle():
            if self._suggesting is not None:
                self._suggesting.stop()
            self._session.author_input = self.query_one("#direction", TextEditor).value
            if self._remembering is not None:
                await self._remember_now()
            self.dismiss(None)

    async def settle(self) -> bool:
        """Ask what becomes of a passage that is open; False when the user wants to stay."""
        from tui.screens.choice import ChoiceDialog

        if self._kept and not self.running:
            return True
        run = self._run
        seen = run.view() if run is not None else None
        title = t("passage.still") if self.running else t("passage.not-kept")
        keep = t("passage.stop-and-keep" if self.running else "passage.keep")
        choices = [("k", keep), ("d", t("passage.discard")), ("escape", t("passage.stay"))]
        if seen is not None and seen.phase == "asking":
            title = t("passage.still-waits")
            if not seen.text.strip():
                choices[0] = ("l", t("passage.leave-brief"))
            if not seen.text.strip() and not seen.reviewing:
                del choices[0]
        # Enter may come with an escape that was a split alt+enter (spec terminal, section 5, case 10): nothing stops.
        dialog = ChoiceDialog(title, "", choices, safe=True)
        key = await self.app.push_screen_wait(dialog)
        if key is None:
            return False
        if key == "l":
            self.action_stop()
            return True
        if key == "k" and run is not None:
            self.action_stop()
            while self.running:
                await asyncio.sleep(0.02)
            if run.view().text.strip():
                return await self._keep(run, leaving=True)
        self.action_discard()
        return True

    @on(TextEditor.Left)
    def _direction_left(self) -> None:
        self.action_back()


def _replay_label(replay: Replay) -> str:
    """When the passage was written, in the time of this place, and the beginning of what was asked for."""
    written = replay.created_at
    with contextlib.suppress(ValueError, OverflowError):
        written = f"{datetime.fromisoformat(written).astimezone():%Y-%m-%d %H:%M}"
    asked = collapse_space(replay.input)
    asked = asked if len(asked) <= LABEL_LENGTH else f"{asked[: LABEL_LENGTH - 1].rstrip()}…"
    return t("passage.replay", written=written, asked=asked or t("passage.no-direction"))
