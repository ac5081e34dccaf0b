"""Providers, and what stories name of them: settings that no request can be made with (spec, sections 1.13 and 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.agents import roles
from engine.disk import json_line
from engine.doctor.finding import Finding, JsonSource, mapped
from engine.models.providers import Providers
from engine.models.resolution import ALIASES, OVERRIDES, SETTINGS, resolve, spellings
from engine.story import StoryMeta


def provider_findings(providers: Providers) -> Iterator[Finding]:
    """What is wrong with the files that providers are read from, and a default one that can't be used."""
    yield from map(Finding.of, providers.problems)
    default = providers.default
    if default is None:
        return
    provider = providers.get(default)
    if provider is None or not provider.enabled:
        state = "is not there" if provider is None else "is disabled"
        yield Finding(
            f"the default provider {default!r} {state}",
            providers.default_file,
            providers.default_field,
            providers.default_line,
            repair="choose another default, or add or enable it",
        )


def model_findings(story: Path, meta: StoryMeta, providers: Providers) -> Iterator[Finding]:
    """What a story says of models that is passed over when an agent's is looked up, each once."""
    source = JsonSource(story / "meta.json")
    settings = mapped(meta.raw.get(SETTINGS))
    overrides = mapped(settings.get(OVERRIDES))
    known = roles()
    for key in overrides:
        if ALIASES.get(key, key) not in known:
            yield source.found(
                f"there is no agent or role {key}, so this changes nothing",
                (SETTINGS, OVERRIDES, key),
                "take it out, or give it the name of the agent that was meant",
            )
    yield from _hidden(source, overrides)
    text = (source.data or b"").decode("utf-8-sig", "replace")
    told: set[str] = set()
    for role in sorted(known):
        for problem in resolve(meta, providers, role, file=source.file, line_of=lambda p: json_line(text, p)).problems:
            if problem.file == source.file and problem.field not in told:
                told.add(problem.field)
                yield Finding.of(problem)


def _hidden(source: JsonSource, overrides: Mapping[str, Any]) -> Iterator[Finding]:
    """Entries under an older name whose agent has one under the newer, which counts alone (spec, section 9)."""
    for role in dict.fromkeys(ALIASES.values()):
        there = [key for key in spellings(role) if overrides.get(key) is not None]
        for key in there[1:]:
            if overrides[key] != {}:
                yield source.found(
                    f"{there[0]} is the newer name of the same and has an entry too, so this one changes nothing",
                    (SETTINGS, OVERRIDES, key),
                    f"take over what is wanted of it into {there[0]}, and take it out",
                )
