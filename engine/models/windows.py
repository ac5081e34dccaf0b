"""How much a model takes in one call: its context window, in tokens, prompt and answer together.

A provider's own entry says it, for one model or for all of its models; else the shipped list of well-known families
(`windows.toml`) does; else it is not known. A server on this machine or in this house is set up by its owner, often to
less than its model could take, and drops what is over without a word (spec provider-wire, its servers): of one only the
entry is believed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from engine.models import REHEARSAL
from engine.models.providers import Provider

Known = Literal["model", "provider", "family", "rehearsal", "local", "unknown"]
"""Who says it: the provider's entry for the model, the entry for all of its models, the shipped list, the list for the
rehearsal; not known, because the server is of one's own, or because nobody does."""

FILE: Final = Path(__file__).with_name("windows.toml")


@dataclass(frozen=True, slots=True)
class Window:
    """The context window of `model`: its `tokens`, None when not known, and the most an answer may have, if known.

    `known` says who says so; `file` and `field` where, or, of an entry that is missing, where it would be written.
    """

    model: str
    tokens: int | None
    max_output: int | None = None
    known: Known = "unknown"
    file: Path | None = None
    field: str = ""

    @property
    def source(self) -> str:
        """Where the size comes from, or why there is none, for a person."""
        place = f"{self.file}: {self.field}" if self.file is not None else ""
        return {
            "model": place,
            "provider": place,
            "family": "known of models of this name",
            "rehearsal": "the rehearsal's own",
            "local": "not known: a server of your own decides it; set `context` for it in providers.toml",
            "unknown": "not known; set `context` for its provider in providers.toml",
        }[self.known]


@dataclass(frozen=True, slots=True)
class Family:
    """Models of one maker that take the same: `match` are patterns of their names."""

    match: tuple[str, ...]
    context: int
    output: int | None = None


def window_of(provider: Provider, model: str | None) -> Window:
    """The window of a provider's model; that of the rehearsal, when neither is there."""
    name = model or provider.default_model or REHEARSAL
    own = next((entry for entry in provider.models if entry.id == name), None)
    family = _rehearsal() if name == REHEARSAL and provider.id == REHEARSAL else _family(name)
    local = is_own_server(provider.base_url)
    output = (own.max_output if own is not None else None) or provider.max_output
    if output is None and family is not None:
        output = family.output
    if own is not None and own.context is not None:
        return Window(name, own.context, output, "model", provider.file, own.field)
    if provider.context is not None:
        return Window(name, provider.context, output, "provider", provider.file, provider.field)
    if local or family is None:
        return Window(name, None, output, "local" if local else "unknown", provider.file, provider.field)
    return Window(name, family.context, output, "rehearsal" if name == REHEARSAL else "family")


def is_own_server(url: str) -> bool:
    """Whether an address is one of this machine or of a private network."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".lan", ".internal"))
    return address.is_private or address.is_loopback or address.is_unspecified


def families() -> Sequence[Family]:
    """The shipped list, in its order."""
    return _read()[1]


def _family(model: str) -> Family | None:
    name = model.rpartition("/")[2].lower()
    return next((item for item in families() if any(fnmatchcase(name, pattern) for pattern in item.match)), None)


def _rehearsal() -> Family:
    return _read()[0]


@cache
def _read() -> tuple[Family, tuple[Family, ...]]:
    import tomllib

    document = tomllib.loads(FILE.read_text("utf-8"))
    return _made(document["rehearsal"]), tuple(map(_made, document["family"]))


def _made(entry: Mapping[str, object]) -> Family:
    match, context, output = entry.get("match", ()), entry["context"], entry.get("output")
    if not (isinstance(match, list | tuple) and isinstance(context, int) and isinstance(output, int | None)):
        raise ValueError(f"{FILE}: {entry} is no family")
    return Family(tuple(match), context, output)
