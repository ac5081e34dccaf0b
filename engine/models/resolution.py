"""Which provider, model and temperature an agent is run with, and what decided each. Pure.

Source: seed, "Model Resolution"; spec context-blocks, section 9 (its walk of the chain, where the seed is brief).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from engine.errors import Problem
from engine.models import REHEARSAL
from engine.models.providers import (
    REHEARSAL_PROVIDER,
    Provider,
    Providers,
    field_name,
    is_temperature,
)
from engine.story import StoryMeta
from engine.text import Phrase

TERMINAL_ROLE: Final = "generation"
"""Where every fallback chain ends."""

ALIASES: Final[Mapping[str, str]] = {
    "characterChat": "character-chat.chat",
    "librarianChat": "librarian.chat",
    "librarianRefine": "librarian.refine",
    "proseTransform": "librarian.prose-transform",
    "prewriter": "generation.prewriter",
}
"""Older spellings of keys in `modelOverrides`; where both are there, the newer one counts."""

LEGACY_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "generation": ("providerId", "modelId"),
    "librarian": ("librarianProviderId", "librarianModelId"),
    "character-chat": ("characterChatProviderId", "characterChatModelId"),
    "librarian.prose-transform": ("proseTransformProviderId", "proseTransformModelId"),
    "librarian.chat": ("librarianChatProviderId", "librarianChatModelId"),
    "librarian.refine": ("librarianRefineProviderId", "librarianRefineModelId"),
    "directions": ("directionsProviderId", "directionsModelId"),
}
"""Settings of older stories that name a provider and a model."""

DEFAULT_MAX_OUTPUT_TOKENS: Final = 8192
SETTINGS: Final = "settings"
OVERRIDES: Final = "modelOverrides"


@dataclass(frozen=True, slots=True)
class Decision:
    """What decided one value: a field of a file, or, where there is none, `reason` alone.

    `role` is the agent or role whose entry in `modelOverrides` it is, empty for what is decided elsewhere; `legacy`
    the one whose setting of older stories (`LEGACY_FIELDS`) it is.
    """

    what: Literal["provider", "model", "temperature"]
    value: str | float | None
    file: Path | None = None
    field: str = ""
    reason: str = ""
    role: str = ""
    legacy: str = ""

    @property
    def source(self) -> str:
        """The file's path and the field in it, and the reason, as much as there is."""
        place = f"{self.file}: {self.field}" if self.file is not None else ""
        return f"{place} ({self.reason})" if place and self.reason else place or self.reason


@dataclass(frozen=True, slots=True)
class Resolution:
    """What an agent is run with. `model` is None with the rehearsal, which has none; `temperature` None is unset.

    `explain` has one decision for provider, model and temperature each, in that order; `problems` are settings that
    were passed over, and the reason when no provider can be used. `temperature_for` is the provider that the story's
    temperature was chosen with, None where it counts with any.
    """

    role: str
    chain: tuple[str, ...]
    provider: Provider
    model: str | None
    temperature: float | None
    max_output_tokens: int
    disable_thinking: bool
    explain: tuple[Decision, Decision, Decision]
    problems: tuple[Problem, ...] = ()
    temperature_for: str | None = None

    @property
    def configured(self) -> bool:
        """Whether a real provider was found."""
        return self.provider.id != REHEARSAL

    @property
    def wire(self) -> str:
        """The name of the wire that serves it: the provider's id, or the rehearsal's name where none was found."""
        return self.provider.id


@dataclass(frozen=True, slots=True)
class Override:
    """One usable entry of `modelOverrides`, under the key it is spelled with in the file."""

    key: str
    provider: str | None = None
    model: str | None = None
    temperature: float | None = None


def role_chain(role: str) -> tuple[str, ...]:
    """The keys that are asked in turn: the role, what is left of it without its last segment, …, `generation`."""
    parts = role.split(".")
    chain = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return tuple(chain) if chain[-1] == TERMINAL_ROLE else (*chain, TERMINAL_ROLE)


def spellings(role: str) -> tuple[str, ...]:
    """The keys under which an override of exactly this role may stand, the one that counts first."""
    return (role, *(old for old, new in ALIASES.items() if new == role))


def resolve(
    meta: StoryMeta,
    providers: Providers,
    role: str,
    *,
    file: Path,
    line_of: Callable[[tuple[str, ...]], int | None] = lambda path: None,
) -> Resolution:
    """Provider, model and temperature for an agent (or one of the roles it inherits from).

    `file` is the story's `meta.json`, to be named; `line_of` finds a path in it, and is only asked for problems.
    Nothing is raised: with no usable provider the result is the rehearsal, and a problem says why.
    """
    return _Walk(meta, providers, role, file, line_of).resolution()


class _Walk:
    def __init__(
        self,
        meta: StoryMeta,
        providers: Providers,
        role: str,
        file: Path,
        line_of: Callable[[tuple[str, ...]], int | None],
    ) -> None:
        self._meta = meta
        self._providers = providers
        self._role = role
        self._chain = role_chain(role)
        self._file = file
        self._line_of = line_of
        self._problems: list[Problem] = []
        settings = meta.raw.get(SETTINGS)
        self._settings: Mapping[str, Any] = settings if isinstance(settings, dict) else {}
        self._overrides = self._read_overrides()
        self._provider_path: tuple[str, ...] = ()

    def resolution(self) -> Resolution:
        wanted, model, temperature = self._walk()
        provider, by = self._usable(wanted)
        if provider.id == REHEARSAL:
            model = Decision("model", None, reason="the rehearsal has no model")
        elif model is None or (wanted is not None and provider.id != wanted.value):
            # One that stands in for another is not asked for the other's model.
            default = provider.default_model
            model = Decision("model", default, provider.file, provider.default_model_field, "the provider's default")
        if temperature is None and provider.temperature is not None:
            field = f"{provider.field}.temperature"
            temperature = Decision("temperature", provider.temperature, provider.file, field, "the provider's")
        if temperature is None:
            temperature = Decision("temperature", None, reason="not set: the provider decides")
        settings = self._meta.settings
        return Resolution(
            role=self._role,
            chain=self._chain,
            provider=provider,
            model=None if model.value is None else str(model.value),
            temperature=None if temperature.value is None else float(temperature.value),
            max_output_tokens=settings.max_output_tokens or DEFAULT_MAX_OUTPUT_TOKENS,
            disable_thinking=settings.disable_thinking,
            explain=(by, model, temperature),
            problems=tuple(self._problems),
            temperature_for=self._overrides[temperature.role].provider if temperature.role else provider.id,
        )

    def _walk(self) -> tuple[Decision | None, Decision | None, Decision | None]:
        """Provider, model and temperature as the story has them."""
        provider: Decision | None = None
        model: Decision | None = None
        temperature: Decision | None = None
        for key in self._chain:
            override = self._overrides.get(key)
            if override is not None:
                if override.model is not None and model is None:
                    model = self._decision("model", override.model, key, override.key, "modelId")
                if override.provider is not None:
                    provider = self._decision("provider", override.provider, key, override.key, "providerId")
                    self._provider_path = (SETTINGS, OVERRIDES, override.key, "providerId")
                    temperature = self._temperature(key)
                    break
            if key in LEGACY_FIELDS:
                provider_field, model_field = LEGACY_FIELDS[key]
                if (named := self._text((SETTINGS, provider_field), self._settings.get(provider_field))) is not None:
                    provider = self._legacy("provider", named, provider_field, key)
                    self._provider_path = (SETTINGS, provider_field)
                    older = self._text((SETTINGS, model_field), self._settings.get(model_field))
                    model = None if older is None else self._legacy("model", older, model_field, key)
                    break
        if temperature is None:
            found = (self._temperature(key) for key in self._chain)
            temperature = next((decision for decision in found if decision is not None), None)
        return provider, model, temperature

    def _usable(self, wanted: Decision | None) -> tuple[Provider, Decision]:
        """The provider that was asked for, else the default one, else the rehearsal."""
        because = Phrase("no provider is set for it")
        if wanted is not None:
            provider = self._providers.get(str(wanted.value))
            if provider is not None and provider.enabled:
                return provider, wanted
            state = Phrase("is not there" if provider is None else "is disabled")
            because = Phrase("{provider} {state}", provider=wanted.value, state=state)
            self._problems.append(
                Problem(
                    Phrase(
                        "the provider {value!r} {state}, so the default one is used", value=wanted.value, state=state
                    ),
                    wanted.file,
                    wanted.field,
                    self._line_of(self._provider_path),
                    repair="choose another, or add or enable it",
                )
            )
        default = self._providers.default
        if default is not None and (wanted is None or default != wanted.value):
            provider = self._providers.get(default)
            if provider is not None and provider.enabled:
                file, field = self._providers.default_file, self._providers.default_field
                reason = Phrase("the default: {because}", because=because)
                return provider, Decision("provider", default, file, field, reason)
            state = Phrase("is not there" if provider is None else "is disabled")
            self._problems.append(
                Problem(
                    Phrase("the default provider {default!r} {state}", default=default, state=state),
                    self._providers.default_file,
                    self._providers.default_field,
                    self._providers.default_line,
                    repair="choose another default",
                )
            )
        self._problems.append(
            Problem(
                "no LLM provider is configured that can be used", repair="add one, or enable one and make it default"
            )
        )
        return REHEARSAL_PROVIDER, Decision("provider", REHEARSAL, reason="no provider can be used")

    def _decision(
        self, what: Literal["provider", "model", "temperature"], value: str | float, key: str, spelled: str, field: str
    ) -> Decision:
        reason = "" if key == self._role else Phrase("inherited from {key}", key=key)
        return Decision(what, value, self._file, field_name((SETTINGS, OVERRIDES, spelled, field)), reason, key)

    def _legacy(self, what: Literal["provider", "model"], value: str, field: str, key: str) -> Decision:
        reason = "a setting of older stories"
        return Decision(what, value, self._file, field_name((SETTINGS, field)), reason, legacy=key)

    def _temperature(self, key: str) -> Decision | None:
        override = self._overrides.get(key)
        if override is None or override.temperature is None:
            return None
        return self._decision("temperature", override.temperature, key, override.key, "temperature")

    def _read_overrides(self) -> Mapping[str, Override]:
        """The overrides of the chain's keys by their newer spelling."""
        given = self._settings.get(OVERRIDES)
        if given is None:
            return {}
        if not isinstance(given, dict):
            self._report((SETTINGS, OVERRIDES), "is not an object, so no model is overridden")
            return {}
        found: dict[str, Override] = {}
        for key in self._chain:
            for spelled in spellings(key):
                entry = given.get(spelled)
                if entry is not None:
                    found[key] = self._override(spelled, entry)
                    break
        return found

    def _override(self, key: str, entry: Any) -> Override:
        path = (SETTINGS, OVERRIDES, key)
        if not isinstance(entry, dict):
            self._report(path, "is not an object, so it changes nothing")
            return Override(key)
        temperature = entry.get("temperature")
        if temperature is not None and not is_temperature(temperature):
            self._report((*path, "temperature"), "is not a number from 0 to 2, so it changes nothing")
            temperature = None
        return Override(
            key,
            self._text((*path, "providerId"), entry.get("providerId")),
            self._text((*path, "modelId"), entry.get("modelId")),
            temperature,
        )

    def _text(self, path: tuple[str, ...], value: Any) -> str | None:
        if value is None or value == "":
            return None
        if isinstance(value, str):
            return value
        self._report(path, "is not a text, so it changes nothing")
        return None

    def _report(self, path: tuple[str, ...], message: str) -> None:
        self._problems.append(Problem(message, self._file, field_name(path), self._line_of(path)))
