"""Spans of messages that were rewritten after compiling: what is unchanged keeps its block, the rest has a new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.blocks.block import ContextBlock, Role
from engine.blocks.compile import Message, Span
from engine.text import common_prefix


def rewrite_messages(before: Sequence[Message], after: Iterable[tuple[Role, str]], source: str) -> tuple[Message, ...]:
    """The messages `after` (role and content) with spans, of which as many as possible are those of `before`.

    A message is taken for the rewritten form of the first one of its role that is not taken yet. Text changed inside
    the content of one block stays that block's; any other is the span of a block with `source` as its source.
    """
    left = list(before)
    messages: list[Message] = []
    for index, (role, content) in enumerate(after):
        old = next((message for message in left if message.role == role), None)
        new = ContextBlock(f"{source}#{index + 1}", role, "", 0, source, source)
        if old is None:
            messages.append(_message(role, content, [_span(new, content, 0, len(content))]))
            continue
        left.remove(old)
        messages.append(old if old.content == content else _rewritten(old, content, new))
    return tuple(messages)


def _rewritten(old: Message, content: str, new: ContextBlock) -> Message:
    shift = len(content) - len(old.content)
    first = common_prefix(old.content, content)
    shortest = min(len(old.content), len(content)) - first
    last = len(old.content) - min(shortest, common_prefix(old.content[::-1], content[::-1]))
    head = [span for span in old.spans if span.end <= first]
    tail = [_moved(span, shift) for span in old.spans[len(head) :] if span.start >= last]
    middle = old.spans[len(head) : len(old.spans) - len(tail)]
    if len(middle) == 1 and middle[0].content_start <= first and last <= middle[0].content_end:
        span = middle[0]
        end = span.content_end + shift
        block = replace(span.block, content=content[span.content_start : end])
        changed = [Span(block, span.start, span.content_start, end, span.end + shift)]
    else:
        start, end = (head[-1].end if head else 0), (tail[0].start if tail else len(content))
        changed = [_span(new, content, start, end)] if start < end else []
    return _message(old.role, content, [*head, *changed, *tail])


def _moved(span: Span, shift: int) -> Span:
    return Span(span.block, span.start + shift, span.content_start + shift, span.content_end + shift, span.end + shift)


def _span(block: ContextBlock, content: str, start: int, end: int) -> Span:
    return Span(replace(block, content=content[start:end]), start, start, end, end)


def _message(role: Role, content: str, spans: list[Span]) -> Message:
    return Message(role, content, tuple(span for span in spans if span.start < span.end))
