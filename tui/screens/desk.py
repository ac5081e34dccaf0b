"""The main screen: agents, the blocks of one of them, and the block under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from engine.document.state import SaveState
from engine.errors import StonehandError
from tui import collector
from tui.actions import Place, agent_keys, bar_keys, filter_keys
from tui.bindings import bindings_for
from tui.language import of_engine, t
from tui.safe_text import visible
from tui.saver import Saver
from tui.screen_reader import is_spoken
from tui.screens.agent_actions import AgentActions
from tui.screens.agent_run_actions import AgentRunActions
from tui.screens.chat_actions import ChatActions
from tui.screens.compare_actions import CompareActions
from tui.screens.exchange_actions import ExchangeActions
from tui.screens.order_actions import OrderActions
from tui.screens.run_actions import RunActions
from tui.screens.story_actions import DEFAULT_AGENT, StoryActions
from tui.screens.text_actions import TextActions
from tui.script_preview import PREVIEW_PAUSE, ScriptPreview
from tui.widgets.agent_list import AgentList
from tui.widgets.bars import LEAST_WIDTH, KeyBar, TopBar
from tui.widgets.block_list import BlockList
from tui.widgets.inspector import Inspector
from tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from engine.blocks import ScriptResult
    from engine.session import Session
    from engine.story.branches import Branches
    from engine.workspace import AgentSummary

TYPING_PAUSE = 0.15
"""Seconds after the last key until the block list follows what is typed."""
FOLLOW_PAUSE = 0.15
"""Seconds the cursor rests on a block before the inspector shows it, so that running through the list stays cheap."""
STAY_PAUSE = 0.6
"""Seconds more until it shows all of the block's text: most of what a step of the cursor costs over a slow link."""
PANES = ("agents", "blocks", "inspector")


class DeskScreen(
    AgentRunActions,
    ChatActions,
    OrderActions,
    RunActions,
    CompareActions,
    AgentActions,
    ExchangeActions,
    StoryActions,
    TextActions,
):
    """One story's branch and one of its agents, open for editing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("list", "desk"),
        Binding("tab", "step_pane(1)", "Next pane", show=False),
        Binding("shift+tab", "step_pane(-1)", "Previous pane", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-thin"), (LEAST_WIDTH, "-single"), (90, "-double"), (110, "-triple")]
    places: tuple[Place, ...] = ("list", "desk")

    @dataclass
    class StoryChanged(Message):
        """Files of the open story changed on disk. Posted from the engine's thread."""

        story: str
        files: frozenset[Path]

    @dataclass
    class WatchLost(Message):
        """Changes of the open story are no longer told of. Posted from the engine's thread."""

        reason: str

    def __init__(self, *, preview_pause: float = PREVIEW_PAUSE) -> None:
        """`preview_pause`: seconds without a key before a script is run for its author."""
        super().__init__()
        self._story: str | None = None
        self._story_name = ""
        self._branch_names: dict[tuple[str, str], str] = {}
        self._sessions: dict[tuple[str, str, str], Session] = {}
        self._trouble = ""
        self._saver = Saver(self, self.show_state, self.report)
        self._preview = ScriptPreview(self, self._show_result, preview_pause)
        self._furnishing = False
        self._left_to_offer = False
        self._gone = False
        self._typing_timer: Timer | None = None
        self._follow_timer: Timer | None = None
        self._stay_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        yield Static(id="banner", markup=False)
        with Horizontal(id="panes"):
            yield AgentList(id="agents")
            with Vertical(id="middle"):
                yield BlockList(id="blocks", empty=t("desk.reading"))
                yield LineInput(id="filter", placeholder=t("desk.filter"))
            yield Inspector(id="inspector")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        if is_spoken(self):
            self.HORIZONTAL_BREAKPOINTS = [(0, "-thin"), (LEAST_WIDTH, "-single")]
        self.query_one("#agents", AgentList).border_title = t("desk.agents")
        self.blocks.text_of = lambda row: self.session.text(row.key) if self.session is not None else ""
        self.query_one("#filter").display = False
        self.query_one("#banner").display = False
        self.show_pane("blocks")
        self.blocks.focus()

    def _on_engine_change(self, story: str, files: frozenset[Path]) -> None:
        # On the engine's thread: posting is all that may be done there, and it never waits.
        self.post_message(self.StoryChanged(story, files))

    def _on_watch_lost(self, story: str, reason: str) -> None:
        self.post_message(self.WatchLost(reason))

    @on(WatchLost)
    def _watch_lost(self, message: WatchLost) -> None:
        self.stonehand.notify(
            t("robust.watch-lost", reason=message.reason), severity="warning", timeout=15, markup=False
        )

    # -- opening

    def open_first(self) -> None:
        """Open the first story there is, once the screen has appeared: the engine takes longer to load than that."""
        self.call_after_refresh(lambda: self.begin(self._open, "open"))

    async def _open(self) -> None:
        try:
            workspace = await self.stonehand.open_workspace()
            workspace.watching.listen(self._on_engine_change)
            workspace.watching.listen_for_loss(self._on_watch_lost)
            workspace.watching.listen_to_analyses(self.on_engine_analysis)
            await self.open_story(None, None, DEFAULT_AGENT)
            self.follow_providers()
            if self.inspector.furnished or self.session is None:
                self.begin(self.offer_left_edits, "left")
            else:
                self._left_to_offer = True
        finally:
            collector.release()

    async def open_story(self, story: str | None, branch: str | None, agent: str) -> None:
        stories = await self.wait(self.workspace.stories)
        usable = [item for item in stories if item.problem is None]
        chosen = next((item for item in usable if item.id == story), usable[0] if usable else None)
        if chosen is None:
            self._show_no_story(bool(stories))
        elif await self._open_agent(chosen.id, branch, agent):
            collector.keep()
            self._story_name = chosen.name
            self.show_state()
            if branch is None:
                await self._tell_doubt(chosen.id)

    async def _tell_doubt(self, story: str) -> None:
        """Say when it is not known which branch is the active one, and which one is shown and written to."""
        doubt = (await self.wait(self.workspace.story(story).branches)).doubt
        if doubt is not None and self.session is not None:
            branch = self.session.branch
            self.report(StonehandError.of(doubt, t("desk.doubt", branch=branch)))

    async def _open_agent(self, story: str, branch: str | None, agent: str) -> bool:
        """Show an agent of a story's branch; False, and all stays as it is, when it can't be opened."""
        before = self.session
        if before is not None:
            self.collect()
            await self._saver.now(before)
        try:
            session = await self.wait(lambda: self.workspace.session(story, agent, branch))
            summaries = await self.wait(lambda: self.workspace.agents(story, session.branch))
            session = self._sessions.setdefault((story, session.branch, agent), session)
            session.document.check_file()
        except StonehandError as error:
            if before is None:
                self._trouble = t("desk.try-again", error=error)
                self.blocks.empty = t("desk.not-opened")
                self.blocks.set_rows(())
                self._show_banner()
            self.report(error)
            return False
        self.collect()
        self.session, self.carry, self._story, self._trouble, self._gone = session, None, story, "", False
        self.blocks.carry = None
        self._clear_filter()
        if self.inspector.has_focus_within:
            self.action_blocks()
        self.inspector.show(None, "")
        self.query_one("#agents", AgentList).show(summaries, agent)
        self.blocks.empty = t("desk.reading")
        self.blocks.set_rows(())
        if session.document.recovered:
            session.document.recovered = False
            self.say(t("desk.recovered"))
            self.save_later()
        await self.load()
        if any(row.type == "script" for row in session.rows):
            self.workspace.warm_scripts()
        return True

    def _show_no_story(self, damaged: bool) -> None:
        place = self.workspace.data / "stories"
        self._trouble = t("desk.none-usable" if damaged else "desk.none", folder=place)
        self.blocks.empty = t("desk.no-story")
        self.blocks.set_rows(())
        self.query_one("#top", TopBar).show(t("desk.no-story"), "")
        self._show_banner()

    async def load(self) -> bool:
        """Read the story again, run scripts that have not run, show what comes of it; whether that was possible."""
        session = self.session
        if session is None:
            return False
        config = session.document.config
        try:
            loaded, branches = await self.wait(
                lambda: (session.load(config), self.workspace.story(session.story).branches())
            )
            self._name_branches(session.story, branches)
        except StonehandError as error:
            if session is self.session:
                self.blocks.empty = t("desk.unreadable")
                self.blocks.set_rows(session.rows)
            self.report(error)
            return False
        if session is self.session:
            session.install(loaded)
            self.blocks.empty = t("list.none")
            self.show_rows()
            self.look_up_model()
        return session is self.session

    async def name_branches(self, story: str) -> None:
        """Look up what the branches of a story are called, for the top bar."""
        self._name_branches(story, await self.wait(self.workspace.story(story).branches))
        self.show_state()

    def _name_branches(self, story: str, branches: Branches) -> None:
        self._branch_names = {(story, branch.id): branch.name for branch in branches.all}

    def branch_name(self, branch: str) -> str:
        session = self.session
        return branch if session is None else self._branch_names.get((session.story, branch), branch)

    # -- showing

    def show_rows(self) -> None:
        session = self.session
        if session is None:
            return
        self.collect()
        self._list_rows(session)
        self.show_block()
        if session.waiting:
            self.begin(self.load, "load", exclusive=True)

    def _list_rows(self, session: Session) -> None:
        rows = self.carry.shown(session.rows) if self.carry is not None else session.rows
        self.blocks.set_rows(rows, session.leftovers)
        self.show_state()

    def show_block(self) -> None:
        if self._follow_timer is not None:
            self._follow_timer.stop()
            self._follow_timer = None
        self._stay()
        session, row = self.session, self.blocks.current
        if session is None:
            return
        if not self.inspector.furnished:
            if not self._furnishing:
                self._furnishing = True
                self.call_after_refresh(lambda: self.begin(self._furnish, "furnish"))
            return
        self.collect()
        shown, typing = self.inspector.row, self.inspector.typing
        self.inspector.show(row, session.text(row.key) if row is not None else "", self.blocks.leftover)
        if typing and (row is None or shown is None or row.key != shown.key):
            self._text_taken_away(shown.name if shown is not None else "")
        self._show_keys()
        if row is not None and row.type == "script":
            self._preview.follow(session, row.key)
        else:
            self._preview.cancel()

    def _follow(self) -> None:
        """Show the beginning of the block on which the cursor rests, and all of it if it stays there."""
        self.show_block()
        if not is_spoken(self) and not self.inspector.has_focus_within:
            self.inspector.glance()
            self._stay_timer = self.set_timer(STAY_PAUSE, self._stay)

    def _stay(self) -> None:
        if self._stay_timer is not None:
            self._stay_timer.stop()
            self._stay_timer = None
        self.inspector.stay()

    def _text_taken_away(self, name: str) -> None:
        """The text being typed is gone: what is typed on must become neither commands nor another block's text."""
        from tui.screens.choice import ChoiceDialog

        self.action_blocks()
        session = self.session
        fault = session.document.fault if session is not None else None
        reason = f"{fault}" if fault is not None else t("desk.block-gone")
        self.app.push_screen(ChoiceDialog(t("desk.text-gone", name=name), reason, [("escape", t("desk.go-on"))]))

    async def _furnish(self) -> None:
        """Complete the inspector, which takes longer than all else on the screen: the list is there before it."""
        await self.inspector.furnish()
        self.show_block()
        if self._left_to_offer:  # a dialog in front would keep the screen from being completed
            self._left_to_offer = False
            self.begin(self.offer_left_edits, "left")

    def show_state(self) -> None:
        """The top bar, the list's title and the banner."""
        session = self.session
        if session is None:
            return
        rows = session.rows
        agent = self.workspace.agent(session.agent)
        used = sum([row.tokens or 0 for row in rows])
        branch = self.branch_name(session.branch)
        self.show_budget(self._story_name, branch, of_engine(agent.display_name).lower(), session.document.state, used)
        custom, off = sum([row.custom for row in rows]), [row.enabled for row in rows].count(False)
        parts = [of_engine(agent.display_name), *self.list_parts(), t("desk.blocks", count=len(rows))]
        parts += [t("desk.custom", count=custom)] if custom else []
        parts += [t("desk.off", count=off)] if off else []
        title = " · ".join(parts)
        if self.blocks.border_title != title:
            self.blocks.border_title = title
        self._show_banner()

    def _show_banner(self) -> None:
        banner = self.query_one("#banner", Static)
        document = self.session.document if self.session is not None else None
        text, help = f"! {self._trouble}" if self._trouble else "", ""
        if document is None or text:
            pass
        elif self._gone and self.session is not None:
            story = self.workspace.story(self.session.story).path
            text = f"! {t('desk.branch-gone', branch=self.session.branch)}"
            if not story.is_dir():
                text = f"! {t('robust.story-gone', folder=story.relative_to(self.workspace.data))}"
            help = "" if document.state is SaveState.SAVED else t("desk.branch-gone-edits")
        elif document.state is SaveState.INVALID and document.fault is not None:
            fault = document.fault
            where = f"{document.file.name}{f':{fault.line}' if fault.line else ''}"
            field = f" {fault.field}" if fault.field else ""
            text = f"! {t('desk.invalid', place=f'{where}{field}', message=of_engine(fault.message))}"
            help = t("desk.invalid-more")
        elif document.state is SaveState.CONFLICT:
            what = "changed" if document.theirs is not None else "deleted"
            if document.theirs_fault is not None:
                what = "invalid"
            text = f"! {t(f'desk.conflict.{what}', name=document.file.name)}"
            help = t("desk.conflict-more")
        elif self.workspace.journal.failure and document.state is not SaveState.SAVED:
            text = f"! {of_engine(self.workspace.journal.failure)}"
        elif document.repeated_keys:
            lost = document.repeated_keys[0]
            text = f"! {t('desk.repeated', place=f'{document.file.name}:{lost.line} {lost.field}')}"
        if banner.display != bool(text) or text:
            banner.update(Content(f"{visible(text)}\n{help}".rstrip()))
            banner.display = bool(text)

    def _show_keys(self) -> None:
        keys, focused = self.stonehand.keys, self.focused
        if focused is not None and focused.id == "filter":
            shown = filter_keys(keys)
        elif focused is not None and focused.id == "agents":
            shown = agent_keys(keys)
        elif self.inspector.typing or isinstance(focused, Input):
            shown = bar_keys(keys, "desk", "app")
        else:
            shown = bar_keys(keys, "list")
        self.query_one("#keys", KeyBar).show(shown)

    def say_again(self) -> None:
        self.query_one("#agents", AgentList).border_title = t("desk.agents")
        self.query_one("#agents").refresh()
        self.query_one("#filter", Input).placeholder = t("desk.filter")
        self.inspector.say_again()
        self.blocks.refresh()
        self.show_state()
        self._show_keys()

    # -- the text

    def collect(self) -> None:
        """Take over what was typed: it can be ahead of the messages that tell of it, and must not be overwritten."""
        session, typed = self.session, self.inspector.take_typed()
        if session is None or typed is None:
            return
        key, text = typed
        try:
            session.type_text(key, text)
        except StonehandError as error:
            self.report(error)
            return
        self.save_later()
        row = self.inspector.row
        if row is not None and row.type == "script":
            self._preview.follow(session, key, typing=True)
        if self._typing_timer is not None:
            self._typing_timer.stop()
        self._typing_timer = self.set_timer(TYPING_PAUSE, self._typing_paused)

    @on(Inspector.Typed)
    def _typed(self) -> None:
        self.collect()

    def _typing_paused(self) -> None:
        session = self.session
        if session is not None:
            self.collect()
            self._list_rows(session)
            self._show_row(session)

    def _show_row(self, session: Session) -> None:
        """The row under the cursor again, if it is the one shown."""
        row, shown = self.blocks.current, self.inspector.row
        if row is not None and shown is not None and row.key == shown.key:
            self.inspector.show(row, session.text(row.key))

    def _show_result(self, key: str, result: ScriptResult | None) -> None:
        row, session = self.blocks.current, self.session
        if session is None or row is None or row.key != key:
            return
        self.inspector.show_result(result, running=result is None)
        if result is not None:
            self.collect()
            self._list_rows(session)
            self._show_row(session)

    @on(Inspector.Done)
    def _text_left(self) -> None:
        self.action_blocks()
        if self.session is not None:
            self.show_rows()

    @on(Inspector.ModeChosen)
    def _mode_chosen(self, message: Inspector.ModeChosen) -> None:
        self.set_mode(message.mode, go_on=False)

    # -- saving

    def save_later(self) -> None:
        if self.session is not None:
            self._saver.later(self.session)

    def action_save(self) -> None:
        self.begin(self._save, "save")

    async def _save(self) -> None:
        await self.save_now()
        if self.session is not None and self.session.document.state is SaveState.SAVED:
            self.say(t("desk.saved"))

    async def save_now(self) -> None:
        if self.session is not None:
            self.collect()
            await self._saver.now(self.session)

    async def open_session(self, story: str, agent: str, branch: str) -> Session:
        session = await self.wait(lambda: self.workspace.session(story, agent, branch))
        return self._sessions.setdefault((story, session.branch, agent), session)

    def open_sessions(self) -> list[Session]:
        return [*self._sessions.values()]

    def forget_sessions(self, story: str, branch: str) -> None:
        for key in [key for key in self._sessions if key[:2] == (story, branch)]:
            del self._sessions[key]

    async def save_all(self, sessions: Iterable[Session]) -> None:
        self.collect()
        for session in sessions:
            await self._saver.now(session)

    def flush(self) -> None:
        """Save everything on this thread, for a program that is being ended."""
        self.collect()
        self._saver.flush(self._sessions.values())

    async def settle(self) -> bool:
        """Save everything before leaving; False when the user wants to stay."""
        self.collect()
        return await self._saver.settle(list(self._sessions.values()))

    def action_resolve(self) -> None:
        session = self.session
        if session is None or not (
            session.document.state is SaveState.CONFLICT or self._saver.unsaved_and_gone(session)
        ):
            self.say(t("desk.no-conflict"))
            return
        self.begin(lambda: self._resolve(session), "resolve")

    async def _resolve(self, session: Session) -> None:
        await self._saver.resolve(session)
        self.show_rows()

    @on(StoryChanged)
    def _story_changed(self, message: StoryChanged) -> None:
        # Each file is looked at, not only those named: a path can reach us spelled in another way.
        for session in [*self._sessions.values()]:
            if session.story != message.story:
                continue
            if self.workspace.rescue.is_gone(session):
                self._show_gone(session)
                continue
            try:
                changed = session.document.check_file()
            except StonehandError as error:
                self.report(error)
                continue
            if session.document.state in (SaveState.UNSAVED, SaveState.CONFLICT):
                self._saver.keep_trying(session)
            if changed and session is self.session:
                document = session.document
                gone = document.theirs is None if document.state is SaveState.CONFLICT else document.is_gone
                self.say(t("desk.deleted" if gone else "desk.changed", name=document.file.name), warning=True)
        shown = self.session
        if shown is not None and shown.story == message.story and not self.workspace.rescue.is_gone(shown):
            self._gone = False
            self.begin(self.load, "load", exclusive=True)

    def _show_gone(self, session: Session) -> None:
        """A branch that was deleted stays on the screen as it was; its unsaved edits can be written to a file."""
        if session.document.state is not SaveState.SAVED:
            self._saver.keep_trying(session)
        if session is self.session:
            self._gone = True
            self._show_banner()

    # -- other screens

    def action_prompt(self) -> None:
        from tui.screens.prompt import PromptScreen

        self.begin(lambda: self._go(PromptScreen), "go", exclusive=True)

    async def _go(self, screen: Callable[[Session], Screen[None]]) -> None:
        session = self.session
        if session is not None and session.base is not None:
            self.collect()
            await self._saver.now(session)
            if await self.load():
                self.app.push_screen(screen(session))

    def on_screen_resume(self) -> None:
        """Back from another screen: the direction may be another, a passage may have been kept."""
        if self.session is not None:
            self.begin(self.load, "load", exclusive=True)

    def action_help(self) -> None:
        self.stonehand.action_keys()

    async def action_leave(self) -> None:
        await self.stonehand.action_quit()

    # -- panes

    def action_agents(self) -> None:
        self.show_pane("agents")
        self.query_one("#agents").focus()

    def action_open_agent(self) -> None:
        """Open the agent under the cursor of the agents."""
        self.query_one("#agents", AgentList).action_open()

    def action_blocks(self) -> None:
        self.show_pane("blocks")
        self.blocks.focus()

    def action_inspector(self) -> None:
        self.show_block()
        if self.inspector.row is not None:
            self.show_pane("inspector")
            self.inspector.focus_text()

    def show_pane(self, pane: str) -> None:
        """Bring a pane to the front, where the screen is too narrow for all of them."""
        panes = self.query_one("#panes")
        if not panes.has_class(f"-{pane}"):
            # Finding the styles of all that is in them anew takes a while: once, and only where the class changes any.
            panes.remove_class(*(f"-{name}" for name in PANES), update=False)
            panes.add_class(f"-{pane}", update=not self.has_class("-triple"))

    def action_step_pane(self, step: int) -> None:
        """The next pane, or the one before; the parts of the inspector are gone through one by one."""
        self.show_block()
        parts = [node for node in self.focus_chain if self.inspector in node.ancestors]
        focused = self.focused
        if focused in parts:
            at = parts.index(focused) + step
            if 0 <= at < len(parts):
                parts[at].focus()
                return
        within = {node.id for node in focused.ancestors_with_self} if focused is not None else set()
        at = next((i for i, name in enumerate(PANES) if name in within), 1)
        (self.action_agents, self.action_blocks, self.action_inspector)[(at + step) % 3]()

    def action_cursor_down(self) -> None:
        self._cursor(1)

    def action_cursor_up(self) -> None:
        self._cursor(-1)

    def _cursor(self, step: int) -> None:
        if self.carry is not None:
            self.carry_on(step)
        elif step > 0:
            self.blocks.cursor_down()
        else:
            self.blocks.cursor_up()

    def action_back(self) -> None:
        """Leave a level: a carried block, the marks, a pane, the filter."""
        box = self.query_one("#filter", Input)
        if self.carry is not None:
            self.put_back()
        elif self.blocks.has_focus and self.clear_marks():
            pass
        elif box.display and (box.has_focus or self.blocks.has_focus):
            self._clear_filter()
        self.action_blocks()

    # -- filter

    def action_filter(self) -> None:
        self.show_pane("blocks")
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    def _clear_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.value = self.blocks.filter = ""
        box.display = False

    def show_key(self, key: str) -> None:
        """Put the cursor on a row, also on one that the filter hides."""
        if all(row.key != key for row in self.blocks.rows):
            return
        self.blocks.key = key
        if self.blocks.key != key:
            self._clear_filter()
            self.blocks.key = key

    @on(Input.Changed, "#filter")
    def _filter_changed(self, message: Input.Changed) -> None:
        self.blocks.filter = message.value

    @on(Input.Submitted, "#filter")
    def action_keep_filter(self) -> None:
        """Go on in what the filter shows."""
        box = self.query_one("#filter", Input)
        box.display = bool(box.value)
        self.action_blocks()

    # -- what the widgets say

    @on(BlockList.Highlighted)
    def _highlighted(self) -> None:
        if self.session is not None:
            self.collect()
            self.session.document.end_typing()
        if self._stay_timer is not None:
            self._stay_timer.stop()
            self._stay_timer = None
        if self._follow_timer is not None:
            self._follow_timer.reset()
        elif self.inspector.has_focus_within or self.inspector.row is None:
            self.show_block()
        else:
            self._follow_timer = self.set_timer(FOLLOW_PAUSE, self._follow)

    @on(BlockList.Selected)
    def _selected(self) -> None:
        self.action_edit()

    @on(BlockList.MoveRequested)
    def _move_requested(self, message: BlockList.MoveRequested) -> None:
        self.drop_rows(message.key, message.index)

    @on(BlockList.ToggleRequested)
    def _toggle_requested(self, message: BlockList.ToggleRequested) -> None:
        self.do(lambda session: session.toggle(message.key))

    @on(AgentList.Opened)
    def _agent_opened(self, message: AgentList.Opened) -> None:
        self._choose_agent(message.agent)

    def _choose_agent(self, agent: AgentSummary) -> None:
        story = self._story
        if story is not None:
            branch = self.session.branch if self.session is not None else None
            self.begin(lambda: self._open_agent(story, branch, agent.name), "open", exclusive=True)
            self.action_blocks()

    def on_descendant_focus(self) -> None:
        if self.inspector.has_focus_within and (self._follow_timer is not None or self._stay_timer is not None):
            self.show_block()  # clicked into before it had followed the cursor
        self._show_keys()

    def on_descendant_blur(self) -> None:
        if self.session is not None and not self.inspector.typing:
            self.collect()
            self.session.document.end_typing()
            self._saver.begin(self.session)
