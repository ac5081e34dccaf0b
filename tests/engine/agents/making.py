"""Makes the default blocks of an agent for a story under test."""

from __future__ import annotations

from typing import Any

from engine.agents import AgentDefinition, AgentInput, Sources, agent
from engine.blocks import ContextBlock
from engine.context import build_context
from tests.engine.story_builder import StoryBuilder


def input_of(
    story: StoryBuilder,
    definition: AgentDefinition,
    author_input: str = "",
    *,
    without: tuple[str, ...] = (),
    **values: Any,
) -> AgentInput:
    """What an agent builds its blocks from; `without` are tools it has not got, other values are sources of the run,
    save for those that `AgentInput` itself has.
    """
    own = {name: values.pop(name) for name in ("writer_config", "instruction", "model") if name in values}
    snapshot, sources = story.snapshot(), Sources(**values)
    return AgentInput(
        snapshot,
        build_context(snapshot, author_input, definition.context(snapshot, sources)),
        disabled_tools=without,
        enabled_tools=tuple(tool for tool in definition.tools if tool not in without),
        sources=sources,
        **own,
    )


def blocks_of(story: StoryBuilder, name: str, author_input: str = "", **values: Any) -> dict[str, ContextBlock]:
    """The default blocks of an agent by id, in the order they are built. Values as of `input_of`."""
    definition = agent(name)
    return {block.id: block for block in definition.build(input_of(story, definition, author_input, **values))}


def reasons_of(story: StoryBuilder, name: str, **values: Any) -> dict[str, str]:
    """Why a block would not be there, by its id."""
    definition = agent(name)
    return {slot.id: slot.reason for slot in definition.slots(input_of(story, definition, **values))}


def shape(blocks: dict[str, ContextBlock]) -> list[tuple[str, str, int | float]]:
    """Ids, roles and orders."""
    return [(block.id, block.role, block.order) for block in blocks.values()]
