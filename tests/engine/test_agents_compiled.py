"""Every agent through the door: fragment tags, overrides, tools, and the planner that reads the writer's config."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.agents import Sources, agents
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.engine.story_builder import tree
from tests.stories import config_file, custom_block

PREWRITER = "generation.prewriter"
NAMES = [definition.name for definition in agents()]


def configure(story: Path, agent: str, **values: Any) -> None:
    file = config_file(story, agent)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(values), "utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_tags_are_expanded_for_every_agent(story: Path, workspace: Workspace, name: str) -> None:
    file = story / "branches/main/fragments/kn-mirafa.json"
    fragment = {
        **json.loads(file.read_text("utf-8")),
        "archived": True,
        "content": "$& \\1 <@kn-mirafa>",
        "description": "D",
    }
    file.write_text(json.dumps(fragment), "utf-8")
    said = "<@kn-mirafa:short>, <@kn-none99>, <@KN-mirafa>, <@kn-mirafa>"
    block = custom_block("cb-tags", said, role="system")
    configure(
        story, name, customBlocks=[block], overrides={"instructions": {"contentMode": "append", "customContent": said}}
    )
    expanded = "The quay: D, [unknown fragment: kn-none99], <@KN-mirafa>, ### The quay\n\n$& \\1 <@kn-mirafa>"
    prompt = workspace.prompt(STORY, name)
    contents = {block.id: block.content for block in prompt.blocks}
    assert contents["cb-tags"] == expanded
    assert contents["instructions"].endswith(f"\n{expanded}")
    assert [warning for warning in prompt.warnings if "fragment tag" in warning] == [
        "fragment tag <@kn-none99> names no fragment"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_looking_writes_nothing(data: Path, workspace: Workspace, name: str) -> None:
    before = tree(data)
    workspace.prompt(STORY, name)
    workspace.agents(STORY)
    assert tree(data) == before


@pytest.mark.parametrize("name", NAMES)
def test_every_block_can_be_configured_there_or_not(workspace: Workspace, name: str) -> None:
    session = workspace.session(STORY, name)
    session.install(session.load())
    for row in session.rows:
        session.toggle(row.key, False)
    assert session.prompt().messages == ()
    assert not session.prompt().warnings, "no block is unknown"


def test_disabled_tools_are_gone_whatever_they_were_called(story: Path, workspace: Workspace) -> None:
    configure(story, "librarian.analyze", disabledTools=["getFragment", "suggestDirections"])
    before = config_file(story, "librarian.analyze").read_bytes()
    prompt = workspace.prompt(STORY, "librarian.analyze")
    assert not {"readFragments", "proposeDirections"} & set(prompt.tools)
    assert len(prompt.tools) == 8
    text = prompt.messages[0].content
    assert "proposeDirections" not in text and "readFragments" not in text and "3. Finally" in text
    assert config_file(story, "librarian.analyze").read_bytes() == before
    workspace.edit(
        STORY,
        "librarian.analyze",
        None,
        lambda session: session.set_tool("findFragments", False, workspace.agent("librarian.analyze").tools),
    )
    saved = json.loads(config_file(story, "librarian.analyze").read_text("utf-8"))
    assert saved["disabledTools"] == ["readFragments", "proposeDirections", "findFragments"]


# -- the planner


def test_the_planner_is_previewed_with_the_writers_real_context(story: Path, workspace: Workspace) -> None:
    text = workspace.prompt(STORY, PREWRITER, author_input="Let the storm arrive.").messages[1].content
    assert "[@block=full-context]\n## Full Story Context\n\n[" in text
    assert "# The Quay" in text
    assert text.endswith("### Author Direction\n\nLet the storm arrive.")
    base = workspace.base(STORY, PREWRITER)
    assert workspace.base(STORY, PREWRITER) is base
    configure(story, WRITER, overrides={"story-info": {"enabled": False}})
    assert workspace.base(STORY, PREWRITER) is not base
    assert "# The Quay" not in workspace.prompt(STORY, PREWRITER).messages[1].content


def test_overrides_of_the_planners_blocks_hold(story: Path, workspace: Workspace) -> None:
    """What the reference loses in a run (bug 24): a preview and a request are one prompt here."""
    overrides = {
        "full-context": {"contentMode": "prepend", "customContent": "Read this."},
        "planning-request": {"contentMode": "override", "customContent": "Plan it."},
        "reasoning-length": {"enabled": False},
    }
    configure(story, PREWRITER, overrides=overrides)
    prompt = workspace.prompt(STORY, PREWRITER)
    assert prompt.messages[1].content.startswith("[@block=full-context]\nRead this.\n## Full Story Context")
    assert prompt.messages[1].content.endswith("[@block=planning-request]\nPlan it.")
    assert "reasoning-length" not in prompt.messages[0].content
    assert not prompt.warnings


def test_an_invalid_config_of_the_writer_is_told(story: Path, workspace: Workspace) -> None:
    configure(story, WRITER, overrides={"story-info": {"enabled": "no"}})
    prompt = workspace.prompt(STORY, PREWRITER)
    assert len(prompt.warnings) == 1
    assert "generation.writer.json:1 (overrides.story-info.enabled)" in prompt.warnings[0]
    assert "the writer's config is not part of this prompt" in prompt.warnings[0]
    assert workspace.prompt(STORY, "librarian.chat").warnings == ()


# -- running


def test_bases_for_different_runs_are_kept_apart(workspace: Workspace) -> None:
    snapshot = workspace.story(STORY).snapshot()
    some = Sources(target=snapshot.get("kn-mirafa"))
    base = workspace.base(STORY, "librarian.refine", sources=some)
    assert "target" in {block.id for block in base.blocks}
    assert workspace.base(STORY, "librarian.refine", sources=some) is base
    assert "target" not in {block.id for block in workspace.base(STORY, "librarian.refine").blocks}
