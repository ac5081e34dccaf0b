"""Providers: who answers a request, with which model by default, and where their key is.

They are read from two files: the data folder's `config.json`, which belongs to the reference (spec context-blocks,
section 1.13) and is never written here, and the user's own `providers.toml`:

    default = "openai"

    [providers.openai]
    preset = "openai"                  # fills in base_url
    base_url = "https://api.openai.com/v1"
    default_model = "gpt-5"
    api_key_env = "OPENAI_API_KEY"     # or key = "env:OPENAI_API_KEY"
    temperature = 0.7
    headers = { X-Title = "Stonehand" }
    context = 400000                   # tokens its models take, prompt and answer together
    max_output = 128000                # tokens an answer may have
    models = ["gpt-5", "gpt-5-mini"]   # to choose from; or a table each, where they differ:

    [providers.openai.models."gpt-5-mini"]
    context = 200000

    [providers.openai.profile]         # how it differs from what is known of it (wire/profiles.toml); of a model, too
    shaping = "strict"

In `config.json` these last three are `contextWindow`, `maxOutput` and a list `models` of names, or of objects with an
`id` and the two others. An entry that can't be used is reported with its field and line and left out; the others stand.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeGuard
from urllib.parse import urlsplit

from engine.disk import json_line, parse_json, read_bytes
from engine.errors import InvalidFile, NotFound, Problem, StonehandError
from engine.models import REHEARSAL
from engine.models.secret import Secret
from engine.text import Phrase, did_you_mean

ENV_PREFIX: Final = "env:"
TEMPERATURES: Final = (0.0, 2.0)

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_KEY_START = re.compile(
    r"(?:sk|pk|rk|xai|pplx|nvapi|fw|key|csk|tgp)-\S"
    r"|(?:sk|pk|rk|gsk|hf|r8|fw|ghp|gho|ghs|github_pat|tgp_v1|xox[abp])_\w{12}|AIza\w{12}|AKIA\w{12}|eyJ\w{12}|Bearer\s"
)
_KEY_RUN = re.compile(r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{20}|[A-Za-z0-9]{40}")
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|bearer", re.IGNORECASE)

PathInFile = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """Where a secret is: in the environment `variable` when one is named, else in the file, else nowhere."""

    variable: str = ""
    literal: Secret | None = None

    def value(self, environ: Mapping[str, str] = os.environ) -> Secret | None:
        """The secret as it is now; None where there is none, or the variable is not set."""
        if self.variable:
            found = environ.get(self.variable)
            return Secret(found) if found else None
        return self.literal


NO_KEY: Final = Key()


@dataclass(frozen=True, slots=True)
class DeclaredModel:
    """A model that a provider's entry names, with its sizes in tokens where it says them; `field` is where.

    `profile` is what its profile says differently (see `engine.models.wire.profiles`).
    """

    id: str
    context: int | None = None
    max_output: int | None = None
    field: str = ""
    profile: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Provider:
    """One way to a model. `file` and `field` say where it is defined; the rehearsal is in no file.

    `models` are those its entry names to choose from; `context` and `max_output` the tokens of any model that has no
    figures of its own there; `profile` is what the profile of all its models says differently.
    """

    id: str
    name: str
    base_url: str = dataclasses.field(repr=False)  # it may hold a password
    default_model: str
    preset: str = "custom"
    key: Key = NO_KEY
    enabled: bool = True
    headers: Mapping[str, Key] = dataclasses.field(default_factory=dict)
    temperature: float | None = None
    context: int | None = None
    max_output: int | None = None
    models: tuple[DeclaredModel, ...] = ()
    profile: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    file: Path | None = None
    field: str = ""
    default_model_field: str = ""

    @property
    def shown_url(self) -> str:
        """The base URL without a user name and password, and without a query, which may hold a key."""
        parts = urlsplit(self.base_url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()

    @property
    def secrets(self) -> tuple[Key, ...]:
        """Its key and the values of its headers."""
        return (self.key, *self.headers.values())


REHEARSAL_PROVIDER: Final = Provider(REHEARSAL, "Rehearsal (no model)", "", "", preset=REHEARSAL)


@dataclass(frozen=True, slots=True)
class Providers:
    """All providers, the rehearsal last; the id of the default one, with the file, field and line that name it."""

    all: tuple[Provider, ...] = (REHEARSAL_PROVIDER,)
    default: str | None = None
    default_file: Path | None = None
    default_field: str = ""
    default_line: int | None = None
    problems: tuple[Problem, ...] = ()

    def get(self, provider_id: str) -> Provider | None:
        """The provider of this id, or None."""
        return next((provider for provider in self.all if provider.id == provider_id), None)

    def find(self, provider_id: str) -> Provider:
        """The provider of this id. Raises `NotFound` with the ids there are."""
        provider = self.get(provider_id)
        if provider is None:
            names = {provider.id: (provider.name,) for provider in self.all}
            repair = Phrase("{close}providers: {known}", close=did_you_mean(provider_id, names), known=", ".join(names))
            raise NotFound(Phrase("there is no provider {provider_id!r}", provider_id=provider_id), repair=repair)
        return provider

    def merged(self, other: Providers) -> Providers:
        """These and, behind them, those of `other` whose id is not among them; the first default there is."""
        mine = [provider for provider in self.all if provider.id != REHEARSAL]
        ids = {provider.id for provider in mine}
        named = self if self.default is not None else other
        return Providers(
            (*mine, *(provider for provider in other.all if provider.id not in ids)),
            named.default,
            named.default_file,
            named.default_field,
            named.default_line,
            (*self.problems, *other.problems),
        )


def parse_config(file: Path, data: bytes | None) -> Providers:
    """Providers of the reference's `config.json`. Nothing is raised: what is wrong is among the problems."""
    if data is None:
        return Providers()
    try:
        document = parse_json(data, file)
    except StonehandError as error:
        return Providers(problems=(error.problem,))
    text = data.decode("utf-8-sig", "replace")
    reader = _Reader(file, lambda path: json_line(text, path))
    entries: list[tuple[PathInFile, str, Any]] = []
    if not isinstance(document, dict):
        reader.report((), "an object was expected, so no providers were read")
        document = {}
    given = document.get("providers")
    if isinstance(given, list):
        for index, entry in enumerate(given):
            provider_id = entry.get("id") if isinstance(entry, dict) else None
            if isinstance(provider_id, str) and provider_id:
                entries.append((("providers", index), provider_id, entry))
            else:
                reader.report(("providers", index), "has no id, so it was left out")
    elif given is not None:
        reader.report(("providers",), "is not a list, so no providers were read")
    return reader.providers(entries, _CONFIG, document.get("defaultProviderId"), ("defaultProviderId",))


def parse_toml(data: bytes, file: Path) -> dict[str, Any]:
    """The document in a TOML file. Raises `InvalidFile` with the line."""
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidFile("is not UTF-8 text", file=file, line=line, repair="save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).partition(" (at line ")
        number = place.partition(",")[0]
        message = Phrase("is not valid TOML: {reason}", reason=f"{reason[:1].lower()}{reason[1:]}")
        at = int(number) if number.isdecimal() else None
        raise InvalidFile(message, file=file, line=at, repair="repair it in a text editor") from None


def parse_own(file: Path, data: bytes | None) -> Providers:
    """Providers of the user's `providers.toml`. Nothing is raised: what is wrong is among the problems."""
    if data is None:
        return Providers()
    try:
        document = parse_toml(data, file)
    except StonehandError as error:
        return Providers(problems=(error.problem,))
    text = data.decode("utf-8-sig")
    reader = _Reader(file, lambda path: toml_line(text, path))
    entries: list[tuple[PathInFile, str, Any]] = []
    given = document.get("providers")
    if isinstance(given, dict):
        entries = [(("providers", provider_id), provider_id, entry) for provider_id, entry in given.items()]
    elif given is not None:
        reader.report(("providers",), "is not a table, so no providers were read")
    return reader.providers(entries, _OWN, document.get("default"), ("default",))


def preset_url(preset: str) -> str:
    """The base URL of a preset; the empty string where it has none."""
    from engine.models.wire.profiles import presets

    return presets().get(preset, "")


def check_id(provider_id: str) -> str:
    """What is wrong with an id for a new provider; the empty string when nothing is."""
    if provider_id == REHEARSAL:
        return "is the name of the rehearsal, which is always there"
    if not _ID.fullmatch(provider_id):
        return "is no id: use letters, digits, dots, dashes and underscores"
    return ""


def check_url(url: str) -> str:
    """What is wrong with a base URL; the empty string when nothing is."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError for one that is no number
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", url)
    except ValueError:
        good = False
    return "" if good else "is not an http(s) URL"


def holds_password(url: str) -> bool:
    """Whether a URL has a user name or password in it."""
    return "@" in url.partition("://")[2].partition("/")[0]


def check_variable(name: str) -> str:
    """What is wrong with the name of an environment variable; the empty string when nothing is.

    A name that looks like a key is refused: a name is stored and shown, a key never is.
    """
    if looks_like_key(name):
        return "looks like a key, not like the name of an environment variable"
    return "" if _VARIABLE.fullmatch(name) else "is not the name of an environment variable"


def looks_like_key(text: str) -> bool:
    """Whether a text is probably a secret: it begins as keys of known services do, or has a long run of letters and
    digits that no name has.
    """
    return _KEY_START.match(text) is not None or _KEY_RUN.search(text) is not None


def is_temperature(value: Any) -> bool:
    """Whether a value is a temperature that the reference accepts."""
    low, high = TEMPERATURES
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def is_token_count(value: Any) -> TypeGuard[int]:
    """Whether a value is a size in tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def toml_line(text: str, path: Sequence[str | int]) -> int | None:
    """The 1-based line of a key below `[providers.…]` headers; where it is written otherwise, the line of its table,
    else None.
    """
    best: int | None = None
    depth = -1
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            table = _dotted(header[1])
            found = table
        elif entry := re.match(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""", line):
            found = (*table, *_dotted(entry[1]))
        else:
            continue
        if len(found) > depth and tuple(path[: len(found)]) == found:
            best, depth = number, len(found)
    return best


def _dotted(name: str) -> tuple[str, ...]:
    parts = re.findall(r"""[\w-]+|"[^"]*"|'[^']*'""", name)
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in parts)


@dataclass(frozen=True, slots=True)
class _Format:
    """What the two files call the same things."""

    base_url: str
    default_model: str
    headers: str
    context: str
    max_output: str


_CONFIG: Final = _Format("baseURL", "defaultModel", "customHeaders", "contextWindow", "maxOutput")
_OWN: Final = _Format("base_url", "default_model", "headers", "context", "max_output")
_OWN_KEYS: Final = frozenset(
    ("name", "preset", "base_url", "default_model", "api_key_env", "key", "enabled", "headers", "temperature")
) | {"context", "max_output", "models", "profile"}


class _Reader:
    """Takes providers out of a document and notes what is malformed, never quoting a value that may be a secret."""

    def __init__(self, file: Path, line_of: Callable[[PathInFile], int | None]) -> None:
        self._file = file
        self._line_of = line_of
        self._problems: list[Problem] = []

    def report(self, path: PathInFile, message: str, repair: str = "") -> None:
        self._problems.append(Problem(message, self._file, field_name(path), self._line_of(path), repair))

    def providers(
        self, entries: Sequence[tuple[PathInFile, str, Any]], form: _Format, default: Any, default_path: PathInFile
    ) -> Providers:
        found: dict[str, Provider] = {}
        for path, provider_id, entry in entries:
            if provider_id in found:
                self.report(
                    path, Phrase("is a second provider {provider_id!r}, so it was left out", provider_id=provider_id)
                )
            elif provider_id == REHEARSAL:
                self.report(
                    path,
                    Phrase("{rehearsal} is built in, so it was left out", rehearsal=REHEARSAL),
                    "give it another id",
                )
            elif (provider := self._provider(path, provider_id, entry, form)) is not None:
                found[provider_id] = provider
        if default is not None and not (isinstance(default, str) and default):
            self.report(default_path, "is not the id of a provider, so there is no default")
            default = None
        named = default is not None
        return Providers(
            (*found.values(), REHEARSAL_PROVIDER),
            default,
            self._file if named else None,
            field_name(default_path) if named else "",
            self._line_of(default_path) if named else None,
            tuple(self._problems),
        )

    def _provider(self, path: PathInFile, provider_id: str, entry: Any, form: _Format) -> Provider | None:
        if not isinstance(entry, dict):
            self.report(path, "is not a table of settings, so it was left out")
            return None
        before = len(self._problems)

        def take(key: str, good: Callable[[Any], bool], default: Any, wanted: str) -> Any:
            value = entry.get(key)
            if value is None:
                return default
            if good(value):
                return value
            empty = good is _is_text and isinstance(value, str)
            fault = Phrase("is empty") if empty else Phrase("is not {wanted}", wanted=Phrase.of(wanted))
            self.report(
                (*path, key),
                Phrase("{fault}, so {provider_id!r} was left out", fault=fault, provider_id=provider_id),
            )
            return default

        preset = take("preset", _is_text, "custom", "a text")
        url = take(form.base_url, _is_text, "", "a text")
        if not url and form is _OWN:
            url = preset_url(preset)
        model = take(form.default_model, _is_text, "", "a text")
        if len(self._problems) == before:
            if (fault := check_url(url)) != "":
                fault = fault if url else "is missing"
                self.report(
                    (*path, form.base_url),
                    Phrase("{fault}, so {provider_id!r} was left out", fault=Phrase.of(fault), provider_id=provider_id),
                )
            if not model:
                self.report(
                    (*path, form.default_model),
                    Phrase("is missing, so {provider_id!r} was left out", provider_id=provider_id),
                )
        key = self._own_key(path, provider_id, entry) if form is _OWN else self._api_key(path, provider_id, entry)
        headers = take(form.headers, _are_headers, {}, "a table of texts")
        temperature = take("temperature", is_temperature, None, "a number from 0 to 2")
        provider = Provider(
            id=provider_id,
            name=take("name", _is_text, provider_id, "a text"),
            base_url=url,
            default_model=model,
            preset=preset,
            key=key,
            enabled=take("enabled", lambda value: isinstance(value, bool), True, "true or false"),
            headers={name: _reference(value, form is _OWN) for name, value in headers.items()},
            temperature=temperature,
            file=self._file,
            field=field_name(path),
            default_model_field=field_name((*path, form.default_model)),
        )
        if len(self._problems) > before:
            return None
        if form is _OWN:
            self._misnamed_keys(path, entry)
        return dataclasses.replace(
            provider,
            context=self._tokens(path, form.context, entry),
            max_output=self._tokens(path, form.max_output, entry),
            models=self._models(path, entry.get("models"), form),
            profile=self._profile(path, entry) if form is _OWN else {},
        )

    def _models(self, path: PathInFile, given: Any, form: _Format) -> tuple[DeclaredModel, ...]:
        """The models an entry names. What is malformed is reported and passed over: the provider can be used."""
        path = (*path, "models")
        entries: list[tuple[PathInFile, Any, Any]] = []
        if isinstance(given, dict):
            entries = [((*path, name), name, sizes) for name, sizes in given.items()]
        elif isinstance(given, list):
            for index, item in enumerate(given):
                name = item.get("id") if isinstance(item, dict) else item
                entries.append(((*path, index), name, item if isinstance(item, dict) else {}))
        elif given is not None:
            self.report(path, "is neither a list of models nor a table of them, so it is not used")
        found: dict[str, DeclaredModel] = {}
        for place, name, sizes in entries:
            if not _is_text(name) or not isinstance(sizes, dict):
                self.report(place, "is no model, so it is not used")
                continue
            context, output = (self._tokens(place, key, sizes) for key in (form.context, form.max_output))
            profile = self._profile(place, sizes) if form is _OWN else {}
            found.setdefault(name, DeclaredModel(name, context, output, field_name(place), profile))
        return tuple(found.values())

    def _profile(self, path: PathInFile, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        """What an entry says of its profile. What is malformed is reported and passed over."""
        given = entry.get("profile")
        if given is None:
            return {}
        from engine.models.wire.profiles import faults

        unusable = set()
        for fault in faults(given):
            unusable.add(fault.key)
            self.report((*path, "profile", *fault.key), Phrase("{message}, so it is not used", message=fault.message))
        return {} if () in unusable else {key: value for key, value in given.items() if (key,) not in unusable}

    def _tokens(self, path: PathInFile, key: str, entry: Mapping[str, Any]) -> int | None:
        value = entry.get(key)
        if value is None or is_token_count(value):
            return value
        self.report((*path, key), "is not a whole number of tokens above 0, so it is not used")
        return None

    def _misnamed_keys(self, path: PathInFile, entry: Mapping[str, Any]) -> None:
        """Report settings that are none, and seem to be meant for the key; the provider is used without them."""
        for name, value in entry.items():
            if name in _OWN_KEYS or not _is_text(value):
                continue
            if _SECRET_NAME.search(name) or looks_like_key(value):
                names_variable = value.isupper() and check_variable(value) == ""
                self.report(
                    (*path, name),
                    "is no setting of a provider, so it is not used",
                    "write api_key_env, which names an environment variable"
                    if names_variable
                    else "write key, or better api_key_env, which names an environment variable",
                )

    def _api_key(self, path: PathInFile, provider_id: str, entry: Mapping[str, Any]) -> Key:
        """The key; an empty one, as a server of one's own may have it, is none."""
        value = entry.get("apiKey")
        if isinstance(value, str):
            return Key(literal=Secret(value)) if _is_text(value) else NO_KEY
        fault = "is missing" if value is None else "is not a text"
        self.report(
            (*path, "apiKey"),
            Phrase("{fault}, so {provider_id!r} was left out", fault=Phrase.of(fault), provider_id=provider_id),
        )
        return NO_KEY

    def _own_key(self, path: PathInFile, provider_id: str, entry: Mapping[str, Any]) -> Key:
        """A key is optional here: a server of one's own may need none."""
        variable, key = entry.get("api_key_env"), entry.get("key")
        if variable is not None and key is not None:
            self.report(
                (*path, "key"),
                Phrase("there is api_key_env as well, so {provider_id!r} was left out", provider_id=provider_id),
                "keep one",
            )
        elif variable is not None:
            if isinstance(variable, str) and check_variable(variable) == "":
                return Key(variable)
            self.report(
                (*path, "api_key_env"),
                Phrase("is no name of a variable, so {provider_id!r} was left out", provider_id=provider_id),
            )
        elif _is_text(key):
            found = _reference(key, True)
            if not key.startswith(ENV_PREFIX) or check_variable(found.variable) == "":
                return found
            self.report(
                (*path, "key"),
                Phrase("names no environment variable, so {provider_id!r} was left out", provider_id=provider_id),
            )
        elif key is not None:
            fault = "is empty" if isinstance(key, str) else "is not a text"
            self.report(
                (*path, "key"),
                Phrase("{fault}, so {provider_id!r} was left out", fault=Phrase.of(fault), provider_id=provider_id),
            )
        return NO_KEY


def field_name(path: Sequence[str | int]) -> str:
    """A place in a file as it is read: `providers[0].apiKey`, `settings.modelOverrides["librarian.chat"].modelId`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[\w-]+", part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def line_of_field(file: Path, field: str) -> int | None:
    """The 1-based line of a field, named as `field_name` does, in a JSON or TOML file as it is now; None when it is not
    found, or the file can't be read.
    """
    path: PathInFile = tuple(
        int(found["index"]) if found["index"] else found["quoted"] or found["plain"]
        for found in re.finditer(r"""\[(?P<index>\d+)\]|\["(?P<quoted>.*?)"\]|(?P<plain>[\w-]+)""", field)
    )
    try:
        text = (read_bytes(file) or b"").decode("utf-8-sig")
    except (StonehandError, UnicodeDecodeError):
        return None
    return toml_line(text, path) if file.suffix == ".toml" else json_line(text, path)


def _reference(text: str, references: bool) -> Key:
    """`env:NAME` as the variable it names, in a file that has `references`; anything else as the secret itself."""
    if references and text.startswith(ENV_PREFIX):
        return Key(text.removeprefix(ENV_PREFIX))
    return Key(literal=Secret(text))


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _are_headers(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
