"""How a fragment reads in a prompt: in full, as a catalog row, as an identity sheet, in short.

Source: seed, "Content tiering"; spec, sections 2.1 and 2.2. Blocks carry `##`, groups `###`, sheets `####`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from engine.provenance import join, sourced
from engine.story.fragment import Fragment
from engine.text import collapse_space, join_parts, js_trim

TYPE_LABELS: Final = {"guideline": "Guidelines", "knowledge": "Knowledge", "character": "Characters"}
BUILTIN_TYPES: Final = frozenset(("prose", "character", "guideline", "knowledge", "image", "icon", "marker", "summary"))


def type_label(fragment_type: str, names: Mapping[str, str]) -> str:
    """The heading of a type; `names` holds the configured names of the story's custom types."""
    label = TYPE_LABELS.get(fragment_type) or names.get(fragment_type)
    if label:
        return label
    return " ".join(word[:1].upper() + word[1:] for word in re.split(r"[-_]+", fragment_type) if word)


def full(fragment: Fragment) -> str:
    """The whole body. The description shows only where it is the substance, and for custom types."""
    return sourced(_body(fragment), "fragment", fragment.id, "full")


def _body(fragment: Fragment) -> str:
    match fragment.type:
        case "prose" | "summary":
            return fragment.content
        case "character" | "guideline" | "knowledge":
            return f"### {fragment.name}\n\n{fragment.content}"
        case "image" | "icon":
            return f"[{fragment.type}:{fragment.id}] {fragment.name} - {fragment.description}"
        case "marker":
            return ""
        case _:
            return "\n\n".join(filter(None, (f"### {fragment.name}", fragment.description, fragment.content)))


def short(fragment: Fragment) -> str:
    """One line: name and description."""
    return sourced(f"{fragment.name}: {fragment.description}", "fragment", fragment.id, "short")


def catalog_row(fragment: Fragment, note: str = "") -> str:
    """`` `id` | name | description ``, with the note behind the name; cells hold no line ends and no `|`."""
    name = f"{_cell(fragment.name)} ({note})" if note else _cell(fragment.name)
    row = f"`{_cell(fragment.id)}` | {name} | {_cell(fragment.description)}"
    return sourced(row, "fragment", fragment.id, "row")


def sheet(fragment: Fragment) -> str:
    """The full render as a `####` sheet inside a block, one blank line after the heading whatever follows it."""
    description = "" if fragment.type in BUILTIN_TYPES else fragment.description
    text = demote(join_parts(f"### {fragment.name}", description, fragment.content))
    return sourced(text, "fragment", fragment.id, "full")


def identity_sheet(fragment: Fragment) -> str:
    """A `###` sheet headed by the catalog row, for agents that edit fragments and must see ids and
    descriptions.
    """
    text = join_parts(f"### {catalog_row(fragment)}", fragment.content)
    return sourced(text, "fragment", fragment.id, "identity")


def demote(text: str) -> str:
    """Trimmed, and a first line that starts with `### ` one level lower; headings inside the body stay as
    written.
    """
    text = js_trim(text)
    return join("", ("#", text)) if text.startswith("### ") else text


def group(label: str, sheets: Iterable[str]) -> str:
    """A type's `###` heading and its sheets, a blank line between all of them."""
    return join_parts(f"### {label}", *sheets)


def row_group(label: str, rows: Iterable[str]) -> str:
    """A type's `###` heading and its catalog rows, one a line."""
    return join_parts(f"### {label}", join("\n", rows))


def _cell(text: str) -> str:
    # Catalogs have thousands of rows, nearly all plain: a printable text holds no white space but single spaces.
    if text.isprintable() and "  " not in text:
        text = text.strip(" ")
    else:
        text = collapse_space(text)
    return text.replace("|", "/")
