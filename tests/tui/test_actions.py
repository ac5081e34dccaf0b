"""The registry of actions: nothing without a method, nothing that clashes."""

from __future__ import annotations

import inspect

import pytest

from tui.actions import ACTIONS, FIXED, PLACES, Action, actions_in, bar_keys, key_name
from tui.app import StonehandApp
from tui.keymap import Keymap, meet
from tui.screens.agent_run import AgentRunScreen
from tui.screens.base import WorkingScreen
from tui.screens.chat import ChatScreen
from tui.screens.compare import CompareScreen
from tui.screens.desk import DeskScreen
from tui.screens.fragment_order import FragmentOrderScreen
from tui.screens.passage import PassageScreen
from tui.screens.prompt import PromptScreen
from tui.screens.question import QuestionDialog
from tui.screens.replay import ReplayScreen
from tui.screens.request import RequestScreen
from tui.screens.run_diff import RunDiffScreen
from tui.screens.runs import RunsScreen

OWNERS: dict[str, type] = {
    "app": StonehandApp,
    "desk": DeskScreen,
    "list": DeskScreen,
    "prompt": PromptScreen,
    "request": RequestScreen,
    "difference": CompareScreen,
    "compare": CompareScreen,
    "order": FragmentOrderScreen,
    "runs": RunsScreen,
    "run-diff": RunDiffScreen,
    "replay": ReplayScreen,
    "passage": PassageScreen,
    "question": QuestionDialog,
    "agent-run": AgentRunScreen,
    "chat": ChatScreen,
}
# Bound on widgets and screens beside the registry: moving in lists and texts, leaving a screen.
UNREGISTERED = {"leave", "step_pane", "switch_pane", "step", "help", "back"} | {action.method for action in FIXED}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_has_a_method(action: Action) -> None:
    assert callable(getattr(OWNERS[action.place], f"action_{action.method}", None))


@pytest.mark.parametrize("owner", sorted({*OWNERS.values()} - {StonehandApp}, key=str))
def test_every_method_of_ours_has_an_action(owner: type[WorkingScreen[object]]) -> None:
    registered = {action.method for action in ACTIONS if action.place in owner.places}
    own = {
        name.removeprefix("action_")
        for cls in owner.__mro__
        if cls.__module__.startswith("tui.")
        for name in vars(cls)
        if name.startswith("action_")
    }
    assert own - registered <= UNREGISTERED


def test_ids_are_unique_and_titles_are_short() -> None:
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    assert all(action.keys and action.place in PLACES and len(action.title) <= 60 for action in ACTIONS)
    known = {action.id for action in ACTIONS}
    assert all(set(action.together) <= known for action in ACTIONS)


def test_default_keys_do_not_clash() -> None:
    for one in ACTIONS:
        for other in ACTIONS:
            if one is not other and meet(one.place, other.place):
                assert not set(one.keys) & set(other.keys), (one.id, other.id)


def test_keys_of_a_text_editor_are_not_taken_from_it() -> None:
    taken = {key for action in actions_in("desk", "app") if action.priority for key in action.keys}
    assert not taken & {"ctrl+a", "ctrl+c", "ctrl+v", "ctrl+x", "ctrl+z", "ctrl+y", "ctrl+w", "ctrl+u", "ctrl+k"}


def test_the_key_bar_says_the_keys_in_force() -> None:
    bar = {word: keys for keys, word, _ in bar_keys(Keymap({"switch": "f7", "mode-before": "f6"}), "list")}
    assert bar["on/off"] == "f7"
    assert bar["mode"] == "n/f6/f/o"
    assert key_name("alt+down") == "alt+↓" and key_name("slash") == "/"


def test_the_registry_knows_no_textual() -> None:
    import tui.actions

    assert "textual" not in inspect.getsource(tui.actions).replace("Textual", "")
