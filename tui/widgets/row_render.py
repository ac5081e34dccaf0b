"""How one line of the block list looks: a `Row` and a width in, a `Strip` of exactly that width out.

      ✓ my-style-guide               ◆ sys    96 ▏
      ✗ summary                  off   usr     –
      · target  only while refining    usr     –
    ›!✓ prose-recent            +app   usr  3.9k ████

From the left: the cursor `›` or the carried block `≡`; a warning `!`; the enable mark ✓ or ✗, or · for a block
that is not there now; the name with a note behind it, over the columns that are empty; `off` and the content mode;
◆ for a script and ◇ for a text of the user's; the role; estimated tokens and, as a bar, their size beside the largest
block's. Every state has a sign of its own besides its colour. Signs of a state that needs attention stand left of the
name, the only text from outside, where no disagreement about its width can shift them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.language import find, t
from tui.safe_text import visible
from tui.widgets.cells import fit, short_count

if TYPE_CHECKING:
    from engine.blocks.block import Role
    from engine.blocks.config import BlockType
    from engine.blocks.rows import Row

MARK_COLUMNS = range(1, 4)
"""The columns of warning sign and enable mark, where a click switches the block on or off."""

_LEAD = 4
_NOTE_MINIMUM = 8
_FLAG = 5
_KINDS: dict[BlockType | None, str] = {"script": "◆", "simple": "◇"}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR_WIDTH = 4


@dataclass(frozen=True, slots=True)
class Palette:
    """The styles of the list. `base` and `cursor` are whole; the others are laid over `base`."""

    base: Style
    cursor: Style
    carried: Style
    muted: Style
    enabled: Style
    disabled: Style
    script: Style
    text: Style
    mode: Style
    system: Style
    user: Style
    tokens: Style
    bar: Style
    warning: Style
    note: Style
    section: Style


class _Columns(NamedTuple):
    """Widths of the columns, each with the space before it; 0: left out."""

    lead: int
    name: int
    kind: int = 0
    flags: int = 0
    role: int = 0
    tokens: int = 0
    bar: int = 0
    pad: int = 0


# What a narrower list gives up, in this order, until the name has the room it is given here.
_LAYOUTS = (
    (16, _Columns(0, 0, kind=2, flags=9, role=4, tokens=6, bar=5, pad=1)),
    (12, _Columns(0, 0, kind=2, flags=5, role=4, tokens=6, bar=5, pad=1)),
    (10, _Columns(0, 0, kind=2, flags=5, role=4, tokens=6, pad=1)),
    (8, _Columns(0, 0, kind=2, flags=5, role=2, tokens=6)),
    (8, _Columns(0, 0, kind=2, flags=5, role=2)),
    (8, _Columns(0, 0, kind=2, role=2)),
    (0, _Columns(0, 0)),
)


@lru_cache(maxsize=256)
def _columns(width: int) -> _Columns:
    lead = min(_LEAD, width)
    for minimum, layout in _LAYOUTS:
        name = width - lead - sum(layout)
        if name >= minimum:
            return layout._replace(lead=lead, name=name)
    return _Columns(lead, 0)


def bar(tokens: int, max_tokens: int) -> str:
    """The share of `tokens` in `max_tokens` as a bar of up to four cells, to an eighth of a cell."""
    if tokens <= 0 or max_tokens <= 0:
        return " " * _BAR_WIDTH
    eighths = max(1, min(8 * _BAR_WIDTH, round(8 * _BAR_WIDTH * tokens / max_tokens)))
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_BAR_WIDTH)


def render_row(row: Row, width: int, *, cursor: bool, carried: bool, max_tokens: int, palette: Palette) -> Strip:
    """One block as a line of `width` (at least 1) cells.

    `max_tokens` is the largest number of tokens in the list, for the scale of the bars. A row under the cursor is
    drawn in the cursor's style throughout, so that it is legible whatever colours the theme has.
    """
    columns = _columns(width)
    muted = row.state in ("absent", "disabled")
    ground = palette.base + palette.muted if muted else palette.base
    whole = palette.carried if carried else palette.cursor if cursor else ground if muted else None
    segments: list[Segment] = []

    def put(text: str, part: Style) -> None:
        style = whole or ground + part
        if segments and segments[-1].style == style:
            text = segments.pop().text + text
        segments.append(Segment(text, style))

    sign = "≡" if carried else "›" if cursor else " "
    put((sign + ("!" if row.warning else " "))[: columns.lead], palette.warning)
    if columns.lead > 2:
        put(_mark(row), palette.enabled if row.enabled else palette.disabled)
    flags = _flags(row, columns.flags)
    kind = _KINDS.get(row.type, "")
    room = columns.name + (0 if flags else columns.flags + (0 if kind else columns.kind))
    _put_name(row, room if columns.lead == _LEAD else -1, palette, put)
    if flags:
        put(" " * (columns.flags - cell_len(flags)) + flags, palette.mode)
    if columns.kind and (flags or kind):
        put(f" {kind or ' '}", palette.script if row.type == "script" else palette.text)
    if columns.role:
        letters = role_letters(row.role)[: columns.role - 1]
        put(f" {letters}", palette.system if row.role == "system" else palette.user)
    if columns.tokens:
        put(_tokens(row).rjust(columns.tokens), palette.tokens)
    if columns.bar:
        put(f" {bar(row.tokens or 0, max_tokens)}", palette.bar)
    if columns.pad:
        put(" " * columns.pad, Style.null())
    return Strip(segments, width)


def render_section(role: Role, tokens: int, width: int, palette: Palette) -> Strip:
    """The line above the blocks of a role: its name and the tokens of all of them, on `width` cells."""
    columns = _columns(width)
    behind = columns.bar + columns.pad
    number = short_count(tokens).rjust(columns.tokens) if columns.tokens else ""
    title = fit(f" {t(f'list.section.{role}')}", width - len(number) - behind)
    return Strip([Segment(f"{title}{number}{' ' * behind}", palette.base + palette.section)], width)


def role_letters(role: str) -> str:
    """How a role is written in a list: three letters, of which the first may do."""
    return find(f"list.role.{role}") or role


def _mark(row: Row) -> str:
    if not row.enabled:
        return "✗"
    return "·" if row.state == "absent" else "✓"


def _tokens(row: Row) -> str:
    if row.state == "pending":
        return "…"
    return "–" if row.tokens is None else short_count(row.tokens)


def _flags(row: Row, width: int) -> str:
    """`off` and the content mode, as far as `width` has room for them."""
    off = "" if row.enabled else t("list.off")
    mode = t(f"list.mode.{row.mode}") if row.mode is not None else ""
    if not width:
        return ""
    return f"{off} {mode}".strip() if width > _FLAG else off or mode


def _put_name(row: Row, width: int, palette: Palette, put: Callable[[str, Style], None]) -> None:
    """A space, then on `width` cells the name and, where there is room, why the block needs a look or is not sent."""
    if width < 0:
        return
    put(" ", Style.null())
    if not width:
        return
    size = cell_len(visible(row.name))
    room = width - size - 2
    if row.note and room >= _NOTE_MINIMUM:
        put(fit(row.name, size + 2), Style.null())
        put(fit(row.note, room), palette.warning if row.warning else palette.note)
    else:
        put(fit(row.name, width), Style.null())
