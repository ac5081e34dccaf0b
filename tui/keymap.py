"""The keys in force: the defaults of the registry, with those a user chose instead in `keymap.toml`.

    move-down = "J,ctrl+n"
    generate = "f6"

What can't work is left out and told, never taken silently: keys that no terminal sends (spec terminal, section 6.2),
keys that mean something else at the same place, keys that are needed to type and to move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from engine.folders import config_folder
from tui.actions import ACTIONS, CHARACTERS, Action, Place, key_name
from tui.language import LazyText, t
from tui.settings import place_in, read_toml

FILE = "keymap.toml"
OLD_FILE = "keys.toml"

_BY_ID = {action.id: action for action in ACTIONS}
_MODIFIERS = ("ctrl", "alt", "shift", "super", "hyper", "meta")
_MOVING = (
    "up",
    "down",
    "left",
    "right",
    "home",
    "end",
    "pageup",
    "pagedown",
    "enter",
    "tab",
    "shift+tab",
    "shift+up",
    "shift+down",
)
"""Keys that lists and texts take for themselves before any action sees them."""
_TYPING = ("space", "backspace", "delete")
"""Keys that change a text, besides its characters."""
_NAMED = (*_MOVING, *_TYPING, "escape", "insert", *(f"f{number}" for number in range(1, 25)))

_ARRIVE_AS = {
    "ctrl+h": "backspace",
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+left_square_bracket": "escape",
    "ctrl+enter": "enter",
    "shift+enter": "enter",
    "alt+enter": "enter",
    "ctrl+tab": "tab",
    "ctrl+backspace": "backspace",
    "ctrl+escape": "escape",
}
"""Chords that most terminals send as the key without the modifier."""
_CONTROL_CHARACTERS = ("backslash", "right_square_bracket", "circumflex_accent", "underscore", "at")
"""What, besides letters, makes a control character."""


class Keymap:
    """The keys in force.

    `chosen` maps action ids to texts like "ctrl+n" or "k,J"; `place` says where the choice for an id stands. `problems`
    holds a line for each choice that was not taken or will not work.
    """

    def __init__(
        self, chosen: Mapping[str, object] | None = None, place: Callable[[str], str] = lambda name: ""
    ) -> None:
        self.problems: list[LazyText] = []
        self._place = place
        self._keys = {action.id: action.keys for action in ACTIONS}
        wanted = self._chosen = dict[Action, tuple[str, ...]]()
        for name, value in (chosen or {}).items():
            action = _BY_ID.get(name)
            keys = _split(value)
            if action is None:
                self._tell_unknown(name)
            elif not keys:
                self._tell("keymap.no-text", name)
            else:
                wanted[action] = keys
        # Together, not one after the other, so that two actions can change places.
        self._keys |= {action.id: keys for action, keys in wanted.items()}
        for action, keys in wanted.items():
            self._keys[action.id] = self._usable_of(action, keys)
            if not self._keys[action.id]:
                palette = LazyText("keymap.palette")
                self._tell("keymap.lost", action.id, title=_title(action), palette=palette)

    def keys(self, action: Action) -> tuple[str, ...]:
        """The keys of an action, the first being the one to show; none when others took them all."""
        return self._keys[action.id]

    def shown(self, action: Action) -> str:
        """The key to show for an action; empty when it has none."""
        return next(map(key_name, self._keys[action.id]), "")

    def said(self, action_id: str) -> str:
        """The key to name in a text for an action; its title, which the palette finds, when it has none."""
        action = _BY_ID[action_id]
        return self.shown(action) or t("keymap.no-key-left", title=action.title)

    def overrides(self) -> dict[str, str]:
        """Action id to keys, for those that differ from the defaults, as `App.set_keymap` takes them."""
        return {
            action.id: ",".join(self._keys[action.id]) for action in ACTIONS if self._keys[action.id] != action.keys
        }

    def _usable_of(self, action: Action, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Of the keys chosen for an action those that work; with none, its default keys that are free."""
        usable = tuple(key for key in keys if self._usable(action, key))
        faults = [undeliverable(key) for key in usable]
        if usable and any(fault is None for fault in faults):
            return usable
        for key, fault in zip(usable, faults, strict=True):
            self._tell("keymap.undeliverable", action.id, title=_title(action), key=key_name(key), why=fault)
        return tuple(key for key in action.keys if self._holder(key, action) is None)

    def _usable(self, action: Action, key: str) -> bool:
        clash = self._holder(key, action)
        if not _is_key(key):
            self._tell("keymap.no-key", action.id, title=_title(action), key=key)
        elif key in _MOVING:
            self._tell("keymap.moving", action.id, title=_title(action), key=key_name(key))
        elif action.priority and _types(key):
            self._tell("keymap.typing", action.id, title=_title(action), key=key_name(key))
        elif clash is not None:
            other = {"other": clash.id, "other_title": _title(clash)}
            self._tell("keymap.clash", action.id, title=_title(action), key=key_name(key), **other)
        else:
            return True
        return False

    def _holder(self, key: str, wanting: Action) -> Action | None:
        """The action that a key belongs to already: of several one that had it before, for that is the reason."""
        holders = [
            action
            for action in ACTIONS
            if action is not wanting and key in self._keys[action.id] and meet(action.place, wanting.place)
        ]
        return min(holders, key=lambda action: action in self._chosen, default=None)

    def _tell_unknown(self, name: str) -> None:
        from difflib import get_close_matches

        close = get_close_matches(name, _BY_ID, 1)
        if close:
            self._tell("keymap.unknown-close", name, close=close[0])
        else:
            self._tell("keymap.unknown", name)

    def _tell(self, text: str, name: str, /, **values: object) -> None:
        place = self._place(name)
        self.problems.append(LazyText(text, place=place and f"{place}: ", name=name, **values))


def load_keymap(folder: Path | None = None) -> Keymap:
    """The user's keys: `keymap.toml` in the config folder, else the `keys.toml` it was called before."""
    folder = folder or config_folder()
    file, old = folder / FILE, folder / OLD_FILE
    notice = None
    if old.exists():
        notice = LazyText("keymap.ignored" if file.exists() else "keymap.old", file=old, name=FILE)
        file = file if file.exists() else old
    document = read_toml(file)
    if isinstance(document, LazyText):
        keymap = Keymap()
        keymap.problems.append(document)
    else:
        keymap = Keymap(document, lambda name: place_in(file, name))
    if notice is not None:
        keymap.problems.append(notice)
    return keymap


def undeliverable(key: str) -> LazyText | None:
    """Why a key can't be relied on, since many terminals don't send it; None for one that can.

    Source: spec terminal, section 6.2.
    """
    if key in _ARRIVE_AS:
        return LazyText("keymap.arrives-as", other=key_name(_ARRIVE_AS[key]))
    *modifiers, last = key.split("+")
    held = set(modifiers)
    if held & {"super", "hyper", "meta"} or {"ctrl", "shift"} <= held:
        return LazyText("keymap.kitty")
    if len(last) == 1 and last.isalpha():
        if "shift" in held:
            return LazyText("keymap.arrives-as", other=last.upper())
        if "ctrl" in held and last != last.lower():
            return LazyText("keymap.arrives-as", other=f"ctrl+{last.lower()}")
    elif "ctrl" in held and last not in (*_NAMED, *_CONTROL_CHARACTERS):
        return LazyText("keymap.kitty")
    return None


def meet(one: Place, other: Place) -> bool:
    """Whether the same key press could mean an action of either place."""
    together = (
        {"list", "desk", "app"},
        {"prompt", "app"},
        {"difference", "compare", "app"},
        {"order", "app"},
        {"runs", "app"},
        {"difference", "run-diff", "app"},
        {"replay", "app"},
        {"request", "app"},
        {"passage", "app"},
        {"question", "app"},
        {"agent-run", "app"},
        {"chat", "app"},
    )
    return any({one, other} <= places for places in together)


def _title(action: Action) -> LazyText:
    return LazyText(f"action.{action.id}.title")


def _split(value: object) -> tuple[str, ...]:
    """The keys of a choice, under the names Textual has for them; none when it is no text."""
    if not isinstance(value, str):
        return ()
    return tuple(dict.fromkeys(CHARACTERS.get(key.strip(), key.strip()) for key in value.split(",") if key.strip()))


def _is_key(key: str) -> bool:
    """Whether there is such a key: a character, its name, or a named key, with modifiers before it."""
    *modifiers, last = key.split("+")
    if not set(modifiers) <= set(_MODIFIERS):
        return False
    return len(last) == 1 or last in _NAMED or last in CHARACTERS.values()


def _types(key: str) -> bool:
    """Whether a key changes the text that is typed into."""
    return "+" not in key and (len(key) == 1 or key in _TYPING or key not in _NAMED)
