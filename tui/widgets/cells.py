"""One line of foreign text in a number of terminal cells."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from tui.safe_text import visible


def fit(text: str, width: int) -> str:
    """`text` made inert on exactly `width` cells: padded with spaces, or cut with an ellipsis."""
    if width <= 0:
        return ""
    text = visible(text)
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    return set_cell_size(text, width)


def short_count(tokens: int) -> str:
    """A token count in at most five characters: `812`, `3.9k`, `128k`."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 9_950:
        return f"{tokens / 1_000:.1f}k"
    return f"{round(tokens / 1_000)}k"
