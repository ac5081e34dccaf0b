"""Text as the reference counts and trims it: JavaScript semantics, so that results agree with Errata's.

Source: spec context-blocks section 16.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Self

from engine.provenance import join, strip

# What trim() and \s mean in JavaScript: unlike Python's, it holds U+FEFF and not U+001C-U+001F or U+0085.
JS_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TRIM = JS_SPACE.replace("\u2000-\u200a", "".join(map(chr, range(0x2000, 0x200B))))
_SPACE_RUN = re.compile(f"[{JS_SPACE}]+")


class Phrase(str):
    """A text for people that knows what it was made of: `template`, with `values` in its `{name}` fields.

    Whoever speaks another language translates the template and puts the values in again.
    """

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        self = super().__new__(cls, template.format_map(values))
        self.template = template
        self.values = values
        return self

    @classmethod
    def of(cls, text: str) -> Phrase:
        """A whole text that may be told in another language as it is; what is a phrase already stays what it is."""
        return text if isinstance(text, Phrase) else cls(text.replace("{", "{{").replace("}", "}}"))


def listed(parts: Sequence[str], between: str = ", ") -> Phrase:
    """Texts in a row, each of which knows still what it was made of."""
    fields = {f"part{number}": part for number, part in enumerate(parts)}
    return Phrase(between.join(f"{{{name}}}" for name in fields), **fields)


def js_trim(text: str) -> str:
    """`text` without leading and trailing JavaScript white space."""
    return strip(text, _TRIM)


def is_blank(text: str) -> bool:
    """True when nothing but JavaScript white space is in `text`."""
    return not text.strip(_TRIM)


def collapse_space(text: str) -> str:
    """Every run of JavaScript white space as one plain space, trimmed."""
    return _SPACE_RUN.sub(" ", text).strip(" ")


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript's `length` (an emoji counts 2)."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for char in text if ord(char) > 0xFFFF)


def did_you_mean(wanted: str, known: Mapping[str, Sequence[str]]) -> str:
    """ "did you mean 'ID'? " for the id that comes closest to what was written, empty when none is close.

    `known` has what else each id is called by. Case does not matter.
    """
    from difflib import get_close_matches  # used when something is misspelt, and only then

    called: dict[str, str] = {}
    for key, names in known.items():
        for name in (key, *names):
            called.setdefault(name.casefold(), key)
    close = get_close_matches(wanted.casefold(), called, 1)
    return Phrase("did you mean {name!r}? ", name=called[close[0]]) if close else ""


def common_prefix(one: Sequence[object], two: Sequence[object]) -> int:
    """How many items both begin with, by halving: comparing slices costs next to nothing."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def cut(text: str, units: int) -> str:
    """The first `units` UTF-16 code units of `text`, never half a character."""
    if len(text) * 2 <= units:
        return text
    for index, char in enumerate(text):
        units -= 2 if ord(char) > 0xFFFF else 1
        if units < 0:
            return text[:index]
    return text


def join_parts(*parts: str | None) -> str:
    """Join parts with one blank line: empties dropped, newlines (not spaces) at the seams stripped.

    Source: spec context-blocks section 2.2, the *join* rule; a result never holds three newlines at a seam.
    """
    return join("\n\n", [strip(part, "\n") for part in parts if part and part.strip("\n")])


def slug(name: str) -> str:
    """Block-marker slug: lower case, runs outside `[a-z0-9]` to `-`, one `-` trimmed at each end (spec, section 6)."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).removeprefix("-").removesuffix("-")
