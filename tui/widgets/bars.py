"""The two bars of a screen: what is open, at the top, and the keys that matter now, at the bottom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from tui.actions import PALETTE, Action
from tui.language import t
from tui.safe_text import visible
from tui.screen_reader import SpokenApp, is_spoken
from tui.widgets.cells import fit

_PROGRAM = " Stonehand   "
_LEAST_NAME = 10
"""Cells below which a title is not worth the room beside the state."""

LEAST_WIDTH, LEAST_HEIGHT = 12, 4
"""Cells below which nothing of a screen fits: the top bar says so, and fills it."""

_MORE = " ⋯ "
"""What is at the right end of the keys: it opens the command palette, which has every action."""

MESSAGE_SECONDS = 4.0
"""How long a message stands in place of the keys."""


class TopBar(Widget):
    """One line: the program, the story and branch, and at the right the agent, provider and tokens."""

    DEFAULT_CSS = """
    TopBar { height: 1; background: $panel; color: $foreground; }
    """

    @dataclass
    class Pressed(Message):
        """The right side was clicked."""

        bar: TopBar

        @property
        def control(self) -> TopBar:
            return self.bar

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title = ("", "")
        self._states: tuple[str, ...] = ("",)
        self._alert = False
        self._right = 0

    def show(self, story: str, branch: str, *states: str, alert: bool = False) -> None:
        """Set what the bar says; nothing is drawn when nothing changed.

        `states` are wordings of the right side, the longest first: the first that leaves the title whole is shown.
        `alert`: what they say needs a look, which has a sign of its own in them.
        """
        before = (self._title, self._states, self._alert)
        self._title, self._states, self._alert = (story, branch), states or ("",), alert
        # A screen reader would read the whole bar whenever the count of tokens changes.
        if before != (self._title, self._states, alert) and not (is_spoken(self) and before[0] == self._title):
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        if event.x >= self.size.width - self._right:
            self.post_message(self.Pressed(self))

    def render(self) -> Content:
        width = self.size.width
        if self.app.size.width < LEAST_WIDTH or self.app.size.height < LEAST_HEIGHT:
            return Content(fit(t("terminal.too_small"), width))
        story, branch = (visible(part) for part in self._title)
        if is_spoken(self):
            return Content(fit(f"{_PROGRAM}{', '.join(filter(None, (story, branch)))}", width))
        name = f"{story} › {branch}" if branch else story
        wanted = Content(name).cell_length + 2
        for state in self._states:
            right = f"{state} "
            for left in (_PROGRAM, " "):
                room = width - Content(left).cell_length - Content(right).cell_length
                if room >= wanted or (state == self._states[-1] and left == " " and room >= _LEAST_NAME):
                    title = f"{fit(name, room - 2)}  "
                    self._right = Content(right).cell_length
                    style = "bold $text-warning" if self._alert else "$text-muted"
                    return Content.assemble((left, "bold $text-primary"), (title, ""), (right, style))
        self._right = 0
        return Content(fit(f" {name}", width))


class KeyBar(Widget):
    """One line of keys, each of which can be clicked; a message takes its place for a few seconds."""

    DEFAULT_CSS = """
    KeyBar { height: 1; background: $panel; color: $foreground; }
    """

    @dataclass
    class Pressed(Message):
        """A key was clicked."""

        bar: KeyBar
        action: Action

        @property
        def control(self) -> KeyBar:
            return self.bar

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._keys: list[tuple[str, str, Action]] = []
        self._message = ""
        self._warning = False
        self._timer: Timer | None = None

    def show(self, keys: Iterable[tuple[str, str, Action]]) -> None:
        """Show these (key, word, action); nothing is drawn when they are the same."""
        listed = list(keys)
        if listed != self._keys:
            self._keys = listed
            self.refresh()

    def say(self, message: str, *, warning: bool = False) -> None:
        """Show a message for a few seconds, counted from the last time it was said; an empty one ends it at once.

        Nothing is drawn when it is shown already.
        """
        if message and isinstance(self.app, SpokenApp) and self.app.screen_reader:
            self.app.announce(message)
        elif (message, warning) != (self._message, self._warning):
            self._message, self._warning = message, warning
            self.refresh()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(MESSAGE_SECONDS, lambda: self.say("")) if message else None

    @property
    def message(self) -> str:
        return self._message

    def render(self) -> Content:
        width = self.size.width
        if self._message:
            style = "bold $text-warning" if self._warning else "$text-success"
            sign = "! " if self._warning else ""
            text = fit(f" {sign}{self._message}", max(0, width - len(_MORE)))
            return Content.assemble((text, style), (_MORE[:width], "bold $text-primary"))
        parts: list[tuple[str, str]] = []
        at = 0
        for start, key, word, _ in self._placed():
            parts += [(" " * (start - at + 1), ""), (key, "bold $text-primary"), (f" {word} ", "$text-muted")]
            at = start + _width(key, word)
        parts += [(" " * (width - len(_MORE) - at), ""), (_MORE[:width], "bold $text-primary")]
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        if event.x >= self.size.width - len(_MORE):
            self.post_message(self.Pressed(self, PALETTE))
            return
        if self._message:
            self.say("")
            return
        for start, key, word, action in self._placed():
            if start <= event.x < start + _width(key, word):
                self.post_message(self.Pressed(self, action))
                return

    def _placed(self) -> Iterator[tuple[int, str, str, Action]]:
        """The keys that fit with their columns, left of what leads to all others; the last one is always among them."""
        if not self._keys:
            return
        *others, last = self._keys
        room = self.size.width - len(_MORE) - _width(*last[:2])
        at = 0
        for key, word, action in others:
            if at + _width(key, word) > room:
                break
            yield at, key, word, action
            at += _width(key, word)
        if room >= 0:
            yield room, *last


def _width(key: str, word: str) -> int:
    return cell_len(key) + cell_len(word) + 3
