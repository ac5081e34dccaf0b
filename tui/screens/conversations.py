"""The conversations with an agent: to go on with one, begin another, rename or delete one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList
from textual.widgets.option_list import Option

from tui.actions import Place
from tui.language import of_engine, t
from tui.safe_text import visible
from tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from engine.workspace.conversations import ConversationSummary


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be done: `open`, `rename` or `delete` the conversation `id`, or begin a `new` one."""

    what: Literal["open", "new", "rename", "delete"]
    id: str = ""


class ConversationsDialog(ModalScreen[Wanted | None]):
    """Asks what is to be done with which conversation; None when it is left."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [
        ("escape,q", "leave", "Leave"),
        ("n", "want('new')", "New"),
        ("r,f2", "want('rename')", "Rename"),
        ("X,delete", "want('delete')", "Delete"),
    ]

    def __init__(self, conversations: Sequence[ConversationSummary], now: str, names: dict[str, str]) -> None:
        """`now` is the id of the one that is open, `names` are those of characters by their ids."""
        super().__init__()
        self._listed, self._now, self._names = list(conversations), now, names

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("chat.conversations")
            yield OptionList(*(Option(Content(visible(self._line(item)))) for item in self._listed), id="conversations")
            with Horizontal(classes="answers"):
                yield Button(t("chat.new-key"), id="new", compact=True)
                yield Button(t("chat.rename-key"), id="rename", compact=True)
                yield Button(t("chat.delete-key"), id="delete", compact=True)

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.focus()
        ids = [item.id for item in self._listed]
        if ids:
            options.highlighted = ids.index(self._now) if self._now in ids else 0

    def _line(self, item: ConversationSummary) -> str:
        if item.problem is not None:
            return f"! {item.title} · {of_engine(item.problem.message)}"
        who = "" if item.character is None else f" · {self._names.get(item.character, item.character)}"
        changed = item.updated_at or item.created_at
        with suppress(ValueError, OverflowError):
            changed = f"{datetime.fromisoformat(changed).astimezone():%Y-%m-%d %H:%M}"
        return f"{item.title}{who} · {t('chat.messages', count=item.count)} · {changed}"

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(Wanted("open", self._listed[message.option_index].id))

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        self.action_want(message.button.id or "")

    def action_want(self, what: str) -> None:
        at = self.query_one(OptionList).highlighted
        if what == "new":
            self.dismiss(Wanted("new"))
        elif at is not None and what in ("rename", "delete"):
            self.dismiss(Wanted("rename" if what == "rename" else "delete", self._listed[at].id))

    def action_leave(self) -> None:
        self.dismiss(None)


class TitleDialog(ModalScreen[str | None]):
    """Asks for a line of text, `text` to begin with; None when it is left."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "leave", "Leave")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(visible(self._title))
            yield LineInput(self._text, id="title", select_on_focus=False)
            yield Button(t("properties.done"), id="done", variant="primary", compact=True)

    @on(Input.Submitted)
    @on(Button.Pressed, "#done")
    def _done(self) -> None:
        self.dismiss(self.query_one("#title", LineInput).value)

    def action_leave(self) -> None:
        self.dismiss(None)
