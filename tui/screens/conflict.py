"""A conflict with another program settled block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from tui.actions import Place
from tui.language import t
from tui.safe_text import visible
from tui.widgets.cells import fit

if TYPE_CHECKING:
    from engine.document.by_block import Difference, Key, Side

_NAME = 24
"""Cells of the column of names."""


class Differences(OptionList):
    """What differs, a line each; `clicked` is the version that the last click was on, None beside all of them."""

    clicked: str | None = None

    def on_click(self, event: events.Click) -> None:
        # Before the list's own handler, which has the option chosen.
        self.clicked = event.style.meta.get("side")


class ConflictScreen(ModalScreen["Mapping[Key, Side] | None"]):
    """Lists what differs, each with the version that is taken; the answer is the choice, None for escape."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave"),
        Binding("enter,ctrl+s", "done", "Done", priority=True),
        Binding("right,l,space", "turn(1)", "Next version", priority=True),
        Binding("left,h", "turn(-1)", "Previous version", priority=True),
        Binding("j", "step(1)", "Down"),
        Binding("k", "step(-1)", "Up"),
        Binding("m", "all('mine')", "All mine"),
        Binding("t", "all('theirs')", "All theirs"),
        Binding("pagedown", "page(1)", "Page down", priority=True),
        Binding("pageup", "page(-1)", "Page up", priority=True),
    ]

    def __init__(self, differences: Sequence[Difference], names: Mapping[str, str]) -> None:
        """`names` are those of the blocks by their ids, where they are known."""
        super().__init__()
        self._differences = differences
        self._names = names
        self._chosen: dict[Key, Side] = {item.key: item.sides[0] for item in differences}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide", id="conflict") as dialog:
            dialog.border_title = t("conflict.title")
            dialog.border_subtitle = t("conflict.hint")
            yield Differences(*(Option(self._line(item)) for item in self._differences), id="differences")
            with VerticalScroll(id="chosen", can_focus=False):
                yield Static("", id="chosen-text", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(t("conflict.done"), id="done", variant="primary", compact=True)
                yield Button(t("conflict.all-mine"), id="all-mine", compact=True)
                yield Button(t("conflict.all-theirs"), id="all-theirs", compact=True)

    def on_mount(self) -> None:
        for button in self.query(Button):
            button.can_focus = False  # each has a key of its own
        options = self.query_one(OptionList)
        options.action_first()
        options.focus()
        self._show()

    # -- what is shown

    def _line(self, item: Difference) -> Content:
        line = Content(f"{fit(visible(self._called(item)), _NAME)} ")
        for side in ("mine", "both", "theirs"):
            if side not in item.sides:
                continue
            word = t(f"conflict.{side}")
            chosen = side == self._chosen[item.key]
            text, style = (f"[{word}]", "bold $text-primary") if chosen else (f" {word} ", "$text-muted")
            line += Content.styled(text, style).stylize(Style.from_meta({"side": side}))
        return line

    def _called(self, item: Difference) -> str:
        kind, key = item.key
        if kind == "block":
            return self._names.get(key, item.name)
        known = {
            "blockOrder": t("conflict.order"),
            "disabledTools": t("conflict.tools"),
            "disableAutoAnalysis": t("conflict.analysis"),
        }
        return known.get(key, key)

    def _show(self) -> None:
        """The words and the text of the difference under the cursor, as it is chosen."""
        item = self._current
        if item is None:
            return
        side = self._chosen[item.key]
        none = t("conflict.nothing")
        lines = [
            (f"{t('conflict.by-mine')} {'; '.join(item.mine) or none}", "$text-muted"),
            (f"{t('conflict.by-theirs')} {'; '.join(item.theirs) or none}", "$text-muted"),
        ]
        text = item.texts.get(side)
        if any(text is not None for text in item.texts.values()):
            lines += [("", ""), (t("conflict.text", side=t(f"conflict.{side}")), "bold")]
            lines += [(line, "") for line in (t("conflict.no-text") if text is None else text).splitlines()]
        shown = [(f"{visible(line)}\n", style) for line, style in lines]
        self.query_one("#chosen-text", Static).update(Content.assemble(*shown))
        self.query_one("#chosen").scroll_to(y=0, animate=False)

    @property
    def _current(self) -> Difference | None:
        at = self.query_one(OptionList).highlighted
        return None if at is None else self._differences[at]

    # -- choosing

    def action_turn(self, step: int) -> None:
        """Take the next version of what is under the cursor."""
        item = self._current
        if item is not None:
            order = [side for side in ("mine", "both", "theirs") if side in item.sides]
            self._take(item, order[(order.index(self._chosen[item.key]) + step) % len(order)])
            self._show()

    def action_all(self, side: Side) -> None:
        """Take one side everywhere."""
        for item in self._differences:
            self._take(item, side)
        self._show()

    def _take(self, item: Difference, side: Side) -> None:
        self._chosen[item.key] = side
        self.query_one(OptionList).replace_option_prompt_at_index(self._differences.index(item), self._line(item))

    @on(OptionList.OptionHighlighted)
    def _highlighted(self) -> None:
        self._show()

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        item, side = self._current, self.query_one(Differences).clicked
        if item is None or side is None:
            self.action_turn(1)
        else:
            self._take(item, cast("Side", side))
            self._show()

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        if message.button.id == "done":
            self.action_done()
        else:
            self.action_all("mine" if message.button.id == "all-mine" else "theirs")

    def action_step(self, step: int) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()

    def action_page(self, pages: int) -> None:
        """Scroll the text by pages."""
        text = self.query_one("#chosen")
        text.scroll_to(y=text.scroll_offset.y + pages * max(1, text.size.height - 1), animate=False)

    def action_done(self) -> None:
        self.dismiss(self._chosen)

    def action_leave(self) -> None:
        self.dismiss(None)
