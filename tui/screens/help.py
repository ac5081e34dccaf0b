"""Help, made from the action registry and the keys in force."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.screen import ModalScreen

from tui.actions import ACTIONS, PLACES, Keymap, Place, key_name, place_name
from tui.language import t
from tui.widgets.cells import fit
from tui.widgets.stream_view import StreamView
from tui.widgets.text_view import wrap_rows

_KEYS = 17
"""Cells of the column of keys."""

_MEMBERS = (
    "story", "proseFragments", "stickyGuidelines", "stickyKnowledge", "stickyCharacters", "guidelineCatalog",
    "knowledgeCatalog", "characterCatalog", "authorInput",
)  # fmt: skip
_METHODS = ("getFragment(id)", "getFragments(type)", "getFragmentByTag(tag)", "getFragmentsByTag(tag)")
"""What scripts find in `ctx`, and what they have to await."""


class HelpScreen(ModalScreen[None]):
    """The keys of the screen that was in front, then all others."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape,q,question_mark", "leave", "Close")]

    def __init__(self, first: Sequence[Place], keymap: Keymap) -> None:
        super().__init__()
        self._first, self._keymap = tuple(first), keymap

    def compose(self) -> ComposeResult:
        text = help_text(self._first, self._keymap, max(30, min(90, self.app.size.width - 8)))
        view = StreamView(text, follow=False, id="help", classes="dialog wide")
        view.border_title = t("help.title")
        view.border_subtitle = t("dialog.close")
        yield view

    def on_mount(self) -> None:
        self.query_one(StreamView).focus()

    def action_leave(self) -> None:
        self.dismiss(None)


def help_text(first: Iterable[Place], keymap: Keymap, width: int = 90) -> str:
    """The help as plain text, `width` cells wide: the places in `first`, then the introduction, then the rest."""
    first = tuple(first)
    sections = [_section(place, keymap, width) for place in PLACES if place in first]
    rest = [_section(place, keymap, width) for place in PLACES if place not in first]
    paragraphs = ["\n".join(_lines(text, width)) + "\n" for text in _introduction()]
    return "\n".join([*sections, *paragraphs, *rest]).rstrip()


def _introduction() -> tuple[str, ...]:
    methods = ", ".join(f"await ctx.{method}" for method in _METHODS)
    return (
        t("help.introduction"),
        t("help.signs"),
        t("help.fragments"),
        t("help.scripts", members=", ".join(_MEMBERS), methods=methods),
    )


def _section(place: Place, keymap: Keymap, width: int) -> str:
    lines = [place_name(place)]
    for action in ACTIONS:
        if action.place == place:
            keys = "  ".join(key_name(key) for key in keymap.keys(action))
            more = action.help
            text = t("help.more", title=action.title, more=more) if more else action.title
            lines += _beside(f"  {keys}", text, width)
    return "\n".join(lines) + "\n"


def _beside(left: str, text: str, width: int) -> list[str]:
    """`text` on lines beside `left`, or below it where it is wider than its column."""
    lines = [" " * _KEYS + line for line in _lines(text, width - _KEYS)]
    if cell_len(left) < _KEYS:
        return [fit(left, _KEYS) + lines[0][_KEYS:], *lines[1:]]
    return [left, *lines]


def _lines(text: str, width: int) -> list[str]:
    """`text` on lines of at most `width` cells."""
    starts = [*wrap_rows(text, 0, len(text), width), len(text)]
    return [text[start:end].rstrip() for start, end in pairwise(starts)]
