"""The editor for script blocks: `TextEditor` with JavaScript highlighting and indentation."""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from functools import lru_cache
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual import events
from textual._text_area_theme import TextAreaTheme
from textual.document._document import EditResult, Location, Selection
from textual.document._edit import Edit
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets._text_area import Highlight

from tui.language import t
from tui.widgets.exact_document import Piece
from tui.widgets.text_editor import TextEditor

if TYPE_CHECKING:
    from tree_sitter import Language

MAX_HIGHLIGHTED = 100 * 1024
"""The longest script, in characters, that is highlighted; parsing a longer one would slow each key down."""

BRACKET_SEARCH_LIMIT = 20_000
"""How many characters are searched for the partner of a bracket."""

MARGIN = 5
"""How many lines above and below those in sight are highlighted along with them."""

INDENT = 2
"""Spaces a level of indentation."""

_LANGUAGE = "javascript"
_THEME = "stonehand"
_OPENING, _CLOSING = "([{", ")]}"
_SURROGATE = re.compile("[\ud800-\udfff]")

# The names of Textual's JavaScript query, by the component class that colours them. Of several names for one token
# the last counts. `embedded` is code inside a template string, drawn as code outside.
_CAPTURES = {
    "function": ("function", "function.method", "constructor", "function.builtin"),
    "number": ("number", "constant", "constant.builtin"),
    "builtin": ("variable.builtin",),
    "keyword": ("keyword",),
    "string": ("string", "string.special"),
    "punctuation": ("punctuation.special",),
    "comment": ("comment",),
}
_EMBEDDED = "embedded"
_RANK = {name: rank for rank, name in enumerate([_EMBEDDED, *chain.from_iterable(_CAPTURES.values())])}


@lru_cache(maxsize=1)
def _javascript() -> tuple[Language, str] | str:
    """The grammar and the highlight query, or the reason why there are none; loaded at the first call (60 ms)."""
    from importlib import metadata

    try:
        version = metadata.version("tree-sitter")
        if tuple(int(part) for part in version.split(".")[:2]) >= (0, 26):
            # Opening a highlighted text with 0.26 ends the process (py-tree-sitter issue 472).
            return t("editor.highlight.version", version=version)
        language = importlib.import_module("tree_sitter").Language(
            importlib.import_module("tree_sitter_javascript").language()
        )
    except metadata.PackageNotFoundError:
        return t("editor.highlight.not-installed")
    except (ImportError, OSError, ValueError) as error:
        return t("editor.highlight.no-grammar", error=error)
    query = TextArea._get_builtin_highlight_query(_LANGUAGE)
    return (language, query) if query else t("editor.highlight.no-query")


class ScriptEditor(TextEditor):
    """An editor for the JavaScript of a block.

    Highlighting covers the lines in sight and is worked out again only when they change.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "script-editor--comment",
        "script-editor--string",
        "script-editor--number",
        "script-editor--keyword",
        "script-editor--function",
        "script-editor--builtin",
        "script-editor--punctuation",
        "script-editor--error",
    }
    """
    | Class | Description |
    | :- | :- |
    | `script-editor--comment` … `script-editor--punctuation` | Kinds of token. |
    | `script-editor--error` | The line a script failed in. |

    Those of `TextArea` style the rest.
    """

    DEFAULT_CSS = """
    ScriptEditor {
        & .text-area--gutter, & .text-area--cursor-gutter { color: $text-muted; }
        & .script-editor--comment { color: $text-muted; text-style: italic; }
        & .script-editor--string { color: $text-success; }
        & .script-editor--number { color: $text-warning; }
        & .script-editor--keyword { color: $text-primary; text-style: bold; }
        & .script-editor--function { color: $text-secondary; }
        & .script-editor--builtin { color: $text-accent; }
        & .script-editor--punctuation { color: $text-accent; }
        & .script-editor--error { background: $error 30%; text-style: underline; }
    }
    """

    def __init__(
        self,
        text: str = "",
        *,
        cursor_blink: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        """An editor that shows the script `text`."""
        self._error_line: int | None = None
        self._highlighting: str | None = None
        self._highlighted_rows = range(0)
        self._bracket_row: int | None = None
        self._syntax_styles: dict[str, Style] = {}
        self._styles_stale = True
        super().__init__(
            tab_behavior="indent",
            show_line_numbers=True,
            cursor_blink=cursor_blink,
            name=name,
            id=id,
            classes=classes,
            disabled=disabled,
        )
        self.set_reactive(TextArea.indent_width, INDENT)
        self.set_reactive(TextArea.match_cursor_bracket, True)
        self.register_theme(TextAreaTheme(_THEME, syntax_styles=self._syntax_styles))
        self.theme = _THEME
        if text:
            self.load(text)

    # --- the text

    def load(self, text: str, *, read_only: bool = False) -> None:
        """As `TextEditor.load`; the mark of an error goes."""
        self._error_line = None
        self.set_reactive(TextArea.language, self._language_for(text))
        super().load(text, read_only=read_only)

    @property
    def highlighting(self) -> str | None:
        """Why the script is not highlighted, for the user, or None when it is."""
        return self._highlighting

    @property
    def warning(self) -> str:
        """As `TextEditor.warning`; also why there are no colours."""
        return super().warning or self._highlighting or ""

    def _language_for(self, text: str) -> str | None:
        self._highlighting = None
        if len(text) > MAX_HIGHLIGHTED:
            self._highlighting = t("editor.highlight.too-long", limit=MAX_HIGHLIGHTED // 1024)
        elif _SURROGATE.search(text):
            self._highlighting = t("editor.highlight.surrogate")
        elif isinstance(javascript := _javascript(), str):
            self._highlighting = javascript
        else:
            self.register_language(_LANGUAGE, *javascript)
            return _LANGUAGE
        return None

    def mark_error(self, line: int | None) -> None:
        """Mark `line` (1 is the first) as the one the script failed in; None takes the mark away."""
        if line != self._error_line:
            self._error_line = line
            self._line_cache.clear()
            self.refresh()

    # --- editing

    def edit(self, edit: Edit) -> EditResult:
        """As `TextEditor.edit`, repainting other lines in sight whose highlighting changed."""
        before = dict(self._highlights)
        result = super().edit(edit)
        for row in before.keys() | self._highlights.keys():
            if (before.get(row) or []) != (self._highlights.get(row) or []):
                self._refresh_document_lines(row, row)
        if self._highlighting is None and self._highlight_query and len(self.text) > MAX_HIGHLIGHTED:
            self._highlighting = t("editor.highlight.too-long", limit=MAX_HIGHLIGHTED // 1024)
            self._highlight_query = None
            self._build_highlight_map()
            self.refresh()
        return result

    def on_key(self, event: events.Key) -> None:
        """Indent on tab, dedent on shift+tab, keep the indentation on enter; escape is left to its binding."""
        if self.popup_key(event):
            return
        if event.key == "escape":
            # TextArea would move the focus on, past the owner of this editor.
            event.prevent_default()
            return
        if self.read_only:
            return
        match event.key:
            case "tab" if not self.selection.is_empty:
                handled = self._indent_lines()
            case "shift+tab":
                handled = self._dedent_lines()
            case "enter":
                handled = self._break_line()
            case _ if event.character and event.character in _CLOSING:
                handled = self._close_bracket(event.character)
            case _:
                handled = False
        if handled:
            event.stop()
            event.prevent_default()

    def _selected_rows(self) -> tuple[int, int]:
        """First and last line the selection touches; a line it only reaches the start of does not count."""
        (first, _), (last, column) = sorted(self.selection)
        return first, last - 1 if last > first and column == 0 else last

    def _indent_lines(self) -> bool:
        first, last = self._selected_rows()
        lines = [self.document.get_line(row) for row in range(first, last + 1)]
        self._replace_lines(first, lines, [" " * INDENT + line if line else line for line in lines])
        return True

    def _dedent_lines(self) -> bool:
        """False when there is nothing to take away, so that shift+tab moves the focus."""
        first, last = self._selected_rows()
        lines = [self.document.get_line(row) for row in range(first, last + 1)]
        dedented = [re.sub(rf"^(\t| {{1,{INDENT}}})", "", line) for line in lines]
        if dedented == lines:
            return False
        self._replace_lines(first, lines, dedented)
        return True

    def _replace_lines(self, first: int, before: list[str], after: list[str]) -> None:
        """Replace whole lines in one step; the selection stays on the characters it was on."""
        last = first + len(before) - 1

        def moved(location: Location) -> Location:
            row, column = location
            if first <= row <= last:
                column = max(0, column + len(after[row - first]) - len(before[row - first])) if column else 0
            return row, column

        selection = Selection(moved(self.selection.start), moved(self.selection.end))
        piece = Piece.of(after, list(self.document.breaks[first:last]))
        self.replace(piece, (first, 0), (last, len(before[-1])), maintain_selection_offset=True)
        self.selection = selection

    def _break_line(self) -> bool:
        start, end = sorted(self.selection)
        before = self.document.get_line(start[0])[: start[1]]
        behind = self.document.get_line(end[0])[end[1] :]
        indent = before[: len(before) - len(before.lstrip(" \t"))]
        opened = before.rstrip()[-1:]
        deeper = indent + " " * INDENT if opened and opened in _OPENING else indent
        new_line = self.document.usual_break
        insert = f"{new_line}{deeper}"
        closes = deeper != indent and behind[:1] and _OPENING.index(opened) == _CLOSING.find(behind[:1])
        self.replace(f"{insert}{new_line}{indent}" if closes else insert, start, end, maintain_selection_offset=False)
        if closes:
            self.move_cursor((start[0] + 1, len(deeper)))
        return True

    def _close_bracket(self, bracket: str) -> bool:
        """A closing bracket that opens its line stands one level further out."""
        (row, column), end = sorted(self.selection)
        before = self.document.get_line(row)[:column]
        if not before or before.strip(" ") or len(before) < INDENT or (row, column) != end:
            return False
        self.replace(bracket, (row, column - INDENT), end, maintain_selection_offset=False)
        return True

    # --- drawing

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:
        """The partner of a bracket, not searched for across a script longer than `BRACKET_SEARCH_LIMIT`."""
        if bracket and sum(map(len, self.document.lines)) > BRACKET_SEARCH_LIMIT:
            return None
        return super().find_matching_bracket(bracket, search_from)

    def watch_selection(self, before: Selection, after: Selection) -> None:
        """As in `TextEditor`, and the lines of the bracket that was and is matched."""
        super().watch_selection(before, after)
        partner = self.matching_bracket_location
        rows = {self._bracket_row, partner[0] if partner else None} - {None}
        self._bracket_row = partner[0] if partner else None
        if self.is_mounted:
            for row in rows:
                if row is not None:
                    self._refresh_document_lines(row, row)

    def notify_style_update(self) -> None:
        self._styles_stale = True
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw, with token styles from the current theme and all that came into sight highlighted."""
        if self._styles_stale:
            self._styles_stale = False
            self._syntax_styles[_EMBEDDED] = Style(color=self.rich_style.color)
            for kind, names in _CAPTURES.items():
                style = self.get_component_rich_style(f"script-editor--{kind}")
                # Without the background, or the line of the cursor would show through the gaps only.
                token = Style(color=style.color, bold=style.bold, italic=style.italic, underline=style.underline)
                self._syntax_styles.update(dict.fromkeys(names, token))
        if self._highlight_query and not all(row in self._highlighted_rows for row in self._rows_in_sight()):
            self._build_highlight_map()
        return super().render_lines(crop)

    def line_style(self, index: int) -> Style | None:
        """The line that failed is marked."""
        if self._error_line != index + 1:
            return None
        style = self.get_component_rich_style("script-editor--error")
        return Style(bgcolor=style.bgcolor, bold=style.bold, underline=style.underline)

    def _rows_in_sight(self) -> tuple[int, int]:
        """First and last line of the document that can be seen."""
        lines = self.wrapped_document
        top = self.scroll_offset.y
        first, _ = lines.offset_to_location(Offset(0, top))
        last, _ = lines.offset_to_location(Offset(0, top + max(1, self.size.height) - 1))
        return first, last

    def _build_highlight_map(self) -> None:
        """Query the syntax tree for the lines in sight and a few around them only.

        Textual's own queries the whole tree on every edit: 68 ms for 44 KB, against 6 ms for 40 lines.
        """
        self._line_cache.clear()
        highlights: dict[int, list[Highlight]] = defaultdict(list)
        self._highlights = highlights
        self._highlighted_rows = range(0)
        if not self._highlight_query:
            return
        first, last = self._rows_in_sight()
        top, bottom = max(0, first - MARGIN), min(self.document.line_count - 1, last + MARGIN)
        self._highlighted_rows = range(top, bottom + 1)
        captures = self.document.query_syntax_tree(self._highlight_query, (top, 0), (bottom + 1, 0))
        for name, nodes in captures.items():
            if name not in _RANK:
                continue
            for node in nodes:
                (start_row, start), (end_row, end) = node.start_point, node.end_point
                for row in range(max(start_row, top), min(end_row, bottom) + 1):
                    highlights[row].append((start if row == start_row else 0, end if row == end_row else None, name))
        for row_highlights in highlights.values():
            row_highlights.sort(key=_drawing_order)


def _drawing_order(highlight: Highlight) -> tuple[int, float, int]:
    """What encloses others is drawn before them: tree-sitter hands nodes out in no particular order."""
    start, end, name = highlight
    return start, -(inf if end is None else end), _RANK[name]
