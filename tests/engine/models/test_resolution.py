"""Model resolution: the spec's section 9 and case 50 of its section 13."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agents import agents
from engine.models.providers import Providers, parse_config
from engine.models.resolution import ALIASES, LEGACY_FIELDS, Resolution, resolve, role_chain
from engine.story.meta import parse_meta
from tests.engine.models.test_providers import JSON, config, entry

META = Path("stories/s/meta.json")
PROVIDERS = config(
    entry("a", defaultModel="a-model"),
    entry("b", defaultModel="b-model", temperature=0.9),
    entry("off", enabled=False),
    defaultProviderId="a",
)


def resolved(role: str, settings: Any, providers: Providers = PROVIDERS) -> Resolution:
    meta = parse_meta(META, json.dumps({"name": "S", "settings": settings}).encode())
    return resolve(meta, providers, role, file=META)


def values(resolution: Resolution) -> tuple[str, str | None, float | None]:
    return resolution.provider.id, resolution.model, resolution.temperature


def fields(resolution: Resolution) -> list[str]:
    return [decision.field for decision in resolution.explain]


@pytest.mark.parametrize(
    ("role", "chain"),
    [
        ("librarian.chat", ("librarian.chat", "librarian", "generation")),
        ("generation.prewriter", ("generation.prewriter", "generation")),
        ("character-chat.chat", ("character-chat.chat", "character-chat", "generation")),
        ("directions.suggest", ("directions.suggest", "directions", "generation")),
        ("generation", ("generation",)),
        ("a.b.c", ("a.b.c", "a.b", "a", "generation")),
    ],
)
def test_case_50_fallback_chains(role: str, chain: tuple[str, ...]) -> None:
    assert role_chain(role) == chain
    assert resolved(role, {}).chain == chain


def test_case_50_the_nearest_key_with_a_provider_wins() -> None:
    overrides = {"generation": {"providerId": "a", "modelId": "g"}, "librarian": {"providerId": "b", "modelId": "l"}}
    found = resolved("librarian.chat", {"modelOverrides": overrides})
    assert values(found) == ("b", "l", 0.9)
    assert fields(found) == [
        "settings.modelOverrides.librarian.providerId",
        "settings.modelOverrides.librarian.modelId",
        "providers[1].temperature",
    ]
    assert "inherited from librarian" in found.explain[0].source
    assert values(resolved("generation.writer", {"modelOverrides": overrides})) == ("a", "g", None)


@pytest.mark.parametrize(
    ("override", "bound"),
    [({"temperature": 0.3}, None), ({"providerId": "a", "temperature": 0.3}, "a"), ({"providerId": "b"}, "b")],
)
def test_a_temperature_belongs_to_the_provider_it_was_chosen_with(override: Any, bound: str | None) -> None:
    assert resolved("generation.writer", {"modelOverrides": {"generation.writer": override}}).temperature_for == bound


def test_case_50_a_provider_without_a_model_uses_its_default_model() -> None:
    found = resolved("librarian", {"modelOverrides": {"librarian": {"providerId": "b", "modelId": None}}})
    assert values(found)[:2] == ("b", "b-model")
    assert (found.explain[1].file, found.explain[1].field) == (Path("config.json"), "providers[1].defaultModel")


def test_case_50_a_model_only_override_rides_on_the_provider_of_its_parent() -> None:
    overrides = {"librarian.chat": {"modelId": "mine"}, "librarian": {"providerId": "b", "modelId": "theirs"}}
    assert values(resolved("librarian.chat", {"modelOverrides": overrides}))[:2] == ("b", "mine")
    alone = resolved("librarian.chat", {"modelOverrides": {"librarian.chat": {"modelId": "mine"}}})
    assert values(alone)[:2] == ("a", "mine")
    assert alone.explain[0].field == "defaultProviderId"


@pytest.mark.parametrize("key", LEGACY_FIELDS)
def test_case_50_legacy_fields(key: str) -> None:
    provider_field, model_field = LEGACY_FIELDS[key]
    found = resolved(key, {provider_field: "b", model_field: "old"})
    assert values(found)[:2] == ("b", "old")
    assert fields(found)[:2] == [f"settings.{provider_field}", f"settings.{model_field}"]
    assert values(resolved(key, {provider_field: "b"}))[:2] == ("b", "b-model")
    assert values(resolved(key, {model_field: "old"}))[:2] == ("a", "a-model"), "a legacy model needs its provider"
    both = {provider_field: "b", model_field: "old", "modelOverrides": {key: {"providerId": "a", "modelId": "new"}}}
    assert values(resolved(key, both))[:2] == ("a", "new")


def test_case_50_a_legacy_match_discards_the_model_remembered_before() -> None:
    settings = {"modelOverrides": {"librarian.chat": {"modelId": "mine"}}, "librarianProviderId": "b"}
    assert values(resolved("librarian.chat", settings))[:2] == ("b", "b-model")


def test_case_50_the_legacy_pair_of_a_key_comes_before_overrides_further_up() -> None:
    settings = {"modelOverrides": {"generation": {"providerId": "a", "modelId": "g"}}, "librarianProviderId": "b"}
    assert values(resolved("librarian.chat", settings))[:2] == ("b", "b-model")


@pytest.mark.parametrize("old", ALIASES)
@pytest.mark.parametrize("old_first", [True, False])
def test_case_50_of_both_spellings_the_newer_one_counts(old: str, old_first: bool) -> None:
    older, newer = (old, {"providerId": "b", "modelId": "old"}), (ALIASES[old], {"providerId": "a", "modelId": "new"})
    overrides = dict([older, newer] if old_first else [newer, older])
    assert values(resolved(ALIASES[old], {"modelOverrides": overrides}))[:2] == ("a", "new")
    found = resolved(ALIASES[old], {"modelOverrides": {old: older[1]}})
    assert values(found)[:2] == ("b", "old")
    assert found.explain[0].field == f"settings.modelOverrides.{old}.providerId"


def test_case_50_a_disabled_or_missing_provider_gives_way_to_the_default_one_with_its_own_model() -> None:
    for wanted, state in (("off", "disabled"), ("gone", "not there")):
        found = resolved("librarian", {"modelOverrides": {"librarian": {"providerId": wanted, "modelId": "its"}}})
        assert values(found)[:2] == ("a", "a-model")
        (problem,) = found.problems
        assert state in problem.message
        assert (problem.file, problem.field) == (META, "settings.modelOverrides.librarian.providerId")
        assert wanted in found.explain[0].source


def test_case_50_without_a_provider_there_is_the_rehearsal_and_the_reason() -> None:
    settings = {"modelOverrides": {"generation": {"modelId": "m", "temperature": 0.3}}}
    for providers in (Providers(), config(entry("x")), config(entry("x", enabled=False), defaultProviderId="x")):
        found = resolved("generation.writer", settings, providers)
        assert values(found) == ("rehearsal", None, 0.3)
        assert not found.configured
        assert "no LLM provider is configured" in found.problems[-1].message


def test_temperature_is_the_matched_overrides_else_the_first_of_the_chain_else_the_providers() -> None:
    overrides: dict[str, Any] = {"librarian.chat": {"temperature": 0.1}, "librarian": {"providerId": "b"}}
    assert values(resolved("librarian.chat", {"modelOverrides": overrides}))[2] == 0.1
    overrides["librarian"]["temperature"] = 0.2
    assert values(resolved("librarian.chat", {"modelOverrides": overrides}))[2] == 0.2, "it is the matched one's"
    legacy = {"modelOverrides": {"generation": {"temperature": 0}}, "librarianProviderId": "b"}
    assert values(resolved("librarian.chat", legacy)) == ("b", "b-model", 0)
    assert values(resolved("librarian.chat", {"librarianProviderId": "b"}))[2] == 0.9
    assert values(resolved("librarian.chat", {}))[2] is None


@pytest.mark.parametrize(
    ("overrides", "field"),
    [
        ([], "settings.modelOverrides"),
        ({"librarian": 3}, "settings.modelOverrides.librarian"),
        ({"librarian": {"providerId": 3}}, "settings.modelOverrides.librarian.providerId"),
        ({"librarian": {"modelId": []}}, "settings.modelOverrides.librarian.modelId"),
        ({"librarian": {"temperature": 3}}, "settings.modelOverrides.librarian.temperature"),
        ({"librarian.chat": {"temperature": "x"}}, 'settings.modelOverrides["librarian.chat"].temperature'),
    ],
)
def test_a_malformed_override_is_passed_over_and_reported(overrides: Any, field: str) -> None:
    found = resolved("librarian.chat", {"modelOverrides": overrides})
    assert values(found) == ("a", "a-model", None)
    assert [(problem.file, problem.field) for problem in found.problems] == [(META, field)]


def test_null_and_empty_are_unset() -> None:
    entry_of_nulls = {"providerId": None, "modelId": "", "temperature": None}
    settings = {"modelOverrides": {"librarian": entry_of_nulls, "directions": None}, "librarianProviderId": None}
    for role in ("librarian", "directions"):
        assert resolved(role, settings).problems == ()


def test_the_storys_limits_come_with_it() -> None:
    assert (resolved("librarian", {}).max_output_tokens, resolved("librarian", {}).disable_thinking) == (8192, False)
    found = resolved("librarian", {"generationLimits": {"maxOutputTokens": 512}, "disableThinking": True})
    assert (found.max_output_tokens, found.disable_thinking) == (512, True)


# -- for all settings

IDS = st.sampled_from(["a", "b", "off", "gone", None, ""])
OVERRIDE = st.fixed_dictionaries(
    {}, optional={"providerId": IDS, "modelId": st.sampled_from(["m1", "m2", None]), "temperature": st.floats(0, 2)}
)
ROLES = sorted({key for agent in agents() for key in role_chain(agent.name)})
SETTINGS = st.fixed_dictionaries(
    {"modelOverrides": st.dictionaries(st.sampled_from([*ROLES, *ALIASES]), OVERRIDE)},
    optional={field: IDS for pair in LEGACY_FIELDS.values() for field in pair},
)


@given(role=st.sampled_from(ROLES), settings=SETTINGS)
def test_what_is_explained_is_what_the_files_say(role: str, settings: dict[str, Any]) -> None:
    found = resolved(role, settings)
    assert found.provider.enabled
    assert [decision.value for decision in found.explain] == list(values(found))
    for decision in found.explain:
        if decision.file == META:
            at: Any = {"settings": settings}
            for quoted, plain in re.findall(r'\["([^"]+)"\]|([\w-]+)', decision.field):
                at = at[quoted or plain]
            assert at == decision.value
        else:
            assert decision.file == Path("config.json") or decision.value is None


@given(role=st.sampled_from(ROLES), settings=SETTINGS)
def test_order_of_the_keys_decides_nothing(role: str, settings: dict[str, Any]) -> None:
    turned = {
        key: dict(reversed(value.items())) if isinstance(value, dict) else value for key, value in settings.items()
    }
    assert resolved(role, dict(reversed(turned.items()))) == resolved(role, settings)


@given(role=st.text(max_size=12), settings=JSON, overrides=JSON)
def test_any_settings_are_resolved_without_raising(role: str, settings: Any, overrides: Any) -> None:
    for given_settings in (settings, {"modelOverrides": overrides}, {"modelOverrides": {role: overrides}}):
        assert len(resolved(role, given_settings).explain) == 3


def test_the_default_of_the_files_is_named() -> None:
    found = resolved("generation", {}, parse_config(Path("config.json"), None))
    assert found.explain[0].file is None
