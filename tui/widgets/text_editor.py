"""The editor for the text of a block, exact to the character where the user changed nothing.

Textual's `TextArea` knows one line break and turns every other into it (form feed, U+2028, a lone carriage return
in a text of line feeds). `TextEditor` remembers the text it was given and carries the user's changes over to it, so
that opening a block changes nothing and editing one line changes that line (spec terminal, section 0.9).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.document._document import EditResult, Location, Selection
from textual.document._edit import Edit
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import TextArea

from engine.text import common_prefix
from tui.language import t
from tui.safe_text import visible

MAX_BYTES = 256 * 1024
"""The largest text, in UTF-8 bytes, that can be edited here; of a larger one the beginning is shown, read-only."""

EXCERPT_CHARACTERS = 32 * 1024
"""How much of a text that is too large is shown."""

# What str.splitlines() breaks at, and with it TextArea.
_BREAK = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_ORDINARY_BREAKS = ("\n", "\r\n", "\r")
_BREAK_NAMES = {"\r\n": "CRLF", "\n": "LF", "\r": "CR"}
_NAMED_BREAKS = {"\v": "vertical-tab", "\f": "form-feed"}


def editor_text(text: str) -> str:
    """`text` as the editor holds it: every kind of line break as one line feed."""
    return _BREAK.sub("\n", text)


def merge_edit(original: str, edited: str) -> str:
    """`original` with the changes that turned `editor_text(original)` into `edited`.

    Every line break that stood before is kept as it was, wherever the changes lie; a line break the user added is
    the one `original` uses most (a line feed when it has none). Without changes the result is `original` itself.
    """
    edited = editor_text(edited)
    breaks = _BREAK.findall(original)
    if set(breaks) <= {"\n"}:
        return edited
    loaded = editor_text(original)
    if edited == loaded:
        return original
    kept = _kept_breaks(loaded.split("\n"), edited.split("\n"))
    added = _usual_break(breaks)
    lines = edited.split("\n")
    ends = [added if index is None else breaks[index] for index in kept]
    for i in range(len(ends) - 1):
        if ends[i] == "\r" and not lines[i + 1] and ends[i + 1] == "\n":
            ends[i] = "\r\n"  # or the two would read as one
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


def _break_name(item: str) -> str:
    if item in _NAMED_BREAKS:
        return t(f"editor.break.{_NAMED_BREAKS[item]}")
    return _BREAK_NAMES.get(item, f"U+{ord(item[0]):04X}")


def _usual_break(breaks: list[str]) -> str:
    counts = Counter(item for item in breaks if item in _ORDINARY_BREAKS)
    return counts.most_common(1)[0][0] if counts else "\n"


def _kept_breaks(before: list[str], after: list[str]) -> list[int | None]:
    """For each line end of `after` (the last line has none) the index of the same end in `before`, or None."""
    from difflib import SequenceMatcher

    head = common_prefix(before, after)
    tail = common_prefix(before[head:][::-1], after[head:][::-1])
    pairs = [(i, i) for i in range(head)]
    pairs += [(len(before) - 1 - i, len(after) - 1 - i) for i in range(tail)]
    middle_before, middle_after = before[head : len(before) - tail], after[head : len(after) - tail]
    for tag, b1, b2, a1, a2 in SequenceMatcher(None, middle_before, middle_after).get_opcodes():
        if tag == "equal":
            ends = [(i, i) for i in range(b2 - b1)]
        elif tag == "replace":
            ends = _aligned_ends(middle_before[b1:b2], middle_after[a1:a2])
        else:
            continue
        pairs += [(head + b1 + b, head + a1 + a) for b, a in ends]
    kept: list[int | None] = [None] * (len(after) - 1)
    for b, a in pairs:
        if b < len(before) - 1 and a < len(kept):
            kept[a] = b
    return kept


def _aligned_ends(before: list[str], after: list[str]) -> list[tuple[int, int]]:
    """Pairs of the line ends of `before` and `after`, two wordings of one passage, that are the same.

    With as many lines as before each line keeps its end. Otherwise the ends in front of the first changed
    character and behind the last one are the same, and those between them were replaced.
    """
    if len(before) == len(after):
        return [(i, i) for i in range(len(before))]
    old, new = "\n".join(before), "\n".join(after)
    front = common_prefix(old, new)
    rest = min(len(old), len(new)) - front
    back = common_prefix(old[len(old) - rest :][::-1], new[len(new) - rest :][::-1])
    in_front = old.count("\n", 0, front)
    behind = old.count("\n", len(old) - back) + 1
    return [(i, i) for i in range(in_front)] + [(len(before) - 1 - i, len(after) - 1 - i) for i in range(behind)]


class TextEditor(TextArea):
    """A plain text editor for one block.

    `load` shows a text, `text_if_edited` hands back what to save. `escape` leaves and discards nothing.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, id="editor.leave"),
        Binding("ctrl+home", "text_start", "Start of the text", show=False),
        Binding("ctrl+end", "text_end", "End of the text", show=False),
    ]
    """
    | Key(s) | Description |
    | :- | :- |
    | escape | Leave the editor; the text is kept. |
    | ctrl+home, ctrl+end | Go to the start or the end of the text. |

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
        soft_wrap: bool = True,
        cursor_blink: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        """An editor that shows `text`. A blinking cursor costs about 600 bytes a second over a slow link."""
        self.changes = 0
        """Counts the user's changes: while it stays the same, so does `value`, unless another text is loaded."""
        self._original = ""
        self._touched = False
        self._too_large = False
        super().__init__(
            tab_behavior=tab_behavior,
            show_line_numbers=show_line_numbers,
            soft_wrap=soft_wrap,
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
        self._original = text
        self._touched = False
        self._too_large = len(text) > MAX_BYTES or (
            len(text) * 4 > MAX_BYTES and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES
        )
        self.read_only = read_only
        shown = text[:EXCERPT_CHARACTERS] if self._too_large else text
        with self.prevent(TextArea.Changed, TextArea.SelectionChanged):
            self.load_text(editor_text(shown))

    def validate_read_only(self, read_only: bool) -> bool:
        """A text that is shown in part can't be changed."""
        return read_only or self._too_large

    @property
    def value(self) -> str:
        """The whole text as it would be saved, edited or not."""
        if self._too_large or not self._touched:
            return self._original
        return merge_edit(self._original, self.text)

    def text_if_edited(self) -> str | None:
        """The text to save, or None when the user has not edited it since `load`.

        An edit that was undone counts: an earlier state of it may have been saved already.
        """
        return self.value if self._touched and not self._too_large else None

    @property
    def too_large(self) -> bool:
        """True when the text is larger than `MAX_BYTES`: it is shown in part and can't be changed here."""
        return self._too_large

    @property
    def lossy(self) -> bool:
        """True when the text has line breaks that can't be told apart here. Lines left alone keep theirs."""
        kinds = set(_BREAK.findall(self._original))
        return len(kinds) > 1 or not kinds <= set(_ORDINARY_BREAKS)

    @property
    def warning(self) -> str:
        """One line for the user about what this editor can't do with the text, or the empty string."""
        if self._too_large:
            return t("editor.too-large", limit=MAX_BYTES // 1024)
        if self.lossy:
            kinds = sorted(map(_break_name, set(_BREAK.findall(self._original))))
            return t("editor.breaks", kinds=", ".join(kinds))
        return ""

    def moved_location(self, before: str, location: Location) -> Location:
        """Where a place of the text `before` is now: beside the same words, or behind what took their place."""
        lines = before.split("\n")
        offset = sum(len(line) + 1 for line in lines[: location[0]]) + location[1]
        now = self.text
        head = common_prefix(before, now)
        tail = common_prefix(before[head:][::-1], now[head:][::-1])
        if offset > head:
            kept_behind = len(before) - offset
            offset = len(now) - min(kept_behind, tail)
        row = now.count("\n", 0, offset)
        return self.clamp_visitable((row, offset - (now.rfind("\n", 0, offset) + 1)))

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

    def edit(self, edit: Edit) -> EditResult:
        """Perform an edit as one undoable step, and repaint the lines it changed."""
        edit.text = editor_text(edit.text)
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
        self._changed_by_user()
        return result

    def undo(self) -> None:
        """Take back the last step, exactly: with every step taken back the text is the one loaded."""
        if self.history.undo_stack:
            super().undo()
            self.refresh()
            self._changed_by_user()

    def redo(self) -> None:
        """Do again what was taken back last."""
        if self.history.redo_stack:
            super().redo()
            self.refresh()
            self._changed_by_user()

    async def _on_paste(self, event: events.Paste) -> None:
        """Refuse a paste that would make the text larger than can be edited here: it would hold everything up."""
        if len(event.text) + len(self.text) > MAX_BYTES:
            event.stop()
            event.prevent_default()
            self.notify(t("editor.paste-too-large", limit=MAX_BYTES // 1024), severity="warning", markup=False)

    def _changed_by_user(self) -> None:
        self._touched = True
        self.changes += 1
        self.post_message(self.Edited(self))

    def on_key(self, event: events.Key) -> None:
        """Insert the characters `TextArea` drops because Python calls them unprintable.

        Those are the joiners of emoji and of Persian or Indic words, the soft hyphen and most kinds of space.
        """
        character = event.character
        if (
            not self.read_only
            and character is not None
            and len(character) == 1
            and not event.is_printable
            and unicodedata.category(character) in ("Cf", "Zs")
        ):
            event.stop()
            event.prevent_default()
            self.replace(character, *self.selection, maintain_selection_offset=False)

    # --- drawing

    def _recompute_cursor_offset(self) -> None:
        """Find the cursor on the screen.

        While a large edit is taken back, `TextArea` asks for this with the selection still in lines that are gone,
        and fails when the scroll bar goes with them.
        """
        self._cursor_offset = self.wrapped_document.location_to_offset(self.clamp_visitable(self.cursor_location))

    def get_line(self, line_index: int) -> Text:
        """A line of the document with its control characters made inert."""
        line = self.document.get_line(line_index)
        if not line.isprintable():
            line = "\t".join(map(visible, line.split("\t")))
        return Text(line, end="", no_wrap=True)

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
