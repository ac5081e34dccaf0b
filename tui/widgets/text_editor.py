"""The editor for the text of a block: what went in comes out, however it is edited, pasted into or typed into."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.document._document import EditResult, Location, Selection
from textual.document._document_navigator import DocumentNavigator
from textual.document._edit import Edit
from textual.document._history import EditHistory
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import TextArea

from engine.text import common_prefix
from tui.graphemes import boundary
from tui.language import t
from tui.widgets.completing import CompletingTextArea
from tui.widgets.exact_document import ExactDocument
from tui.widgets.glance import Glanced
from tui.widgets.wrapping import DrawnWrap

MAX_BYTES = 256 * 1024
"""The largest text, in UTF-8 bytes, that can be edited here; of a larger one the beginning is shown, read-only."""

EXCERPT_CHARACTERS = 32 * 1024
"""How much of a text that is too large is shown."""

UNDO_STEPS = 10_000
"""How many steps can be taken back."""


@dataclass(frozen=True, slots=True)
class _Grown:
    """A text as it was before a paste made it too large to be edited here, and as it is since."""

    document: ExactDocument
    wrapped: DrawnWrap
    navigator: DocumentNavigator
    history: EditHistory
    selection: Selection
    pasted: str


class TextEditor(Glanced, CompletingTextArea):
    """A plain text editor for one block.

    `load` shows a text, `text_if_edited` hands back what to save. `escape` leaves and discards nothing.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, id="editor.leave"),
        Binding("ctrl+home", "text_start", "Start of the text", show=False),
        Binding("ctrl+end", "text_end", "End of the text", show=False),
        Binding("alt+up", "paragraph(-1)", "Paragraph up", show=False),
        Binding("alt+down", "paragraph(1)", "Paragraph down", show=False),
        Binding("alt+left,alt+b", "cursor_word_left", "Word left", show=False),
        Binding("alt+right,alt+f", "cursor_word_right", "Word right", show=False),
    ]
    """
    | Key(s) | Description |
    | :- | :- |
    | escape | Leave the editor; the text is kept. |
    | ctrl+home, ctrl+end | Go to the start or the end of the text. |
    | alt+up, alt+down | Go to the empty line before or behind the paragraph. |
    | alt+left, alt+right | Go a word back or on; macOS Terminal sends alt+b and alt+f. |

    Everything else is bound as in `TextArea`.
    """

    DEFAULT_CSS = """
    TextEditor {
        border: none;
        padding: 0;
    }
    TextEditor:focus {
        border: none;
    }
    """

    # Declared anew to repaint the lines that changed instead of the whole widget.
    selection = reactive(Selection(), init=False, always_update=True, repaint=False)

    @dataclass
    class Edited(Message):
        """The user changed the text. Not posted by `load`."""

        editor: TextEditor

        @property
        def control(self) -> TextEditor:
            return self.editor

        @property
        def text(self) -> str:
            """The text as it would be saved now, worked out when asked for."""
            return self.editor.value

    @dataclass
    class Told(Message):
        """Something to tell the user."""

        editor: TextEditor
        text: str
        warning: bool = False

        @property
        def control(self) -> TextEditor:
            return self.editor

    @dataclass
    class Left(Message):
        """The user pressed escape. `text` is what to save, None when nothing was edited."""

        editor: TextEditor
        text: str | None

        @property
        def control(self) -> TextEditor:
            return self.editor

    def __init__(
        self,
        text: str = "",
        *,
        tab_behavior: Literal["focus", "indent"] = "focus",
        show_line_numbers: bool = False,
        cursor_blink: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        """An editor that shows `text`. A blinking cursor costs about 600 bytes a second over a slow link."""
        self.changes = 0
        """Counts the user's changes: while it stays the same, so does `value`, unless another text is loaded."""
        self._touched = False
        self._whole: str | None = None
        self._grown: _Grown | None = None
        super().__init__(
            tab_behavior=tab_behavior,
            show_line_numbers=show_line_numbers,
            max_checkpoints=UNDO_STEPS,
            name=name,
            id=id,
            classes=classes,
            disabled=disabled,
        )
        self.set_reactive(TextArea.cursor_blink, cursor_blink)
        # Looking for the partner of each bracket the cursor passes reads the whole text, for little use in prose.
        self.set_reactive(TextArea.match_cursor_bracket, False)
        if text:
            self.load(text)

    # --- the text

    def load(self, text: str, *, read_only: bool = False) -> None:
        """Show `text` from its start, with nothing to undo. It counts as unedited: loading rewrites nothing.

        A text that is too large is read-only whatever `read_only` says.
        """
        self._touched = False
        self._grown = None
        self._show(text, read_only)

    def _show(self, text: str, read_only: bool = False) -> None:
        self._whole = text if _too_large(text) else None
        self.read_only = read_only
        with self.prevent(TextArea.Changed, TextArea.SelectionChanged):
            self.load_text(text if self._whole is None else text[:EXCERPT_CHARACTERS])

    def validate_read_only(self, read_only: bool) -> bool:
        """A text that is shown in part can't be changed."""
        return read_only or self._whole is not None

    @property
    def value(self) -> str:
        """The whole text as it would be saved, edited or not."""
        return self.document.text if self._whole is None else self._whole

    def text_if_edited(self) -> str | None:
        """The text to save, or None when the user has not edited it since `load`.

        An edit that was undone counts: an earlier state of it may have been saved already.
        """
        return self.value if self._touched else None

    @property
    def too_large(self) -> bool:
        """True when the text is larger than `MAX_BYTES`: it is shown in part and can't be changed here."""
        return self._whole is not None

    @property
    def warning(self) -> str:
        """One line for the user about what this editor can't do with the text, or the empty string."""
        if self._whole is not None:
            return t("text.too_large", size=MAX_BYTES // 1024)
        kinds = dict.fromkeys(self.document.breaks)
        if len(kinds) > 1:
            names = {"\r\n": "CRLF", "\r": "CR", "\n": "LF"}
            return t("text.mixed_breaks", kinds=", ".join(names[kind] for kind in kinds))
        return ""

    def moved_location(self, before: str, location: Location) -> Location:
        """Where a place of the text `before` is now: beside the same words, or behind what took their place."""
        offset = ExactDocument(before).index(location)
        now = self.text
        head = common_prefix(before, now)
        tail = common_prefix(before[head:][::-1], now[head:][::-1])
        if offset > head:
            kept_behind = len(before) - offset
            offset = len(now) - min(kept_behind, tail)
        row, column = self.document.location(offset)
        return row, boundary(self.document[row], column)

    # --- editing

    def action_leave(self) -> None:
        """Tell the owner that the user is done here, with the text to save."""
        self.post_message(self.Left(self, self.text_if_edited()))

    def action_text_start(self) -> None:
        """Go to the start of the text."""
        self.move_cursor((0, 0))

    def action_text_end(self) -> None:
        """Go to the end of the text."""
        self.move_cursor(self.document.end)

    def action_paragraph(self, step: int) -> None:
        """Go to the line without words behind the paragraph, or before it with a `step` of -1, or to the text's end."""
        row = self.cursor_location[0]
        passed = bool(self.document[row].strip())
        for at in range(row + step, self.document.line_count if step > 0 else -1, step):
            words = bool(self.document[at].strip())
            if passed and not words:
                self.move_cursor((at, 0))
                return
            passed = passed or words
        self.move_cursor(self.document.end if step > 0 else (0, 0))

    def edit(self, edit: Edit) -> EditResult:
        """Perform an edit as one undoable step, and repaint the lines it changed."""
        rows_before = self.wrapped_document.height
        gutter_before = self.gutter_width
        first = self._row_of((edit.top[0], 0))
        result = super().edit(edit)
        rows = self.wrapped_document.height
        if rows != rows_before or self.gutter_width != gutter_before:
            self.refresh()
        else:
            last = self._row_of((result.end_location[0], 0), last=True)
            self.refresh_lines(first, last - first + 1)
        self._grown = None
        self._changed_by_user()
        return result

    def undo(self) -> None:
        """Take back the last step, exactly: with every step taken back the text is the one loaded."""
        if self._grown is not None and self._whole is not None:
            self._shrink(self._grown)
        elif self.history.undo_stack:
            super().undo()
            self.refresh()
        else:
            self.post_message(self.Told(self, t("text.nothing_to_undo")))
            return
        self._changed_by_user()

    def redo(self) -> None:
        """Do again what was taken back last."""
        if self.history.redo_stack:
            super().redo()
            self.refresh()
        elif self._grown is not None and self._whole is None:
            self._grow(self._grown.pasted)
        else:
            self.post_message(self.Told(self, t("text.nothing_to_redo")))
            return
        self._changed_by_user()

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        if self.read_only:
            self.post_message(self.Told(self, self.warning or t("text.read_only"), warning=True))
            return
        text = event.text
        if "\n" not in text:
            # Most terminals send a line break as the enter key does: which one it was before can't be known.
            text = text.replace("\r", self.document.usual_break)
        if _too_large(text) or _too_large(self.text + text):
            self._grow(text)
            self._changed_by_user()
            self.post_message(self.Told(self, self.warning, warning=True))
        else:
            result = self.replace(text, *self.selection, maintain_selection_offset=False)
            self.move_cursor(result.end_location)
        self.focus()

    def _grow(self, pasted: str) -> None:
        """Put a paste in that makes the text too large to be edited here: nothing of it is lost, nor is the undo."""
        start, end = sorted(self.selection)
        document = self.document
        text = document.get_text_range((0, 0), start) + pasted + document.get_text_range(end, document.end)
        self._grown = _Grown(document, self.wrapped_document, self.navigator, self.history, self.selection, pasted)
        self.history = EditHistory(UNDO_STEPS, self.history.checkpoint_timer, self.history.checkpoint_max_characters)
        self._show(text)

    def _shrink(self, before: _Grown) -> None:
        self._whole = None
        self.read_only = False
        self.history = before.history
        self.document, self.wrapped_document, self.navigator = before.document, before.wrapped, before.navigator
        self._build_highlight_map()
        self._rewrap_and_refresh_virtual_size()
        self.selection = before.selection
        self.refresh()

    def _changed_by_user(self) -> None:
        self._touched = True
        self.changes += 1
        self.post_message(self.Edited(self))

    def on_key(self, event: events.Key) -> None:
        """Insert what `TextArea` would not: the line break the text has, and characters that Python calls unprintable.

        Those are the joiners of emoji and of Persian or Indic words, the soft hyphen and most kinds of space. Of a text
        that can't be changed, what is typed is used up: it must not become commands of the screen.
        """
        if self.read_only:
            if _types(event.key, event.character):
                event.stop()
                event.prevent_default()
                key = "text.too_large_to_type" if self.too_large else "text.read_only"
                self.post_message(self.Told(self, t(key, size=MAX_BYTES // 1024), warning=True))
            return
        if self.popup_key(event):
            return
        character = self.document.usual_break if event.key == "enter" else event.character
        if event.key == "enter" or (character is not None and not event.is_printable and _is_text(character)):
            event.stop()
            event.prevent_default()
            self.replace(character or "", *self.selection, maintain_selection_offset=False)

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Whether a key is typed here; also where the text can't be changed, so that it runs no command."""
        return _types(key, character) if self.read_only else super().check_consume_key(key, character)

    # --- the clipboard and the mouse

    def action_copy(self) -> None:
        """Copy the selection."""
        if not self.selected_text:
            raise SkipAction()
        self._copy(self.selected_text)

    def action_cut(self) -> None:
        """Copy the selection, or the line without one, and delete it."""
        start, end = self.selection
        deleted = self._delete_cursor_line() if start == end else self._delete_via_keyboard(start, end)
        if deleted is not None and deleted.replaced_text:
            self._copy(deleted.replaced_text)

    def _copy(self, text: str) -> None:
        from tui import clipboard

        result = clipboard.copy(self.app, text)
        self.post_message(self.Told(self, result.message, warning=not result.copied))

    def on_click(self, event: events.Click) -> None:
        """Select a word with two clicks, its line with three."""
        if event.chain == 2:
            self.select_word()
        elif event.chain == 3:
            self.action_select_line()

    # --- drawing

    def _recompute_cursor_offset(self) -> None:
        """Find the cursor on the screen.

        While a large edit is taken back, `TextArea` asks for this with the selection still in lines that are gone,
        and fails when the scroll bar goes with them.
        """
        self._cursor_offset = self.wrapped_document.location_to_offset(self.clamp_visitable(self.cursor_location))

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:
        """The partner of a bracket, when `match_cursor_bracket` is on."""
        return super().find_matching_bracket(bracket, search_from) if self.match_cursor_bracket else None

    def watch_selection(self, before: Selection, after: Selection) -> None:
        """Repaint the lines the cursor or the selection left or entered."""
        if not self.is_mounted:
            return
        if before.is_empty and after.is_empty:
            for row in {before.end[0], after.end[0]}:
                self._refresh_document_lines(row, row)
        else:
            rows = [location[0] for location in (*before, *after)]
            self._refresh_document_lines(min(rows), max(rows))

    def watch_match_cursor_bracket(self) -> None:
        self.refresh()

    def _refresh_document_lines(self, first: int, last: int) -> None:
        top = self._row_of((first, 0))
        self.refresh_lines(top, self._row_of((last, 0), last=True) - top + 1)

    def _row_of(self, location: Location, *, last: bool = False) -> int:
        """The drawn row on which a line of the document begins, or ends."""
        row = min(location[0], self.document.line_count - 1)
        column = len(self.document.get_line(row)) if last else 0
        return self.wrapped_document.location_to_offset((row, column)).y


def _types(key: str, character: str | None) -> bool:
    """Whether a key puts something into a text."""
    return key == "enter" or (character is not None and (character.isprintable() or _is_text(character)))


def _too_large(text: str) -> bool:
    return len(text) > MAX_BYTES or (
        len(text) * 4 > MAX_BYTES and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES
    )


def _is_text(character: str) -> bool:
    return len(character) == 1 and unicodedata.category(character) in ("Cf", "Zs", "Co")
