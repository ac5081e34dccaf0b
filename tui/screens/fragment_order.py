"""The pinned fragments of a story: in which order they are given, and in which message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from engine.blocks.moves import gathered, shifted
from engine.blocks.rows import Row
from engine.errors import StonehandError
from tui.actions import Place, bar_keys
from tui.bindings import bindings_for
from tui.carry import Carry
from tui.language import t
from tui.safe_text import visible
from tui.screens.base import WorkingScreen
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.block_list import BlockList

if TYPE_CHECKING:
    from engine.workspace import FileEdit, Fragment, FragmentOrder

_Work: TypeAlias = "Callable[[], FileEdit | None]"


@dataclass(frozen=True, slots=True)
class OrderHistory:
    """What was written here of a story, the last step last, and what of it was taken back. It outlives the screen."""

    past: list[FileEdit] = field(default_factory=list)
    future: list[FileEdit] = field(default_factory=list)


class FragmentOrderScreen(WorkingScreen[None]):
    """Moves pinned fragments and places them. Each step is written at once, and can be taken back here."""

    places: tuple[Place, ...] = ("order",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("order"),
        Binding("j", "step(1)", "Down", show=False),
        Binding("k", "step(-1)", "Up", show=False),
        Binding("escape,q", "leave", "Back", show=False),
        Binding("question_mark", "help", "Help", show=False),
    ]

    def __init__(self, story: str, branch: str, name: str, history: OrderHistory) -> None:
        """`name` is what the story is called; each step goes into `history`."""
        super().__init__()
        self._story, self._branch, self._story_name = story, branch, name
        self._found: FragmentOrder | None = None
        self._carry: Carry | None = None
        self._history = history
        self._turn = asyncio.Lock()

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        yield Static(id="outcome", markup=False)
        yield BlockList(id="fragments", empty=t("order.reading"))
        yield KeyBar(id="keys")

    @property
    def fragments(self) -> BlockList:
        return self.query_one("#fragments", BlockList)

    def on_mount(self) -> None:
        self.say_again()
        self.fragments.focus()
        self.begin(self._begin, "order")

    def say_again(self) -> None:
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, "order"))
        self.query_one("#top", TopBar).show(
            self._story_name, self.branch_name(self._branch), t("order.title"), t("order.title")
        )
        if self._found is not None:
            self._show()
            self._show_mode(self._found)
        self.fragments.refresh()

    async def _begin(self) -> None:
        async with self._turn:
            await self._read()

    def on_screen_resume(self) -> None:
        """Back from an agent that may have changed a fragment."""
        if self._found is not None:
            self.begin(self._begin, "order")

    async def _read(self) -> None:
        try:
            self._found = await self.wait(lambda: self.workspace.order.pinned(self._story, self._branch))
        except StonehandError as error:
            self.report(error)
            return
        self.fragments.empty = t("order.none")
        self._show()
        self._show_mode(self._found)

    def _show_mode(self, found: FragmentOrder) -> None:
        mode = t("order.advanced") if found.mode == "advanced" else t("order.simple")
        self.query_one("#outcome", Static).update(Content(mode))

    def _show(self) -> None:
        rows = self._rows()
        self.fragments.set_rows(self._carry.shown(rows) if self._carry is not None else rows)

    def _rows(self) -> tuple[Row, ...]:
        found = self._found
        pairs = zip(found.fragments, found.tokens, strict=True) if found is not None else ()
        rows = [_row(place, fragment, tokens) for place, (fragment, tokens) in enumerate(pairs)]
        return tuple(sorted(rows, key=lambda row: row.role))

    # -- edits, one after the other: each is made on the list as the one before left it

    def _change(self, make: Callable[[FragmentOrder], _Work | None], said: str) -> None:
        self.begin(lambda: self._changed(make, said), "order")

    async def _changed(self, make: Callable[[FragmentOrder], _Work | None], said: str) -> None:
        async with self._turn:
            work = make(self._found) if self._found is not None else None
            if work is None:
                return
            try:
                if await self.wait(lambda: self._record(work)):
                    self.say(said)
            except StonehandError as error:
                self.report(error)
            await self._read()

    def _record(self, work: _Work) -> bool:
        """Do it and keep what was written, in one piece: the screen may be left before that is told here."""
        edit = work()
        if edit is not None:
            self._history.past.append(edit)
            self._history.future.clear()
        return edit is not None

    def _arrange(self, arrange: Callable[[Sequence[Row]], Sequence[str] | None]) -> None:
        """Write the order that `arrange` makes of the rows, given by their keys."""

        def make(found: FragmentOrder) -> _Work | None:
            if found.mode != "advanced":
                self.say(t("order.needs-advanced"), warning=True)
                return None
            keys = arrange(self._rows())
            before = [fragment.id for fragment in found.fragments]
            if keys is None:
                return None
            after = _placed_back(before, {row.key: row.role for row in self._rows()}, keys)
            if after == before:
                self.say(t("order.end"))
                return None
            return lambda: self.workspace.order.write(self._story, after, found)

        self._change(make, t("order.moved"))

    def _moved(self) -> frozenset[str]:
        current = self.fragments.current
        return self.fragments.marked or frozenset([current.key] if current is not None else [])

    def action_order_down(self) -> None:
        self._move(1)

    def action_order_up(self) -> None:
        self._move(-1)

    def _move(self, step: int) -> None:
        moved = self._moved()
        if self._carry is not None:
            self.action_step(step)
        elif moved:
            self._arrange(lambda rows: shifted(rows, moved, step))

    def action_step(self, step: int) -> None:
        """Move the cursor, or what is carried."""
        if self._carry is not None:
            self._carry = self._carry.on(self._rows(), step, {row.key for row in self._rows()})
            self._show()
        elif step > 0:
            self.fragments.cursor_down()
        else:
            self.fragments.cursor_up()

    def action_order_carry(self) -> None:
        current = self.fragments.current
        if self._carry is not None:
            self._drop()
        elif self._found is not None and self._found.mode != "advanced":
            self.say(t("order.needs-advanced"), warning=True)
        elif current is not None:
            self._carry = Carry.pick_up(self._rows(), current.key, self._moved() | {current.key})
            self.fragments.carry = current.key
            self.say(t("order.carrying"))

    def _drop(self) -> None:
        carry, self._carry = self._carry, None
        self.fragments.carry = None
        if carry is not None:
            self._arrange(lambda rows: [row.key for row in carry.shown(rows)])

    @on(BlockList.Selected)
    def _selected(self) -> None:
        self._drop()

    @on(BlockList.MoveRequested)
    def _move_requested(self, message: BlockList.MoveRequested) -> None:
        marked = self.fragments.marked
        moved = marked if message.key in marked else frozenset([message.key])
        self._arrange(lambda rows: gathered(rows, moved, message.key, message.index))

    def action_order_place(self) -> None:
        if self.fragments.current is not None:
            self._place(self.fragments.current.key)

    @on(BlockList.ToggleRequested)
    def _toggle_requested(self, message: BlockList.ToggleRequested) -> None:
        self._place(message.key)

    def _place(self, key: str) -> None:
        def make(found: FragmentOrder) -> _Work | None:
            fragment = next((fragment for fragment in found.fragments if fragment.id == key), None)
            if fragment is None:
                return None
            placement: Literal["system", "user"] = "system" if fragment.placement == "user" else "user"
            return lambda: self.workspace.order.place(self._story, self._branch, fragment, placement)

        self._change(make, t("order.placed"))

    def action_order_mode(self) -> None:
        def make(found: FragmentOrder) -> _Work | None:
            mode: Literal["simple", "advanced"] = "simple" if found.mode == "advanced" else "advanced"
            return lambda: self.workspace.order.use_mode(self._story, mode)

        self._change(make, t("order.switched"))

    def action_order_hand_over(self) -> None:
        self.begin(self._hand_over, "go", exclusive=True)

    async def _hand_over(self) -> None:
        """Choose an agent to work on the fragment under the cursor."""
        from tui.screens.agent_run import ask_agent, open_agent_run

        current, found = self.fragments.current, self._found
        fragment = (
            next((item for item in found.fragments if current and item.id == current.key), None) if found else None
        )
        if fragment is not None and (agent := await ask_agent(self, fragment)) is not None:
            await open_agent_run(self, self._story, self._branch, agent, fragment.id)

    def action_order_undo(self) -> None:
        past, future = self._history.past, self._history.future
        self.begin(lambda: self._step_back(past, future, t("order.undone"), t("order.no-undo")), "order")

    def action_order_redo(self) -> None:
        past, future = self._history.past, self._history.future
        self.begin(lambda: self._step_back(future, past, t("order.redone"), t("order.no-redo")), "order")

    async def _step_back(self, source: list[FileEdit], target: list[FileEdit], said: str, nothing: str) -> None:
        async with self._turn:
            if not source:
                self.say(nothing)
                return

            def step() -> None:
                target.append(self.workspace.order.take_back(self._story, source[-1]))
                source.pop()

            try:
                await self.wait(step)
                self.say(said)
            except StonehandError as error:
                self.report(error)
            await self._read()

    # -- leaving

    def action_leave(self) -> None:
        """Put back what is carried, take marks away, or leave."""
        if self._carry is not None:
            self._carry = self.fragments.carry = None
            self._show()
        elif self.fragments.marked:
            self.fragments.clear_marks()
        else:
            self.dismiss()

    def action_help(self) -> None:
        self.stonehand.action_keys()


def _row(place: int, fragment: Fragment, tokens: int) -> Row:
    lost = fragment.placement not in ("system", "user")  # in neither message, so it costs nothing
    note = t("order.nowhere", placement=visible(fragment.placement)) if lost else f"{fragment.type} · {fragment.id}"
    return Row(
        key=fragment.id,
        id=fragment.id,
        name=fragment.name,
        role="system" if fragment.placement == "system" else "user",
        order=place,
        source="builtin",
        type=None,
        enabled=True,
        state="compiled",
        mode=None,
        content=fragment.content,
        default=None,
        tokens=None if lost else tokens,
        note=note,
        warning=lost,
    )


def _placed_back(before: Sequence[str], roles: dict[str, str], keys: Sequence[str]) -> list[str]:
    """`before` with the ids of each message in the order `keys` has them: a message keeps the places it had."""
    by_role = {role: iter([key for key in keys if roles[key] == role]) for role in set(roles.values())}
    return [next(by_role[roles[item]]) for item in before]
