"""Choosing a story and one of its branches."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from engine.workspace import Workspace
from tui.safe_text import visible
from tui.screens.base import WorkingScreen


class StoryScreen(WorkingScreen["tuple[str, str] | None"], ModalScreen["tuple[str, str] | None"]):
    """Lists the stories with their branches; the answer is (story, branch), None for escape."""

    BINDINGS = [
        ("escape,q", "leave", "Leave"),
        ("j", "step(1)", "Down"),
        ("k", "step(-1)", "Up"),
    ]

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._places: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        options = OptionList(classes="dialog")
        options.border_title = "Story and branch"
        options.border_subtitle = "enter opens · escape leaves"
        yield options

    def on_mount(self) -> None:
        self.begin(self._list(), "list")

    async def _list(self) -> None:
        stories = await self.wait(self.workspace.stories)
        options = self.query_one(OptionList)
        for story in stories:
            if story.problem is not None:
                text = f"{visible(story.name)}: {visible(str(story.problem))}"
                options.add_option(Option(Content.styled(text, "$text-error"), disabled=True))
                continue
            options.add_option(Option(Content.styled(visible(story.name), "bold"), disabled=True))
            for branch in story.branches:
                mark = "●" if branch == story.active_branch else " "
                self._places.append((story.id, branch))
                options.add_option(Option(Content(f"  {mark} {visible(branch)}"), str(len(self._places) - 1)))
        if not stories:
            options.add_option(Option(Content("there are no stories in this folder"), disabled=True))
        options.focus()
        options.action_first()

    def action_step(self, step: int) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        if message.option.id is not None:
            self.dismiss(self._places[int(message.option.id)])
