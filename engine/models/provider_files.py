"""The two files that providers are read from, and changes to the user's own one.

The data folder's `config.json` is only read, and never copied: it holds keys in clear text (spec context-blocks,
section 1.13). The user's `providers.toml` is written whole or not at all, readable by the user alone; unknown keys and,
where an edit of the text can say the same, comments stay.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from engine.disk import FileCache, lock, read_bytes, write_atomic
from engine.errors import InvalidFile, Problem, StonehandError, WrongInput
from engine.models import REHEARSAL
from engine.models.providers import (
    Providers,
    check_id,
    check_url,
    check_variable,
    holds_password,
    is_temperature,
    is_token_count,
    parse_config,
    parse_own,
    parse_toml,
)
from engine.text import Phrase

MODE: Final = 0o600
CONFIG: Final = "config.json"
OWN: Final = "providers.toml"

_IN_ENVIRONMENT: Final = "keep the key in an environment variable and give its name, as OPENAI_API_KEY"


class ProviderFiles:
    """Providers of a data folder and of the user; read again only when a file changed. Thread-safe.

    A provider of the user's own file stands before one of the same id in the data folder, so that a key can come from
    the environment without a change to `config.json`.
    """

    def __init__(self, data: Path, config_folder: Path) -> None:
        self.config = data / CONFIG
        self.own = config_folder / OWN
        self._lock = threading.Lock()
        self._cached_config = FileCache(self.config, parse_config)
        self._cached_own = FileCache(self.own, parse_own)

    def load(self) -> Providers:
        """Every provider there is; what is wrong with the files is among its problems, and nothing is raised."""
        with self._lock:
            own, config = _loaded(self._cached_own), _loaded(self._cached_config)
        merged = own.merged(config)
        exposed = _exposed(self.own, own)
        return merged if exposed is None else _with_problem(merged, exposed)

    def add(
        self,
        provider_id: str,
        *,
        preset: str = "custom",
        name: str | None = None,
        base_url: str | None = None,
        default_model: str,
        key_variable: str | None = None,
        temperature: float | None = None,
        context: int | None = None,
        default: bool = False,
    ) -> None:
        """Add a provider to the user's own file; the first provider there is becomes the default.

        The key itself is never given: `key_variable` names the environment variable that holds it. Raises `WrongInput`
        for a value that is not acceptable or an id that is taken, `InvalidFile` for a file that can't be read.
        """
        from engine.models.wire.profiles import presets

        known = presets()
        if preset not in known:
            raise WrongInput(
                Phrase("there is no preset {preset!r}", preset=preset),
                repair=Phrase("presets: {known}", known=", ".join(known)),
            )
        url = base_url if base_url is not None else known[preset]
        if not url:
            raise WrongInput(
                Phrase("the preset {preset} has no address of its own", preset=preset), repair="give a base URL"
            )
        if fault := check_id(provider_id):
            raise WrongInput(Phrase("{provider_id!r} {fault}", provider_id=provider_id, fault=Phrase.of(fault)))
        # What may be a secret, put in the wrong place, is not shown.
        if holds_password(url):
            raise WrongInput("the base URL has a user name or password in it", repair=_IN_ENVIRONMENT)
        if fault := check_url(url):
            raise WrongInput(
                Phrase("the base URL {fault}", fault=Phrase.of(fault)),
                repair="give one that begins with https:// or http://",
            )
        if key_variable is not None and (fault := check_variable(key_variable)):
            raise WrongInput(
                Phrase("what was given as the key's variable {fault}", fault=Phrase.of(fault)), repair=_IN_ENVIRONMENT
            )
        if not default_model.strip():
            raise WrongInput("a provider needs a default model")
        if temperature is not None and not is_temperature(temperature):
            raise WrongInput(
                Phrase("{temperature!r} is no temperature", temperature=temperature), repair="give a number from 0 to 2"
            )
        if context is not None and not is_token_count(context):
            raise WrongInput(
                Phrase("{context!r} is no number of tokens", context=context), repair="give a whole number above 0"
            )
        given = {
            "name": name,
            "preset": preset,
            "base_url": url,
            "default_model": default_model,
            "api_key_env": key_variable,
            "temperature": temperature,
            "context": context,
        }
        entry = {key: value for key, value in given.items() if value is not None}
        becomes_default = default or self.load().default is None

        def change(document: dict[str, Any], text: str) -> tuple[dict[str, Any], str]:
            others = _table(document, self.own)
            if provider_id in others:
                raise WrongInput(
                    Phrase("there is a provider {provider_id!r} already", provider_id=provider_id),
                    repair="remove it first",
                )
            document = {**document, "providers": {**others, provider_id: entry}}
            text = _ended(text) + ("\n" if text else "") + _dumped({"providers": {provider_id: entry}})
            if becomes_default:
                document["default"] = provider_id
                text = _with_default(text, provider_id)
            return document, text

        self._edit(change)

    def remove(self, provider_id: str) -> str | None:
        """Remove a provider of the user's own file; returns the id that is the default there from then on, if any.

        When the default one is removed the first of those left becomes it (spec, section 1.13). Raises `NotFound`,
        `WrongInput` for one that is defined elsewhere, and `InvalidFile`.
        """
        default: str | None = None

        def change(document: dict[str, Any], text: str) -> tuple[dict[str, Any], str]:
            nonlocal default
            others = _table(document, self.own)
            if provider_id not in others:
                self._refuse_removal(provider_id)
            left = {key: value for key, value in others.items() if key != provider_id}
            document = {**document, "providers": left}
            text = _without_table(text, provider_id)
            if document.get("default") == provider_id:
                del document["default"]
                default = next(iter(left), None)
                if default is not None:
                    document["default"] = default
                text = _with_default(text, default)
            else:
                default = document.get("default")
            if not left:
                del document["providers"]
            return document, text

        self._edit(change)
        return default

    def make_default(self, provider_id: str) -> bool:
        """Make any provider the default one, in the user's own file; False when it is already.

        Raises `NotFound` and `InvalidFile`.
        """
        self.load().find(provider_id)
        return self._edit(
            lambda document, text: ({**document, "default": provider_id}, _with_default(text, provider_id))
        )

    def _refuse_removal(self, provider_id: str) -> None:
        provider = self.load().find(provider_id)
        if provider_id == REHEARSAL:
            raise WrongInput(Phrase("{rehearsal} is built in and can't be removed", rehearsal=REHEARSAL))
        raise WrongInput(
            Phrase(
                "{provider_id!r} is not defined in {own}, but in {file}",
                provider_id=provider_id,
                own=self.own,
                file=provider.file,
            ),
            repair="change that file",
        )

    def _edit(self, change: Callable[[dict[str, Any], str], tuple[dict[str, Any], str]]) -> bool:
        """Write what `change` makes of the document and of its text; of the two the document counts."""
        with lock(self.own):
            found = read_bytes(self.own)
            document = {} if found is None else parse_toml(found, self.own)
            wanted, text = change(document, "" if found is None else found.decode("utf-8-sig"))
            if wanted == document:
                return False
            if not _says(text, wanted):
                text = _dumped(wanted)
            write_atomic(self.own, text.encode("utf-8"), expected=found, mode=MODE)
            return True


def _loaded(cache: FileCache[Providers]) -> Providers:
    try:
        return cache.load()
    except StonehandError as error:
        return Providers(problems=(error.problem,))


def _exposed(file: Path, own: Providers) -> Problem | None:
    """What is wrong with the permissions of a file that holds keys itself."""
    if os.name != "posix" or not any(key.literal for provider in own.all for key in provider.secrets):
        return None
    with suppress(OSError):
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            return Problem("holds a key and can be read by others", file, repair=Phrase("chmod 600 {file}", file=file))
    return None


def _with_problem(providers: Providers, problem: Problem) -> Providers:
    return replace(providers, problems=(*providers.problems, problem))


def _table(document: Mapping[str, Any], file: Path) -> Mapping[str, Any]:
    table = document.get("providers", {})
    if not isinstance(table, dict):
        raise InvalidFile("is not a table", file=file, field="providers", repair="repair it in a text editor")
    return table


def _dumped(document: Mapping[str, Any]) -> str:
    import tomli_w

    return tomli_w.dumps(document)


def _says(text: str, document: Mapping[str, Any]) -> bool:
    """Whether an edited text means just this document."""
    import tomllib

    try:
        return tomllib.loads(text) == document
    except tomllib.TOMLDecodeError:
        return False


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _with_default(text: str, provider_id: str | None) -> str:
    """The text with its first line `default = …` replaced, put at the top, or taken out."""
    line = "" if provider_id is None else _dumped({"default": provider_id})
    edited, count = re.subn(r"(?m)^[ \t]*default[ \t]*=[^\n]*\n?", lambda _: line, text, count=1)
    if count or not line:
        return edited
    return line + ("\n" if text else "") + text


def _without_table(text: str, provider_id: str) -> str:
    """The text without `[providers.ID]` and the tables below it."""
    name = re.escape(provider_id)
    mine = re.compile(rf"""\s*\[\[?\s*providers\s*\.\s*(?:{name}|"{name}"|'{name}')\s*[.\]]""")

    def kept() -> Iterator[str]:
        inside = False
        for line in text.splitlines(keepends=True):
            if line.lstrip().startswith("["):
                inside = mine.match(line) is not None
            if not inside:
                yield line

    return "".join(kept())
