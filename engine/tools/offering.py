"""What an agent is offered: the tools it declares, without those its config or the story takes away, in that order.

Source: spec, sections 4.5, 8.1, 10.2 and 10.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from engine.agents import DIRECTIONS, WRITER, AgentDefinition
from engine.agents.analysis import used_tools
from engine.agents.sources import CLARIFYING_ROUNDS
from engine.agents.tools import TOOLS
from engine.blocks import BlockConfig
from engine.blocks.config import RENAMED_TOOLS
from engine.story import Settings
from engine.tools import analyzing, editing, inspecting, invoking, planning, reading
from engine.tools.tool import Tool

PREWRITER: Final = "generation.prewriter"
WITH_PLUGINS: Final = (WRITER, PREWRITER)
"""The agents that enabled plugins' tools are offered to (spec, section 4.5)."""

CORE: Final[dict[str, Tool[Any]]] = {
    tool.name: tool
    for tool in (
        reading.READ_FRAGMENTS,
        reading.FIND_FRAGMENTS,
        reading.LIST_FRAGMENTS,
        reading.READ_PROSE_CHAIN,
        reading.LIST_FRAGMENT_TYPES,
        reading.READ_STORY_SUMMARY,
        editing.EDIT_FRAGMENTS,
        editing.EDIT_PROSE,
        analyzing.REPORT_ANALYSIS,
        analyzing.PROPOSE_CHANGES,
        analyzing.PROPOSE_DIRECTIONS,
        analyzing.FINISH_ANALYSIS,
        planning.ASK_QUESTIONS,
        invoking.INVOKE_AGENT,
        inspecting.INSPECT_RUN,
    )
}
"""Every tool of ours by name; `proposeDirections` as the analysis has it."""

RESERVED: Final = frozenset((*TOOLS, *RENAMED_TOOLS))
"""Names no plugin's tool may have: ours, and those ours had."""


def offered(
    agent: AgentDefinition,
    config: BlockConfig,
    settings: Settings,
    *,
    clarify_round: int = 0,
    directions: int | None = None,
    plugins: Sequence[Tool[Any]] = (),
) -> tuple[Tool[Any], ...]:
    """The tools of a run of an agent.

    `clarify_round` is how often the prewriter has asked the author for this passage; `directions` how many the
    directions agent is to propose, which offers it the tool for that; `plugins` the tools of enabled plugins, of which
    those with a name of ours, or of one before them, are left out (see `shadowing`).
    """
    tools = [CORE[name] for name in used_tools(agent.tools, settings) if name in CORE]
    if agent.name == PREWRITER:
        tools.append(planning.directions_tool(planning.PREWRITER_DIRECTIONS, paced=True))
        if settings.clarify_before_generate and clarify_round < CLARIFYING_ROUNDS:
            tools.append(planning.ASK_QUESTIONS)
    if agent.name == DIRECTIONS and directions is not None:
        tools.append(planning.directions_tool(directions))
    if agent.name in WITH_PLUGINS:
        shadowed = {id(tool) for tool in shadowing(plugins)}
        tools += [tool for tool in plugins if id(tool) not in shadowed]
    disabled = config.disabled_tools
    return tuple(tool for tool in tools if tool.name not in disabled)


def shadowing(plugins: Sequence[Tool[Any]]) -> tuple[Tool[Any], ...]:
    """The plugins' tools that are left out, because one of ours or of a plugin before has the name."""
    seen: set[str] = set()
    found = []
    for tool in plugins:
        if tool.name in RESERVED or tool.name in seen:
            found.append(tool)
        seen.add(tool.name)
    return tuple(found)
