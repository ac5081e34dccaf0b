"""Texts name the keys in force: with every key remapped, none of the default keys is named any more."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from itertools import chain

import pytest

from tui import language
from tui.actions import ACTIONS
from tui.keymap import Keymap, meet
from tui.language import LANGUAGES, catalogue, t

FIXED = {
    "action": {"chat-prompt.help", "order-carry.title", "run-filter.help", "why-line.help"},
    "branches": {"section-hint"},
    "budget": {"keys", "fit-maybe", "fit-no"},
    "chat": {"delete-key", "new-key", "plan.decline", "plan.later", "rename-key", "retried"},
    "conflict": {"all-mine", "all-theirs", "hint"},
    "dialog": {"choose"},
    "editor": {"completion_keys"},
    "exchange": {"copy-hint", "window-scroll"},
    "help": {"hint", "introduction", "signs"},
    "keymap": {"no-text"},
    "model": {"keys", "name-keys", "no-key"},
    "order": {"carrying"},
    "passage": {
        "directions-leave",
        "directions-others",
        "question-later",
        "seconds",
    },
    "preview": {"done"},
    "runs": {"seconds", "usage-keys"},
    "story": {"hint", "filter", "new", "rename", "delete"},
    "text": {"replace_all", "too_large_to_type"},
    "tools": {"keys"},
}
"""Texts that name keys which can't be remapped, as those of the dialogs, or no key but a sign."""
WORDS = {"a", "delete", "enter", *string.digits, "?", "/"}
"""Keys that are words, numbers and signs of texts as well, or mean something in every list."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    language.use("en")
    language.name_keys(Keymap().said)


def remapped() -> Keymap:
    """Every action on a key that is no default."""
    keys = [f"alt+{char}" for char in string.ascii_letters] + [f"f{number}" for number in range(10, 25)]
    chosen: dict[str, str] = {}
    for action in ACTIONS:
        taken = {chosen[other.id] for other in ACTIONS if other.id in chosen and meet(other.place, action.place)}
        chosen[action.id] = next(key for key in keys if key not in taken)
    keymap = Keymap(chosen)
    assert not keymap.problems and set(keymap.overrides()) == {action.id for action in ACTIONS}
    return keymap


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_text_names_a_default_key_once_all_are_remapped(code: str) -> None:
    keymap = Keymap()
    language.use(code)
    said = {keymap.said(action.id) for action in ACTIONS}
    shown = set(chain(said, (t(f"keys.name.{key}") for key in ("esc", "space")))) - WORDS
    names = "|".join(map(re.escape, sorted(shown, key=len, reverse=True)))
    key = re.compile(rf"(?<![\w+'’$<=/*:.-])(?:{names})(?![\w+'’=/*-])", re.ASCII)
    language.name_keys(remapped().said)
    found: dict[str, set[str]] = {}
    for area in {area.stem for area in language._FOLDER.joinpath("en").glob("*.json")} - {"keys"}:
        for name, text in catalogue(code, area).items():
            parsed = string.Formatter().parse(text)
            fields = {field: "·" for _, field, spec, _ in parsed if field and not (field == "key" and spec)}
            if key.search(language._filled(re.sub(r"\{(\w+):,\}", r"{\1}", text), fields)):
                found.setdefault(area, set()).add(name)
    assert {area: names for area, names in found.items() if names - FIXED.get(area, set())} == {}


def test_every_key_that_a_text_names_is_of_an_action() -> None:
    ids = {action.id for action in ACTIONS}
    for code in LANGUAGES:
        for area in {area.stem for area in language._FOLDER.joinpath(code).glob("*.json")}:
            for name, text in catalogue(code, area).items():
                assert set(re.findall(r"\{key:([^}]*)\}", text)) <= ids, f"{code} {area}.{name}"


def test_an_action_that_lost_its_key_is_named_by_its_title() -> None:
    language.name_keys(Keymap({"undo": "D", "copy": "u", "add": "ctrl+z"}).said)
    assert t("exchange.reset-done", agents="writer") == "reset writer; “Undo” brings it back"
