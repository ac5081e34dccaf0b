"""The one registry of actions: every key, palette entry, key bar and help page is made from it.

The default keys are those that survive SSH, tmux and plain terminals (spec terminal, section 6.2): letters, arrows,
control with a letter, function keys. Every action is in the command palette as well.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui.language import find, t

if TYPE_CHECKING:
    from tui.keymap import Keymap

Place = Literal[
    "app",
    "desk",
    "list",
    "prompt",
    "request",
    "difference",
    "compare",
    "order",
    "runs",
    "run-diff",
    "replay",
    "passage",
    "question",
    "agent-run",
    "chat",
]
"""Where an action can be used: anywhere, on the main screen, on it while no text is typed into, in the compiled
prompt, in the request it becomes, where two texts are compared, in the comparison of the prompt with an earlier one,
in the order of pinned fragments, among past runs, in the comparison of two of them, in the replay of one, in the
generate screen, in a question that is asked there, in the screen for agents that work on a fragment, in a
conversation."""

PLACES: tuple[Place, ...] = (
    "list",
    "desk",
    "prompt",
    "request",
    "difference",
    "compare",
    "order",
    "runs",
    "run-diff",
    "replay",
    "passage",
    "question",
    "agent-run",
    "chat",
    "app",
)
"""In the order the help shows them."""


def place_name(place: Place) -> str:
    """What a place is called."""
    return t(f"action.place.{place}")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing the program does on a key.

    `id` names the method (`action_<id>` with underscores), the entry in the key map and the texts in the catalogue
    `action`; `priority` keys work while text is typed; `together` names the actions that the key bar shows with this
    one, under one word. `same_as` names the action that this one is a letter for: the palette has one entry for both.
    """

    id: str
    keys: tuple[str, ...]
    place: Place
    priority: bool = False
    together: tuple[str, ...] = ()
    same_as: str = ""

    @property
    def title(self) -> str:
        """What it does, as the palette and the help say it."""
        return t(f"action.{self.id}.title")

    @property
    def word(self) -> str:
        """What the key bar says; empty for what it leaves out."""
        return find(f"action.{self.id}.word") or ""

    @property
    def help(self) -> str:
        """What else there is to know; often empty."""
        return find(f"action.{self.id}.help") or ""

    @property
    def method(self) -> str:
        return self.id.replace("-", "_")


ACTIONS: tuple[Action, ...] = (
    # list: the cursor
    Action("cursor-down", ("j",), "list"),
    Action("cursor-up", ("k",), "list"),
    # list: the block under the cursor
    Action("switch", ("space",), "list"),
    Action("move-down", ("J", "alt+down"), "list", together=("move-up",)),
    Action("move-up", ("K", "alt+up"), "list"),
    Action("carry", ("m",), "list"),
    Action("edit", ("e",), "list"),
    Action("mode-none", ("n",), "list", together=("mode-before", "mode-after", "mode-override")),
    Action("mode-before", ("b",), "list"),
    Action("mode-after", ("f",), "list"),
    Action("mode-override", ("o",), "list"),
    Action("add", ("a",), "list"),
    Action("duplicate", ("D",), "list"),
    Action("properties", ("r", "f2"), "list"),
    Action("delete", ("X", "delete"), "list"),
    Action("reset", ("R",), "list"),
    # list: several blocks
    Action("mark", ("v",), "list"),
    Action("mark-range", ("V",), "list"),
    Action("mark-all", ("asterisk",), "list"),
    Action("copy", ("y",), "list"),
    Action("filter", ("slash",), "list"),
    # list: the agent
    Action("model", ("M",), "list"),
    Action("tools", ("t",), "list"),
    Action("budget", ("B",), "list"),
    # the main screen
    Action("undo", ("u", "ctrl+z"), "list"),
    Action("redo", ("ctrl+r", "ctrl+y"), "list"),
    Action("prompt", ("p",), "list"),
    Action("compare", ("d",), "list"),
    Action("why", ("w",), "list"),
    Action("fragment-order", ("O",), "list"),
    Action("back", ("escape",), "desk"),
    Action("generate", ("g", "f5"), "list"),
    Action("hand-over", ("H",), "list"),
    Action("last-analysis", ("N",), "list"),
    Action("chat", ("c",), "list"),
    Action("runs", ("L",), "list"),
    Action("story", ("s",), "list"),
    Action("export", ("x",), "list"),
    Action("import", ("i",), "list"),
    Action("undo-import", ("I",), "list"),
    Action("copy-config", ("C",), "list"),
    Action("agents", ("1",), "list"),
    Action("blocks", ("2",), "list"),
    Action("inspector", ("3",), "list"),
    Action("external", ("ctrl+e", "f4"), "desk", priority=True),
    Action("find", ("ctrl+f",), "desk", priority=True),
    Action("reference", ("f3",), "desk", priority=True),
    Action("resolve", ("exclamation_mark",), "list"),
    Action("save", ("ctrl+s", "f9"), "desk", priority=True),
    # the compiled prompt
    Action("search", ("slash",), "prompt"),
    Action("next-match", ("n",), "prompt", together=("previous-match",)),
    Action("previous-match", ("N",), "prompt"),
    Action("next-block", ("J", "right_square_bracket"), "prompt", together=("previous-block",)),
    Action("previous-block", ("K", "left_square_bracket"), "prompt"),
    Action("jump", ("b",), "prompt"),
    Action("copy-prompt", ("Y",), "prompt"),
    Action("copy-block", ("y",), "prompt", together=("copy-prompt",)),
    Action("edit-block", ("e",), "prompt"),
    Action("compare-prompt", ("d",), "prompt"),
    Action("why-line", ("w",), "prompt"),
    Action("preview-inputs", ("i",), "prompt"),
    Action("request", ("r",), "prompt"),
    Action("request-copy", ("Y",), "request"),
    Action("request-fold", ("enter", "tab"), "request"),
    Action("request-back", ("escape", "q"), "request"),
    # the effect of edits
    Action("next-change", ("n",), "difference", together=("previous-change",)),
    Action("previous-change", ("N",), "difference"),
    Action("next-compared", ("J", "right_square_bracket"), "difference", together=("previous-compared",)),
    Action("previous-compared", ("K", "left_square_bracket"), "difference"),
    Action("against-opened", ("1",), "compare"),
    Action("against-saved", ("2",), "compare"),
    Action("against-default", ("3",), "compare"),
    Action("against-sent", ("4",), "compare"),
    Action("against-branch", ("5",), "compare"),
    Action("fold", ("z",), "difference"),
    Action("fold-all", ("Z",), "difference"),
    Action("copy-comparison", ("y",), "difference"),
    Action("edit-compared", ("e",), "compare"),
    # the order of pinned fragments
    Action("order-down", ("J", "alt+down"), "order", together=("order-up",)),
    Action("order-up", ("K", "alt+up"), "order"),
    Action("order-carry", ("m",), "order"),
    Action("order-place", ("space",), "order"),
    Action("order-mode", ("s",), "order"),
    Action("order-hand-over", ("H",), "order"),
    Action("order-undo", ("u", "ctrl+z"), "order"),
    Action("order-redo", ("ctrl+r", "ctrl+y"), "order"),
    # past runs
    Action("run-diff", ("d",), "runs"),
    Action("run-mark", ("v", "space"), "runs"),
    Action("run-part", ("p",), "runs"),
    Action("run-replay", ("r",), "runs"),
    Action("run-again", ("g",), "runs"),
    Action("run-filter", ("slash",), "runs"),
    Action("run-usage", ("u",), "runs"),
    Action("run-copy", ("y",), "runs"),
    Action("run-copy-prompt", ("Y",), "runs"),
    Action("run-next-section", ("J", "right_square_bracket"), "runs", together=("run-previous-section",)),
    Action("run-previous-section", ("K", "left_square_bracket"), "runs"),
    Action("run-fold", ("z",), "runs"),
    Action("run-fold-all", ("Z",), "runs"),
    Action("run-reload", ("R",), "runs"),
    Action("run-back", ("escape", "q"), "runs"),
    # two runs compared
    Action("diff-prompt", ("1",), "run-diff"),
    Action("diff-answer", ("2",), "run-diff"),
    Action("diff-back", ("escape", "q"), "run-diff"),
    # a run once more
    Action("replay-pause", ("p",), "replay"),
    Action("replay-slower", ("s",), "replay"),
    Action("replay-faster", ("f",), "replay", together=("replay-slower",)),
    Action("replay-end", ("e",), "replay"),
    Action("replay-restart", ("r",), "replay"),
    Action("replay-back", ("escape", "q"), "replay"),
    # the generate screen
    Action("begin", ("ctrl+g", "f5"), "passage", priority=True),
    Action("stop", ("ctrl+x",), "passage", priority=True),
    Action("keep", ("ctrl+s", "f9"), "passage", priority=True),
    Action("discard", ("ctrl+d",), "passage"),
    Action("unkeep", ("f8", "u", "ctrl+z"), "passage"),
    Action("find-direction", ("ctrl+f",), "passage", priority=True),
    Action("external-direction", ("ctrl+e", "f4"), "passage", priority=True),
    Action("provider", ("ctrl+o",), "passage", priority=True),
    Action("passage-target", ("ctrl+t",), "passage", priority=True),
    Action("directions", ("ctrl+n",), "passage", priority=True),
    Action("answer", ("f2",), "passage", priority=True),
    Action("brief", ("f3",), "passage", priority=True),
    Action("passage-take-back", ("f7",), "passage", priority=True),
    # a question of the prewriter
    Action("question-choose", ("space",), "question"),
    Action("question-skip", ("ctrl+n",), "question", priority=True),
    Action("question-write", ("ctrl+g", "f5"), "question", priority=True),
    # an agent on a fragment
    Action("agent-begin", ("ctrl+g", "f5"), "agent-run", priority=True),
    Action("agent-stop", ("ctrl+x",), "agent-run", priority=True),
    Action("agent-changes", ("f8", "enter"), "agent-run"),
    Action("agent-subject", ("ctrl+t",), "agent-run", priority=True),
    Action("agent-model", ("ctrl+o",), "agent-run", priority=True),
    Action("agent-view", ("f6",), "agent-run", priority=True),
    Action("agent-prompt", ("f2", "p"), "agent-run"),
    Action("agent-take-back", ("f7",), "agent-run", priority=True),
    Action("agent-thoughts", ("z",), "agent-run"),
    # a conversation
    Action("send", ("enter", "ctrl+g", "f5"), "chat", priority=True),
    Action("new-line", ("ctrl+j",), "chat", priority=True),
    Action("stop-answer", ("ctrl+x",), "chat", priority=True),
    Action("retry", ("ctrl+r",), "chat", priority=True),
    Action("conversations", ("ctrl+o",), "chat", priority=True),
    Action("new-chat", ("ctrl+n",), "chat", priority=True),
    Action("chat-model", ("ctrl+t",), "chat", priority=True),
    Action("persona", ("w",), "chat"),
    Action("changes", ("f8", "a"), "chat"),
    Action("chat-take-back", ("f7",), "chat", priority=True),
    Action("compact", ("f2", "s"), "chat"),
    Action("chat-prompt", ("p",), "chat"),
    Action("thoughts", ("z",), "chat"),
    Action("earlier", ("e",), "chat"),
    # anywhere
    Action("leave", ("q",), "list", same_as="quit"),
    Action("help", ("question_mark",), "list", same_as="keys"),
    Action("command-palette", ("ctrl+p",), "app", priority=True),
    Action("redraw", ("ctrl+l",), "app", priority=True),
    Action("keys", ("f1",), "app", priority=True),
    Action("quit", ("ctrl+q",), "app", priority=True),
)

PALETTE = next(action for action in ACTIONS if action.id == "command-palette")
"""The action that leads to every other."""


FIXED = (
    Action("keep-filter", ("enter",), "desk"),
    Action("open-agent", ("enter",), "desk"),
)
"""Keys of widgets that the key bar names; they can't be remapped, and are in no other list."""
_IN_FILTER = ("keep-filter", "back", "command-palette", "keys")
_IN_AGENTS = (
    "open-agent", "back", "model", "tools", "budget", "prompt", "compare", "story", "undo", "generate", "help",
)  # fmt: skip
"""What works while the filter is typed, and what is for an agent while the agents have the focus."""


def actions_in(*places: Place) -> Iterable[Action]:
    """The actions of some places, in the order of the registry."""
    return (action for action in ACTIONS if action.place in places)


_RENAMED = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
CHARACTERS = {
    character: _RENAMED.get(name, name)
    for character in string.punctuation
    for name in [unicodedata.name(character).lower().replace(" ", "_").replace("-", "_")]
}
"""What a user may write for a key, and what Textual calls it."""
_KEY_NAMES = {name: character for character, name in CHARACTERS.items()} | {
    "delete": "del",
    "escape": "esc",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
}


def key_name(key: str) -> str:
    """A key as it is printed: `/` for `slash`, `alt+↓` for `alt+down`."""
    head, plus, last = key.rpartition("+")
    return f"{head}{plus}{_KEY_NAMES.get(last, last)}"


def filter_keys(keymap: Keymap) -> list[tuple[str, str, Action]]:
    """What the key bar says while the filter of the block list is typed."""
    return _chosen_keys(keymap, _IN_FILTER)


def agent_keys(keymap: Keymap) -> list[tuple[str, str, Action]]:
    """What the key bar says while the agents have the focus."""
    return _chosen_keys(keymap, _IN_AGENTS)


def _chosen_keys(keymap: Keymap, ids: Iterable[str]) -> list[tuple[str, str, Action]]:
    fixed = {action.id: action for action in FIXED}
    by_id = {action.id: action for action in ACTIONS} | fixed
    return [
        (
            key_name(action.keys[0]) if action.id in fixed else keymap.shown(action),
            find(f"action.{action.id}.short") or action.word,
            action,
        )
        for action in map(by_id.__getitem__, ids)
    ]


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


def keys_now(
    keymap: Keymap, place: Place, first: Mapping[str, bool], for_some: Mapping[str, bool]
) -> list[tuple[str, str, Action]]:
    """As `bar_keys`, of the actions that have something to do: those in `first` before all others, those in `for_some`
    in their places, both only where that says so, and always the rest.
    """
    keys = [key for key in bar_keys(keymap, place) if {**for_some, **first}.get(key[2].id, True)]
    return sorted(keys, key=lambda key: key[2].id not in first)
