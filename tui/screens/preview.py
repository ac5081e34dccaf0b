"""What a prompt is to be previewed with: the author's direction, the fragment it is about, the branch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from tui.actions import Place
from tui.language import t
from tui.safe_text import visible
from tui.widgets.cells import fit
from tui.widgets.fragment_list import FragmentList
from tui.widgets.text_editor import TextEditor

if TYPE_CHECKING:
    from engine.story import Branch, Fragment

_NAME_WIDTH = 46
"""Cells of a fragment's name on its button."""


@dataclass(frozen=True, slots=True)
class PreviewInputs:
    """The author's direction, the id of the fragment the prompt is about (None: of none), the id of the branch."""

    direction: str
    target: str | None
    branch: str


class PreviewDialog(ModalScreen["PreviewInputs | None"]):
    """Asks for the inputs of a preview; None when it is left. Nothing of them is stored."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "leave", "Leave"), ("ctrl+s", "done", "Compile")]

    def __init__(
        self,
        inputs: PreviewInputs,
        saved: PreviewInputs,
        branches: Sequence[Branch],
        targets: Callable[[str], Awaitable[Sequence[Fragment]]] | None,
    ) -> None:
        """`saved` are the inputs without a preview; `targets` finds the fragments of a branch that the prompt can be
        about, None where it is about none.
        """
        super().__init__()
        self._inputs, self._saved = inputs, saved
        self._branches, self._targets = branches, targets
        self._names: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("preview.title")
            yield Static(t("preview.direction"), classes="label", markup=False)
            yield TextEditor(id="direction")
            if self._targets is not None:
                yield Button(self._target_label(), id="target", compact=True)
            yield Button(self._branch_label(), id="branch", compact=True)
            yield Static(t("preview.note"), classes="text", markup=False)
            with Horizontal(classes="answers"):
                yield Button(t("preview.done"), id="done", variant="primary", compact=True)
                yield Button(t("preview.back"), id="back", compact=True)

    def on_mount(self) -> None:
        editor = self.query_one("#direction", TextEditor)
        editor.load(self._inputs.direction)
        editor.focus()

    def _target_label(self) -> str:
        target = self._inputs.target
        if target is None:
            return t("preview.no-target")
        name = fit(self._names.get(target, ""), _NAME_WIDTH).rstrip()
        return t("preview.target", id=visible(target), name=name).rstrip()

    def _branch_label(self) -> str:
        return t("preview.branch", branch=visible(self._inputs.branch))

    @on(TextEditor.Left)
    def _text_left(self) -> None:
        self.query_one("#done").focus()

    @on(Button.Pressed, "#target")
    def _choose_target(self) -> None:
        self.run_worker(self._ask_target(), group="target", exclusive=True)

    async def _ask_target(self) -> None:
        if self._targets is None:
            return
        found = await self._targets(self._inputs.branch)
        self._names = {fragment.id: fragment.name for fragment in found}
        chosen = await self.app.push_screen_wait(
            SubjectDialog([(fragment.id, fragment.type, fragment.name) for fragment in found])
        )
        if chosen is not None:
            self._inputs = replace(self._inputs, target=chosen or None)
            self.query_one("#target", Button).label = self._target_label()

    @on(Button.Pressed, "#branch")
    def _choose_branch(self) -> None:
        from tui.screens.pick import PickDialog

        def done(branch: str | None) -> None:
            if branch is not None:
                self._inputs = replace(self._inputs, branch=branch)
                self.query_one("#branch", Button).label = self._branch_label()

        ids = [branch.id for branch in self._branches]
        labels = [
            branch.id if branch.name.casefold() == branch.id.casefold() else f"{branch.name} · {branch.id}"
            for branch in self._branches
        ]
        self.app.push_screen(PickDialog(t("preview.choose-branch"), ids, labels), done)

    @on(Button.Pressed, "#done")
    def action_done(self) -> None:
        """Hand the inputs over."""
        self.dismiss(replace(self._inputs, direction=self.query_one("#direction", TextEditor).value))

    @on(Button.Pressed, "#back")
    def _back(self) -> None:
        self.dismiss(self._saved)

    def action_leave(self) -> None:
        self.dismiss(None)


class SubjectDialog(ModalScreen[str | None]):
    """Asks for one of some fragments, (id, type, name); the empty id for none of them, None when it is left."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "leave", "Leave")]

    def __init__(self, fragments: Sequence[tuple[str, str, str]]) -> None:
        super().__init__()
        self._fragments = fragments

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("preview.choose-target")
            yield FragmentList(id="fragments")
            yield Button(t("preview.no-target"), id="none", compact=True)

    def on_mount(self) -> None:
        found = self.query_one("#fragments", FragmentList)
        found.show(self._fragments)
        found.focus_filter()

    @on(FragmentList.Chosen)
    def _chosen(self, message: FragmentList.Chosen) -> None:
        self.dismiss(message.fragment_id)

    @on(Button.Pressed, "#none")
    def _none(self) -> None:
        self.dismiss("")

    def action_leave(self) -> None:
        self.dismiss(None)
