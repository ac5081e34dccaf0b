"""The inspector: one block, its text, and what comes of it.

It shows and collects; what the user does arrives as messages, and the screen that owns the session acts on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from engine.blocks import Row, ScriptResult
from engine.blocks.config import ContentMode
from tui.safe_text import visible
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.fragment_list import FragmentList
from tui.widgets.script_editor import ScriptEditor
from tui.widgets.stream_view import StreamView
from tui.widgets.text_editor import TextEditor

_SOURCE = {"builtin": "built-in", "custom": "custom"}
_NO_MODE = "none"
_MODE_WORDS = ((_NO_MODE, "none"), ("prepend", "before"), ("append", "after"), ("override", "override"))


class Inspector(Vertical):
    """Shows the block under the cursor.

    A built-in block: its content mode, its default text, the text that changes it. A custom block: its text; of a
    script also what it gives, what it wrote to the console, and the fragments it can read.
    """

    DEFAULT_CSS = """
    Inspector {
        height: 1fr;
        padding: 0 1;

        & > .label { height: 1; color: $text-muted; }
        & > #about { height: auto; max-height: 3; }
        & > #note { height: auto; max-height: 3; color: $text-warning; }
        & > #default { height: 1fr; min-height: 2; }
        & > TextEditor { height: 2fr; min-height: 3; background: $surface; }
        & > TextEditor:focus { background: $boost; }
        & > #preview { height: 1fr; min-height: 2; }
        & > FragmentList { height: 1fr; min-height: 4; }
    }
    """

    @dataclass
    class Typed(Message):
        """The text of a block was edited; `text` is what it should be now."""

        inspector: Inspector
        block_id: str
        text: str

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
        """A content mode was clicked."""

        inspector: Inspector
        mode: ContentMode | None

        @property
        def control(self) -> Inspector:
            return self.inspector

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.row: Row | None = None
        self._text = ""
        self._shown_default: str | None = None
        self._reference = False

    def compose(self) -> ComposeResult:
        yield Static(id="about", markup=False)
        yield Static(id="note", markup=False)
        yield ChoiceBar(_MODE_WORDS, _NO_MODE, own=False, id="mode")
        yield Static("default text", classes="label", id="default-label", markup=False)
        yield StreamView(id="default", follow=False)
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
        """Show a row and its editable text. A text the user is typing is not touched while it is the same."""
        before, self.row = self.row, row
        self._text = text
        if row is None:
            self._arrange()
            return
        self._describe(row)
        if before is None or (before.key, before.type, before.mode) != (row.key, row.type, row.mode):
            self._arrange()
        if row.default != self._shown_default or before is None or before.key != row.key:
            self._shown_default = row.default
            self.query_one("#default", StreamView).show(row.default or "")
        editor = self.editor
        if editor is not None and (before is None or before.key != row.key or editor.value != text):
            editor.load(text)
            self._label_text(editor)

    def show_result(self, result: ScriptResult | None, *, running: bool = False) -> None:
        """Show what the script gave; `running` while a newer text is being evaluated."""
        label = self.query_one("#preview-label", Static)
        view = self.query_one("#preview", StreamView)
        if result is None:
            label.update(Content("preview …" if running else "preview"))
            return
        title = "preview" if result.error is None and result.text is not None else "preview: no text"
        label.update(Content(f"{title} · {max(1, round(result.milliseconds))} ms{' …' if running else ''}"))
        parts = [result.described or result.text or "returned an empty text, so the block is left out"]
        if result.console:
            parts += ["", "console", *result.console]
        text = "\n".join(parts)
        if view.text != text:
            view.show(text)
        if self.row is not None and self.row.type == "script":
            self.query_one("#script", ScriptEditor).mark_error(result.line if result.error is not None else None)

    def show_fragments(self, fragments: Sequence[tuple[str, str, str]]) -> None:
        """The (id, type, name) of the fragments a script can read."""
        self.query_one(FragmentList).show(fragments)

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

    def focus_text(self) -> bool:
        """Put the focus into the text; False when the block has none."""
        if self.editor is None:
            return False
        self.editor.focus()
        return True

    def toggle_reference(self) -> None:
        """Show or hide the fragments beside a script."""
        self._reference = not self._reference
        self._arrange()

    def insert(self, text: str) -> None:
        """Put a text at the cursor of the script."""
        editor = self.editor
        if editor is not None:
            editor.insert(text, maintain_selection_offset=False)

    # -- inside

    def _describe(self, row: Row) -> None:
        kind = f"{_SOURCE.get(row.source, row.source)}{f' · {row.type}' if row.type else ''} · {row.role}"
        tokens = f" · {row.tokens} tokens" if row.tokens is not None else ""
        name = visible(row.name) if row.custom else row.id
        ident = f"{visible(row.id)} · " if row.custom else ""
        about = Content.assemble((name, "bold"), "\n", (f"{ident}{kind}{tokens}", "$text-muted"))
        self.query_one("#about", Static).update(about)
        note = self.query_one("#note", Static)
        note.display = bool(row.note)
        note.update(Content(f"! {visible(row.note)}" if row.warning else f"· {visible(row.note)}"))
        self.query_one("#mode", ChoiceBar).value = row.mode or _NO_MODE

    def _label_text(self, editor: TextEditor) -> None:
        row = self.row
        if row is None:
            return
        words = {"prepend": "your text, before the default", "append": "your text, after the default"}
        label = "text" if row.custom else words.get(row.mode or "", "your text, instead of the default")
        if row.type == "script":
            label = "script: return a text"
        warning = f" — {editor.warning}" if editor.warning else ""
        self.query_one("#text-label", Static).update(Content(label + warning))

    def _arrange(self) -> None:
        """Show the parts that the kind of block has."""
        row = self.row
        built_in = row is not None and not row.custom
        script = row is not None and row.type == "script"
        editor = self.editor
        shown = {
            "about": row is not None,
            "note": row is not None and bool(row.note),
            "mode": built_in,
            "default-label": built_in,
            "default": built_in,
            "text-label": editor is not None,
            "text": editor is not None and not script,
            "script": script,
            "preview-label": script,
            "preview": script,
            "fragments": script and self._reference,
        }
        with self.app.batch_update():
            for part, display in shown.items():
                self.query_one(f"#{part}").display = display
        if editor is not None:
            self._label_text(editor)

    def on_text_editor_edited(self, message: TextEditor.Edited) -> None:
        message.stop()
        if self.row is not None and message.editor is self.editor:
            self._text = message.text
            self.post_message(self.Typed(self, self.row.id, self._text))

    def on_text_editor_left(self, message: TextEditor.Left) -> None:
        message.stop()
        self.post_message(self.Done(self))

    def on_choice_bar_chosen(self, message: ChoiceBar.Chosen) -> None:
        message.stop()
        mode = None if message.value == _NO_MODE else cast(ContentMode, message.value)
        self.post_message(self.ModeChosen(self, mode))

    def on_fragment_list_chosen(self, message: FragmentList.Chosen) -> None:
        message.stop()
        self.insert(message.fragment_id)
        self.focus_text()
