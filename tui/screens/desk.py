"""The main screen: agents, the blocks of one of them, and the block under the cursor."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from engine.blocks import Role, Row
from engine.blocks.config import ContentMode
from engine.document import Change, SaveState
from engine.errors import StonehandError
from engine.session import Session
from engine.workspace import WRITER, AgentSummary, PreviewJob, Workspace
from tui.actions import Place, bar_keys
from tui.bindings import bindings_for
from tui.safe_text import visible
from tui.widgets.agent_list import AgentList
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.block_list import BlockList
from tui.widgets.cells import short_count
from tui.widgets.inspector import Inspector

if TYPE_CHECKING:
    from tui.app import StonehandApp

T = TypeVar("T")

SAVE_PAUSE = 0.8
"""Seconds after the last edit until it is saved."""
PREVIEW_PAUSE = 0.3
"""Seconds after the last key until a script is run."""
ROWS_PAUSE = 0.15
"""Seconds after the last key until the block list follows what is typed."""


class DeskScreen(Screen[None]):
    """One story's branch and one of its agents, open for editing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("list", "desk"),
        Binding("tab", "next_pane", "Next pane", show=False),
        Binding("shift+tab", "previous_pane", "Previous pane", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-single"), (90, "-double"), (110, "-triple")]  # noqa: RUF012
    places: tuple[Place, ...] = ("list", "desk")

    @dataclass
    class StoryChanged(Message):
        """Files of the open story changed on disk. Posted from the engine's thread."""

        story: str
        files: frozenset[Path]

    def __init__(self, workspace: Workspace, story: str | None = None) -> None:
        super().__init__()
        self.workspace = workspace
        self.session: Session | None = None
        self._story = story
        self._story_name = ""
        self._save_timer: Timer | None = None
        self._preview_timer: Timer | None = None
        self._rows_timer: Timer | None = None
        self._preview: PreviewJob | None = None
        self._saving = False
        self._carried: tuple[str, int] | None = None

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        with Horizontal(id="panes"):
            yield AgentList(id="agents")
            with Vertical(id="middle"):
                yield Static(id="banner", markup=False)
                yield BlockList(id="blocks")
                yield Input(id="filter", placeholder="filter: part of a name; enter keeps it, escape clears it")
            yield Inspector(id="inspector")
        yield KeyBar(id="keys")

    # -- typed parts

    @property
    def stonehand(self) -> StonehandApp:
        return cast("StonehandApp", self.app)

    @property
    def list(self) -> BlockList:
        return self.query_one("#blocks", BlockList)

    @property
    def inspector(self) -> Inspector:
        return self.query_one("#inspector", Inspector)

    # -- opening

    def on_mount(self) -> None:
        self.query_one("#agents", AgentList).border_title = "Agents"
        self.inspector.border_title = "Block"
        self.query_one("#filter").display = False
        self.query_one("#banner").display = False
        self.list.focus()
        self._show_keys()
        self.workspace.listen(self._on_engine_change)
        self.call_after_refresh(self._open_first)

    def _on_engine_change(self, story: str, files: frozenset[Path]) -> None:
        # On the engine's thread: posting is all that may be done there, and it never waits.
        self.post_message(self.StoryChanged(story, files))

    def _open_first(self) -> None:
        self._in_background(self._open_story(self._story, None, WRITER))

    async def _open_story(self, story: str | None, branch: str | None, agent: str) -> None:
        def choose() -> tuple[str, str]:
            stories = self.workspace.stories()
            usable = [item for item in stories if item.problem is None]
            chosen = next((item for item in usable if item.id == story), usable[0] if usable else None)
            if chosen is None:
                raise StonehandError(
                    "there is no story that can be opened", file=self.workspace.data, repair="see stonehand doctor"
                )
            return chosen.id, chosen.name

        self._story, self._story_name = await self._wait(choose)
        await self._open_agent(agent, branch)

    async def _open_agent(self, agent: str, branch: str | None) -> None:
        story = self._story
        if story is None:
            return
        await self._save_now()
        session = await self._wait(lambda: self.workspace.session(story, agent, branch))
        summaries = await self._wait(lambda: self.workspace.agents(story, session.branch))
        self.session = session
        self.inspector.show(None, "")
        self.query_one("#agents", AgentList).show(summaries, agent)
        self.list.set_rows(())
        self._show_state()
        if session.document.recovered:
            self._say("edits of the last session that were not saved are back; undo takes them away")
            self._save_later()
        await self._load()
        if any(row.type == "script" for row in session.rows):
            self.workspace.warm_scripts()

    async def _load(self) -> None:
        """Read the story again, run scripts that have not run, show what comes of it."""
        session = self.session
        if session is None:
            return
        config = session.document.config
        loaded = await self._wait(lambda: session.load(config))
        if session is self.session:
            session.install(loaded)
            self._show_rows()

    # -- showing

    def _show_rows(self) -> None:
        session = self.session
        if session is None:
            return
        self.list.set_rows(self._carried_rows(session.rows))
        self._show_state()
        self._show_block()
        if session.waiting:
            self._in_background(self._load(), group="load")

    def _show_block(self) -> None:
        session, row = self.session, self.list.current
        if session is None:
            return
        self.inspector.show(row, session.text(row.id) if row is not None else "")
        self.inspector.border_title = "Block" if row is None else visible(row.name)
        if row is not None and row.type == "script":
            self._preview_later(0.0)

    def _show_state(self) -> None:
        """The top bar, the list's title and the banner."""
        session = self.session
        if session is None:
            return
        rows = session.rows
        sums = {role: sum(row.tokens or 0 for row in rows if row.role == role) for role in ("system", "user")}
        agent = self.workspace.agent(session.agent)
        mark = {SaveState.UNSAVED: " · unsaved", SaveState.CONFLICT: " · conflict", SaveState.INVALID: " · invalid"}
        state = f"{agent.display_name.lower()} · rehearsal{mark.get(session.document.state, '')}"
        total = (
            f"sys {short_count(sums['system'])} + usr {short_count(sums['user'])} = {short_count(sum(sums.values()))}"
        )
        self.query_one("#top", TopBar).show(self._story_name, session.branch, f"{state}   {total} tokens")
        custom = sum(row.custom for row in rows)
        off = sum(not row.enabled for row in rows)
        parts = [agent.display_name, f"{len(rows)} blocks"]
        parts += [f"{custom} custom"] if custom else []
        parts += [f"{off} off"] if off else []
        self.list.border_title = " · ".join(parts)
        self._show_banner()

    def _show_banner(self) -> None:
        session = self.session
        banner = self.query_one("#banner", Static)
        text = ""
        if session is not None:
            document = session.document
            if document.state is SaveState.INVALID and document.fault is not None:
                fault = document.fault
                where = f"{document.file.name}{f':{fault.line}' if fault.line else ''}"
                field = f" {fault.field}" if fault.field else ""
                text = f"! {where}{field} {fault.message}. It is left as it is: ctrl+e opens it, R resets it."
            elif document.state is SaveState.CONFLICT:
                text = f"! {document.file.name} was changed by another program. Press ! to choose what becomes of it."
            elif self.workspace.journal.failure:
                text = f"! {self.workspace.journal.failure}"
        banner.update(Content(visible(text)))
        banner.display = bool(text)

    def _show_keys(self) -> None:
        keys = self.stonehand.keys
        shown = bar_keys(keys, "desk", "app") if self.inspector.typing else bar_keys(keys, "list")
        self.query_one("#keys", KeyBar).show(shown)

    def _say(self, text: str, *, warning: bool = False) -> None:
        self.query_one("#keys", KeyBar).say(text, warning=warning)

    # -- editing

    def _do(self, edit: Callable[[Session], Change | str | None], *, said: str = "") -> None:
        """Make an edit and show what came of it."""
        session = self.session
        if session is None:
            return
        try:
            change = edit(session)
        except StonehandError as error:
            self._say(str(error), warning=True)
            return
        if change is None:
            return
        self._say(said or (change.label if isinstance(change, Change) else ""))
        self._show_rows()
        self._save_later()

    def _on_row(self, edit: Callable[[Session, Row], Change | str | None]) -> None:
        row = self.list.current
        if row is not None:
            self._do(lambda session: edit(session, row))

    def action_switch(self) -> None:
        self._on_row(lambda session, row: session.toggle(row.key))

    def action_move_down(self) -> None:
        self._move(1)

    def action_move_up(self) -> None:
        self._move(-1)

    def _move(self, step: int) -> None:
        target = self.list.move_target(step)
        if target is not None and self._carried is None:
            self._do(lambda session: session.move(*target))

    def action_cursor_down(self) -> None:
        self._cursor(1)

    def action_cursor_up(self) -> None:
        self._cursor(-1)

    def _cursor(self, step: int) -> None:
        if self._carried is not None:
            self._carry_on(step)
        elif self.query_one("#agents").has_focus:
            self.query_one("#agents", AgentList).action_step(step)
        elif step > 0:
            self.list.cursor_down()
        else:
            self.list.cursor_up()

    # carrying: the list shows where the block would go; nothing is edited before it is dropped

    def action_carry(self) -> None:
        row = self.list.current
        if self._carried is not None:
            self._drop()
        elif row is not None and self.session is not None:
            section = [other.key for other in self.session.rows if other.role == row.role]
            self._carried = (row.key, section.index(row.key))
            self.list.carry = row.key
            self._say("carrying: j and k move it, enter drops it, escape puts it back")

    def _carry_on(self, step: int) -> None:
        target = self.list.move_target(step)
        if target is not None and self.session is not None:
            self._carried = target
            self.list.set_rows(self._carried_rows(self.session.rows))

    def _drop(self) -> None:
        if self._carried is not None:
            target, self._carried = self._carried, None
            self.list.carry = None
            self._do(lambda session: session.move(*target))
            self._show_rows()

    def _put_back(self) -> None:
        self._carried = None
        self.list.carry = None
        self._say("put back")
        self._show_rows()

    def _carried_rows(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        if self._carried is None:
            return rows
        key, index = self._carried
        carried = next((row for row in rows if row.key == key), None)
        if carried is None:
            return rows
        section = [row for row in rows if row.role == carried.role and row.key != key]
        section.insert(index, carried)
        return tuple([row for row in rows if row.role == "system"] if carried.role == "user" else section) + tuple(
            [row for row in rows if row.role == "user"] if carried.role == "system" else section
        )

    def action_mode_none(self) -> None:
        self._set_mode(None)

    def action_mode_before(self) -> None:
        self._set_mode("prepend")

    def action_mode_after(self) -> None:
        self._set_mode("append")

    def action_mode_override(self) -> None:
        self._set_mode("override")

    def _set_mode(self, mode: ContentMode | None) -> None:
        row = self.list.current
        if row is None:
            return
        if row.custom:
            self._say("content modes are for built-in blocks; a custom block has its own text", warning=True)
            return
        self._do(lambda session: session.set_mode(row.key, mode))
        if mode is not None:
            self._show_pane("inspector")
            self.inspector.focus_text()

    def action_add(self) -> None:
        from tui.screens.properties import PropertiesDialog

        row = self.list.current
        role: Role = row.role if row is not None else "user"

        def done(values: PropertiesDialog.Values | None) -> None:
            if values is None:
                return

            def add(session: Session) -> str:
                behind = row.key if row is not None and row.role == values.role else None
                return session.add(values.name, values.role, values.type, after=behind)

            self._add(add, f"added {values.name}")

        self.app.push_screen(PropertiesDialog("Add a block", role=role), done)

    def action_duplicate(self) -> None:
        row = self.list.current
        if row is not None:
            self._add(lambda session: session.duplicate(row.key), f"duplicated {row.name}")

    def _add(self, add: Callable[[Session], str], said: str) -> None:
        made: list[str] = []

        def edit(session: Session) -> str:
            made.append(add(session))
            return made[0]

        self._do(edit, said=said)
        if made:
            self.list.key = made[0]
            self._show_block()
            self._show_pane("inspector")
            self.inspector.focus_text()

    def action_properties(self) -> None:
        from tui.screens.properties import PropertiesDialog

        row, session = self.list.current, self.session
        if row is None or session is None:
            return
        if not row.custom:
            self._say(f"{row.name} is a built-in block: it keeps its name and role; J and K move it", warning=True)
            return
        block = session.document.config.custom(row.id)

        def done(values: PropertiesDialog.Values | None) -> None:
            if values is not None:
                self._do(
                    lambda session: session.change(
                        row.key, name=values.name, role=values.role, type=values.type, order=values.order
                    )
                )

        if block is not None:
            dialog = PropertiesDialog(
                "Change the block", name=block.name, role=block.role, type=block.type, order=block.order
            )
            self.app.push_screen(dialog, done)

    def action_delete(self) -> None:
        row = self.list.current
        if row is not None:
            self._do(lambda session: session.delete(row.key), said=f"deleted {row.name}; u brings it back")

    def action_reset(self) -> None:
        from tui.screens.choice import ChoiceDialog

        session, row = self.session, self.list.current
        if session is None:
            return
        if session.document.state is SaveState.INVALID:
            self.app.push_screen(
                ChoiceDialog(
                    "Reset the invalid file?",
                    f"{session.document.file.name} becomes the empty config; a copy of it is kept beside it.",
                    [("r", "reset, keep a copy"), ("escape", "leave it alone")],
                ),
                lambda key: self._reset_invalid() if key == "r" else None,
            )
            return

        def done(key: str | None) -> None:
            if key == "b" and row is not None:
                self._do(lambda session: session.reset(row.key))
            elif key == "a":
                self._do(lambda session: session.reset())

        choices = [("b", f"this block ({row.name})")] if row is not None else []
        choices += [("a", "the whole agent: its blocks, texts, order and tools"), ("escape", "nothing")]
        self.app.push_screen(ChoiceDialog("Reset to default", "Undo brings it back.", choices), done)

    def _reset_invalid(self) -> None:
        session = self.session
        if session is None:
            return
        try:
            copy = session.document.reset_invalid()
        except StonehandError as error:
            self.stonehand.report(error)
            return
        self._say(f"reset; the old file is kept as {copy.name}")
        self._show_rows()
        self._save_later()

    def action_undo(self) -> None:
        self._do(lambda session: session.undo())

    def action_redo(self) -> None:
        self._do(lambda session: session.redo())

    def action_copy(self) -> None:
        from tui.clipboard import copy

        row, session = self.list.current, self.session
        if row is not None and session is not None:
            text = session.text(row.id) if row.custom else row.content
            self._say(copy(self.app, text or "").message)

    # -- the text

    def action_edit(self) -> None:
        if self._carried is not None:
            self._drop()
            return
        row = self.list.current
        if row is None:
            return
        if not row.custom and row.mode is None:
            self._show_pane("inspector")
            self._say("choose what your text does: b before the default, f after it, o instead of it")
            return
        self._show_pane("inspector")
        self.inspector.focus_text()

    @on(Inspector.Typed)
    def _typed(self, message: Inspector.Typed) -> None:
        session = self.session
        if session is None:
            return
        try:
            session.type_text(message.block_id, message.text)
        except StonehandError as error:
            self.stonehand.report(error)
            return
        self._save_later()
        row = self.list.current
        if row is not None and row.type == "script":
            self._preview_later(PREVIEW_PAUSE)
        if self._rows_timer is not None:
            self._rows_timer.stop()
        self._rows_timer = self.set_timer(ROWS_PAUSE, self._typing_paused)

    def _typing_paused(self) -> None:
        session = self.session
        if session is None:
            return
        self.list.set_rows(self._carried_rows(session.rows))
        self._show_state()
        row = self.list.current
        if row is not None and self.inspector.row is not None and row.key == self.inspector.row.key:
            self.inspector.show(row, session.text(row.id))

    @on(Inspector.Done)
    def _text_left(self) -> None:
        self.action_blocks()

    @on(Inspector.ModeChosen)
    def _mode_chosen(self, message: Inspector.ModeChosen) -> None:
        self._set_mode(message.mode)

    def action_external(self) -> None:
        self._in_background(self._edit_outside(), group="external")

    async def _edit_outside(self) -> None:
        from tui.external_editor import edit_text

        session, row = self.session, self.list.current
        if session is None:
            return
        if session.document.state is SaveState.INVALID:
            await self._repair_outside(session)
            return
        if row is None:
            return
        if not row.custom and row.mode is None:
            self._say("choose a content mode first: b, f or o", warning=True)
            return
        before = session.text(row.id)
        after = await edit_text(self.app, before, ".js" if row.type == "script" else ".md")
        if after is not None and after != before:
            self._do(lambda session: session.set_text(row.key, after))

    async def _repair_outside(self, session: Session) -> None:
        from tui.external_editor import edit_file

        await edit_file(self.app, session.document.file)
        session.document.check_file()
        self._show_rows()

    def action_reference(self) -> None:
        self.inspector.toggle_reference()
        session = self.session
        if session is not None:
            self._in_background(self._list_fragments(session), group="reference")

    async def _list_fragments(self, session: Session) -> None:
        found = await self._wait(lambda: self.workspace.fragments(session.story, session.branch))
        self.inspector.show_fragments([(item.id, item.type, item.name) for item in found])

    # -- the live preview

    def _preview_later(self, seconds: float) -> None:
        if self._preview_timer is not None:
            self._preview_timer.stop()
        if self._preview is not None:
            self._preview.cancel()
        self._preview_timer = self.set_timer(max(seconds, 0.01), self._run_preview)

    def _run_preview(self) -> None:
        session, row = self.session, self.list.current
        if session is None or session.base is None or row is None or row.type != "script":
            return
        job = self._preview = self.workspace.preview(session.base, session.text(row.id))
        self._in_background(self._await_preview(session, row.key, job), group="preview")

    async def _await_preview(self, session: Session, key: str, job: PreviewJob) -> None:
        # A quick answer needs no sign that it is awaited.
        done, _ = await asyncio.wait({asyncio.wrap_future(job.future)}, timeout=0.15)
        if not done and job is self._preview:
            self.inspector.show_result(None, running=True)
        await asyncio.wait({asyncio.wrap_future(job.future)})
        result = job.result()
        current = self.list.current
        if job is not self._preview or session is not self.session or current is None or current.key != key:
            return
        if result.kind == "cancelled":
            return
        session.learn(job.base, job.body, result)
        self.inspector.show_result(result)
        self.list.set_rows(self._carried_rows(session.rows))
        self._show_state()

    # -- saving

    def _save_later(self) -> None:
        if self._save_timer is not None:
            self._save_timer.stop()
        self._save_timer = self.set_timer(SAVE_PAUSE, lambda: self._in_background(self._save_now(), group="save"))

    async def _save_now(self) -> None:
        """Save the open document on the engine's thread, and say so if that fails."""
        session = self.session
        while session is not None and not self._saving:
            job = self.workspace.save(session)
            if job is None:
                break
            self._saving = True
            try:
                await asyncio.wait({asyncio.wrap_future(job.future)})
                error = job.finish()
            finally:
                self._saving = False
            if error is not None:
                self.stonehand.report(error)
                break
        self._show_state()

    def action_save(self) -> None:
        self._in_background(self._save_now(), group="save")

    def flush(self) -> None:
        """Save on this thread, for a program that is being ended; what can't be saved stays in the journal."""
        if self.session is not None:
            with contextlib.suppress(StonehandError):
                self.workspace.save_now(self.session)

    async def settle(self) -> bool:
        """Save before leaving; False when the user wants to stay."""
        await self._save_now()
        session = self.session
        if session is not None and session.document.state is SaveState.CONFLICT:
            return await self._resolve(leaving=True)
        return True

    def action_resolve(self) -> None:
        self._in_background(self._resolve(), group="resolve")

    async def _resolve(self, *, leaving: bool = False) -> bool:
        from tui.screens.choice import ChoiceDialog

        session = self.session
        if session is None or session.document.state is not SaveState.CONFLICT:
            self._say("there is no conflict")
            return True
        choices = [
            ("g", "merge: the file's version with your edits on top"),
            ("m", "mine: replace the file by yours"),
            ("t", "theirs: take the file's version (undo brings yours back)"),
        ]
        choices += [("l", "leave now; your edits come back next time")] if leaving else []
        choices += [("escape", "decide later")]
        dialog = ChoiceDialog("Changed by another program", str(session.document.file), choices)
        key = await self.app.push_screen_wait(dialog)
        try:
            if key == "g":
                session.document.merge()
            elif key == "m":
                session.document.keep_mine()
            elif key == "t":
                session.document.take_theirs()
            else:
                return key == "l"
        except StonehandError as error:
            self.stonehand.report(error)
            return False
        self._show_rows()
        await self._save_now()
        return True

    # -- other programs

    @on(StoryChanged)
    def _story_changed(self, message: StoryChanged) -> None:
        session = self.session
        if session is None or message.story != session.story:
            return
        document = session.document
        if document.file in message.files:
            try:
                if document.check_file():
                    self._say(f"{document.file.name} was changed by another program", warning=True)
            except StonehandError as error:
                self.stonehand.report(error)
        self._in_background(self._load(), group="load")

    # -- going about

    def action_prompt(self) -> None:
        from tui.screens.prompt import PromptScreen

        session = self.session
        if session is None or session.base is None:
            return
        self._in_background(self._load_then(lambda: self.app.push_screen(PromptScreen(session))), group="prompt")

    def action_generate(self) -> None:
        from tui.screens.passage import PassageScreen

        session = self.session
        if session is None or session.base is None:
            return
        self._in_background(
            self._load_then(lambda: self.app.push_screen(PassageScreen(self.workspace, session))), group="prompt"
        )

    async def _load_then(self, go: Callable[[], object]) -> None:
        await self._save_now()
        await self._load()
        go()

    def action_story(self) -> None:
        from tui.screens.story import StoryScreen

        def done(chosen: tuple[str, str] | None) -> None:
            if chosen is not None:
                agent = self.session.agent if self.session is not None else WRITER
                self._in_background(self._open_story(*chosen, agent), group="open")

        self.app.push_screen(StoryScreen(self.workspace), done)

    def action_help(self) -> None:
        self.stonehand.action_keys()

    async def action_leave(self) -> None:
        self._in_background(self.stonehand.action_quit(), group="leave")

    def action_agents(self) -> None:
        self._show_pane("agents")
        self.query_one("#agents").focus()

    def action_blocks(self) -> None:
        self._show_pane("middle")
        self.list.focus()

    def action_inspector(self) -> None:
        self._show_pane("inspector")
        if not self.inspector.focus_text():
            self.inspector.query_one("#default").focus()

    def _show_pane(self, pane: str) -> None:
        """Narrow screens show one pane, or two: bring this one to the front."""
        panes = self.query_one("#panes")
        for name in ("agents", "middle", "inspector"):
            panes.set_class(name == pane, f"-{name}")

    def action_next_pane(self) -> None:
        self._step_pane(1)

    def action_previous_pane(self) -> None:
        self._step_pane(-1)

    def _step_pane(self, step: int) -> None:
        order = ["agents", "blocks", "inspector"]
        focused = self.focused
        at = 1
        if focused is not None:
            ids = {node.id for node in focused.ancestors_with_self}
            at = 0 if "agents" in ids else 2 if "inspector" in ids else 1
        getattr(self, f"action_{order[(at + step) % 3]}")()

    def action_back(self) -> None:
        """Leave a level: a carried block, the filter, a pane."""
        if self._carried is not None:
            self._put_back()
        elif self.query_one("#filter", Input).display:
            self._end_filter()
        else:
            self.action_blocks()

    # -- filter

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    @on(Input.Changed, "#filter")
    def _filter_changed(self, message: Input.Changed) -> None:
        self.list.filter = message.value

    @on(Input.Submitted, "#filter")
    def _filter_kept(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = bool(box.value)
        self.list.focus()

    def _end_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.value = ""
        box.display = False
        self.list.focus()

    # -- what the widgets say

    @on(BlockList.Highlighted)
    def _highlighted(self) -> None:
        if self.session is not None:
            self.session.document.end_typing()
        self._show_block()

    @on(BlockList.Selected)
    def _selected(self) -> None:
        self.action_edit()

    @on(BlockList.MoveRequested)
    def _move_requested(self, message: BlockList.MoveRequested) -> None:
        self._do(lambda session: session.move(message.key, message.index))

    @on(BlockList.ToggleRequested)
    def _toggle_requested(self, message: BlockList.ToggleRequested) -> None:
        self._do(lambda session: session.toggle(message.key))

    @on(AgentList.Opened)
    def _agent_opened(self, message: AgentList.Opened) -> None:
        self._open(message.agent)

    def _open(self, agent: AgentSummary) -> None:
        if not agent.built:
            self._say(f"{agent.display_name} can't be opened yet: {agent.description}", warning=True)
            return
        branch = self.session.branch if self.session is not None else None
        self._in_background(self._open_agent(agent.name, branch), group="open")
        self.action_blocks()

    @on(KeyBar.Pressed)
    async def _key_pressed(self, message: KeyBar.Pressed) -> None:
        await self.run_action(message.action.method)

    def on_descendant_focus(self) -> None:
        self._show_keys()

    def on_descendant_blur(self) -> None:
        if self.session is not None and not self.inspector.typing:
            self.session.document.end_typing()
            self._in_background(self._save_now(), group="save")

    # -- inside

    def _in_background(self, work: Coroutine[object, object, object], *, group: str = "open") -> None:
        """Run work beside the interface; loading and opening give way to a newer call of theirs."""
        self.run_worker(work, group=group, exclusive=group in ("load", "open"), exit_on_error=False)

    async def _wait(self, function: Callable[[], T]) -> T:
        """Run something that may wait on an engine thread; the screen stays alive meanwhile."""
        return await asyncio.wrap_future(self.workspace.start(function))
