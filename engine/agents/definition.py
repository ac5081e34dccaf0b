"""What an agent is: a named role with tools, default blocks and a place in the list (seed,
"AgentBlockDefinition").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.blocks import BlockSlot, ContextBlock
from engine.context import ContextState
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


@dataclass(frozen=True, slots=True)
class AgentInput:
    """What default blocks are built from.

    `enabled_tools` are the names the agent really has; `brief` the planner's text in prewriter mode, None
    while there is none, as in a preview.
    """

    snapshot: StorySnapshot
    state: ContextState
    disabled_tools: tuple[str, ...] = ()
    enabled_tools: tuple[str, ...] = ()
    brief: str | None = None


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """One agent. `build` is None for an agent that can be listed but has no blocks yet.

    `build` and `slots` are pure. `slots` gives every default block the agent can have in the story's mode,
    in the order `build` makes them, each with the reason why it is absent now.
    """

    name: str
    display_name: str
    description: str
    group: str
    tools: tuple[str, ...] = ()
    build: Callable[[AgentInput], list[ContextBlock]] | None = None
    slots: Callable[[AgentInput], tuple[BlockSlot, ...]] | None = None

    def slots_for(self, given: AgentInput) -> tuple[BlockSlot, ...]:
        """All default blocks the agent can have now; none while it is not built."""
        return self.slots(given) if self.slots is not None else ()
