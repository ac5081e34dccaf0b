"""Fragment tags that resolve to nothing, in whatever text of a file they stand."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from engine.blocks.tags import TAG
from engine.doctor.finding import Finding, JsonSource
from engine.story import StorySnapshot


def lost_tags(
    source: JsonSource, path: tuple[str | int, ...], text: str, snapshot: StorySnapshot, files: Collection[str]
) -> Iterator[Finding]:
    """The tags in the text at `path` that no fragment of the branch can be put in for, each once.

    `files` are the names of all fragment files, readable or not.
    """
    if "<@" not in text:
        return
    named = {match[0]: match[1] for match in TAG.finditer(text) if snapshot.get(match[1]) is None}
    for tag, fragment_id in named.items():
        if fragment_id in files:
            yield source.found(
                f"the tag {tag} names a fragment whose file can't be used",
                path,
                f"repair that file: {fragment_id}.json",
            )
        else:
            yield source.found(f"the tag {tag} names no fragment", path, "correct the id, or take the tag out")
