"""A question with a letter for each answer."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.actions import Place, key_name
from tui.safe_text import visible


class ChoiceDialog(ModalScreen[str | None]):
    """Asks; the answer is the key of the choice, None for escape.

    `choices` are (key, text); the choice of key `escape` only says what escape means. `body` is a text of any length to
    look at before answering. With `safe`, the choice of escape stands first, so enter alone does nothing.
    """

    places: tuple[Place, ...] = ("app",)

    def __init__(
        self, title: str, text: str, choices: Sequence[tuple[str, str]], *, body: str = "", safe: bool = False
    ) -> None:
        super().__init__()
        self._title, self._text, self._body = title, text, body
        self._choices = sorted(choices, key=lambda choice: choice[0] != "escape") if safe else list(choices)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(visible(self._title))
            if self._text:
                yield Static(_lines(self._text), classes="text", markup=False)
            if self._body:
                with VerticalScroll(classes="body"):
                    yield Static(_lines(self._body), markup=False)
            yield OptionList(
                *(
                    Option(
                        Content.assemble((f" {'esc' if key == 'escape' else key_name(key)} ", "bold"), visible(text)),
                        key,
                    )
                    for key, text in self._choices
                )
            )

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
        elif any(event.character == key for key, _ in self._choices):
            event.stop()
            self.dismiss(event.character)

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(None if message.option.id == "escape" else message.option.id)


def _lines(text: str) -> Content:
    """A text of several lines, made harmless."""
    return Content("\n".join(map(visible, text.splitlines())))
