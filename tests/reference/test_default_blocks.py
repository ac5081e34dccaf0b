"""Stories and the default blocks, context state and expanded author input the reference makes of them.

A case holds the files of one story. Its `lines` are what a block keeps when every sentence of the implementation's own
wording is left out, so ours are left out before comparing.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from engine.agents import AgentDefinition, AgentInput, agents, analysis, generation, librarian, sections
from engine.agents.generation import standard_blocks
from engine.agents.instructions import instruction
from engine.agents.sources import NO_SOURCES
from engine.blocks import ContextBlock, compile_blocks, expand_tags
from engine.context import build_context, resolver
from engine.disk import dump_json
from engine.story import StoryFolder, StorySnapshot
from tests.reference.cases import check_known, load_cases

KNOWN = ("golden", "default_blocks.json")
NEEDS = ("story", "input", "files", "writer", "agents", "state")
CASES = load_cases(*KNOWN, needs=NEEDS)
PARAMETERS = {"argnames": "case", "argvalues": [case[1] for case in CASES], "ids": [case[0] for case in CASES]}

WRITER = agents()[0]
PREVIEW_INPUT = "(preview)"
"""What stands for the author's input where an agent is only previewed."""


def placeholders(module: object) -> list[str]:
    """What a module puts where a preview has nothing."""
    return [text for name, text in vars(module).items() if name.endswith("_PLACEHOLDER")]


FIXED_SENTENCES = {
    sections.FULL_INTRO,
    sections.RECENT_INTRO,
    sections.CATALOG_INTRO,
    f"{sections.CATALOG_INTRO} {sections.CATALOG_READ_HINT}",
    f"{sections.CATALOG_INTRO} {sections.CATALOG_EDIT_HINT}",
    *sections.NEW_STORY,
    sections.SUMMARY_PLACEHOLDER,
    *(text for module in (analysis, generation, librarian) for text in placeholders(module)),
    *(getattr(analysis, f"{name}_INTRO") for name in ("PINNED", "WRITER", "RECENT", "CANDIDATES")),
    *instruction("character-chat.persona.stranger").split("\n"),
}
ID_BEHIND = re.compile(r"\([a-z]{2,4}-[a-z0-9]+\)$")
LABELLED = ("Name: ", "Description: ", "Fragment ID: ")
"""Lines that begin with a word of the implementation's own; the tables leave them out."""


def test_the_cases_are_there() -> None:
    check_known(*KNOWN, needs=NEEDS)


def story_of(case: dict[str, Any], folder: Path) -> StorySnapshot:
    path = folder / case["story"]
    for name, content in case["files"].items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(dump_json(content))
    return StoryFolder(path).snapshot()


def given(snapshot: StorySnapshot, author_input: str, agent: AgentDefinition = WRITER) -> AgentInput:
    state = build_context(snapshot, author_input, agent.context(snapshot, NO_SOURCES))
    return AgentInput(snapshot, state, enabled_tools=agent.tools)


def kept_lines(block: ContextBlock, author_input: str) -> list[str]:
    """A block's lines without blank ones, fixed sentences, and the author's own words."""
    if block.id == "instructions":
        return []
    own = set(author_input.split("\n")) if block.id == "author-input" else set()
    lines = block.content.split("\n")
    kept = [line for line in lines if line.strip() and line not in FIXED_SENTENCES and line not in own]
    if block.id == "prose-summaries":
        # Its heading is worded by each implementation, so the tables leave out everything that looks like one.
        return [line for line in kept if not line.startswith("#")]
    if block.id == "prose-recent":
        # The id behind a name of several lines makes its last line one that is not the story's.
        return [line for line in kept if line.startswith("#") or not ID_BEHIND.search(line)]
    return [line for line in kept if not (block.id == "story-context" and line.startswith(LABELLED))]


def check_blocks(blocks: list[ContextBlock], expected: list[dict[str, Any]], author_input: str) -> None:
    shape = [(block.id, block.role, block.order) for block in blocks]
    assert shape == [(block["id"], block["role"], block["order"]) for block in expected]
    for block, wanted in zip(blocks, expected, strict=True):
        assert block.source == "builtin"
        if "lines" in wanted:
            own = set(author_input.split("\n")) if block.id == "author-input" else set()
            lines = [line for line in wanted["lines"] if line.strip() and line not in own]
            assert kept_lines(block, author_input) == lines, block.id


@pytest.mark.parametrize(**PARAMETERS)
def test_the_writers_blocks(case: dict[str, Any], tmp_path: Path) -> None:
    snapshot = story_of(case, tmp_path)
    blocks = standard_blocks(given(snapshot, case["input"]))
    check_blocks(blocks, case["writer"], case["input"])


@pytest.mark.parametrize(**PARAMETERS)
def test_the_author_input_with_its_tags(case: dict[str, Any], tmp_path: Path) -> None:
    snapshot = story_of(case, tmp_path)
    resolve = resolver(snapshot)
    blocks = standard_blocks(given(snapshot, case["input"]))
    found = None
    for message in compile_blocks(blocks, lambda text: expand_tags(text, resolve)):
        for span in message.spans:
            if span.block.id == "author-input":
                found = message.content[span.content_start : span.content_end]
    assert found == case["author_input"]


TRANSFORM, DIRECTIONS = "librarian.prose-transform", "directions.suggest"


def with_summary(case: dict[str, Any], blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks with the story's summary as another agent's preview has it. One difference on purpose: the reference
    previews a transform without the summary that it sends (spec, section 4.4: a placeholder only where it is blank).
    """
    shown = next((block for block in case["agents"].get(DIRECTIONS, ()) if block["id"] == "story-summary"), None)
    lines = {} if shown is None or "lines" not in shown else {"lines": shown["lines"]}
    return [{**block, **lines} if block["id"] == "story-summary" else block for block in blocks]


@pytest.mark.parametrize(**PARAMETERS)
def test_every_agent_as_it_is_previewed(case: dict[str, Any], tmp_path: Path) -> None:
    snapshot = story_of(case, tmp_path)
    checked = 0
    for agent in agents():
        if agent.name not in case["agents"]:
            continue
        expected = case["agents"][agent.name]
        if agent.name == TRANSFORM:
            expected = with_summary(case, expected)
        blocks = agent.build(given(snapshot, PREVIEW_INPUT, agent))
        check_blocks(blocks, expected, PREVIEW_INPUT)
        checked += 1
    assert checked


@pytest.mark.parametrize(**PARAMETERS)
def test_the_context_state(case: dict[str, Any], tmp_path: Path) -> None:
    state = build_context(story_of(case, tmp_path), case["input"])
    found: dict[str, Any] = {
        "prose": [item.id for item in state.prose_fragments],
        "stickyCharacters": [item.id for item in state.sticky_characters],
        "stickyKnowledge": [item.id for item in state.sticky_knowledge],
        "stickyGuidelines": [item.id for item in state.sticky_guidelines],
        "recentCharacters": [item.id for item in state.recent_characters],
        "recentKnowledge": [item.id for item in state.recent_knowledge],
        "guidelineCatalog": [item.id for item in state.guideline_catalog],
        "knowledgeCatalog": [item.id for item in state.knowledge_catalog],
        "characterCatalog": [item.id for item in state.character_catalog],
        "chapterSummaries": [
            {"markerId": item.marker_id, "name": item.name, "summary": item.summary} for item in state.chapter_summaries
        ],
        "summary": state.story.summary,
    }
    expected = case["state"]
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(**PARAMETERS)
def test_a_slot_for_every_block(case: dict[str, Any], tmp_path: Path) -> None:
    """The list the editor shows knows all blocks there can be, in the order they are built, with reasons."""
    snapshot = story_of(case, tmp_path)
    for agent in agents():
        for author_input in (case["input"], ""):
            made = given(snapshot, author_input, agent)
            blocks, slots = agent.build(made), agent.slots(made)
            present = {block.id for block in blocks}
            assert [(b.id, b.role, b.order) for b in blocks] == [
                (slot.id, slot.role, slot.order) for slot in slots if slot.id in present
            ]
            assert all(slot.reason for slot in slots if slot.id not in present)
