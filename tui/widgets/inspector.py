"""The inspector: one block, its text, and what comes of it.

It shows and collects; what the user does arrives as messages, and the screen that owns the session acts on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tui.language import of_engine, t
from tui.leftover_texts import describe, inform
from tui.safe_text import visible

if TYPE_CHECKING:
    from engine.blocks import Row, ScriptResult
    from engine.blocks.config import ContentMode
    from engine.blocks.leftovers import Leftover
    from tui.completion import Sources
    from tui.widgets.choice_bar import ChoiceBar
    from tui.widgets.find_bar import FindBar
    from tui.widgets.fragment_list import FragmentList
    from tui.widgets.script_editor import ScriptEditor
    from tui.widgets.stream_view import GlancedView
    from tui.widgets.text_editor import TextEditor

GLANCE = 6
"""Rows of a block's text, or of both of its texts together, that are drawn while the cursor only goes past it."""

_NO_MODE = "none"
_MODES = (_NO_MODE, "prepend", "append", "override")


@dataclass(frozen=True)
class _Parts:
    """What the inspector is made of, in the order from top to bottom."""

    about: Static
    note: Static
    mode: ChoiceBar
    default_label: Static
    default: GlancedView
    hint: Static
    text_label: Static
    find: FindBar
    text: TextEditor
    script: ScriptEditor
    preview_label: Static
    preview: GlancedView
    fragments: FragmentList

    def widgets(self) -> list[Widget]:
        return [getattr(self, part.name) for part in fields(self)]


def _mode_words() -> list[tuple[str, str]]:
    return [(mode, t(f"inspector.mode.{mode}")) for mode in _MODES]


def _make_parts() -> _Parts:
    # Not before the first paint: the editors' modules take longer to load than all others of the screen.
    from tui.widgets.choice_bar import ChoiceBar
    from tui.widgets.find_bar import FindBar
    from tui.widgets.fragment_list import FragmentList
    from tui.widgets.script_editor import ScriptEditor
    from tui.widgets.stream_view import GlancedView
    from tui.widgets.text_editor import TextEditor

    return _Parts(
        about=Static(id="about", markup=False),
        note=Static(id="note", markup=False),
        mode=ChoiceBar(_mode_words(), _NO_MODE, own=False, id="mode"),
        default_label=Static(classes="label", markup=False),
        default=GlancedView(id="default", follow=False),
        hint=Static(id="hint", markup=False),
        text_label=Static(classes="label", markup=False),
        find=FindBar(id="find"),
        text=TextEditor(id="text"),
        script=ScriptEditor(id="script"),
        preview_label=Static(classes="label", markup=False),
        preview=GlancedView(id="preview", follow=False),
        fragments=FragmentList(id="fragments"),
    )


class Inspector(Vertical):
    """Shows the block under the cursor, once it is furnished (`furnish`); before, it is an empty frame.

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
        & > #hint { height: auto; max-height: 4; color: $text-muted; }
        & > #default { height: 1fr; min-height: 2; }
        & > TextEditor { height: 2fr; min-height: 3; background: $surface; }
        & > TextEditor:focus { background: $boost; }
        & > #preview { height: 1fr; min-height: 2; }
        & > FragmentList { height: 1fr; min-height: 4; }
        & > .-glance {
            scrollbar-color: $surface;
            scrollbar-background: $surface;
        }
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
        self._leftover: Leftover | None = None
        self._text = ""
        self._loaded: tuple[TextEditor, str] | None = None
        self._taken = 0
        self._shown_default: str | None = None
        self._reference = False
        self._said: dict[Static, str] = {}
        self._result: tuple[ScriptResult | None, bool] = (None, False)
        self._parts: _Parts | None = None

    @property
    def furnished(self) -> bool:
        """Whether a block can be shown."""
        return self._parts is not None

    async def furnish(self) -> None:
        """Put in the parts that show a block; once, and before a block is shown."""
        if self.furnished:
            return
        parts = _make_parts()
        for widget in parts.widgets():
            widget.display = False
        await self.mount_all(parts.widgets())
        self._parts = parts

    @property
    def parts(self) -> _Parts:
        """Raises RuntimeError before `furnish`."""
        if self._parts is None:
            raise RuntimeError("the inspector is not furnished yet")
        return self._parts

    # -- showing

    def glance(self) -> None:
        """Draw only the beginning of the texts, until `stay`: what most people want of the blocks they go past."""
        parts = self._parts
        if parts is None:
            return
        texts = [part for part in (parts.default, parts.text, parts.script, parts.preview) if part.display]
        for part in texts:
            part.glance = GLANCE // len(texts)

    def stay(self) -> None:
        """Draw all of the texts."""
        if self._parts is not None:
            for part in (self._parts.default, self._parts.text, self._parts.script, self._parts.preview):
                part.glance = None

    def show(self, row: Row | None, text: str, leftover: Leftover | None = None) -> None:
        """Show a row and its editable text, or what is said of something left over, to be read only.

        A text that is in the editor already is not touched.

        Whoever calls this has taken what was typed into the row before (`take_typed`).
        """
        before, self.row = self.row, row
        if row is None:
            self._loaded, self._text = None, ""
            self._show_leftover(leftover)
            self._arrange()
            return
        self._leftover = None
        same = before is not None and before.key == row.key
        if not same:
            self.border_title = Content(visible(row.name) or " ")
            self.show_result(None)
            self.parts.find.close()
        self._describe(row, text)
        if before is None or not same or (before.type, before.mode) != (row.type, row.mode):
            self._arrange()
        # Of a custom block the default is its own text, and laying a long one out where it is not seen takes a while.
        default = None if row.custom else row.default
        if default != self._shown_default or not same:
            self._shown_default = default
            self.parts.default.show(default or "")
        self._load(row, text)

    def _show_leftover(self, leftover: Leftover | None) -> None:
        self._leftover = leftover
        if leftover is None:
            self.border_title = t("inspector.block")
            return
        self.border_title = Content(visible(leftover.id) or " ")
        self._say(self.parts.about, describe(leftover))
        self.parts.default.show(inform(leftover))

    def show_result(self, result: ScriptResult | None, *, running: bool = False) -> None:
        """Show what the script gave; `running` while a newer text is being evaluated."""
        parts = self.parts
        self._result = (result, running)
        if result is None:
            self._say(parts.preview_label, t("inspector.running", title=t("inspector.preview")))
            if not running:
                parts.preview.show("")
                parts.script.mark_error(None)
            return
        title = t("inspector.preview")
        if result.cut_short:
            title = t("inspector.preview-stopped")
        elif result.error is not None or result.text is None:
            title = t("inspector.preview-none")
        title = t("inspector.ran", title=title, ms=max(1, round(result.milliseconds)))
        self._say(parts.preview_label, t("inspector.running", title=title) if running else title)
        lines = [of_engine(result.described) or result.text or t("inspector.empty")]
        if result.console:
            lines += ["", t("inspector.console"), *result.console]
        parts.preview.show("\n".join(lines))
        if self.row is not None and self.row.type == "script":
            parts.script.mark_error(result.line if result.error is not None else None)

    def say_again(self) -> None:
        """Say everything in the language that is in use now."""
        row, parts = self.row, self._parts
        if parts is None:
            return
        parts.mode.name_choices(_mode_words())
        parts.fragments.say_again()
        if row is None:
            self._show_leftover(self._leftover)
            return
        self._describe(row, self._text)
        if row.type == "script":
            result, running = self._result
            self.show_result(result, running=running)
        if self.editor is not None:
            self._label_text(row, self.editor)

    def show_fragments(self, fragments: Sequence[tuple[str, str, str]]) -> None:
        """The (id, type, name) of the fragments a script can read, or a text can name."""
        self.parts.fragments.show(fragments)

    def complete_with(self, sources: Sources) -> None:
        """What is offered while a text or a script is typed."""
        from tui.completion import complete_script, complete_text

        self.parts.text.completer = lambda line, text: complete_text(line, sources)
        self.parts.script.completer = lambda line, text: complete_script(line, text, sources)

    # -- the text

    @property
    def editor(self) -> TextEditor | None:
        """The editor of the shown block, or None when it has no text of its own."""
        row = self.row
        if row is None or (not row.custom and row.mode is None):
            return None
        return self.parts.script if row.type == "script" else self.parts.text

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
        (self.editor or self.parts.mode).focus()
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
            self.parts.fragments.focus_filter()
        elif self.parts.fragments.has_focus_within:
            self.focus_text()
        return self._reference

    def find(self) -> bool:
        """Open the line to find something in the text; False when there is no text of the user's own."""
        editor = self.editor
        if editor is not None:
            self.parts.find.open(editor)
        return editor is not None

    def action_edit_text(self) -> None:
        """Go to the text."""
        self.focus_text()

    # -- inside

    def _describe(self, row: Row, text: str) -> None:
        parts = [t(f"inspector.kind.{row.type or 'built-in'}"), t(f"block.role.{row.role}")]
        parts += [t("inspector.tokens", count=row.tokens)] if row.tokens is not None else []
        parts += [visible(row.id)] if row.custom else []
        self._say(self.parts.about, " · ".join(parts))
        note = of_engine(row.note)
        if not row.enabled:
            note = t("inspector.off-note", note=note) if note else t("inspector.off")
        self.parts.note.display = bool(note)
        self._say(self.parts.note, f"! {visible(note)}" if row.warning else f"· {visible(note)}")
        self.parts.mode.value = row.mode or _NO_MODE
        if row.custom:
            return
        there = t("inspector.default") if row.default is not None else t("inspector.no-default")
        self._say(self.parts.default_label, there)
        self._say(self.parts.hint, t("inspector.unused-text") if text else t("inspector.no-text"))

    def _say(self, part: Static, text: str) -> None:
        """Set a line of the inspector; laying the whole screen out anew is for those whose height depends on it."""
        if self._said.get(part) != text:
            self._said[part] = text
            part.update(Content(text), layout=part in (self.parts.note, self.parts.hint))

    def _load(self, row: Row, text: str) -> None:
        editor = self.editor
        if editor is None:
            self._loaded = None
        elif self._loaded != (editor, row.key) or text != self._text:
            again = self._loaded == (editor, row.key)
            before, cursor = editor.text, editor.cursor_location
            editor.load(text)
            if again:
                # Undone, or changed by another program: the cursor stays beside the same words.
                editor.move_cursor(editor.moved_location(before, cursor))
                self.parts.find.refresh_matches()
            self._loaded, self._taken = (editor, row.key), editor.changes
            self._label_text(row, editor)
        self._text = text

    def _label_text(self, row: Row, editor: TextEditor) -> None:
        label = t(f"inspector.text.{(row.type if row.custom else row.mode) or 'simple'}")
        warning = editor.warning
        self._say(self.parts.text_label, t("inspector.warned", label=label, warning=warning) if warning else label)

    def _arrange(self) -> None:
        """Show the parts that the kind of block has."""
        row, parts = self.row, self._parts
        if parts is None:
            return
        built_in = row is not None and not row.custom
        script = row is not None and row.type == "script"
        editor = self.editor
        shown: dict[Widget, bool] = {
            parts.about: row is not None or self._leftover is not None,
            parts.mode: built_in,
            parts.default_label: built_in,
            parts.default: built_in or self._leftover is not None,
            parts.hint: built_in and editor is None,
            parts.text_label: editor is not None,
            parts.text: editor is not None and not script,
            parts.script: script,
            parts.preview_label: script,
            parts.preview: script,
            parts.fragments: editor is not None and self._reference,
        }
        with self.app.batch_update():
            if row is None:
                parts.note.display = False
            for part, display in shown.items():
                part.display = display
        if row is not None and editor is not None:
            self._label_text(row, editor)
        else:
            parts.find.close()

    def on_text_editor_edited(self, message: TextEditor.Edited) -> None:
        message.stop()
        if self.row is not None and message.editor is self.editor:
            self._label_text(self.row, message.editor)
            self.parts.find.refresh_matches()
            self.post_message(self.Typed(self))

    def on_text_editor_left(self, message: TextEditor.Left) -> None:
        message.stop()
        self.post_message(self.Done(self))

    def on_find_bar_closed(self, message: FindBar.Closed) -> None:
        message.stop()
        self.focus_text()

    def on_choice_bar_chosen(self, message: ChoiceBar.Chosen) -> None:
        message.stop()
        mode = None if message.value == _NO_MODE else cast("ContentMode", message.value)
        self.post_message(self.ModeChosen(self, mode))

    def on_fragment_list_chosen(self, message: FragmentList.Chosen) -> None:
        message.stop()
        script = self.row is not None and self.row.type == "script"
        self.insert(message.fragment_id if script else f"<@{message.fragment_id}>")
        self.focus_text()
