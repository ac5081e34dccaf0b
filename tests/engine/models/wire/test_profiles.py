"""Profiles: which rules hold for whom, what users may say, and that no profile leads anywhere else."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from engine.models.providers import DeclaredModel, parse_config, parse_own
from engine.models.wire import profiles
from engine.models.wire.profiles import Profile, faults, local_servers, presets, profile_of, service_of, url_of
from tests.engine.models.wire.making import profile, provider


def test_what_is_shipped_is_whole_and_would_be_accepted_from_a_user() -> None:
    assert set(profiles._CHECKS) == {item.name for item in dataclasses.fields(Profile)}
    first, *others = profiles._shipped().rules
    assert set(first.values) == set(profiles._CHECKS)
    for rule in (first, *others):
        given = {key: list(value) if isinstance(value, tuple) else value for key, value in rule.values.items()}
        if "usage" in given:
            given["usage"] = {name: list(places) for name, places in given["usage"].items()}
        assert list(faults(given)) == []
        assert set(rule.service) <= set(presets())
    assert {server.preset for server in local_servers()} <= set(presets())
    for preset in presets():
        profile_of(provider(preset), "any")


@pytest.mark.parametrize(
    ("preset", "url", "service"),
    [
        ("custom", "https://api.openai.com/v1", "openai"),
        ("openai", "https://openrouter.ai/api/v1", "openrouter"),
        ("openai", "http://127.0.0.1:9/v1", "openai"),
        ("custom", "http://localhost:11434/v1", "ollama"),
        ("custom", "http://192.168.1.5:8080", "llamacpp"),
        ("custom", "http://localhost:5", "custom"),
        ("custom", "https://llm.example.com:11434/v1", "custom"),
        ("nobody-knows", "https://llm.example.com/v1", "nobody-knows"),
    ],
)
def test_the_service_behind_a_base_url(preset: str, url: str, service: str) -> None:
    assert service_of(preset, url) == service


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://api.deepseek.com", "/chat/completions", "https://api.deepseek.com/chat/completions"),
        ("https://api.deepseek.com/", "{version}/models", "https://api.deepseek.com/v1/models"),
        ("https://api.z.ai/api/paas/v4", "{version}/models", "https://api.z.ai/api/paas/v4/models"),
        ("http://h:1/v1/?a=b", "{version}/messages", "http://h:1/v1/messages?a=b"),
    ],
)
def test_paths_below_a_base_url(base: str, path: str, url: str) -> None:
    assert url_of(base, path) == url


def test_the_last_word_counts() -> None:
    assert profile("openai", "gpt-4o").name_of("max_output_tokens") == "max_completion_tokens"
    assert profile("openai", "gpt-5").takes("temperature") is False
    assert profile("openai", "gpt-5-chat-latest").takes("temperature") is True
    declared = DeclaredModel("gpt-5", profile={"shaping": "single"})
    mine = provider("openai", profile={"refuses": [], "shaping": "merge"}, models=(declared,))
    assert profile_of(mine, "gpt-5").takes("temperature") is True
    assert profile_of(mine, "gpt-5").shaping == "single"
    assert profile_of(mine, "gpt-4o").shaping == "merge"


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ('shaping = "fold"', "shaping", "is not one of none, merge, semi-strict, strict, single"),
        ('base_url = "http://evil.example"', "base_url", "is no setting of a profile"),
        ('path = "//evil.example/v1"', "path", "is not a path"),
        ('path = "/../x"', "path", "is not a path"),
        ('path = "@evil.example/"', "path", "is not a path"),
        ('models_path = "{version}{version}/x"', "models_path", "is not a path"),
        ('headers = { Authorization = "x" }', "headers", "is not a table of texts"),
        ('headers = { Host = "evil.example" }', "headers", "is not a table of texts"),
        ("extra_body = { messages = [] }", "extra_body", "is not a table without"),
        ("extra_body = { when = 2026-01-01 }", "extra_body", "no dates"),
        ("extra_body = { much = inf }", "extra_body", "no infinite numbers"),
        ('names = { temperature = "model" }', "names", "is not a table from"),
        ("idle_timeout = 0", "idle_timeout", "is not a number of seconds"),
        ('efforts = ["huge"]', "efforts", "is not a list of"),
        ("prefill = 1", "prefill", "is not true or false"),
        ("max_output_default = -1", "max_output_default", "is not a whole number"),
        ("usage = { input = 5 }", "usage", "is not a table from"),
    ],
)
@pytest.mark.parametrize("place", ["profile", 'models."m".profile'])
def test_a_fault_is_one_clear_line_and_the_rest_counts(line: str, field: str, words: str, place: str) -> None:
    text = f"""
[providers.a]
base_url = "https://a.example/v1"
default_model = "m"
[providers.a.{place}]
{line}
system = "user"
"""
    found = parse_own(Path("providers.toml"), text.encode())
    (problem,) = found.problems
    assert words in problem.message and "\n" not in str(problem)
    assert problem.line == 6
    assert problem.field == f"providers.a.{place.replace(chr(34), '')}.{field}"
    mine = found.find("a")
    values = mine.profile if place == "profile" else mine.models[0].profile
    assert values == {"system": "user"}
    assert profile_of(mine, "m").system == "user"


def test_a_profile_that_is_no_table_is_reported() -> None:
    text = b'[providers.a]\nbase_url = "https://a.example/v1"\ndefault_model = "m"\nprofile = 5\n'
    found = parse_own(Path("providers.toml"), text)
    assert [problem.message for problem in found.problems] == ["is not a table, so it is not used"]


def test_the_data_folders_file_has_no_profiles() -> None:
    entry: dict[str, Any] = {"id": "a", "baseURL": "https://a.example/v1", "apiKey": "k", "defaultModel": "m"}
    import json

    document = {"providers": [{**entry, "profile": {"path": "/other"}}]}
    found = parse_config(Path("config.json"), json.dumps(document).encode())
    assert (found.find("a").profile, found.problems) == ({}, ())


def test_presets_stand_in_for_a_base_url() -> None:
    found = parse_own(Path("p"), b'[providers.a]\npreset = "ollama"\ndefault_model = "q"\n')
    assert found.find("a").base_url == "http://127.0.0.1:11434/v1"
