"""Help, made from the action registry and the keys in force."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from textual.app import ComposeResult
from textual.screen import ModalScreen

from tui.actions import ACTIONS, PLACES, Keymap, Place, key_name, place_name
from tui.widgets.stream_view import StreamView

_KEYS = 15
"""Cells of the column of keys."""

_INTRODUCTION = (
    "Stonehand shows the prompt of an agent as a list of blocks, in the order they are sent. What the list shows is "
    "what is sent. Everything is saved by itself, undo spans the whole session, and escape leaves a level without "
    "discarding anything.",
    "Signs: ✓ on, ✗ off, · not there now, ◆ script, ◇ text, +pre +app ovr content mode, ! something is wrong, … not "
    "run yet.",
    "A text may hold <@fragment-id>, which becomes the fragment, or <@fragment-id:short>, its name and description.",
    "Scripts are JavaScript functions that get ctx and return a text. Each run sees a fresh ctx: what one script "
    "changes in it no other sees. There are no files, no network and no timers; console lines appear under the "
    "preview. ctx has story, proseFragments, stickyGuidelines, stickyKnowledge, stickyCharacters, guidelineCatalog, "
    "knowledgeCatalog, characterCatalog and authorInput; await ctx.getFragment(id), ctx.getFragments(type), "
    "ctx.getFragmentByTag(tag) and ctx.getFragmentsByTag(tag) fetch others.",
)


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
        view.border_title = "Help"
        view.border_subtitle = "escape closes"
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
    introduction = [textwrap.fill(paragraph, width) + "\n" for paragraph in _INTRODUCTION]
    return "\n".join([*sections, *introduction, *rest]).rstrip()


def _section(place: Place, keymap: Keymap, width: int) -> str:
    lines = [place_name(place)]
    for action in ACTIONS:
        if action.place == place:
            keys = "  ".join(key_name(key) for key in keymap.keys(action))
            text = f"{action.title}. {action.help}" if action.help else action.title
            lines.append(
                textwrap.fill(text, width, initial_indent=f"  {keys:<{_KEYS}}", subsequent_indent=" " * (_KEYS + 2))
            )
    return "\n".join(lines) + "\n"
