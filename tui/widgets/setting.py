"""A value that can be inherited: what it is, where it comes from, and keys to choose another or inherit again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from tui.safe_text import visible
from tui.screen_reader import Spoken, is_spoken

_LABEL = 14
"""Cells that a label has."""
_STEP = 0.1
_TEMPERATURES = (0.0, 2.0)
_FIRST = 1.0
"""The temperature that the first step from an unset one leads to."""
SETTLE_PAUSE = 0.5
"""Seconds after the last step until a temperature is chosen, so that a run of steps is one choice."""


class Setting(Spoken, Static, can_focus=True):
    """A value and what decided it, the place in its file below; enter or a click asks for another, delete inherits."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "change", "Change", show=False),
        Binding("delete,backspace", "inherit", "Inherit", show=False),
    ]
    """
    | Key(s) | Description |
    | :- | :- |
    | enter, space | Choose another value. |
    | delete, backspace | Inherit the value. |
    """

    DEFAULT_CSS = """
    Setting { height: auto; padding: 0 1; }
    Setting:focus { background: $boost; }
    """

    @dataclass
    class Change(Message):
        """Another value is wanted."""

        setting: Setting

        @property
        def control(self) -> Setting:
            return self.setting

    @dataclass
    class Inherit(Message):
        """The value is to be inherited."""

        setting: Setting

        @property
        def control(self) -> Setting:
            return self.setting

    def __init__(self, label: str, *, id: str) -> None:
        super().__init__("", id=id, markup=False)
        self._label = label
        self._value_shown = self._words = self._place = ""

    def show(self, value: str, words: str, place: str) -> None:
        """Say the value in force, in words what decided it, and the place in its file, if there is one."""
        self._value_shown, self._words, self._place = value, words, place
        self.draw()

    def draw(self) -> None:
        """Put the lines together."""
        self.update(
            Content.assemble(
                (self._padded_label(), "$text-muted"),
                (visible(self.value_text()), "bold"),
                (f"  {visible(self._words)}\n  {visible(self._place)}".rstrip(), "$text-muted"),
            )
        )

    def value_text(self) -> str:
        """The value as it is drawn."""
        return self._value_shown

    def spoken(self) -> str:
        """The label, the value and what decided it."""
        return f"{self._label}: {self.value_text()}. {self._words}"

    def _padded_label(self) -> str:
        return self._label + " " * max(1, _LABEL - cell_len(self._label))

    def action_change(self) -> None:
        self.post_message(self.Change(self))

    def action_inherit(self) -> None:
        self.post_message(self.Inherit(self))

    def on_click(self, _event: events.Click) -> None:
        self.action_change()


class Temperature(Setting):
    """A temperature: left and right or a click on the arrows step it, digits type it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "Less", show=False),
        Binding("right,l", "step(1)", "More", show=False),
    ]
    """
    | Key(s) | Description |
    | :- | :- |
    | left, h / right, l | A tenth less or more. |
    | digits, point | Type a temperature; enter chooses it. |
    """

    @dataclass
    class Chosen(Message):
        """A temperature was chosen; `text` is what was typed or stepped to, which may be no number."""

        setting: Temperature
        text: str

        @property
        def control(self) -> Temperature:
            return self.setting

    def __init__(self, label: str, *, id: str) -> None:
        super().__init__(label, id=id)
        self._value: float | None = None
        self._typed = ""
        self._timer: Timer | None = None

    def set_value(self, value: float | None) -> None:
        """The temperature in force, which steps begin at."""
        self._value = value

    def value_text(self) -> str:
        value = f"{self._typed}_" if self._typed and self._timer is None else self._typed or self._value_shown
        return value if is_spoken(self) else f"◂ {value} ▸"

    def take(self) -> str:
        """What was typed or stepped to and is not chosen yet; it is no longer pending then."""
        text, self._typed = self._typed, ""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.draw()
        return text

    def action_step(self, step: int) -> None:
        """A tenth less or more, between 0 and 2."""
        try:
            now = float(self._typed) if self._typed else self._value
        except ValueError:
            now = self._value
        low, high = _TEMPERATURES
        wanted = _FIRST if now is None else max(low, min(high, round(now + step * _STEP, 2)))
        self._typed = f"{wanted:g}"
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(SETTLE_PAUSE, self._settle)
        self.draw()

    def action_change(self) -> None:
        self._settle()

    def action_inherit(self) -> None:
        if self._typed and self._timer is None:
            self._typed = self._typed[:-1]
            self.draw()
        else:
            self.take()
            super().action_inherit()

    def on_key(self, event: events.Key) -> None:
        if event.character is not None and event.character in "0123456789.,":
            event.stop()
            typed = "" if self._timer is not None else self._typed
            self.take()
            self._typed = typed + event.character.replace(",", ".")
            self.draw()

    def on_blur(self) -> None:
        self._settle()

    def on_click(self, event: events.Click) -> None:
        at = event.x - self.gutter.left - _LABEL
        if event.y == self.gutter.top and 0 <= at <= cell_len(self.value_text()):
            self.action_step(-1 if at < 2 else 1 if at >= cell_len(self.value_text()) - 2 else 0)

    def _settle(self) -> None:
        text = self.take()
        if text:
            self.post_message(self.Chosen(self, text))
