"""Fragment tags: `<@id>` and `<@id:short>` in any text of the prompt.

Source: spec, section 6. One left-to-right pass, so inserted text is never mistaken for a later tag and its `$` and
backslashes mean nothing (bug 21); ids with digits are accepted as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.provenance import sourced, substitute

TAG = re.compile(r"<@([a-z]{2,4}-[a-z0-9]{4,12})(?::(short))?>")

Resolver = Callable[[str, bool], str | None]
"""(fragment id, short) to the text to insert, or None when there is no such fragment."""


def expand_tags(text: str, resolve: Resolver, depth: int = 0) -> str:
    """`text` with its tags replaced.

    With `depth` 0 (the default) tags inside inserted text stay as they are. Each further level expands them once
    more, and a tag that names one of the fragments it lies in becomes `[circular fragment: id]`. An unknown id
    becomes `[unknown fragment: id]`.
    """
    if "<@" not in text:
        return text
    return _expand(text, resolve, depth, depth > 0, ())


def _expand(text: str, resolve: Resolver, depth: int, nested: bool, ancestors: tuple[str, ...]) -> str:
    def insert(match: re.Match[str]) -> str:
        fragment_id, short = match[1], match[2] is not None
        if fragment_id in ancestors:
            return f"[circular fragment: {fragment_id}]"
        if depth < 0:
            return match[0]
        found = resolve(fragment_id, short)
        if found is None:
            return f"[unknown fragment: {fragment_id}]"
        if nested:
            found = _expand(found, resolve, depth - 1, nested, (*ancestors, fragment_id))
        return sourced(found, "tag", match[0])

    return substitute(TAG, insert, text)
