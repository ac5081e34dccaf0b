"""One of the questions that the prewriter asks the author before a passage is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from engine.runs import Answer
from tui.actions import Place
from tui.bindings import bindings_for
from tui.language import t
from tui.safe_text import visible
from tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from engine.tools import Question


Then = Literal["next", "write", "later"]
"""What comes after a question: the next one, writing with the answers there are, or leaving them all for later."""


class QuestionDialog(ModalScreen[tuple[Answer, Then]]):
    """Asks one question; `answer` is what was said to it before. What is typed is handed back however it is left, and
    to `remember` as it is typed.
    """

    places: tuple[Place, ...] = ("question",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("question"),
        Binding("escape", "leave", "Later"),
    ]

    def __init__(
        self, question: Question, answer: Answer, number: int, count: int, remember: Callable[[Answer], object]
    ) -> None:
        super().__init__()
        self._remember = remember
        self._question, self._answer = question, answer
        self._number, self._count = number, count

    def compose(self) -> ComposeResult:
        question = self._question
        with Vertical(classes="dialog") as dialog:
            where = t("passage.question", number=self._number, count=self._count)
            dialog.border_title = Content(visible(f"{question.header} · {where}"))
            dialog.border_subtitle = t("passage.question-several" if question.several else "passage.question-one")
            yield Static(Content(visible(" ".join(question.question.split()))), classes="text", markup=False)
            if question.options:
                yield OptionList(*(Option(self._label(at)) for at in range(len(question.options))), id="options")
            yield LineInput(self._answer.words, placeholder=t("passage.own-words"), id="words", select_on_focus=False)
            with Horizontal(classes="answers"):
                yield Button(t("passage.question-next"), id="next", variant="primary", compact=True)
                yield Button(t("passage.question-skip"), id="skip", compact=True)
                yield Button(t("passage.question-write"), id="write", compact=True)
                yield Button(t("passage.question-later"), id="later", compact=True)

    def on_mount(self) -> None:
        self.query_one("#options" if self._question.options else "#words").focus()

    def _label(self, at: int) -> Content:
        option = self._question.options[at]
        mark = ("[x] " if at in self._answer.chosen else "[ ] ") if self._question.several else ""
        below = f"\n    {visible(' '.join(option.description.split()))}" if option.description else ""
        return Content.assemble((f"{mark}{visible(option.label)}", "bold"), below)

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        at = message.option_index
        if self._question.several:
            if not self._answer.chosen:
                self._choose(at)
        else:
            self._answer = replace(self._answer, chosen=(at,))
        self._end("next")

    def action_question_choose(self) -> None:
        """Choose an option, or not, of a question that may have several answers."""
        options = self.query_one(OptionList)
        if self._question.several and options.has_focus and options.highlighted is not None:
            self._choose(options.highlighted)

    def _choose(self, at: int) -> None:
        chosen = set(self._answer.chosen) ^ {at}
        self._answer = replace(self._answer, chosen=tuple(sorted(chosen)))
        self.query_one(OptionList).replace_option_prompt_at_index(at, self._label(at))
        self._remember(self._now())

    @on(Input.Changed, "#words")
    def _typed(self) -> None:
        self._remember(self._now())

    def _now(self) -> Answer:
        """The answer as it stands."""
        return replace(self._answer, words=self.query_one("#words", LineInput).value)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self._end("next")

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        if message.button.id == "skip":
            self.action_question_skip()
        else:
            self._end(message.button.id)  # type: ignore[arg-type]

    def action_question_skip(self) -> None:
        """Leave the question without an answer, for the next one."""
        self.dismiss((Answer(), "next"))

    def action_question_write(self) -> None:
        """Have the passage written with the answers there are."""
        self._end("write")

    def action_leave(self) -> None:
        """Leave this question, and those after it, for later."""
        self._end("later")

    def _end(self, then: Then) -> None:
        words = self.query_one("#words", LineInput).value
        chosen = self._answer.chosen
        if words.strip() and not self._question.several and then == "next" and self.query_one("#words").has_focus:
            chosen = ()  # own words in place of an option chosen before
        self.dismiss((Answer(chosen, words), then))
