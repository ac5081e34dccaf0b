"""Providers read from both files: what is taken, what is reported, and that no key is ever seen."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.providers import Providers, field_name, parse_config, parse_own, toml_line
from engine.models.secret import Secret

CONFIG = Path("config.json")
OWN = Path("providers.toml")
KEY = "sk-do-not-show-me"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def entry(provider_id: str = "prov-a", **values: Any) -> dict[str, Any]:
    """A provider as the reference writes it; a value of None leaves its key out."""
    whole = {
        "id": provider_id,
        "name": "A",
        "preset": "openai",
        "baseURL": "https://api.openai.com/v1",
        "apiKey": KEY,
        "defaultModel": "gpt-5",
        "enabled": True,
        "customHeaders": {},
        "createdAt": "2026-01-05T08:00:00.000Z",
        **values,
    }
    return {key: value for key, value in whole.items() if value is not None}


def config(*entries: Any, **values: Any) -> Providers:
    text = json.dumps({"providers": list(entries), **values}, indent=2)
    return parse_config(CONFIG, text.encode())


def ids(providers: Providers) -> list[str]:
    return [provider.id for provider in providers.all]


def test_the_reference_format_is_read() -> None:
    found = config(entry(temperature=0.5, customHeaders={"X-Title": "T"}), defaultProviderId="prov-a", sharing={})
    (provider, rehearsal) = found.all
    assert (provider.name, provider.base_url, provider.default_model) == ("A", "https://api.openai.com/v1", "gpt-5")
    assert (provider.temperature, provider.enabled, provider.preset) == (0.5, True, "openai")
    assert provider.key.literal == Secret(KEY)
    assert provider.headers["X-Title"].literal == Secret("T")
    assert (provider.file, provider.field) == (CONFIG, "providers[0]")
    assert provider.default_model_field == "providers[0].defaultModel"
    assert (found.default, found.default_file, found.default_field) == ("prov-a", CONFIG, "defaultProviderId")
    assert (rehearsal.id, found.problems) == ("rehearsal", ())


def test_null_is_unset_and_defaults_are_the_references() -> None:
    bare = {"id": "b", "baseURL": "http://localhost/v1", "apiKey": "x", "defaultModel": "m", "temperature": None}
    found = config(bare, defaultProviderId=None)
    (provider, _) = found.all
    assert (provider.name, provider.preset, provider.enabled, provider.temperature) == ("b", "custom", True, None)
    assert (found.default, found.problems) == (None, ())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("baseURL", "ftp://x"),
        ("baseURL", "https://"),
        ("baseURL", "http://[oops"),
        ("baseURL", "api.openai.com/v1"),
        ("baseURL", "http://h:port/v1"),
        ("baseURL", "http://my host/v1"),
        ("baseURL", 5),
        ("apiKey", 5),
        ("defaultModel", " "),
        ("enabled", "yes"),
        ("temperature", 2.5),
        ("temperature", True),
        ("customHeaders", {"X": 1}),
        ("name", 7),
    ],
)
def test_a_bad_provider_is_reported_with_its_line_and_the_rest_goes_on(field: str, value: Any) -> None:
    found = config(entry("good"), entry("bad", **{field: value}), entry("also"))
    assert ids(found) == ["good", "also", "rehearsal"]
    (problem,) = found.problems
    assert (problem.file, problem.field) == (CONFIG, f"providers[1].{field}")
    text = json.dumps({"providers": [entry("good"), entry("bad", **{field: value}), entry("also")]}, indent=2)
    assert problem.line is not None
    assert f'"{field}"' in text.splitlines()[problem.line - 1]


def test_an_empty_key_is_no_key_and_no_fault() -> None:
    found = config(entry("local", apiKey=""))
    assert (ids(found), found.problems) == (["local", "rehearsal"], ())
    assert found.all[0].key.value({}) is None


@pytest.mark.parametrize("field", ["baseURL", "apiKey", "defaultModel"])
def test_a_missing_field_is_reported(field: str) -> None:
    found = config(entry("bad", **{field: None}))
    assert ids(found) == ["rehearsal"]
    assert [problem.field for problem in found.problems] == [f"providers[0].{field}"]


@pytest.mark.parametrize("field", ["baseURL", "defaultModel", "name"])
@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_text_is_called_empty(field: str, value: str) -> None:
    (problem,) = config(entry(**{field: value})).problems
    assert problem.field == f"providers[0].{field}"
    assert problem.message == "is empty, so 'prov-a' was left out"
    assert (
        parse_own(OWN, b'[providers.a]\nbase_url = "http://h"\ndefault_model = "m"\nkey = " "')
        .problems[0]
        .message.startswith("is empty")
    )


def test_the_line_of_the_default_is_known() -> None:
    found = config(entry(), defaultProviderId="prov-lost")
    own = parse_own(OWN, b'\ndefault = "x"\n')
    assert found.default_line is not None and found.default_line > 1
    assert (own.default_line, Providers().merged(own).default_line, own.merged(found).default_line) == (2, 2, 2)


def test_entries_without_id_second_ones_and_the_built_in_name_are_left_out() -> None:
    found = config(entry("a", name="first"), entry("a", name="second"), {"name": "none"}, 5, entry("rehearsal"))
    assert [provider.name for provider in found.all] == ["first", "Rehearsal (no model)"]
    assert len(found.problems) == 4


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"providers": {}}', b'{"defaultProviderId": 3}', b"\xff"])
def test_a_file_that_is_no_config_is_one_problem(data: bytes) -> None:
    found = parse_config(CONFIG, data)
    assert (ids(found), len(found.problems), found.default) == (["rehearsal"], 1, None)


def test_no_file_is_no_problem() -> None:
    assert parse_config(CONFIG, None) == parse_own(OWN, None) == Providers()


TOML = """\
# mine
default = "openai"

[providers.openai]
preset = "openai"
default_model = "gpt-5"
api_key_env = "MY_KEY"
headers = { X-Org = "env:MY_ORG", X-Title = "T" }

[providers.local]
base_url = "http://localhost:11434/v1"
default_model = "qwen3"
"""


def test_the_own_format_is_read_and_keys_come_from_the_environment() -> None:
    found = parse_own(OWN, TOML.encode())
    openai, local, _ = found.all
    assert (openai.base_url, openai.default_model_field) == (
        "https://api.openai.com/v1",
        "providers.openai.default_model",
    )
    assert openai.key.variable == "MY_KEY"
    assert openai.key.value({}) is None
    assert openai.key.value({"MY_KEY": ""}) is None
    assert openai.key.value({"MY_KEY": KEY}) == Secret(KEY)
    assert openai.headers["X-Org"].variable == "MY_ORG"
    assert openai.headers["X-Title"].value({}) == Secret("T")
    assert (local.key.value({}), local.preset) == (None, "custom")
    assert (found.default, found.default_field, found.problems) == ("openai", "default", ())


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('api_key_env = "not a name"', "api_key_env"),
        ('api_key_env = "gsk_aaaaaaaaaaaa1234"', "api_key_env"),
        ('key = "env:sk-aaaa"', "key"),
        ("key = 5", "key"),
        ('key = "env:not a name"', "key"),
        ('temperature = "hot"', "temperature"),
        ('enabled = "no"', "enabled"),
    ],
)
def test_a_bad_entry_of_the_own_file_is_reported_with_its_line(line: str, field: str) -> None:
    text = TOML + line + "\n"
    found = parse_own(OWN, text.encode())
    assert ids(found) == ["openai", "rehearsal"]
    (problem,) = found.problems
    assert (problem.field, problem.line) == (f"providers.local.{field}", len(text.splitlines()))


def test_two_places_for_a_key_are_one_too_many() -> None:
    found = parse_own(OWN, (TOML + 'api_key_env = "A"\nkey = "env:B"\n').encode())
    assert ids(found) == ["openai", "rehearsal"]


@pytest.mark.parametrize(("data", "line"), [(b"default = \n", 1), (b"a = 1\nb = [", None), (b'a = 1\nb = "\xff"', 2)])
def test_a_file_that_is_no_toml_is_one_problem(data: bytes, line: int | None) -> None:
    found = parse_own(OWN, data)
    (problem,) = found.problems
    assert (ids(found), problem.file, problem.line) == (["rehearsal"], OWN, line)


def test_own_providers_stand_before_those_of_the_data_folder() -> None:
    own, theirs = parse_own(OWN, TOML.encode()), config(entry("openai"), entry("other"), defaultProviderId="other")
    merged = own.merged(theirs)
    assert ids(merged) == ["openai", "local", "other", "rehearsal"]
    assert merged.all[0].file == OWN
    assert (merged.default, merged.default_file) == ("openai", OWN)
    without = parse_own(OWN, TOML.replace('default = "openai"', "").encode()).merged(theirs)
    assert (without.default, without.default_file) == ("other", CONFIG)


# -- secrets


def test_a_key_is_never_seen() -> None:
    found = config(entry(customHeaders={"Authorization": KEY}), entry("bad", apiKey=KEY, baseURL=KEY))
    own = parse_own(OWN, (TOML + f'key = "{KEY}"\n').encode())
    secret = Secret(KEY)
    shown = [
        repr(found),
        str(found),
        repr(own),
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>20}",
    ]
    shown += [str(problem) for problem in found.problems]
    assert not [text for text in shown if KEY in text]
    assert own.all[1].key.literal == secret
    assert secret.reveal() == KEY


def test_a_secret_can_be_compared_and_copied_but_not_written_down() -> None:
    secret = Secret(KEY)
    assert secret == Secret(KEY) != Secret("other")
    assert secret != KEY
    assert {secret: 1}[Secret(KEY)] == 1
    assert copy.copy(secret) is copy.deepcopy(secret) is secret
    with pytest.raises(TypeError):
        json.dumps(secret)
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    provider = config(entry()).all[0]
    assert KEY not in repr(dataclasses.asdict(provider))


def test_an_address_is_shown_without_what_lets_one_in() -> None:
    (provider, _) = config(entry(baseURL="https://me:pw@host:8443/v1?token=x#y")).all
    assert provider.shown_url == "https://host:8443/v1"
    assert "pw@" not in repr(provider)


# -- places


def test_lines_of_a_toml_file() -> None:
    assert toml_line(TOML, ("default",)) == 2
    assert toml_line(TOML, ("providers", "openai")) == 4
    assert toml_line(TOML, ("providers", "openai", "preset")) == 5
    assert toml_line(TOML, ("providers", "openai", "nothing")) == 4
    assert toml_line(TOML, ("nothing",)) is None
    assert toml_line("[\"providers\" . 'a b']\nx.y = 1\n", ("providers", "a b", "x", "y")) == 2


def test_names_of_fields() -> None:
    assert field_name(("providers", 0, "apiKey")) == "providers[0].apiKey"
    assert field_name(("settings", "modelOverrides", "librarian.chat")) == 'settings.modelOverrides["librarian.chat"]'


# -- whatever a file holds


@given(document=JSON, defaults=JSON)
def test_any_json_is_read_without_raising(document: Any, defaults: Any) -> None:
    found = parse_config(CONFIG, json.dumps({"providers": document, "defaultProviderId": defaults}).encode())
    assert found.all[-1].id == "rehearsal"


@given(values=st.dictionaries(st.sampled_from(sorted(entry())), JSON), other=JSON)
def test_whatever_one_entry_holds_the_others_stand(values: dict[str, Any], other: Any) -> None:
    values.pop("id", None)
    found = config(entry("first"), {**entry("odd"), **values}, other, entry("last"))
    assert found.get("first") and found.get("last")
    assert found.get("odd") or any("odd" in problem.message for problem in found.problems)


@given(data=st.binary(max_size=60))
def test_any_bytes_are_read_without_raising(data: bytes) -> None:
    assert parse_own(OWN, data).all[-1].id == parse_config(CONFIG, data).all[-1].id == "rehearsal"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (f'api_key = "{KEY}"', "write key, or better api_key_env"),
        ('token = "abc"', "write key, or better api_key_env"),
        (f'whatever = "{KEY}"', "write key, or better api_key_env"),
        ('key_env = "MY_KEY"', "write api_key_env"),
    ],
)
def test_a_setting_that_is_none_and_seems_to_be_the_key_is_reported(line: str, meant: str) -> None:
    text = TOML + line + "\n"
    found = parse_own(OWN, text.encode())
    assert ids(found) == ["openai", "local", "rehearsal"]
    (problem,) = found.problems
    assert (problem.field, problem.line) == (f"providers.local.{line.split()[0]}", len(text.splitlines()))
    assert problem.repair.startswith(meant) and KEY not in str(problem)


def test_other_unknown_settings_are_not_reported() -> None:
    assert parse_own(OWN, (TOML + 'note = "for the night"\nmax_tokens = 4000\n').encode()).problems == ()
