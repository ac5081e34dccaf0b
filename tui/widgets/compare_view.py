"""Two prompts compared, drawn: the blocks that changed line by line, what stayed as it was folded away."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from engine.comparison import BlockChange, Comparison, in_sight
from engine.differences import Line
from tui.language import t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.widgets.cells import fit, short_count
from tui.widgets.row_render import role_letters
from tui.widgets.text_view import draw_row
from tui.widgets.wrapped_rows import WrappedRows
from tui.widgets.wrapped_view import WrappedView

_MARGIN = 4
"""Cells before the text of a line: two, the sign, one."""
_SAID = {"+": "added", "-": "removed", "~": "changed", ">": "moved", "=": "same"}
_SIGNS = {"+": "+", "-": "−", "~": "~", ">": "↕", "=": " "}

Fold = tuple[str, int]
"""What can be folded: a block by its key with -1, a stretch of its lines by their start; the blocks from one on that
stayed as they were by its key with -2."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of rows: the heading of a block, one line of its text, or what stands for folded lines or blocks.

    `fold` is what a click on it folds or unfolds; `mark` tells the change that begins here.
    """

    kind: Literal["head", "line", "gap", "blocks"]
    change: int
    fold: Fold
    line: Line | None = None
    count: int = 0
    begins: bool = False

    @property
    def text(self) -> str | None:
        return None if self.line is None else self.line.text

    @property
    def start(self) -> int:
        return 0

    @property
    def end(self) -> int:
        return 0 if self.line is None else len(self.line.text)

    @property
    def open_end(self) -> bool:
        return False


class CompareView(WrappedView):
    """A read-only view of a comparison, with a place in it: the change or block gone to last."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "compare-view--added",
        "compare-view--removed",
        "compare-view--added-word",
        "compare-view--removed-word",
        "compare-view--head",
        "compare-view--folded",
        "compare-view--current",
    }
    """
    | Class | Description |
    | :- | :- |
    | `compare-view--added`, `compare-view--removed` | A line of one prompt only, and its sign. |
    | `compare-view--added-word`, `compare-view--removed-word` | The words of it that differ. |
    | `compare-view--head` | The heading of a block. |
    | `compare-view--folded` | What stands for lines or blocks that stayed as they were. |
    | `compare-view--current` | The sign of the change the view is at. |
    """

    DEFAULT_CSS = """
    CompareView {
        & .compare-view--added { color: $text-success; }
        & .compare-view--removed { color: $text-error; }
        & .compare-view--added-word { color: $text-success; background: $success 25%; text-style: bold underline; }
        & .compare-view--removed-word { color: $text-error; background: $error 25%; text-style: bold underline; }
        & .compare-view--head { text-style: bold; background: $panel; }
        & .compare-view--folded { color: $text-muted; }
        & .compare-view--current { text-style: reverse; }
        &:ansi {
            & .compare-view--added, & .compare-view--added-word { color: ansi_green; background: ansi_default; }
            & .compare-view--removed, & .compare-view--removed-word { color: ansi_red; background: ansi_default; }
            & .compare-view--head { background: ansi_default; }
        }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._comparison: Comparison | None = None
        self._toggled: set[Fold] = set()
        self._parts: list[_Part] = []
        self._rows: WrappedRows[_Part] = WrappedRows((), 1)
        self._at: int | None = None
        self._at_scroll = 0

    # --- what is shown

    def show(self, comparison: Comparison | None) -> None:
        """Show a comparison from its start, or nothing."""
        self._comparison = comparison
        self._toggled.clear()
        self._at = None
        self._collect()
        self._wrap_anew(None)

    @property
    def change_count(self) -> int:
        """How many places differ, of those that are not folded away."""
        return sum(part.begins for part in self._parts)

    @property
    def current(self) -> BlockChange | None:
        """The block gone to last, until the view is scrolled; then the one at the top of the view."""
        part = self._current_part()
        if part is None or self._comparison is None:
            return None
        return self._comparison.changes[self._parts[part].change]

    def spoken(self) -> str:
        """What the view is at, in words."""
        index = self._current_part()
        if index is None or self._comparison is None:
            return ""
        part = self._parts[index]
        return self._folded(part) if part.kind == "blocks" else self._head(self._comparison.changes[part.change])

    def _head(self, change: BlockChange) -> str:
        """The heading of a block in words: every sign of `_draw_head` has its word here."""
        before, after, block = change.before, change.after, change.block
        parts = [f"{t(f'compare.said-{_SAID[change.sign]}')}: {visible(block.name)}", t(f"reader.role.{block.role}")]
        if change.role_changed and before is not None:
            parts.append(t("compare.said-role", before=t(f"reader.role.{before.role}")))
        if change.renamed and before is not None:
            parts.append(t("compare.renamed", name=visible(before.name)))
        if change.moved and change.sign != ">":
            parts.append(t("compare.moved"))
        if before is not None and after is not None and before.tokens != after.tokens:
            parts.append(t("compare.said-tokens", before=before.tokens, after=after.tokens))
        else:
            parts.append(t("reader.tokens", count=block.tokens))
        if change.lines and before is not None and after is not None:
            parts.append(t("compare.said-words", added=change.added, removed=change.removed))
        if (change.sign != "=") == ((change.key, -1) in self._toggled):
            parts.append(t("compare.said-folded"))
        return ", ".join(parts)

    def _folded(self, part: _Part) -> str:
        """What a line stands for that stands for others, in words or with a sign."""
        if part.kind == "gap":
            text, unfolded = t("compare.same-lines", count=part.count), False
        else:
            changes = self._comparison.changes if self._comparison is not None else ()
            tokens = sum(change.block.tokens for change in changes[part.change : part.change + part.count])
            text = t("compare.same-blocks", count=part.count, tokens=short_count(tokens))
            unfolded = part.fold in self._toggled
        if not is_spoken(self):
            return f"{'▾' if unfolded else '▸'} {text}"
        return text if unfolded else f"{text.replace(' · ', ', ')}, {t('compare.said-folded')}"

    def _collect(self) -> None:
        parts: list[_Part] = []
        changes = self._comparison.changes if self._comparison is not None else ()
        at = 0
        while at < len(changes):
            change = changes[at]
            if change.sign != "=":
                parts += self._block(at, change, unfolded=(change.key, -1) not in self._toggled)
                at += 1
                continue
            end = at
            while end < len(changes) and changes[end].sign == "=":
                end += 1
            fold = (change.key, -2)
            parts.append(_Part("blocks", at, fold, count=end - at))
            if fold in self._toggled:
                for index in range(at, end):
                    parts += self._block(index, changes[index], unfolded=(changes[index].key, -1) in self._toggled)
            at = end
        self._parts = parts

    def _block(self, index: int, change: BlockChange, *, unfolded: bool) -> Iterator[_Part]:
        """The parts of one block."""
        fold = (change.key, -1)
        lines = change.lines
        yield _Part("head", index, fold, begins=change.sign != "=" and not (lines and unfolded))
        if not unfolded:
            return
        if not lines:
            if change.sign == "=":
                yield from (_Part("line", index, fold, Line(" ", text)) for text in change.block.content.split("\n"))
            return
        for shown, start, end in in_sight(lines):
            gap = (change.key, start)
            if not shown and gap not in self._toggled:
                yield _Part("gap", index, gap, count=end - start)
                continue
            for number in range(start, end):
                line = lines[number]
                begins = line.sign != " " and (not number or lines[number - 1].sign == " ")
                yield _Part("line", index, fold if shown else gap, line, begins=begins)

    # --- going places

    def next_change(self) -> int:
        """Go to the next change and return its number, from 1; 0 when there is none."""
        return self._step_change(1)

    def previous_change(self) -> int:
        """Go to the change before and return its number; 0 when there is none."""
        return self._step_change(-1)

    def _step_change(self, step: int) -> int:
        places = [index for index, part in enumerate(self._parts) if part.begins]
        if not places:
            return 0
        current = self._current_part() or 0
        gone_to = self._at is not None and self._at in places
        number = bisect_right(places, current) - 1
        if step > 0:
            number = (number + 1) % len(places) if gone_to or places[max(number, 0)] != current else number
        else:
            number = number - 1 if places[number] == current or number < 0 else number
            number %= len(places)
        self._go_to_part(places[number], above=max(1, self.size.height // 4))
        return number + 1

    def next_block(self) -> bool:
        """Go to the heading of the next block that is shown; False at the last."""
        return self._step_block(1)

    def previous_block(self) -> bool:
        """Go to the heading of this block, or from there to the one before; False at the first."""
        return self._step_block(-1)

    def _step_block(self, step: int) -> bool:
        heads = [index for index, part in enumerate(self._parts) if part.kind in ("head", "blocks")]
        current = self._current_part()
        if current is None or not heads:
            return False
        at = bisect_right(heads, current) - 1
        if step > 0:
            at += 1
        elif heads[at] == current:
            at -= 1
        if not 0 <= at < len(heads):
            return False
        self._go_to_part(heads[at])
        return True

    def toggle(self) -> None:
        """Fold or unfold what the view is at."""
        part = self._current_part()
        if part is not None:
            self._toggle(part)

    def toggle_all(self) -> None:
        """Unfold everything, or fold everything again that stayed as it was."""
        if self._comparison is None:
            return
        unfolded = self._toggled
        everything: set[Fold] = set()
        for change in self._comparison.changes:
            if change.sign == "=":
                everything.add((change.key, -2))
            everything |= {(change.key, start) for shown, start, _ in in_sight(change.lines) if not shown}
        self._toggled = set() if everything <= unfolded else everything
        self._at = None
        self._collect()
        self._wrap_anew(None)

    def _toggle(self, index: int) -> None:
        part = self._parts[index]
        fold = part.fold
        if part.kind == "line" and part.line is not None and part.line.sign != " ":
            return  # a click into a changed text is no wish to see it no more
        self._toggled ^= {fold}
        row = self._rows.row_of(index, 0) - self.scroll_offset.y
        self._collect()
        found = next((i for i, other in enumerate(self._parts) if other.fold == fold), 0)
        self._wrap_anew((found, 0), row)
        self._at, self._at_scroll = found, self.scroll_offset.y

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold what was clicked."""
        place = self._rows.at(event.y + self.scroll_offset.y)
        if place is not None:
            event.stop()
            self._at, self._at_scroll = place[0], self.scroll_offset.y
            self._toggle(place[0])
            self.refresh()

    def _current_part(self) -> int | None:
        if not self._parts:
            return None
        if self._at is not None and self._at_scroll == self.scroll_offset.y:
            return min(self._at, len(self._parts) - 1)
        place = self._rows.at(self.scroll_offset.y)
        return len(self._parts) - 1 if place is None else place[0]

    def _go_to_part(self, index: int, *, above: int = 0) -> None:
        row = self._rows.row_of(index, 0)
        top, height = self.scroll_offset.y, self.size.height
        if not above or not top <= row < top + height - 1:
            self.go_to_row(row - above)
        self._at, self._at_scroll = index, self.scroll_offset.y
        self.refresh()

    # --- wrapping

    def on_resize(self, event: events.Resize) -> None:
        """Wrap to the new width, the same text at the top."""
        if self.size and self._wrap_width != self._rows.width:
            place = self._rows.at(self.scroll_offset.y) if self.scroll_offset.y else None
            self._wrap_anew(None if place is None else (place[0], place[1]))

    @property
    def _wrap_width(self) -> int:
        return max(1, self.scrollable_content_region.width - self._margin)

    @property
    def _margin(self) -> int:
        """Cells before the text of a line."""
        if not is_spoken(self):
            return _MARGIN
        return max(cell_len(f"{t(f'compare.said-{said}')}: ") for said in ("added", "removed"))

    # --- drawing

    def render_line(self, y: int) -> Strip:
        """One row of the view."""
        width = self.size.width
        base = self.rich_style
        place = self._rows.at(y + self.scroll_offset.y)
        if place is None or self._comparison is None:
            return Strip.blank(width, base)
        index, start, end = place
        part = self._parts[index]
        if part.line is not None:
            segments = [*self._draw_line(index, part.line, start, end)]
        elif part.kind == "head":
            segments = [*self._draw_head(index, self._comparison.changes[part.change])]
        else:
            segments = [self._draw_fold(index, part)]
        return Strip(segments).apply_style(base).adjust_cell_length(width, base)

    def _draw_line(self, index: int, line: Line, start: int, end: int) -> Iterator[Segment]:
        name = {"+": "added", "-": "removed"}.get(line.sign)
        style = self._style(name) if name is not None else Style.null()
        sign = style + self._style("current") if index == self._at and self._parts[index].begins else style
        if is_spoken(self):
            said = f"{t(f'compare.said-{name}')}: " if name is not None and not start else ""
            yield Segment(fit(said, self._margin))
        else:
            yield Segment("  ")
            yield Segment(_SIGNS.get(line.sign, line.sign), sign)
            yield Segment(" ")
        column = 0
        for first, last, marked in _pieces(line, start, end):
            drawn = draw_row(line.text[first:last], column)
            column += cell_len(drawn)
            yield Segment(drawn, style + self._style(f"{name}-word") if marked and name is not None else style)

    def _draw_head(self, index: int, change: BlockChange) -> Iterator[Segment]:
        if is_spoken(self):
            yield Segment(self._head(change))
            return
        block = change.block
        before, after = change.before, change.after
        notes = []
        if change.role_changed and before is not None and after is not None:
            notes.append(t("compare.role", before=_role(before.role), after=_role(after.role)))
        if change.renamed and before is not None:
            notes.append(t("compare.renamed", name=visible(before.name)))
        if change.moved:
            notes.append(t("compare.moved"))
        counts = []
        if change.lines:
            counts += [("added", f"+{short_count(change.added)}"), ("removed", f"−{short_count(change.removed)}")]
        if before is not None and after is not None and before.tokens != after.tokens:
            tokens = f"{short_count(before.tokens)} → {short_count(after.tokens)}"
        else:
            tokens = short_count(block.tokens)
        folded = (change.key, -1) in self._toggled
        mark = "▸" if (change.sign != "=") == folded else "▾"
        if change.sign in "~>" and not change.lines:
            mark = " "
        head = self._style("head")
        sign = self._style({"+": "added", "-": "removed"}.get(change.sign, "head")) + head
        current = self._style("current") if index == self._at else Style.null()
        width = self.scrollable_content_region.width
        right = "".join(f" {text}" for _, text in counts) + f"  {tokens} "
        middle = f"  {_role(block.role)}{''.join(f' · {note}' for note in notes)}"
        room = max(4, width - 4 - cell_len(right))
        named = cell_len(visible(block.name))
        left = fit(f"{visible(block.name)}{middle}", room)
        yield Segment(f"{_SIGNS[change.sign]} ", sign + current)
        yield Segment(f"{mark} ", head)
        yield Segment(left[: len(visible(block.name))] if named <= room else left, head)
        if named <= room:
            yield Segment(left[len(visible(block.name)) :], head + self._style("folded"))
        for name, text in counts:
            yield Segment(f" {text}", self._style(name) + head)
        yield Segment(f"  {tokens} ", head)

    def _draw_fold(self, index: int, part: _Part) -> Segment:
        style = self._style("folded") + (self._style("current") if index == self._at else Style.null())
        return Segment(f"{'' if is_spoken(self) else '  '}{self._folded(part)}", style)

    def _style(self, name: str) -> Style:
        # Partial styles can be laid over each other; only a whole one has a see-through background blended.
        return self.get_component_rich_style(f"compare-view--{name}", partial=not name.endswith("-word"))


def _role(role: str) -> str:
    return visible(role_letters(role))


def _pieces(line: Line, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """A row of a line cut where marks begin and end."""
    at = start
    for first, last in line.marks or ():
        low, high = max(first, at), min(last, end)
        if high > low:
            if low > at:
                yield at, low, False
            yield low, high, True
            at = high
    if at < end:
        yield at, end, False
