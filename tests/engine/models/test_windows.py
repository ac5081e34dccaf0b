"""Context windows: what an entry says before the list of families, the list itself, and what is not known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.models.providers import REHEARSAL_PROVIDER, Provider, Providers, line_of_field, parse_config, parse_own
from engine.models.windows import families, is_own_server, window_of

FILE = Path("providers.toml")


def own(text: str) -> Providers:
    return parse_own(FILE, text.encode())


def remote(**values: object) -> Provider:
    return Provider("p", "P", "https://api.example.com/v1", "no-such-model", **values)  # type: ignore[arg-type]


DECLARED = """
[providers.p]
base_url = "http://localhost:1/v1"
default_model = "gpt-4"
context = 32768
max_output = 2048
[providers.p.models.small]
context = 4096
[providers.p.models.other]
max_output = 512
"""


def test_an_entry_counts_before_the_list_and_a_models_own_before_the_entrys() -> None:
    (provider, _) = own(DECLARED).all
    assert [model.id for model in provider.models] == ["small", "other"]
    seen = [window_of(provider, name) for name in (None, "small", "other", "elsewhere")]
    assert [(window.tokens, window.max_output, window.known) for window in seen] == [
        (32768, 2048, "provider"),
        (4096, 2048, "model"),
        (32768, 512, "provider"),
        (32768, 2048, "provider"),
    ]
    assert seen[1].field == "providers.p.models.small" and "providers.p.models.small" in seen[1].source


def test_config_json_may_say_it_too() -> None:
    entry = {
        "id": "p",
        "baseURL": "https://api.example.com/v1",
        "apiKey": "k",
        "defaultModel": "one",
        "contextWindow": 16000,
        "models": ["one", {"id": "two", "contextWindow": 64000, "maxOutput": 100}],
    }
    found = parse_config(Path("config.json"), json.dumps({"providers": [entry]}).encode())
    assert found.problems == ()
    assert [window_of(found.all[0], name).tokens for name in ("one", "two")] == [16000, 64000]


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ('context = "big"', "providers.p.context"),
        ("context = 0", "providers.p.context"),
        ("max_output = true", "providers.p.max_output"),
        ("models = 7", "providers.p.models"),
        ("models = [7]", "providers.p.models[0]"),
        ("models = { a = 7 }", "providers.p.models.a"),
        ("models = { a = { context = -1 } }", "providers.p.models.a.context"),
    ],
)
def test_a_size_that_is_none_is_told_of_and_the_provider_stays(setting: str, problem: str) -> None:
    found = own(f'[providers.p]\nbase_url = "https://api.example.com/v1"\ndefault_model = "gpt-4"\n{setting}\n')
    assert [item.field for item in found.problems] == [problem]
    assert found.problems[0].line is not None
    assert window_of(found.all[0], None).tokens == 8192


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-4", 8192),
        ("gpt-4-0613", 8192),
        ("gpt-4o-mini", 128_000),
        ("openai/GPT-4.1-nano", 1_047_576),
        ("gpt-5", 400_000),
        ("gpt-5-chat-latest", 128_000),
        ("anthropic/claude-3-5-sonnet-20241022", 200_000),
        ("meta-llama/llama-3.1-70b-instruct:free", 131_072),
        ("deepseek-chat", 131_072),
        ("gpt-99", None),
        ("gpt-4-turbid", None),
        ("my-own-tune", None),
        ("", None),
        ("*", None),
    ],
)
def test_families(model: str, tokens: int | None) -> None:
    window = window_of(remote(), model)
    assert (window.tokens, window.known) == (tokens, "unknown" if tokens is None else "family")


def test_every_family_can_be_reached_and_has_sizes_that_can_be() -> None:
    for family in families():
        assert 0 < (family.output or 1) <= family.context
        for pattern in family.match:
            example = pattern.replace("*", "-x")
            found = next(item for item in families() if any(_matches(example, other) for other in item.match))
            assert found is family, f"{pattern}: {example} is taken by {found.match}"


def _matches(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)


def test_the_rehearsal_has_a_window_of_its_own_and_no_model_of_its_name_has() -> None:
    window = window_of(REHEARSAL_PROVIDER, None)
    assert (window.model, window.known) == ("rehearsal", "rehearsal")
    assert window.tokens is not None and window.tokens > 500_000
    assert window_of(remote(), "rehearsal").tokens is None
    assert window_of(REHEARSAL_PROVIDER, "gpt-4").tokens == 8192, "a model may be rehearsed for"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://192.168.1.20:1234/v1", True),
        ("http://box.local/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
        ("", False),
        ("http://[bad/v1", False),
    ],
)
def test_own_servers(url: str, expected: bool) -> None:
    assert is_own_server(url) is expected


def test_of_an_own_server_only_the_entry_is_believed() -> None:
    text = '[providers.p]\nbase_url = "http://localhost:1/v1"\ndefault_model = "gpt-4"\n'
    window = window_of(own(text).all[0], None)
    assert (window.tokens, window.known) == (None, "local")
    assert window_of(own(f"{text}context = 4096\n").all[0], None).tokens == 4096


def test_the_line_of_a_field(tmp_path: Path) -> None:
    toml, meta = tmp_path / "providers.toml", tmp_path / "meta.json"
    toml.write_text(DECLARED, "utf-8")
    settings = {"modelOverrides": {"librarian.chat": {"modelId": "m"}}, "list": [1, {"a": 2}]}
    meta.write_text(json.dumps({"settings": settings}, indent=1), "utf-8")
    assert line_of_field(toml, "providers.p.default_model") == 4
    assert line_of_field(toml, "providers.p.models.small.context") == 8
    line = line_of_field(meta, 'settings.modelOverrides["librarian.chat"].modelId')
    assert line is not None and "modelId" in meta.read_text("utf-8").splitlines()[line - 1]
    line = line_of_field(meta, "settings.list[1].a")
    assert line is not None and '"a"' in meta.read_text("utf-8").splitlines()[line - 1]
    assert line_of_field(tmp_path / "gone.json", "a") is None
