"""The doctor: everything found wrong with a story, each with its file and what to do. It reads and never repairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.agents import AgentInput, agents
from engine.blocks.config import BlockConfig
from engine.context import build_context
from engine.document import Document
from engine.errors import Problem, StonehandError
from engine.story import StoryFolder, StorySnapshot


def examine(folder: StoryFolder) -> list[Problem]:
    """Problems of one story, in all its branches; the same file is reported once for each thing wrong with it."""
    try:
        branches = folder.branches()
    except StonehandError as error:
        return [error.problem]
    found: list[Problem] = []
    for branch_id in branches.ids:
        try:
            snapshot = folder.snapshot(branch_id)
        except StonehandError as error:
            found.append(error.problem)
            continue
        root = folder.content_root(branch_id)
        found += snapshot.problems
        found += _chain(snapshot, root)
        found += _configs(snapshot, root)
    return list(dict.fromkeys(found))


def _chain(snapshot: StorySnapshot, root: Path) -> Iterator[Problem]:
    file = root / "prose-chain.json"
    for index, entry in enumerate(snapshot.chain.entries):
        field = f"entries[{index}]"
        if snapshot.get(entry.active) is None:
            yield Problem(
                f"section {index + 1} shows {entry.active}, which is not there",
                file,
                f"{field}.active",
                repair="restore the fragment, or show another variant of the section",
            )
        for fragment_id in entry.prose_fragments:
            if fragment_id != entry.active and snapshot.get(fragment_id) is None:
                yield Problem(
                    f"section {index + 1} has a variant {fragment_id}, which is not there",
                    file,
                    f"{field}.proseFragments",
                    repair="restore the fragment, or take the variant out",
                )


def _configs(snapshot: StorySnapshot, root: Path) -> Iterator[Problem]:
    state = build_context(snapshot, "")
    for definition in agents():
        file = root / "agent-blocks" / f"{definition.name}.json"
        try:
            document = Document(file)
        except StonehandError as error:
            yield error.problem
            continue
        if document.fault is not None:
            yield document.fault
        elif definition.build is not None:
            given = AgentInput(snapshot, state, (), definition.tools)
            known = {slot.id for slot in definition.slots_for(given)}
            yield from _config(document.config, known, file)


def _config(config: BlockConfig, known: Iterable[str], file: Path) -> Iterator[Problem]:
    counts = Counter(block.id for block in config.customBlocks)
    for block_id, count in counts.items():
        if count > 1:
            yield Problem(
                f"{count} custom blocks share the id {block_id}",
                file,
                "customBlocks",
                repair="duplicate one in the editor and delete the old one",
            )
    ids = {*known, *counts}
    for block_id in config.overrides:
        if block_id not in ids:
            yield Problem(
                f"this override changes nothing: the agent has no block {block_id}",
                file,
                f"overrides.{block_id}",
                repair="remove it, or rename it to the block that was meant",
            )
    for index, block_id in enumerate(config.blockOrder):
        if block_id not in ids:
            yield Problem(
                f"the order names {block_id}, which the agent does not have",
                file,
                f"blockOrder[{index}]",
                repair="it does no harm; the next move in the editor keeps it behind its neighbour",
            )
