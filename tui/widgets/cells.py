"""Foreign text on a number of terminal cells, and token counts that fit a column."""

from __future__ import annotations

from rich.cells import cell_len, split_graphemes

from tui.safe_text import visible

_ELLIPSIS = "…"


def fit(text: str, width: int) -> str:
    """`text`, made harmless, on exactly `width` cells: padded with spaces, or cut between graphemes with `…`."""
    text = visible(text)
    size = cell_len(text)
    # A joiner at the end would swallow the first space behind it.
    if size <= width and not text.endswith("\u200d"):
        return text + " " * (width - size)
    ending = _ELLIPSIS if size > width > 0 else ""
    graphemes = [text[start:end] for start, end, _ in split_graphemes(text)[0]] if width > 0 else []
    low, high = 0, len(graphemes)
    while low < high:
        middle = (low + high + 1) // 2
        if cell_len("".join(graphemes[:middle])) + len(ending) <= width:
            low = middle
        else:
            high = middle - 1
    kept = "".join(graphemes[:low]).rstrip("\u200d") + ending
    return kept + " " * (width - cell_len(kept))


def short_count(tokens: int) -> str:
    """A number of tokens in at most five characters: 812, 1.2k, 34k, 1.2M."""
    if tokens < 1_000:
        return str(tokens)
    for unit, name in ((1_000, "k"), (1_000_000, "M")):
        value = tokens / unit
        if value < 9.95:
            return f"{value:.1f}{name}"
        if value < 999.5:
            return f"{value:.0f}{name}"
    return ">999M"
