"""What a script finds in `ctx`: the fields of the context state and four functions, as JSON text made when
touched.

Source: seed, "Script blocks"; spec, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

from engine.context.state import ContextState, FragmentGroup
from engine.disk import compact_json
from engine.story import Fragment, StorySnapshot
from engine.story.fragment import json_text

ScriptField = Callable[[], Sequence[str]]
"""The JSON texts of a field: one, or for a long list several lists to be joined."""

ScriptFunction = Callable[..., str | None]
"""A function of `ctx`: JSON values in, JSON text out, None for null."""

CHUNK: Final = 500_000
"""Characters of a list handed over at a time: one long text would hold up the interface while it is made."""

OLD_FIELDS: Final = {
    "guidelineShortlist": "guidelineCatalog",
    "knowledgeShortlist": "knowledgeCatalog",
    "characterShortlist": "characterCatalog",
}
"""Names that scripts written for older versions use."""


def script_fields(
    state: ContextState, snapshot: StorySnapshot
) -> tuple[dict[str, ScriptField], dict[str, ScriptFunction]]:
    """The fields and functions of `ctx` for one state. Nothing is made until a script asks for it, and then
    once.
    """

    def fragments(items: Sequence[Fragment]) -> ScriptField:
        return _lazy(lambda: fragment_list(items))

    def groups(items: Sequence[FragmentGroup]) -> ScriptField:
        return _lazy(lambda: _chunks(map(_group_text, items)))

    def value(make: Callable[[], Any]) -> ScriptField:
        return _lazy(lambda: [compact_json(make())])

    fields: dict[str, ScriptField] = {
        "story": value(lambda: {**state.story.raw, "summary": state.story.summary}),
        "proseFragments": fragments(state.prose_fragments),
        "chapterSummaries": value(
            lambda: [
                {"markerId": item.marker_id, "name": item.name, "summary": item.summary}
                for item in state.chapter_summaries
            ]
        ),
        "stickyGuidelines": fragments(state.sticky_guidelines),
        "stickyKnowledge": fragments(state.sticky_knowledge),
        "stickyCharacters": fragments(state.sticky_characters),
        "stickyCustomFragments": groups(state.sticky_custom_fragments),
        "recentCharacters": fragments(state.recent_characters),
        "recentKnowledge": fragments(state.recent_knowledge),
        "recentCustomFragments": groups(state.recent_custom_fragments),
        "guidelineCatalog": fragments(state.guideline_catalog),
        "knowledgeCatalog": fragments(state.knowledge_catalog),
        "characterCatalog": fragments(state.character_catalog),
        "customFragmentCatalogs": groups(state.custom_fragment_catalogs),
        "authorInput": value(lambda: state.author_input),
    }
    for alias, name in OLD_FIELDS.items():
        fields[alias] = fields[name]
    return fields, _functions(snapshot)


def _functions(snapshot: StorySnapshot) -> dict[str, ScriptFunction]:
    # An argument of the wrong kind finds nothing, as in the reference; surplus ones are ignored.
    listed = [item for item in snapshot.fragments.values() if not item.archived]

    def tagged(tag: object) -> Iterator[Fragment]:
        return (item for item in listed if tag in item.tags)

    def get_fragment(fragment_id: object = None, *_: object) -> str | None:
        found = snapshot.get(fragment_id) if isinstance(fragment_id, str) else None
        return None if found is None else json_text(found)

    def get_fragments(fragment_type: object = None, *_: object) -> str:
        if not fragment_type:
            return _list_text(listed)
        return _list_text(snapshot.of_type(fragment_type) if isinstance(fragment_type, str) else ())

    def get_fragments_by_tag(tag: object = None, *_: object) -> str:
        return _list_text(tagged(tag))

    def get_fragment_by_tag(tag: object = None, *_: object) -> str | None:
        found = next(tagged(tag), None)
        return None if found is None else json_text(found)

    return {
        "getFragment": get_fragment,
        "getFragments": get_fragments,
        "getFragmentByTag": get_fragment_by_tag,
        "getFragmentsByTag": get_fragments_by_tag,
    }


def fragment_list(fragments: Iterable[Fragment]) -> Sequence[str]:
    """The fragments as a field holds them: the JSON texts of lists that make one list together."""
    return _chunks(map(json_text, fragments))


def _lazy(make: Callable[[], Sequence[str]]) -> ScriptField:
    return cache(make)


def _group_text(group: FragmentGroup) -> str:
    head = compact_json({"type": group.type, "name": group.name})
    return f'{head[:-1]},"fragments":{_list_text(group.fragments)}}}'


def _list_text(fragments: Iterable[Fragment]) -> str:
    return f"[{','.join(map(json_text, fragments))}]"


def _chunks(texts: Iterable[str]) -> list[str]:
    """The items of a list as JSON texts of lists, each of about `CHUNK` characters; at least one."""
    chunks: list[str] = []
    items: list[str] = []
    size = 0
    for text in texts:
        if items and size + len(text) > CHUNK:
            chunks.append(f"[{','.join(items)}]")
            items, size = [], 0
        items.append(text)
        size += len(text)
    if items or not chunks:
        chunks.append(f"[{','.join(items)}]")
    return chunks
