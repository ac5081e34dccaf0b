"""What a screen reader needs of the screen: words, one line that says what happens, and the cursor where the work is.

With `screen_reader` set, an app of `SpokenApp` shows no frames, bars or signs (the widgets and the style sheet see to
that: the app has the class `-screen-reader`), and every screen ends with a line that says in words what has the focus
or what has just happened. The line is written after all else, whole, and only when it changes. What came of an
action is said before the row that has the focus then, until the next key. The terminal's own
cursor is shown, on the row that has the focus, so moving among rows draws nothing but that line. Messages go to the
line and nowhere else: a toast would be read in the middle of whatever it covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.segment import Segment
from textual import events
from textual.app import App, ReturnType
from textual.color import Color
from textual.content import Content
from textual.css.query import NoMatches
from textual.filter import LineFilter
from textual.geometry import Offset
from textual.notifications import SeverityLevel
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList, Static, TextArea

from tui.language import t
from tui.safe_text import visible

_SHOW_CURSOR = "\x1b[?25h"


class Spoken:
    """A widget that can say in words where the user is in it: a class to put before `Widget` in the bases."""

    def spoken(self) -> str:
        """One line, empty when there is nothing to say."""
        return ""

    @property
    def caret(self) -> Offset:
        """The cell of the content that this is about."""
        return Offset(0, 0)


class Offering:
    """A text that can offer something to put in: a class to put before `TextArea` in the bases."""

    def offered(self) -> str:
        """What is offered now and how it is taken, one line; empty while nothing is."""
        return ""


def is_spoken(widget: Widget) -> bool:
    """Whether the app a widget is in is read out by a screen reader."""
    return isinstance(widget.app, SpokenApp) and widget.app.screen_reader


class SpokenFilter(LineFilter):
    """Makes the dots between the parts of a line commas, and takes away the one at its start."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments, each as wide as before."""
        if not any("·" in text for text, _, _ in segments):
            return segments
        return [
            Segment(text.replace(" · ", ",  ").replace("· ", "  ").replace(" ·", ", "), style, control)
            for text, style, control in segments
        ]


class SpokenLine(Static):
    """The last line of a screen: what a screen reader is to say."""

    DEFAULT_CSS = """
    SpokenLine { dock: bottom; width: 1fr; height: 1; color: $foreground; background: $background; }
    """


class SpokenApp(App[ReturnType]):
    """An app that can be read out. Put it before `App` in the bases."""

    screen_reader: bool = False
    """Set it before the app runs."""

    _said = ""
    _place = ""
    _result = ""
    """What was announced since the user did something last."""
    _cursor_shown = False

    def on_load(self) -> None:
        self.set_class(self.screen_reader, "-screen-reader")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The app's filters; in words there are no dots."""
        filters = super().get_line_filters()
        return [*filters, SpokenFilter()] if self.screen_reader else filters

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, (events.Key, events.Paste, events.MouseDown)):
            self._result = ""
        await super().on_event(event)
        if self.screen_reader and isinstance(event, events.Key):
            self.call_after_refresh(self._say_place)  # a cursor that moves draws nothing

    def announce(self, text: str) -> None:
        """Say something, until the user goes elsewhere; where the focus is then, it is said before that."""
        self._result = text or self._result
        if text and text != self._said:
            self._said = text
            self._write_line()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """As `App.notify`; said instead of shown where a screen reader reads."""
        if self.screen_reader:
            self.announce(f"{title}: {message}" if title else message)
        else:
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    def post_display_hook(self) -> None:
        """After everything else is on the screen: say where the focus is, if it is elsewhere or has changed."""
        super().post_display_hook()
        self._say_place()

    def _say_place(self) -> None:
        if not self.screen_reader or not self.screen_stack or not self._running:
            return
        if not self._cursor_shown and self._driver is not None and not self.is_headless:
            self._cursor_shown = True
            self._driver.write(_SHOW_CURSOR)
        place = self._describe()
        if place != self._place:
            self._place = place
            self._said = ". ".join(filter(None, (self._result, place)))
            self._write_line()
        elif not self._has_line():
            self._write_line()

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """`App.suspend`; the cursor is hidden when the terminal is taken back."""
        try:
            with super().suspend():
                yield
        finally:
            self._cursor_shown = False

    def _describe(self) -> str:
        """The dialog in front and what has the focus in it; the terminal's cursor goes there."""
        focused = self.screen.focused
        spoken = _spoken(focused)
        if focused is not None and spoken is not None:
            self.cursor_position = focused.content_region.offset + spoken.caret
        elif isinstance(focused, OptionList):
            line = focused._index_to_line.get(focused.highlighted, 0) if focused.highlighted is not None else 0
            self.cursor_position = focused.content_region.offset + Offset(0, line - focused.scroll_offset.y)
        elif isinstance(focused, Button):
            self.cursor_position = focused.content_region.offset
        return ". ".join(filter(None, (_title(self.screen.children), _words(focused))))

    def _has_line(self) -> bool:
        return bool(self.screen.query(SpokenLine))

    def _write_line(self) -> None:
        content = Content(f" {visible(self._said)}")
        try:
            self.screen.query_one(SpokenLine).update(content)
        except NoMatches:
            if self.screen.is_mounted:
                self.screen.mount(SpokenLine(content, markup=False))


def _title(widgets: Iterable[Widget]) -> str:
    """The title of the dialog that a screen consists of, if it is one."""
    titles = (str(widget.border_title) for widget in widgets if widget.has_class("dialog") and widget.border_title)
    return next(titles, "")


def _spoken(widget: object) -> Spoken | None:
    return widget if isinstance(widget, Spoken) else None


def _words(widget: Widget | None) -> str:
    """What has the focus, in words."""
    if widget is None:
        return ""
    label = _label(widget)
    spoken = _spoken(widget)
    if spoken is not None:
        return _with_label(label, spoken.spoken())
    if isinstance(widget, OptionList):
        at = widget.highlighted
        if at is None:
            return _with_label(label, t("reader.nothing_chosen"))
        prompt = widget.get_option_at_index(at).prompt
        text = prompt.plain if isinstance(prompt, Content) else str(prompt)
        words = t("reader.option", number=at + 1, total=widget.option_count, text=" ".join(text.split()))
        return _with_label(label, words)
    if isinstance(widget, Button):
        return t("reader.button", text=str(widget.label))
    if isinstance(widget, Input):
        return t("reader.field", text=label or widget.placeholder)
    if isinstance(widget, TextArea):
        offered = widget.offered() if isinstance(widget, Offering) else ""
        return ". ".join(filter(None, (t("reader.text", text=label), offered)))
    return label


def _with_label(label: str, words: str) -> str:
    return ": ".join(filter(None, (label, words)))


def _label(widget: Widget) -> str:
    """The text that stands above a widget as its label."""
    siblings = widget.parent.children if isinstance(widget.parent, Widget) else ()
    shown = [sibling for sibling in siblings if sibling.display]
    at = shown.index(widget) if widget in shown else 0
    before = shown[at - 1] if at > 0 else None
    if isinstance(before, Static) and before.has_class("label"):
        return str(before.visual)
    return ""
