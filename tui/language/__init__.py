"""The texts of the interface, in the language its user reads.

`t("story.title")` is the text `title` of the catalogue `story.json`; `t("list.moved", name=name)` puts values into its
`{name}` fields, and a `count` of 1 takes the text `moved.one` where there is one. A field `{key:undo}` is the key in
force of the action `undo` (see `name_keys`). A catalogue is a flat JSON file for each area of the interface, in a
folder for each language, and is read when its first text is wanted. What another language lacks is said in English.
Values are put in as they are: what comes from outside must be made safe as everywhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from engine.errors import StonehandError, WrongInput
from engine.text import Phrase

ENGLISH = "en"
LANGUAGES: Mapping[str, str] = {ENGLISH: "English", "zh": "中文"}
"""Code to name, as its speakers write it."""

_FOLDER = Path(__file__).parent
_in_use = ENGLISH
_key_of: Callable[[str], str] | None = None


def t(key: str, /, **values: object) -> str:
    """The text of `key`, "area.name", with `values` in its fields; the key itself when no catalogue has it."""
    text = find(key, **values)
    return key if text is None else text


def find(key: str, /, **values: object) -> str | None:
    """As `t`, for a text that not everything has; None when no catalogue has it."""
    area, _, name = key.partition(".")
    names = (f"{name}.one", name) if values.get("count") == 1 else (name,)
    for language in dict.fromkeys((_in_use, ENGLISH)):
        texts = catalogue(language, area)
        for wanted in names:
            if wanted in texts:
                return _filled(texts[wanted], values)
    return None


class _Key:
    """The value of the field `key`: its format specification names an action, and it becomes that action's key."""

    def __format__(self, action_id: str) -> str:
        if _key_of is None:
            from tui.keymap import Keymap

            name_keys(Keymap().said)
        assert _key_of is not None
        key = _key_of(action_id)
        return find(f"keys.name.{key}") or key


_KEY = _Key()


def _filled(text: str, values: Mapping[str, object]) -> str:
    if "{key:" in text:
        return text.format_map({"key": _KEY, **values})
    return text.format_map(values) if values else text


def name_keys(key_of: Callable[[str], str]) -> None:
    """Name keys in texts from now on by `key_of`, which gives the key to show for the id of an action."""
    global _key_of
    _key_of = key_of


def of_engine(text: str) -> str:
    """A text that the engine says in English, such as an agent's name or why a block is not sent.

    The catalogue `engine` of another language has what it is in that language, by the English text, for a `Phrase` by
    its template; the catalogue `system` what the system's reasons of a failure are. What is not there is said in
    English.
    """
    texts = catalogue(_in_use, "engine")
    if not isinstance(text, Phrase):
        return texts.get(text, text)
    values = {name: of_engine(value) if isinstance(value, Phrase) else value for name, value in text.values.items()}
    template = texts.get(text.template) or catalogue(_in_use, "system").get(text.template) or text.template
    return template.format_map(values)


def of_error(error: BaseException) -> str:
    """A failure for its user in one line: where, what, and what to do about it."""
    if isinstance(error, StonehandError):
        return of_engine(error.problem.told())
    return f"{type(error).__name__}: {error}"


class LazyText:
    """A text to be said later, in the language that is in use then: `str` of it is `t(key, **values)`."""

    def __init__(self, key: str, /, **values: object) -> None:
        self.key = key
        self.values = values

    def __str__(self) -> str:
        return t(self.key, **self.values)

    def __repr__(self) -> str:
        return f"LazyText({self.key!r}, {self.values!r})"


def use(language: str) -> None:
    """Say everything in `language` from now on. Raises WrongInput for one that there are no catalogues of."""
    global _in_use
    if language not in LANGUAGES:
        raise WrongInput(f"there is no language {language!r}", repair=f"choose one of {', '.join(LANGUAGES)}")
    _in_use = language


def in_use() -> str:
    """The code of the language in use."""
    return _in_use


def of_locale(environ: Mapping[str, str]) -> str:
    """The language that the locale in `environ` asks for; English when there are no catalogues of it."""
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    language = locale.partition(".")[0].partition("_")[0].casefold()
    return language if language in LANGUAGES else ENGLISH


@cache
def catalogue(language: str, area: str) -> Mapping[str, str]:
    """The texts of an area in a language; empty when it has none."""
    try:
        texts: dict[str, str] = json.loads((_FOLDER / language / f"{area}.json").read_bytes())
    except FileNotFoundError:
        return {}
    return texts
