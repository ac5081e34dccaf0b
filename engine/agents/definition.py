"""What an agent is: a named role with tools, default blocks and a place in the list (seed,
"AgentBlockDefinition").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.agents.instructions import DEFAULTS, Instructions, for_tools
from engine.agents.sources import NO_SOURCES, Sources, Subject
from engine.blocks import BlockConfig, BlockSlot, ContextBlock
from engine.context import ContextOptions, ContextState
from engine.provenance import sourced
from engine.story import StorySnapshot

READING_TOOLS: Final = (
    "readFragments",
    "findFragments",
    "listFragments",
    "readProseChain",
    "listFragmentTypes",
    "readStorySummary",
)
"""The tools that look things up, which most agents have (spec, section 4.5)."""

WRITER: Final = "generation.writer"
DIRECTIONS: Final = "directions.suggest"


@dataclass(frozen=True, slots=True)
class AgentInput:
    """What default blocks are built from.

    `enabled_tools` are the names the agent really has, `disabled_tools` those its config takes away; `sources` what
    this run is about, nothing in a preview; `writer_config` the writer's block config for an agent that is shown the
    writer's context, None where it is not known; `instruction` gives the fixed text of a key, and is made for `model`
    where the model's id is known.
    """

    snapshot: StorySnapshot
    state: ContextState
    disabled_tools: tuple[str, ...] = ()
    enabled_tools: tuple[str, ...] = ()
    sources: Sources = NO_SOURCES
    writer_config: BlockConfig | None = None
    instruction: Instructions = DEFAULTS
    model: str | None = None

    def told(self, key: str) -> str:
        """The fixed text of a key as an agent with the enabled tools is told it. Raises `KeyError`."""
        return sourced(for_tools(self.instruction(key), self.enabled_tools), "instruction", key)


def _whole_story(snapshot: StorySnapshot, sources: Sources) -> ContextOptions:
    return ContextOptions()


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """One agent.

    `build` and `slots` are pure. `slots` gives every default block the agent can have in the story's mode,
    in the order `build` makes them, each with the reason why it is absent now. `reads_writer`: its blocks show the
    writer's, so the writer's config belongs into its input. `context` says what part of the story its state is
    made of; `subject` what fragment a run of it is about, None where it is about none.
    """

    name: str
    display_name: str
    description: str
    group: str
    tools: tuple[str, ...]
    build: Callable[[AgentInput], list[ContextBlock]]
    slots: Callable[[AgentInput], tuple[BlockSlot, ...]]
    reads_writer: bool = False
    context: Callable[[StorySnapshot, Sources], ContextOptions] = _whole_story
    subject: Subject | None = None
