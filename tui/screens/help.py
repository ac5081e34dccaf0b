"""Help, made from the action registry, the bindings of the widgets and the keys in force."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, TextArea

from tui.actions import ACTIONS, PLACES, Place, actions_in, key_name, place_name
from tui.keymap import Keymap, undeliverable
from tui.language import find, t
from tui.widgets.agent_list import AgentList
from tui.widgets.block_list import BlockList
from tui.widgets.cells import fit
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.line_input import LineInput
from tui.widgets.reading_view import ReadingView
from tui.widgets.stream_view import StreamView
from tui.widgets.text_editor import TextEditor
from tui.widgets.text_view import wrap_rows

_KEYS = 18
"""Cells of the column of keys."""
_WIDEST = 90
"""Cells of the longest line: longer ones are hard to read."""

_MEMBERS = (
    "story", "proseFragments", "stickyGuidelines", "stickyKnowledge", "stickyCharacters", "guidelineCatalog",
    "knowledgeCatalog", "characterCatalog", "authorInput",
)  # fmt: skip
_METHODS = ("getFragment(id)", "getFragments(type)", "getFragmentByTag(tag)", "getFragmentsByTag(tag)")
"""What scripts find in `ctx`, and what they have to await."""

_WIDGETS: tuple[tuple[str, tuple[type[DOMNode], ...]], ...] = (
    ("list", (BlockList, AgentList)),
    ("text", (TextArea, TextEditor)),
    ("line", (Input,)),
    ("reading", (ReadingView,)),
    ("choice", (ChoiceBar,)),
    ("options", (OptionList,)),
)
"""Kinds of widgets, and the classes whose bindings are their keys."""


class Entry(NamedTuple):
    """Something to read, with the keys it is about, if any."""

    text: str
    keys: tuple[str, ...] = ()


class Section(NamedTuple):
    """Entries under a heading, if it has one."""

    heading: str
    entries: list[Entry]


class HelpScreen(ModalScreen[None]):
    """The keys of the screen that was in front, then all others; before them what of the settings is ignored."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark", "leave", "Close"),
        ("slash", "filter", "Filter"),
    ]

    def __init__(self, first: Sequence[Place], keymap: Keymap, problems: Sequence[str] = ()) -> None:
        super().__init__()
        self._first, self._keymap, self._problems = tuple(first), keymap, problems

    def compose(self) -> ComposeResult:
        with Vertical(id="help", classes="dialog wide") as dialog:
            dialog.border_title = t("help.title")
            dialog.border_subtitle = t("help.hint")
            yield LineInput(placeholder=t("help.filter"), id="wanted")
            yield StreamView(follow=False)

    def on_mount(self) -> None:
        self.query_one("#wanted").display = False
        self.query_one(StreamView).focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    @on(Input.Changed)
    def _show(self) -> None:
        """What the filter finds, in lines that the frame has room for."""
        view = self.query_one(StreamView)
        sections = help_sections(self._first, self._keymap, self._problems)
        room = view.outer_size.width - view.gutter.width - view.scrollbar_size_vertical
        width = max(30, min(_WIDEST, room))
        view.show(help_text(sections, width, self.query_one("#wanted", Input).value))

    @on(Input.Submitted)
    def action_filter(self) -> None:
        """Go where the filter is typed, or from there back to what it found."""
        box = self.query_one("#wanted", Input)
        back = box.has_focus
        box.display = bool(box.value) or not back
        (self.query_one(StreamView) if back else box).focus()

    def action_leave(self) -> None:
        """Clear the filter, or leave."""
        box = self.query_one("#wanted", Input)
        if not box.display:
            self.dismiss(None)
            return
        box.value = ""
        box.display = False
        self.query_one(StreamView).focus()


def help_sections(first: Iterable[Place], keymap: Keymap, problems: Sequence[str] = ()) -> list[Section]:
    """All there is to say.

    The places in `first`, the introduction, the other places, the widgets, the names that the key map knows actions by.
    """
    first = tuple(first)
    sections = [Section(t("settings.problems"), [Entry(f"! {problem}") for problem in problems])] if problems else []
    sections += [_place(place, keymap) for place in PLACES if place in first]
    sections += [Section("", [Entry(paragraph)]) for paragraph in _introduction()]
    sections += [_place(place, keymap) for place in PLACES if place not in first]
    # While a text of the main screen is typed into, these mean something else.
    taken = {key for action in actions_in("desk", "app") if action.priority for key in keymap.keys(action)}
    for name, classes in _WIDGETS:
        sections.append(Section(t(f"keys.{name}"), [*_widget(name, classes, taken if name == "text" else set())]))
    return [*sections, Section(t("help.names"), [Entry(action.title, (action.id,)) for action in ACTIONS])]


def help_text(sections: Iterable[Section], width: int, wanted: str = "") -> str:
    """Sections as plain text, `width` cells wide; of the entries only those that contain every word of `wanted`."""
    words = wanted.casefold().split()
    parts = []
    for heading, entries in sections:
        lines = [line for entry in entries if _matches(entry, words) for line in _lines_of(entry, width)]
        if lines:
            parts.append("\n".join([heading, *lines] if heading else lines))
    return "\n\n".join(parts) or t("list.no-match", text=wanted)


def _introduction() -> tuple[str, ...]:
    methods = ", ".join(f"await ctx.{method}" for method in _METHODS)
    return (
        t("help.introduction"),
        t("help.signs"),
        t("help.fragments"),
        t("help.scripts", members=", ".join(_MEMBERS), methods=methods),
    )


def _place(place: Place, keymap: Keymap) -> Section:
    entries = []
    for action in ACTIONS:
        if action.place == place:
            more = action.help
            text = t("help.more", title=action.title, more=more) if more else action.title
            entries.append(Entry(text, tuple(map(key_name, keymap.keys(action))) or ("–",)))
    return Section(place_name(place), entries)


def _widget(name: str, classes: Iterable[type[DOMNode]], taken: Container[str]) -> Iterator[Entry]:
    """The keys of a kind of widgets that are not `taken` and are sent everywhere; an entry for each thing they do."""
    keys_of: dict[str, list[str]] = {}
    for cls in classes:
        for binding in Binding.make_bindings(vars(cls)["BINDINGS"]):
            own = cls.__module__.startswith("tui.")
            text = find(f"keys.{name}.{binding.action}") or (binding.description if own else "")
            works = binding.key not in taken and undeliverable(binding.key) is None
            if text and works and (key := key_name(binding.key)) not in keys_of.setdefault(text, []):
                keys_of[text].append(key)
    yield from (Entry(text, tuple(keys)) for text, keys in keys_of.items() if keys)
    more = find(f"keys.{name}.more")
    if more is not None:
        yield Entry(more, ("",))


def _matches(entry: Entry, words: Iterable[str]) -> bool:
    said = f"{' '.join(entry.keys)} {entry.text}".casefold()
    return all(word in said for word in words)


def _lines_of(entry: Entry, width: int) -> list[str]:
    """The text beside its keys, or below them where they are wider than their column."""
    if not entry.keys:
        return _lines(entry.text, width)
    left = f"  {'  '.join(entry.keys)}"
    lines = [" " * _KEYS + line for line in _lines(entry.text, width - _KEYS)]
    if cell_len(left) < _KEYS:
        return [fit(left, _KEYS) + lines[0][_KEYS:], *lines[1:]]
    return [left, *lines]


def _lines(text: str, width: int) -> list[str]:
    """`text` on lines of at most `width` cells."""
    starts = [*wrap_rows(text, 0, len(text), width), len(text)]
    return [text[start:end].rstrip() for start, end in pairwise(starts)]
