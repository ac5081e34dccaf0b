"""The six tools that look things up in a story (spec, section 10.7). Each is a function of a snapshot.

What they give is bounded: long texts are left for another call, and that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from engine.agents.sections import SUMMARY_PLACEHOLDER
from engine.context import ContextOptions
from engine.context.build import effective_summary
from engine.story import Fragment, StorySnapshot
from engine.story.render import BUILTIN_TYPES, type_label
from engine.text import collapse_space, cut
from engine.tools.hashing import base_hash
from engine.tools.host import Host
from engine.tools.schema import FROM_TEXT, Texts, ToolInput
from engine.tools.tool import Tool, ToolResult

CONTENT_LIMIT: Final = 120_000
"""UTF-16 units of fragments' texts in one result."""
EXCERPT: Final = 80
"""Characters on either side of a match."""
PICTURES: Final = ("image", "icon")

SearchField = Literal["name", "description", "content"]
_BUILTIN_ORDER: Final = ("prose", "character", "guideline", "knowledge", "image", "icon", "marker", "summary")


class ReadFragments(ToolInput):
    fragmentIds: Texts = Field(min_length=1, max_length=30, description="Ids of fragments, such as ch-bafego.")


class FindFragments(ToolInput):
    query: str = Field(min_length=1, max_length=1000, description="Text to look for, as it is; case does not matter.")
    types: Annotated[list[str] | None, FROM_TEXT] = Field(None, description="Only fragments of these types.")
    fields: Annotated[list[SearchField] | None, FROM_TEXT] = Field(
        None, min_length=1, description="Where to look; everywhere when left out."
    )
    includeArchived: bool = Field(False, description="Whether to look in archived fragments too.")
    limit: int = Field(25, ge=1, le=100, description="How many matches to give at most.")


class ListFragments(ToolInput):
    type: str | None = Field(None, description="Only fragments of this type.")
    query: str | None = Field(None, max_length=1000, description="Only those with this in id, name or description.")
    includeArchived: bool = Field(False, description="Whether to list archived fragments too.")
    limit: int = Field(50, ge=1, le=500, description="How many fragments to list at most.")


class ReadProseChain(ToolInput):
    includeContent: bool = Field(False, description="Whether to give the texts of the sections.")
    limit: int = Field(50, ge=1, le=500, description="How many sections to list, from the first one.")


class Nothing(ToolInput):
    pass


def read_fragments(snapshot: StorySnapshot, given: ReadFragments) -> dict[str, Any]:
    """Fragments in full with the hash an edit needs, archived ones too, and the ids there is nothing for.

    `omitted` are those there was no room for; a single text that is too long is cut, and that is said.
    """
    found: list[dict[str, Any]] = []
    missing, omitted = [], []
    room = CONTENT_LIMIT
    for fragment_id in dict.fromkeys(given.fragmentIds):
        fragment = snapshot.get(fragment_id)
        if fragment is None:
            missing.append(fragment_id)
            continue
        content = _shown_content(fragment)
        size = len(content) + len(fragment.name) + len(fragment.description)
        if size > room and found:
            omitted.append(fragment_id)
            continue
        found.append(_full(fragment, content))
        room -= size
    result: dict[str, Any] = {"fragments": found, "missing": missing}
    return {**result, "omitted": omitted} if omitted else result


def _full(fragment: Fragment, content: str) -> dict[str, Any]:
    raw = fragment.raw
    shown = cut(content, CONTENT_LIMIT)
    refs = raw.get("refs")
    document: dict[str, Any] = {
        "id": fragment.id,
        "type": fragment.type,
        "name": fragment.name,
        "description": fragment.description,
        "content": shown,
        "tags": list(fragment.tags),
        "refs": list(refs) if isinstance(refs, list) else [],
        "sticky": fragment.sticky,
        "placement": fragment.placement,
        "createdAt": fragment.created_at,
        "updatedAt": raw.get("updatedAt", ""),
        "order": fragment.order,
        "archived": fragment.archived,
        "version": 1 if raw.get("version") is None else raw["version"],
        "baseHash": base_hash(fragment),
    }
    if len(shown) < len(content):
        document |= {"contentCut": True, "contentLength": len(content)}
    if fragment.meta.get("locked"):
        document["locked"] = True
    return document


def _shown_content(fragment: Fragment) -> str:
    # The bytes of a picture say nothing to a model.
    if fragment.type in PICTURES and "data:" in fragment.content[:200]:
        return f"(a picture, {len(fragment.content)} characters of data)"
    return fragment.content


def find_fragments(snapshot: StorySnapshot, given: FindFragments) -> dict[str, Any]:
    """The first match in each fragment, with what stands around it. The query is plain text."""
    pattern = re.compile(re.escape(given.query), re.IGNORECASE)
    fields: list[SearchField] = given.fields or ["name", "description", "content"]
    matches: list[dict[str, Any]] = []
    total = 0
    for fragment in _of_types(snapshot, given.types, given.includeArchived):
        for field in fields:
            if field == "content" and fragment.type in PICTURES:
                continue
            text: str = getattr(fragment, field)
            match = pattern.search(text)
            if match is not None:
                total += 1
                if len(matches) < given.limit:
                    matches.append({**_summary(fragment), "field": field, "excerpt": _excerpt(text, *match.span())})
                break
    return {"matches": matches, "total": total, "truncated": total > len(matches)}


def _of_types(snapshot: StorySnapshot, types: list[str] | None, archived: bool) -> Iterator[Fragment]:
    for fragment in snapshot.fragments.values():
        if fragment.archived and not archived:
            continue
        if fragment.type in types if types is not None else fragment.type not in PICTURES:
            yield fragment


def _excerpt(text: str, start: int, end: int) -> str:
    end = min(end, start + 3 * EXCERPT)
    before, after = max(0, start - EXCERPT), min(len(text), end + EXCERPT)
    shown = collapse_space(text[before:after])
    return f"{'…' if before else ''}{shown}{'…' if after < len(text) else ''}"


def _summary(fragment: Fragment) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "id": fragment.id,
        "type": fragment.type,
        "name": cut(fragment.name, 200),
        "description": cut(fragment.description, 500),
    }
    if fragment.sticky:
        summary["sticky"] = True
    if fragment.archived:
        summary["archived"] = True
    return summary


def list_fragments(snapshot: StorySnapshot, given: ListFragments) -> dict[str, Any]:
    """Fragments with name and description, in the order of their files."""
    found: Iterable[Fragment] = snapshot.fragments.values()
    if not given.includeArchived:
        found = (item for item in found if not item.archived)
    if given.type is not None:
        found = (item for item in found if item.type == given.type)
    if given.query:
        pattern = re.compile(re.escape(given.query), re.IGNORECASE)
        found = (item for item in found if pattern.search(f"{item.id}\n{item.name}\n{item.description}"))
    listed = list(found)
    shown: list[dict[str, Any]] = []
    room = CONTENT_LIMIT
    for item in listed[: given.limit]:
        summary = _summary(item)
        room -= sum(len(str(value)) for value in summary.values())
        if room < 0:
            break
        shown.append(summary)
    return {"fragments": shown, "total": len(listed), "truncated": len(shown) < len(listed)}


def read_prose_chain(snapshot: StorySnapshot, given: ReadProseChain) -> dict[str, Any]:
    """The sections of the story from the first one, each as the variant that is shown; chapter markers among them.

    A story without a chain has its prose in the order it is prompted in.
    """
    chain = snapshot.chain.entries
    sections: list[dict[str, Any]] = []
    ids = active_ids(snapshot)
    counts = {entry.active: len(entry.prose_fragments) for entry in chain}
    room = CONTENT_LIMIT
    cut_short = False
    for index, fragment_id in enumerate(ids[: given.limit]):
        fragment = snapshot.get(fragment_id)
        section: dict[str, Any] = {"index": index, "fragmentId": fragment_id}
        if fragment is None:
            sections.append({**section, "missing": True})
            continue
        section |= {"type": fragment.type, "name": cut(fragment.name, 200)}
        if (count := counts.get(fragment_id, 1)) > 1:
            section["variants"] = count
        if fragment.archived:
            section["archived"] = True
        if given.includeContent:
            if len(fragment.content) > room and sections:
                cut_short = True
                break
            section["content"] = cut(fragment.content, CONTENT_LIMIT)
            room -= len(fragment.content)
        sections.append(section)
    return {"sections": sections, "total": len(ids), "truncated": cut_short or len(sections) < len(ids)}


def active_ids(snapshot: StorySnapshot) -> tuple[str, ...]:
    """The shown fragment of each section; without a chain, all prose in the order it is prompted in (spec, 3.1)."""
    if snapshot.chain.entries:
        return snapshot.chain.active_ids
    return tuple(item.id for item in sorted(snapshot.of_type("prose"), key=lambda prose: prose.sort_key))


def list_fragment_types(snapshot: StorySnapshot) -> dict[str, Any]:
    """The types there are: built-in, made by the user, or only found in files; each with how many are not archived."""
    names = snapshot.meta.settings.type_names
    custom = [item.type for item in snapshot.meta.settings.custom_types]
    types = []
    for kind in dict.fromkeys((*_BUILTIN_ORDER, *custom, *snapshot.by_type)):
        label = type_label(kind, names)
        types.append(
            {
                "type": kind,
                "name": label,
                "count": len(snapshot.of_type(kind)),
                "custom": kind not in BUILTIN_TYPES,
            }
        )
    return {"types": types}


def read_story_summary(snapshot: StorySnapshot) -> dict[str, Any]:
    """The summary of the story so far, or a line that stands for one."""
    text = str(effective_summary(snapshot, ContextOptions()))
    return {"summary": cut(text, CONTENT_LIMIT) or SUMMARY_PLACEHOLDER}


def _read(given: ReadFragments, host: Host) -> ToolResult:
    result = read_fragments(host.snapshot(), given)
    host.collected.read_ids |= dict.fromkeys(item["id"] for item in result["fragments"])
    return ToolResult(result)


READ_FRAGMENTS: Final = Tool("readFragments", ReadFragments, _read)
FIND_FRAGMENTS: Final = Tool(
    "findFragments", FindFragments, lambda given, host: ToolResult(find_fragments(host.snapshot(), given))
)
LIST_FRAGMENTS: Final = Tool(
    "listFragments", ListFragments, lambda given, host: ToolResult(list_fragments(host.snapshot(), given))
)
READ_PROSE_CHAIN: Final = Tool(
    "readProseChain", ReadProseChain, lambda given, host: ToolResult(read_prose_chain(host.snapshot(), given))
)
LIST_FRAGMENT_TYPES: Final = Tool(
    "listFragmentTypes", Nothing, lambda _given, host: ToolResult(list_fragment_types(host.snapshot()))
)
READ_STORY_SUMMARY: Final = Tool(
    "readStorySummary", Nothing, lambda _given, host: ToolResult(read_story_summary(host.snapshot()))
)
