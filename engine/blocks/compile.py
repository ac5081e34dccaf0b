"""Blocks compiled into messages, with spans that say which block every character came from.

Source: seed, "Compilation"; spec, section 6. Spans, not markers in the text, attribute characters, so content that
imitates a marker deceives nobody (spec, bug 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.blocks.block import ROLES, ContextBlock, Role
from engine.provenance import join
from engine.text import slug


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a message belong to `block`; its content is `content_start` to `content_end`.

    What lies before the content is the block's marker line, what lies after it the blank line that joins blocks. The
    spans of a message partition it.
    """

    block: ContextBlock
    start: int
    content_start: int
    content_end: int
    end: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the request: all blocks of a role."""

    role: Role
    content: str
    spans: tuple[Span, ...]


def marker(block: ContextBlock) -> str:
    """The line that names a block in the compiled text."""
    if block.name and block.name != block.id:
        return f"[@block={slug(block.name)} src={block.id}]"
    return f"[@block={block.id}]"


def sort_blocks(blocks: Iterable[ContextBlock], role: Role) -> list[ContextBlock]:
    """The blocks of a role in the order they compile; equal orders keep their array order."""
    return sorted((block for block in blocks if block.role == role), key=lambda block: block.order)


def compile_blocks(blocks: Iterable[ContextBlock], expand: Callable[[str], str] | None = None) -> tuple[Message, ...]:
    """One message per role that has blocks, system first.

    `expand` rewrites the content of each block as it is placed (fragment tags): a tag never crosses a block, so this
    equals expanding the compiled message, and spans stay exact. Blocks of any other role are dropped.
    """
    blocks = list(blocks)
    messages = []
    for role in ROLES:
        ordered = sort_blocks(blocks, role)
        if ordered:
            messages.append(_compile_role(role, ordered, expand))
    return tuple(messages)


def _compile_role(role: Role, ordered: list[ContextBlock], expand: Callable[[str], str] | None) -> Message:
    pieces: list[str] = []
    spans: list[Span] = []
    at = 0
    for index, block in enumerate(ordered):
        head = marker(block) + "\n"
        content = expand(block.content) if expand is not None else block.content
        joint = "\n\n" if index < len(ordered) - 1 else ""
        pieces += (head, content, joint)
        content_start = at + len(head)
        content_end = content_start + len(content)
        spans.append(Span(block, at, content_start, content_end, content_end + len(joint)))
        at = content_end + len(joint)
    return Message(role, join("", pieces), tuple(spans))
