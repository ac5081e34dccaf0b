"""Which configs are exported or imported, and the file they go to or come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from tui.actions import Place
from tui.language import t
from tui.safe_text import visible
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.path_input import PathInput
from tui.widgets.text_editor import TextEditor


class BundleFileDialog(ModalScreen["BundleFileDialog.Values | None"]):
    """Asks for what is exported to where, or from which file what is imported; None when it is left with escape."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "leave", "Leave"), ("enter", "done", "Done"), ("ctrl+s", "done", "Done")]

    @dataclass(frozen=True)
    class Values:
        """`one`: the agent that is open alone; `clipboard`: no file; `path` as it was typed; `text` that was pasted."""

        one: bool
        clipboard: bool
        path: str
        text: str = ""

    def __init__(self, direction: Literal["export", "import"], agent: str, given: Values, fault: str = "") -> None:
        """`agent` is the name of the agent that is open, `fault` what was wrong with the values `given`."""
        super().__init__()
        self._direction, self._agent, self._given, self._fault = direction, agent, given, fault

    def compose(self) -> ComposeResult:
        export = self._direction == "export"
        agent = t("exchange.agent", name=visible(self._agent))
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("exchange.export-title") if export else t("exchange.import-title")
            yield Static(t("exchange.what") if export else t("exchange.for"), classes="label")
            whole = t("exchange.story") if export else t("exchange.as-named")
            yield ChoiceBar([("one", agent), ("all", whole)], "one" if self._given.one else "all", id="which")
            yield Static(t("exchange.to") if export else t("exchange.from"), classes="label")
            beside = t("exchange.clipboard") if export else t("exchange.pasted")
            places = [("file", t("exchange.file")), ("clipboard", beside)]
            yield ChoiceBar(places, "clipboard" if self._given.clipboard else "file", id="place")
            yield Static(t("exchange.field"), classes="label", id="of-path")
            yield PathInput(self._given.path, id="path", select_on_focus=False)
            yield Static("", id="names", markup=False)
            if not export:
                yield Static(t("exchange.paste-field"), classes="label", id="of-pasted")
                yield TextEditor(id="pasted")
            yield Static(Content(visible(self._fault)), id="fault", markup=False)
            yield Button(t("exchange.done"), id="done", variant="primary", compact=True)

    def on_mount(self) -> None:
        path = self.query_one(PathInput)
        path.focus()
        path.cursor_position = len(path.value)
        for editor in self.query(TextEditor):
            editor.load(self._given.text)
            if self._given.clipboard:
                editor.focus()
        self._show_path()

    @on(ChoiceBar.Chosen, "#place")
    def _show_path(self) -> None:
        by_file = not self._values().clipboard
        for part in ("#of-path", "#path", "#names"):
            self.query_one(part).display = by_file
        for widget in self.query("#of-pasted, #pasted"):
            widget.display = not by_file

    @on(TextEditor.Left)
    def _text_left(self) -> None:
        self.query_one("#done").focus()

    @on(TextEditor.Edited)
    def _text_edited(self) -> None:
        self.query_one("#fault", Static).update("")

    @on(PathInput.Completions)
    def _completions(self, message: PathInput.Completions) -> None:
        self.query_one("#names", Static).update(Content(visible("  ".join(message.names))))

    @on(Input.Changed)
    def _typed(self, message: Input.Changed) -> None:
        if message.value != self._given.path:  # a field tells of what it begins with, too
            self.query_one("#fault", Static).update("")

    def _values(self) -> Values:
        bars = {bar.id: bar.value for bar in self.query(ChoiceBar)}
        typed, pasted = self.query_one(PathInput).value, "".join(editor.value for editor in self.query(TextEditor))
        clipboard = bars["place"] == "clipboard"
        return replace(self._given, one=bars["which"] == "one", clipboard=clipboard, path=typed, text=pasted)

    @on(Input.Submitted)
    @on(Button.Pressed, "#done")
    def action_done(self) -> None:
        """Hand the values over, once a file is named."""
        values = self._values()
        editor = next(iter(self.query(TextEditor)), None)
        if values.clipboard and editor is not None and not values.text.strip():
            editor.focus()
        elif values.clipboard or values.path.strip():
            self.dismiss(values)
        else:
            self.query_one(PathInput).focus()

    def action_leave(self) -> None:
        self.dismiss(None)
