"""Choosing provider, model and temperature for an agent: what is written to a story's `meta.json`, and taking it back.

Written as the reference does, in `settings.modelOverrides` under the agent's name (spec context-blocks, section 12.2):
another provider drops the model and temperature chosen before, and choosing a model also chooses the provider it is of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import EllipsisType
from typing import Any, Final

from engine.disk import json_line, read_bytes
from engine.errors import Conflict, InvalidFile, WrongInput
from engine.models.providers import Providers, field_name, is_temperature
from engine.models.resolution import LEGACY_FIELDS, OVERRIDES, SETTINGS, Resolution, resolve, spellings
from engine.story import StoryFolder
from engine.text import Phrase

META: Final = "meta.json"
_FIELDS: Final = ("providerId", "modelId", "temperature")


@dataclass(frozen=True, slots=True)
class ModelChange:
    """What a choice changed: `settings.modelOverrides` before and after, None where there was none, and the role's own
    settings of older stories that were cleared, by their names.
    """

    story: str
    role: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    legacy_before: Mapping[str, Any] = field(default_factory=dict)
    legacy_after: Mapping[str, Any] = field(default_factory=dict)


def resolve_in(folder: StoryFolder, providers: Providers, role: str) -> Resolution:
    """`resolve` for a story as it is on disk, whatever the branch. Raises what `StoryFolder.meta` does."""
    file = folder.path / META

    def line_of(path: tuple[str, ...]) -> int | None:
        return json_line((read_bytes(file) or b"").decode("utf-8-sig", "replace"), path)

    return resolve(folder.meta(), providers, role, file=file, line_of=line_of)


def choose(
    folder: StoryFolder,
    providers: Providers,
    role: str,
    *,
    provider: str | EllipsisType | None = ...,
    model: str | EllipsisType | None = ...,
    temperature: float | EllipsisType | None = ...,
) -> ModelChange | None:
    """Set what is given for an agent or role, in the story's `meta.json`; None inherits again, what is left out stays.

    What is to be inherited again is cleared in the role's own settings of older stories as well (spec, section 9),
    which would decide it otherwise; with their provider goes their model.

    Returns None when nothing changed. Raises `NotFound` for a provider that is not there, `WrongInput` for a value
    that is not acceptable, `InvalidFile` and `Conflict` as writing does; nothing is written then.
    """
    if isinstance(provider, str):
        providers.find(provider)
    if isinstance(model, str) and not model.strip():
        raise WrongInput("the model's name is blank", repair="leave it out to inherit one")
    if not isinstance(temperature, EllipsisType | None) and not is_temperature(temperature):
        raise WrongInput(
            Phrase("{temperature!r} is no temperature", temperature=temperature), repair="give a number from 0 to 2"
        )
    effective = resolve_in(folder, providers, role)
    changed: list[ModelChange] = []

    def change(document: dict[str, Any]) -> dict[str, Any]:
        overrides = _overrides(document, folder.path / META)
        current = _current(overrides, role)
        entry = dict(current)
        if not isinstance(provider, EllipsisType) and provider != entry.get("providerId"):
            entry = {**_unknown(entry), "providerId": provider}
        if not isinstance(model, EllipsisType):
            entry["modelId"] = model
            if model is not None and entry.get("providerId") is None and provider is not None and effective.configured:
                entry["providerId"] = effective.provider.id
        if not isinstance(temperature, EllipsisType):
            entry["temperature"] = temperature
        names = LEGACY_FIELDS.get(role, ())
        settings = document.get(SETTINGS) or {}
        given_up = names if provider is None else names[1:] if model is None else ()
        legacy = {name: settings[name] for name in given_up if settings.get(name) not in (None, "")}
        # An absent field means the same as null, which the reference may have written: only what is chosen is put down.
        if {**dict.fromkeys(_FIELDS), **entry} == {**dict.fromkeys(_FIELDS), **current}:
            if not legacy:
                return document
            changed.append(ModelChange(folder.id, role, overrides, overrides, legacy, dict.fromkeys(legacy)))
            return _with_overrides(document, overrides, dict.fromkeys(legacy))
        entry = {key: value for key, value in entry.items() if key not in _FIELDS or value is not None}
        after = _with_entry(overrides or {}, role, entry)
        changed.append(ModelChange(folder.id, role, overrides, after, legacy, dict.fromkeys(legacy)))
        return _with_overrides(document, after, dict.fromkeys(legacy))

    return changed[-1] if folder.edit_meta(change) else None


def clear(folder: StoryFolder, role: str) -> ModelChange | None:
    """Have an agent or role inherit everything again: its entry goes, unless there are unknown keys in it, which stay,
    and its own settings of older stories (spec, section 9) become null; those of the roles it inherits from stay.

    Returns None when it chose nothing. Raises `InvalidFile` and `Conflict` as writing does.
    """
    changed: list[ModelChange] = []

    def change(document: dict[str, Any]) -> dict[str, Any]:
        overrides = _overrides(document, folder.path / META)
        settings = document.get(SETTINGS) or {}
        legacy = {name: settings[name] for name in LEGACY_FIELDS.get(role, ()) if settings.get(name) not in (None, "")}
        after = overrides
        if overrides is not None and any(_chooses(overrides[key]) for key in spellings(role) if key in overrides):
            after = _with_entry(overrides, role, _unknown(_current(overrides, role)))
        elif not legacy:
            return document
        gone = dict.fromkeys(legacy)
        changed.append(ModelChange(folder.id, role, overrides, after, legacy, gone))
        return _with_overrides(document, after, gone)

    return changed[-1] if folder.edit_meta(change) else None


def undo_choice(folder: StoryFolder, change: ModelChange) -> ModelChange:
    """Take a change back; returns the change that does it again.

    Raises `Conflict`, and changes nothing, when the overrides are not as the change left them.
    """
    file = folder.path / META

    def restore(document: dict[str, Any]) -> dict[str, Any]:
        settings = document.get(SETTINGS) or {}
        same = all(settings.get(name) == value for name, value in change.legacy_after.items())
        if _overrides(document, file) != change.after or not same:
            raise Conflict("the models have been changed since", file=file, repair="set them anew")
        return _with_overrides(document, change.before, change.legacy_before)

    folder.edit_meta(restore)
    return ModelChange(
        change.story, change.role, change.after, change.before, change.legacy_after, change.legacy_before
    )


def _overrides(document: Mapping[str, Any], file: Path) -> dict[str, Any] | None:
    settings = document.get(SETTINGS, {})
    overrides = settings.get(OVERRIDES) if isinstance(settings, dict) else None
    for value, path in ((settings, (SETTINGS,)), (overrides, (SETTINGS, OVERRIDES))):
        if value is not None and not isinstance(value, dict):
            raise InvalidFile(
                "is not an object", file=file, field=field_name(path), repair="repair it in a text editor"
            )
    return overrides


def _current(overrides: Mapping[str, Any] | None, role: str) -> dict[str, Any]:
    """A role's entry: the one that counts, with the unknown keys of an older spelling's, which will be taken out."""
    found = [entry for key in spellings(role) if isinstance(entry := (overrides or {}).get(key), dict)]
    if not found:
        return {}
    first, *older = found
    return {**first, **{key: value for entry in older for key, value in _unknown(entry).items() if key not in first}}


def _unknown(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in _FIELDS}


def _chooses(entry: Any) -> bool:
    """Whether an entry is more than unknown keys; one that is empty, or none at all, is there to be removed."""
    return not isinstance(entry, dict) or not entry or any(key in entry for key in _FIELDS)


def _with_entry(overrides: Mapping[str, Any], role: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The overrides with a role's entry, under its newer spelling, in the place where it was; an empty one goes.

    An older spelling is taken out: the reference's code asks whichever stands first.
    """
    after: dict[str, Any] = {}
    names = spellings(role)
    for key, value in overrides.items():
        if key not in names:
            after[key] = value
        elif entry:
            after[role] = dict(entry)
    if entry:
        after.setdefault(role, dict(entry))
    return after


def _with_overrides(
    document: Mapping[str, Any], overrides: Mapping[str, Any] | None, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    settings = {**(document.get(SETTINGS) or {}), **(more or {})}
    if overrides is None:
        settings.pop(OVERRIDES, None)
    else:
        settings[OVERRIDES] = overrides
    return {**document, SETTINGS: settings}
