"""Stories and agents named by less than their whole id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.stories import config_file, make_story

CHARACTER_CHAT = "character-chat.chat"


@pytest.mark.parametrize("story", ["the-quay", "the-q", "The Quay", "the q", "THE-QUAY"])
@pytest.mark.parametrize("agent", ["generation.writer", "writer", "Writer", "wri", "generation.w"])
def test_the_beginning_is_enough_when_it_means_one(run: Run, data: Path, story: str, agent: str) -> None:
    made = make_story(data)
    make_story(data, "the-mill", name="The Mill")
    assert run("compile", story, agent).out == run("compile", "the-quay", "generation.writer").out != b""
    assert run("config", story, agent, "disable", "summary").code == 0
    assert config_file(made).exists()
    assert run("branch", story, "list").code == 0


def test_what_could_be_several_is_named(run: Run, data: Path) -> None:
    make_story(data)
    make_story(data, "the-mill", name="The Mill")
    ran = run("compile", "the", "writer")
    assert ran.code == 2 and "the-mill, the-quay" in ran.err
    chats = run("compile", "the-q", "chat")
    assert chats.code == 2 and "librarian.chat, character-chat.chat" in chats.err


def test_what_means_none_is_reported_with_what_there_is(run: Run, story: Path) -> None:
    assert "stories: the-quay" in run("compile", "elsewhere").err
    assert "agents: generation.writer" in run("compile", "the-quay", "painter").err
    assert run("compile", "", "writer").code != 0


def test_the_whole_id_wins_over_a_longer_one(run: Run, data: Path) -> None:
    make_story(data, "sea", name="Sea")
    make_story(data, "sea-2", name="Sea")
    assert run("blocks", "sea", "writer").code == 0


@pytest.mark.parametrize("given, meant", [("directions", "directions.suggest"), ("character-chat", CHARACTER_CHAT)])
def test_a_part_between_dots_is_enough_when_one_agent_has_it(run: Run, story: Path, given: str, meant: str) -> None:
    assert run("compile", "the-quay", given).out == run("compile", "the-quay", meant).out != b""


def test_a_part_that_several_agents_share_names_them(run: Run, story: Path) -> None:
    ran = run("compile", "the-quay", "generation")
    assert ran.code == 2 and "generation.writer, generation.prewriter" in ran.err


def test_the_model_of_what_agents_inherit_from_is_its_own(run: Run, story: Path) -> None:
    for role in ("librarian", "directions", "character-chat"):
        assert json.loads(run("model", "the-quay", role, "--json").out)["agent"] == role
    assert json.loads(run("model", "the-quay", "writer", "--json").out)["agent"] == "generation.writer"


def test_an_old_name_is_answered_with_the_new_one(run: Run, story: Path) -> None:
    assert (
        "old name of readFragments" in run("config", "the-quay", "librarian.analyze", "tool", "getFragment", "off").err
    )
    assert "prose-recent now" in run("config", "the-quay", "generation.writer", "disable", "prose").err


def test_main_is_not_deleted_asked_for_or_not(run: Run, story: Path) -> None:
    for yes in ((), ("--yes",)):
        assert "the branch main can't be deleted" in run("branch", "the-quay", "delete", "main", *yes).err
