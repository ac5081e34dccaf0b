"""The key map: what a user chose, what can't work and is told, and that the defaults arrive everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tui import language
from tui.actions import ACTIONS, Action
from tui.keymap import Keymap, load_keymap, undeliverable

# Spec terminal, section 6.2: chords, and where they arrive as themselves. The first pattern that matches counts.
TERMINALS = ("xterm, Windows Terminal", "tmux, screen", "macOS Terminal", "PuTTY, rxvt")
ARRIVES = (
    (r"ctrl\+(h|i|m|left_square_bracket)", ()),
    (r"(ctrl|shift|alt)\+enter", ()),
    (r"ctrl\+shift\+.*", ()),
    (r"(alt|ctrl)\+(up|down)", ("xterm, Windows Terminal", "tmux, screen")),
    (r"ctrl\+[abs]", ("xterm, Windows Terminal", "macOS Terminal", "PuTTY, rxvt")),
    (r"ctrl\+[a-z]", TERMINALS),
    (r"f([1-9]|10)", TERMINALS),
    (r"up|down|left|right|home|end|pageup|pagedown|tab|enter|escape|space|delete", TERMINALS),
    (r"[^\W_]|[a-z]+(_[a-z]+)+|slash|asterisk", TERMINALS),
)


def arrives(key: str) -> tuple[str, ...]:
    return next(places for pattern, places in ARRIVES if re.fullmatch(pattern, key))


def by_id(action_id: str) -> Action:
    return next(action for action in ACTIONS if action.id == action_id)


def told(keymap: Keymap) -> list[str]:
    return [str(problem) for problem in keymap.problems]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_default_keys_arrive_everywhere(action: Action) -> None:
    assert all(arrives(key) for key in action.keys)
    assert not any(undeliverable(key) for key in action.keys)
    assert any(arrives(key) == TERMINALS for key in action.keys), f"{action.id} can't be reached in every terminal"


@pytest.mark.parametrize("key", ["ctrl+h", "ctrl+i", "ctrl+m", "ctrl+left_square_bracket", "alt+enter", "ctrl+enter",
                                 "shift+enter", "ctrl+shift+x", "ctrl+X", "shift+j", "ctrl+1", "super+s"])  # fmt: skip
def test_keys_that_terminals_do_not_send_are_no_only_key(key: str) -> None:
    assert undeliverable(key) is not None
    keymap = Keymap({"duplicate": key})
    assert len(told(keymap)) == 1 and "it can't be the only key of “Duplicate the block”" in told(keymap)[0]
    assert keymap.keys(by_id("duplicate")) == ("D",)
    beside = Keymap({"duplicate": f"{key},F6"})
    assert "there is no key F6" in told(beside)[0], "names are as Textual has them"
    beside = Keymap({"duplicate": f"{key},f6"})
    assert told(beside) == [] and beside.keys(by_id("duplicate")) == (key, "f6")


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


def test_a_clash_names_both_actions_and_takes_nothing_away() -> None:
    keymap = Keymap({"generate": "p,ctrl+g", "add": "p"})
    clash = "p is already the key of “Read the compiled prompt” (prompt): it is left out of "
    assert told(keymap) == [
        f"{clash}“Run this agent” (generate)",
        f"{clash}“Add a block behind this one” (add)",
    ]
    assert keymap.keys(by_id("prompt")) == ("p",)
    assert keymap.keys(by_id("generate")) == ("ctrl+g",)
    assert keymap.keys(by_id("add")) == ("a",), "the default stays"


def test_an_action_that_lost_its_keys_is_in_the_palette() -> None:
    keymap = Keymap({"add": "y", "copy": "a"})
    assert keymap.problems == []
    keymap = Keymap({"prompt": "a", "add": "enter"})
    assert keymap.keys(by_id("add")) == ()
    assert "“Add a block behind this one” (add) has no key left: it is in the command palette, ctrl+p" in told(keymap)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("fly", "f6", "there is no action fly"),
        ("move-dwn", "f6", "did you mean move-down?"),
        ("add", 7, "needs a text"),
        ("add", "", "needs a text"),
        ("add", "foo", "there is no key foo"),
        ("add", "cltr+a", "there is no key cltr+a"),
        ("add", "ctrl+m", "arrives as enter"),
        ("add", "enter", "moves in lists and texts"),
        ("save", "w", "is needed to type text"),
        ("save", "space", "is needed to type text"),
        ("save", "!", "is needed to type text"),
        ("begin", "ctrl+p", "already the key of “Command palette”"),
    ],
)
def test_choices_that_will_not_work(name: str, value: object, problem: str) -> None:
    keymap = Keymap({name: value})
    assert len(told(keymap)) == 1 and problem in told(keymap)[0]
    assert keymap.overrides() == {}


def test_screens_that_never_meet_share_keys() -> None:
    assert Keymap({"next-match": "ctrl+n", "carry": "ctrl+n"}).problems == []
    assert Keymap({"search": "g"}).problems == []


def test_the_users_file(tmp_path: Path) -> None:
    assert load_keymap(tmp_path).problems == []
    file = tmp_path / "keymap.toml"
    file.write_text('generate = "f6"\n# mine\n"move-down" = "ctrl+n"\nfly = "z"\n', "utf-8")
    keymap = load_keymap(tmp_path)
    assert keymap.keys(by_id("generate")) == ("f6",)
    assert told(keymap) == [f"{file}:4: there is no action fly"]
    file.write_text("generate = \n", "utf-8")
    assert len(load_keymap(tmp_path).problems) == 1 and str(file) in told(load_keymap(tmp_path))[0]
    file.write_bytes(b"\xff\xfe")
    assert len(load_keymap(tmp_path).problems) == 1


def test_the_file_of_the_old_name_is_read_and_told(tmp_path: Path) -> None:
    old = tmp_path / "keys.toml"
    old.write_text('generate = "f6"\n', "utf-8")
    keymap = load_keymap(tmp_path)
    assert keymap.keys(by_id("generate")) == ("f6",)
    assert told(keymap) == [f"{old} is now called keymap.toml: please rename it"]
    (tmp_path / "keymap.toml").write_text('generate = "f10"\n', "utf-8")
    keymap = load_keymap(tmp_path)
    assert keymap.keys(by_id("generate")) == ("f10",)
    assert told(keymap) == [f"{old} is ignored, for keymap.toml is there"]


def test_problems_are_told_in_the_language_in_use() -> None:
    keymap = Keymap({"add": "p"})
    language.use("zh")
    try:
        assert told(keymap) == ["p 已是“阅读编译后的提示词”（prompt）的按键：未用于“在此块之后添加新块”（add）"]
    finally:
        language.use("en")
