"""Choosing a story and one of its branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from engine.workspace import StorySummary
from tui.actions import Place
from tui.language import t
from tui.safe_text import visible


class StoryScreen(ModalScreen["tuple[str, str] | None"]):
    """Lists the stories with their branches; the answer is the ids (story, branch), None for escape."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "leave", "Leave"),
        ("j", "step(1)", "Down"),
        ("k", "step(-1)", "Up"),
    ]

    def __init__(self, stories: Sequence[StorySummary], here: tuple[str, str] | None) -> None:
        """`here` is the story and branch that are open."""
        super().__init__()
        self._stories, self._here = stories, here
        self._choices: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("story.title")
            dialog.border_subtitle = t("story.hint")
            yield OptionList()

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        opened = None
        for story in self._stories:
            if story.problem is not None:
                text = f"{visible(story.name)}: {visible(str(story.problem))}"
                options.add_option(Option(Content.styled(text, "$text-error"), disabled=True))
                continue
            options.add_option(Option(Content.styled(visible(story.name), "bold"), disabled=True))
            for branch in story.branches:
                if (story.id, branch.id) == self._here:
                    opened = options.option_count
                mark = "●" if branch.id == story.active_branch else " "
                self._choices.append((story.id, branch.id))
                # The id is what the top bar and the command line call it.
                named = branch.name.casefold() != branch.id.casefold()
                shown = f"{branch.name} · {branch.id}" if named else branch.id
                options.add_option(Option(Content(f"  {mark} {visible(shown)}"), str(len(self._choices) - 1)))
        if not self._stories:
            options.add_option(Option(Content(t("story.none")), disabled=True))
        options.focus()
        if opened is not None:
            options.highlighted = opened
        else:
            options.action_first()

    def action_step(self, step: int) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        if message.option.id is not None:
            self.dismiss(self._choices[int(message.option.id)])
