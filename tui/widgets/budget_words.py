"""A budget in the few cells of a bar: `~8.2k/32k ▓▓░░░ 26%`, with a sign where it is too much.

`~` says that the count is an estimate; `!` that the prompt does not fit, `(!)` that it may not; `?` stands for a window
that is not known.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tui.language import t
from tui.widgets.cells import fit, short_count

if TYPE_CHECKING:
    from engine.budget import Budget

_CELLS = 5
_MODEL = 24
_SIGNS = {"no": "!", "maybe": "(!)"}


def budget_words(used: int, budget: Budget | None) -> tuple[str, ...]:
    """A prompt of about `used` tokens in its budget, the longest wording first; of the tokens alone without one."""
    if budget is None:
        return (f"~{short_count(used)}",)
    window, share = budget.window.tokens, budget.share(used)
    if window is None or share is None:
        return (f"~{short_count(used)}/?",)
    sign = _SIGNS.get(budget.fit(used), "")
    size = f"~{short_count(used)}/{window_size(window)}"
    percent = f"{share:.0%}{sign}"
    return f"{size} {bar(share)} {percent}", f"{size} {percent}", f"{size}{sign}"


def bar(share: float) -> str:
    """A share of a whole as a bar of five cells, full for all of it and more; a cell is begun as soon as any is."""
    full = max(0, min(_CELLS, math.ceil(share * _CELLS)))
    return "▓" * full + "░" * (_CELLS - full)


def window_size(tokens: int) -> str:
    """The size of a window as its maker says it: 32k for 32,768 and for 32,000."""
    if tokens >= 1024 and tokens % 1024 == 0:
        thousands = tokens // 1024
        return f"{thousands // 1024}M" if thousands % 1024 == 0 else f"{thousands}k"
    if tokens >= 1000 and tokens % 1000 == 0 and tokens < 1_000_000:
        return f"{tokens // 1000}k"
    return short_count(tokens)


def model_name(budget: Budget) -> str:
    """The name of the model that a budget is for, without its maker's, on few cells."""
    if budget.window.known == "rehearsal":
        return t("budget.rehearsal")
    return fit(budget.window.model.rstrip("/").rpartition("/")[2], _MODEL).rstrip()
