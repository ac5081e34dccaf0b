"""What scripts look for that is not there, as far as it stands in them as a plain text (spec, sections 7 and 15, bugs
10 and 11).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from engine.context.script import OLD_FIELDS
from engine.doctor.finding import Finding, JsonSource
from engine.scripts.tokens import Token, tokens
from engine.story import StorySnapshot
from engine.story.ids import PREFIXES
from engine.story.meta import NO_META
from engine.story.render import BUILTIN_TYPES

_ID: Final = "getFragment"
_TYPE: Final = "getFragments"
_TAGS: Final = ("getFragmentByTag", "getFragmentsByTag")
_CTX: Final = "ctx"
_CALLS: Final = (_ID, _TYPE, *_TAGS)
_ANY_ID: Final = re.compile(rf"(?:{'|'.join(PREFIXES.values())})-[a-z0-9]{{4,12}}")
"""A text that is an id wherever it stands: outside a call, a custom type's prefix may be any word."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a script looks for: `what` with one of the functions of `ctx`, or as a field (`by` is `ctx`)."""

    by: str
    what: str
    line: int


def lookup_findings(
    source: JsonSource,
    path: tuple[str | int, ...],
    block_id: str,
    body: str,
    snapshot: StorySnapshot,
    files: Collection[str],
) -> Iterator[Finding]:
    """What the script of a block, at `path`, looks for in vain, each once with its first line.

    `files` are the names of all fragment files, readable or not.
    """
    told: set[tuple[str, str]] = set()
    for lookup in lookups(body):
        by = _TAGS[0] if lookup.by in _TAGS else lookup.by
        said = None if (by, lookup.what) in told else _in_vain(lookup, snapshot, files)
        told.add((by, lookup.what))
        if said is not None:
            yield source.found(f"the script of {block_id} {said[0]}", path, said[1])


def lookups(body: str) -> Iterator[Lookup]:
    """What a script looks for by texts that stand in it as they are; what it puts together is not known."""
    found = list(tokens(body))
    argument = -1
    for index, token in enumerate(found):
        before, behind = found[max(index - 2, 0) : index], found[index + 1 : index + 4]
        if token.kind == "name" and token.value in _CALLS and _is_of_ctx(before):
            if len(behind) == 3 and _is(behind[0], "(") and behind[1].kind == "text" and _is(behind[2], ")", ","):
                argument = index + 2
                yield Lookup(token.value, behind[1].value, behind[1].line)
        elif token.value in OLD_FIELDS and _reads(before, token):
            yield Lookup(_CTX, token.value, token.line)
        elif token.kind == "text" and index != argument and _ANY_ID.fullmatch(token.value):
            if any(_is(item, "+") for item in (*before[-1:], *behind[:1])):
                continue  # a part of something longer
            yield Lookup(_ID, token.value, token.line)


def _is(token: Token, *marks: str) -> bool:
    return token.kind == "mark" and token.value in marks


def _is_of_ctx(before: list[Token]) -> bool:
    """Whether a name with these before it is a function of `ctx`: as `ctx.name`, or alone, as taken out of it."""
    return not (before and _is(before[-1], ".", "?.")) or before[0] == Token("name", _CTX, before[0].line)


def _reads(before: list[Token], token: Token) -> bool:
    """Whether a name or text with these before it is a field of `ctx`."""
    opening = ("[",) if token.kind == "text" else (".", "?.")
    return len(before) == 2 and before[0] == Token("name", _CTX, before[0].line) and _is(before[1], *opening)


def _in_vain(lookup: Lookup, snapshot: StorySnapshot, files: Collection[str]) -> tuple[str, str] | None:
    """What is wrong with a lookup, as it goes on after the script's name, and what to do; None when it may find
    something.
    """
    what, line = lookup.what, f"(line {lookup.line})"
    if lookup.by == _CTX:
        return (
            f"reads ctx.{what} {line}, a name of the older layout",
            f"it is understood here; call it ctx.{OLD_FIELDS[what]}, as it is called now",
        )
    if lookup.by == _ID:
        if snapshot.get(what) is not None:
            return None
        if what in files:
            return f"looks for {what} {line}, whose file can't be used", "repair that file"
        return f"looks for {what} {line}, which is not there", "correct the id, or restore the fragment"
    if lookup.by == _TYPE:
        types = {custom.type for custom in snapshot.meta.settings.custom_types} | BUILTIN_TYPES
        # Without the meta nobody knows what types the user made.
        if not what or snapshot.meta is NO_META or what in types or snapshot.of_type(what, archived=True):
            return None
        return f"looks for fragments of the type {what} {line}, which there is not", "correct the name of the type"
    carrying = [fragment for fragment in snapshot.fragments.values() if what in fragment.tags]
    if any(not fragment.archived for fragment in carrying):
        return None
    tagged = snapshot.associations.tag_index.get(what, ())
    if any(item in files and snapshot.get(item) is None for item in tagged):
        return f"looks for the tag {what} {line}, whose fragment's file can't be used", "repair that file"
    who = "only archived fragments carry" if carrying else "no fragment carries"
    return f"looks for the tag {what} {line}, which {who}", "correct the tag, or give it to a fragment"
