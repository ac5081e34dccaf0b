"""The doctor: everything found wrong with a story, each with its file and what to do. It reads and never repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from engine.agents import AgentInput, agents
from engine.blocks.config import BlockConfig, dotted
from engine.context import build_context
from engine.disk import json_line, read_bytes
from engine.document import Document
from engine.errors import Problem, StonehandError
from engine.prompt import known_ids
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
    found = _finder(file)
    # As it lies in the file: sections that can't be read count here and are reported by the snapshot.
    entries = snapshot.chain.raw.get("entries", ())
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        active = entry.get("active") if isinstance(entry, dict) else None
        if not isinstance(active, str) or not active:
            continue
        if snapshot.get(active) is None:
            yield found(
                f"section {index + 1} shows {active}, which is not there",
                ("entries", index, "active"),
                "restore the fragment, or show another variant of the section",
            )
        variants = entry.get("proseFragments")
        for place, variant in enumerate(variants if isinstance(variants, list) else ()):
            if isinstance(variant, str) and variant != active and snapshot.get(variant) is None:
                yield found(
                    f"section {index + 1} has a variant {variant}, which is not there",
                    ("entries", index, "proseFragments", place),
                    "restore the fragment, or take the variant out",
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
        else:
            known = known_ids(definition, AgentInput(snapshot, state, (), definition.tools))
            yield from _config(document.config, known, file)


def _config(config: BlockConfig, known: frozenset[str], file: Path) -> Iterator[Problem]:
    found = _finder(file)
    first: set[str] = set()
    for index, block in enumerate(config.customBlocks):
        if block.id in first:
            yield found(
                f"more than one custom block has the id {block.id}, so they share overrides and place",
                ("customBlocks", index, "id"),
                "duplicate this one in the editor and delete the original",
            )
        first.add(block.id)
    ids = known | first
    for block_id in config.overrides:
        if block_id not in ids:
            yield found(
                f"this override changes nothing: the agent has no block {block_id}",
                ("overrides", block_id),
                "remove it, or rename it to the block that was meant",
            )
    for index, block_id in enumerate(config.blockOrder):
        if block_id not in ids:
            yield found(
                f"the order names {block_id}, which the agent does not have",
                ("blockOrder", index),
                "it does no harm; the next move in the editor keeps it behind its neighbour",
            )


def _finder(file: Path) -> Callable[[str, tuple[str | int, ...], str], Problem]:
    """Makes problems of a JSON file: from what is wrong, the path in it to the value, and what to do."""
    text = _text(file)

    def found(message: str, path: tuple[str | int, ...], repair: str) -> Problem:
        return Problem(message, file, dotted(path), json_line(text, path), repair)

    return found


def _text(file: Path) -> str:
    """The file once more, to find lines in; what is wrong with it has been reported."""
    try:
        return (read_bytes(file) or b"").decode("utf-8", "replace")
    except StonehandError:
        return ""
