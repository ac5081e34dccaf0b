"""Whether a prompt fits its model: the context window, what is kept of it for the answer, what each block takes. Pure.

Every count of tokens is an estimate with a known margin (`engine.models.tokens`), so there are three answers and not
two: it fits, it may not fit, it can't fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeVar

from engine.errors import StonehandError
from engine.models.resolution import DEFAULT_MAX_OUTPUT_TOKENS
from engine.models.tokens import TOTAL_MARGIN as TOTAL_MARGIN
from engine.models.windows import Window
from engine.text import Phrase

Fit = Literal["yes", "maybe", "no", "unknown"]
"""Whether a prompt fits: as far as the margin of its estimate goes it does, may or does not; no window is known."""

Reserved = Literal["asked", "story", "model", "default", "quarter"]
"""Who says what is kept for the answer: the caller, the story's `generationLimits`, the most the model writes, the
default of the reference (spec context-blocks, section 9); or a quarter of a window that is too small for that."""

LARGEST_NAMED: Final = 3
"""Blocks that a refusal names."""


class Costed(Protocol):
    """A block with an estimate: a row of the list, or a block of a prompt."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...

    @property
    def tokens(self) -> int | None: ...


B = TypeVar("B", bound=Costed)


@dataclass(frozen=True, slots=True)
class Budget:
    """What one call to a model may cost: `window`, and `reserve`, the tokens kept of it for the answer."""

    window: Window
    reserve: int
    reserved: Reserved

    @property
    def room(self) -> int | None:
        """The tokens a prompt may have; None when the window is not known."""
        return None if self.window.tokens is None else max(0, self.window.tokens - self.reserve)

    def fit(self, estimate: int) -> Fit:
        """Whether a prompt of about `estimate` tokens fits."""
        room = self.room
        if room is None:
            return "unknown"
        if least(estimate) > room:
            return "no"
        return "maybe" if most(estimate) > room else "yes"

    def excess(self, estimate: int) -> int:
        """By how many tokens the estimate is over the room; 0 when it is not, or no window is known."""
        return 0 if self.room is None else max(0, estimate - self.room)

    def share(self, estimate: int) -> float | None:
        """The share of the window that is taken, 1 being all of it; None when no window is known."""
        return None if self.window.tokens is None else estimate / self.window.tokens


@dataclass(frozen=True, slots=True)
class Part:
    """A block's part in a prompt: its `share` of the whole, and the tokens `so_far`, its own included."""

    block: Costed
    tokens: int
    share: float
    so_far: int


class OverBudget(StonehandError):
    """A prompt that can't fit was not sent."""


def budget_of(window: Window, limit: int | None, *, asked: int | None = None) -> Budget:
    """The budget in a window: `limit` is the story's own limit of an answer, `asked` one for this call alone.

    Where neither is given, the default is kept free, but never more than a quarter of the window.
    """
    reserved: Reserved
    reserve, reserved = DEFAULT_MAX_OUTPUT_TOKENS, "default"
    if asked is not None:
        reserve, reserved = asked, "asked"
    elif limit is not None:
        reserve, reserved = limit, "story"
    elif window.tokens is not None and reserve > window.tokens // 4:
        reserve, reserved = window.tokens // 4, "quarter"
    if window.max_output is not None and window.max_output < reserve:
        reserve, reserved = window.max_output, "model"
    return Budget(window, reserve, reserved)


def least(estimate: int) -> int:
    """The fewest tokens that a prompt of this estimate may have."""
    return math.floor(estimate / (1 + TOTAL_MARGIN))


def most(estimate: int) -> int:
    """The most tokens that a prompt of this estimate may have."""
    return math.ceil(estimate / (1 - TOTAL_MARGIN))


def parts(blocks: Iterable[Costed]) -> tuple[Part, ...]:
    """The blocks that are sent, the largest first, those of one size as they stand."""
    costed = largest(blocks)
    total = sum(block.tokens or 0 for block in costed)
    found: list[Part] = []
    so_far = 0
    for block in costed:
        tokens = block.tokens or 0
        so_far += tokens
        found.append(Part(block, tokens, tokens / total if total else 0.0, so_far))
    return tuple(found)


def largest(blocks: Iterable[B], count: int | None = None) -> Sequence[B]:
    """The blocks that cost something, the largest first; at most `count`."""
    return sorted((block for block in blocks if block.tokens), key=lambda block: -(block.tokens or 0))[:count]


def refusal(budget: Budget, estimate: int, blocks: Iterable[Costed], repair: str) -> OverBudget:
    """What to say when a prompt that can't fit is not sent: what it has, what there is, and the largest blocks."""
    biggest = ", ".join(f"{block.name} ~{block.tokens or 0:,}" for block in largest(blocks, LARGEST_NAMED))
    window = budget.window
    return OverBudget(
        Phrase(
            "not sent: the prompt does not fit {model}. It has ~{estimate:,} tokens, at least {least:,}, and {room:,} "
            "are free: {tokens:,} less {reserve:,} kept for the answer. It is ~{excess:,} too long; the largest "
            "blocks: {biggest}",
            model=window.model,
            estimate=estimate,
            least=least(estimate),
            room=budget.room or 0,
            tokens=window.tokens or 0,
            reserve=budget.reserve,
            excess=budget.excess(estimate),
            biggest=biggest,
        ),
        repair=repair,
    )


def warning(budget: Budget, estimate: int) -> Phrase:
    """What to say when a prompt may not fit."""
    return Phrase(
        "the prompt may not fit {model}: it has ~{estimate:,} tokens, between {least:,} and {most:,}, and {room:,} are "
        "free when {reserve:,} are kept for the answer",
        model=budget.window.model,
        estimate=estimate,
        least=least(estimate),
        most=most(estimate),
        room=budget.room or 0,
        reserve=budget.reserve,
    )
