"""The stories and their branches: opening one, and making, naming, choosing and deleting branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from engine.workspace import StorySummary
from tui.actions import Place
from tui.language import of_engine, t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.widgets.line_input import LineInput

Act = Literal["open", "new", "rename", "delete", "activate"]


class StoryScreen(ModalScreen["StoryScreen.Choice | None"]):
    """Lists the stories with their branches; the answer is what is to be done with one, None for escape."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "leave", "Leave"),
        ("j", "step(1)", "Down"),
        ("k", "step(-1)", "Up"),
        ("down", "step(1)", "Down"),
        ("up", "step(-1)", "Up"),
        ("n", "act('new')", "New branch"),
        ("r,f2", "act('rename')", "Rename"),
        ("X,delete", "act('delete')", "Delete"),
        ("a", "act('activate')", "Make active"),
        ("slash", "filter", "Filter"),
    ]

    @dataclass(frozen=True)
    class Choice:
        """What is to be done with the branch of a story; both are ids."""

        act: Act
        story: str
        branch: str

    def __init__(
        self,
        stories: Sequence[StorySummary],
        here: tuple[str, str] | None,
        *,
        at: tuple[str, str] | None = None,
        fault: str = "",
    ) -> None:
        """`here` is the story and branch that are open, `at` where the cursor stands first, `fault` what went wrong."""
        super().__init__()
        self._stories, self._here, self._at, self._fault = stories, here, at or here, fault
        self._choices: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("story.title")
            dialog.border_subtitle = "" if is_spoken(self) else t("story.hint")
            yield LineInput(placeholder=t("story.filter"), id="story-filter")
            yield OptionList()
            yield Static(Content(visible(self._fault)), id="fault", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(t("story.new"), id="new", compact=True)
                yield Button(t("story.rename"), id="rename", compact=True)
                yield Button(t("story.delete"), id="delete", compact=True)
                yield Button(t("story.activate"), id="activate", compact=True)

    def on_mount(self) -> None:
        self.query_one("#story-filter").display = False
        self.query_one("#fault").display = bool(self._fault)
        for button in self.query(Button):
            button.can_focus = False  # each has a key of its own; the keys of the list go on
        self._list("", self._at)
        self.query_one(OptionList).focus()

    def _list(self, wanted: str, at: tuple[str, str] | None) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        self._choices = []
        shown: list[Option] = []
        stand = None
        parts = wanted.casefold().split()
        for story in self._stories:
            if story.problem is not None:
                if not parts:
                    text = f"{visible(story.name)}: {visible(of_engine(story.problem.told()))}"
                    shown.append(Option(Content.styled(text, "$text-error"), disabled=True))
                continue
            branches = [
                branch
                for branch in story.branches
                if all(part in f"{story.name} {story.id} {branch.name} {branch.id}".casefold() for part in parts)
            ]
            if not branches:
                continue
            shown.append(Option(Content.styled(visible(story.name), "bold"), disabled=True))
            for problem in story.branch_problems:
                shown.append(
                    Option(Content.styled(f"  ! {visible(of_engine(problem.told()))}", "$text-error"), disabled=True)
                )
            for branch in branches:
                if (story.id, branch.id) == at:
                    stand = len(shown)
                mark = "●" if branch.id == story.active_branch else " "
                self._choices.append((story.id, branch.id))
                text = f"  {mark} {visible(branch_label(branch.name, branch.id))}"
                if mark == "●" and is_spoken(self):
                    text = f"    {visible(branch_label(branch.name, branch.id))}, {t('reader.branch_active')}"
                if (story.id, branch.id) == self._here:
                    text += f"  {t('story.open')}"
                shown.append(Option(Content(text), str(len(self._choices) - 1)))
        if not shown:
            shown.append(Option(Content(t("story.no-match") if parts else t("story.none")), disabled=True))
        options.add_options(shown)
        if stand is not None:
            options.highlighted = stand
        else:
            options.action_first()

    # -- filter

    def action_filter(self) -> None:
        box = self.query_one("#story-filter")
        box.display = True
        box.focus()

    @on(Input.Changed, "#story-filter")
    def _filter_changed(self, message: Input.Changed) -> None:
        current = self._current()
        self._list(message.value, current or self._at)

    @on(Input.Submitted, "#story-filter")
    def _filter_kept(self) -> None:
        self.action_act("open")

    # -- what is chosen

    def _current(self) -> tuple[str, str] | None:
        options = self.query_one(OptionList)
        if options.highlighted is None or options.highlighted >= options.option_count:
            return None
        chosen = options.get_option_at_index(options.highlighted).id
        return None if chosen is None else self._choices[int(chosen)]

    def action_act(self, act: Act) -> None:
        """Hand over what is to be done with the branch under the cursor."""
        current = self._current()
        if current is not None:
            self.dismiss(self.Choice(act, *current))

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        acts: dict[str | None, Act] = {"new": "new", "rename": "rename", "delete": "delete", "activate": "activate"}
        self.action_act(acts[message.button.id])

    def action_step(self, step: int) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()

    def action_leave(self) -> None:
        """Leave the filter, then the dialog."""
        box = self.query_one("#story-filter", Input)
        if box.display:
            box.value = ""
            box.display = False
            self.query_one(OptionList).focus()
        else:
            self.dismiss(None)

    def on_option_list_option_selected(self) -> None:
        self.action_act("open")


def branch_label(name: str, branch_id: str) -> str:
    """A branch by its name and, where that is another, its id, which is what the top bar and the command line say."""
    return branch_id if name.casefold() == branch_id.casefold() else f"{name} · {branch_id}"
