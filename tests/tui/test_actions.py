"""The registry of actions and the key map: nothing without a method, nothing undeliverable, nothing that clashes."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tui.actions import _UNDELIVERABLE, ACTIONS, PLACES, Action, Keymap, _meet, actions_in, bar_keys, key_name
from tui.app import StonehandApp, load_keymap
from tui.screens.compare import CompareScreen
from tui.screens.desk import DeskScreen
from tui.screens.passage import PassageScreen
from tui.screens.prompt import PromptScreen

OWNERS: dict[str, type] = {
    "app": StonehandApp,
    "desk": DeskScreen,
    "list": DeskScreen,
    "prompt": PromptScreen,
    "compare": CompareScreen,
    "passage": PassageScreen,
}
# Bound on widgets and screens beside the registry: moving in lists and texts, leaving a screen.
UNREGISTERED = {"leave", "step_pane", "help", "back"}


def by_id(action_id: str) -> Action:
    return next(action for action in ACTIONS if action.id == action_id)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_has_a_method(action: Action) -> None:
    assert callable(getattr(OWNERS[action.place], f"action_{action.method}", None))


@pytest.mark.parametrize("owner", [DeskScreen, PromptScreen, CompareScreen, PassageScreen])
def test_every_method_of_ours_has_an_action(owner: type) -> None:
    places = {place for place, holder in OWNERS.items() if holder is owner}
    registered = {action.method for action in ACTIONS if action.place in places}
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


def test_default_keys_arrive_everywhere() -> None:
    for action in ACTIONS:
        first = action.keys[0]
        assert not set(action.keys) & set(_UNDELIVERABLE), action.id
        assert not first.startswith(("alt+", "shift+", "ctrl+shift+")), f"{action.id}: {first} is no key to rely on"


def test_default_keys_do_not_clash() -> None:
    for one in ACTIONS:
        for other in ACTIONS:
            if one is not other and _meet(one.place, other.place):
                assert not set(one.keys) & set(other.keys), (one.id, other.id)


def test_keys_of_a_text_editor_are_not_taken_from_it() -> None:
    taken = {key for action in actions_in("desk", "app") if action.priority for key in action.keys}
    assert not taken & {"ctrl+a", "ctrl+c", "ctrl+v", "ctrl+x", "ctrl+z", "ctrl+y", "ctrl+w", "ctrl+u", "ctrl+k"}


def test_choosing_keys() -> None:
    keymap = Keymap({"generate": "ctrl+g", "filter": "/,F"})
    assert keymap.problems == []
    assert keymap.keys(by_id("generate")) == ("ctrl+g",)
    assert keymap.keys(by_id("filter")) == ("slash", "F"), "a character stands for its key"
    assert keymap.overrides() == {"generate": "ctrl+g", "filter": "slash,F"}


def test_two_actions_can_change_places() -> None:
    keymap = Keymap({"move-down": "K", "move-up": "J"})
    assert keymap.problems == []
    assert (keymap.keys(by_id("move-down")), keymap.keys(by_id("move-up"))) == (("K",), ("J",))


def test_a_clash_is_told_and_takes_nothing_away() -> None:
    keymap = Keymap({"generate": "p,ctrl+g", "add": "p"})
    assert len(keymap.problems) == 2 and all("is already the key of" in problem for problem in keymap.problems)
    assert keymap.keys(by_id("prompt")) == ("p",)
    assert keymap.keys(by_id("generate")) == ("ctrl+g",)
    assert keymap.keys(by_id("add")) == ("a",), "the default stays"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("fly", "f9", "there is no action 'fly'"),
        ("add", 7, "needs a text"),
        ("add", "", "needs a text"),
        ("add", "ctrl+m", "arrives as enter"),
        ("add", "enter", "a key of the lists"),
        ("begin", "ctrl+p", "already the key of command-palette"),
    ],
)
def test_choices_that_will_not_work(name: str, value: object, problem: str) -> None:
    keymap = Keymap({name: value})
    assert len(keymap.problems) == 1 and problem in keymap.problems[0]


def test_screens_that_never_meet_share_keys() -> None:
    assert Keymap({"next-match": "J2", "carry": "n2"}).problems == []
    assert Keymap({"search": "g"}).problems == []


def test_the_key_bar_says_the_keys_in_force() -> None:
    bar = {word: keys for keys, word, _ in bar_keys(Keymap({"switch": "t", "mode-before": "B"}), "list")}
    assert bar["on/off"] == "t"
    assert bar["mode"] == "n/B/f/o"
    assert key_name("alt+down") == "alt+↓" and key_name("slash") == "/"


def test_the_users_file(tmp_path: Path) -> None:
    assert load_keymap(tmp_path).problems == []
    file = tmp_path / "keys.toml"
    file.write_text('generate = "f9"\n"move-down" = "ctrl+n"\n', "utf-8")
    assert load_keymap(tmp_path).keys(by_id("generate")) == ("f9",)
    file.write_text("generate = \n", "utf-8")
    assert len(load_keymap(tmp_path).problems) == 1 and str(file) in load_keymap(tmp_path).problems[0]
    file.write_bytes(b"\xff\xfe")
    assert len(load_keymap(tmp_path).problems) == 1


def test_the_registry_knows_no_textual() -> None:
    import tui.actions

    assert "textual" not in inspect.getsource(tui.actions).replace("Textual", "")
