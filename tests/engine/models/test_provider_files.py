"""The user's providers.toml: what each edit leaves in it, and that the data folder's config.json is only read."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest

from engine import disk
from engine.errors import Conflict, InvalidFile, NotFound, WrongInput
from engine.models.provider_files import ProviderFiles
from engine.workspace import Workspace
from tests.engine.models.test_providers import KEY, TOML, entry
from tests.engine.story_builder import tree


@pytest.fixture
def files(tmp_path: Path, state: Path) -> ProviderFiles:
    (tmp_path / "data").mkdir()
    return ProviderFiles(tmp_path / "data", tmp_path / "config")


def ids(files: ProviderFiles) -> list[str]:
    return [provider.id for provider in files.load().all]


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_without_files_there_is_the_rehearsal_and_none_is_made(files: ProviderFiles) -> None:
    assert ids(files) == ["rehearsal"]
    assert not files.own.exists() and not files.config.exists()


def test_the_first_provider_becomes_the_default(files: ProviderFiles) -> None:
    files.add("one", preset="openai", default_model="gpt-5", key_variable="ONE_KEY", temperature=0.5)
    files.add("two", base_url="http://localhost:1/v1", default_model="m", name="Two")
    found = files.load()
    assert (ids(files), found.default, found.problems) == (["one", "two", "rehearsal"], "one", ())
    one, two, _ = found.all
    assert (one.key.variable, one.temperature, one.base_url) == ("ONE_KEY", 0.5, "https://api.openai.com/v1")
    assert (two.name, two.key.variable) == ("Two", "")
    files.add("three", base_url="http://localhost:1/v1", default_model="m", default=True)
    assert files.load().default == "three"


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_the_file_is_the_users_alone(files: ProviderFiles) -> None:
    files.add("one", preset="openai", default_model="m")
    assert mode(files.own) == 0o600
    files.own.chmod(0o644)
    files.make_default("rehearsal")
    assert mode(files.own) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_a_key_in_a_file_others_can_read_is_a_problem(files: ProviderFiles) -> None:
    files.own.parent.mkdir()
    files.own.write_text(TOML + f'key = "{KEY}"\n', "utf-8")
    files.own.chmod(0o644)
    (problem,) = files.load().problems
    assert "read by others" in problem.message and KEY not in str(problem)
    files.own.chmod(0o600)
    assert files.load().problems == ()


def test_edits_keep_comments_and_unknown_keys(files: ProviderFiles) -> None:
    files.own.parent.mkdir()
    text = TOML.replace("[providers.local]", "# at home\n[providers.local]\nfuture = 1") + "\n[later]\nx = 1 # why\n"
    files.own.write_text(text, "utf-8")
    files.add("new", base_url="http://localhost:1/v1", default_model="m", default=True)
    added = files.own.read_text("utf-8")
    assert added.startswith(text.replace('default = "openai"', 'default = "new"'))
    files.remove("new")
    files.make_default("local")
    files.make_default("openai")
    assert files.own.read_text("utf-8").rstrip() == text.rstrip()


def test_removing_one_written_in_another_way_still_removes_it(files: ProviderFiles) -> None:
    files.own.parent.mkdir()
    files.own.write_text(
        'providers.a = { base_url = "http://h/v1", default_model = "m" }\n'
        'providers.b = { base_url = "http://h/v1", default_model = "m" }\nkeep = 1\n',
        "utf-8",
    )
    files.remove("a")
    assert ids(files) == ["b", "rehearsal"]
    assert tomllib.loads(files.own.read_text("utf-8"))["keep"] == 1
    files.add("c", base_url="http://h/v1", default_model="m")
    assert ids(files) == ["b", "c", "rehearsal"]


def test_removing_the_default_makes_the_first_one_left_the_default(files: ProviderFiles) -> None:
    for name in ("a", "b", "c"):
        files.add(name, base_url="http://h/v1", default_model="m")
    assert files.remove("b") == "a"
    assert files.remove("a") == "c"
    assert files.load().default == "c"
    assert files.remove("c") is None
    assert (files.load().default, tomllib.loads(files.own.read_text("utf-8"))) == (None, {})


@pytest.mark.parametrize(
    ("provider_id", "values"),
    [
        ("", {}),
        ("a b", {}),
        ("rehearsal", {}),
        ("replay:x", {}),
        ("a", {"base_url": "ftp://h"}),
        ("a", {"base_url": None}),
        ("a", {"preset": "none"}),
        ("a", {"default_model": " "}),
        ("a", {"key_variable": "two words"}),
        ("a", {"temperature": 3.0}),
        ("a", {"key_variable": ""}),
        ("a", {"key_variable": "1KEY"}),
    ],
)
def test_what_is_not_acceptable_writes_nothing(files: ProviderFiles, provider_id: str, values: dict[str, str]) -> None:
    with pytest.raises(WrongInput):
        files.add(provider_id, **{"base_url": "http://h/v1", "default_model": "m", **values})  # type: ignore[arg-type]
    assert not files.own.exists()


@pytest.mark.parametrize(
    "values",
    [
        {"key_variable": "sk-verysecret"},
        {"key_variable": "sk-ant-api03-verysecret"},
        {"key_variable": "gsk_verysecret1234"},
        {"key_variable": "hf_verysecretverysecret"},
        {"key_variable": "AIzaverysecretverysecret"},
        {"key_variable": "verysecret0123456789abcdef"},
        {"key_variable": "a-verysecret-key"},
        {"key_variable": "env:verysecret"},
        {"base_url": "https://me:verysecret@h/v1"},
        {"base_url": "https://verysecret@h/v1"},
        {"base_url": "ftp://me:verysecret@h/v1"},
        {"base_url": "verysecret"},
    ],
)
def test_a_secret_in_the_wrong_place_is_neither_stored_nor_shown(files: ProviderFiles, values: dict[str, str]) -> None:
    with pytest.raises(WrongInput) as caught:
        files.add("a", **{"base_url": "http://h/v1", "default_model": "m", **values})  # type: ignore[arg-type]
    assert "verysecret" not in str(caught.value)
    assert not files.own.exists()


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "openai_api_key", "_K", "KEY2", "HF_TOKEN", "hf_token", "MY_COMPANY_OPENAI_PROD_KEY_2024"],
)
def test_the_name_of_a_variable_is_taken(files: ProviderFiles, name: str) -> None:
    files.add("a", base_url="https://h/v1/@me", default_model="m", key_variable=name)
    assert files.load().find("a").key.variable == name


def test_an_id_that_is_taken_is_refused(files: ProviderFiles) -> None:
    files.add("a", base_url="http://h/v1", default_model="m")
    before = files.own.read_bytes()
    with pytest.raises(WrongInput, match="already"):
        files.add("a", base_url="http://h/v1", default_model="other")
    assert files.own.read_bytes() == before


def test_config_json_is_read_and_never_written(files: ProviderFiles) -> None:
    files.config.write_text(json.dumps({"providers": [entry("theirs")], "defaultProviderId": "theirs", "new": 1}))
    before = tree(files.config.parent)
    files.add("mine", base_url="http://h/v1", default_model="m")
    assert (ids(files), files.load().default) == (["mine", "theirs", "rehearsal"], "theirs")
    with pytest.raises(WrongInput, match=r"config\.json"):
        files.remove("theirs")
    with pytest.raises(WrongInput, match="built in"):
        files.remove("rehearsal")
    with pytest.raises(NotFound, match="mine, theirs"):
        files.remove("nobody")
    with pytest.raises(NotFound):
        files.make_default("nobody")
    assert tree(files.config.parent) == before
    assert KEY not in files.own.read_text("utf-8")


def test_an_invalid_file_is_reported_and_left_alone(files: ProviderFiles) -> None:
    files.own.parent.mkdir()
    files.own.write_text('default = "a\n', "utf-8")
    files.config.write_text(json.dumps({"providers": [entry("theirs")]}))
    found = files.load()
    assert [provider.id for provider in found.all] == ["theirs", "rehearsal"]
    assert [(problem.file, problem.line) for problem in found.problems] == [(files.own, 1)]
    with pytest.raises(InvalidFile):
        files.add("a", base_url="http://h/v1", default_model="m")
    assert files.own.read_text("utf-8") == 'default = "a\n'


def test_another_programs_change_is_never_overwritten(files: ProviderFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    files.add("a", base_url="http://h/v1", default_model="m")
    theirs = b'default = "elsewhere"\n'

    def sync(handle: int) -> None:
        files.own.write_bytes(theirs)

    monkeypatch.setattr(disk, "_sync", sync)
    with pytest.raises(Conflict):
        files.remove("a")
    assert files.own.read_bytes() == theirs


def test_a_change_of_either_file_is_seen(files: ProviderFiles) -> None:
    assert ids(files) == ["rehearsal"]
    files.config.write_text(json.dumps({"providers": [entry("theirs")]}))
    assert ids(files) == ["theirs", "rehearsal"]
    files.config.unlink()
    assert ids(files) == ["rehearsal"]


def test_the_door_reads_the_data_folders_providers(workspace: Workspace, data: Path) -> None:
    (data / "config.json").write_text(json.dumps({"providers": [entry("theirs")]}))
    assert [provider.id for provider in workspace.models.providers().all] == ["theirs", "rehearsal"]
    assert workspace.models.provider_files is workspace.models.provider_files
