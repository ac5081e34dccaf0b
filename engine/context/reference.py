"""Fragment tags resolved against a story (spec, section 6)."""

from __future__ import annotations

from engine.blocks.tags import Resolver
from engine.story import StorySnapshot
from engine.story.render import full, short


def resolver(snapshot: StorySnapshot) -> Resolver:
    """What `<@id>` and `<@id:short>` stand for in this story; archived fragments are found as well."""

    def resolve(fragment_id: str, as_short: bool) -> str | None:
        fragment = snapshot.get(fragment_id)
        if fragment is None:
            return None
        return short(fragment) if as_short else full(fragment)

    return resolve
