"""Transforming a span of a passage: what the agent is told of it, and the change that its answer comes to.

The agent has no tools (spec, section 4.5): its answer is the span's new text.

Source: spec, sections 1.6 and 4.4, `librarian.prose-transform`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from engine.agents.sources import Operation, Selection
from engine.errors import WrongInput
from engine.story import Fragment
from engine.story.revising import FragmentState
from engine.text import is_blank
from engine.tools.draft import why_protected
from engine.tools.plan import FragmentChange, Outcome, Plan

NAME: Final = "proseTransform"
"""What stands, behind `llm-`, as the reason in the versions of transformed passages."""
OPERATIONS: Final[tuple[Operation, ...]] = ("rewrite", "expand", "compress", "custom")
SURROUNDINGS: Final = 2_000
"""Characters of the passage before and after a span that are shown as its context."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a passage, and what is to be done to them."""

    start: int
    end: int
    operation: Operation = "rewrite"


def whole(content: str, guidance: str) -> Span:
    """All of a passage: rewritten, or done to what the author says."""
    return Span(0, len(content), "rewrite" if is_blank(guidance) else "custom")


def selection_of(content: str, span: Span, guidance: str) -> Selection:
    """What the agent is told of a span of a passage. Raises `WrongInput` for one that it can't be given."""
    if not 0 <= span.start <= span.end <= len(content):
        raise WrongInput("the span lies outside of the passage", repair="select it again")
    text = content[span.start : span.end]
    if is_blank(text):
        raise WrongInput("the span holds no text", repair="select some")
    if span.operation == "custom" and is_blank(guidance):
        raise WrongInput("say what is to be done to the span", repair="write it as the instruction")
    before, after = content[: span.start], content[span.end :]
    return Selection(span.operation, text, content, guidance, before[-SURROUNDINGS:], after[:SURROUNDINGS])


def plan_transformation(story: str, branch: str, passage: Fragment, span: Span, text: str) -> Plan:
    """What a passage is with `text` in the place of a span: the blank edges of the span stay as they were."""
    content = passage.content
    old = content[span.start : span.end]
    core = old.strip()
    lead = len(old) - len(old.lstrip())
    new = f"{old[:lead]}{text.strip()}{old[lead + len(core) :]}"
    before = FragmentState.of(passage)
    after = replace(before, content=f"{content[: span.start]}{new}{content[span.end :]}")
    error = "the answer holds no text" if is_blank(text) else why_protected(passage, after.content)
    if error or before == after:
        status = Outcome(0, span.operation, "failed" if error else "unchanged", (), error)
        return Plan(NAME, story, branch, (), (status,))
    change = FragmentChange(passage.id, passage.type, before, after)
    return Plan(NAME, story, branch, (change,), (Outcome(0, span.operation, "planned", (passage.id,)),))
