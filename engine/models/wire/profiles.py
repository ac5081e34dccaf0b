"""Profiles: what a provider and a model of it accept, and how they want it said. Data, in `profiles.toml`.

A profile decides how a request is written and an answer read, never where it goes: the address is the provider's base
URL in `config.json` or `providers.toml`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args
from urllib.parse import urlsplit

from engine.models.wire.base import EFFORTS, Effort
from engine.text import Phrase

if TYPE_CHECKING:
    from engine.models.providers import Provider

FILE: Final = Path(__file__).with_name("profiles.toml")

WireFormat = Literal["openai-chat", "anthropic-messages"]
SystemRule = Literal["anywhere", "first", "field", "developer", "user"]
Shaping = Literal["none", "merge", "semi-strict", "strict", "single"]
ReasoningStyle = Literal["off", "effort", "object", "toggle", "adaptive", "budget", "template"]
Replay = Literal[
    "none", "reasoning_content_with_tools", "reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"
]
Caching = Literal["none", "breakpoints"]
Auth = Literal["bearer", "x-api-key"]

PARAMETERS: Final = (
    "max_output_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "seed",
    "stop",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "verbosity",
    "cache_key",
    "reasoning",
)
"""Parameters of a request, by the names a profile knows them under."""

USAGE: Final = ("input", "output", "cached", "cache_written", "reasoning", "cost")
VERSION: Final = "{version}"
"""At the beginning of a path: /v1 where the base URL ends in no version."""
RESERVED_BODY: Final = frozenset(("model", "messages", "system", "stream", "tools"))
"""What `extra_body` can't replace."""
RESERVED_HEADERS: Final = frozenset(("authorization", "x-api-key", "host", "content-length", "content-type"))


@dataclass(frozen=True, slots=True)
class Profile:
    """The keys of `profiles.toml`, which explains them."""

    wire: WireFormat
    accepts: tuple[str, ...]
    refuses: tuple[str, ...]
    refuses_while_reasoning: tuple[str, ...]
    names: Mapping[str, str]
    max_output_default: int
    system: SystemRule
    shaping: Shaping
    placeholder: str
    prefill: bool
    reasoning: ReasoningStyle
    efforts: tuple[Effort, ...]
    thinks_by_default: bool
    reasoning_fields: tuple[str, ...]
    replay_reasoning: Replay
    cache: Caching
    stream_usage: bool
    usage: Mapping[str, tuple[str, ...]]
    truncates_front: bool
    idle_timeout: float
    auth: Auth
    path: str
    models_path: str
    headers: Mapping[str, str]
    extra_body: Mapping[str, Any] = field(repr=False)

    def name_of(self, parameter: str) -> str:
        """What the provider calls a parameter."""
        return self.names.get(parameter, parameter)

    def takes(self, parameter: str, *, reasoning: bool = False) -> bool:
        """Whether a parameter may be sent, in a request that asks the model to think, or in any."""
        refused = parameter in self.refuses or (reasoning and parameter in self.refuses_while_reasoning)
        return parameter in self.accepts and not refused


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that may be running on this machine: its usual port, and how its list of models names it."""

    preset: str
    port: int
    owner: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a profile, at which key of it."""

    key: tuple[str, ...]
    message: str


def presets() -> Mapping[str, str]:
    """The base URLs of well-known services and servers, by preset; `custom` has none."""
    return _shipped().presets


def local_servers() -> tuple[LocalServer, ...]:
    """The servers that are looked for on this machine."""
    return _shipped().local


def profile_of(provider: Provider, model: str) -> Profile:
    """The profile of a provider's model: the rules that hold, then what the provider's own entry says."""
    service, name = service_of(provider.preset, provider.base_url), model.lower()
    values: dict[str, Any] = {}
    for rule in _shipped().rules:
        if rule.holds(service, name):
            values |= rule.values
    values |= _frozen(provider.profile)
    for declared in provider.models:
        if declared.id == model:
            values |= _frozen(declared.profile)
    return Profile(**values)


def service_of(preset: str, base_url: str) -> str:
    """The preset whose rules hold for a base URL; the host says more than the preset that was chosen."""
    from engine.models.windows import is_own_server

    shipped = _shipped()
    host = _host(base_url)
    own = is_own_server(base_url)
    if not own:
        for name, url in shipped.presets.items():
            if url and _host(url) == host:
                return name
    if preset not in ("", "custom"):
        return preset
    if own:
        port = urlsplit(base_url).port
        for server in shipped.local:
            if server.port == port:
                return server.preset
    return "custom"


def url_of(base_url: str, path: str) -> str:
    """The address of a path below a base URL, whose query stays."""
    parts = urlsplit(base_url)
    base = parts.path.rstrip("/")
    version = "" if re.search(r"/v\d+\w*$", base) else "/v1"
    return parts._replace(path=base + path.replace(VERSION, version, 1), fragment="").geturl()


def faults(given: Any) -> Iterator[Fault]:
    """What is wrong with a profile as a user writes one; nothing when it can be used."""
    if not isinstance(given, Mapping):
        yield Fault((), "is not a table")
        return
    for key, value in given.items():
        check = _CHECKS.get(key)
        if check is None:
            yield Fault((key,), Phrase("is no setting of a profile; there are {known}", known=", ".join(_CHECKS)))
        elif (wanted := check(value)) != "":
            yield Fault((key,), Phrase("is not {wanted}", wanted=Phrase.of(wanted)))


@dataclass(frozen=True, slots=True)
class _Rule:
    service: tuple[str, ...]
    model: tuple[str, ...]
    values: Mapping[str, Any]

    def holds(self, service: str, model: str) -> bool:
        if self.service and service not in self.service:
            return False
        return not self.model or any(fnmatchcase(model, pattern) for pattern in self.model)


@dataclass(frozen=True, slots=True)
class _Shipped:
    presets: Mapping[str, str]
    local: tuple[LocalServer, ...]
    rules: tuple[_Rule, ...]


@cache
def _shipped() -> _Shipped:
    import tomllib

    document = tomllib.loads(FILE.read_text("utf-8"))
    local = tuple(LocalServer(item["preset"], item["port"], tuple(item["owner"])) for item in document["local"])
    rules = []
    for entry in document["rule"]:
        values = {key: value for key, value in entry.items() if key not in ("service", "model")}
        rules.append(_Rule(tuple(entry.get("service", ())), tuple(entry.get("model", ())), _frozen(values)))
    return _Shipped(MappingProxyType(document["presets"]), local, tuple(rules))


def _frozen(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a profile with lists as tuples; of `usage`, which is a table of lists, too."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, list):
            value = tuple(value)
        elif key == "usage":
            value = {name: tuple(places) for name, places in value.items()}
        found[key] = value
    if "usage" in found:
        found["usage"] = {name: found["usage"].get(name, ()) for name in USAGE}
    return found


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


# --- checking ------------------------------------------------------------------------------------------------------

Check = Callable[[Any], str]
"""What a value should have been; the empty string when it is."""


def _one_of(*words: str) -> Check:
    return lambda value: "" if value in words else Phrase("one of {words}", words=", ".join(words))


def _some_of(*words: str) -> Check:
    def check(value: Any) -> str:
        good = isinstance(value, list) and all(isinstance(item, str) and item in words for item in value)
        return "" if good else Phrase("a list of {words}", words=", ".join(words))

    return check


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _text(value: Any) -> str:
    return "" if isinstance(value, str) and value.strip() else "a text"


def _texts(value: Any) -> str:
    return (
        "" if isinstance(value, list) and all(isinstance(item, str) and item for item in value) else "a list of texts"
    )


def _count(value: Any) -> str:
    good = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return "" if good else "a whole number of tokens"


def _seconds(value: Any) -> str:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 86_400
    return "" if good else "a number of seconds above 0"


def _path(value: Any) -> str:
    path = value.removeprefix(VERSION) if isinstance(value, str) else ""
    good = path.startswith("/") and not path.startswith("//")
    good = good and not any(sign in path for sign in ("..", "?", "#", "\\", "@", " ", "{"))
    return "" if good else Phrase("a path that begins with a single /, or with {version}/", version=VERSION)


def _names(value: Any) -> str:
    good = isinstance(value, dict) and all(
        key in PARAMETERS and isinstance(name, str) and name and name not in RESERVED_BODY
        for key, name in value.items()
    )
    return "" if good else Phrase("a table from {words} to the provider's names", words=", ".join(PARAMETERS))


def _usage(value: Any) -> str:
    good = isinstance(value, dict) and all(key in USAGE and _texts(places) == "" for key, places in value.items())
    return "" if good else Phrase("a table from {words} to lists of places", words=", ".join(USAGE))


def _headers(value: Any) -> str:
    good = isinstance(value, dict) and all(
        isinstance(text, str) and name.lower() not in RESERVED_HEADERS for name, text in value.items()
    )
    return "" if good else Phrase("a table of texts without {words}", words=", ".join(sorted(RESERVED_HEADERS)))


def _body(value: Any) -> str:
    if not isinstance(value, dict) or RESERVED_BODY & value.keys():
        return Phrase("a table without {words}", words=", ".join(sorted(RESERVED_BODY)))
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return "a table of what JSON can say: no dates, no infinite numbers"
    return ""


_CHECKS: Final[Mapping[str, Check]] = {
    "wire": _one_of(*get_args(WireFormat)),
    "accepts": _some_of(*PARAMETERS),
    "refuses": _some_of(*PARAMETERS),
    "refuses_while_reasoning": _some_of(*PARAMETERS),
    "names": _names,
    "max_output_default": _count,
    "system": _one_of(*get_args(SystemRule)),
    "shaping": _one_of(*get_args(Shaping)),
    "placeholder": _text,
    "prefill": _flag,
    "reasoning": _one_of(*get_args(ReasoningStyle)),
    "efforts": _some_of(*EFFORTS),
    "thinks_by_default": _flag,
    "reasoning_fields": _texts,
    "replay_reasoning": _one_of(*get_args(Replay)),
    "cache": _one_of(*get_args(Caching)),
    "stream_usage": _flag,
    "usage": _usage,
    "truncates_front": _flag,
    "idle_timeout": _seconds,
    "auth": _one_of(*get_args(Auth)),
    "path": _path,
    "models_path": _path,
    "headers": _headers,
    "extra_body": _body,
}
