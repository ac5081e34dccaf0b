"""model and providers: what each command prints and leaves in the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, files_of

WRITER = "generation.writer"


@pytest.fixture
def meta(story: Path) -> Path:
    return story / "meta.json"


@pytest.fixture
def local(run: Run) -> None:
    done = run("providers", "add", "local", "--base-url", "http://localhost:11434/v1", "--model", "qwen3")
    assert done.code == 0, done.err


def overrides(meta: Path) -> Any:
    return json.loads(meta.read_bytes())["settings"].get("modelOverrides")


def test_model_without_providers_is_the_rehearsal_and_says_so(run: Run, story: Path, data: Path) -> None:
    before = files_of(data)
    done = run("model", "the-quay", WRITER)
    assert (done.code, "rehearsal" in done.text, "no model" in done.err) == (0, True, True)
    assert "no LLM provider is configured" in done.err
    assert files_of(data) == before
    for arguments in (("--json",), ("get", "--json")):
        document = run("model", "the-quay", WRITER, *arguments).document
        assert (document["provider"], document["model"], document["wire"]) == ("rehearsal", None, "rehearsal")


def test_set_get_and_clear(run: Run, meta: Path, local: None) -> None:
    done = run("model", "the-quay", "librarian", "set", "--provider", "local", "--temperature", "0.5", "--json")
    assert (done.code, done.document["changed"], done.document["provider"]) == (0, True, "local")
    assert overrides(meta) == {"librarian": {"providerId": "local", "temperature": 0.5}}
    done = run("model", "the-quay", "librarian.chat")
    rows = {line.split()[0]: line for line in done.text.splitlines()}
    assert "local" in rows["provider"] and "inherited from librarian" in rows["provider"]
    assert "qwen3" in rows["model"] and "providers.local.default_model" in rows["model"]
    assert str(meta) in rows["temperature"]
    document = run("model", "the-quay", "librarian.chat", "--json").document
    assert document["explain"][0]["field"] == "settings.modelOverrides.librarian.providerId"
    run("model", "the-quay", "librarian", "set", "--temperature", "none")
    assert overrides(meta) == {"librarian": {"providerId": "local"}}
    assert run("model", "the-quay", "librarian", "clear", "--json").document["changed"] is True
    assert overrides(meta) == {}
    assert run("model", "the-quay", "librarian", "clear", "--json").document["changed"] is False


def test_settings_of_older_stories_are_told_of_and_cleared(run: Run, meta: Path, local: None) -> None:
    document = json.loads(meta.read_bytes())
    document["settings"] |= {"providerId": "local", "librarianProviderId": "local", "librarianModelId": "old"}
    meta.write_text(json.dumps(document), "utf-8")
    done = run("model", "the-quay", "librarian.chat", "clear")
    assert "nothing changed" in done.err and "model the-quay librarian clear" in done.err
    done = run("model", "the-quay", "librarian", "clear")
    assert "cleared too, from older stories: settings.librarianProviderId, settings.librarianModelId" in done.err
    assert "settings.providerId" in done.text and "model the-quay generation clear" in done.err
    settings = json.loads(meta.read_bytes())["settings"]
    assert [settings[key] for key in ("providerId", "librarianProviderId", "librarianModelId")] == ["local", None, None]


def test_a_value_that_is_saved_but_does_not_count_is_told_of(run: Run, meta: Path, local: None) -> None:
    run("model", "the-quay", "librarian", "set", "--provider", "local", "--temperature", "0.5")
    done = run("model", "the-quay", "librarian.chat", "set", "--temperature", "1")
    assert done.code == 0
    assert "not what counts" in done.err
    assert overrides(meta)["librarian.chat"] == {"temperature": 1}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("set",), 2),
        (("set", "--temperature", "3"), 2),
        (("set", "--temperature", "nan"), 2),
        (("set", "--provider", "nobody"), 1),
        (("sideways",), 2),
    ],
)
def test_what_is_wrong_changes_nothing(run: Run, meta: Path, arguments: tuple[str, ...], code: int) -> None:
    before = meta.read_bytes()
    done = run("model", "the-quay", WRITER, *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (code, b"", 1)
    assert meta.read_bytes() == before


def test_an_agent_or_story_that_is_not_there(run: Run, story: Path) -> None:
    assert "librarian.chat" in run("model", "the-quay", "nobody").err
    assert run("model", "nowhere", WRITER).code == 1


def test_providers_add_list_remove(run: Run, story: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    arguments = ("providers", "add", "openai", "--preset", "openai", "--model", "gpt-5", "--key-env", "SOME_KEY")
    done = run(*arguments, "--json")
    assert (done.code, done.document["default"], done.document["hasKey"]) == (0, True, False)
    assert "SOME_KEY, which is to hold the key, is not set" in done.err
    assert "SOME_KEY" in run("model", "the-quay", WRITER).err
    monkeypatch.setenv("SOME_KEY", "sk-very-secret")
    assert "SOME_KEY" not in run("model", "the-quay", WRITER).err
    listed = run("providers", "list", "--json")
    assert [(item["id"], item["hasKey"]) for item in listed.document] == [("openai", True), ("rehearsal", False)]
    text = run("providers", "list")
    assert "$SOME_KEY" in text.text
    assert not [part for part in (text.text, text.err, listed.text, done.text, done.err) if "very-secret" in part]
    assert run(*arguments).code == 2
    assert run("providers", "remove", "openai", "--json").document == {"removed": "openai", "default": None}
    assert run("providers", "remove", "openai").code == 1
    assert run("providers", "remove", "rehearsal").code == 2


def test_a_key_given_for_the_name_of_its_variable_is_refused_and_not_shown(run: Run, data: Path) -> None:
    for wrong in (("--key-env", "sk-very-secret"), ("--base-url", "https://me:very-secret@h/v1")):
        refused = run("providers", "add", "p", "--preset", "openai", "--model", "m", *wrong)
        assert refused.code == 2 and "environment variable" in refused.err
        assert "very-secret" not in refused.err and refused.err.count("\n") == 1
    assert [item["id"] for item in run("providers", "list", "--json").document] == ["rehearsal"]


def test_keys_of_the_data_folder_are_not_shown(run: Run, data: Path, story: Path) -> None:
    provider = {"id": "p", "name": "P", "baseURL": "https://h/v1", "apiKey": "sk-very-secret", "defaultModel": "m"}
    bad = {**provider, "id": "bad", "baseURL": "sk-very-secret"}
    (data / "config.json").write_text(json.dumps({"providers": [provider, bad], "defaultProviderId": "p"}))
    before = (data / "config.json").read_bytes()
    commands = [("providers", "list"), ("providers", "list", "--json"), ("model", "the-quay", WRITER)]
    commands += [("model", "the-quay", WRITER, "--json"), ("model", "the-quay", WRITER, "set", "--provider", "p")]
    for command in commands:
        done = run(*command)
        assert done.code == 0, done.err
        assert "very-secret" not in done.text + done.err
        assert "providers[1].baseURL" in done.err or "set" in command
    assert (data / "config.json").read_bytes() == before


def test_the_prompt_has_the_instructions_made_for_the_model_an_agent_resolves_to(
    run: Run, story: Path, data: Path, local: None
) -> None:
    sets = data / "instruction-sets"
    sets.mkdir()
    document = {"name": "Qwen", "modelMatch": "qwen3", "instructions": {"generation.system": "Write, Qwen."}}
    (sets / "qwen.json").write_text(json.dumps(document), encoding="utf-8")
    assert run("model", "the-quay", "generation", "set", "--provider", "local").code == 0
    prompt = run("compile", "the-quay", WRITER).text
    assert "Write, Qwen." in prompt
    assert prompt == run("compile", "the-quay", WRITER, "--model", "qwen3").text
    assert "Write, Qwen." not in run("compile", "the-quay", WRITER, "--model", "another").text
    assert run("model", "the-quay", "generation", "set", "--model", "another").code == 0
    assert "Write, Qwen." not in run("compile", "the-quay", WRITER).text


def test_none_clears_the_settings_of_older_stories(run: Run, meta: Path, local: None) -> None:
    document = json.loads(meta.read_bytes())
    document["settings"] |= {"providerId": "local", "modelId": "old"}
    meta.write_text(json.dumps(document), "utf-8")
    done = run("model", "the-quay", "generation", "set", "--model", "none")
    assert "settings.modelId" in done.err and "settings.providerId" not in done.err.partition("warning")[0]
    done = run("model", "the-quay", "generation", "set", "--provider", "none", "--model", "none")
    assert done.code == 0 and "nothing changed" not in done.err
    settings = json.loads(meta.read_bytes())["settings"]
    assert (settings["providerId"], settings["modelId"]) == (None, None)
    assert "nothing changed" in run("model", "the-quay", "generation", "set", "--provider", "none").err
