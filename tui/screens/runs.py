"""The past runs of a branch: a list to filter, and beside it one of them, whole, or the prompt it was sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from engine.errors import StonehandError
from engine.runs.filtering import RunFilter
from engine.runs.records import FOLDER
from tui.actions import Place, bar_keys
from tui.bindings import bindings_for
from tui.clipboard import copy
from tui.language import of_error, t
from tui.run_sections import run_sections
from tui.screen_reader import is_spoken
from tui.screens.base import WorkingScreen
from tui.widgets.bars import LEAST_WIDTH, KeyBar, TopBar
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.fold_view import FoldView
from tui.widgets.line_input import LineInput
from tui.widgets.prompt_view import PromptView
from tui.widgets.run_list import RunList

if TYPE_CHECKING:
    from engine.runs.details import RunDetail
    from engine.runs.records import RunList as FoundRuns
    from engine.runs.records import RunRecord
    from engine.workspace.history import RunComparison
    from tui.screens.passage_asking import Target

FIRST = 200
"""Runs that are listed at once, while the other logs are read."""
REST = 0.12
"""Seconds the cursor rests on a run until its log is read."""
TYPING = 0.15
"""Seconds after the last key until the filter is applied."""
RUN, PROMPT = "run", "prompt"


class RunsScreen(WorkingScreen[None]):
    """Looks back on the runs of a branch; nothing of it is written."""

    places: tuple[Place, ...] = ("runs",)
    HORIZONTAL_BREAKPOINTS = [(0, "-thin"), (LEAST_WIDTH, "-single"), (110, "-double")]
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("runs"),
        Binding("tab,shift+tab", "switch_pane", "Next pane", show=False),
        Binding("question_mark", "help", "Help", show=False),
    ]

    @dataclass
    class LogsChanged(Message):
        """Logs of the story were written, perhaps of the branch. Posted from the engine's thread."""

    def __init__(self, story: str, branch: str, name: str) -> None:
        """`name` is what the story is called."""
        super().__init__()
        self._story, self._branch, self._name = story, branch, name
        self._found: FoundRuns | None = None
        self._complete = False
        self._detail: RunDetail | None = None
        self._part = RUN
        self._resting: Timer | None = None
        self._typing: Timer | None = None
        self._told: tuple[str, ...] = ()
        self._lock = asyncio.Lock()

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield RunList(id="runs")
                yield LineInput(id="filter", placeholder=t("runs.filter"))
            with Vertical(id="detail"):
                yield ChoiceBar(_choices(), self._part, own=False, id="part")
                yield Static(id="note", markup=False)
                yield FoldView(id="run")
                yield PromptView(id="sent")
        yield KeyBar(id="keys")

    @property
    def runs(self) -> RunList:
        return self.query_one("#runs", RunList)

    @property
    def run_view(self) -> FoldView:
        return self.query_one("#run", FoldView)

    @property
    def prompt_view(self) -> PromptView:
        return self.query_one("#sent", PromptView)

    def on_mount(self) -> None:
        if is_spoken(self):
            self.HORIZONTAL_BREAKPOINTS = [(0, "-thin"), (LEAST_WIDTH, "-single")]  # one pane at a time
        self.query_one("#filter").display = False
        self.runs.empty = t("runs.reading")
        self.say_again()
        self.runs.focus()
        self.workspace.watching.listen(self._on_engine_change)
        self.begin(self._begin, "list")

    def on_unmount(self) -> None:
        self.workspace.watching.stop_listening(self._on_engine_change)

    def _on_engine_change(self, story: str, files: frozenset[Path]) -> None:
        # On the engine's thread: posting is all that may be done there. A path can reach us spelled in another way,
        # and a folder stands for what is in it.
        if story == self._story and any(FOLDER in (file.name, file.parent.name) or not file.suffix for file in files):
            self.post_message(self.LogsChanged())

    @on(LogsChanged)
    def _logs_changed(self) -> None:
        self.begin(self._follow, "list")

    async def _follow(self) -> None:
        """Show runs that have ended elsewhere, and what another program changed; nothing else is drawn again."""
        await self._read(follows=True)
        run, detail = self.runs.current, self._detail
        if run is not None and detail is not None and detail.record.id == run.id and detail.record != run:
            self._look()

    def say_again(self) -> None:
        self.query_one("#filter", Input).placeholder = t("runs.filter")
        self.query_one("#part", ChoiceBar).name_choices(_choices())
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, "runs"))
        self._show_title()
        if self._complete:
            self._show_empty()
        self.runs.refresh()
        if self._detail is not None:
            self.run_view.show(run_sections(self._detail), anew=False)
        self._show_part()

    # -- the list

    async def _begin(self) -> None:
        newest = await self.wait(lambda: self.workspace.runs.newest(self._story, self._branch, FIRST))
        if self._found is None and len(newest.runs) >= FIRST:
            self._show_found(newest)
        await self._read()

    async def _read(self, *, follows: bool = False) -> None:
        """Read what changed, and list what meets the filter as it is by now; `follows`: nobody asked for it."""
        wanted = RunFilter(self.query_one("#filter", Input).value)
        if wanted.wanted and not follows:
            self.say(t("runs.searching"))
        async with self._lock:
            try:
                found = await self.wait(lambda: self.workspace.runs.filtered(self._story, self._branch, wanted))
            except StonehandError as error:
                self.report(error)
                return
        if wanted.wanted and not follows:
            self.say("")
        before, known = self._found, self._complete
        self._complete = True
        self._show_empty()
        if not known or before is None or before.runs != found.runs:
            self._show_found(found)
        problems = tuple(map(str, found.problems))
        if problems != self._told:
            self._told = problems
            if problems:
                more = len(problems) - 1
                self.say(t("runs.problems", first=problems[0], count=more) if more else problems[0], warning=True)

    def _show_found(self, found: FoundRuns) -> None:
        self._found = found
        self.runs.show(found.runs)
        self._show_title()

    def _show_empty(self) -> None:
        filtered = bool(self.query_one("#filter", Input).value.strip())
        self.runs.empty = t("runs.no-match") if filtered else t("runs.none")

    def _show_title(self) -> None:
        count = len(self._found.runs) if self._found is not None else 0
        known = t("runs.count", count=count) if self._complete else t("runs.reading")
        states = (f"{self._name} · {known}", known, str(count))
        self.query_one("#top", TopBar).show(t("runs.title"), self.branch_name(self._branch), *states)

    def on_screen_resume(self) -> None:
        """Back from a run that was made, perhaps: it is in the list by then."""
        if self._complete:
            self.begin(self._read, "list")

    def action_run_reload(self) -> None:
        self.begin(self._read, "list")

    # -- the filter

    def action_run_filter(self) -> None:
        self.remove_class("-open")
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    @on(Input.Changed, "#filter")
    def _filter_changed(self) -> None:
        if self._typing is not None:
            self._typing.stop()
        self._typing = self.set_timer(TYPING, lambda: self.begin(self._read, "filter", exclusive=True))

    @on(Input.Submitted, "#filter")
    def _filter_kept(self, message: Input.Submitted) -> None:
        message.input.display = bool(message.value.strip())
        self.runs.focus()

    # -- one run

    @on(RunList.Moved)
    def _moved(self, message: RunList.Moved) -> None:
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(REST, self._look)

    def _look(self) -> None:
        self.begin(self._show_detail, "detail", exclusive=True)

    async def _show_detail(self) -> None:
        run = self.runs.current
        if run is None:
            self._detail = None
            self.run_view.show(())
            self.prompt_view.show((), {})
        elif (detail := await self._detail_of(run)) is not None:
            self._take(detail)
        self._show_part()

    def _take(self, detail: RunDetail) -> None:
        before, self._detail = self._detail, detail
        if before is None or before.log != detail.log:
            self.run_view.show(run_sections(detail))
            self.prompt_view.show((), {})
            self._show_part()

    async def _detail_of(self, run: RunRecord) -> RunDetail | None:
        """A run, whole; None when its log can't be read any more, which is told."""
        if self._detail is not None and self._detail.record is run:
            return self._detail
        try:
            return await self.wait(lambda: self.workspace.runs.detail(self._story, self._branch, run.id))
        except StonehandError as error:
            self.say(of_error(error), warning=True)
            return None

    def _show_part(self) -> None:
        """Show the run or its prompt, which is laid out when it is first looked at."""
        sent = self._part == PROMPT
        self.query_one("#part", ChoiceBar).value = self._part
        self.run_view.display, self.prompt_view.display = not sent, sent
        note = self.query_one("#note", Static)
        detail = self._detail
        unknown = detail is not None and sent and not detail.by_block
        note.display = unknown
        note.update(Content(t("runs.not-by-block")))
        if sent and detail is not None and not self.prompt_view.text:
            self.prompt_view.show(detail.prompt, detail.block_tokens)

    @on(ChoiceBar.Chosen, "#part")
    def _part_chosen(self, message: ChoiceBar.Chosen) -> None:
        self._part = message.value
        self._show_part()

    def action_run_part(self) -> None:
        """The run, or the prompt it was sent."""
        looking = self.run_view.has_focus or self.prompt_view.has_focus
        self._part = RUN if self._part == PROMPT and self._detail_shown else PROMPT
        self._show_part()
        if looking or not self._detail_shown:
            self._open()

    @property
    def _detail_shown(self) -> bool:
        return self.has_class("-double") or self.has_class("-open")

    @on(RunList.Opened)
    def _opened(self) -> None:
        self._look()
        self._open()

    def _open(self) -> None:
        """Go to the run; where there is little room it takes the place of the list."""
        if self.runs.current is not None:
            self.add_class("-open")
            (self.prompt_view if self._part == PROMPT else self.run_view).focus()

    def action_switch_pane(self) -> None:
        if self.run_view.has_focus or self.prompt_view.has_focus:
            self._close()
        else:
            self._open()

    def _close(self) -> None:
        self.remove_class("-open")
        self.runs.focus()

    def action_run_next_section(self) -> None:
        self._step_section(1)

    def action_run_previous_section(self) -> None:
        self._step_section(-1)

    def _step_section(self, step: int) -> None:
        if self._part == RUN:
            self.run_view.step(step)
        elif step > 0:
            self.prompt_view.next_block()
        else:
            self.prompt_view.previous_block()

    def action_run_fold(self) -> None:
        self.run_view.toggle()

    def action_run_fold_all(self) -> None:
        self.run_view.toggle_all()

    # -- what is done with it

    def action_run_mark(self) -> None:
        self.runs.mark()
        self.say(t("runs.marked", count=len(self.runs.marked)))

    def action_run_diff(self) -> None:
        self.begin(self._diff, "go", exclusive=True)

    async def _diff(self) -> None:
        """Compare the two marked runs, or the marked one and this; without a mark this and the prompt as it is now."""
        from tui.screens.run_diff import RunDiffScreen

        run, marked = self.runs.current, self.runs.marked
        if run is None:
            return
        ids = [*marked, *([run.id] if len(marked) == 1 and run.id not in marked else [])]
        workspace, story, branch = self.workspace, self._story, self._branch
        try:
            if len(ids) == 2:
                pair = await self.wait(lambda: [workspace.runs.detail(story, branch, item) for item in ids])
                one, two = sorted(pair, key=lambda detail: (detail.record.created_at, detail.record.id))
                screen = RunDiffScreen(branch, one.record, two.record, lambda: workspace.runs.compare(one, two))
            else:
                detail = await self.wait(lambda: workspace.runs.detail(story, branch, run.id))

                def compared() -> RunComparison:
                    return workspace.runs.compare_with_now(story, branch, detail)

                screen = RunDiffScreen(branch, detail.record, None, compared)
        except StonehandError as error:
            self.report(error)
            return
        self.app.push_screen(screen)

    def action_run_replay(self) -> None:
        self.begin(self._replay, "go", exclusive=True)

    async def _replay(self) -> None:
        from tui.screens.replay import ReplayScreen

        run = self.runs.current
        if run is not None and (detail := await self._detail_of(run)) is not None:
            self.app.push_screen(ReplayScreen(self._branch, detail))

    def action_run_again(self) -> None:
        self.begin(self._again, "go", exclusive=True)

    async def _again(self) -> None:
        """Open the generate screen on the agent of a run with its direction, for the model that is chosen."""
        from tui.screens.passage import PassageScreen
        from tui.screens.run_again import ask_run_with

        run = self.runs.current
        if run is None or (detail := await self._detail_of(run)) is None:
            return
        try:
            chosen = await ask_run_with(self, self._story, run.agent)
            if chosen is None:
                return
            model = chosen.model or None
            session = await self.wait(
                lambda: self.workspace.runs.session_like(self._story, self._branch, detail, model=model)
            )
            target = await self.wait(lambda: self._target_of(detail))
        except StonehandError as error:
            self.report(error)
            return
        self.app.push_screen(PassageScreen(session, provider=chosen.provider, model=chosen.model, target=target))

    def _target_of(self, detail: RunDetail) -> Target:
        """What a run was to write: on, or another version of a passage. Waits; raises `StonehandError`."""
        from tui.screens.passage_asking import Target  # a screen that is loaded when it is used

        mode = self.workspace.runs.mode_of(detail)
        if mode == "generate":
            return Target()
        fragments = self.workspace.fragments(self._story, self._branch)
        found = next((item for item in fragments if item.id == detail.target), None)
        return Target.of(mode, found) if found is not None else Target(mode, detail.target, detail.target)

    def action_run_copy(self) -> None:
        self.begin(lambda: self._copy(PROMPT if self._part == PROMPT and self._detail_shown else RUN), "go")

    def action_run_copy_prompt(self) -> None:
        self.begin(lambda: self._copy(PROMPT), "go")

    async def _copy(self, part: str) -> None:
        """Copy the answer of a run, or the prompt it was sent."""
        run = self.runs.current
        if run is None or (detail := await self._detail_of(run)) is None:
            return
        text = "\n\n".join(message.content for message in detail.messages) if part == PROMPT else detail.answer
        if not text:
            self.say(t("runs.nothing-to-copy"), warning=True)
            return
        what = t("runs.part-prompt") if part == PROMPT else t("runs.part-answer")
        self.say(t("runs.copied", what=what, result=copy(self.app, text).message))

    def action_run_usage(self) -> None:
        self.begin(self._usage, "go", exclusive=True)

    async def _usage(self) -> None:
        from tui.screens.usage import UsageDialog

        try:
            usage = await self.wait(lambda: self.workspace.runs.usage(self._story))
        except StonehandError as error:
            self.report(error)
            return
        self.app.push_screen(UsageDialog(usage))

    # -- leaving

    def action_help(self) -> None:
        self.stonehand.action_keys()

    def action_run_back(self) -> None:
        """Leave a level: the run, the filter, the marks, the screen."""
        box = self.query_one("#filter", Input)
        if not self.runs.has_focus and not box.has_focus:
            self._close()
        elif box.display:
            box.value = ""
            box.display = False
            self.runs.focus()
        elif self.runs.marked:
            self.runs.clear_marks()
        else:
            self.dismiss(None)


def _choices() -> list[tuple[str, str]]:
    return [(RUN, t("runs.part-run")), (PROMPT, t("runs.part-prompt"))]
