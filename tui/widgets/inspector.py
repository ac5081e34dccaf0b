"""The inspector: one block, its text, and what comes of it.

It shows and collects; what the user does arrives as messages, and the screen that owns the session acts on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from tui.safe_text import visible
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.fragment_list import FragmentList
from tui.widgets.script_editor import ScriptEditor
from tui.widgets.stream_view import StreamView
from tui.widgets.text_editor import TextEditor

if TYPE_CHECKING:
    from engine.blocks import Row, ScriptResult
    from engine.blocks.config import ContentMode

_KINDS = {"simple": "text", "script": "script"}
_NO_MODE = "none"
_MODE_WORDS = ((_NO_MODE, "none"), ("prepend", "before"), ("append", "after"), ("override", "override"))
_TEXT_LABELS = {
    "prepend": "your text, before the default",
    "append": "your text, after the default",
    "override": "your text, instead of the default",
}


class Inspector(Vertical):
    """Shows the block under the cursor.

    A built-in block: its content mode, its default text, the text that changes it. A custom block: its text; of a
    script also what it gives and what it wrote to the console. Beside both, on request, the fragments there are.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "edit_text", "Go to the text", show=False)]
    """
    | Key(s) | Description |
    | :- | :- |
    | enter | From the other parts, go to the text. |
    """

    DEFAULT_CSS = """
    Inspector {
        height: 1fr;
        padding: 0 1;

        & > .label { height: 1; color: $text-muted; }
        & > #about { height: 1; color: $text-muted; }
        & > #note { height: auto; max-height: 3; color: $text-warning; }
        & > #hint { height: auto; max-height: 2; color: $text-muted; }
        & > #default { height: 1fr; min-height: 2; }
        & > TextEditor { height: 2fr; min-height: 3; background: $surface; }
        & > TextEditor:focus { background: $boost; }
        & > #preview { height: 1fr; min-height: 2; }
        & > FragmentList { height: 1fr; min-height: 4; }
    }
    """

    @dataclass
    class Typed(Message):
        """Something was typed; `take_typed` has it."""

        inspector: Inspector

        @property
        def control(self) -> Inspector:
            return self.inspector

    @dataclass
    class Done(Message):
        """The user left the text (escape)."""

        inspector: Inspector

        @property
        def control(self) -> Inspector:
            return self.inspector

    @dataclass
    class ModeChosen(Message):
        """A content mode was chosen in the bar."""

        inspector: Inspector
        mode: ContentMode | None

        @property
        def control(self) -> Inspector:
            return self.inspector

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.row: Row | None = None
        self._text = ""
        self._loaded: tuple[TextEditor, str] | None = None
        self._taken = 0
        self._shown_default: str | None = None
        self._reference = False
        self._said: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        yield Static(id="about", markup=False)
        yield Static(id="note", markup=False)
        yield ChoiceBar(_MODE_WORDS, _NO_MODE, own=False, id="mode")
        yield Static("", classes="label", id="default-label", markup=False)
        yield StreamView(id="default", follow=False)
        yield Static(id="hint", markup=False)
        yield Static("", classes="label", id="text-label", markup=False)
        yield TextEditor(id="text")
        yield ScriptEditor(id="script")
        yield Static("", classes="label", id="preview-label", markup=False)
        yield StreamView(id="preview", follow=False)
        yield FragmentList(id="fragments")

    def on_mount(self) -> None:
        self._arrange()

    # -- showing

    def show(self, row: Row | None, text: str) -> None:
        """Show a row and its editable text. A text that is in the editor already is not touched.

        Whoever calls this has taken what was typed into the row before (`take_typed`).
        """
        before, self.row = self.row, row
        if row is None:
            self._loaded, self._text = None, ""
            self.border_title = "Block"
            self._arrange()
            return
        same = before is not None and before.key == row.key
        if not same:
            self.border_title = Content(visible(row.name) or " ")
            self.show_result(None)
        self._describe(row, text)
        if before is None or not same or (before.type, before.mode) != (row.type, row.mode):
            self._arrange()
        if row.default != self._shown_default or not same:
            self._shown_default = row.default
            self.query_one("#default", StreamView).show(row.default or "")
        self._load(row, text)

    def show_result(self, result: ScriptResult | None, *, running: bool = False) -> None:
        """Show what the script gave; `running` while a newer text is being evaluated."""
        view = self.query_one("#preview", StreamView)
        if result is None:
            self._say("preview-label", "preview …")
            if not running:
                view.show("")
                self.query_one("#script", ScriptEditor).mark_error(None)
            return
        title = "preview" if result.error is None and result.text is not None else "preview: no text"
        self._say("preview-label", f"{title} · {max(1, round(result.milliseconds))} ms{' …' if running else ''}")
        parts = [result.described or result.text or "returned an empty text, so the block is left out"]
        if result.console:
            parts += ["", "console", *result.console]
        view.show("\n".join(parts))
        if self.row is not None and self.row.type == "script":
            self.query_one("#script", ScriptEditor).mark_error(result.line if result.error is not None else None)

    def show_fragments(self, fragments: Sequence[tuple[str, str, str]]) -> None:
        """The (id, type, name) of the fragments a script can read, or a text can name."""
        self.query_one(FragmentList).show(fragments)

    # -- the text

    @property
    def editor(self) -> TextEditor | None:
        """The editor of the shown block, or None when it has no text of its own."""
        row = self.row
        if row is None or (not row.custom and row.mode is None):
            return None
        return self.query_one("#script" if row.type == "script" else "#text", TextEditor)

    @property
    def typing(self) -> bool:
        """Whether the focus is in the text."""
        return self.editor is not None and self.editor.has_focus

    def take_typed(self) -> tuple[str, str] | None:
        """The key of the row shown and its text, when something was typed since this was asked last.

        The editor is asked directly: a key press may have reached it whose message has not arrived anywhere yet.
        """
        row, editor = self.row, self.editor
        if row is None or editor is None or self._loaded != (editor, row.key) or editor.changes == self._taken:
            return None
        self._taken = editor.changes
        self._text = editor.value
        return row.key, self._text

    def focus_text(self) -> bool:
        """Put the focus into the text, or on the content modes where there is none; False for no block at all."""
        if self.row is None:
            return False
        (self.editor or self.query_one("#mode")).focus()
        return self.editor is not None

    def insert(self, text: str) -> None:
        """Put a text at the cursor of the editor."""
        editor = self.editor
        if editor is not None:
            editor.insert(text, maintain_selection_offset=False)

    def toggle_reference(self) -> bool:
        """Show the fragments and go to them, or hide them and go back to the text; whether they are shown now."""
        self._reference = not self._reference and self.editor is not None
        self._arrange()
        if self._reference:
            self.query_one(FragmentList).query_one(Input).focus()
        elif self.query_one(FragmentList).has_focus_within:
            self.focus_text()
        return self._reference

    def action_edit_text(self) -> None:
        """Go to the text."""
        self.focus_text()

    # -- inside

    def _describe(self, row: Row, text: str) -> None:
        kind = f"your {_KINDS.get(row.type or '', 'block')}" if row.custom else "built-in"
        parts = [kind, row.role, *([f"{row.tokens} tokens"] if row.tokens is not None else [])]
        parts += [visible(row.id)] if row.custom else []
        self._say("about", " · ".join(parts))
        note = row.note
        if not row.enabled:
            note = f"off: it is not sent; space switches it on{f'. {note}' if note else ''}"
        self.query_one("#note").display = bool(note)
        self._say("note", f"! {visible(note)}" if row.warning else f"· {visible(note)}")
        self.query_one("#mode", ChoiceBar).value = row.mode or _NO_MODE
        if row.custom:
            return
        there = "default text" if row.default is not None else "default text: there is none now"
        self._say("default-label", there)
        hint = "Your text: none. b puts one before the default, f after it, o in its place."
        if text:
            hint = "Your text is kept but not used: b puts it before the default, f after it, o in its place."
        self._say("hint", hint)

    def _say(self, part: str, text: str) -> None:
        """Set a line of the inspector; the same text again would lay the whole screen out anew."""
        if self._said.get(part) != text:
            self._said[part] = text
            self.query_one(f"#{part}", Static).update(Content(text))

    def _load(self, row: Row, text: str) -> None:
        editor = self.editor
        if editor is None:
            self._loaded = None
        elif self._loaded != (editor, row.key) or text != self._text:
            again = self._loaded == (editor, row.key)
            cursor = editor.cursor_location
            editor.load(text)
            if again:
                # Undone, or changed by another program: the cursor stays about where it was.
                editor.move_cursor(editor.clamp_visitable(cursor))
            self._loaded, self._taken = (editor, row.key), editor.changes
            self._label_text(row, editor)
        self._text = text

    def _label_text(self, row: Row, editor: TextEditor) -> None:
        label = _TEXT_LABELS.get(row.mode or "", "text")
        if row.custom:
            label = "script: return a text" if row.type == "script" else "text"
        warning = f": {editor.warning}" if editor.warning else ""
        self._say("text-label", label + warning)

    def _arrange(self) -> None:
        """Show the parts that the kind of block has."""
        row = self.row
        built_in = row is not None and not row.custom
        script = row is not None and row.type == "script"
        editor = self.editor
        shown = {
            "about": row is not None,
            "mode": built_in,
            "default-label": built_in,
            "default": built_in,
            "hint": built_in and editor is None,
            "text-label": editor is not None,
            "text": editor is not None and not script,
            "script": script,
            "preview-label": script,
            "preview": script,
            "fragments": editor is not None and self._reference,
        }
        with self.app.batch_update():
            if row is None:
                self.query_one("#note").display = False
            for part, display in shown.items():
                self.query_one(f"#{part}").display = display
        if row is not None and editor is not None:
            self._label_text(row, editor)

    def on_text_editor_edited(self, message: TextEditor.Edited) -> None:
        message.stop()
        if message.editor is self.editor:
            self.post_message(self.Typed(self))

    def on_text_editor_left(self, message: TextEditor.Left) -> None:
        message.stop()
        self.post_message(self.Done(self))

    def on_choice_bar_chosen(self, message: ChoiceBar.Chosen) -> None:
        message.stop()
        mode = None if message.value == _NO_MODE else cast("ContentMode", message.value)
        self.post_message(self.ModeChosen(self, mode))

    def on_fragment_list_chosen(self, message: FragmentList.Chosen) -> None:
        message.stop()
        script = self.row is not None and self.row.type == "script"
        self.insert(message.fragment_id if script else f"<@{message.fragment_id}>")
        self.focus_text()
