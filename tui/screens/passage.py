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
from engine.prompt import Prompt
from engine.runs import Run
from engine.session import Session
from engine.text import collapse_space
from engine.workspace import REHEARSAL, Replay
from tui.actions import Place, bar_keys
from tui.bindings import bindings_for
from tui.language import of_engine, of_error, t
from tui.screen_reader import is_spoken
from tui.screens.base import WorkingScreen
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
REMEMBER_PAUSE = 0.2
"""Seconds until what is typed into the direction is on disk."""


class PassageScreen(WorkingScreen[None]):
    """One generation after another, on the branch of a session. A passage is saved when it is kept, and not before."""

    places: tuple[Place, ...] = ("passage",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("passage"),
        Binding("escape", "back", "Back", show=False),
        Binding("tab", "app.focus_next", "Next", show=False),
        Binding("shift+tab", "app.focus_previous", "Previous", show=False),
    ]

    def __init__(self, session: Session, *, provider: str = REHEARSAL, model: str = "") -> None:
        """`provider` and `model`: what is asked at first."""
        super().__init__()
        self._session = session
        self._run: Run | None = None
        self._kept = True
        self._shown = 0
        self._stated = ("", 0)
        self._timer: Timer | None = None
        self._remembering: Timer | None = None
        self._provider, self._model = provider, model
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
        direction.focus()
        self._show_status()
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, "passage"))

    @property
    def _rate(self) -> int:
        profile = self.stonehand.profile
        return STREAM_RATE if profile is None else profile.stream_rate

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Stopping is for a run: otherwise its key does what it does in a text, which is to cut."""
        return self.running if action == "stop" else True

    @property
    def running(self) -> bool:
        """Whether text is still arriving."""
        return self._run is not None and not self._run.view().finished

    # -- generating

    def action_begin(self) -> None:
        """Send the prompt; again, when a passage has arrived that is not wanted."""
        if self.running:
            self.say(t("passage.writing"), warning=True)
            return
        if not self._kept:
            self.say(t("passage.discarded"))
        self.begin(self._begin, "begin", exclusive=True)

    async def _begin(self) -> None:
        session, workspace = self._session, self.workspace
        session.author_input = self.query_one("#direction", TextEditor).value
        config, provider, model = session.document.config, self._provider, self._model or None
        try:
            session.install(await self.wait(lambda: session.load(config)))
            run = await self.wait(lambda: workspace.generation.prepare(session, provider=provider, model=model))
            prompt = run.prompt
            if not await self._may_send(prompt):
                return
        except StonehandError as error:
            self.report(error)
            return
        if self._run is not None and not self._kept:
            workspace.passages.discard(self._run)
        if prompt.warnings:
            self.say(of_engine(prompt.warnings[0]), warning=True)
        self._run = run
        self._kept, self._shown = False, 0
        view = self.query_one("#passage", StreamView)
        view.clear()
        view.focus()
        workspace.generate(run)
        self._timer = self.set_interval(1 / self._rate, self._show_run)
        self._show_run()

    async def _may_send(self, prompt: Prompt) -> bool:
        """Stop before a prompt that can't fit is sent: it is only when the user says so. Warn of one that may not."""
        from tui.screens.budget import ask_over_budget

        session, workspace = self._session, self.workspace
        provider, model = self._provider, self._model or None
        if provider.startswith("replay:"):
            return True  # which sends nothing
        budget = await self.wait(
            lambda: workspace.models.budget(session.story, session.agent, provider=provider, model=model)
        )
        used = await self.wait(lambda: prompt.tokens.total + workspace.generation.tool_tokens(prompt))
        fits = budget.fit(used)
        if fits == "maybe":
            self.say(t("budget.may-not-fit", model=budget.window.model), warning=True)
        return fits != "no" or await ask_over_budget(self.app, budget, used, prompt.blocks)

    def _show_run(self) -> None:
        run = self._run
        if run is None:
            return
        seen = run.view()
        if seen.rewritten and seen.finished and self._timer is not None:
            self.query_one("#passage", StreamView).clear()
            self._shown = 0
        if len(seen.text) > self._shown:
            self.query_one("#passage", StreamView).append(seen.text[self._shown :])
            self._shown = len(seen.text)
        if seen.finished and self._timer is not None:
            self._timer.stop()
            self._timer = None
            self._kept = self._kept or not seen.text.strip()
            if seen.failure:
                self._kept = True  # what a failed run wrote can't be saved
                self.say(of_engine(seen.failure), warning=True)
            elif seen.warnings:
                self.say(of_engine(seen.warnings[0]), warning=True)
        self._show_status()

    def _show_status(self) -> None:
        agent = of_engine(self.workspace.agent(self._session.agent).display_name).lower()
        rehearsing = self._provider == REHEARSAL
        name = t("passage.rehearsal") if rehearsing else " · ".join(filter(None, (self._provider, self._model)))
        self.query_one("#top", TopBar).show(t("passage.title"), self._session.branch, f"{agent} · {name}")
        run = self._run
        if run is None:
            text = t("passage.rehearsal-how", name=name) if rehearsing else name
        else:
            seen = run.view()
            second = int(seen.seconds)
            # Once a second is often enough, and little over a slow link; who hears it is told of the phases only.
            stated = (seen.phase, 0 if is_spoken(self) else second)
            if not seen.finished and stated == self._stated:
                return
            self._stated = stated
            sent, received = short_count(seen.input_tokens), short_count(seen.output_tokens)
            parts = [
                t(f"passage.phase.{seen.phase}"),
                t("passage.seconds", seconds=f"{seen.seconds:.1f}" if seen.finished else second),
                t("passage.tokens", sent=sent, received=received),
            ]
            if seen.finished and self._kept and seen.text.strip():
                parts.append(t("passage.kept"))
            elif seen.finished and seen.text.strip():
                parts.append(t("passage.undecided"))
            text = " · ".join(parts)
        self.query_one("#status", Static).update(Content(text))

    def say_again(self) -> None:
        self.query_one("#label", Static).update(Content(t("passage.direction")))
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, "passage"))
        self._stated = ("", 0)
        self._show_status()

    def action_stop(self) -> None:
        """End the stream; the text so far can be kept."""
        if self._run is not None and self.running:
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
        if self._remembering is None:
            self._remembering = self.set_timer(REMEMBER_PAUSE, self._remember)

    def _remember(self) -> None:
        self._remembering = None
        session, workspace = self._session, self.workspace
        text = self.query_one("#direction", TextEditor).value
        self.begin(
            lambda: self.wait(lambda: workspace.passages.remember_direction(session.story, session.branch, text)),
            "direction",
        )

    # -- what becomes of it

    def action_keep(self) -> None:
        """Save the passage: a prose fragment, its place in the chain, a log."""
        if self.running:
            self.say(t("passage.writing"), warning=True)
        elif (run := self._run) is None or self._kept:
            self.say(t("passage.nothing"), warning=True)
        else:
            self.begin(lambda: self._keep(run), "keep", exclusive=True)

    async def _keep(self, run: Run) -> bool:
        self._kept = True
        try:
            saved = await self.wait(lambda: self.workspace.passages.keep(run))
        except StonehandError as error:
            self._kept = False
            await self._tell_not_kept(run, error)
            return False
        self.say(t("passage.kept-as", id=saved.fragment.id))
        prompt = run.prompt
        with contextlib.suppress(StonehandError):
            # The next session begins with a new direction; in this one it stays, to be changed.
            await self.wait(lambda: self.workspace.passages.remember_direction(prompt.story, prompt.branch, ""))
        for skipped in saved.skipped:
            self.report(StonehandError.of(skipped))
        if saved.problem is not None:
            self.report(StonehandError(t("passage.log-not-kept", problem=of_engine(saved.problem.message))))
        self._show_status()
        return True

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
        self._run, self._kept, self._shown = None, True, 0
        self.query_one("#passage", StreamView).clear()
        self._show_status()
        self.query_one("#direction").focus()

    def action_provider(self) -> None:
        """Choose what generates: the rehearsal, or the replay of a log."""
        self.begin(self._choose_provider, "provider", exclusive=True)

    async def _choose_provider(self) -> None:
        from tui.screens.pick import PickDialog

        session = self._session
        replays = await self.wait(lambda: self.workspace.wires.replays(session.story, session.branch))
        names = [REHEARSAL, *(replay.provider for replay in replays)]
        labels = [REHEARSAL, *map(_replay_label, replays)]
        chosen = await self.app.push_screen_wait(PickDialog(t("passage.providers"), names, labels))
        if chosen is not None:
            self._provider, self._model = chosen, ""
            self._show_status()

    # -- leaving

    def action_back(self) -> None:
        """Leave; a passage that is neither kept nor discarded is asked about."""
        if self.query_one("#direction").has_focus and (self._run is not None):
            self.query_one("#passage").focus()
            return
        self.begin(self._back, "leave", exclusive=True)

    async def _back(self) -> None:
        if await self.settle():
            self._session.author_input = self.query_one("#direction", TextEditor).value
            self.dismiss(None)

    async def settle(self) -> bool:
        """Ask what becomes of a passage that is open; False when the user wants to stay."""
        from tui.screens.choice import ChoiceDialog

        if self._kept and not self.running:
            return True
        title = t("passage.still") if self.running else t("passage.not-kept")
        choices = [("k", t("passage.keep")), ("d", t("passage.discard")), ("escape", t("passage.stay"))]
        key = await self.app.push_screen_wait(ChoiceDialog(title, "", choices))
        if key is None:
            return False
        run = self._run
        if key == "k" and run is not None:
            self.action_stop()
            while self.running:
                await asyncio.sleep(0.02)
            if run.view().text.strip():
                return await self._keep(run)
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
