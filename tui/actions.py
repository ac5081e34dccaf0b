"""The one registry of actions: every key, palette entry, key bar and help page is made from it.

The default keys are those that survive SSH, tmux and plain terminals (spec terminal, section 6.2): letters, arrows,
control with a letter, function keys. Every action is in the command palette as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Place = Literal["app", "desk", "list", "prompt", "passage"]
"""Where an action can be used: anywhere, on the main screen, on it while no text is typed into, in the compiled
prompt, in the generate screen."""

PLACES: dict[Place, str] = {
    "list": "Block list",
    "desk": "Main screen, also while typing",
    "prompt": "Compiled prompt",
    "passage": "Generate",
    "app": "Everywhere",
}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing the program does on a key.

    `id` names the method (`action_<id>` with underscores) and the entry in the key map; `word` is what the key bar
    says, empty for what it leaves out; `priority` keys work while text is typed; `together` names the actions that the
    key bar shows with this one, under one word.
    """

    id: str
    title: str
    keys: tuple[str, ...]
    place: Place
    word: str = ""
    help: str = ""
    priority: bool = False
    together: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        return self.id.replace("-", "_")


ACTIONS: tuple[Action, ...] = (
    # list: the cursor
    Action("cursor-down", "Move the cursor down", ("j",), "list", help="Also the down arrow, page down and end."),
    Action("cursor-up", "Move the cursor up", ("k",), "list", help="Also the up arrow, page up and home."),
    # list: the block under the cursor
    Action("switch", "Enable or disable the block", ("space",), "list", "on/off"),
    Action("move-down", "Move the block down", ("J", "alt+down"), "list", "move", together=("move-up",)),
    Action("move-up", "Move the block up", ("K", "alt+up"), "list"),
    Action(
        "carry",
        "Carry the block with j and k; enter drops it",
        ("m",),
        "list",
        help="Nothing is saved before enter; escape puts it back where it was.",
    ),
    Action("edit", "Edit the block in the inspector", ("e",), "list", "edit", "Also enter."),
    Action(
        "mode-none",
        "Content mode none: the default text",
        ("n",),
        "list",
        "mode",
        "A text you wrote is kept.",
        together=("mode-before", "mode-after", "mode-override"),
    ),
    Action("mode-before", "Content mode before: your text, then the default", ("b",), "list"),
    Action("mode-after", "Content mode after: the default, then your text", ("f",), "list"),
    Action(
        "mode-override",
        "Content mode override: your text instead of the default",
        ("o",),
        "list",
        help="Starts from the default text.",
    ),
    Action("add", "Add a block behind this one", ("a",), "list", "add"),
    Action("duplicate", "Duplicate the block", ("D",), "list"),
    Action("properties", "Name, role, type and order of the block", ("r", "f2"), "list"),
    Action("delete", "Delete the block", ("X", "delete"), "list", help="Custom blocks only; undo brings it back."),
    Action("reset", "Reset the block to its default, or the whole agent", ("R",), "list"),
    Action("copy", "Copy the block's text", ("y",), "list"),
    Action("filter", "Filter the list", ("slash",), "list", "filter", "Escape clears it."),
    # the main screen
    Action("undo", "Undo", ("u", "ctrl+z"), "list", "undo"),
    Action("redo", "Redo", ("ctrl+r", "ctrl+y"), "list"),
    Action("prompt", "Read the compiled prompt", ("p",), "list", "prompt"),
    Action("back", "Leave a level: a carried block, a filter, a text", ("escape",), "desk", "back"),
    Action("generate", "Generate a passage", ("g", "f5"), "list", "generate"),
    Action("story", "Switch story or branch", ("s",), "list", "story"),
    Action("agents", "Go to the agents", ("1",), "list"),
    Action("blocks", "Go to the block list", ("2",), "list"),
    Action("inspector", "Go to the inspector", ("3",), "list"),
    Action("external", "Open the text in $EDITOR", ("ctrl+e", "f4"), "desk", "$EDITOR", priority=True),
    Action("reference", "Fragments to name in a text or read in a script", ("f3",), "desk", "fragments", priority=True),
    Action("resolve", "Settle a conflict with another program", ("exclamation_mark",), "list"),
    Action("save", "Save now", ("ctrl+s",), "desk", help="Everything is saved by itself after a pause.", priority=True),
    # the compiled prompt
    Action("search", "Search in the prompt", ("slash",), "prompt", "search"),
    Action("next-match", "Next match", ("n",), "prompt", "match", together=("previous-match",)),
    Action("previous-match", "Previous match", ("N",), "prompt"),
    Action("next-block", "Next block", ("J", "right_square_bracket"), "prompt", "block", together=("previous-block",)),
    Action("previous-block", "Previous block", ("K", "left_square_bracket"), "prompt"),
    Action("jump", "Jump to a block", ("b",), "prompt", "jump"),
    Action("copy-prompt", "Copy the whole prompt", ("Y",), "prompt"),
    Action("copy-block", "Copy the block's text as it is sent", ("y",), "prompt", "copy", together=("copy-prompt",)),
    Action("edit-block", "Edit this block", ("e",), "prompt", "edit"),
    # the generate screen
    Action("begin", "Begin, or again", ("ctrl+g", "f5"), "passage", "begin", priority=True),
    Action("stop", "Stop writing; the text so far can be kept", ("ctrl+x",), "passage", "stop", priority=True),
    Action("keep", "Keep: save the passage to the story", ("ctrl+s",), "passage", "keep", priority=True),
    Action(
        "discard",
        "Discard the passage",
        ("ctrl+d",),
        "passage",
        "discard",
        help="Not while the direction is being typed, where the key deletes a character.",
    ),
    Action("provider", "Choose what generates", ("ctrl+o",), "passage", "provider", priority=True),
    # anywhere
    Action("leave", "Quit", ("q",), "list"),
    Action("help", "Help", ("question_mark",), "list", "help"),
    Action("command-palette", "Command palette", ("ctrl+p",), "app", "every action", priority=True),
    Action("redraw", "Draw the screen again", ("ctrl+l",), "app", priority=True),
    Action("keys", "Help", ("f1",), "app", "help", priority=True),
    Action("quit", "Quit", ("ctrl+q",), "app", priority=True),
)

_UNDELIVERABLE = {
    "ctrl+h": "arrives as backspace",
    "ctrl+i": "arrives as tab",
    "ctrl+m": "arrives as enter",
    "ctrl+left_square_bracket": "arrives as escape",
    "alt+enter": "arrives as enter",
    "ctrl+enter": "arrives as enter in most terminals",
    "shift+enter": "arrives as enter in most terminals",
}


_OF_WIDGETS = ("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "enter", "tab", "shift+tab")
"""Keys that lists and texts take for themselves before any action sees them."""


class Keymap:
    """The keys in force: the defaults, with those a user chose instead.

    `chosen` maps action ids to texts like "ctrl+n" or "k,J". `problems` holds one line for each choice that was not
    taken or will not work.
    """

    def __init__(self, chosen: Mapping[str, object] | None = None) -> None:
        self.problems: list[str] = []
        self._keys = {action.id: action.keys for action in ACTIONS}
        wanted = {}
        for name, value in (chosen or {}).items():
            action = next((action for action in ACTIONS if action.id == name), None)
            keys = _split(value)
            if action is None:
                self.problems.append(f"keys: there is no action {name!r}")
            elif not keys:
                self.problems.append(f'keys: {name} needs a text like "ctrl+n" or "k,J"')
            else:
                wanted[action] = keys
        # Together, not one after the other, so that two actions can change places.
        self._keys |= {action.id: keys for action, keys in wanted.items()}
        for action, keys in wanted.items():
            usable = tuple(key for key in keys if self._usable(action, key))
            self._keys[action.id] = usable or tuple(key for key in action.keys if self._holder(key, action) is None)

    def keys(self, action: Action) -> tuple[str, ...]:
        """The keys of an action, the first being the one to show; none when others took them all."""
        return self._keys[action.id]

    def shown(self, action: Action) -> str:
        """The key to show for an action; empty when it has none."""
        return next(map(key_name, self._keys[action.id]), "")

    def overrides(self) -> dict[str, str]:
        """Action id to keys, for those that differ from the defaults, as `App.set_keymap` takes them."""
        return {
            action.id: ",".join(self._keys[action.id]) for action in ACTIONS if self._keys[action.id] != action.keys
        }

    def _usable(self, action: Action, key: str) -> bool:
        if key in _UNDELIVERABLE:
            self.problems.append(f"keys: {key} for {action.id} {_UNDELIVERABLE[key]}")
            return True
        clash = self._holder(key, action)
        if key in _OF_WIDGETS and not action.priority:
            self.problems.append(f"keys: {key} for {action.id} is a key of the lists; it was left out")
        elif clash is not None:
            self.problems.append(f"keys: {key} for {action.id} is already the key of {clash.id}; it was left out")
        else:
            return True
        return False

    def _holder(self, key: str, wanting: Action) -> Action | None:
        for action in ACTIONS:
            if action is not wanting and key in self._keys[action.id] and _meet(action.place, wanting.place):
                return action
        return None


def _split(value: object) -> tuple[str, ...]:
    """The keys of a choice, under the names Textual has for them; none when it is no text."""
    if not isinstance(value, str):
        return ()
    return tuple(dict.fromkeys(_CHARACTERS.get(key.strip(), key.strip()) for key in value.split(",") if key.strip()))


def _meet(one: Place, other: Place) -> bool:
    """Whether the same key press could mean either."""
    together = ({"list", "desk", "app"}, {"prompt", "app"}, {"passage", "app"})
    return any({one, other} <= places for places in together)


def actions_in(*places: Place) -> Iterable[Action]:
    """The actions of some places, in the order of the registry."""
    return (action for action in ACTIONS if action.place in places)


_CHARACTERS = {
    "/": "slash",
    "?": "question_mark",
    "!": "exclamation_mark",
    "[": "left_square_bracket",
    "]": "right_square_bracket",
}
"""What a user may write for a key, and what Textual calls it."""
_KEY_NAMES = {name: character for character, name in _CHARACTERS.items()} | {
    "delete": "del",
    "escape": "esc",
    "down": "↓",
    "up": "↑",
}


def key_name(key: str) -> str:
    """A key as it is printed: `/` for `slash`, `alt+↓` for `alt+down`."""
    head, plus, last = key.rpartition("+")
    return f"{head}{plus}{_KEY_NAMES.get(last, last)}"


def bar_keys(keymap: Keymap, *places: Place) -> list[tuple[str, str, Action]]:
    """What the key bar says for some places: (keys, word, action)."""
    by_id = {action.id: action for action in ACTIONS}
    return [
        (
            "/".join(filter(None, map(keymap.shown, (action, *(by_id[name] for name in action.together))))),
            action.word,
            action,
        )
        for action in actions_in(*places)
        if action.word
    ]
