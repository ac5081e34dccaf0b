"""A few choices on one line, the one in force in brackets, so that it shows without colours too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui.language import t
from tui.screen_reader import Spoken


class ChoiceBar(Spoken, Widget, can_focus=True):
    """One of several (value, word) pairs; arrows, space or a click choose another."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "Previous choice", show=False),
        Binding("right,l,space", "step(1)", "Next choice", show=False),
    ]
    """
    | Key(s) | Description |
    | :- | :- |
    | left, h / right, l, space | Choose the one before or behind. |
    """

    DEFAULT_CSS = """
    ChoiceBar { height: 1; }
    ChoiceBar:focus { background: $boost; }
    ChoiceBar:focus:ansi { text-style: underline; }
    """

    value: reactive[str] = reactive("")
    """The value chosen."""

    @dataclass
    class Chosen(Message):
        """The user chose a value; it is not in force before the owner sets it, unless `own` is set."""

        bar: ChoiceBar
        value: str

        @property
        def control(self) -> ChoiceBar:
            return self.bar

    def __init__(
        self,
        choices: Sequence[tuple[str, str]],
        value: str,
        *,
        own: bool = True,
        shorts: Sequence[str] = (),
        id: str | None = None,
    ) -> None:
        """`own`: a choice takes effect at once; otherwise the owner is asked first. `shorts` stand for the choices not
        in force where the words take more than the line.
        """
        super().__init__(id=id)
        self._choices = tuple(choices)
        self._own = own
        self._shorts = tuple(shorts)
        self.set_reactive(ChoiceBar.value, value)

    def name_choices(self, choices: Sequence[tuple[str, str]]) -> None:
        """Show other words for the values, as in another language."""
        self._choices = tuple(choices)
        self.refresh()

    def render(self) -> Content:
        parts: list[tuple[str, str]] = []
        for value, word in self._shown():
            if value == self.value:
                parts.append((f"[{word}] ", "bold $text-primary"))
            else:
                parts.append((f" {word}  ", "$text-muted"))
        return Content.assemble(*parts)

    def spoken(self) -> str:
        """The choice in force, and which of all it is."""
        for number, (value, word) in enumerate(self._choices, 1):
            if value == self.value:
                return t("reader.choice", text=word, number=number, total=len(self._choices))
        return ""

    @property
    def caret(self) -> Offset:
        """The start of the choice in force, in the content of the widget."""
        return Offset(next((start for start, _, value in self._places() if value == self.value), 0), 0)

    def action_step(self, step: int) -> None:
        """Choose the value before or behind the one in force, around the ends."""
        values = [value for value, _ in self._choices]
        at = values.index(self.value) if self.value in values else -step
        self._choose(values[(at + step) % len(values)])

    def on_click(self, event: events.Click) -> None:
        for start, end, value in self._places():
            if start <= event.x < end:
                self._choose(value)
                return

    def _choose(self, value: str) -> None:
        if self._own:
            self.value = value
        self.post_message(self.Chosen(self, value))

    def _shown(self) -> Sequence[tuple[str, str]]:
        """The choices in the words there is room for."""
        if not self._shorts or sum(cell_len(word) + 3 for _, word in self._choices) <= self.content_size.width:
            return self._choices
        return [
            (value, word if value == self.value else short)
            for (value, word), short in zip(self._choices, self._shorts, strict=True)
        ]

    def _places(self) -> Iterator[tuple[int, int, str]]:
        at = 0
        for value, word in self._shown():
            end = at + cell_len(word) + 3
            yield at, end, value
            at = end
