"""Names of the older layout, in configs that were made for it: blocks and tools that are called otherwise now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from engine.blocks.config import RENAMED_TOOLS, BlockConfig
from engine.text import Phrase

_CATALOG: Final = ("fragment-catalog", "fragment-pinned-catalog")
OLD_IDS: Final[Mapping[str, tuple[str, ...]]] = {
    "prose": ("prose-recent",),
    "recent-prose": ("prose-recent",),
    "new-prose": ("prose-new",),
    "shortlist": _CATALOG,
    "shortlist-guidelines": _CATALOG,
    "shortlist-knowledge": _CATALOG,
    "shortlist-characters": _CATALOG,
    "fragment-shortlist": _CATALOG,
    "fragment-shortlist-guidelines": _CATALOG,
    "fragment-shortlist-knowledge": _CATALOG,
    "fragment-shortlist-characters": _CATALOG,
    "sticky-fragments": ("fragment-pinned-catalog", "fragment-catalog"),
    "all-characters": ("character-catalog",),
    "characters": ("fragment-pinned", "fragment-catalog"),
    "knowledge": ("fragment-pinned", "fragment-catalog"),
}
"""Blocks of the older layout, and those that hold the same now; an agent has the first of them that it knows (spec,
sections 4.1, 4.4 and 14)."""

_SUCCESSORS: Final[Mapping[str, str]] = dict.fromkeys(
    ("suggestFragment", "updateFragment", "suggestEdit"), "proposeFragmentChanges"
)
"""Tools that an agent without `editFragments` had for work that another tool of it does now (spec, section 4.5)."""


def renamed_block(block_id: str, known: Collection[str]) -> str | None:
    """What a block of the older layout is called now, of the ids in `known`; None when it is none of theirs."""
    return next((new for new in OLD_IDS.get(block_id, ()) if new in known), None)


def old_blocks(config: BlockConfig, known: Collection[str]) -> dict[str, str]:
    """Ids of the older layout in a config's overrides and order, with what they are called now.

    `known` are the ids of the blocks the agent can have; custom blocks are never of the older layout.
    """
    found: dict[str, str] = {}
    for block_id in dict.fromkeys((*config.overrides, *config.blockOrder)):
        if block_id in known or config.custom(block_id) is not None:
            continue
        new = renamed_block(block_id, known)
        if new is not None:
            found[block_id] = new
    return found


def old_block_warnings(story: str, config: BlockConfig, known: Collection[str]) -> list[str]:
    """One line for each id that `old_blocks` finds: what it is called now, and how it is renamed in the files."""
    lines: list[str] = []
    for old, new in old_blocks(config, known).items():
        subject = Phrase("override for {old}" if old in config.overrides else "{old} in the order", old=old)
        doctor = f"stonehand doctor {story}"
        # Two overrides can't become one by themselves.
        taken = old in config.overrides and new in config.overrides
        repair = Phrase(
            "'{doctor}' says what to do" if taken else "'{doctor} --repair old-id' renames it", doctor=doctor
        )
        lines.append(
            Phrase(
                "{subject}: an id of the older layout, which changes nothing; the block is called {new} now — {repair}",
                subject=subject,
                new=new,
                repair=repair,
            )
        )
    return lines


def successor(tool: str, tools: Collection[str]) -> str | None:
    """The one of an agent's `tools` that does now what an old name stood for; None when it has none that does."""
    return next((new for new in (RENAMED_TOOLS.get(tool), _SUCCESSORS.get(tool)) if new in tools), None)
