"""Finding and replacing in a text: a line to type into, the number of matches, and on request what to put there."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.document._document import Location, Selection
from textual.message import Message
from textual.widgets import Input, Static

from tui.language import t
from tui.widgets.exact_document import Piece
from tui.widgets.exact_text_area import Match
from tui.widgets.line_input import LineInput
from tui.widgets.text_editor import TextEditor


class Words(Static):
    """Words to click, each of which is an action of the bar."""

    def __init__(self, *words: tuple[str, str]) -> None:
        """`words`: pairs of a word and its action."""
        self._words = words
        super().__init__(Content("".join(f" {word} " for word, _ in words)), markup=False)

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        at = 0
        for word, action in self._words:
            end = at + Content(word).cell_length + 2
            if at <= event.x < end:
                await self.app.run_action(action, next(node for node in self.ancestors if isinstance(node, FindBar)))
                return
            at = end


class FindBar(Vertical):
    """Finds in a `TextEditor`: case counts only when a capital is typed. The match the cursor is at is selected there.

    `open` shows it on an editor; escape closes it and leaves the cursor at the match.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,down", "step(1)", "Next match", show=False, priority=True),
        Binding("up", "step(-1)", "Previous match", show=False, priority=True),
        Binding("tab,shift+tab", "other_field", "What to put there", show=False, priority=True),
        Binding("f8", "replace_all", "Replace all", show=False, priority=True),
        Binding("escape", "close", "Close", show=False, priority=True),
    ]
    """
    | Key(s) | Description |
    | :- | :- |
    | enter, down | The next match; of the second line, enter replaces the match. |
    | up | The match before. |
    | tab | To the line with what to put there, and back. |
    | f8 | Replace all matches, as one step. |
    | escape | Close, and leave the cursor at the match. |
    """

    DEFAULT_CSS = """
    FindBar {
        height: auto;
        & > Horizontal { height: 1; }
        & Input { width: 1fr; height: 1; border: none; padding: 0; background: $surface; }
        & Input:focus { border: none; background: $boost; }
        & Static { width: auto; height: 1; color: $text-muted; }
        & .name { color: $text; }
    }
    """

    @dataclass
    class Closed(Message):
        """The bar was closed by the user."""

        bar: FindBar

        @property
        def control(self) -> FindBar:
            return self.bar

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._editor: TextEditor | None = None
        self._matches: list[Match] = []
        self._from: Location = (0, 0)

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(f"{t('text.find')} ", classes="name", markup=False)
            yield LineInput(id="find-text")
            yield Static("", id="find-count", markup=False)
            yield Words(("‹", "step(-1)"), ("›", "step(1)"), ("×", "close"))
        with Horizontal(id="find-second"):
            yield Static(f"{t('text.replace')} ", classes="name", markup=False)
            yield LineInput(id="find-new")
            yield Words((t("text.replace_one"), "replace"), (t("text.replace_all"), "replace_all"))

    def on_mount(self) -> None:
        self.query_one("#find-second").display = False

    @property
    def pattern(self) -> str:
        """What is looked for."""
        return self.query_one("#find-text", LineInput).value

    @property
    def matches(self) -> list[Match]:
        """Where it is."""
        return self._matches

    # -- opening and closing

    def open(self, editor: TextEditor) -> None:
        """Look for something in `editor`, beginning at its cursor: what is selected there, or was looked for last."""
        field = self.query_one("#find-text", LineInput)
        if self._editor is not editor or not self.display:
            self._editor = editor
            self._from = min(editor.selection)
            selected = editor.selected_text
            if selected and len({place[0] for place in editor.selection}) == 1:
                field.value = selected
        self.display = True
        field.focus()
        field.select_all()
        self.look()

    def close(self) -> None:
        """Put the bar away."""
        editor, self._editor, self._matches = self._editor, None, []
        self.display = False
        self.query_one("#find-second").display = False
        if editor is not None:
            editor.show_matches(())

    def action_close(self) -> None:
        """Close, the cursor at the match."""
        editor = self._editor
        self.close()
        if editor is not None:
            editor.move_cursor(min(editor.selection))
            self.post_message(self.Closed(self))

    # -- finding

    def look(self) -> None:
        """Look again: another pattern, or another text."""
        editor = self._editor
        if editor is not None:
            self._matches = find(editor.document.lines, self.pattern)
            editor.show_matches(self._matches)
            self._select(bisect_left(self._matches, (*self._from, 0)))

    def refresh_matches(self) -> None:
        """Follow an edit of the text."""
        editor = self._editor
        if editor is not None:
            self._from = min(editor.selection)
            self._matches = find(editor.document.lines, self.pattern)
            editor.show_matches(self._matches)
            self._tell(None)

    def _select(self, index: int) -> None:
        """Go to a match, around the ends."""
        editor = self._editor
        if editor is None:
            return
        if self._matches:
            index %= len(self._matches)
            row, start, end = self._matches[index]
            editor.selection = Selection((row, start), (row, end))
            editor.refresh()
            self._tell(index)
        else:
            editor.move_cursor(self._from)
            self._tell(None)

    def _tell(self, index: int | None) -> None:
        count = len(self._matches)
        if not self.pattern:
            text = ""
        elif index is None:
            text = t("text.matches", count=count) if count else t("text.no_match")
        else:
            text = t("text.match_of", number=index + 1, count=count)
        self.query_one("#find-count", Static).update(Content(f" {text}" if text else ""))

    def _current(self) -> int | None:
        """The match that is selected."""
        editor = self._editor
        if editor is None:
            return None
        (row, start), (end_row, end) = sorted(editor.selection)
        index = bisect_left(self._matches, (row, start, end))
        there = self._matches[index : index + 1] == [(row, start, end)] and row == end_row
        return index if there else None

    @on(Input.Changed, "#find-text")
    def _pattern_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.look()

    def action_step(self, step: int) -> None:
        """The next match, or the one before; from the second line, replace this one first."""
        editor = self._editor
        if editor is None:
            return
        if self.query_one("#find-new").has_focus and step > 0 and self._replace_current():
            return
        current = self._current()
        if current is None:
            index = bisect_left(self._matches, (*min(editor.selection), 0))
            self._select(index if step > 0 else index - 1)
        else:
            self._select(current + step)
        self._from = min(editor.selection)

    # -- replacing

    def action_other_field(self) -> None:
        """Go to the line with what to put there, or back."""
        second = self.query_one("#find-second")
        new = self.query_one("#find-new", LineInput)
        if new.has_focus:
            self.query_one("#find-text").focus()
        elif self._editor is not None and not self._editor.read_only:
            second.display = True
            new.focus()

    def action_replace(self) -> None:
        """Replace the match and go to the next."""
        if not self._replace_current():
            self.action_step(1)

    def _replace_current(self) -> bool:
        editor, index = self._editor, self._current()
        if editor is None or index is None or editor.read_only:
            return False
        row, start, end = self._matches[index]
        new = self.query_one("#find-new", LineInput).value
        editor.history.checkpoint()
        result = editor.replace(new, (row, start), (row, end), maintain_selection_offset=False)
        editor.history.checkpoint()
        self._from = result.end_location
        self.look()
        return True

    def action_replace_all(self) -> None:
        """Replace every match, as one step to take back."""
        editor = self._editor
        if editor is None or editor.read_only or not self._matches:
            return
        count = len(self._matches)
        new = self.query_one("#find-new", LineInput).value
        first, last = self._matches[0][0], self._matches[-1][0]
        lines = editor.document.lines[first : last + 1]
        end = (last, len(lines[-1]))
        for row, left, right in reversed(self._matches):
            line = lines[row - first]
            lines[row - first] = line[:left] + new + line[right:]
        editor.history.checkpoint()
        editor.replace(Piece.of(lines, list(editor.document.breaks[first:last])), (first, 0), end)
        editor.history.checkpoint()
        self._from = (first, 0)
        self.look()
        self.query_one("#find-count", Static).update(Content(f" {t('text.replaced', count=count)}"))


def find(lines: list[str], pattern: str) -> list[Match]:
    """The places of `pattern` in some lines, in their order; case counts only when it has a capital."""
    if not pattern:
        return []
    search = re.compile(re.escape(pattern), 0 if pattern != pattern.lower() else re.IGNORECASE)
    return [(row, found.start(), found.end()) for row, line in enumerate(lines) for found in search.finditer(line)]
